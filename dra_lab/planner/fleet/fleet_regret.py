"""What kube-scheduler's first fit makes of the same pods: node by node, pod by pod, valued with the same goals."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dra_lab.errors import Cancelled, UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.placement import FirstFit, FirstFitStatus, PlacedPod, Placement
from dra_lab.model.plan import Plan
from dra_lab.model.what_if import part_of_cluster
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.first_fit_pods import PodAsWritten
from dra_lab.planner.fleet.placing import goals_of, scale_on
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.node.goal_table import value_placements


@dataclass
class _Trial:
    """First fit on the nodes of a plan."""

    fleet: FleetProblem
    order: tuple[str, ...]
    claims: dict[str, PodAsWritten]
    budget: Budget
    numbers: dict[str, int] = field(default_factory=dict)
    replicas: list[PlacedPod] = field(default_factory=list)


def first_fit_of(fleet: FleetProblem, plan: Plan, order: Sequence[str], budget: Budget) -> FirstFit | None:
    """Return what first fit takes where the plan's pods stand: those planned for a node, one after the other, on it.

    Other plugins decide which node kube-scheduler would pick, so the result does not depend on that. Pods come in the
    order of the plan's workloads, with the claims that the drawings compile to. A pod without devices is not placed,
    the next one is tried. After `Shares.compare` seconds the status is STOPPED, and a finding says how many nodes were
    compared; the goals are those of these nodes, and `unplaced` counts the pods planned there. None where nothing was.
    """
    budget.report_step("first fit", "what kube-scheduler would take on the same nodes")
    claims = {pod.workload.name: PodAsWritten(fleet, pod) for pod in fleet.pods}
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
    return FirstFit(
        FirstFitStatus.ALLOCATED if len(compared) == len(on_node) else FirstFitStatus.STOPPED,
        tuple(trial.replicas),
        tuple(goals),
        compared=tuple(compared) if len(compared) < len(on_node) else (),
    )


def _on_node(trial: _Trial, node: str, replicas: Sequence[PlacedPod]) -> bool:
    """Try the pods of one node; say whether it was done to the end."""
    part = part_of_cluster(trial.fleet.scan.cluster, node)
    held: list[ResourceClaim] = []
    found: list[PlacedPod] = []
    for replica in replicas:
        if trial.budget.reached:
            return False
        cluster, claims = replace(part, claims=(*part.claims, *held)), trial.claims[replica.workload]
        try:
            name = f"{replica.workload}-{replica.replica}"
            status, allocated = claims.first_fit(trial.fleet, cluster, node, name, trial.budget)
        except (Cancelled, UnsupportedFeature):
            return False
        if status is FirstFitStatus.STOPPED:
            return False
        if allocated:
            found.append(_placed(trial, claims, replica, allocated))
            held.extend(allocated)
    trial.replicas.extend(found)
    return True


def _placed(trial: _Trial, mine: PodAsWritten, planned: PlacedPod, claims: Sequence[ResourceClaim]) -> PlacedPod:
    """Return a replica with the devices that its claims were allocated."""
    inner: list[Placement] = []
    outer: list[Placement] = []
    for at, claim in enumerate(claims):
        assert claim.status.allocation is not None, "only allocated claims are placed"
        for result in claim.status.allocation.devices.results:
            consumed = {key: str(amount) for key, amount in result.consumed_capacity.items()}
            drawn = mine.pod.drawn(at, mine.drawn(at, result.request))
            outer.append(Placement(drawn, result.id, result.request, consumed, mine.claim(at)))
            inner.append(Placement(mine.expanded(at, result.request), result.id, consumed=consumed))
    goals = value_placements(scale_on(trial.fleet, mine.pod, planned.node), inner, trial.order)
    return PlacedPod(planned.workload, planned.replica, planned.node, tuple(outer), goals)


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
