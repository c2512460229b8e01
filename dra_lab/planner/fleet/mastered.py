"""The answer of the master, and the questions that a search for a good first solution asks it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.homes import Chosen, CouplingRow, Homes, Rack
from dra_lab.planner.fleet.relaxation import LinearRelaxation


@dataclass(frozen=True, slots=True)
class GoalBound:
    """One goal: the value of the best solution found, and the least that could still exist (None: not known)."""

    goal: str
    value: int
    bound: int | None

    @property
    def proven(self) -> bool:
        """Say whether no better value exists."""
        return self.bound is not None and self.bound >= self.value


@dataclass
class Mastered:
    """The answer of the master: the goals in order as far as they were decided, and how often each pattern is taken.

    `goals` ends with the first goal that is not proven, unless the caller asked for all; `chosen` is None where no
    solution was found; `infeasible` says that there is none.
    """

    goals: list[GoalBound] = field(default_factory=list)
    chosen: Chosen | None = None
    infeasible: bool = False


class StagedModel(Protocol):
    """A master: racks, the replicas wanted, and goals in order, each with its value in a solution and its bound."""

    racks: Sequence[Rack]
    demand: Sequence[int]
    order: tuple[str, ...]
    homes: tuple[Homes, ...]
    together: tuple[CouplingRow, ...]

    def value(self, goal: str, chosen: Chosen) -> int:
        """Return the value of a goal in a solution."""

    def values(self, chosen: Chosen) -> tuple[int, ...]:
        """Return the values of all goals in a solution, most important first."""

    def relaxed_bound(
        self, goal: str, kept: Sequence[tuple[str, int]], budget: Budget
    ) -> tuple[int, LinearRelaxation | None]:
        """Return the relaxation's bound of a goal while others are kept at values, and the relaxation solved for it."""

    def apart(self, racks: Sequence[Rack], demand: Sequence[int], together: Sequence[CouplingRow]) -> StagedModel:
        """Return the same question for other racks, of which it does not matter on which nodes the members are."""

    def filled(self, budget: Budget) -> Chosen:
        """Return what the integer model finds goal by goal, without any bound."""

    def run(self, budget: Budget) -> Mastered:
        """Minimise goal after goal, each kept at its value before the next."""
