"""Why a device that a claim holds would not be granted to it again: one rule after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from dra_lab.cel.matching import CLASS, ERROR, NO_CLASS, Matching
from dra_lab.checks.taint_validation import excludes
from dra_lab.index.in_use import published_device
from dra_lab.index.pools import why_unusable
from dra_lab.model.claims import DeviceConstraint, DeviceRequestAllocationResult, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.memo import once_per_devices
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import format_quantity, parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask
from dra_lab.model.slices import newest

Reason = tuple[str, str, str]


@dataclass
class HeldDevice:
    """The cluster as the rules read it, worked out once; `holders` are the claims that hold a device alone."""

    cluster: Cluster
    release: KubernetesRelease
    holders: dict[DeviceID, list[str]] = field(default_factory=lambda: defaultdict(list))

    def device(self, device_id: DeviceID) -> Device | None:
        """Return a device of the newest generation of its pool, None if it is not published."""
        found = published_device(self.cluster, device_id)
        return found[0] if found is not None else None

    @cached_property
    def matching(self) -> Matching:
        """Return the answers of selectors."""
        return Matching(self.cluster, self.release)


@once_per_devices
def unusable_pools(cluster: Cluster) -> Mapping[tuple[str, str], str]:
    """Return why kube-scheduler skips a pool, by (driver, pool)."""
    found: dict[tuple[str, str], str] = {}
    for key, slices in cluster.slices_by_pool.items():
        current = newest(slices)
        wanted = current[0].spec.pool.resource_slice_count
        if len(current) != wanted:
            found[key] = f"incomplete ({len(current)} of {wanted} ResourceSlices)"
        elif invalid := why_unusable(cluster, current):
            found[key] = f"invalid ({invalid})"
    return found


def results_of(claim: ResourceClaim) -> tuple[DeviceRequestAllocationResult, ...]:
    """Return the devices that a claim holds, in the order in which they were given."""
    return claim.status.allocation.devices.results if claim.status.allocation else ()


def device_reasons(
    held: HeldDevice, result: DeviceRequestAllocationResult, ask: Ask | None, name: str
) -> Iterator[Reason]:
    """Yield why a device would not be granted to a claim (`namespace/name`) again, as (rule, why, advice)."""
    pool, device = f"{result.driver}/{result.pool}", held.device(result.id)
    if device is None:
        advice = "Is the driver running there? If the device does not come back, delete the pod and the claim."
        if (result.driver, result.pool) in held.cluster.slices_by_pool:
            yield "device-vanished", f"the pool {pool} has no device {result.device} any more", advice
        else:
            yield "pool-vanished", f"no ResourceSlice publishes the pool {pool} any more", advice
        return
    if skipped := unusable_pools(held.cluster).get((result.driver, result.pool)):
        yield "pool-unusable", f"the pool {pool} is {skipped}", "The driver must publish the complete pool again."
    yield from _taints(held, result, ask, device)
    yield from _matches(held, result, ask, device)
    yield from _shares(held, result, device, name)
    yield from _amounts(held, result, ask, device)


def _taints(
    held: HeldDevice, result: DeviceRequestAllocationResult, ask: Ask | None, device: Device
) -> Iterator[Reason]:
    """Yield the taints that exclude the device, none in a release that ignores taints or taint rules."""
    if not held.release.enabled("DRADeviceTaints"):
        return
    tolerations = ask.tolerations if ask is not None else ()
    rules = held.release.counted_rules
    for taint in held.cluster.taints_of(result.id, device, rules=rules):
        if excludes(taint, tolerations):
            evicts = " Its pods are evicted from it." if taint.effect == "NoExecute" else ""
            advice = f"To use the device anyway, add a toleration for {taint.key}.{evicts}"
            yield (
                "taint-not-tolerated",
                f"{result.id} has the taint {taint}, which the request does not tolerate",
                advice,
            )


def _matches(
    held: HeldDevice, result: DeviceRequestAllocationResult, ask: Ask | None, device: Device
) -> Iterator[Reason]:
    if ask is None or not held.cluster.classes:
        return  # classes were not read: nothing is known of them
    match = held.matching.match(ask, result.driver, device)
    if match.stage == NO_CLASS:
        advice = (
            "A pod that uses a missing class waits until the class exists. Create it again, or request another class."
        )
        yield "class-missing", f"there is no DeviceClass {ask.device_class_name!r} any more", advice
    elif match.stage == CLASS:
        why = f"the class {ask.device_class_name} does not select {result.id} any more: {match.expression}"
        yield "class-no-longer-selects", why, "The class or what the driver publishes has changed; compare the two."
    elif match.stage == ERROR:
        why = f"a selector fails on {result.id}: {match.error}"
        yield "selector-fails", why, "kube-scheduler would give up the pod; guard the selector with has()."
    elif not match:
        why = f"the request does not select {result.id} any more: {match.expression}"
        yield "request-no-longer-selects", why, "The driver has changed what it publishes about the device."


def _shares(held: HeldDevice, result: DeviceRequestAllocationResult, device: Device, name: str) -> Iterator[Reason]:
    if result.admin_access:
        return
    others = [other for other in held.holders.get(result.id, ()) if other != name]
    if others:
        advice = "Two allocations of one device are an error; delete one of the claims."
        yield "device-held-twice", f"{result.id} is also held by {', '.join(others[:3])}", advice
    elif result.share_id is None and held.cluster.allocated.shares.get(result.id):
        advice = "Two allocations of one device are an error; delete one of the claims."
        yield "device-held-twice", f"{result.id} is allocated as a whole while other claims hold shares of it", advice
    if result.share_id is not None and not device.allow_multiple_allocations:
        advice = "Its driver no longer lets claims share it. The shares end when their claims are deleted."
        yield "device-not-shared", f"{result.id} can no longer be shared, and the claim holds a share of it", advice


def _amounts(
    held: HeldDevice, result: DeviceRequestAllocationResult, ask: Ask | None, device: Device
) -> Iterator[Reason]:
    advice = "The driver publishes less than before. Move a pod away, or request less."
    requested = {key: parse_quantity(text) for key, text in (ask.capacity if ask is not None else {}).items()}
    for key in {*requested, *result.consumed_capacity}:
        known = device.capacity.get(key)
        if known is None:
            yield "capacity-too-small", f"{result.id} has no capacity {key} any more", advice
            continue
        total = parse_quantity(known.value)
        wanted = requested.get(key, Fraction())
        used = held.cluster.allocated.consumed.get(result.id, {}).get(key, Fraction())
        if wanted > total:
            why = f"{result.id} has {format_quantity(total)} of {key}, and the claim requests {format_quantity(wanted)}"
            yield "capacity-too-small", why, advice
        elif result.share_id is not None and used > total:
            why = f"the shares of {result.id} use {format_quantity(used)} of {key}, and it has {format_quantity(total)}"
            yield "capacity-too-small", why, advice


def broken_constraint(held: HeldDevice, claim: ResourceClaim, constraint: DeviceConstraint) -> str:
    """Return why a constraint does not hold for the devices of a claim any more, or ""."""
    attribute = constraint.match_attribute or constraint.distinct_attribute
    if not attribute:
        return ""
    values: list[object] = []
    for result in results_of(claim):
        meant = {result.request, result.request.partition("/")[0]}
        device = held.device(result.id)
        if device is None or (constraint.requests and not meant & set(constraint.requests)):
            continue
        found = device.lookup(attribute, result.driver)
        if found is None:
            return f"{result.id} does not publish {attribute} any more, which a constraint names"
        if found.is_list:
            return ""  # lists match by their common values (1.36, alpha): not looked at here
        values.append((found.kind, found.value))
    if constraint.match_attribute and len(set(values)) > 1:
        return f"its devices do not share {attribute} any more"
    if constraint.distinct_attribute and len(set(values)) < len(values):
        return f"two of its devices have the same {attribute}"
    return ""
