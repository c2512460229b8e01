"""FleetPlan: the answer for workloads × replicas over a cluster; one value, read by charts, tables and the CLI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from msgspec import Struct

from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import NODES, UNPLACED
from dra_lab.model.headroom import Fit, Headroom
from dra_lab.model.plan import GoalValue, Placement, PlanStatus, Shortfall, Start
from dra_lab.model.printing import printed
from dra_lab.model.regret import Regret
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload


class PlacedPod(Struct, frozen=True, gc=False):
    """One pod with a place.

    `replica` counts the replicas of its workload from 0, and `number` the pods of its group in the replica. `group` is
    the name of the group, "" in a workload of single pods. `devices` name the claim they are for where the pod has
    several; `goals` are the values of this pod alone. `domain` is the path of the domain of the required level that has
    its replica, () if no level is required; for `host` it is the name of the node.
    """

    workload: str
    replica: int
    node: str
    devices: tuple[Placement, ...]
    goals: tuple[GoalValue, ...] = ()
    group: str = ""
    number: int = 0
    domain: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return `WORKLOAD/REPLICA`, or `WORKLOAD/REPLICA/GROUP/NUMBER` in a gang."""
        return "/".join([self.workload, str(self.replica), *([self.group, str(self.number)] if self.group else [])])


class SharedClaim(Struct, frozen=True, gc=False):
    """The devices of the claims that all pods of a replica use together, or with `group` those of one group."""

    workload: str
    replica: int
    group: str
    node: str
    devices: tuple[Placement, ...]
    goals: tuple[GoalValue, ...] = ()

    @property
    def name(self) -> str:
        """Return `WORKLOAD/REPLICA/shared`, or `WORKLOAD/REPLICA/GROUP/shared`."""
        return "/".join(filter(None, (self.workload, str(self.replica), self.group, "shared")))


class PlacedReplica(Struct, frozen=True):
    """A replica with a place: its pods in the order of their groups, and what its shared claims have."""

    workload: str
    replica: int
    domain: tuple[str, ...]
    pods: tuple[PlacedPod, ...]
    shared: tuple[SharedClaim, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes of its pods, sorted."""
        return tuple(sorted({pod.node for pod in self.pods}))


@dataclass(frozen=True)
class FleetPlan:
    """Where the pods of workloads go, with what is proven of it.

    `goals` are in order of importance, each the sum over all placed pods: those of `FLEET_GOALS`, with gangs those of
    `GANG_GOALS`. All are minimised; `bound` is the least value that could still exist, the goals before it being kept,
    and `proven` says that no better one does. `status` is OPTIMAL only when every goal is proven, and FEASIBLE when one
    is not. It is INFEASIBLE when it is proven that not one replica fits (with `objective` "nodes": that not all of them
    do). It is STOPPED when it was ended before any answer, and NOT_CHECKED when required data could not be read.

    `shared` has the devices of claims that several pods use. `where` has for each gang what every domain of its
    required level has, before the plan. `first_fit` is kube-scheduler with the same replicas (see `planner.fleet`),
    None if not requested. `regrets` are its costs over the nodes that were compared. If the time did not suffice for
    all, `first_fit` is STOPPED, and its `compared` names them. `parts` are the seconds of each part of the work.
    Numbers of nodes: `states` differ from each other, `not_examined` were not examined before the time limit, and
    `cordoned` take no pods of gangs. `start` says whether the pods of every workload start with their manifests. `on`
    is the cluster itself, None for a plan that was read or comes from another process.

    Example:
        >>> from dra_lab import Workload, load_cluster, make_plan, read_sketch
        >>> pods = Workload("lesson", read_sketch("sample:two-sockets/lesson"), replicas=2)
        >>> make_plan(load_cluster("sample:two-sockets"), [pods]).goal("unplaced").value
        0
    """

    status: PlanStatus
    workloads: tuple[Workload, ...]
    cluster: str = ""
    release: str = ""
    pods: tuple[PlacedPod, ...] = ()
    goals: tuple[GoalValue, ...] = ()
    first_fit: FleetPlan | None = None
    shortfalls: tuple[Shortfall, ...] = ()
    findings: tuple[Finding, ...] = ()
    regrets: tuple[Regret, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    objective: str = "replicas"
    parts: Mapping[str, float] = field(default_factory=dict, compare=False)
    states: int = 0
    not_examined: int = 0
    compared: tuple[str, ...] = ()
    start: Start = Start.NOT_SEARCHED
    on: Cluster | None = field(default=None, compare=False, repr=False)
    shared: tuple[SharedClaim, ...] = ()
    where: tuple[Fit, ...] = ()
    cordoned: int = 0

    def __hash__(self) -> int:
        """Return the hash of what is placed where; plans that differ in their seconds alone are equal."""
        return hash((self.status, self.cluster, self.release, tuple((pod.name, pod.node) for pod in self.pods)))

    def __str__(self) -> str:
        """Return the answer as a terminal shows it; many equal nodes are one line."""
        return printed(self)

    def __repr__(self) -> str:
        """Return what tells plans apart in a line; `print` tells the answer, the fields hold all of it."""
        names = ", ".join(workload.name for workload in self.workloads)
        wanted = sum(workload.replicas for workload in self.workloads)
        placed = f"{sum(self.placed.values())} of {wanted} replicas placed"
        return f"<FleetPlan of {names} for {self.cluster!r}, {self.status.value}: {placed}; print it for more>"

    @property
    def proven(self) -> bool:
        """Say whether nothing better exists, or the misfit is proven."""
        return self.status in (PlanStatus.OPTIMAL, PlanStatus.INFEASIBLE)

    @cached_property
    def placed(self) -> Mapping[str, int]:
        """Return how many replicas of each workload are placed."""
        counted = Counter(name for name, _ in {(pod.workload, pod.replica) for pod in self.pods})
        return {workload.name: counted[workload.name] for workload in self.workloads}

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
        """Return for each domain how many pods it has for the first gang that is not placed, or the first one."""
        short = [gang.name for gang in self.gangs if self.placed[gang.name] < gang.replicas]
        return self.why_of((short or [gang.name for gang in self.gangs] or [""])[0])

    def why_of(self, gang: str) -> Mapping[str, str]:
        """Return for each domain of its required level how many pods of a gang it has, and what the others lack.

        Args:
            gang: The name of the gang.

        Returns:
            The words by domain: by its own value, or by its path where two domains have the same value.
        """
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
        if found.status is PlanStatus.STOPPED:
            nodes = frozenset(found.compared)
            here = [goal for pod in self.pods if pod.node in nodes for goal in pod.goals]
            mine = {name: sum(goal.value for goal in here if goal.goal == name) for name in mine}
            mine |= {UNPLACED: 0, NODES: len(nodes)}
        return {goal.goal: (mine[goal.goal], goal.value) for goal in found.goals if goal.goal in mine}

    def goal(self, name: str) -> GoalValue | None:
        """Return a goal with its bound.

        Args:
            name: One of FLEET_GOALS; with gangs one of GANG_GOALS, with the priority if there are several.

        Returns:
            The goal, or None if the plan has none of that name.
        """
        return next((g for g in self.goals if g.goal == name), None)

    def checked_against(self, headroom: Iterable[Headroom]) -> FleetPlan:
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
