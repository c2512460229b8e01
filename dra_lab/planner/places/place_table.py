"""One node state of a fleet whose nodes are trees of places, as the master asks for it; and the tables of all states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from operator import mul

from dra_lab.index.node_binding import Tie
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.fleet_work import FleetWork
from dra_lab.planner.fleet.pack import Packed, Takes, Values, device_goals, named, pack
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.sites import Site, parts_on
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.node_classes import Layout
from dra_lab.planner.places.counting import Counting, all_below
from dra_lab.planner.places.fill import Column, Filler, Wanted, filler_of, orders_of
from dra_lab.planner.places.levels import DEVICE, is_tree, levels_of
from dra_lab.planner.places.shapes import PodAsk, Vector, ask_of_pod
from dra_lab.planner.places.tables import PodTables, ShapeTables
from dra_lab.planner.places.trees import Place, State, Trees
from dra_lab.planner.states.columns import PodTakes
from dra_lab.planner.states.node_state import NodeState

GOALS_OF_PLACES = frozenset(("alternatives", "preferences", "numa", "unpaired", "roots"))
"""The goals of devices that are counted on places."""

_SHAPES, _VECTORS = 48, 20_000
"""Shapes of a pod, and vectors of devices of one shape; a fleet with more is planned as other hardware."""


_FEW_STATES, _FEW_PODS = 24, 8
"""Node states of a fleet, and pods on one node, up to which a model decides what counting leaves open."""

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
    _rows: dict[State, list[tuple[Counts, int]]] = field(default_factory=dict)
    _tried: set[tuple[State, Counts]] = field(default_factory=set)

    def found(self, state: State) -> dict[Counts, Values]:
        """Return the numbers of pods for which a way was found, with its values."""
        return {counts: column.values for counts, column in self.columns(state).items()}

    def columns(self, state: State) -> dict[Counts, Column]:
        """Return the best column known of each number of pods."""
        self.filler.first(state)
        return self.filler.columns[state]

    def caps(self, state: State) -> Counts:
        """Return the most pods of each workload, by counting; none where not one fits."""
        if state not in self._caps:
            able = [not tables.exact or tables.best(state) is not None for tables in self.filler.ways[0]]
            most = self.counting.most(state)
            self._caps[state] = tuple(
                min(cap, wanted) if fits else 0 for cap, wanted, fits in zip(most, self.demand, able, strict=True)
            )
        return self._caps[state]

    def rows(self, state: State) -> list[tuple[Counts, int]]:
        """Return rows that numbers of pods keep, by counting."""
        if state not in self._rows:
            self._rows[state] = self.counting.rows(state)
        return self._rows[state]

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
            numbers = all_below(self.counting.together(state, caps), self.rows(state), self.most)
        if numbers is None:
            return None
        floors = [self._floors(state, pod, cap) for pod, cap in enumerate(caps)]
        best = [self._best(state, pod) if cap else None for pod, cap in enumerate(caps)]
        return {counts: _not_undercut(_sum_at(floors, counts), best, counts) for counts in numbers}

    def _best(self, state: State, pod: int) -> Values | None:
        """Return the values of the best pod of a workload on a node, None if they are not known."""
        tables = self.filler.ways[0][pod]
        best = tables.best(state) if tables.exact else None
        return None if best is None else tables.shapes[best[1]].costs.values(best[0], self.filler.order)

    def _floors(self, state: State, pod: int, most: int) -> list[Values]:
        """Return limits from below of the goals of 0 to `most` pods of one workload on a node."""
        order, rows = self.filler.order, []
        single = [number for number, one in enumerate(self.counting.pods) if one.pod == pod]
        for goal in order:
            one = self.alone(state, pod, goal) if most else 0
            limits = [one * count for count in range(most + 1)]
            if most and self.filler.ways[0][pod].may_be(goal):
                limits = list(map(max, limits, self._counted(state, pod, goal, most, single)))
            rows.append(limits)
        return list(zip(*rows, strict=True)) if rows else [()] * (most + 1)

    def _counted(self, state: State, pod: int, goal: str, most: int, single: Sequence[int]) -> list[int]:
        """Return limits from below of a goal of 0 to `most` pods, by counting."""
        if goal == "preferences":
            return self.counting.lost(pod, state, most)
        if len(single) == 1 and goal in ("numa", "roots"):
            return self.counting.fewest(single[0], state, goal, most)
        if len(single) == 1 and goal == "alternatives":
            return self.counting.lowest_ranks(single[0], state, most)
        return [0] * (most + 1)

    def alone(self, state: State, pod: int, goal: str) -> int:
        """Return the least value of a goal of one pod on a node that has no others."""
        tables = self.filler.single[goal][pod]
        best = tables.best(state) if tables.exact and tables.may_be(goal) else None
        return 0 if best is None else tables.shapes[best[1]].costs.values(best[0], (goal,))[0]

    def lower(self, state: State, counts: Counts) -> Values | None:
        """Return values that no way for some numbers undercuts, None where there is none."""
        least = self.least(state)
        if least is not None:
            return least.get(counts)
        if any(count > cap for count, cap in zip(counts, self.caps(state), strict=True)) or any(
            sum(map(mul, weights, counts)) > limit for weights, limit in self.rows(state)
        ):
            return None
        rows = [
            [count * self.alone(state, pod, goal) if count else 0 for goal in self.filler.order]
            for pod, count in enumerate(counts)
        ]
        best = [self._best(state, pod) if count else None for pod, count in enumerate(counts)]
        return _not_undercut(tuple(map(sum, zip(*rows, strict=True))), best, counts)

    def is_open(self, state: State, counts: Counts, *, modelled: bool) -> bool:
        """Say whether a better way for some numbers may exist that was not looked for yet; with a model, also then."""
        column = self.columns(state).get(counts)
        known = None if column is None else column.values
        return (modelled or (state, counts) not in self._tried) and known != self.lower(state, counts)

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
            column = self.columns(state).get(counts)
            if column is None or column.values != self.lower(state, counts):
                self.filler.explore(state, counts, budget)
        column = self.columns(state).get(counts)
        return Packed(self.lower(state, counts), None if column is None else column.values)


def _not_undercut(floors: Values, best: Sequence[Values | None], counts: Counts) -> Values:
    """Return values that no way for some numbers undercuts, compared as goals are.

    `floors` hold goal by goal. No pod is better than the best one alone on the node, whose values hold together: they
    say nothing behind a goal in which they are surpassed.
    """
    if any(count and one is None for count, one in zip(counts, best, strict=True)):
        return floors
    rows = [[count * value for value in one] for count, one in zip(counts, best, strict=True) if count and one]
    alone = [sum(column) for column in zip(*rows, strict=True)] or [0] * len(floors)
    found = []
    together = True
    for floor, value in zip(floors, alone, strict=True):
        found.append(max(floor, value) if together else floor)
        together = together and value >= floor
    return tuple(found)


def _sum_at(floors: Sequence[Sequence[Values]], counts: Counts) -> Values:
    rows = [floors[pod][count] for pod, count in enumerate(counts)]
    return tuple(map(sum, zip(*rows, strict=True)))


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
    _takes: dict[Column, Takes] = field(default_factory=dict)

    @property
    def examined(self) -> bool:
        """Say whether a pod was tried there."""
        return not self.state or self.state in self.states.filler.looked_at

    def found(self) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found, with its values."""
        found = self.states.found(self.state)
        return found | {counts: one.upper for counts, one in self.packed.items() if one.upper is not None}

    def least(self) -> dict[Counts, Values] | None:
        """Return all numbers that may be held, with values that no way undercuts; None when they are too many."""
        least = self.states.least(self.state)
        if least is None or not self.packed:
            return least
        known = {counts: self.lower(counts) for counts in least}
        return {counts: lower for counts, lower in known.items() if lower is not None}

    def lower(self, counts: Counts) -> Values | None:
        """Return values that no way for some numbers undercuts, None where there is none."""
        return self.packed[counts].lower if counts in self.packed else self.states.lower(self.state, counts)

    @property
    def caps(self) -> Counts:
        """Return the most replicas of each workload, by counting."""
        return self.states.caps(self.state)

    @property
    def rows(self) -> tuple[tuple[Counts, int], ...]:
        """Return rows that numbers of replicas keep, by what counting says."""
        caps = ((tuple(int(at == pod) for at in range(len(self.caps))), cap) for pod, cap in enumerate(self.caps))
        return (*caps, *self.states.rows(self.state))

    @property
    def may_be_closed(self) -> bool:
        """Say whether it takes a look at all numbers to say whether everything is known exactly."""
        return True

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
        return counts not in self.packed and self.states.is_open(self.state, counts, modelled=self._is_modelled(counts))

    def _is_modelled(self, counts: Counts) -> bool:
        few = len(self.states.filler.columns) <= _FEW_STATES and sum(counts) <= _FEW_PODS
        return few and self.only < 0 and not self.site.nodes

    def decide(self, counts: Counts, budget: Budget) -> Packed:
        """Look for the best way for some numbers; of few pods in a small fleet, a model decides."""
        found = self.states.decide(self.state, counts, budget)
        if found.exact or budget.reached or counts in self.packed or not self._is_modelled(counts):
            return self.packed.get(counts, found)
        order = self.states.filler.order
        given = self.site.problem, self.site.parts, counts, order, budget
        mine = pack(*given, solver=self.solver, lower=found.lower)
        if found.upper is not None and (mine.upper is None or found.upper <= mine.upper):
            mine = Packed(mine.lower, found.upper)
        self.packed[counts] = replace(mine, takes=named(self.whole, mine.takes))
        return mine

    def takes(self, counts: Counts) -> Takes:
        """Return the way that was found for some numbers, in groups of the layout, workload by workload."""
        if counts in self.packed and self.packed[counts].takes:
            return self.packed[counts].takes
        filler = self.states.filler
        column = self.states.columns(self.state)[counts]
        if column not in self._takes:
            pods = [(pod, filler.ways[way][pod]) for way, pod in column.steps()]
            self._takes[column] = take_pods(filler.trees, self.node, pods, self.only)
        return self._takes[column]


