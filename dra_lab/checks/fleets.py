"""Hold a plan for a fleet against the rules of DRA: each pod beside all the others, without the solver's code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice

from msgspec.structs import replace as changed

from dra_lab.checks.held_plan import HeldPlan, broken
from dra_lab.checks.plan_bounds import Placed, against, better, least_values
from dra_lab.checks.plan_places import asks_for_nics
from dra_lab.checks.plan_room import MOST_NODES, fits_for_certain, is_simple
from dra_lab.checks.plan_words import proofs_told
from dra_lab.checks.plans import check_plan, keeps_all
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.allocation import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaimStatus,
)
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import NODES, UNPLACED, FleetPlan, Replica, Workload
from dra_lab.model.memo import once_per_claims
from dra_lab.model.names import MARK, DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import Placement, Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.model.slices import ResourceSlice

MOST_MOVED = 6
"""Replicas for which a better place is searched, and nodes to which each is moved."""


def check_fleet(cluster: Cluster, plan: FleetPlan, release: KubernetesRelease) -> tuple[Finding, ...]:
    """Return every rule that a fleet's pods break, as errors.

    Every pod is held against `check_plan` with the devices of all other pods of the plan in use, so that their order
    does not matter; then numbers of replicas, sums of the goals, bounds and status. If the plan says that no more
    replicas fit, none may be placed beside it by taking the first devices that are left, nor more of them by beginning
    again; and no replica may be moved so that a sum is below its bound. The cluster is to be the one that was planned
    on, with the device classes of the plan.
    """
    release = cluster.target_release(release)
    found = list(_numbers(plan))
    if not found:
        found.extend(_status(plan))
        found.extend(_sums(plan))
        nics = {w.name: asks_for_nics(cluster, release, _drawn(w)) for w in plan.workloads}
        beside = _Beside(cluster, plan, release)
        for node in beside.on_node:
            found.extend(_on_node(beside, node, nics))
        # A pod with admin access needs counters that another pod leaves (docs/semantics.md 3.10.7), so that none is put
        # beside it here.
        looks = any(
            ask.admin_access for w in plan.workloads for claim in w.claims for r in claim.requests for ask in asks(r)
        )
        found.extend(_more_fit(beside) if not looks else ())
        if not found and not looks:
            found.extend(_better(beside, nics))
    return sort_findings(found)


def _numbers(plan: FleetPlan) -> Iterator[Finding]:
    """Each replica belongs to a workload, has a number of its own, and there are no more of them than wanted."""
    wanted = {workload.name: workload.replicas for workload in plan.workloads}
    for (name, number), times in Counter((r.workload, r.number) for r in plan.replicas).items():
        if name not in wanted:
            yield broken("workload", name, "the plan has no such workload")
        elif times > 1 or not 0 <= number < wanted[name]:
            yield broken("replicas", name, f"replica {number} is there {times} times, {wanted[name]} are wanted")


def _status(plan: FleetPlan) -> Iterator[Finding]:
    """A plan says that it is proven only where every goal is."""
    yield from proofs_told(plan.goals, proven=plan.status is PlanStatus.OPTIMAL)
    if bool(plan.replicas) != (plan.status in (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE)):
        yield broken("status", plan.status, f"{len(plan.replicas)} replicas are placed")
    missing = sum(workload.replicas for workload in plan.workloads) - len(plan.replicas)
    if plan.replicas and plan.objective == "nodes" and missing:
        yield broken("replicas", "nodes", f"{missing} replicas are not placed, but all were asked for")


def _sums(plan: FleetPlan) -> Iterator[Finding]:
    """The goals are the sums over the replicas; what has no place and the nodes used are counted."""
    wanted = sum(workload.replicas for workload in plan.workloads)
    for goal in plan.goals if plan.replicas else ():
        have = sum(value.value for replica in plan.replicas for value in replica.goals if value.goal == goal.goal)
        have = {UNPLACED: wanted - len(plan.replicas), NODES: len(plan.nodes)}.get(goal.goal, have)
        if have != goal.value:
            yield broken("goal", goal.goal, f"the plan says {goal.value}, its replicas have {have}")


class _Beside:
    """What the pods of a plan hold beside one another, node by node; only what can matter to a pod is put beside it.

    That is what the other pods on its node hold, and of the devices that several nodes see what pods elsewhere hold of
    the same devices, or of a pool with counters that it takes from too. So the work does not grow with the square of
    the pods.
    """

    def __init__(self, cluster: Cluster, plan: FleetPlan, release: KubernetesRelease) -> None:
        self.cluster, self.plan, self.release = cluster, plan, release
        self.workloads = {workload.name: workload for workload in plan.workloads}
        self.on_node = plan.on_node
        self._seen_by_several = frozenset((s.spec.driver, s.spec.pool.name) for s in cluster.network_slices)
        self._counted = frozenset(
            (s.spec.driver, s.spec.pool.name) for s in cluster.network_slices if s.spec.shared_counters is not None
        )
        self._takers: dict[tuple[str, ...], list[Replica]] = {}
        for replica in plan.replicas if self._seen_by_several else ():
            for key in self._keys(replica):
                self._takers.setdefault(key, []).append(replica)
        self._claims: dict[int, ResourceClaim] = {}

    def part(self, node: str) -> Cluster:
        """Return the part of the cluster that matters on a node."""
        return part_of_cluster(self.cluster, {node: None})

    def others(self, replica: Replica, part: Cluster) -> tuple[ResourceClaim, ...]:
        """Return what other pods hold that may matter to one; `part` is the part of its node."""
        near = {id(other): other for other in self.on_node[replica.node]}
        for key in self._keys(replica) if self._seen_by_several else ():
            near.update((id(other), other) for other in self._takers[key])
        near.pop(id(replica))
        return tuple(self._claim(other, part if other.node == replica.node else None) for other in near.values())

    def around(self, node: str, without: Replica | None = None) -> Cluster:
        """Return the part of the cluster that matters on a node, with what the plan's pods, but for one, hold of it."""
        part = self.part(node)
        far = self.plan.replicas if self._seen_by_several else self.on_node.get(node, ())
        others = [replica for replica in far if replica is not without]
        claims = (self._claim(replica, part if replica.node == node else None) for replica in others)
        return part.with_objects(claims=(*part.claims, *claims))

    def _keys(self, replica: Replica) -> Iterator[tuple[str, ...]]:
        """Yield what a pod may have in common with pods on other nodes: devices, and pools with counters."""
        pools = {placement.device[:2] for placement in replica.placements} & self._seen_by_several
        yield from (pool for pool in pools if pool in self._counted)
        yield from dict.fromkeys(p.device for p in replica.placements if p.device[:2] in pools)

    def _claim(self, replica: Replica, part: Cluster | None) -> ResourceClaim:
        found = self._claims.get(id(replica))
        if found is None:
            where = part if part is not None else self.part(replica.node)
            found = _claim(where, replica, self.workloads[replica.workload], self.release)
            self._claims[id(replica)] = found
        return found


