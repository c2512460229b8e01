"""The pods of a fleet plan together: what each of them holds, and what of it can matter to which other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from dra_lab.checks.plan_amounts import amounts_taken
from dra_lab.checks.plan_audit import AuditedPlan
from dra_lab.checks.plans import keeps_all
from dra_lab.model.allocation import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaimStatus,
)
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan, Replica, Workload
from dra_lab.model.memo import once_per_claims
from dra_lab.model.names import MARK, DeviceID
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import Placement, Plan, PlanStatus
from dra_lab.model.quantity import QuantityText, format_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.slices import ResourceSlice


class FleetPods:
    """The devices that the pods of a plan hold, node by node; each pod is put beside those that can matter to it.

    These are the other pods on its node. Pods elsewhere matter if they hold the same devices that several nodes see, or
    take from the same pool with counters. So the work does not grow with the square of the pods.
    """

    def __init__(self, cluster: Cluster, plan: FleetPlan, release: KubernetesRelease) -> None:
        """Take a plan whose replicas name its workloads, and the cluster that it is for."""
        self.cluster, self.plan, self.release = cluster, plan, release
        self.workloads = {workload.name: workload for workload in plan.workloads}
        self.on_node = plan.on_node
        self.open_nodes = tuple(sorted(cluster.open_nodes))
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

    def held(self, node: str) -> Iterator[tuple[Replica, AuditedPlan]]:
        """Yield each pod of a node with its devices, the devices of all other pods being in use."""
        part = self.part(node)
        for replica in self.on_node.get(node, ()):
            around = part.with_objects(claims=(*part.claims, *self.others(replica, part)))
            workload = self.workloads[replica.workload]
            several = {claim.name: claim for claim in workload.claims} if len(workload.claims) > 1 else {}
            one = Plan(
                PlanStatus.FEASIBLE,
                drawn(workload),
                node=node,
                placements=replica.placements,
                goals=replica.goals,
                claims=several,
            )
            yield replica, AuditedPlan(around, one, self.release)

    def having(self, replicas: Sequence[Replica]) -> FleetPods:
        """Return the pods of the same plan with other replicas."""
        return FleetPods(self.cluster, replace(self.plan, replicas=tuple(replicas)), self.release)

    def keep(self, node: str) -> bool:
        """Say whether all pods that a change on a node may concern keep every rule and every link."""
        nodes = self.on_node if self._seen_by_several else (node,)
        return all(
            keeps_all(replace(held, plan=replace(held.plan, goals=()))) for name in nodes for _, held in self.held(name)
        )

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


def drawn(workload: Workload) -> ClaimSketch:
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
    held = AuditedPlan(
        cluster, Plan(PlanStatus.FEASIBLE, drawn(workload), node=replica.node, placements=replica.placements), release
    )
    results = tuple(_result(held, number, placement) for number, placement in enumerate(replica.placements))
    name = f"{replica.workload}-{replica.number}"
    status = ResourceClaimStatus(allocation=AllocationResult(devices=DeviceAllocationResult(results=results)))
    return ResourceClaim(metadata=ObjectMeta(name=name, namespace="plan"), status=status)


def _result(held: AuditedPlan, number: int, placement: Placement) -> DeviceRequestAllocationResult:
    device, ask = placement.device, held.asks.get(placement.reference)
    shared = device in held.devices and held.shareable(device)
    return DeviceRequestAllocationResult(
        request=placement.request,
        driver=device.driver,
        pool=device.pool,
        device=device.device,
        admin_access=True if ask is not None and ask.admin_access else None,
        share_id=f"00000000-0000-0000-0000-{number:012d}" if shared else None,
        consumed_capacity=_consumed(held, placement) if shared else {},
    )


def _consumed(held: AuditedPlan, placement: Placement) -> dict[str, QuantityText]:
    """Return what a placement says that it consumes of a shared device, or what its request takes."""
    if placement.consumed or placement.reference not in held.asks:
        return dict(placement.consumed)
    return {key: format_quantity(amount) for key, amount in (amounts_taken(held, placement) or {}).items()}


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
