"""Nodes of one state, as the master asks for them: numbers of pods, their values, and the devices that they take."""

from __future__ import annotations

from dataclasses import dataclass, field

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Takes, Values
from dra_lab.planner.fleet.place_states import PlaceStates
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.places.fill import Column
from dra_lab.planner.places.hand_out import take_pods
from dra_lab.planner.places.trees import State
from dra_lab.planner.states.node_state import NodeState


@dataclass
class PlaceTable:
    """Nodes of one state, or one leaf of each (`only`) where every pod takes one device, with what is known of it.

    `site` are its members, which are parts of nodes of `whole` if they are leaves. `node` is what a node of these
    offers.
    """

    site: Site
    whole: Site
    node: NodeState
    state: State
    states: PlaceStates
    only: int = -1
    _takes: dict[Column, Takes] = field(default_factory=dict)

    @property
    def examined(self) -> bool:
        """Say whether a pod was tried there, or nothing is free."""
        return not self.state or self.state in self.states.filler.looked_at

    def found(self) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found, with its values."""
        return self.states.found(self.state)

    def least(self) -> dict[Counts, Values] | None:
        """Return all numbers that may be held, with values that no way undercuts; None when they are too many."""
        return self.states.least(self.state)

    def numbers(self) -> list[Counts] | None:
        """Return all numbers that may be held; None when they are too many."""
        return self.states.numbers(self.state)

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
        caps = ((tuple(int(at == pod) for at in range(len(self.caps))), cap) for pod, cap in enumerate(self.caps))
        return (*caps, *self.states.rows(self.state))

    def floors(self) -> tuple[Values | None, ...]:
        """Return, by workload, values each of which no way of a replica undercuts; None where none can stand."""
        states = self.states
        return tuple(
            tuple(states.alone(self.state, pod, goal) for goal in states.filler.order) if cap else None
            for pod, cap in enumerate(self.caps)
        )

    def is_open(self, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist that was not looked for yet."""
        return self.states.is_open(self.state, counts)

    def decide(self, counts: Counts, budget: Budget) -> None:
        """Look for a way for some numbers in every order of workloads."""
        self.states.decide(self.state, counts, budget)

    def widen(self, budget: Budget) -> None:
        """Look for ways for all numbers, in many orders of workloads, if that was not done yet."""
        self.states.widen(self.state, budget)

    def takes(self, counts: Counts) -> Takes:
        """Return the way that was found for some numbers, in groups of the layout, workload by workload."""
        filler = self.states.filler
        column = self.states.columns(self.state)[counts]
        if column not in self._takes:
            pods = [(pod, filler.ways[way][pod]) for way, pod in column.steps()]
            self._takes[column] = take_pods(filler.trees, self.node, pods, self.only)
        return self._takes[column]
