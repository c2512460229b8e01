"""What the planner does not know yet is refused by its API name, never answered wrongly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dra_lab.drivers import level_attributes
from dra_lab.errors import CelCompileError, UnsupportedFeature
from dra_lab.model.claims import DeviceRequest, DeviceSubRequest, ExactDeviceRequest, expressions
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.sketch import Ask, ClaimSketch, How, Link, covers
from dra_lab.planner.eligible import NodeEligibility, Rules, Stage

_NEXT = "change the claim so that it does not need it"


def refuse_claim(sketch: ClaimSketch) -> None:
    """Raise UnsupportedFeature when the claim itself needs a rule that is not there yet, whatever the devices are."""
    for request in sketch.requests:
        parts: list[ExactDeviceRequest | DeviceSubRequest] = [request.exactly] if request.exactly else []
        parts.extend(request.first_available)
        if any(part.derived_attributes for part in parts):
            raise UnsupportedFeature("derivedAttributes", f"request {request.name!r} uses derivedAttributes; {_NEXT}")
        _refuse_admin_access(request)
        if any(part.allocation_mode not in ("", "ExactCount", "All") for part in parts):
            raise UnsupportedFeature(
                "allocationMode", f"request {request.name!r}: unknown allocationMode; use ExactCount or All"
            )
    _refuse_rings(tuple(link for link in sketch.links if link.how is How.PAIRWISE))


def _refuse_admin_access(request: DeviceRequest) -> None:
    if request.exactly is not None and request.exactly.admin_access:
        raise UnsupportedFeature("adminAccess", f"request {request.name!r} asks for adminAccess; {_NEXT}")


def _refuse_rings(links: tuple[Link, ...]) -> None:
    """Refuse pairwise links that form a ring: their groups would have to agree all the way round."""
    root: dict[str, str] = {}

    def find(name: str) -> str:
        while root.setdefault(name, name) != name:
            name = root[name]
        return name

    ends: dict[frozenset[str], list[Link]] = {}
    for link in links:
        ends.setdefault(frozenset(link.requests), []).append(link)
    for tied, same in ends.items():
        names = " and ".join(repr(link.name) for link in same)
        if sum(1 for link in same if not link.must) > 1:
            raise UnsupportedFeature(
                "pairwise links", f"links {names} prefer two pairings of the same requests; keep one of them"
            )
        groups = {find(reference.partition("/")[0]) for reference in tied}
        if len(groups) < len(tied):
            raise UnsupportedFeature(
                "pairwise links",
                f"pairwise link {names} closes a ring of pairwise links; leave one of them out or use together",
            )
        first, *others = groups
        for other in others:
            root[other] = first


def refuse_devices(rules: Rules, eligible: NodeEligibility) -> None:
    """Raise UnsupportedFeature when a device that matches needs such a rule; other drivers' devices do not matter."""
    for part in eligible.asks:
        for device_id, stage in part.stages.items():
            if stage > Stage.SELECTOR:
                _refuse_device(part.ask, device_id, eligible.seen[device_id])
    _refuse_lists(rules, eligible)


def _refuse_device(ask: Ask, device_id: DeviceID, device: Device) -> None:
    if device.consumes_counters:
        raise UnsupportedFeature("consumesCounters", _for_device(ask, device_id, "draws on shared counters"))
    if device.binding_conditions:
        raise UnsupportedFeature("bindingConditions", _for_device(ask, device_id, "has binding conditions"))
    asked = ask.capacity if not device.allow_multiple_allocations else device.capacity
    if any(device.capacity[key].request_policy is not None for key in asked if key in device.capacity):
        raise UnsupportedFeature("requestPolicy", _for_device(ask, device_id, "has capacity with a requestPolicy"))


def _for_device(ask: Ask, device_id: DeviceID, why: str) -> str:
    return (
        f"request {ask.reference!r} may take {device_id}, which {why}; the planner does not know that rule yet: "
        "add a selector that leaves such devices out"
    )


def _refuse_lists(rules: Rules, eligible: NodeEligibility) -> None:
    for part in eligible.asks:
        named = selector_attributes(rules, part.ask)
        for device_id, stage in part.stages.items():
            if stage > Stage.SELECTOR:
                device = eligible.seen[device_id]
                linked = _link_attributes(rules.sketch.links, part.ask, device_id.driver)
                _refuse_list(part.ask, device_id, device, (*named, *linked))


def _refuse_list(ask: Ask, device_id: DeviceID, device: Device, names: Iterable[str]) -> None:
    for name in names:
        attribute = device.lookup(name, device_id.driver)
        if attribute is not None and attribute.is_list:
            raise UnsupportedFeature(
                "listTypeAttributes", _for_device(ask, device_id, f"publishes {name} as a list, which the claim names")
            )


def selector_attributes(rules: Rules, ask: Ask) -> tuple[str, ...]:
    """Return the full names of the attributes that the class's and the request's selectors name, sorted."""
    known = rules.cluster.class_by_name.get(ask.device_class_name)
    texts = (*(expressions(known.spec.selectors) if known is not None else ()), *ask.selectors)
    return tuple(sorted({name for text in texts for name in _named(rules, text)}))


def _named(rules: Rules, text: str) -> frozenset[str]:
    try:
        return rules.matching.selector(text).attributes
    except CelCompileError:
        # A class of the cluster that does not compile is told as a finding: it stops this claim only.
        return frozenset()


def _link_attributes(links: Sequence[Link], ask: Ask, driver: str) -> tuple[str, ...]:
    wheres = [link for link in links if any(covers(reference, ask) for reference in link.requests)]
    names: list[str] = []
    for link in wheres:
        names.extend(level_attributes(driver, link.where) if link.is_level else (link.where,))
    return tuple(names)
