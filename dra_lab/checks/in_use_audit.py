"""Why a device that a claim holds would not be granted to it again: one rule after the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from operator import is_

from dra_lab.cel.matching import CLASS, ERROR
from dra_lab.checks.taint_validation import excludes
from dra_lab.findings import Finding, Rule, Severity
from dra_lab.index.in_use import claim_name, published_device
from dra_lab.index.node_index import node_index
from dra_lab.index.not_read import not_read
from dra_lab.index.pools import contradictions, why_unusable
from dra_lab.model.claims import DeviceConstraint, DeviceRequestAllocationResult, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, published_amounts
from dra_lab.model.memo import once_per_hardware, once_per_snapshot
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import Node, NodeSelector, node_matches
from dra_lab.model.quantity import format_quantity, parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, asks
from dra_lab.model.slices import ResourceSlice, newest

Reason = tuple[Rule, str, str]


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


@once_per_hardware
def unusable_pools(cluster: Cluster, *, consistent: bool = False) -> Mapping[tuple[str, str], str]:
    """Return why kube-scheduler skips a pool, by (driver, pool); from 1.38 also for `contradictions` (`consistent`)."""
    wrong = contradictions(cluster) if consistent else {}
    found: dict[tuple[str, str], str] = {}
    for key, slices in cluster.slices_by_pool.items():
        current = newest(slices)
        wanted = current[0].spec.pool.resource_slice_count
        if contradiction := wrong.get((key, current[0].spec.pool.generation)):
            found[key] = f"invalid ({contradiction})"
        elif len(current) != wanted:
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
    if skipped := unusable_pools(held.cluster, consistent=held.release.is_at_least("1.38")).get(
        (result.driver, result.pool)
    ):
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
    if ask.device_class_name not in held.cluster.class_by_name:
        advice = (
            "A pod that uses a missing class waits until the class exists. Create it again, or request another class."
        )
        yield "class-missing", f"there is no DeviceClass {ask.device_class_name!r} any more", advice
        return
    match = node_index(held.cluster, held.release).matching.match(ask, result.driver, device)
    if match.stage == CLASS:
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
    taken = held.cluster.allocated.consumed.get(result.id, {})
    keys = {*requested, *result.consumed_capacity}
    if held.release.is_at_least("1.38"):
        requested, taken = ({**published_amounts(device, one, result.driver)} for one in (requested, taken))
        keys = {*published_amounts(device, dict.fromkeys(keys), result.driver)}
    for key in keys:
        known = device.capacity.get(key)
        if known is None:
            yield "capacity-too-small", f"{result.id} has no capacity {key} any more", advice
            continue
        total = parse_quantity(known.value)
        wanted = requested.get(key, Fraction())
        used = taken.get(key, Fraction())
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


MAX_FINDINGS = 20
"""Claims reported one by one for a rule; more are counted in one finding (`audit_claims` has all)."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One reason why a claim would not be granted a device again: `rule` in kebab case, `why`, and what to do next.

    `device` is None where the reason concerns the whole claim.
    """

    rule: Rule
    claim: str
    request: str
    device: DeviceID | None
    why: str
    advice: str


@once_per_snapshot
def audit_claims(cluster: Cluster) -> tuple[AuditRow, ...]:
    """Return why allocated claims would not be granted again as they are, in the order of the claims.

    It checks for devices, pools and nodes that no longer exist, and for pools that kube-scheduler skips. It checks for
    taints that the request does not tolerate, for classes and selectors that no longer match, and for capacity that is
    too small. It checks for devices that are held twice or no longer shared, and for constraints that no longer hold.
    An allocation stays valid all the same: Kubernetes looks at none of it again (docs/semantics.md 3.14). Selectors and
    taints are looked at as in the cluster's default release: DeviceTaintRules count from 1.37 on. Without
    ResourceSlices nothing is known of any device.
    """
    return () if not_read(cluster) is not None else tuple(_all_rows(HeldDevice(cluster, cluster.target_release())))


_Seen = tuple[object, ...]


@dataclass(slots=True)
class _Audited:
    """What the latest audit found of claims that share no device with another, by their place in memory.

    Each claim is kept with the slices and nodes that were read for it; `rules` are what else was read.
    """

    rules: tuple[object, ...] = ()
    slices: tuple[ResourceSlice, ...] = ()
    nodes: tuple[Node, ...] = ()
    known: dict[int, tuple[ResourceClaim, _Seen, tuple[AuditRow, ...]]] = field(default_factory=dict)


def _all_rows(held: HeldDevice) -> Iterator[AuditRow]:
    """Yield the rows; a claim that did not change and meets no other one is not looked at again on the same hardware.

    A followed cluster is audited with every change of a claim, a label, or a slice.
    """
    cluster = held.cluster
    latest: _Audited = cluster.memo.latest.setdefault(_Audited, _Audited())
    rules = (held.release, bool(cluster.nodes), cluster.classes, cluster.taint_rules)
    known = latest.known if latest.rules == rules else {}
    unmoved = latest.slices is cluster.slices and latest.nodes is cluster.nodes
    kept: dict[int, tuple[ResourceClaim, _Seen, tuple[AuditRow, ...]]] = {}
    in_use = cluster.allocated
    meeting = in_use.contested or bool(in_use.shares)
    allocated = [claim for claim in cluster.claims if claim.status.allocation is not None]
    if meeting:
        _add_holders(held, allocated)
    for claim in allocated:
        meets = meeting and any(len(held.holders.get(r.id, ())) > 1 or r.id in in_use.shares for r in results_of(claim))
        last = None if meets else known.get(id(claim))
        seen = last[1] if last is not None and unmoved else _seen(cluster, claim)
        if last is None or (seen is not last[1] and not _are_same(seen, last[1])):
            if not meeting:
                _add_holders(held, (claim,))
            last = claim, seen, tuple(_audit(held, claim))
        yield from last[2]
        if not meets:
            # the claim is kept with it, so that no other one can come to stand at its place
            kept[id(claim)] = last
    latest.rules, latest.slices, latest.nodes, latest.known = rules, cluster.slices, cluster.nodes, kept


def _seen(cluster: Cluster, claim: ResourceClaim) -> _Seen:
    """Return the slices of the pools that a claim has devices of, and the nodes that its allocation may mean."""
    by_pool = cluster.slices_by_pool
    slices = [item for result in results_of(claim) for item in by_pool.get((result.driver, result.pool), ())]
    named = _named_nodes(cluster, claim)
    return (*slices, *named) if named is not None else (cluster.slices, cluster.nodes)


def _are_same(ours: _Seen, theirs: _Seen) -> bool:
    return len(ours) == len(theirs) and all(map(is_, ours, theirs))


def _add_holders(held: HeldDevice, claims: Iterable[ResourceClaim]) -> None:
    """Note who holds each device alone."""
    for claim in claims:
        for result in results_of(claim):
            if not result.admin_access and result.share_id is None:
                held.holders[result.id].append(claim_name(claim))


def check_audit(cluster: Cluster) -> Iterator[Finding]:
    """Yield the rows of the audit as findings: MAX_FINDINGS claims of a rule one by one, the others counted."""
    by_rule: dict[Rule, dict[str, list[AuditRow]]] = defaultdict(lambda: defaultdict(list))
    for row in audit_claims(cluster):
        by_rule[row.rule][row.claim].append(row)
    for rule, claims in by_rule.items():
        for claim, rows in list(claims.items())[:MAX_FINDINGS]:
            more = f" (and {len(rows) - 1} more of its devices)" if len(rows) > 1 else ""
            message = f"kube-scheduler would not allocate this claim again: {rows[0].why}{more}"
            yield Finding(rule, Severity.WARNING, claim, message, rows[0].advice)
        if len(claims) > MAX_FINDINGS:
            message = f"{len(claims) - MAX_FINDINGS:,} more claims would not be allocated again for the same reason"
            yield Finding(rule, Severity.WARNING, "claims", message, 'frame(cluster, "audit") lists all of them.')


def _audit(held: HeldDevice, claim: ResourceClaim) -> Iterator[AuditRow]:
    name = claim_name(claim)
    known = {ask.reference: ask for request in claim.spec.devices.requests for ask in asks(request)}
    yield from _nodes(held, claim, name)
    for result in results_of(claim):
        for rule, why, advice in device_reasons(held, result, known.get(result.request), name):
            yield AuditRow(rule, name, result.request, result.id, why, advice)
    for constraint in claim.spec.devices.constraints:
        why = broken_constraint(held, claim, constraint)
        if why:
            advice = "A new claim gets only devices that satisfy it. Recreate the pod to move it."
            yield AuditRow("constraint-broken", name, ", ".join(constraint.requests), None, why, advice)


def _nodes(held: HeldDevice, claim: ResourceClaim, name: str) -> Iterator[AuditRow]:
    selector = claim.status.allocation.node_selector if claim.status.allocation else None
    if selector is None or not held.cluster.nodes:
        return
    named = _named_nodes(held.cluster, claim)
    found = held.cluster.node_by_name.values() if named is None else named
    if not any(node_matches(selector, node) for node in found):
        names = _names(selector)
        where = f" ({', '.join(names)})" if names else ""
        why = f"no node matches its allocation any more{where}"
        advice = "Its pods cannot start anywhere; delete the claim so that its devices can be allocated again."
        yield AuditRow("node-vanished", name, "", None, why, advice)


def _named_nodes(cluster: Cluster, claim: ResourceClaim) -> list[Node] | None:
    """Return the nodes that an allocation selects by name; None if it selects by something else."""
    selector = claim.status.allocation.node_selector if claim.status.allocation else None
    if selector is None:
        return []
    if any(all(field_.operator != "In" for field_ in term.match_fields) for term in selector.node_selector_terms):
        return None
    known = cluster.node_by_name
    return [known[name] for name in _names(selector) if name in known]


def _names(selector: NodeSelector) -> list[str]:
    """Return the names of nodes that a selector has."""
    fields = (field_ for term in selector.node_selector_terms for field_ in term.match_fields)
    return [value for field_ in fields if field_.operator == "In" for value in field_.values]
