"""What a scheduler does with a gang, step by step, and how far it stays behind the best plan."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

from dra_lab.model.printing import printed

MOST_LISTED = 24
"""Domains that one step lists; a step says how many more it has."""

MOST_TRIED = 40
"""Placements that have a step of their own; the others are counted in one step."""

_SNAPSHOT = "kueue v0.19.2 pkg/cache/scheduler/tas_flavor_snapshot.go"
_GROUP = "kubernetes 1.36.2 pkg/scheduler/schedule_one_podgroup.go"
_PLUGINS = "kubernetes 1.36.2 pkg/scheduler/framework/plugins"


class GangVerdict(StrEnum):
    """Whether a scheduler finds a place: it does, it may (the order or a score decides), it does not."""

    YES = "yes"
    MAYBE = "maybe"
    NO = "no"


class GangRule(StrEnum):
    """The rule that a step follows. The first ones are Kueue's, those from PLACEMENTS on kube-scheduler's."""

    COUNT = "count"
    MOST_FIRST = "most first"
    LEAST_FIRST = "least first"
    TIGHTEST = "tightest"
    FIRST_THAT_FITS = "first that fits"
    NONE_FITS = "none fits"
    WIDER = "wider"
    SEVERAL = "several"
    TOO_LITTLE = "too little"
    FEWEST = "fewest"
    FEWEST_INSIDE = "fewest inside"
    ADMITTED = "admitted"
    REFUSED = "refused"
    CLAIMS = "claims"
    PLACEMENTS = "placements"
    TRIED = "tried"
    MORE_TRIED = "more tried"
    NO_PLACEMENT = "no placement"
    ONE_PLACEMENT = "one placement"
    SCORES = "scores"


RULE_SOURCES: Mapping[GangRule, str] = {
    GangRule.COUNT: f"{_SNAPSHOT}:fillLeafCounts",
    GangRule.MOST_FIRST: f"{_SNAPSHOT}:sortedDomainsWithLeader",
    GangRule.LEAST_FIRST: f"{_SNAPSHOT}:sortedDomainsWithLeader",
    GangRule.TIGHTEST: f"{_SNAPSHOT}:findBestFitDomainForSlices",
    GangRule.FIRST_THAT_FITS: f"{_SNAPSHOT}:findLevelWithFitDomains",
    GangRule.NONE_FITS: f"{_SNAPSHOT}:findLevelWithFitDomains",
    GangRule.WIDER: f"{_SNAPSHOT}:findLevelWithFitDomains",
    GangRule.SEVERAL: f"{_SNAPSHOT}:findLevelWithFitDomains",
    GangRule.TOO_LITTLE: f"{_SNAPSHOT}:findLevelWithFitDomains",
    GangRule.FEWEST: f"{_SNAPSHOT}:updateCountsToMinimumGeneric",
    GangRule.FEWEST_INSIDE: f"{_SNAPSHOT}:updateCountsToMinimumGeneric",
    GangRule.ADMITTED: f"{_SNAPSHOT}:buildAssignment",
    GangRule.REFUSED: f"{_SNAPSHOT}:findTopologyAssignment",
    GangRule.CLAIMS: f"{_PLUGINS}/dynamicresources/dynamicresources.go:Filter",
    GangRule.PLACEMENTS: f"{_PLUGINS}/topologyaware/topology_placement.go:GeneratePlacements",
    GangRule.TRIED: f"{_GROUP}:podGroupSchedulingDefaultAlgorithm",
    GangRule.MORE_TRIED: f"{_GROUP}:podGroupSchedulingPlacementAlgorithm",
    GangRule.NO_PLACEMENT: f"{_GROUP}:podGroupSchedulingPlacementAlgorithm",
    GangRule.ONE_PLACEMENT: f"{_GROUP}:podGroupSchedulingPlacementAlgorithm",
    GangRule.SCORES: f"{_GROUP}:findBestPlacement",
}
"""Where each rule is written: the release, the file and the function."""


class StepDomain(Struct, frozen=True):
    """A domain in one step.

    Args:
        path: The values of the levels, the outermost first; for a node of a placement the last is its name.
        pods: The pods that fit there, as the scheduler counts or tries them.
        slices: The slices that fit there, where slices of more than one pod are requested.
        taken: The pods that it gets in this step.
        leader: Whether it gets the leader.
        least: The pods that it has for certain, if the order of the pods decides; `pods` otherwise.
        score: The percentage of CPUs and memory that is requested there with the pods; -1 if it is not known.
    """

    path: tuple[str, ...]
    pods: int
    slices: int = 0
    taken: int = 0
    leader: bool = False
    least: int = -1
    score: int = -1


class GangStep(Struct, frozen=True):
    """One step of a scheduler's choice.

    Args:
        rule: The rule that it follows.
        level: The index in `GangReplay.levels` of the level that it is about; -1 for none.
        wanted: The pods that it is about.
        size: The pods of a slice; 1 without slices.
        domains: The domains, in the order in which the scheduler has them, no more than `MOST_LISTED`.
        more: How many further domains there are.
        of: The placement that is tried; () for all domains.
        fits: How many pods fit there: for certain, and at most.
        fitting: In how many domains all fit.
        chosen: How many domains get pods.
        reasons: (reason, nodes) of nodes that are left out, or (reason, pods) of pods without a node.
        group: The pod set.
        resources: What the scheduler counts for each pod.
    """

    rule: GangRule
    level: int = -1
    wanted: int = 0
    size: int = 1
    domains: tuple[StepDomain, ...] = ()
    more: int = 0
    of: tuple[str, ...] = ()
    fits: tuple[int, int] = (0, 0)
    fitting: int = 0
    chosen: int = 0
    reasons: tuple[tuple[str, int], ...] = ()
    group: str = ""
    resources: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Return where the rule is written: the release, the file and the function."""
        return RULE_SOURCES[self.rule]