def take_pods(trees: Trees, node: NodeState, pods: Sequence[tuple[int, PodTables]], only: int = -1) -> Takes:
    """Return what each pod takes that comes to a node, workload by workload; `pods` are (workload, tables) in order."""
    groups = trees.problems[node.layout].groups
    root, found = tree_of(trees, node, only), []
    for pod, tables in pods:
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


def place_tables(work: FleetWork, sites: Sequence[Site], *, every: bool = False) -> PlacedPods:
    """Return a table for every node state, filled with pods, and the sites that are not of this form.

    After a share of the time, pods are only counted; sites that are left when all of it is over have no table. With
    `every`, each state is filled in every order of workloads, whatever is wanted of them in all.
    """
    fleet, order, budget = work.fleet, device_goals(work.order), work.budget
    nodes = [_offer(fleet, number, site) for number, site in enumerate(sites)]
    layouts = {node.layout: layout for node, layout in nodes}
    regular = {number: layout for number, layout in layouts.items() if is_nested(layout.problem)}
    wanted = [part for part in parts_on(fleet, "") if fleet.demand[part.pod]]
    trees = trees_over(regular, wanted, len(fleet.pods)) if set(order) <= GOALS_OF_PLACES else None
    if trees is None:
        return PlacedPods(rest=list(sites))
    rest = [site for site, (node, _) in zip(sites, nodes, strict=True) if node.layout not in regular]
    able = [(site, node) for site, (node, _) in zip(sites, nodes, strict=True) if node.layout in regular]
    members = _members(trees, able, budget, whole=every)
    many: Counter[State] = Counter()
    for site, _, _, state, _ in members:
        if state:
            many[state] += len(site.members)
    filler = filler_of(trees, order, many)
    filling = budget.part(budget.shares.first)
    filled = _filled(filler, work, many, filling)
    states = PlaceStates(filler, Counting(trees, lambda: filling.reached), fleet.demand, budget.sizes.numbers)
    if every:
        for state in many:
            if filling.reached:
                break
            filler.explore(state, states.caps(state), filling, limit=_FIRST)
    tables = [PlaceTable(*one, states, only, work.solver) for *one, only in members]
    return PlacedPods(tables, filled, rest)


