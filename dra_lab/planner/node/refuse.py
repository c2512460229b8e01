"""Refuse, by its API name, each field that the planner does not know yet."""

from __future__ import annotations

from dra_lab.drivers import profile
from dra_lab.errors import UnsupportedFeature
from dra_lab.model.claims import DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.sketch import Ask, ClaimSketch, Link, covers
from dra_lab.planner.node.device_tests import Stage
from dra_lab.planner.node.eligible import NodeEligibility, Rules

_NEXT = "change the claim so that it does not need it"


def refuse_claim(sketch: ClaimSketch) -> None:
    """Raise UnsupportedFeature when the claim itself needs a rule that is not there yet, whatever the devices are."""
    for request in sketch.requests:
        parts: list[ExactDeviceRequest | DeviceSubRequest] = [request.exactly] if request.exactly else []
        parts.extend(request.first_available)
        if any(part.derived_attributes for part in parts):
            raise UnsupportedFeature("derivedAttributes", f"request {request.name!r} uses derivedAttributes; {_NEXT}")
        if any(part.allocation_mode not in ("", "ExactCount", "All") for part in parts):
            raise UnsupportedFeature(
                "allocationMode", f"request {request.name!r}: unknown allocationMode; use ExactCount or All"
            )
    _refuse_rings(tuple(link for link in sketch.links if link.kind.paired))


def _refuse_rings(links: tuple[Link, ...]) -> None:
    """Refuse pairwise links that form a ring: their groups would have to agree all the way round."""
    ends: dict[frozenset[str], list[Link]] = {}
    for link in links:
        ends.setdefault(frozenset(link.requests), []).append(link)
    joined: list[set[str]] = []
    for tied, same in ends.items():
        names = " and ".join(repr(link.name) for link in same)
        if sum(1 for link in same if not link.must) > 1:
            raise UnsupportedFeature(
                "pairwise links", f"links {names} prefer two pairings of the same requests; keep one of them"
            )
        mine = {split_request(reference)[0] for reference in tied}
        touched = [known for known in joined if known & mine]
        if len(mine) < len(tied) or any(len(known & mine) > 1 for known in touched):
            raise UnsupportedFeature(
                "pairwise links",
                f"pairwise link {names} closes a ring of pairwise links; leave one of them out or use together",
            )
        joined = [*(known for known in joined if known not in touched), mine.union(*touched)]


def refuse_devices(rules: Rules, eligible: NodeEligibility) -> None:
    """Raise UnsupportedFeature when a device that matches needs such a rule; other drivers' devices do not matter."""
    for part in eligible.asks:
        for device_id, stage in part.stages.items():
            if stage > Stage.SELECTOR:
                _refuse_device(rules, part.ask, device_id, eligible.seen[device_id])


def _refuse_device(rules: Rules, ask: Ask, device_id: DeviceID, device: Device) -> None:
    groups = rules.release.enabled("DRADeviceCompatibilityGroups")
    if groups and any(use.compatibility_groups for use in device.consumes_counters):
        raise UnsupportedFeature("compatibilityGroups", _for_device(ask, device_id, "has compatibilityGroups"))
    allocatable = device.node_allocatable_resources or device.node_allocatable_resource_mappings
    if allocatable and rules.release.enabled("DRANodeAllocatableResources"):
        why = "takes of the node's own resources (nodeAllocatableResources)"
        raise UnsupportedFeature("nodeAllocatableResources", _for_device(ask, device_id, why))
    for link in rules.sketch.links if rules.lists else ():
        if not link.kind.paired or not any(covers(reference, ask) for reference in link.requests):
            continue
        known = profile(device_id.driver, rules.cluster.profiles)
        for name in known.attributes_at(link.where) if link.is_level else (link.where,):
            attribute = device.lookup(name, device_id.driver)
            if attribute is not None and attribute.is_list:
                why = f"publishes {name} as a list, which a pairwise link names"
                raise UnsupportedFeature("listTypeAttributes", _for_device(ask, device_id, why))


def _for_device(ask: Ask, device_id: DeviceID, why: str) -> str:
    return (
        f"request {ask.reference!r} may take {device_id}, which {why}; the planner does not know that rule yet: "
        "add a selector that leaves such devices out"
    )
