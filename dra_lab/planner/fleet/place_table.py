"""Nodes of one state, as the master asks for them: numbers of pods, their values, and the devices that they take."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from operator import ge

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Packed, Takes, Values, named, pack
from dra_lab.planner.fleet.place_states import PlaceStates
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.places.fill import Column
from dra_lab.planner.places.hand_out import take_pods
from dra_lab.planner.places.trees import State
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
        """Say whether a pod was tried there, or nothing is free."""
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

    def numbers(self) -> list[Counts] | None:
        """Return all numbers that may be held; None when they are too many."""
        numbers = self.states.numbers(self.state)
        return None if numbers is None else [counts for counts in numbers if not self.is_barred(counts)]

    def lower(self, counts: Counts) -> Values | None:
        """Return values that no way for some numbers undercuts, None where there is none."""
        if counts in self.packed:
            return self.packed[counts].lower
        return None if self.is_barred(counts) else self.states.lower(self.state, counts)

    def is_barred(self, counts: Counts) -> bool:
        """Say whether the numbers contain some of which a model found that there is no way."""
        return any(one.lower is None and all(map(ge, counts, fewer)) for fewer, one in self.packed.items())

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
        if counts in self.packed or self.is_barred(counts):
            return False
        return self.states.is_open(self.state, counts, modelled=self._is_modelled(counts))

    def _is_modelled(self, counts: Counts) -> bool:
        few = len(self.states.filler.columns) <= _FEW_STATES and sum(counts) <= _FEW_PODS
        return few and self.only < 0 and not self.site.nodes

    def decide(self, counts: Counts, budget: Budget) -> Packed:
        """Look for the best way for some numbers; of few pods in a small fleet, a model decides."""
        if self.is_barred(counts):
            return Packed(None)
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

    def widen(self, budget: Budget) -> None:
        """Look for ways for all numbers, in many orders of workloads, if that was not done yet."""
        self.states.widen(self.state, budget)

    def grow_beside(self, counts: Counts, part: int) -> None:
        """Look for ways for more and more replicas of a workload beside some numbers, each where it is worth most."""
        filler = self.states.filler
        for way in range(len(filler.ways)):
            column = self.states.columns(self.state).get(counts)
            while column is not None and column.counts[part] < self.caps[part]:
                column = filler.step(self.state, column, way, part)

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
