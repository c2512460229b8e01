"""Replays recorded cases of DRA selectors, one JSON document a case."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from dra_lab.cel.selector import compile_selector
from dra_lab.errors import CelCompileError, CelRuntimeError, ManifestError
from dra_lab.model.device import Device


def replay_cel(case: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a recorded case: `{"id", "result": true|false|None, "errorKind": ""|"compile"|"runtime", "maxCost"}`.

    `case` has `id`, `expression` and `device` (a device of v1 with its `driver`). Raises ManifestError for a case of
    another form.
    """
    try:
        published = dict(case["device"])
        driver = published.pop("driver")
        device = msgspec.convert({"name": "device", **published}, Device)
        identity, expression = case["id"], case["expression"]
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise ManifestError(f"this is no recorded CEL case: {error}") from None
    try:
        selector = compile_selector(expression)
    except CelCompileError:
        return {"id": identity, "result": None, "errorKind": "compile"}
    try:
        result, kind = selector.matches(driver, device), ""
    except CelRuntimeError:
        result, kind = None, "runtime"
    return {"id": identity, "result": result, "errorKind": kind, "maxCost": selector.max_cost}
