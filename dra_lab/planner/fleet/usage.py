"""The most of one kind of device that pods side by side use on a site: at least, at most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dra_lab.planner.budget import Budget
from dra_lab.planner.constraints import build_model
from dra_lab.planner.engine import minimise
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.fullest_site import counts_within
from dra_lab.planner.fleet.tables import MOST_VECTORS, Table
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.recount import overbooked
from dra_lab.planner.states.copies import Part, replicated
from dra_lab.planner.states.node_state import common_unit
from dra_lab.planner.variables import Model, total

NAMED = ("gpu", "nic", "cpu")
"""The kinds that are told by their name; all others are one, "other"."""

_UNBOUNDED = 10**9
_MOST_PODS = 64


def kind_of(problem: AllocationProblem, number: int) -> str:
    """Return the kind of a group's devices, as it is told."""
    kind = problem.groups[number].kind
    return kind if kind in NAMED else "other"


def amount_of(problem: AllocationProblem, ask: int, number: int, kind: str) -> Fraction:
    """Return what one device of a group counts of a kind when an ask takes it: CPUs in CPUs, others as one."""
    if kind_of(problem, number) != kind or problem.asks[ask].admin_access:
        return Fraction()
    key = cpu_key(problem, number)
    return dict(dict(problem.groups[number].uses)[ask]).get(key, Fraction()) if key else Fraction(1)


def cpu_key(problem: AllocationProblem, number: int) -> str:
    """Return the capacity that a shared CPU device is counted by, "" for a device that counts as one.

    It is the first by name of those that some claim asks for.
    """
    group = problem.groups[number]
    if not group.shareable or group.kind != "cpu":
        return ""
    asked = {key for ask in problem.asks for key in ask.capacity}
    return min((key for _, uses in group.uses for key, _ in uses if key in asked), default="")


def is_additive(problem: AllocationProblem, kind: str) -> bool:
    """Say whether pods use of a kind what each uses by itself: no shared device counts once for several of them."""
    return not any(
        group.shareable and kind_of(problem, number) == kind and not cpu_key(problem, number)
        for number, group in enumerate(problem.groups)
    )


