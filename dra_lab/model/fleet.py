"""FleetPlan: the answer for workloads × replicas over a cluster; one value, read by charts, tables and the CLI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from dra_lab.findings import Finding
from dra_lab.model.plan import GoalValue, Placement, PlanStatus, Shortfall
from dra_lab.model.sketch import ClaimSketch


@dataclass(frozen=True, slots=True)
class Workload:
    """Pods that are alike: the claims of one pod, in the pod's order, and how many pods (`replicas`) are wanted."""

    name: str
    claims: tuple[ClaimSketch, ...]
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class Replica:
    """One placed pod of a workload.

    `number` counts from 0 within the workload; `placements` name the claim they are for where the pod has several;
    `goals` are the values of this pod alone.
    """

    workload: str
    number: int
    node: str
    placements: tuple[Placement, ...]
    goals: tuple[GoalValue, ...] = ()


@dataclass(frozen=True)
class FleetPlan:
    """Where the replicas of workloads go, with what is proven of it.

    `goals` are in order of importance, each the sum over all placed replicas: `unplaced` (replicas for which there is
    no place) first, then the goals of one claim, then `nodes` (nodes used). All are minimised; `bound` is the least
    value that could still exist, the goals before it being kept, and `proven` says that no better one does. `status` is
    OPTIMAL only when every goal is proven, FEASIBLE when one is not, INFEASIBLE when it is proven that not one replica
    fits, STOPPED when it was ended before any answer. `first_fit` is kube-scheduler with the same replicas (see
    `planner.fleet`), None where not asked.
    """

    status: PlanStatus
    workloads: tuple[Workload, ...]
    cluster: str = ""
    release: str = ""
    replicas: tuple[Replica, ...] = ()
    goals: tuple[GoalValue, ...] = ()
    first_fit: FleetPlan | None = None
    shortfalls: tuple[Shortfall, ...] = ()
    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0

    @property
    def proven(self) -> bool:
        """Say whether nothing better exists, or the misfit is proven."""
        return self.status in (PlanStatus.OPTIMAL, PlanStatus.INFEASIBLE)

    @property
    def placed(self) -> Mapping[str, int]:
        """Return how many replicas of each workload are placed."""
        counted = Counter(replica.workload for replica in self.replicas)
        return {workload.name: counted[workload.name] for workload in self.workloads}

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes that are used, sorted."""
        return tuple(sorted({replica.node for replica in self.replicas}))

    def goal(self, name: str) -> GoalValue | None:
        """Return a goal with its bound, or None where the plan has none of that name."""
        return next((g for g in self.goals if g.goal == name), None)
