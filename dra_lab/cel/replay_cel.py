"""One recorded CEL case, answered: `{"id", "result", "errorKind", "maxCost"}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dra_lab.cel.selector import compile_selector
from dra_lab.errors import CelCompileError, CelRuntimeError, InputError, UnsupportedFeature
from dra_lab.model.decoding import from_builtins
from dra_lab.model.device import Device


def replay_cel(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the selector of a case says of its device.

    `result` is true, false or None; `errorKind` is "", "compile", "runtime", or "not-checked" for a selector too
    deep for the engine; `maxCost` is the estimate, None for a
    selector that does not compile. Raises InputError for a case whose device cannot be read.
    """
    try:
        published = dict(case["device"])
        driver = str(published.pop("driver"))
        device = from_builtins({"name": "device", **published}, Device)
        expression = str(case["expression"])
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise InputError(f"the device of CEL case {case.get('id')!r} cannot be read: {error}") from None
    answer: dict[str, Any] = {"id": case.get("id"), "result": None, "errorKind": "", "maxCost": None}
    try:
        selector = compile_selector(expression)
        answer["maxCost"] = selector.max_cost
        answer["result"] = selector.matches(driver, device)
    except CelCompileError:
        answer["errorKind"] = "compile"
    except CelRuntimeError:
        answer["errorKind"] = "runtime"
    except UnsupportedFeature:
        answer["errorKind"] = "not-checked"
    return answer
