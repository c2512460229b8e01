"""One node state of a fleet whose nodes are trees of places, as the master asks for it; and the tables of all states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Packed, Takes, Values
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.sites import Site, parts_on, plain_site
from dra_lab.planner.node.allocation_problem import DeviceGroup
from dra_lab.planner.places.counting import Counting, all_below
from dra_lab.planner.places.fill import Column, Filler, filler_of, orders_of
from dra_lab.planner.places.levels import levels_of
from dra_lab.planner.places.shapes import PodAsk, Vector, ask_of_pod
from dra_lab.planner.places.tables import NEVER, ShapeTables
from dra_lab.planner.places.trees import Place, State, Trees
from dra_lab.planner.states.columns import PodTakes
from dra_lab.planner.states.node_state import NodeState

GOALS_OF_PLACES = frozenset(("alternatives", "preferences", "numa", "unpaired", "roots"))
"""The goals of devices that are counted on places."""

_SHAPES, _VECTORS = 48, 2_000
"""Shapes of a pod, and vectors of devices of one shape; a fleet with more is planned as other hardware."""


_FIRST = 24
"""Columns with as many pods that are continued when a state is first looked at more closely."""


@dataclass
class PlaceStates:
    """What is known of all states of a fleet: the columns that were found, and what counting says."""

    filler: Filler
    counting: Counting
    demand: Counts
    most: int
    _least: dict[State, dict[Counts, Values] | None] = field(default_factory=dict)
    _caps: dict[State, Counts] = field(default_factory=dict)
    _tried: set[tuple[State, Counts]] = field(default_factory=set)

    def found(self, state: State) -> dict[Counts, Values]:
        """Return the numbers of pods for which a way was found, with its values."""
        self.filler.first(state)
        return {counts: column.values for counts, column in self.filler.columns[state].items()}

    def caps(self, state: State) -> Counts:
        """Return the most pods of each workload, by counting; none where not one fits."""
        if state not in self._caps:
            able = [tables.best(state) is not None for tables in self.filler.ways[0]]
            most = self.counting.most(state)
            self._caps[state] = tuple(
                min(cap, wanted) if fits else 0 for cap, wanted, fits in zip(most, self.demand, able, strict=True)
            )
        return self._caps[state]

    def least(self, state: State) -> dict[Counts, Values] | None:
        """Return all numbers that may be held, with values that no way undercuts; None when they are too many."""
        if state not in self._least:
            self._least[state] = self._find_least(state)
        return self._least[state]

    def _find_least(self, state: State) -> dict[Counts, Values] | None:
        caps, zero = self.caps(state), (0,) * len(self.demand)
        if not any(caps):
            return {zero: (0,) * len(self.filler.order)}
        if len(caps) == 1:
            numbers: list[Counts] | None = [(count,) for count in range(caps[0] + 1)] if caps[0] < self.most else None
        else:
            numbers = all_below(self.counting.together(state, caps), self.most)
        if numbers is None:
            return None
        floors = [self._floors(state, pod, cap) for pod, cap in enumerate(caps)]
        return {counts: _sum_at(floors, counts) for counts in numbers}

    def _floors(self, state: State, pod: int, most: int) -> list[Values]:
        """Return limits from below of the goals of 0 to `most` pods of one workload on a node."""
        order, rows = self.filler.order, []
        single = [number for number, one in enumerate(self.counting.pods) if one.pod == pod]
        for goal in order:
            one = self.alone(state, pod, goal) if most else 0
            limits = [one * count for count in range(most + 1)]
            if most and len(single) == 1 and goal in ("numa", "roots"):
                fewest = self.counting.fewest(single[0], state, goal, most)
                limits = list(map(max, limits, fewest))
            rows.append(limits)
        return list(zip(*rows, strict=True)) if rows else [()] * (most + 1)

    def alone(self, state: State, pod: int, goal: str) -> int:
        """Return the least value of a goal of one pod on a node that has no others."""
        tables = self.filler.single[goal][pod]
        best = tables.best(state)
        return 0 if best is None else tables.shapes[best[1]].costs.values(best[0], (goal,))[0]

    def lower(self, state: State, counts: Counts) -> Values | None:
        """Return values that no way for some numbers undercuts, None where there is none."""
        least = self.least(state)
        if least is not None:
            return least.get(counts)
        if any(count > cap for count, cap in zip(counts, self.caps(state), strict=True)):
            return None
        rows = [
            [count * self.alone(state, pod, goal) if count else 0 for goal in self.filler.order]
            for pod, count in enumerate(counts)
        ]
        return tuple(map(sum, zip(*rows, strict=True)))

    def is_open(self, state: State, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist that was not looked for yet."""
        column = self.filler.columns[state].get(counts)
        known = None if column is None else column.values
        return (state, counts) not in self._tried and known != self.lower(state, counts)

    def widen(self, state: State, budget: Budget) -> None:
        """Look for ways for all numbers on a state, in many orders of workloads, if that was not done yet."""
        if state and (state, self.caps(state)) not in self._tried:
            self._tried.add((state, self.caps(state)))
            self.filler.explore(state, self.caps(state), budget, limit=_FIRST)

    def decide(self, state: State, counts: Counts, budget: Budget) -> Packed:
        """Look for a way for some numbers in every order of workloads."""
        if not budget.reached and (state, counts) not in self._tried:
            self.widen(state, budget)
            self._tried.add((state, counts))
            column = self.filler.columns[state].get(counts)
            if column is None or column.values != self.lower(state, counts):
                self.filler.explore(state, counts, budget)
        column = self.filler.columns[state].get(counts)
        return Packed(self.lower(state, counts), None if column is None else column.values)