def _on_node(beside: _Beside, node: str, nics: Mapping[str, bool]) -> Iterator[Finding]:
    """Hold the pods of one node against the rules, each with the others in use."""
    part = beside.part(node)
    for replica in beside.on_node[node]:
        around = part.with_objects(claims=(*part.claims, *beside.others(replica, part)))
        workload = beside.workloads[replica.workload]
        drawn = {claim.name: claim for claim in workload.claims} if len(workload.claims) > 1 else {}
        one = Plan(
            PlanStatus.FEASIBLE,
            _drawn(workload),
            node=replica.node,
            placements=replica.placements,
            goals=replica.goals,
            claims=drawn,
        )
        if not replica.placements:
            yield broken("served", replica.workload, f"replica {replica.number} has no devices")
        for finding in check_plan(around, one, beside.release, asks_for_nics=nics[replica.workload]):
            yield replace(finding, subject=f"{replica.workload}/{replica.number}: {finding.subject}")


def _more_fit(beside: _Beside) -> Iterator[Finding]:
    """A plan that says that no more fit has no node on which one more replica can be placed.

    With `objective` "nodes" it says that not all fit together, which is held for one workload on nodes of their own.
    """
    plan = beside.plan
    none_at_all = plan.status is PlanStatus.INFEASIBLE
    missing = plan.goal(UNPLACED)
    if not none_at_all and (missing is None or not missing.proven or not missing.value):
        return
    together = none_at_all and plan.objective == "nodes"
    if together and (len(plan.workloads) > 1 or beside.cluster.network_slices):
        return
    for workload in plan.workloads:
        left = workload.replicas - plan.placed[workload.name]
        wanted, found = (left if together else min(left, 1)), 0
        for node in beside.cluster.node_names[:MOST_NODES] if wanted else ():
            drawn = Plan(PlanStatus.FEASIBLE, _drawn(workload), node=node)
            held = HeldPlan(beside.around(node), drawn, beside.release)
            found += fits_for_certain(held, wanted - found)
            if found >= wanted:
                text = f"the plan says that no more fit, but counting places {found} more; the last one on {node}"
                yield broken("room", workload.name, text)
                break
    if missing is not None and len(plan.workloads) == 1 and not beside.cluster.network_slices:
        yield from _placed_again(beside, plan.workloads[0], missing.bound or 0)


