"""Claims that kube-scheduler would not grant again as they are, device by device, with the reason and what to do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import is_

from dra_lab.checks.in_use_rules import HeldDevice, broken_constraint, device_reasons, results_of
from dra_lab.findings import Finding, Severity
from dra_lab.index.in_use import claim_name
from dra_lab.index.not_read import not_read
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_rules, once_per_snapshot
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import Node, NodeSelector, node_matches
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import asks
from dra_lab.model.slices import ResourceSlice

MAX_FINDINGS = 20
"""Claims reported one by one for a rule; more are counted in one finding (`audit_claims` has all)."""


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One reason why a claim would not be granted a device again: `rule` in kebab case, `why`, and what to do next.

    `device` is None where the reason concerns the whole claim.
    """

    rule: str
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

    Each claim is kept with the slices and nodes that were read for it.
    """

    release: KubernetesRelease = field(default_factory=KubernetesRelease)
    slices: tuple[ResourceSlice, ...] = ()
    nodes: tuple[Node, ...] = ()
    known: dict[int, tuple[ResourceClaim, _Seen, tuple[AuditRow, ...]]] = field(default_factory=dict)


def _all_rows(held: HeldDevice) -> Iterator[AuditRow]:
    """Yield the rows; a claim that did not change and meets no other one is not looked at again on the same hardware.

    A followed cluster is audited with every change of a claim, a label, or a slice.
    """
    latest, cluster = _latest(held.cluster), held.cluster
    known = latest.known if latest.release == held.release and bool(latest.nodes) == bool(cluster.nodes) else {}
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
    latest.release, latest.slices, latest.nodes, latest.known = held.release, cluster.slices, cluster.nodes, kept


@once_per_rules
def _latest(_cluster: Cluster) -> _Audited:
    return _Audited()


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
    by_rule: dict[str, dict[str, list[AuditRow]]] = defaultdict(lambda: defaultdict(list))
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