def _sum_at(floors: Sequence[Sequence[Values]], counts: Counts) -> Values:
    rows = [floors[pod][count] for pod, count in enumerate(counts)]
    return tuple(map(sum, zip(*rows, strict=True)))


@dataclass
class PlaceTable:
    """Nodes of one state, or one leaf of them (`only`) where every pod takes one device, with what is known of it."""

    site: Site
    state: State
    states: PlaceStates
    only: int = -1
    _takes: dict[Column, Takes] = field(default_factory=dict)

    @property
    def examined(self) -> bool:
        """Say whether a pod was tried there."""
        return not self.state or len(self.states.filler.columns.get(self.state, ())) > 1 or not any(self.caps)

    def found(self) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found, with its values."""
        return self.states.found(self.state)

    def least(self) -> dict[Counts, Values] | None:
        """Return all numbers that may be held, with values that no way undercuts; None when they are too many."""
        return self.states.least(self.state)

    def lower(self, counts: Counts) -> Values | None:
        """Return values that no way for some numbers undercuts, None where there is none."""
        return self.states.lower(self.state, counts)

    @property
    def caps(self) -> Counts:
        """Return the most replicas of each workload, by counting."""
        return self.states.caps(self.state)

    @property
    def rows(self) -> tuple[tuple[Counts, int], ...]:
        """Return rows that numbers of replicas keep, by what counting says."""
        return tuple(
            (tuple(int(at == pod) for at in range(len(self.caps))), cap) for pod, cap in enumerate(self.caps)
        )

    @property
    def closed(self) -> bool:
        """Say whether everything that counting allows is known exactly."""
        return self.least() == self.found()

    def floors(self) -> tuple[Values | None, ...]:
        """Return, by workload, values each of which no way of a replica undercuts; None where none can stand."""
        states = self.states
        return tuple(
            tuple(states.alone(self.state, pod, goal) for goal in states.filler.order) if cap else None
            for pod, cap in enumerate(self.caps)
        )

    def is_open(self, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist than the one that was found."""
        return self.states.is_open(self.state, counts)

    def decide(self, counts: Counts, budget: Budget) -> Packed:
        """Look for the best way for some numbers."""
        return self.states.decide(self.state, counts, budget)

    def takes(self, counts: Counts) -> Takes:
        """Return the way that was found for some numbers, in groups of the layout, workload by workload."""
        filler, node = self.states.filler, self.site.state
        assert node is not None, "places are made of known states"
        column = filler.columns[self.state][counts]
        if column not in self._takes:
            self._takes[column] = _Taker(filler, node, self.only).takes(column.steps())
        return self._takes[column]


