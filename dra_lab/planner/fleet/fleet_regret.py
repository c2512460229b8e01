"""What kube-scheduler's first fit makes of the same pods: node by node, pod by pod, valued with the same goals."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from msgspec.structs import replace as changed

from dra_lab.errors import Cancelled, UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.model.allocation import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceRequestAllocationResult,
    ResourceClaimStatus,
)
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import FleetPlan, PlacedPod
from dra_lab.model.names import MARK
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import FirstFitStatus, Placement, PlanStatus
from dra_lab.model.quantity import QuantityText, format_quantity
from dra_lab.model.sketch import asks
from dra_lab.model.what_if import part_of_cluster
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.placing import goals_of, scale_on
from dra_lab.planner.fleet.pods import FleetPod, FleetProblem
from dra_lab.planner.node.placement_values import broken_links, value_placements
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.sketch.compile import CompiledClaim, compile_claim


@dataclass
class _Trial:
    """First fit on the nodes of a plan."""

    fleet: FleetProblem
    order: tuple[str, ...]
    claims: dict[str, tuple[CompiledClaim, ...]]
    budget: Budget
    numbers: dict[str, int] = field(default_factory=dict)
    replicas: list[PlacedPod] = field(default_factory=list)
    stopped: int = 0


def first_fit_of(fleet: FleetProblem, plan: FleetPlan, order: Sequence[str], budget: Budget) -> FleetPlan | None:
    """Return what first fit takes where the plan's pods stand: those planned for a node, one after the other, on it.

    Other plugins decide which node kube-scheduler would pick, so the result does not depend on that. Pods come in the
    order of the plan's workloads, with the claims that the drawings compile to. A pod without devices is not placed,
    the next one is tried. After `Shares.compare` seconds the status is STOPPED, and a finding says how many nodes were
    compared; the goals are those of these nodes, and `unplaced` counts the pods planned there. None where nothing was.
    """
    budget.report_step("first fit", "what kube-scheduler would take on the same nodes")
    claims = {pod.workload.name: _compiled(fleet, pod) for pod in fleet.pods}
    trial = _Trial(fleet, tuple(order), claims, budget.until(time.monotonic() + budget.shares.compare))
    compared, on_node = [], plan.on_node
    for node, replicas in on_node.items():
        if trial.budget.reached:
            break
        if _on_node(trial, node, replicas):
            compared.append(node)
    if not compared:
        return None
    planned = sum(len(on_node[node]) for node in compared)
    counted = goals_of(fleet, trial.replicas, order, len({replica.node for replica in trial.replicas}))
    goals = [counted[goal] for goal in order]
    if len(compared) < len(on_node):
        goals[0] = replace(goals[0], value=planned - len(trial.replicas))
    return FleetPlan(
        PlanStatus.FEASIBLE if len(compared) == len(on_node) else PlanStatus.STOPPED,
        plan.workloads,
        plan.cluster,
        plan.release,
        tuple(trial.replicas),
        tuple(goals),
        findings=tuple(_findings(len(compared), len(on_node), budget.shares.compare)),
        objective=plan.objective,
        compared=tuple(compared),
    )


def _compiled(fleet: FleetProblem, pod: FleetPod) -> tuple[CompiledClaim, ...]:
    return tuple(compile_claim(claim, fleet.scan.cluster, fleet.release) for claim in pod.workload.claims)


def _on_node(trial: _Trial, node: str, replicas: Sequence[PlacedPod]) -> bool:
    """Try the pods of one node; say whether it was done to the end."""
    part = with_held(trial.fleet, part_of_cluster(trial.fleet.scan.cluster, node))
    held: list[ResourceClaim] = []
    found: list[PlacedPod] = []
    for replica in replicas:
        if trial.budget.reached:
            return False
        pod = next(pod for pod in trial.fleet.pods if pod.workload.name == replica.workload)
        claims = [
            ResourceClaim(metadata=ObjectMeta(name=f"{replica.workload}-{replica.replica}-{at}"), spec=compiled.spec)
            for at, compiled in enumerate(trial.claims[replica.workload])
        ]
        try:
            verdict = first_fit(
                replace(part, claims=(*part.claims, *held)),
                node,
                claims,
                trial.fleet.release,
                time_limit=min(trial.budget.shares.search, trial.budget.left or 0.0),
                cancel=trial.budget.cancel,
            )
        except (Cancelled, UnsupportedFeature):
            return False
        if verdict.status is FirstFitStatus.STOPPED:
            trial.stopped += 1
            return False
        if verdict.allocations is not None:
            allocated = [
                changed(claim, status=changed(claim.status, allocation=allocation))
                for claim, allocation in zip(claims, verdict.allocations, strict=True)
            ]
            compiled = trial.claims[replica.workload]
            found.append(placed_replica(trial.fleet, trial.order, pod, compiled, replica, allocated)[0])
            held.extend(allocated)
    trial.replicas.extend(found)
    return True


def with_held(fleet: FleetProblem, part: Cluster) -> Cluster:
    """Return the part with what was in use for the plan."""
    held = fleet.scan.rules.held
    if held is None:
        return part
    names = {(slice_.spec.driver, slice_.spec.pool.name) for slice_ in part.slices}
    results = [
        DeviceRequestAllocationResult(request="held", **device._asdict())
        for device in held.exclusive
        if device[:2] in names
    ]
    for device in (device for device in held.shares if device[:2] in names):
        amounts = held.consumed.get(device, {})
        consumed: dict[str, QuantityText] = {key: format_quantity(amount) for key, amount in amounts.items()}
        share = f"00000000-0000-0000-0000-{len(results):012d}"
        results.append(
            DeviceRequestAllocationResult(
                request="held", **device._asdict(), share_id=share, consumed_capacity=consumed
            )
        )
    allocation = AllocationResult(devices=DeviceAllocationResult(results=tuple(results)))
    status = ResourceClaimStatus(allocation=allocation)
    return replace(part, claims=(ResourceClaim(metadata=ObjectMeta(name="held"), status=status),))


def placed_replica(
    fleet: FleetProblem,
    order: Sequence[str],
    pod: FleetPod,
    compiled: Sequence[CompiledClaim],
    planned: PlacedPod,
    claims: Sequence[ResourceClaim],
) -> tuple[PlacedPod, tuple[str, ...]]:
    """Return a replica with the devices that its claims were allocated, and the required links that these break."""
    inner: list[Placement] = []
    outer: list[Placement] = []
    known = {ask.reference for request in pod.sketch.requests for ask in asks(request)}
    for at, claim in enumerate(claims):
        name = pod.workload.claims[at].name if pod.several else ""
        assert claim.status.allocation is not None, "only allocated claims are placed"
        for result in claim.status.allocation.devices.results:
            drawn = compiled[at].origin.get(result.request, result.request)
            consumed = {key: str(amount) for key, amount in result.consumed_capacity.items()}
            outer.append(Placement(pod.drawn(at, drawn), result.id, result.request, consumed, name))
            # The parts of a request that is split are requests of the expanded drawing.
            expanded = next((one for one in (drawn, result.request) if _named(name, one) in known), drawn)
            inner.append(Placement(_named(name, expanded), result.id, consumed=consumed))
    scale = scale_on(fleet, pod, planned.node)
    goals = value_placements(scale, inner, order)
    return PlacedPod(planned.workload, planned.replica, planned.node, tuple(outer), goals), broken_links(scale, inner)


def _named(claim: str, reference: str) -> str:
    return f"{claim}{MARK}{reference}" if claim else reference


def _findings(compared: int, nodes: int, seconds: float) -> list[Finding]:
    if compared == nodes:
        return []
    return [
        Finding(
            "first-fit-not-compared",
            Severity.NOTE,
            "first fit",
            f"kube-scheduler's first fit was compared on {compared} of {nodes} nodes, within {seconds:g} s.",
            "Compare its goals with those of the plan on the same nodes only.",
        )
    ]
