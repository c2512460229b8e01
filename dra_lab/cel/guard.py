"""A selector in a form that fails on no device: what it reads is asked for with has(...) first."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dra_lab.cel.selector import compile_selector
from dra_lab.errors import CelError
from dra_lab.model.device import Device

_READ = re.compile(r"""device\.(?:attributes|capacity)\[(?:"[^"\\\n]*"|'[^'\\\n]*')\]\.[A-Za-z_][A-Za-z0-9_]*""")


def guarded(expression: str, devices: Iterable[tuple[str, Device]], *, lists: bool = False) -> str:
    """Return `has(a) && has(b) && (expression)` for all attributes and capacities that a selector reads.

    "" where that is no selector, or would still fail on one of the `devices` (driver, device). On a device that has
    everything the result is that of the selector; on one that lacks something it is false.
    """
    reads = dict.fromkeys(match[0] for match in _READ.finditer(expression))
    candidates = [" && ".join([*(f"has({read})" for read in reads), f"({expression})"])] if reads else []
    known = tuple(devices)
    drivers = {driver for driver, _ in known}
    candidates += [f'device.driver != "{next(iter(drivers))}" && ({expression})'] if len(drivers) == 1 else []
    return next((text for text in candidates if _holds(text, known, lists=lists)), "")


def _holds(text: str, devices: Iterable[tuple[str, Device]], *, lists: bool) -> bool:
    try:
        selector = compile_selector(text, list_type_attributes=lists)
        return not any(selector.matches(driver, device) for driver, device in devices)
    except CelError:
        return False