@dataclass
class _Taker:
    """Pods that take the devices of a node, one after the other."""

    filler: Filler
    node: NodeState
    only: int

    def takes(self, steps: Sequence[tuple[int, int]]) -> Takes:
        """Return what each pod takes, workload by workload; `steps` are the way of filling and the workload of each."""
        trees = self.filler.trees
        groups = trees.problems[self.node.layout].groups
        root, found = tree_of(trees, self.node, self.only), []
        for way, pod in steps:
            tables = self.filler.ways[way][pod]
            best = tables.best(root.state)
            assert best is not None, "the pod was placed there"
            shape = tables.shapes[best[1]]
            mine: Counter[tuple[int, int]] = Counter()
            for slot, ask, group, count in _take(trees, shape, root, 0, len(shape.lattice.vectors) - 1):
                merged = shape.shape.slots[slot].merged
                mine[merged if ask < 0 else -1 - ask, group] += count
            found.append((pod, _as_written(trees.asks[pod], mine, groups)))
        return tuple(takes for _, takes in sorted(found, key=lambda row: row[0]))


def _as_written(ask: PodAsk, mine: Mapping[tuple[int, int], int], groups: tuple[DeviceGroup, ...]) -> PodTakes:
    """Return what a pod takes by the asks of the fleet; those of shared devices, with a sign, are known already."""
    shared = [(-1 - one, group, count) for (one, group), count in mine.items() if one < 0]
    merged = {key: count for key, count in mine.items() if key[0] >= 0}
    return tuple(sorted([*shared, *ask.written(merged, groups)]))


def _take(
    trees: Trees, shape: ShapeTables, place: Place, depth: int, position: int
) -> Iterator[tuple[int, int, int, int]]:
    """Take the devices of the best pod from a place; yield (slot, ask or -1, group, devices). States stay current."""
    after = shape.after(depth, place.state, position)
    if depth == trees.depth:
        for slot, move, count in shape.table(depth, place.state).steps[position][0]:
            rest = count
            for entry in place.groups[move]:
                part = rest if entry[2] < 0 else min(rest, entry[2])
                if part:
                    entry[2] -= part if entry[2] >= 0 else 0
                    rest -= part
                    yield slot, entry[1], entry[0], part
    else:
        used: set[int] = set()
        for child, column in list(shape.inside(depth, place.state, position)):
            one = next(inside for inside in place.children if inside.state == child and id(inside) not in used)
            used.add(id(one))
            yield from _take(trees, shape, one, depth + 1, column)
    place.state = after


def tree_of(trees: Trees, node: NodeState, only: int = -1) -> Place:
    """Return the tree of a node, or that of one of its leaves alone."""
    root = trees.place(node)
    if only < 0:
        return root
    return [chain for chain in _chains(root, trees.depth) if chain.state][only]


def _chains(place: Place, depth: int) -> Iterator[Place]:
    """Yield the trees of each leaf alone."""
    if not depth:
        yield place
        return
    for child in place.children:
        for inside in _chains(child, depth - 1):
            state = (int(place.known), (inside.state,)) if inside.state else ()
            yield Place(known=place.known, children=[inside], state=state)


@dataclass
class PlacedPods:
    """The tables of a fleet, and the best plan that filling found: how many nodes of each state hold which pods."""

    tables: list[PlaceTable]
    filled: Counter[tuple[State, Counts]]

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


