"""Tables of sites that are no trees of places: a model decides each number of replicas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from math import prod
from operator import le

from dra_lab.errors import SolverError
from dra_lab.model.goals import NODES, UNPLACED
from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.fleet.pack import (
    OnePod,
    Packed,
    Values,
    device_goals,
    most_of_pods,
    named,
    pack,
    size_of,
    values_of,
)
from dra_lab.planner.fleet.place_tables import PlaceTable, contains, without_barred
from dra_lab.planner.fleet.question import Work
from dra_lab.planner.fleet.sites import PodsOnNode, Site
from dra_lab.planner.places.counting import Counts, one_pod

_SIZES = Sizes()


@dataclass
class SiteTable:
    """What is known of one site: numbers of replicas (`Counts`) are by workload, values by goal of devices.

    `order` are the goals of a member: on several nodes, that of nodes is among them. `packed` holds each combination of
    numbers that was looked at; one that is not there, and that counting allows, is not known to be impossible.
    """

    site: Site
    demand: Sequence[int]
    order: tuple[str, ...]
    solver: str
    examined: bool = False
    packed: dict[Counts, Packed] = field(default_factory=dict)
    _barred: list[Counts] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Note the values of no pods."""
        nothing = (0,) * len(device_goals(self.order))
        self.packed[self._zero] = Packed(nothing, nothing, counts=(0,) * len(self.site.parts), nodes=0, least_nodes=0)

    @property
    def _zero(self) -> Counts:
        return (0,) * len(self.demand)

    @cached_property
    def vectors(self) -> list[Counts] | None:
        """Return all numbers that counting allows, None if they are too many to list."""
        if prod(cap + 1 for cap in self._most) > _SIZES.numbers:
            return None
        numbers = product(*(range(cap + 1) for cap in self._most))
        return sorted(numbers, key=lambda counts: (sum(counts), counts))

    @cached_property
    def _most(self) -> Counts:
        return most_of_pods(self.site, self.demand)

    def lower(self, counts: Counts) -> Values | None:
        """Return values that no way undercuts, None where the numbers are impossible."""
        known = self.packed.get(counts)
        if known is not None:
            return None if known.lower is None else max(known.lower, self._summed(counts) or known.lower)
        able = all(map(le, counts, self._most)) and not contains(counts, self._barred)
        return self._summed(counts) if able else None

    def _summed(self, counts: Counts) -> Values | None:
        """Return the sum of what the replicas cost alone: no packing costs less than its parts."""
        alone = (0,) * len(device_goals(self.order))
        for part, count in enumerate(counts):
            single = self.packed.get(one_pod(len(counts), part)) if count else None
            if single is not None and single.lower is None:
                return None
            if single is not None and single.lower is not None:
                alone = tuple(value + count * one for value, one in zip(alone, single.lower, strict=True))
        return alone

    @property
    def caps(self) -> Counts:
        """Return the most replicas of each part, by counting, and by what is known to be impossible alone."""
        return without_barred(self._most, self._barred)

    @property
    def rows(self) -> tuple[tuple[Counts, int], ...]:
        """Return rows that numbers of replicas keep, by what counting says."""
        return tuple((one_pod(len(self.demand), part), cap) for part, cap in enumerate(self.caps))

    def decide(self, counts: Counts, budget: Budget) -> Packed:
        """Find the best way for some numbers of replicas, or what a limit leaves of it; never worse than before."""
        lower, known = self.lower(counts), self.packed.get(counts)
        if lower is None:
            return Packed(None)
        before = known.upper if known is not None else None
        if known is not None and known.exact:
            return known
        if budget.reached or not self._is_modelled(counts):
            return Packed(lower)
        given, together = (self.site.problem, self.site.parts, counts, self.order, budget), bool(self.site.nodes)
        found = pack(*given, solver=self.solver, lower=lower, together=together)
        found = replace(found, takes=named(self.site, found.takes))
        if found.lower is None and before is not None:
            raise SolverError("the solver finds no way where one is known; try the solver CBC")
        if (
            known is not None
            and before is not None
            and (found.upper is None or self._goals(known) < self._goals(found))
        ):
            found = replace(known, lower=found.lower, least_nodes=found.least_nodes)
        self.packed[counts] = found
        if found.lower is None:
            self._barred.append(counts)
        return found

    def _goals(self, one: Packed) -> Values:
        """Return the values of all goals of a member."""
        values = iter(one.upper or ())
        return tuple(one.nodes if goal == NODES else next(values) for goal in self.order)

    def grow_beside(self, counts: Counts, part: int) -> None:
        """Look for nothing: a model for each number takes too long."""

    def fill(self, pods: Iterable[OnePod], budget: Budget) -> None:
        """Keep pods that are placed one after the other, as far as there is time."""
        placed = list[OnePod]()
        for one in pods:
            placed.append(one)
            self.keep(placed)
        self.examined = self.examined or bool(placed) or not budget.reached

    def keep(self, pods: Sequence[OnePod]) -> None:
        """Keep a way to place some pods, if none as good is known."""
        there, goals = Counter(pod.part for pod in pods), device_goals(self.order)
        each = tuple(there[at] for at in range(len(self.site.parts)))
        placed = list(self._zero)
        for part, count in zip(self.site.parts, each, strict=True):
            placed[part.pod] += count
        counts, values = tuple(placed), tuple(map(sum, zip(*(pod.values for pod in pods), strict=True)))
        known = self.packed.get(counts)
        if known is None or known.upper is None or values < known.upper:
            lower = (0,) * len(goals) if known is None else known.lower
            takes = tuple(pod.takes for pod in sorted(pods, key=lambda pod: pod.part))
            self.packed[counts] = Packed(lower, values, takes, each, len({self.site.parts[at].node for at in there}))

    def start(self, placed: PlaceTable, counts: Counts) -> None:
        """Keep the pods of tables whose values may be too low: what they take, with its values."""
        takes, each = placed.takes(counts), list[OnePod]()
        for at, part in enumerate(self.site.parts):
            mine = takes[len(each) : len(each) + counts[part.pod]]
            each += [OnePod(at, one, values_of(self.site, part, one, device_goals(self.order))) for one in mine]
        self.keep(each)
        self.examined = True

    def found(self) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found, with its values."""
        return {counts: packed.upper for counts, packed in self.packed.items() if packed.upper is not None}

    def least(self) -> dict[Counts, Values] | None:
        """Return all numbers that may be held, with values that no way undercuts; None when they are too many."""
        if self.vectors is None:
            return None
        rows = ((counts, self.lower(counts)) for counts in self.vectors)
        return {counts: lower for counts, lower in rows if lower is not None}

    def numbers(self) -> list[Counts] | None:
        """Return all numbers that may be held; None when they are too many."""
        least = self.least()
        return None if least is None else list(least)

    def floors(self) -> tuple[Values | None, ...]:
        """Return, part by part, values each of which no way of a replica undercuts; None where none can stand."""
        found: list[Values | None] = []
        for part, cap in enumerate(self.caps):
            lower = self.lower(one_pod(len(self.demand), part)) if cap else None
            # If goals are compared one after the other, only the first one's floor is true whatever the others are.
            found.append(None if lower is None else (*lower[:1], *(0 for _ in lower[1:])))
        return tuple(found)

    def nodes(self, counts: Counts) -> tuple[int, int]:
        """Return how many nodes of a member the way that was found for some numbers uses, and how many at least."""
        known = self.packed.get(counts)
        return (int(any(counts)),) * 2 if known is None else (known.nodes, known.least_nodes)

    def on_nodes(self, member: str, counts: Counts) -> PodsOnNode:
        """Return the pods of the way that was found for some numbers."""
        known = self.packed[counts]
        return PodsOnNode(self.site, member, known.counts, lambda: known.takes)

    def is_open(self, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist than the one that was found."""
        known = self.packed.get(counts)
        return (known is None or not known.exact) and self._is_modelled(counts)

    def _is_modelled(self, counts: Counts) -> bool:
        """Say whether a model is small enough; that of one node is always made."""
        each = [counts[part.pod] for part in self.site.parts]
        return not self.site.nodes or size_of(self.site.problem, self.site.parts, each) <= _SIZES.variables


def site_tables(work: Work, sites: Sequence[Site]) -> list[SiteTable]:
    """Return a table for each site, nothing decided; sites left at a limit have none."""
    tables: list[SiteTable] = []
    for site in sites:
        if tables and work.budget.reached:
            break
        question = work.question
        every = tuple(goal for goal in question.order if goal != UNPLACED)
        order = every if site.nodes else device_goals(every)
        demand = question.demand if site.nodes else question.fleet.demand
        tables.append(SiteTable(site, demand, order, work.solver))
    return tables


Table = PlaceTable | SiteTable
"""What is known of equal places for pods: for each combination of numbers of pods, what was found and what may be."""


def is_closed(table: Table) -> bool:
    """Say whether the best way for every number of replicas is known."""
    least, found = table.least(), table.found()
    return least == found and all(used == least for used, least in map(table.nodes, found))
