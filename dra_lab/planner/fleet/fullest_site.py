"""How many pods of one kind one site holds, decided with models of so many copies of a pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dra_lab.planner.budget import Budget
from dra_lab.planner.counters import Counter as CounterName
from dra_lab.planner.fleet.counting import Counts, Room, room_of
from dra_lab.planner.fleet.pack import Packed, Takes
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.room import MOST
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.fleet.tables import Table
from dra_lab.planner.problem import AllocationProblem

_MOST_COPIES = 64
_MOST_ROWS = 500_000
_ROUNDING = 1e-6


@dataclass
class Known:
    """What is known of one site: it holds `least` pods, and not more than `most`."""

    site: Site
    least: int
    most: int

    @property
    def gap(self) -> int:
        """Return how many pods on all members are not decided."""
        return (self.most - self.least) * self.site.count


def counted(fleet: Fleet, site: Site, most: int, budget: Budget) -> Known:
    """Return what counting says of a site; nothing where a limit is reached."""
    return Known(site, 0, most if budget.reached else min(most, room_of(site, fleet.demand).caps[0]))


def table_of(site: Site, demand: Sequence[int], solver: str) -> Table:
    """Return an empty table for a site, without the list of all numbers of pods that counting allows."""
    table = Table(site, room_of(site, demand), (), solver, None)
    table.learn(site.zero, Packed((), ()))
    return table


def counts_within(room: Room, caps: Counts, most: int) -> list[Counts] | None:
    """Return numbers of pods up to `caps` with all those that counting allows; None where they are more than `most`."""
    rows = [(np.array([float(w) for w in weights]), float(limit)) for weights, limit in room.rows]
    found = np.zeros((1, len(caps)), np.int64)
    for at, cap in enumerate(caps):
        if len(found) * (cap + 1) > _MOST_ROWS:
            return None
        found = np.repeat(found, cap + 1, axis=0)
        found[:, at] = np.tile(np.arange(cap + 1), len(found) // (cap + 1))
        for weights, limit in rows:
            found = found[found @ weights <= limit + _ROUNDING]
        if len(found) > most:
            return None
    return [tuple(row) for row in found.tolist()]


def decide(fleet: Fleet, known: Known, solver: str, budget: Budget) -> Takes:
    """Find out how many pods a site holds, from the most downwards; return what the pods take of it."""
    table = table_of(known.site, fleet.demand, solver)
    known.most = min(known.most, table.room.caps[0])
    if known.most > _MOST_COPIES:
        # A model of so many copies is too large: what one pod takes, as often as there is enough of it.
        found = table.decide((1,), budget, decide_only=True)
        if found.lower is None:
            known.most = 0
        elif found.upper is not None:
            known.least = max(known.least, min(known.most, _times(known.site.problem, found.takes)))
    if known.most > _MOST_COPIES:
        return _upwards(table, known, budget)
    for count in range(known.most, known.least, -1):
        found = table.decide((count,), budget, decide_only=True)
        if found.upper is not None:
            known.least = count
            return found.takes
        if found.lower is not None:
            break
        known.most = count - 1
    return ()


def _upwards(table: Table, known: Known, budget: Budget) -> Takes:
    """Try ever more pods, as many as one model takes, until some do not fit; then between the two."""
    takes: Takes = ()
    step, ended = 1, False
    while known.least < known.most and known.least + step <= _MOST_COPIES:
        count = min(known.most, known.least + step)
        found = table.decide((count,), budget, decide_only=True)
        if found.lower is None:
            known.most, ended = count - 1, True
        elif found.upper is None:
            break
        else:
            known.least, takes = count, found.takes
            if any(_times(known.site.problem, of_pod(takes, pod)) >= MOST for pod in range(count)):
                # One of them takes nothing away: so many more of its kind as anybody likes.
                known.least = known.most
        step = max(1, (known.most - known.least + 1) // 2) if ended else step * 2
    return takes


def of_pod(takes: Takes, pod: int) -> Takes:
    """Return what one of several pods takes."""
    return tuple(row for row in takes if row[0] == pod)


def _times(problem: AllocationProblem, takes: Takes) -> int:
    """Return how often a pod surely fits that takes the same as one that fits."""
    alone: Counter[int] = Counter()
    shares: dict[tuple[int, str], Fraction] = {}
    drawn: Counter[CounterName] = Counter()
    once: Counter[CounterName] = Counter()
    for _, ask, number, count in takes:
        group, admin = problem.groups[number], problem.asks[ask].admin_access
        if group.shareable:
            for key, amount in () if admin else dict(group.uses).get(ask, ()):
                shares[number, key] = shares.get((number, key), Fraction()) + amount * count
        elif not admin:
            alone[number] += count
        for counter, drawn_of_it in group.draws:
            # Shares pay with the first of them, and what an admin looks into is given back.
            (once if admin or group.shareable else drawn)[counter] += drawn_of_it * count
    often = [problem.groups[number].size // count for number, count in alone.items()]
    left = {(number, key): amount for number, group in enumerate(problem.groups) for key, amount in group.remaining}
    often += [int(left[key] // amount) for key, amount in shares.items() if amount > 0 and key in left]
    counters = dict(problem.counters)
    often += [(counters[key] - once[key]) // number for key, number in drawn.items() if number > 0]
    return max(1, min([MOST, *often]))
