"""Gangs: pods that start together or not at all, in one rack, block or NVLink domain; and the answer for several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.findings import Finding
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import NODES, UNPLACED, FleetPlan, Replica
from dra_lab.model.goals import GOAL_WORDS
from dra_lab.model.plan import GoalValue, PlanStatus, Shortfall
from dra_lab.model.printing import printed
from dra_lab.model.workload import Workload

GANGS = "gangs"
BEYOND = "beyond"
LEVELS = "levels"
DOMAINS = "domains"

GANG_GOALS: Mapping[str, str] = {
    GANGS: "gangs without a place",
    BEYOND: "pods beyond the minimum without a place",
    UNPLACED: "ordinary replicas without a place",
    "alternatives": GOAL_WORDS["alternatives"].of_fleet,
    "preferences": GOAL_WORDS["preferences"].of_fleet,
    LEVELS: "domains of preferred levels (sum over gangs)",
    **{name: words.of_fleet for name, words in GOAL_WORDS.items() if words.of_fleet},
    DOMAINS: "domains of required levels with a gang",
    NODES: "nodes used",
}
"""The goals of a plan with gangs, most important first, all minimised.

The first three are there once for every priority, from high to low: `gangs 10`, `beyond 10`, `gangs 0` and so on. With
one priority they have no number.
"""


class PlacedGang(Struct, frozen=True):
    """One gang with a place.

    `number` counts the identical gangs from 0. `domain` is the path of the domain of the required level, () if
    no level is required; for `host` it is the name of the node. `replicas` are the pods of all groups, each numbered
    within its group, and `shared` what the shared claims have. `group_shared` has the same for each group with shared
    claims, under the name of the group.
    """

    gang: str
    number: int
    domain: tuple[str, ...]
    replicas: tuple[Replica, ...]
    shared: Replica | None = None
    group_shared: tuple[Replica, ...] = ()

    @property
    def every_shared(self) -> tuple[Replica, ...]:
        """Return what all shared claims have: those of the groups, then those of the gang."""
        return self.group_shared if self.shared is None else (*self.group_shared, self.shared)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes of its pods, sorted."""
        return tuple(sorted({replica.node for replica in self.replicas}))


