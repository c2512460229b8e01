"""Fill the tables of all sites as far as it takes to prove the best plan, or as far as time allows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from dra_lab.planner.fleet.bounds import Answer, best_answer
from dra_lab.planner.fleet.pack import device_goals
from dra_lab.planner.fleet.plan_fleet import Work
from dra_lab.planner.fleet.sites import Site, sites_of
from dra_lab.planner.fleet.tables import AnyTable, Table, tables_of
from dra_lab.planner.fleet.wide import WideTable, wide_layout

FEW = 60
"""Node states up to here are looked at one by one, every number of replicas exactly; more are walked over at once."""

_TELL_EVERY = 10


def search(work: Work) -> tuple[Answer, int]:
    """Return the best answer, and the number of distinct node states."""
    sites = sites_of(work.fleet)
    tables: list[AnyTable] = []
    narrow: list[Site] = []
    for group in _by_layout(sites):
        wide = _wide(work, group) if len(sites) > FEW else None
        if wide is None:
            narrow.extend(group)
        else:
            tables.extend(wide)
    exact = tables_of(narrow, work.fleet.demand, device_goals(work.order), work.solver)
    _fill(work, exact)
    work.clock.lap("patterns")
    closed = not tables and work.fleet.scan.complete and all(table.closed for table in exact)
    answer = best_answer(
        [*tables, *exact],
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


def _by_layout(sites: Sequence[Site]) -> list[list[Site]]:
    """Return the sites with the same hardware together; those of which no state is known each alone."""
    groups: dict[int, list[Site]] = {}
    for number, site in enumerate(sites):
        layout = site.state.layout if site.state is not None else -1 - number
        groups.setdefault(layout, []).append(site)
    return list(groups.values())


def _wide(work: Work, sites: Sequence[Site]) -> list[AnyTable] | None:
    """Return tables for the states of one layout, filled at once; None where that cannot be done."""
    state = sites[0].state
    if state is None or work.limits.reached:
        return None
    layout = work.fleet.scan.layouts[state.layout]
    wide = wide_layout(layout, sites, work.fleet.demand, device_goals(work.order))
    if wide is None:
        return None
    wide.fill(work.limits)
    work.limits.tell("patterns", f"looked at {len(sites)} states of one kind of hardware")
    return [WideTable(site, wide, number) for number, site in enumerate(sites)]


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
