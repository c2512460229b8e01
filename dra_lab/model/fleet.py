"""FleetPlan: the answer for workloads × replicas over a cluster; one value, read by charts, tables and the CLI."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from msgspec import Struct

from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GOAL_WORDS
from dra_lab.model.plan import GoalValue, Placement, PlanStatus, Shortfall, Start
from dra_lab.model.printing import printed
from dra_lab.model.regret import Regret
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload

UNPLACED = "unplaced"
NODES = "nodes"

FLEET_GOALS: Mapping[str, str] = {
    UNPLACED: "replicas without a place",
    **{name: words.of_fleet for name, words in GOAL_WORDS.items() if words.of_fleet},
    NODES: "nodes used",
}
"""The goals of a fleet, most important first, all minimised; each is a sum over the placed replicas."""


class Replica(Struct, frozen=True, gc=False):
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
    OPTIMAL only when every goal is proven, and FEASIBLE when one is not. It is INFEASIBLE when it is proven that not
    one replica fits (with `objective` "nodes": that not all of them do). It is STOPPED when it was ended before any
    answer, and NOT_CHECKED when required data could not be read. `first_fit` is kube-scheduler with the same replicas
    (see `planner.fleet`), None if not requested. `regrets` are its costs over the nodes that were compared. If the time
    did not suffice for all, `first_fit` is STOPPED, and its `compared` names them. `parts` are the seconds of each part
    of the work (`scan`, `patterns`, `master`, `first fit`), `states` the number of distinct node states, `not_examined`
    the nodes that were not examined before the time limit. `start` says whether the pods of every workload start with
    their manifests. `on` is the cluster itself, None for a plan that was read or comes from another process.

    Example:
        >>> from dra_lab import Workload, load_cluster, plan_fleet, read_sketch
        >>> pods = Workload("lesson", read_sketch("sample:two-sockets/lesson"), replicas=2)
        >>> plan_fleet(load_cluster("sample:two-sockets"), [pods]).goal("unplaced").value
        0
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
    regrets: tuple[Regret, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    objective: str = "replicas"
    parts: Mapping[str, float] = field(default_factory=dict, compare=False)
    states: int = 0
    not_examined: int = 0
    compared: tuple[str, ...] = ()
    start: Start = Start.NOT_SEARCHED
    on: Cluster | None = field(default=None, compare=False, repr=False)

    def __hash__(self) -> int:
        """Return the hash of what is placed where; plans that differ in their seconds alone are equal."""
        return hash((self.status, self.cluster, self.release, tuple((pod.workload, pod.node) for pod in self.replicas)))

    def __str__(self) -> str:
        """Return the answer as a terminal shows it; many equal nodes are one line."""
        return printed(self)

    def __repr__(self) -> str:
        """Return what tells plans apart in a line; `print` tells the answer, the fields hold all of it."""
        names = ", ".join(workload.name for workload in self.workloads)
        wanted = sum(workload.replicas for workload in self.workloads)
        placed = f"{len(self.replicas)} of {wanted} replicas placed"
        return f"<FleetPlan of {names} for {self.cluster!r}, {self.status.value}: {placed}; print it for more>"

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

    @property
    def on_node(self) -> Mapping[str, tuple[Replica, ...]]:
        """Return the replicas of every node that is used, by its name."""
        found: dict[str, list[Replica]] = {}
        for replica in self.replicas:
            found.setdefault(replica.node, []).append(replica)
        return {node: tuple(found[node]) for node in sorted(found)}

    @property
    def against_first_fit(self) -> Mapping[str, tuple[int, int]]:
        """Return the plan's value and kube-scheduler's of each goal, over the nodes on which they were compared."""
        found = self.first_fit
        if found is None:
            return {}
        mine = {goal.goal: goal.value for goal in self.goals}
        if found.status is PlanStatus.STOPPED:
            nodes = frozenset(found.compared)
            here = [goal for replica in self.replicas if replica.node in nodes for goal in replica.goals]
            mine = {name: sum(goal.value for goal in here if goal.goal == name) for name in mine}
            mine |= {UNPLACED: 0, NODES: len(nodes)}
        return {goal.goal: (mine[goal.goal], goal.value) for goal in found.goals if goal.goal in mine}

    def goal(self, name: str) -> GoalValue | None:
        """Return a goal with its bound.

        Args:
            name: The name of the goal, one of FLEET_GOALS.

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
        more = [one for one in headroom if one.count and one.workload in short]
        claimed = self.status is PlanStatus.INFEASIBLE or any(
            goal.goal == UNPLACED and goal.bound for goal in self.goals
        )
        if not more or not claimed or self.objective != "replicas":
            return self
        fit = ", ".join(f"{one.count} more of {one.workload}" for one in more)
        message = f"after this plan {fit} fit, so the plan is not the best, and nothing in it counts as proven"
        advice = "Plan again with another time limit, and report this as a defect of dra-lab."
        found = Finding("proof-withdrawn", Severity.WARNING, ", ".join(r.workload for r in more), message, advice)
        status = PlanStatus.FEASIBLE if self.replicas else PlanStatus.STOPPED
        goals = tuple(replace(goal, bound=None, proven=False) for goal in self.goals)
        reasons = () if self.replicas else (Shortfall("limit", found.subject, message, advice=advice),)
        return replace(self, status=status, goals=goals, shortfalls=reasons, findings=(*self.findings, found))


