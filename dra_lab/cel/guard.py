"""A selector in a form that fails on no device: what it reads is asked for with has(...) first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dra_lab.cel.selector import Selector, compile_selector
from dra_lab.errors import CelError
from dra_lab.model.device import Device

_READ = r"""device\.(?:attributes|capacity)\[(?:"[^"\\\n]*"|'[^'\\\n]*')\]\.[A-Za-z_][A-Za-z0-9_]*"""
_VALUE = r"""(?:"[^"\\\n]*"|'[^'\\\n]*'|[\w.]+(?:\([^()]*\))?|\[[^\[\]]*\])"""
_TEST = re.compile(rf"({_READ})(?:\.\w+\([^()]*\))?(?:\s*(?:==|!=|<=|>=|<|>|\bin\b)\s*{_VALUE})?")
"""One read, with a method called on it and a comparison behind it, as far as they are there."""


def guarded(
    expression: str,
    devices: Iterable[tuple[str, Device]],
    others: Iterable[tuple[str, Device]] = (),
    *,
    lists: bool = False,
) -> str:
    """Return a selector that fails on none of `devices` (driver, device) and selects none of them.

    What it reads is asked for with `has(...)`: at the front, or where it stands (of `a || b` the other half still
    counts); else the driver of the devices is left out. On every one of `others` on which the selector does not fail
    the result is that of the selector. "" where no such form is found.
    """
    reads = dict.fromkeys(match[1] for match in _TEST.finditer(expression))
    candidates = []
    if reads:
        candidates.append(" && ".join([*(f"has({read})" for read in reads), f"({expression})"]))
        candidates.append(_TEST.sub(lambda match: f"(has({match[1]}) && {match[0]})", expression))
    failing, rest = tuple(devices), tuple(others)
    drivers = {driver for driver, _ in failing}
    candidates += [f'device.driver != "{next(iter(drivers))}" && ({expression})'] if len(drivers) == 1 else []
    return next((text for text in candidates if _is_guard(text, expression, failing, rest, lists=lists)), "")


def _is_guard(
    text: str,
    expression: str,
    failing: Sequence[tuple[str, Device]],
    others: Sequence[tuple[str, Device]],
    *,
    lists: bool,
) -> bool:
    try:
        guard = compile_selector(text, list_type_attributes=lists)
        if any(guard.matches(driver, device) for driver, device in failing):
            return False
        plain = compile_selector(expression, list_type_attributes=lists)
        return all(_agree(guard, plain, driver, device) for driver, device in others)
    except CelError:
        return False


def _agree(guard: Selector, plain: Selector, driver: str, device: Device) -> bool:
    """Say whether a guard says what the selector says, where that does not fail."""
    try:
        wanted = plain.matches(driver, device)
    except CelError:
        return True
    return guard.matches(driver, device) is wanted
