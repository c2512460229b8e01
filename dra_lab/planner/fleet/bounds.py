"""From tables to the master and back: the best of what was found, and the best that could still exist."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.master import GoalBound, Master, Mastered, Rack
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.fleet.tables import AnyTable, Table
from dra_lab.planner.progress import Limits

_SHARE = 0.5
"""How much of the time that is left goes into a plan, before its bound."""


@dataclass
class Racked:
    """Racks with the tables that each stands for."""

    racks: list[Rack] = field(default_factory=list)
    tables: list[list[AnyTable]] = field(default_factory=list)


def found_racks(tables: Sequence[AnyTable]) -> Racked:
    """Return the patterns for which a way was found; sites with the same ones are one rack."""
    alike: dict[tuple[tuple[Counts, Values], ...], list[AnyTable]] = {}
    for table in tables:
        alike.setdefault(tuple(sorted(table.found().items())), []).append(table)
    return _racked(alike)


def least_racks(tables: Sequence[AnyTable]) -> Racked:
    """Return every pattern that may exist, with values that it cannot undercut.

    A site of which there are too many patterns to list stands as room for single replicas.
    """
    alike: dict[tuple[tuple[Counts, Values], ...], list[AnyTable]] = {}
    singles = Racked()
    for table in tables:
        least = table.least()
        if least is None:
            assert isinstance(table, Table)
            _add_singles(singles, table)
        else:
            alike.setdefault(tuple(sorted(least.items())), []).append(table)
    racked = _racked(alike)
    return Racked(racked.racks + singles.racks, racked.tables + singles.tables)


def _racked(alike: dict[tuple[tuple[Counts, Values], ...], list[AnyTable]]) -> Racked:
    racked = Racked()
    for key, tables in alike.items():
        racked.racks.append(Rack(sum(table.site.count for table in tables), dict(key)))
        racked.tables.append(tables)
    return racked


def _add_singles(racked: Racked, table: Table) -> None:
    for at, cap in enumerate(table.room.caps):
        one = tuple(int(position == at) for position in range(len(table.room.caps)))
        lower = table.lower(one) if cap else None
        if lower is not None:
            # Which node a replica stands on is not told there, so it uses none.
            racked.racks.append(Rack(table.site.count * cap, {one: lower}, {one: 0}))
            racked.tables.append([table])


@dataclass
class Answer:
    """The best plan known and what is proven of it; `goals` covers all of them, in order."""

    goals: tuple[GoalBound, ...] = ()
    chosen: list[dict[Counts, int]] | None = None
    racked: Racked = field(default_factory=Racked)
    infeasible: bool = False
    least: Mastered | None = None
    least_racked: Racked = field(default_factory=Racked)

    @property
    def proven(self) -> bool:
        """Say whether every goal is proven."""
        return bool(self.goals) and all(goal.proven for goal in self.goals)

    @property
    def values(self) -> tuple[int, ...]:
        """Return the values of the goals, most important first."""
        return tuple(goal.value for goal in self.goals)


def best_answer(
    tables: Sequence[AnyTable],
    demand: Sequence[int],
    order: Sequence[str],
    limits: Limits,
    solver: str,
    *,
    all_placed: bool = False,
    closed: bool = False,
) -> Answer:
    """Solve the master over what was found; where not all is known (`closed`), hold it against what may exist."""
    racked = found_racks(tables)
    master = Master(racked.racks, demand, order, solver)
    found = master.run(limits if closed else _part_of(limits), all_placed=all_placed, tell=True)
    goals = found.goals
    if len(goals) < len(order) and found.chosen is not None:
        goals = [*goals, *(GoalBound(g, master.value(g, found.chosen), None) for g in order[len(goals) :])]
    answer = Answer(tuple(goals), found.chosen, racked, found.infeasible and closed)
    if closed:
        return answer
    return _held_against(answer, tables, demand, limits, solver, tuple(order), all_placed=all_placed)


def _part_of(limits: Limits) -> Limits:
    """Return limits that leave time for the bound."""
    if limits.left is None:
        return limits
    return replace(limits, deadline=time.monotonic() + _SHARE * limits.left)


def _held_against(
    answer: Answer,
    tables: Sequence[AnyTable],
    demand: Sequence[int],
    limits: Limits,
    solver: str,
    order: tuple[str, ...],
    *,
    all_placed: bool,
) -> Answer:
    """Replace the bounds by those of what may exist, goal by goal, as long as the goals before are proven."""
    racked = least_racks(tables)
    master = Master(racked.racks, demand, order, solver)
    values = answer.values
    least = master.run(limits, whole=False, all_placed=all_placed, stop_at=values)
    answer.least, answer.least_racked = least, racked
    answer.infeasible = least.infeasible
    goals, sure = [], True
    for at, goal in enumerate(answer.goals):
        bound = None
        if sure:
            # A goal that counts things is never below 0, and what is not there costs nothing.
            bound = (least.goals[at].bound if at < len(least.goals) else None) or 0
            bound = min(bound, goal.value)
        goals.append(GoalBound(goal.goal, goal.value, bound))
        sure = sure and goals[-1].proven
    answer.goals = tuple(goals)
    return answer