def _placed_again(beside: _Beside, workload: Workload, bound: int) -> Iterator[Finding]:
    """Place all replicas of the only workload again, node by node: a greedy that places more refutes the bound."""
    found, enough = 0, workload.replicas - bound
    for node in beside.cluster.node_names[:MOST_NODES]:
        held = HeldPlan(beside.part(node), Plan(PlanStatus.FEASIBLE, _drawn(workload), node=node), beside.release)
        found += fits_for_certain(held, workload.replicas - found)
        if found > enough:
            text = f"the plan says that no more than {enough} fit, but counting places {found}; the last one on {node}"
            yield broken("room", workload.name, text)
            return


def _better(beside: _Beside, nics: Mapping[str, bool]) -> Iterator[Finding]:
    """No replica can be moved, on its node or to another one, so that a sum is below what is proven of it."""
    plan = beside.plan
    if not any(goal.bound for goal in plan.goals if goal.goal != UNPLACED):
        return
    # one of each workload on each node
    kinds = {(replica.node, replica.workload): replica for replica in plan.replicas}
    for replica in islice(kinds.values(), MOST_MOVED):
        others = [node for node in (*beside.on_node, *beside.cluster.node_names) if node != replica.node]
        for node in (replica.node, *islice(dict.fromkeys(others), MOST_MOVED)):
            text = _moved(beside, replica, node, nics=nics[replica.workload])
            if text:
                yield broken("bound", f"{replica.workload}/{replica.number}", f"on {node}: {text}")
                return


def _moved(beside: _Beside, replica: Replica, node: str, *, nics: bool) -> str:
    """Return which bound is refuted if one replica is placed on a node in another way, "" for none."""
    plan = beside.plan
    drawn = Plan(PlanStatus.FEASIBLE, _drawn(beside.workloads[replica.workload]), node=node)
    held = HeldPlan(beside.around(node, without=replica), drawn, beside.release, nics)
    if not is_simple(held):
        return ""
    own = {goal.goal: goal.value for goal in replica.goals}
    left, come = len(beside.on_node[replica.node]) == 1, node not in beside.on_node
    nodes = 0 if node == replica.node else come - left

    def judge(values: Mapping[str, int]) -> str:
        change = {name: values[name] - own[name] for name in own if name in values} | {UNPLACED: 0, NODES: nodes}
        return against(plan.goals, {g.goal: g.value + change[g.goal] for g in plan.goals if g.goal in change})

    ways = Placed(held)
    least = least_values(ways)
    worth = nodes < 0 or any(least.get(name, 0) < value for name, value in own.items())
    return better(ways, judge, keeps_all) if least and worth else ""