def place_tables(fleet: FleetProblem, order: tuple[str, ...], budget: Budget, *, every: bool = False) -> PlacedPods | None:
    """Return a table for every node state of a fleet, filled with pods; None if its nodes or pods are not of this form.

    After a share of the time, pods are only counted. With `every`, each state is filled in every order of workloads,
    whatever is wanted of them in all.
    """
    trees = trees_of(fleet) if fleet.survey.plain and set(order) <= GOALS_OF_PLACES else None
    if trees is None:
        return None
    sites = _sites(fleet, trees, budget)
    many: Counter[State] = Counter()
    for site, state, _ in sites:
        if state:
            many[state] += len(site.members)
    filler = filler_of(trees, order, many)
    filling = budget.part(budget.shares.first)
    best: Counter[tuple[State, Counts]] = Counter()
    least: tuple[int, Values] | None = None
    for pods in orders_of(len(fleet.demand)):
        for way in range(len(filler.ways)):
            if least is not None and (filling.reached or -least[0] == sum(fleet.demand)) and way:
                continue
            if least is not None and filling.reached:
                break
            found = filler.fill(way, pods, fleet.demand, many, budget)
            value = _value(filler, found)
            if least is None or value < least:
                best, least = found, value
    states = PlaceStates(filler, Counting(trees, lambda: filling.reached), fleet.demand, budget.sizes.numbers)
    if every:
        for state in many:
            if filling.reached:
                break
            filler.explore(state, states.caps(state), filling, limit=4)
    return PlacedPods([PlaceTable(site, state, states, only) for site, state, only in sites], best)


def _value(filler: Filler, found: Mapping[tuple[State, Counts], int]) -> tuple[int, Values]:
    placed = sum(sum(counts) * times for (_, counts), times in found.items())
    rows = [[value * times for value in filler.columns[state][counts].values] for (state, counts), times in found.items()]
    return -placed, tuple(map(sum, zip(*rows, strict=True)))


def _sites(fleet: FleetProblem, trees: Trees, budget: Budget) -> list[tuple[Site, State, int]]:
    """Return the nodes in each state with their tree, as many as there is time for; leaf by leaf for pods of one device."""
    identical: dict[NodeState, list[str]] = {}
    for node, state in fleet.survey.states.items():
        identical.setdefault(state, []).append(node)
    alone = trees.levels.where[-1] == "device" and all(
        sum(shape.need) == 1 for ask in trees.asks for shape in ask.shapes
    )
    found: list[tuple[Site, State, int]] = []
    for state, nodes in identical.items():
        if found and budget.reached:
            break
        root = trees.place(state)
        if not alone:
            found.append((plain_site(fleet, state, nodes), root.state, -1))
            continue
        chains = [chain.state for chain in _chains(root, trees.depth) if chain.state]
        for only, chain in enumerate(chains):
            home = {f"{node} {only}": node for node in sorted(nodes)}
            site = Site(tuple(home), parts_on(fleet, min(nodes)), lambda: _never(), state, home_nodes=home)
            found.append((site, chain, only))
    return found


def _never():  # type: ignore[no-untyped-def]
    raise AssertionError("the problem of a part of a node is not asked for")


def trees_of(fleet: FleetProblem) -> Trees | None:
    """Return a fleet as trees of places; None if some hardware or some pod is not of this form."""
    layouts = fleet.scan.layouts
    numbers = dict.fromkeys(state.layout for state in fleet.survey.states.values())
    problems = {number: layouts[number].problem for number in numbers}
    first = next(iter(problems.values()), None)
    if first is None or len({problem.impossible for problem in problems.values()}) > 1:
        return None
    groups: dict[object, DeviceGroup] = {}
    for problem in problems.values():
        for group in problem.groups:
            if group.shareable and group.draws:
                return None
            groups.setdefault(_identity(group), group)
    known: dict[object, int] = {}
    kinds = [number for number in problems if known.setdefault(layouts[number].kinds or number, number) == number]
    parts = any(group.shareable or group.draws for group in groups.values())
    levels = levels_of(first, list(groups.values()), [problems[number].groups for number in kinds], parts=parts)
    if levels is None:
        return None
    asks = []
    for part in parts_on(fleet, ""):
        ask = ask_of_pod(first, part, list(groups.values()), levels.of_link, _SHAPES)
        if ask is None or any(_size(shape.need) > _VECTORS for shape in ask.shapes):
            return None
        asks.append(ask)
    return Trees(levels, tuple(asks), problems)


def _size(need: Vector) -> int:
    size = 1
    for count in need:
        size *= count + 1
    return min(size, NEVER)


def _identity(group: DeviceGroup) -> tuple[object, ...]:
    """Return what tells two groups apart, whatever their devices: equal objects may count as different."""
    values = group.asks, group.places, group.numa, group.root, group.remaining, group.uses, group.draws
    return group.kind, group.shareable, group.tie, *map(id, values)
