"""Fill the tables of all sites as far as it takes to prove the best plan, or as far as time allows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from dra_lab.planner.fleet.bounds import Answer, best_answer
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.plan_fleet import Work
from dra_lab.planner.fleet.sites import sites_of
from dra_lab.planner.fleet.tables import Table, tables_of

SMALL = 1_500
"""Patterns up to here are all looked at exactly before anything is chosen."""

_TELL_EVERY = 10


def search(work: Work) -> tuple[Answer, int]:
    """Return the best answer, and the number of distinct node states."""
    sites = sites_of(work.fleet)
    tables = tables_of(sites, work.fleet.demand, device_goals(work.order), work.solver)
    _fill(work, tables)
    work.clock.lap("patterns")
    closed = work.fleet.scan.complete and all(table.closed for table in tables)
    answer = best_answer(
        tables,
        work.fleet.demand,
        work.order,
        work.limits,
        work.solver,
        all_placed=work.all_placed,
        closed=closed,
    )
    work.clock.lap("master")
    if not work.fleet.scan.complete:
        answer = _unproven(answer)
    return answer, len(sites)


def _unproven(answer: Answer) -> Answer:
    """Return an answer without any proof: not all nodes were looked at."""
    answer.goals = tuple(replace(goal, bound=None) for goal in answer.goals)
    answer.infeasible = False
    return answer


def _fill(work: Work, tables: Sequence[Table]) -> None:
    """Look at every pattern of every site."""
    told = time.monotonic()
    for number, table in enumerate(tables):
        for counts in table.vectors or ():
            if work.limits.reached:
                return
            if not table.is_barred(counts):
                table.decide(counts, work.limits)
        if number % _TELL_EVERY == 0 or time.monotonic() - told > 1:
            told = time.monotonic()
            work.limits.tell("patterns", f"looked at {number + 1} of {len(tables)} kinds of node states")