class GangHeadroom(Struct, frozen=True):
    """The capacity of one domain for one gang, before the plan.

    `most` are the pods of one gang that fit there at once, surely no more than `bound`. `least` and `size` are the
    pods that the gang needs and wants. `gangs` and `gangs_bound` say how many of the gangs that are wanted fit at once.
    `lacking` is what keeps pods away, in words.
    """

    gang: str
    domain: tuple[str, ...]
    most: int
    bound: int
    least: int
    size: int
    gangs: int = 0
    gangs_bound: int = 0
    lacking: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Say whether one gang fits."""
        return self.gangs > 0

    @property
    def proven(self) -> bool:
        """Say whether both numbers are exact."""
        return self.most >= self.bound and self.gangs >= self.gangs_bound

    def __str__(self) -> str:
        """Return `14 of 16; NICs in use on n41`."""
        known = "" if self.most >= self.bound else f", at most {self.bound:,}"
        return "; ".join([f"{self.most:,} of {self.size:,}{known}", *self.lacking])


@dataclass(frozen=True)
class GangPlan:
    """Where gangs and ordinary workloads go, with what is proven of it.

    `placed` are the gangs with a place, `replicas` the ordinary pods. `goals` are those of GANG_GOALS in order; `bound`
    is the least value that could still exist, the goals before it being kept. The status is OPTIMAL only if every goal
    is proven, INFEASIBLE if it is proven that nothing fits, and STOPPED if time ended before any answer. `headroom` has
    for each gang what every domain of its required level has, before the plan. `not_examined` counts the nodes that
    were not examined before the time limit, and `cordoned` the nodes that take no pods. `on` is the cluster itself,
    None for a plan that was read.

    Example:
        >>> from dra_lab import PodGroup, Workload, load_cluster, plan_gangs, read_sketch

        Both workers must be on one node.

        >>> worker = PodGroup("worker", read_sketch("sample:two-sockets/lesson"), count=2)
        >>> plan_gangs(load_cluster("sample:two-sockets"), [Workload("train", [worker], level="host")]).counts
        {'train': 1}
    """

    status: PlanStatus
    gangs: tuple[Workload, ...]
    workloads: tuple[Workload, ...] = ()
    cluster: str = ""
    release: str = ""
    placed: tuple[PlacedGang, ...] = ()
    replicas: tuple[Replica, ...] = ()
    goals: tuple[GoalValue, ...] = ()
    headroom: tuple[GangHeadroom, ...] = ()
    shortfalls: tuple[Shortfall, ...] = ()
    findings: tuple[Finding, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    parts: Mapping[str, float] = field(default_factory=dict, compare=False)
    states: int = 0
    not_examined: int = 0
    cordoned: int = 0
    on: Cluster | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        """Return the answer as a terminal shows it."""
        return printed(self)

    def __hash__(self) -> int:
        """Return the hash of what is placed where; plans that differ in their seconds alone are equal."""
        return hash((self.status, self.cluster, self.release, tuple((gang.gang, gang.domain) for gang in self.placed)))

    def __repr__(self) -> str:
        """Return what tells plans apart in a line; `print` shows the answer."""
        wanted = sum(gang.replicas for gang in self.gangs)
        return f"<GangPlan for {self.cluster!r}, {self.status.value}: {len(self.placed)} of {wanted} gangs placed>"

    @property
    def proven(self) -> bool:
        """Say whether nothing better exists, or the misfit is proven."""
        return self.status in (PlanStatus.OPTIMAL, PlanStatus.INFEASIBLE)

    @property
    def counts(self) -> Mapping[str, int]:
        """Return how many gangs of each name have a place."""
        counted = Counter(placed.gang for placed in self.placed)
        return {gang.name: counted[gang.name] for gang in self.gangs}

    @property
    def why(self) -> Mapping[str, str]:
        """Return for each domain how many pods it has for the first gang that is not placed, or the first one."""
        short = [gang.name for gang in self.gangs if self.counts[gang.name] < gang.replicas]
        return self.why_of((short or [gang.name for gang in self.gangs] or [""])[0])

    def why_of(self, gang: str) -> Mapping[str, str]:
        """Return for each domain of its required level how many pods of a gang it has, and what the others lack.

        Args:
            gang: The name of the gang.

        Returns:
            The words by domain: by its own value, or by its path where two domains have the same value.
        """
        mine = [headroom for headroom in self.headroom if headroom.gang == gang]
        values = Counter(headroom.domain[-1:] for headroom in mine)
        return {
            "/".join(headroom.domain if values[headroom.domain[-1:]] > 1 else headroom.domain[-1:]): str(headroom)
            for headroom in mine
        }

    def as_fleet(self) -> FleetPlan:
        """Return the same pods as a fleet: each group of each gang is a workload `GANG/NUMBER/GROUP`.

        Returns:
            A plan without goals. Ordinary workloads keep their names. Shared claims are a pod `GANG/NUMBER`, those of
            a group `GANG/NUMBER/GROUP/shared`.
        """
        gangs = {gang.name: gang for gang in self.gangs}
        workloads, replicas = list(self.workloads), list(self.replicas)
        for placed in self.placed:
            name, gang = f"{placed.gang}/{placed.number}", gangs[placed.gang]
            for group in gang.pods:
                workloads.append(Workload(f"{name}/{group.name}", group.claims, replicas=group.count))
                if group.shared_claims:
                    workloads.append(Workload(f"{name}/{group.name}/shared", group.shared_claims))
            replicas += [replace(one, workload=f"{name}/{one.workload}") for one in placed.replicas]
            replicas += [replace(one, workload=f"{name}/{one.workload}/shared") for one in placed.group_shared]
            if placed.shared is not None:
                workloads.append(Workload(name, gang.shared_claims))
                replicas.append(replace(placed.shared, workload=name))
        replicas = [replace(one, goals=()) for one in replicas]
        status = PlanStatus.FEASIBLE if replicas else PlanStatus.STOPPED
        return FleetPlan(status, tuple(workloads), self.cluster, self.release, tuple(replicas), on=self.on)

    def goal(self, name: str) -> GoalValue | None:
        """Return a goal with its bound.

        Args:
            name: The name of the goal, one of GANG_GOALS, with the priority if there are several.

        Returns:
            The goal, or None if the plan has none of that name.
        """
        return next((goal for goal in self.goals if goal.goal == name), None)


class GangCount(Struct, frozen=True):
    """How many more gangs fit: in all (`count`, at most `bound`) and in each domain of the required level alone.

    `levels` says how many fit in all if another level were required: each level of the hierarchy, and "" for none.
    Each value is (count, bound). Counting ends at MOST_COUNTED gangs.
    """

    gang: str
    count: int
    bound: int
    headroom: tuple[GangHeadroom, ...] = ()
    levels: Mapping[str, tuple[int, int]] = {}
    seconds: float = 0.0

    @property
    def proven(self) -> bool:
        """Say whether the number is exact."""
        return self.count >= self.bound

    def __str__(self) -> str:
        """Return the answer as a terminal shows it."""
        return printed(self)
