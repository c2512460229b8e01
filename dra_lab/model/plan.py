"""Plan: where the pods of workloads go on a cluster; one value, read by pictures, exports, widgets and the CLI."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from msgspec.structs import replace as changed

from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GANGS, NODES, UNPLACED, GoalValue
from dra_lab.model.headroom import NODE, Fit, Headroom
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import (
    FirstFit,
    FirstFitStatus,
    PlacedPod,
    PlacedReplica,
    Placement,
    Regret,
    SameValues,
    SharedClaim,
    Start,
)
from dra_lab.model.reasons import Reasons, Shortfall, Suggestion
from dra_lab.model.running import Move
from dra_lab.model.sketch import ClaimSketch, pod_drawing
from dra_lab.model.trace import Trace
from dra_lab.model.workload import Question, Workload
from dra_lab.printing import Shown


class PlanStatus(StrEnum):
    """What is known: proven best, best so far, proven impossible, or stopped before any answer; nothing drawn yet.

    `NOT_CHECKED`: what the answer needs of the cluster could not be read, as the first of the `shortfalls` says.
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    STOPPED = "stopped"
    NOT_CHECKED = "not-checked"
    EMPTY = "empty"


NOTHING_ASKED = Question()


@dataclass(frozen=True)
class Plan(Shown):
    """Where the pods of workloads go, with what is proven of it, what first fit takes, or the reasons why they do not.

    `goals` are in order of importance, each the sum over all placed pods: of GOALS for one pod, of FLEET_GOALS for more
    and of GANG_GOALS with gangs. All are minimised; `bound` is the least value that could still exist, the goals before
    it being kept, and `proven` says that no better one does. `status` is OPTIMAL only when every goal is proven, and
    FEASIBLE when one is not. It is INFEASIBLE when it is proven that not one replica fits (with the objective "nodes":
    that not all of them do). It is STOPPED when it was ended before any answer, and NOT_CHECKED when required data
    could not be read.

    `shared` has the devices of claims that several pods use. `where` has for each gang what every domain of its
    required level has, before the plan, and for one pod every node once. `first_fit` is kube-
    scheduler with the manifests where the pods are, `first_fit_plain` with counts and selectors only; None if not
    requested. `regrets` are their costs. `suggestions` and `reasons` are there for a pod that fits nowhere: counts,
    conflicts and relaxations behind the sentences of `shortfalls`. `allocated_claims` are claims of the pod that
    have devices already; `admitted` are the nodes on which it may run, None for all. `start` says whether the pods
    start with their manifests. Numbers of nodes: `states` differ from each other, `not_examined` were not examined
    before the time limit, and `cordoned` take no pods of gangs. `parts` are the seconds of each part of the work.
    `drawn` is the drawing of one pod as it was given. `moves` are the running pods that leave drained nodes, or
    that move to make room; no fewer than `least_moves` can, of `movable` pods that may; None if no room was asked
    for. `same` has the values that all pods of a replica use, which the selectors of `workloads` fix. `tracer` makes
    the traces of kube-scheduler's search, and `on` is the cluster itself, None for a plan that
    was read or comes from another process.

    Example:
        >>> from dra_lab import Workload, load_cluster, make_plan, read_sketch
        >>> cluster, lesson = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
        >>> make_plan(cluster, lesson).goal("numa").value
        1
        >>> make_plan(cluster, Workload("lesson", lesson, replicas=2)).placed
        {'lesson': 2}
    """

    status: PlanStatus
    question: Question = NOTHING_ASKED
    pods: tuple[PlacedPod, ...] = ()
    goals: tuple[GoalValue, ...] = ()
    shared: tuple[SharedClaim, ...] = ()
    where: tuple[Fit, ...] = ()
    first_fit: FirstFit | None = None
    first_fit_plain: FirstFit | None = None
    shortfalls: tuple[Shortfall, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    findings: tuple[Finding, ...] = ()
    reasons: Reasons | None = None
    regrets: tuple[Regret, ...] = ()
    states: int = 0
    not_examined: int = 0
    cordoned: int = 0
    start: Start = Start.NOT_SEARCHED
    allocated_claims: tuple[ResourceClaim, ...] = ()
    admitted: frozenset[str] | None = None
    drawn: ClaimSketch | None = None
    moves: tuple[Move, ...] = ()
    least_moves: int | None = None
    movable: int | None = None
    same: tuple[SameValues, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    parts: Mapping[str, float] = field(default_factory=dict, compare=False)
    tracer: Callable[..., Trace[FirstFit]] | None = field(default=None, compare=False, repr=False)
    on: Cluster | None = field(default=None, compare=False, repr=False)

    def __hash__(self) -> int:
        """Return the hash of what is placed where; plans that differ in their seconds alone are equal."""
        where = tuple((pod.name, pod.node) for pod in self.pods)
        return hash((self.status, self.cluster, self.release, where, tuple(self.chosen())))

    def __repr__(self) -> str:
        """Return a one-line summary; `print` shows the whole answer."""
        names = ", ".join(workload.name for workload in self.workloads)
        placed = f"{sum(self.placed.values())} of {self.replicas} replicas placed"
        where = f" on {self.nodes[0]}" if len(self.nodes) == 1 else ""
        return f"<Plan of {names} for {self.cluster!r}, {self.status.value}: {placed}{where}; print it for more>"

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Return the workloads of the question."""
        return self.question.workloads

    @property
    def cluster(self) -> str:
        """Return the name of the cluster."""
        return self.question.cluster

    @property
    def release(self) -> str:
        """Return the release that is planned for."""
        return self.question.release

    @property
    def objective(self) -> str:
        """Return what the plan is to have least: pods without a place, or nodes for all pods."""
        return self.question.objective

    @property
    def fits(self) -> bool:
        """Say whether there is an allocation."""
        return self.status in (PlanStatus.OPTIMAL, PlanStatus.FEASIBLE)

    @property
    def proven(self) -> bool:
        """Say whether nothing better exists, or the misfit is proven."""
        return self.status in (PlanStatus.OPTIMAL, PlanStatus.INFEASIBLE)

    @property
    def sums_over_pods(self) -> bool:
        """Say whether the goals are sums over pods, of which the first ones count those without a place."""
        return any(goal.goal.partition(" ")[0] in (UNPLACED, GANGS) for goal in self.goals)

    @property
    def replicas(self) -> int:
        """Return how many replicas are wanted."""
        return sum(workload.replicas for workload in self.workloads)

    @property
    def wanted_pods(self) -> int:
        """Return how many pods are wanted."""
        return sum(workload.replicas * workload.size for workload in self.workloads)

    @cached_property
    def placed(self) -> Mapping[str, int]:
        """Return how many replicas of each workload are placed."""
        counted = Counter(name for name, _ in {(pod.workload, pod.replica) for pod in self.pods})
        return {workload.name: counted[workload.name] for workload in self.workloads}

    @cached_property
    def sketch(self) -> ClaimSketch:
        """Return the drawing of the first pod, as it was given; of several claims, each request as `claim:request`."""
        if self.drawn is not None:
            return self.drawn
        first = next((group for workload in self.workloads for group in workload.pods), None)
        return pod_drawing(first.name, first.claims) if first is not None and first.claims else ClaimSketch()

    @property
    def node(self) -> str:
        """Return the node of the first pod, "" if none has a place."""
        return self.pods[0].node if self.pods else ""

    @property
    def placements(self) -> tuple[Placement, ...]:
        """Return the devices of the first pod, in the order of its requests."""
        return self.pods[0].devices if self.pods else ()

    def chosen(self) -> Mapping[DeviceID, str]:
        """Return the request of every device of the first pod."""
        return {placement.device: placement.reference for placement in self.placements}

    @property
    def node_classes(self) -> tuple[Fit, ...]:
        """Return every node once, equal ones together, with its verdict on one pod; () for more pods."""
        return tuple(fit for fit in self.where if fit.kind == NODE)

    @property
    def fitting_nodes(self) -> tuple[str, ...]:
        """Return the nodes on which the claim fits now, sorted."""
        return tuple(sorted(node for fit in self.node_classes if fit.fits for node in fit.members))

    @property
    def fitting_idle_nodes(self) -> tuple[str, ...]:
        """Return the nodes on which the claim would fit with nothing in use, sorted."""
        return tuple(sorted(node for fit in self.node_classes if fit.fits_idle for node in fit.members))

    @property
    def claims_of(self) -> Mapping[tuple[str, str], tuple[ClaimSketch, ...]]:
        """Return the claims of a pod by workload and group, and those that pods share under `GROUP/shared`."""
        found: dict[tuple[str, str], tuple[ClaimSketch, ...]] = {}
        for workload in self.workloads:
            found[workload.name, ""] = workload.claims
            found[workload.name, "/shared"] = workload.shared_claims
            for group in workload.pods:
                found[workload.name, group.name] = group.claims
                found[workload.name, f"{group.name}/shared"] = group.shared_claims
        return found

    @property
    def with_devices(self) -> tuple[PlacedPod | SharedClaim, ...]:
        """Return what has devices: the pods, and the claims that several of them use."""
        return (*self.pods, *self.shared)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes that are used, sorted."""
        return tuple(sorted({pod.node for pod in self.pods}))

    @property
    def on_node(self) -> Mapping[str, tuple[PlacedPod, ...]]:
        """Return the pods of every node that is used, by its name."""
        found: dict[str, list[PlacedPod]] = {}
        for pod in self.pods:
            found.setdefault(pod.node, []).append(pod)
        return {node: tuple(found[node]) for node in sorted(found)}

    @property
    def gangs(self) -> tuple[Workload, ...]:
        """Return the workloads of which a replica is more than one pod anywhere."""
        return tuple(workload for workload in self.workloads if workload.is_gang)

    @property
    def single_pods(self) -> tuple[PlacedPod, ...]:
        """Return the pods of the other workloads."""
        gangs = {gang.name for gang in self.gangs}
        return tuple(pod for pod in self.pods if pod.workload not in gangs)

    @cached_property
    def placed_gangs(self) -> tuple[PlacedReplica, ...]:
        """Return the replicas of gangs that have a place, in the order of the workloads."""
        order = {gang.name: at for at, gang in enumerate(self.gangs)}
        pods: dict[tuple[int, int], list[PlacedPod]] = {}
        shared: dict[tuple[int, int], list[SharedClaim]] = {}
        for pod in (pod for pod in self.pods if pod.workload in order):
            pods.setdefault((order[pod.workload], pod.replica), []).append(pod)
        for claim in self.shared:
            shared.setdefault((order[claim.workload], claim.replica), []).append(claim)
        return tuple(
            PlacedReplica(mine[0].workload, key[1], mine[0].domain, tuple(mine), tuple(shared.get(key, ())))
            for key, mine in sorted(pods.items())
        )

    @property
    def why(self) -> Mapping[str, str]:
        """Return how many pods each domain has for the first gang that is not placed, or the first, and what it lacks.

        Domains are called by their own value, or by their path where two have the same value.
        """
        short = [gang.name for gang in self.gangs if self.placed[gang.name] < gang.replicas]
        gang = [*short, *(gang.name for gang in self.gangs), ""][0]
        mine = [headroom for headroom in self.where if headroom.workload == gang]
        values = Counter(headroom.members[-1:] for headroom in mine)
        return {
            "/".join(headroom.members if values[headroom.members[-1:]] > 1 else headroom.members[-1:]): str(headroom)
            for headroom in mine
        }

    @property
    def against_first_fit(self) -> Mapping[str, tuple[int, int]]:
        """Return the plan's value and kube-scheduler's of each goal, over the nodes on which they were compared."""
        found = self.first_fit
        if found is None:
            return {}
        mine = {goal.goal: goal.value for goal in self.goals}
        if found.status is FirstFitStatus.STOPPED:
            nodes = frozenset(found.compared)
            here = [goal for pod in self.pods if pod.node in nodes for goal in pod.goals]
            mine = {name: sum(goal.value for goal in here if goal.goal == name) for name in mine}
            mine |= {UNPLACED: 0, NODES: len(nodes)}
        return {goal.goal: (mine[goal.goal], goal.value) for goal in found.goals if goal.goal in mine}

    def with_workloads(self, workloads: Iterable[Workload]) -> Plan:
        """Return the plan as an answer about these workloads."""
        return replace(self, question=changed(self.question, workloads=tuple(workloads)))

    def goal(self, name: str) -> GoalValue | None:
        """Return a goal with its bound.

        Args:
            name: One of GOALS, FLEET_GOALS or GANG_GOALS, these with the priority if there are several.

        Returns:
            The goal, or None if the plan has none of that name.
        """
        return next((goal for goal in self.goals if goal.goal == name), None)

    def trace(
        self,
        node: str = "",
        *,
        links: bool = True,
        time_limit: float = 10.0,
        cancel: threading.Event | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Trace[FirstFit]:
        """Return kube-scheduler's search for this claim on a node, step by step.

        Args:
            node: The node to search; default "": the plan's node.
            links: Search with the manifest that would be written; if False, with counts and selectors only.
            time_limit: Seconds after which the search ends.
            cancel: Ends the search when it is set.
            progress: Is called with the number of candidates so far.

        Returns:
            The steps, folded, and any part of them on demand.

        Raises:
            NodeError: The cluster does not have this node.
            InputError: The plan has no claim.
        """
        if self.tracer is None:
            raise InputError("there is nothing to trace, because the plan has no request or its cluster was not read")
        return self.tracer(node, links=links, time_limit=time_limit, cancel=cancel, progress=progress)

    def checked_against(self, headroom: Iterable[Headroom]) -> Plan:
        """Return the plan without its proof if more pods of a workload that is short fit: never both are reported.

        Args:
            headroom: How many more replicas of each workload fit after this plan.

        Returns:
            The same plan, or one that is not proven and has no bounds, with a Finding that says why.
        """
        short = {w.name for w in self.workloads if self.placed[w.name] < w.replicas}
        more = [one for one in headroom if one.count.value and one.workload in short]
        claimed = self.status is PlanStatus.INFEASIBLE or any(
            goal.goal == UNPLACED and goal.bound for goal in self.goals
        )
        if not more or not claimed or self.objective != "replicas":
            return self
        fit = ", ".join(f"{one.count.value} more of {one.workload}" for one in more)
        message = f"after this plan {fit} fit, so the plan is not the best, and nothing in it counts as proven"
        advice = "Plan again with another time limit, and report this as a defect of dra-lab."
        found = Finding("proof-withdrawn", Severity.WARNING, ", ".join(r.workload for r in more), message, advice)
        status = PlanStatus.FEASIBLE if self.pods else PlanStatus.STOPPED
        goals = tuple(replace(goal, bound=None, proven=False) for goal in self.goals)
        reasons = () if self.pods else (Shortfall("limit", found.subject, message, advice=advice),)
        return replace(self, status=status, goals=goals, shortfalls=reasons, findings=(*self.findings, found))


def plan_of_pod(
    status: PlanStatus, sketch: ClaimSketch, node: str = "", devices: tuple[Placement, ...] = (), **more: Any
) -> Plan:
    """Return the plan of one pod with a drawing; `more` are other fields of a Plan."""
    name = sketch.name or "pod"
    pods = (PlacedPod(name, 0, node, devices, more.get("goals", ())),) if node else ()
    question = Question((Workload(name, sketch),), more.pop("cluster", ""), more.pop("release", ""))
    return Plan(status, question, pods=pods, drawn=sketch, **more)
