"""Hold a plan against the rules of DRA, device by device; shares no code with the solver that made it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from dra_lab.checks.held_plan import HeldPlan, broken
from dra_lab.checks.plan_amounts import can_give, capacity_kept, counters_kept, is_split
from dra_lab.checks.plan_places import goals_told, links_kept
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID, split_request
from dra_lab.model.nodes import node_matches
from dra_lab.model.plan import Placement, Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import MAX_DEVICES, Ask


def check_plan(
    cluster: Cluster, plan: Plan, release: KubernetesRelease, *, asks_for_nics: bool | None = None
) -> tuple[Finding, ...]:
    """Return every rule that a plan's placements break, as errors; nothing for a plan without placements.

    Checked: each device is on the node, matches class and selectors, tolerates taints, is free, has the capacity and is
    taken once unless it is shareable; shared counters; counts, All and alternatives; the limit of 32 in each claim;
    every must-link; node selectors, also of the pod's claims that hold devices already; the values of the goals. Only
    `damage`, which is about other pods, is not counted anew. The cluster is to be the one that was planned on, with the
    device classes of the plan; where it is only a part of that one, `asks_for_nics` says whether the plan's requests
    may take a NIC anywhere in the whole.
    """
    if not plan.placements:
        return ()
    held = HeldPlan(cluster, plan, release, asks_for_nics)
    rules = (
        _known,
        _eligible,
        _exclusive,
        capacity_kept,
        counters_kept,
        _served,
        _tied_to_node,
        links_kept,
        goals_told,
    )
    found: list[Finding] = []
    for rule in rules:
        found.extend(rule(held))
        if found and rule is _known:
            break
    return sort_findings(found)


def _known(held: HeldPlan) -> Iterator[Finding]:
    """Placements name a request of the drawing and a device that the node sees."""
    for placement in held.plan.placements:
        if placement.reference not in held.ways:
            yield broken("request", placement.reference, "the drawing has no such request")
        if placement.device not in held.devices:
            yield broken("device", placement.device, f"node {held.plan.node} does not see this device")


def _eligible(held: HeldPlan) -> Iterator[Finding]:
    """Class, selectors, gates, taints and exclusive use (3.5 C1 to C4, C8, C10); admin access may take what is held."""
    rules = held.release.enabled("DRADeviceTaintRules")
    for placement in held.plan.placements:
        device, ask = placement.device, held.ways[placement.reference]
        if not held.matches(ask, device):
            yield broken("selector", device, f"it does not match request {ask.reference}")
        if not _is_visible(held, device):
            yield broken("gate", device, "a feature gate that is off hides it")
        if device in held.cluster.allocated.exclusive and not ask.admin_access:
            yield broken("in-use", device, f"claim {held.cluster.allocated.exclusive[device]} holds it")
        if not held.release.enabled("DRADeviceTaints"):
            continue
        for taint in held.cluster.taints_of(device, held.devices[device], rules=rules):
            if taint.effect in ("NoSchedule", "NoExecute") and not any(
                t.key in ("", taint.key)
                and t.effect in ("", taint.effect)
                and (t.operator == "Exists" or t.value == taint.value)
                for t in ask.tolerations
            ):
                yield broken("taint", device, f"request {ask.reference} does not tolerate {taint}")


def _is_visible(held: HeldPlan, device: DeviceID) -> bool:
    published, gate = held.devices[device], held.release.enabled
    if published.binding_conditions and not gate("DRADeviceBindingConditions"):
        return False
    grouped = any(use.compatibility_groups for use in published.consumes_counters)
    if grouped and held.release.version == "1.37" and not gate("DRADeviceCompatibilityGroups"):
        return False
    return gate("DRAPartitionableDevices") or not published.consumes_counters


def _exclusive(held: HeldPlan) -> Iterator[Finding]:
    """A device is taken once; a shareable one once by each request (3.11, rule 67); admin access looks away (C1)."""
    for first, second in combinations(held.plan.placements, 2):
        if first.device != second.device:
            continue
        if first.reference == second.reference:
            # The parts of a split request are requests of their own.
            if not is_split(held, first.reference):
                yield broken("taken-twice", first.device, f"request {first.reference} takes it twice")
        elif not held.shareable(first.device) and not _looks_away(held, first, second):
            yield broken("taken-twice", first.device, f"{first.reference} and {second.reference} both take it")


def _looks_away(held: HeldPlan, first: Placement, second: Placement) -> bool:
    """Say whether the later of two claims of a pod takes the same device with `adminAccess`."""
    order = {claim: at for at, claim in enumerate(held.claims)}
    early, late = sorted((first, second), key=lambda placement: order[placement.claim])
    return early.claim != late.claim and held.ways[late.reference].admin_access


def _served(held: HeldPlan) -> Iterator[Finding]:
    """`count`, `allocationMode`, `firstAvailable` and the limit of 32 devices."""
    for claim in held.claims:
        if len(mine := [p for p in held.plan.placements if p.claim == claim]) > MAX_DEVICES:
            yield broken("limit", claim or "claim", f"{len(mine)} devices are more than {MAX_DEVICES}")
    for request in held.plan.sketch.requests:
        used = [reference for reference in held.taken if split_request(reference)[0] == request.name]
        if len(used) != 1:
            yield broken("alternative", request.name, f"it is served in {len(used)} ways")
            continue
        ask, have = held.ways[used[0]], len(held.taken[used[0]])
        wanted = len(_all_devices(held, ask)) if ask.all_devices else ask.count
        if have != wanted and not is_split(held, used[0]):
            yield broken("count", ask.reference, f"{have} devices are taken, {wanted} are asked for")
        if ask.all_devices:
            yield from _looks_at_every(held, ask)


def _looks_at_every(held: HeldPlan, ask: Ask) -> Iterator[Finding]:
    """All needs every pool of the node whole, and every device answered by the selectors (3.6)."""
    for pool in held.pools:
        if pool.invalid or not pool.complete:
            yield broken("all", ask.reference, f"pool {pool.driver}/{pool.name} is not complete")
    for device, published in held.devices.items():
        if held.matching.match(ask, device.driver, published).stage == "error":
            yield broken("all", ask.reference, f"a selector fails on {device}")


def _all_devices(held: HeldPlan, ask: Ask) -> Sequence[DeviceID]:
    """Return the devices that All means: what matches and, up to 1.36, has the capacity now (3.6, rule 31)."""
    now = held.release.version in ("1.34", "1.35", "1.36")
    return [
        device
        for device in held.devices
        if held.matches(ask, device) and _is_listed(held, device) and can_give(held, ask, device, now=now)
    ]


def _is_listed(held: HeldPlan, device: DeviceID) -> bool:
    # Devices with counters stay listed while their gate is off, and make the request fail (rule 28).
    return _is_visible(held, device) or not held.release.enabled("DRAPartitionableDevices")


def _tied_to_node(held: HeldPlan) -> Iterator[Finding]:
    """`allocation.nodeSelector`: what the claims of the pod demand of its node, those allocated before too (3.12)."""
    node = held.cluster.node_by_name[held.plan.node]
    for claim in held.plan.allocated_claims:
        selector = claim.status.allocation.node_selector if claim.status.allocation else None
        if selector is not None and not node_matches(selector, node):
            yield broken("node", claim.metadata.name, f"the claim is allocated where node {node.name} is not")
    for name in held.claims:
        for placement in held.of_claim(name):
            item = held.published[placement.device]
            own = item.device if item.slice.spec.per_device_node_selection else item.slice.spec
            if own.node_name is not None or item.device.binds_to_node:
                break
            if own.node_selector is not None and len(own.node_selector.node_selector_terms) != 1:
                yield broken("node", placement.device, "its node selector has several terms: the pod is given up")
                break