@dataclass(frozen=True)
class Asked:
    """One question: the most of a kind on the site of a table, of which so much is `free`.

    No more than `most_pods` pods are modelled at once, and no more than `most_tries` numbers of them are tried.
    """

    table: Table
    kind: str
    free: int
    budget: Budget
    most_tries: int = MOST_VECTORS
    most_pods: int = _MOST_PODS

    def most_used(self) -> tuple[int, int]:
        """Return what pods surely use of the kind, and what they cannot exceed.

        Numbers of pods are tried while they are few enough to be listed, those that may use most first. Where they are
        more, pods are added one kind after the other as long as they fit, and counting bounds what they use.
        """
        ranges = [self._of_one(part) for part in self.table.site.parts]
        most = min(self.free, self._by_rows(ranges))
        if not most:
            return 0, 0
        vectors = self._vectors(ranges)
        if vectors is None:
            return self._one_by_one(ranges, most)
        sums = {
            counts: tuple(sum(n * use[at] for n, use in zip(counts, ranges, strict=True)) for at in (0, 1))
            for counts in vectors
        }
        least = open_at = tried = 0
        for at, one in enumerate(_ones(len(ranges))):
            # What does not fit once need not be tried in every number.
            if ranges[at][1] and not self.budget.reached:
                self.table.decide(one, self.budget, decide_only=True)
        for counts in sorted(vectors, key=lambda counts: (-sums[counts][1], counts)):
            if min(most, sums[counts][1]) <= least:
                break
            if self.table.is_barred(counts):
                continue
            if sum(counts) > self.most_pods or tried == self.most_tries:
                open_at = max(open_at, sums[counts][1])
                continue
            tried += 1
            found = self.table.decide(counts, self.budget, decide_only=True)
            if found.lower is None:
                continue
            used = self._used(counts) if found.upper is not None else 0
            if used < min(most, sums[counts][1]):
                # Another way for the same pods may use more than the one that was found.
                more, bound = self._most_for(counts)
                used, open_at = max(used, more), max(open_at, min(bound, sums[counts][1]))
            least = max(least, used)
        return min(least, most), max(min(least, most), min(most, open_at))

    def _vectors(self, ranges: Sequence[tuple[int, int]]) -> list[Counts] | None:
        """Return the numbers of pods to be tried: of those that use nothing, none."""
        # Pods that add to what is used are no more than there is of it.
        room = self.table.room
        caps = tuple(min(cap, self.free) if use[1] else 0 for cap, use in zip(room.caps, ranges, strict=True))
        return counts_within(room, caps, MOST_VECTORS)

    def _by_rows(self, ranges: Sequence[tuple[int, int]]) -> int:
        """Return what is used at most, by each count that every pod which uses the kind has a part in."""
        using = [at for at, (_, most) in enumerate(ranges) if most]
        bounds = [sum(self.table.room.caps[at] * ranges[at][1] for at in using)]
        for weights, limit in self.table.room.rows:
            if using and all(weights[at] > 0 for at in using):
                bounds.append(int(max(ranges[at][1] / weights[at] for at in using) * limit))
        return min(bounds)

    def _one_by_one(self, ranges: Sequence[tuple[int, int]], most: int) -> tuple[int, int]:
        counts = list(self.table.site.zero)
        least = 0
        for at in sorted(range(len(counts)), key=lambda at: (-ranges[at][1], at)):
            step = 1 if ranges[at][1] else 0
            while step and least < most and sum(counts) + step <= self.most_pods and not self.budget.reached:
                counts[at] += step
                found = self.table.decide(tuple(counts), self.budget, decide_only=True)
                if found.upper is not None:
                    least, step = max(least, self._used(tuple(counts))), step * 2
                else:
                    counts[at], step = counts[at] - step, step // 2
        return min(least, most), most

    def _most_for(self, counts: Counts) -> tuple[int, int]:
        """Return the most that so many pods use, whichever devices they take: at least, at most."""
        whole = self.table.site.problem
        copies = replicated(whole, self.table.site.parts, counts)
        problem, model = copies.problem, build_model(Model(copies.problem))
        # What counts is told by the claims of all pods, also of those that do not stand here.
        drawn = {
            copy.first + offset: ask
            for copy in copies.copies
            for offset, ask in enumerate(range(*copies.parts[copy.part].asks))
        }
        amounts = {
            (ask, number): amount
            for ask, number in model.take
            if (amount := amount_of(whole, drawn[ask], copies.origin[number], self.kind))
        }
        unit = common_unit(amounts.values()) or Fraction(1)
        terms = []
        for number, group in enumerate(problem.groups):
            mine = {ask: model.take[ask, number] for ask in group.asks if (ask, number) in amounts}
            if mine and group.shareable and not cpu_key(whole, copies.origin[number]):
                seen = model.integer("used", str(number), 1)
                model.require(seen <= total(mine.values()), "used", str(number))
                terms.append(int(1 / unit) * seen)
            else:
                terms += [int(amounts[ask, number] / unit) * variable for ask, variable in mine.items()]
        found = minimise(model.lp, -total(terms) if terms else 0, self.table.solver, self.budget)
        if found.infeasible:
            return 0, 0
        least = 0 if found.value is None or overbooked(model) else -found.value
        most = _UNBOUNDED if found.bound is None else int(-found.bound * unit)
        return int(least * unit), most

    def _of_one(self, part: Part) -> tuple[int, int]:
        """Return what a pod uses of the kind, at least and at most."""
        problem = self.table.site.problem
        least = most = Fraction()
        for indices in problem.requests[slice(*part.requests)]:
            amounts = [
                problem.need(ask) * amount_of(problem, ask, number, self.kind)
                for ask in indices
                if ask not in problem.impossible and not problem.asks[ask].admin_access
                for number, group in enumerate(problem.groups)
                if ask in group.asks
            ]
            least += min(amounts, default=Fraction())
            most += max(amounts, default=Fraction())
        return int(least), -int(-most // 1)

    def _used(self, counts: Counts) -> int:
        """Return what the way that was found for some numbers of pods uses."""
        if not any(counts):
            return 0
        problem = self.table.site.problem
        used, seen = Fraction(), set[int]()
        for _, ask, number, count in self.table.takes(counts):
            amount = amount_of(problem, ask, number, self.kind)
            group = problem.groups[number]
            if group.shareable and number in seen and not cpu_key(problem, number):
                continue
            if amount:
                seen.add(number)
            used += amount * count
        return int(used)


def _ones(length: int) -> Iterator[Counts]:
    for at in range(length):
        yield tuple(int(position == at) for position in range(length))
