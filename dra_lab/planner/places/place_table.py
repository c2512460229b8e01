"""Nodes of one state, as the master asks for them: numbers of pods, their values, and the devices that they take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Packed, Takes, Values, named, pack
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.allocation_problem import DeviceGroup
from dra_lab.planner.places.fill import Column
from dra_lab.planner.places.shapes import PodAsk
from dra_lab.planner.places.states import PlaceStates
from dra_lab.planner.places.tables import PodTables, ShapeTables
from dra_lab.planner.places.trees import Place, State, Trees
from dra_lab.planner.states.columns import PodTakes
from dra_lab.planner.states.node_state import NodeState

_FEW_STATES, _FEW_PODS = 24, 8
"""Node states of a fleet, and pods on one node, up to which a model decides what counting leaves open."""


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
    return [chain for chain in chains_of(root, trees.depth) if chain.state][only]


def chains_of(place: Place, depth: int) -> Iterator[Place]:
    """Yield the trees of each leaf alone."""
    if not depth:
        yield place
        return
    for child in place.children:
        for inside in chains_of(child, depth - 1):
            state = (int(place.known), (inside.state,)) if inside.state else ()
            yield Place(known=place.known, children=[inside], state=state)
