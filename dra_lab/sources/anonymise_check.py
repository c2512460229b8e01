"""Do selectors still mean the same under pseudonyms? Asked of every device, not assumed."""

from __future__ import annotations

from collections.abc import Iterator

from dra_lab.cel.selector import Selector, compile_selector
from dra_lab.errors import CelCompileError, CelRuntimeError, UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import DeviceSelector, expressions
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device

MAX_SELECTORS = 200
"""The most different selectors that are compared; a Finding counts the others."""


def changed_selectors(before: Cluster, after: Cluster) -> tuple[Finding, ...]:
    """Return a finding for each selector of a class or claim that selects other devices under pseudonyms.

    `after` is `before` under pseudonyms, object by object. A selector that looks at a part of a replaced value (its
    beginning, a pattern, a network) may change; comparisons of whole values do not.
    """
    pairs: dict[tuple[str, str], str] = {}
    for subject, old, new in _pairs(before, after):
        pairs.setdefault((old, new), subject)
    found = []
    for (old, new), subject in list(pairs.items())[:MAX_SELECTORS]:
        if changed := _changed(old, new, before, after):
            message = f"with the replaced names, its selector gives another result on {changed:,} devices: {new}"
            advice = (
                "It reads part of a value that was replaced, so plans that use it differ from plans on the "
                "original cluster."
            )
            found.append(Finding("selector-changed", Severity.WARNING, subject, message, advice))
    if len(pairs) > MAX_SELECTORS:
        message = f"{len(pairs) - MAX_SELECTORS:,} of {len(pairs):,} different selectors were not compared"
        found.append(Finding("selectors-not-compared", Severity.NOTE, "selectors", message))
    return tuple(found)


def _pairs(before: Cluster, after: Cluster) -> Iterator[tuple[str, str, str]]:
    for one, other in zip(before.classes, after.classes, strict=True):
        yield from _both(f"DeviceClass {other.name}", one.spec.selectors, other.spec.selectors)
    for claim, renamed in zip(before.claims, after.claims, strict=True):
        subject = f"ResourceClaim {renamed.metadata.namespace}/{renamed.metadata.name}"
        requests = zip(claim.spec.devices.requests, renamed.spec.devices.requests, strict=True)
        for request, new in requests:
            if request.exactly and new.exactly:
                yield from _both(subject, request.exactly.selectors, new.exactly.selectors)
            for part, alternative in zip(request.first_available, new.first_available, strict=True):
                yield from _both(subject, part.selectors, alternative.selectors)


def _both(
    subject: str, old: tuple[DeviceSelector, ...], new: tuple[DeviceSelector, ...]
) -> Iterator[tuple[str, str, str]]:
    yield from ((subject, *pair) for pair in zip(expressions(old), expressions(new), strict=True))


def _changed(old: str, new: str, before: Cluster, after: Cluster) -> int:
    one, other = _compiled(old), _compiled(new)
    if one is None or other is None:
        return 0 if one is other else sum(len(item.spec.devices or ()) for item in before.slices)
    count = 0
    for item, renamed in zip(before.slices, after.slices, strict=True):
        driver = item.spec.driver
        for device, alias in zip(item.spec.devices or (), renamed.spec.devices or (), strict=True):
            count += _decides(one, driver, device) is not _decides(other, driver, alias)
    return count


def _compiled(expression: str) -> Selector | None:
    try:
        return compile_selector(expression, list_type_attributes=True)
    except (CelCompileError, UnsupportedFeature):
        return None


def _decides(selector: Selector, driver: str, device: Device) -> bool | None:
    try:
        return bool(selector.matches(driver, device))
    except CelRuntimeError:
        return None