MOST_COUNTED = 10_000
"""Where counting replicas on one node stops: a number this high is a cap, and more may fit."""


class HeadroomOnNodes(Struct, frozen=True):
    """How many more replicas each of some equal nodes holds; `bound` is the most it could, equal where it is proven."""

    nodes: tuple[str, ...]
    each: int
    bound: int

    @property
    def proven(self) -> bool:
        """Say whether no more fit."""
        return self.each >= self.bound and not self.capped

    @property
    def capped(self) -> bool:
        """Say whether counting stopped at MOST_COUNTED, so that more may fit."""
        return self.each >= MOST_COUNTED


class Headroom(Struct, frozen=True):
    """How many more replicas of a workload fit, now or after a plan.

    `count` replicas surely fit together, more than `bound` cannot. `classes` covers every node once: nodes with equal
    numbers together; where devices are seen from several nodes, each such set of nodes is one class whose numbers
    hold for all of it together (`together`).
    """

    workload: str
    count: int
    bound: int
    classes: tuple[HeadroomOnNodes, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    seconds: float = 0.0

    @property
    def proven(self) -> bool:
        """Say whether the number is exact."""
        return self.count >= self.bound and not self.capped

    @property
    def capped(self) -> bool:
        """Say whether counting stopped at MOST_COUNTED on some node; `bound` then bounds only what was counted."""
        return any(node_class.capped for node_class in self.classes)


class LargestJob(Struct, frozen=True):
    """The largest job of a claim that still fits.

    `scale` is the largest whole multiple of the claim's requests (counts and capacities times `scale`) that one pod can
    have on some node, 0 if not even the claim fits. `scale_bound` is the most it could be. `sketch` is the claim at
    that scale, and `node` a node that can hold it. `replicas` is how many pods with the claim as drawn can start
    together, at most `replicas_bound`; `capped` says that counting them stopped at MOST_COUNTED, and more may fit.
    """

    claim: str
    scale: int
    scale_bound: int
    replicas: int
    replicas_bound: int
    node: str = ""
    sketch: ClaimSketch | None = None
    seconds: float = 0.0
    capped: bool = False

    @property
    def proven(self) -> bool:
        """Say whether both numbers are exact."""
        return self.scale >= self.scale_bound and self.replicas >= self.replicas_bound and not self.capped


class StrandedKind(Struct, frozen=True):
    """Free capacity of one kind: `free` of it, `usable` by aligned claims, and surely no more of it than `bound`.

    Devices are counted by kind (`gpu`, `nic`, `other`), CPUs in whole CPUs. `stranded` is what no aligned claim can use
    in the best packing; at least `least` of it is stranded for certain. The free partitions are as many as shared
    counters can provide at once. `partitions` of these share counters with others of another size: what is left of them
    depends on which are in use, so that with them `stranded` is only what it can be at most.
    """

    kind: str
    free: int
    usable: int
    bound: int
    partitions: int = 0

    @property
    def stranded(self) -> int:
        """Return the aligned capacity that no claim can use."""
        return self.free - self.usable

    @property
    def least(self) -> int:
        """Return what is stranded for certain."""
        return max(0, self.free - self.partitions - self.bound) if self.partitions else self.free - self.bound

    @property
    def proven(self) -> bool:
        """Say whether no packing uses more, and what it leaves over is stranded for certain."""
        return self.usable >= self.bound and self.stranded == self.least


class StrandedNodes(Struct, frozen=True):
    """What is stranded on each of some equal nodes; on nodes that share devices it is on all of them `together`."""

    nodes: tuple[str, ...]
    kinds: tuple[StrandedKind, ...]
    together: bool = False


class Stranded(Struct, frozen=True):
    """Fragmentation: aligned capacity that no claim can use, on each node and in all.

    For every kind by itself: `free` less the most that replicas of the given claims, any number of each and every link
    kept as a must, can use of it at once. `not_examined` counts the nodes that were not examined before the time limit:
    nothing of them is in the numbers.
    """

    claims: tuple[str, ...]
    kinds: tuple[StrandedKind, ...]
    nodes: tuple[StrandedNodes, ...] = ()
    seconds: float = 0.0
    not_examined: int = 0

    @property
    def proven(self) -> bool:
        """Say whether every number is exact, and of all nodes."""
        return not self.not_examined and all(kind.proven for kind in self.kinds)