def _drawn(workload: Workload) -> ClaimSketch:
    """Return the claims of a pod as one drawing: requests as `claim:request` where there are several."""
    if len(workload.claims) == 1:
        return workload.claims[0]
    requests, links = [], []
    for claim in workload.claims:
        requests += [changed(request, name=f"{claim.name}{MARK}{request.name}") for request in claim.requests]
        for link in claim.links:
            tied = tuple(f"{claim.name}{MARK}{name}" for name in link.requests)
            links.append(changed(link, name=f"{claim.name}{MARK}{link.name}", requests=tied))
    return ClaimSketch(workload.name, tuple(requests), tuple(links))


def _claim(cluster: Cluster, replica: Replica, workload: Workload, release: KubernetesRelease) -> ResourceClaim:
    """Return what a pod holds, as an allocated claim."""
    drawn = _drawn(workload)
    held = HeldPlan(
        cluster, Plan(PlanStatus.FEASIBLE, drawn, node=replica.node, placements=replica.placements), release
    )
    results = tuple(_result(held, number, placement) for number, placement in enumerate(replica.placements))
    name = f"{replica.workload}-{replica.number}"
    status = ResourceClaimStatus(allocation=AllocationResult(devices=DeviceAllocationResult(results=results)))
    return ResourceClaim(metadata=ObjectMeta(name=name, namespace="plan"), status=status)


def _result(held: HeldPlan, number: int, placement: Placement) -> DeviceRequestAllocationResult:
    device, ask = placement.device, held.ways.get(placement.reference)
    shared = device in held.devices and held.shareable(device)
    return DeviceRequestAllocationResult(
        request=placement.request,
        driver=device.driver,
        pool=device.pool,
        device=device.device,
        admin_access=True if ask is not None and ask.admin_access else None,
        share_id=f"00000000-0000-0000-0000-{number:012d}" if shared else None,
        consumed_capacity=dict(placement.consumed) if shared else {},
    )


def part_of_cluster(cluster: Cluster, nodes: Mapping[str, None]) -> Cluster:
    """Return the part of a cluster that matters for some nodes: their slices with the whole pools, and the holders."""
    if len(cluster.node_names) <= len(nodes) + 1:
        return cluster
    mine: dict[tuple[str, str], None] = {}
    for node in nodes:
        mine.update(dict.fromkeys((s.spec.driver, s.spec.pool.name) for s in cluster.slices_by_node.get(node, ())))
    mine.update(dict.fromkeys((s.spec.driver, s.spec.pool.name) for s in cluster.network_slices))
    slices: list[ResourceSlice] = [found for pool in mine for found in cluster.slices_by_pool[pool]]
    held = cluster.allocated
    kept = {DeviceID(s.spec.driver, s.spec.pool.name, d.name) for s in slices for d in s.spec.devices or ()}
    part = replace(
        cluster,
        slices=tuple(slices),
        nodes=tuple(node for node in cluster.nodes if node.name in nodes),
        claims=tuple(_claims_on(cluster, mine)),
    )
    assert all(device not in held.exclusive or device in part.allocated.exclusive for device in kept)
    return part


def _claims_on(cluster: Cluster, pools: Mapping[tuple[str, str], None]) -> Iterator[ResourceClaim]:
    memo = _claims_by_pool(cluster)
    found: dict[int, ResourceClaim] = {}
    for pool in pools:
        found.update(memo.get(pool, {}))
    yield from found.values()


@once_per_claims
def _claims_by_pool(cluster: Cluster) -> Mapping[tuple[str, str], Mapping[int, ResourceClaim]]:
    """Return the claims by the pools that they hold devices of, and by identity."""
    found: dict[tuple[str, str], dict[int, ResourceClaim]] = {}
    for claim in cluster.claims:
        for result in claim.status.allocation.devices.results if claim.status.allocation else ():
            found.setdefault((result.driver, result.pool), {})[id(claim)] = claim
    return found