def _offer(fleet: FleetProblem, number: int, site: Site) -> tuple[NodeState, Layout]:
    """Return what the nodes of a site offer of their hardware; of one whose state is not known, all of its problem."""
    if site.state is not None:
        return site.state, fleet.scan.layouts[site.state.layout]
    layout = Layout(site.problem, ())
    return NodeState(-1 - number, layout.sizes), layout


def _filled(
    filler: Filler, work: FleetWork, many: Mapping[State, int], budget: Budget
) -> Counter[tuple[State, Counts]]:
    """Return the best plan of all ways and orders of filling that there is time for."""
    wanted = Wanted(work.demand, work.fleet.demand)
    most = sum(map(mul, wanted.demand, work.worths))
    best: Counter[tuple[State, Counts]] = Counter()
    least: tuple[int, Values] | None = None
    for pods in orders_of(len(wanted.demand)):
        for way in range(len(filler.ways)):
            # What is placed completely with the goals first is not placed better.
            done = least is not None and -least[0] == most
            if least is not None and (budget.reached or (way and done)):
                continue
            found = filler.fill(way, pods, wanted, many, budget)
            value = _value(filler, found, work.worths)
            if least is None or value < least:
                best, least = found, value
    return best


def _value(filler: Filler, found: Mapping[tuple[State, Counts], int], worth: Sequence[int]) -> tuple[int, Values]:
    placed = sum(sum(map(mul, counts, worth)) * times for (_, counts), times in found.items())
    rows = [[value * times for value in filler.columns[state][counts].values] for (state, counts), times in found.items()]
    return -placed, tuple(map(sum, zip(*rows, strict=True)))