class DomainReplay(Struct, frozen=True):
    """What happens in one domain.

    Args:
        domain: The value of the node label, or the path that Kueue writes.
        least: The pods that get a place in any order.
        most: The pods that get a place in the best order, as far as it is known.
        wanted: The pods without which the gang does not start there.
    """

    domain: str
    least: int
    most: int
    wanted: int


class GangReplay(Struct, frozen=True):
    """What a scheduler does with a gang, step by step.

    Args:
        scheduler: Its name and version.
        verdict: Whether it finds a place for the gang.
        sentence: Why, in a sentence.
        domains: What happens in each domain that it tries.
        steps: The steps of its choice.
        levels: The names of the levels that the steps are about, the outermost first.
        gang: The name of the gang.

    Example:
        >>> from dra_lab import Gang, GangGroup, Workload, load_cluster, read_sketch, trace_gang

        Both workers must be on one node.

        >>> worker = Workload("worker", read_sketch("sample:two-sockets/lesson"), replicas=2)
        >>> gang = Gang("train", [GangGroup(worker)], required="host")
        >>> trace_gang(load_cluster("sample:two-sockets"), gang, "kube-scheduler").levels
        ('host', 'host')
    """

    scheduler: str
    verdict: GangVerdict
    sentence: str
    domains: tuple[DomainReplay, ...] = ()
    steps: tuple[GangStep, ...] = ()
    levels: tuple[str, ...] = ()
    gang: str = ""

    def __str__(self) -> str:
        """Return the steps as a terminal shows them."""
        return printed(self)


class GoalRange(Struct, frozen=True):
    """One goal of a scheduler's placement next to that of the best plan; lower is better.

    Args:
        goal: Its name, one of GANG_GOALS.
        least: The lowest value that the scheduler's choice may have.
        most: The highest one.
        best: The value of the best plan.
        bound: The lowest value that could exist; None if it is not known.
    """

    goal: str
    least: int
    most: int
    best: int
    bound: int | None = None

    @property
    def regret(self) -> tuple[int, int]:
        """Return how much higher the value is than in the best plan: at least, and at most."""
        return max(0, self.least - self.best), max(0, self.most - self.best)


class GangRegret(Struct, frozen=True):
    """How far a scheduler's choice stays behind the best plan.

    Args:
        gang: The name of the gang.
        scheduler: The name and version of the scheduler.
        wanted: How many such gangs are wanted.
        least: How many gangs start for certain if they arrive one after the other.
        most: How many may start.
        best: How many gangs the best plan places.
        proven: Whether no plan places more.
        pods: The pods of gangs that start: for certain, and at most.
        best_pods: The pods that the best plan places.
        goals: The goals, as far as both place as many pods.
        trapped: The domains that the scheduler chooses although claims cannot be met there, as paths.
        unknown: Why nothing is known; "" otherwise.

    Example:
        >>> from dra_lab import Gang, GangGroup, Workload, gang_regret, load_cluster, plan_gangs, read_sketch

        Both workers must be on one node.

        >>> worker = Workload("worker", read_sketch("sample:two-sockets/lesson"), replicas=2)
        >>> cluster, gang = load_cluster("sample:two-sockets"), Gang("train", [GangGroup(worker)], required="host")

        The scheduler starts as many gangs as the best plan.

        >>> regret = gang_regret(cluster, gang, plan_gangs(cluster, [gang]), "kube-scheduler")
        >>> regret.least, regret.best
        (1, 1)
    """

    gang: str
    scheduler: str
    wanted: int
    least: int
    most: int
    best: int
    proven: bool = False
    pods: tuple[int, int] = (0, 0)
    best_pods: int = 0
    goals: tuple[GoalRange, ...] = ()
    trapped: tuple[str, ...] = ()
    unknown: str = ""

    @property
    def gangs(self) -> tuple[int, int]:
        """Return how many gangs fewer start than in the best plan: at least, and at most."""
        return max(0, self.best - self.most), max(0, self.best - self.least)

    def __str__(self) -> str:
        """Return the answer as a terminal shows it."""
        return printed(self)
