"""Nodes that are trees of places, as the master asks for them: numbers of pods, their values, and their devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import ge, mul

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pack import Packed, Takes, Values, device_goals, named, pack
from dra_lab.planner.fleet.question import Work
from dra_lab.planner.fleet.sites import PodsOnNode, Site, parts_on
from dra_lab.planner.node_classes import Layout
from dra_lab.planner.places.below import Below
from dra_lab.planner.places.counting import Counting, Counts, all_below, one_pod
from dra_lab.planner.places.fill import FilledNode, Filler, PodsWanted, filler_of, orders_of
from dra_lab.planner.places.hand_out import chains_of, take_pods
from dra_lab.planner.places.hardware import is_nested, trees_over
from dra_lab.planner.places.levels import DEVICE
from dra_lab.planner.places.trees import State, Trees
from dra_lab.planner.states.node_state import NodeState

_FEW_STATES, _FEW_PODS = 24, 8
"""Node states of a fleet, and pods on one node, up to which a model decides what counting leaves open."""


@dataclass
class PlaceStates:
    """What tables of equal states share: columns that were found, and what counting says.

    `demand` are the replicas wanted of each workload, `most` the numbers of pods that are listed at most.
    """

    filler: Filler
    counting: Counting
    below: Below
    demand: Counts
    most: int
    caps: dict[State, Counts] = field(default_factory=dict)
    rows: dict[State, list[tuple[Counts, int]]] = field(default_factory=dict)
    least: dict[State, dict[Counts, Values] | None] = field(default_factory=dict)
    tried: set[tuple[State, Counts]] = field(default_factory=set)


@dataclass
class PlaceTable:
    """Nodes of one state, or one leaf of each (`only`) where every pod takes one device, with what is known of it.

    `site` are its members, which are parts of nodes of `whole` if they are leaves. `node` is what a node of these
    offers. `packed` are the numbers that a model decided.
    """

    site: Site
    whole: Site
    node: NodeState
    state: State
    states: PlaceStates
    only: int = -1
    solver: str = "HiGHS"
    packed: dict[Counts, Packed] = field(default_factory=dict)
    _takes: dict[FilledNode, Takes] = field(default_factory=dict)

    @property
    def examined(self) -> bool:
        """Say whether a pod was tried there, or nothing is free."""
        return not self.state or self.state in self.states.filler.looked_at

    @property
    def columns(self) -> dict[Counts, FilledNode]:
        """Return the best column known of each number of pods."""
        self.states.filler.first(self.state)
        return self.states.filler.columns[self.state]

    def found(self) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found, with its values."""
        found = {counts: column.values for counts, column in self.columns.items()}
        return found | {counts: one.upper for counts, one in self.packed.items() if one.upper is not None}

    @property
    def caps(self) -> Counts:
        """Return the most replicas of each workload, by counting, and by what a model found to be impossible."""
        return without_barred(self._caps, self._barred)

    @property
    def _barred(self) -> list[Counts]:
        return [counts for counts, one in self.packed.items() if one.lower is None]

    @property
    def _caps(self) -> Counts:
        """Return the most replicas of each workload, by counting; none where not one fits."""
        known, state = self.states.caps, self.state
        if state not in known:
            able = [not tables.exact or tables.best(state) is not None for tables in self.states.filler.ways[0]]
            rows = zip(self.states.counting.most(state), self.states.demand, able, strict=True)
            known[state] = tuple(min(cap, wanted) if fits else 0 for cap, wanted, fits in rows)
        return known[state]

    @property
    def rows(self) -> tuple[tuple[Counts, int], ...]:
        """Return rows that numbers of replicas keep, by what counting says."""
        caps = ((one_pod(len(self._caps), pod), cap) for pod, cap in enumerate(self._caps))
        return (*caps, *self._rows)

    @property
    def _rows(self) -> list[tuple[Counts, int]]:
        known = self.states.rows
        if self.state not in known:
            known[self.state] = self.states.counting.rows(self.state)
        return known[self.state]

    def numbers(self) -> list[Counts] | None:
        """Return all numbers of pods that may be held; None when they are too many."""
        numbers = self._numbers()
        return None if numbers is None else [counts for counts in numbers if not contains(counts, self._barred)]

    def _numbers(self) -> list[Counts] | None:
        caps, states = self._caps, self.states
        if not any(caps):
            return [(0,) * len(caps)]
        if len(caps) == 1:
            return [(count,) for count in range(caps[0] + 1)] if caps[0] < states.most else None
        return all_below(states.counting.together(self.state, caps), self._rows, states.most)

    def least(self) -> dict[Counts, Values] | None:
        """Return all numbers that may be held, with values that no way undercuts; None when they are too many."""
        least = self._least
        if least is None or not self.packed:
            return least
        known = {counts: self.lower(counts) for counts in least}
        return {counts: lower for counts, lower in known.items() if lower is not None}

    @property
    def _least(self) -> dict[Counts, Values] | None:
        if self.state not in self.states.least:
            self.states.least[self.state] = self._find_least()
        return self.states.least[self.state]

    def _find_least(self) -> dict[Counts, Values] | None:
        numbers = self._numbers()
        if numbers is None:
            return None
        floors = [self._floors(pod, cap) for pod, cap in enumerate(self._caps)]
        found = {}
        for counts in numbers:
            rows = [floors[pod][count] for pod, count in enumerate(counts)]
            found[counts] = tuple(map(sum, zip(*rows, strict=True)))
        return found

    def lower(self, counts: Counts) -> Values | None:
        """Return values that no way for some numbers undercuts, None where there is none."""
        if counts in self.packed or contains(counts, self._barred):
            return self.packed[counts].lower if counts in self.packed else None
        if self._least is not None:
            return self._least.get(counts)
        if any(count > cap for count, cap in zip(counts, self._caps, strict=True)) or any(
            sum(map(mul, weights, counts)) > limit for weights, limit in self._rows
        ):
            return None
        rows = [
            [count * self._alone(pod, goal) if count else 0 for goal in self.states.filler.order]
            for pod, count in enumerate(counts)
        ]
        return tuple(map(sum, zip(*rows, strict=True)))

    def floors(self) -> tuple[Values | None, ...]:
        """Return, by workload, values each of which no way of a replica undercuts; None where none can stand."""
        order = self.states.filler.order
        return tuple(
            tuple(self._alone(pod, goal) for goal in order) if cap else None for pod, cap in enumerate(self._caps)
        )

    def _floors(self, pod: int, most: int) -> list[Values]:
        """Return limits from below of the goals of 0 to `most` pods of one workload on a node."""
        rows = []
        for goal in self.states.filler.order:
            one = self._alone(pod, goal) if most else 0
            limits = [one * count for count in range(most + 1)]
            if most and self.states.filler.ways[0][pod].may_be(goal):
                limits = list(map(max, limits, self.states.below.limits(goal, pod, self.state, most)))
            rows.append(limits)
        return list(zip(*rows, strict=True)) if rows else [()] * (most + 1)

    def _alone(self, pod: int, goal: str) -> int:
        """Return the least value of a goal of one pod on a node that has no others."""
        tables = self.states.filler.single[goal][pod]
        best = tables.best(self.state) if tables.exact and tables.may_be(goal) else None
        return 0 if best is None else tables.shapes[best[1]].costs.values(best[0], (goal,))[0]

    def is_open(self, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist than the one that was found."""
        if counts in self.packed or self._is_best(counts):
            return False
        return self._is_modelled(counts) or (self.state, counts) not in self.states.tried

    def _is_best(self, counts: Counts) -> bool:
        column = self.columns.get(counts)
        return (None if column is None else column.values) == self.lower(counts)

    def _is_modelled(self, counts: Counts) -> bool:
        few = len(self.states.filler.columns) <= _FEW_STATES and sum(counts) <= _FEW_PODS
        return few and self.only < 0

    def decide(self, counts: Counts, budget: Budget) -> None:
        """Look for the best way for some numbers; of few pods in a small fleet, a model decides what is left open."""
        if budget.reached or not self.is_open(counts):
            return
        if (self.state, counts) not in self.states.tried:
            self.states.tried.add((self.state, counts))
            self.states.filler.explore(self.state, counts, budget)
        if budget.reached or self._is_best(counts) or not self._is_modelled(counts):
            return
        column, order = self.columns.get(counts), self.states.filler.order
        given = self.site.problem, self.site.parts, counts, order, budget
        found = pack(*given, solver=self.solver, lower=self.lower(counts))
        if column is not None and (found.upper is None or column.values <= found.upper):
            found = Packed(found.lower, column.values)
        self.packed[counts] = replace(found, takes=named(self.whole, found.takes))

    def grow_beside(self, counts: Counts, part: int) -> None:
        """Look for ways for more and more replicas of a workload beside some numbers, each where it is worth most."""
        filler = self.states.filler
        for way in range(len(filler.ways)):
            column = self.columns.get(counts)
            while column is not None and column.counts[part] < self.caps[part]:
                column = filler.step(self.state, column, way, part)

    def nodes(self, counts: Counts) -> tuple[int, int]:
        """Return how many nodes of a member the way that was found for some numbers uses, and how many at least."""
        return (int(any(counts)),) * 2

    def on_nodes(self, member: str, counts: Counts) -> PodsOnNode:
        """Return the pods of the way that was found for some numbers."""
        return PodsOnNode(self.whole, self.site.home_nodes.get(member, member), counts, partial(self.takes, counts))

    def takes(self, counts: Counts) -> Takes:
        """Return the way that was found for some numbers, in groups of the layout, workload by workload."""
        if counts in self.packed and self.packed[counts].takes:
            return self.packed[counts].takes
        filler, column = self.states.filler, self.columns[counts]
        if column not in self._takes:
            pods = [(pod, filler.ways[way][pod]) for way, pod in column.steps()]
            self._takes[column] = take_pods(filler.trees, self.node, pods, self.only)
        return self._takes[column]


def contains(counts: Counts, barred: Iterable[Counts]) -> bool:
    """Say whether numbers contain some that are known to be impossible."""
    return any(all(map(ge, counts, fewer)) for fewer in barred)


def without_barred(caps: Counts, barred: Iterable[Counts]) -> Counts:
    """Return the most replicas of each part if some numbers of one part alone are known to be impossible."""
    found = list(caps)
    for counts in barred:
        if sum(counts) == max(counts):
            part = counts.index(max(counts))
            found[part] = min(found[part], sum(counts) - 1)
    return tuple(found)


GOALS_OF_PLACES = frozenset(("alternatives", "preferences", "numa", "unpaired", "roots"))
"""The goals of devices that are counted on places."""


@dataclass
class PlacedPods:
    """The tables of some sites, and the best plan that filling found: how many nodes of each state hold which pods.

    `rest` are the sites that are not trees of places.
    """

    tables: list[PlaceTable] = field(default_factory=list)
    filled: Counter[tuple[State, Counts]] = field(default_factory=Counter)
    rest: list[Site] = field(default_factory=list)

    def placed(self) -> Iterator[tuple[PlaceTable, str, Counts]]:
        """Yield the table, member and numbers of pods of each node of the plan."""
        left: dict[State, list[Counts]] = {}
        for (state, counts), times in self.filled.items():
            left.setdefault(state, []).extend([counts] * times)
        for table in self.tables:
            mine = left.get(table.state, [])
            for member in table.site.members:
                if mine:
                    yield table, member, mine.pop()


def place_tables(work: Work, sites: Sequence[Site], *, whole: bool = False, loose: bool = False) -> PlacedPods:
    """Return a table for every node state, filled with pods, and the sites that are not of this form.

    After a share of the time, pods are only counted; sites that are left when all of it is over have no table. With
    `whole`, the members are whole nodes, and nothing is filled yet. With `loose`, values of goals may be too low.
    """
    fleet, order, budget = work.question.fleet, device_goals(work.question.order), work.budget
    nodes = []
    for number, site in enumerate(sites):
        # A node whose state is not known offers all of its problem.
        layout = Layout(site.problem, ()) if site.state is None else fleet.scan.layouts[site.state.layout]
        nodes.append((site.state or NodeState(-1 - number, layout.sizes), layout))
    layouts = {node.layout: layout for node, layout in nodes}
    wanted = [part for part in parts_on(fleet, "") if fleet.demand[part.pod]]
    regular = {at: layout for at, layout in layouts.items() if is_nested(layout.problem, wanted, loose=loose)}
    trees = trees_over(regular, wanted, len(fleet.pods), loose=loose) if set(order) <= GOALS_OF_PLACES else None
    if trees is None:
        return PlacedPods(rest=list(sites))
    rest = [site for site, (node, _) in zip(sites, nodes, strict=True) if node.layout not in regular]
    able = [(site, node) for site, (node, _) in zip(sites, nodes, strict=True) if node.layout in regular]
    members = _members(trees, able, budget.part(budget.shares.step), whole=whole)
    many: Counter[State] = Counter()
    for site, _, _, state, _ in members:
        if state:
            many[state] += len(site.members)
    filler = filler_of(trees, order, many)
    filling = budget.part(budget.shares.first)
    filled = Counter[tuple[State, Counts]]() if whole else _filled(filler, work, many, filling)
    counting = Counting(trees, lambda: filling.reached)
    states = PlaceStates(filler, counting, Below(counting), fleet.demand, budget.sizes.numbers)
    tables = [
        PlaceTable(site, whole, node, state, states, only, work.solver) for site, whole, node, state, only in members
    ]
    return PlacedPods(tables, filled, rest)


def _filled(filler: Filler, work: Work, many: Mapping[State, int], budget: Budget) -> Counter[tuple[State, Counts]]:
    """Return the best plan of all ways and orders of filling that there is time for."""
    wanted = PodsWanted(work.question.demand, work.question.fleet.demand)
    most = sum(map(mul, wanted.demand, work.question.worths))
    best: Counter[tuple[State, Counts]] = Counter()
    least: tuple[int, Values] | None = None
    for pods in orders_of(len(wanted.demand)):
        for way in range(len(filler.ways)):
            # What is placed completely with the goals first is not placed better.
            done = least is not None and -least[0] == most
            if least is not None and (budget.reached or (way and done)):
                continue
            # The first plan has all the time: what comes after it only improves or proves it.
            found = filler.fill(way, pods, wanted, many, work.budget if least is None else budget)
            value = _value(filler, found, work.question.worths)
            if least is None or value < least:
                best, least = found, value
    return best


def _value(filler: Filler, found: Mapping[tuple[State, Counts], int], worth: Sequence[int]) -> tuple[int, Values]:
    placed = sum(sum(map(mul, counts, worth)) * times for (_, counts), times in found.items())
    rows = [
        [value * times for value in filler.columns[state][counts].values] for (state, counts), times in found.items()
    ]
    return -placed, tuple(map(sum, zip(*rows, strict=True)))


_Member = tuple[Site, Site, NodeState, State, int]
"""Members of one state, the site that they are of, what its nodes offer, the state, and which leaf it is."""


def _members(trees: Trees, able: Sequence[tuple[Site, NodeState]], budget: Budget, *, whole: bool) -> list[_Member]:
    """Return sites with their state, as many as there is time for.

    If every pod takes one device, they are leaves, unless nodes are wanted `whole`. Row that needs leaves: partitions
    on 100 nodes are planned in 2.1 s, in 6.9 s on whole nodes, with `nodes` unproven.
    """
    alone = (
        not whole
        and trees.levels.where[-1] == DEVICE
        and all(sum(s.need) == 1 for ask in trees.asks for s in ask.shapes)
    )
    found: list[_Member] = []
    for site, node in able:
        if found and budget.reached:
            break
        root = trees.place(node)
        if not alone:
            found.append((site, site, node, root.state, -1))
            continue
        chains = [chain.state for chain in chains_of(root, trees.depth) if chain.state]
        for only, state in enumerate(chains):
            home = {f"{member} {only}": member for member in site.members}
            found.append((replace(site, members=tuple(home), home_nodes=home), site, node, state, only))
        if not chains:
            found.append((site, site, node, (), -1))
    return found
