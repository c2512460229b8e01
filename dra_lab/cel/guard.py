"""A selector in a form that fails on no device: what it reads is tested with has(...) first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress

from dra_lab.cel.selector import Selector, admit_selector, compile_selector
from dra_lab.errors import CelError, UnsupportedFeature
from dra_lab.model.device import Device

_TEXT = r"""(?:"[^"\\\n]*"|'[^'\\\n]*')"""
_READ = rf"(device\.(?:attributes|capacity)\[{_TEXT}\])(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[({_TEXT})\])"
_VALUE = rf"(?:{_TEXT}|[\w.]+(?:\([^()]*\))?|\[[^\[\]]*\])"
_TEST = re.compile(rf"{_READ}(?:\.\w+\([^()]*\))?(?:\s*(?:==|!=|<=|>=|<|>|\bin\b)\s*{_VALUE})?")
"""One read, with a method called on it and a comparison behind it, as far as they are there."""


def guarded(
    expression: str,
    devices: Iterable[tuple[str, Device]],
    others: Iterable[tuple[str, Device]] = (),
    *,
    lists: bool = False,
) -> str:
    """Return a selector that fails on none of `devices` (driver, device) and selects none of them.

    It guards what it reads with `has(...)` or `in`, at the front or in place (in `a || b` the other half still counts).
    If that is not possible, it excludes the driver of the devices. On every one of `others` on which the selector does
    not fail the result is that of the selector. The API server takes it as a new selector. "" where no such form is
    found.
    """
    tests = dict.fromkeys(map(_there, _TEST.finditer(expression)))
    candidates = []
    if tests:
        candidates.append(" && ".join([*tests, f"({expression})"]))
        candidates.append(_TEST.sub(lambda match: f"({_there(match)} && {match[0]})", expression))
    failing, rest = tuple(devices), tuple(others)
    drivers = {driver for driver, _ in failing}
    candidates += [f'device.driver != "{next(iter(drivers))}" && ({expression})'] if len(drivers) == 1 else []
    for text in candidates:
        with suppress(CelError, UnsupportedFeature):
            guard = admit_selector(text, list_type_attributes=lists)
            plain = compile_selector(expression, list_type_attributes=lists)
            selects = any(guard.matches(driver, device) for driver, device in failing)
            if not selects and all(_agree(guard, plain, driver, device) for driver, device in rest):
                return text
    return ""


def _there(read: re.Match[str]) -> str:
    """Return the test whether what is read is there: `has(...)`, which is for members behind a dot only, or `in`."""
    values, member, key = read[1], read[2], read[3]
    return f"has({values}.{member})" if member else f"{key} in {values}"


def _agree(guard: Selector, plain: Selector, driver: str, device: Device) -> bool:
    """Say whether a guard says what the selector says, where that does not fail."""
    try:
        wanted = plain.matches(driver, device)
    except CelError:
        return True
    return guard.matches(driver, device) is wanted
