"""What counting alone says of a site: rows that the numbers of replicas keep, whatever devices they take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor, lcm
from operator import le, mul

from msgspec.structs import replace

from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import CopyPart, replicated
from dra_lab.planner.replicas import most_replicas

Counts = tuple[int, ...]
"""Numbers of replicas, part by part."""


@dataclass(frozen=True)
class PodLimits:
    """Bounds on the replicas that a site can hold.

    `caps` is the most of each workload alone; every row (weights, limit) says that a weighted sum stays within a limit.
    """

    caps: Counts
    rows: tuple[CountRow, ...]

    def may_hold(self, counts: Sequence[int]) -> bool:
        """Say whether counting does not rule the numbers out."""
        return all(map(le, counts, self.caps)) and all(
            sum(map(mul, weights, counts)) <= limit for weights, limit in self.whole
        )

    @cached_property
    def whole(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """Return the rows in whole numbers, which are added ten times as fast."""
        found = []
        for weights, limit in self.rows:
            unit = lcm(*(weight.denominator for weight in weights))
            found.append((tuple(int(weight * unit) for weight in weights), floor(limit * unit)))
        return tuple(dict.fromkeys(found))

    def vectors(self, most: int) -> list[Counts] | None:
        """Return all numbers that may be held, each after those that it contains; None when more than `most`."""
        found: list[Counts] = [()]
        for at, cap in enumerate(self.caps):
            tail = (0,) * (len(self.caps) - at - 1)
            longer: list[Counts] = []
            for head in found:
                for count in range(cap + 1):
                    if not self.may_hold((*head, count, *tail)):
                        break
                    longer.append((*head, count))
                    if len(longer) > most:
                        return None
            found = longer
        return sorted(found, key=lambda counts: (sum(counts), counts))


CountRow = tuple[tuple[Fraction, ...], Fraction]
"""One count that pods share: each replica of a part takes at least its weight (by part) of a limit."""


def rows_of(site: Site) -> tuple[CountRow, ...]:
    """Return the counts that pods on a site share, part by part: devices, and capacity of shared devices."""
    return tuple(dict.fromkeys((*_device_rows(site), *_capacity_rows(site))))


def pod_limits(site: Site, demand: Sequence[int]) -> PodLimits:
    """Return what counting says of a site; `demand` is the number of replicas wanted of each workload.

    On several nodes, a pod counts where it takes least.
    """
    rows, pods = rows_of(site), range(len(demand))
    parts = [[at for at, part in enumerate(site.parts) if part.pod == pod] for pod in pods]
    each = part_caps(site, demand)
    least = {(tuple(min((row[at] for at in parts[pod]), default=Fraction()) for pod in pods), n) for row, n in rows}
    caps = [
        min(
            [demand[pod], sum(each[at] for at in parts[pod]), *(int(n // row[pod]) for row, n in least if row[pod] > 0)]
        )
        for pod in pods
    ]
    return PodLimits(tuple(caps), tuple(row for row in least if any(row[0])))


def part_caps(site: Site, demand: Sequence[int]) -> Counts:
    """Return the most pods of each part of a site alone."""
    rows, caps = rows_of(site), []
    for at, part in enumerate(site.parts):
        cap = demand[part.pod]
        for weights, limit in rows:
            if weights[at] > 0:
                cap = min(cap, int(limit // weights[at]))
        # A pod with admin access takes nothing.
        if cap > 0 and not any(ask.admin_access for ask in site.problem.asks[slice(*part.asks)]):
            one = replicated(site.problem, site.parts, [int(n == at) for n in range(len(site.parts))]).problem
            cap = min(cap, most_replicas(replace(one, groups=tuple(group for group in one.groups if group.asks))))
        caps.append(max(cap, 0))
    return tuple(caps)


def most_together(rows: Iterable[tuple[Sequence[Fraction | int], Fraction | int]], caps: Sequence[int]) -> int:
    """Return how many pods of all workloads rows and the most of each workload allow."""
    found = sum(caps)
    for weights, limit in rows:
        held, left = Fraction(), Fraction(limit)
        # The pods that take least come first.
        for need, pod in sorted((Fraction(weight), pod) for pod, weight in enumerate(weights)):
            times = min(Fraction(caps[pod]), left / need) if need else Fraction(caps[pod])
            held, left = held + times, left - times * need
        found = min(found, floor(held))
    return found


def _unions(site: Site) -> list[list[tuple[frozenset[int], int]]]:
    """Return, part by part and request by request, the groups that may serve it and the devices that it takes."""
    problem = site.problem
    groups_of: dict[int, set[int]] = {}
    for number, group in enumerate(problem.groups):
        for ask in group.asks:
            groups_of.setdefault(ask, set()).add(number)
    found = []
    for part in site.parts:
        mine = []
        for indices in problem.requests[slice(*part.requests)]:
            able = [ask for ask in indices if ask not in problem.impossible]
            groups = frozenset[int]().union(*(groups_of.get(ask, ()) for ask in able))
            admin = any(problem.asks[ask].admin_access for ask in able)
            mine.append((groups, 0 if admin else min((problem.need(ask) for ask in able), default=1)))
        found.append(mine)
    return found


def _device_rows(site: Site) -> Iterator[CountRow]:
    """Devices that are taken alone: requests that are served from some groups only share what these hold."""
    problem, unions = site.problem, _unions(site)
    sets = {groups for mine in unions for groups, _ in mine}
    sets.add(frozenset().union(*sets) if sets else frozenset())
    for groups in sets:
        if any(problem.groups[n].shareable for n in groups):
            continue
        weights = tuple(Fraction(sum(need for own, need in mine if own <= groups)) for mine in unions)
        if any(weights):
            yield weights, Fraction(sum(problem.groups[n].size for n in groups))


def _capacity_rows(site: Site) -> Iterator[CountRow]:
    """Shares: what the requests take at least of a capacity is left of the devices that may serve them."""
    problem = site.problem
    shared = frozenset(n for n, group in enumerate(problem.groups) if group.shareable)
    keys = {key for n in shared for key, _ in problem.groups[n].remaining}
    for key in sorted(keys):
        weights = tuple(_least_use(problem, part, shared, key) for part in site.parts)
        if any(weights):
            left = (dict(problem.groups[n].remaining).get(key, Fraction()) for n in shared)
            yield weights, sum(left, Fraction())


def _least_use(problem: AllocationProblem, part: CopyPart, shared: frozenset[int], key: str) -> Fraction:
    total = Fraction()
    for indices in problem.requests[slice(*part.requests)]:
        uses = [Fraction() for ask in indices if problem.asks[ask].admin_access]
        for ask in (index for index in indices if index not in problem.impossible):
            mine = [n for n, group in enumerate(problem.groups) if ask in group.asks]
            amounts = [dict(dict(problem.groups[n].uses)[ask]).get(key, Fraction()) for n in mine if n in shared]
            alone = len(amounts) < len(mine) or not amounts
            uses.append(Fraction() if alone else problem.need(ask) * min(amounts))
        total += min(uses, default=Fraction())
    return total