_Member = tuple[Site, Site, NodeState, State, int]
"""Members of one state, the site that they are of, what its nodes offer, the state, and which leaf it is."""


def _members(
    trees: Trees, able: Sequence[tuple[Site, NodeState]], budget: Budget, *, whole: bool
) -> list[_Member]:
    """Return sites with their state, as many as there is time for.

    If every pod takes one device, they are leaves, unless nodes are wanted `whole`.
    """
    alone = not whole and trees.levels.where[-1] == DEVICE and all(sum(s.need) == 1 for ask in trees.asks for s in ask.shapes)
    found: list[_Member] = []
    for site, node in able:
        if found and budget.reached:
            break
        root = trees.place(node)
        if not alone or site.caps:
            found.append((site, site, node, root.state, -1))
            continue
        chains = [chain.state for chain in _chains(root, trees.depth) if chain.state]
        for only, state in enumerate(chains):
            home = {f"{member} {only}": member for member in site.members}
            found.append((replace(site, members=tuple(home), home_nodes=home), site, node, state, only))
        if not chains:
            found.append((site, site, node, (), -1))
    return found


def is_nested(problem: AllocationProblem) -> bool:
    """Say whether a kind of hardware is a tree of places, and its devices are taken one by one or by amounts."""
    if any((group.shareable and group.draws) or group.tie is Tie.TERMS for group in problem.groups):
        return False
    return is_tree(problem.groups)


def trees_over(layouts: Mapping[int, Layout], parts: Sequence[CopyPart], pods: int) -> Trees | None:
    """Return nested kinds of hardware as trees of places for some of the pods; None if a pod is not of this form."""
    problems = {number: layout.problem for number, layout in layouts.items()}
    first = next(iter(problems.values()), None)
    if first is None:
        return None
    groups: dict[object, DeviceGroup] = {}
    for problem in problems.values():
        for group in problem.groups:
            groups.setdefault(_identity(group), group)
    known: dict[object, int] = {}
    kinds = [number for number in problems if known.setdefault(layouts[number].kinds or number, number) == number]
    split = any(group.shareable or group.draws for group in groups.values())
    levels = levels_of(first, list(groups.values()), [problems[number].groups for number in kinds], parts=split)
    if levels is None:
        return None
    every = {
        ask: sorted({problem.need(ask) for problem in problems.values() if ask not in problem.impossible})
        for ask, one in enumerate(first.asks)
        if one.all_devices
    }
    asks = [PodAsk((), False, first, (), None, {})] * pods
    for part in parts:
        ask = ask_of_pod(first, part, list(groups.values()), levels.of_link, every, _SHAPES)
        if ask is None or any(_size(shape.need) > _VECTORS for shape in ask.shapes):
            return None
        asks[part.pod] = ask
    return Trees(levels, tuple(asks), problems)


def _size(need: Vector) -> int:
    return prod(count + 1 for count in need)


def _identity(group: DeviceGroup) -> tuple[object, ...]:
    """Return what tells two groups apart, whatever their devices: equal objects may count as different."""
    values = group.asks, group.places, group.numa, group.root, group.remaining, group.uses, group.draws
    return group.kind, group.shareable, *map(id, values)
