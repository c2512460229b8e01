"""Every way to give one pod its devices on one kind of hardware, as rows of numbers with their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dra_lab.model.sketch import MAX_DEVICES, How
from dra_lab.planner.problem import NUMA_KINDS, ROOT_KINDS, AllocationProblem, partner_links
from dra_lab.planner.states.copies import Part

MOST_ROWS = 60_000
"""Ways of one pod on one kind of hardware that are listed at most."""

Array = Any
"""A numpy array."""


@dataclass(frozen=True)
class Columns:
    """All ways of one pod, best values first.

    `pairs` are the (ask, group) that the columns of `takes` count; `values` holds the goals of devices in their order.
    """

    pairs: tuple[tuple[int, int], ...]
    takes: Array
    values: Array


def columns_of(problem: AllocationProblem, part: Part, order: Sequence[str]) -> Columns | None:
    """Return every allocation of one pod that keeps the must-links, None where there are too many to list.

    What others leave, of counters too, is not looked at. Known are problems as in `is_listable`.
    """
    pairs = tuple(
        (ask, number)
        for ask in range(*part.asks)
        if ask not in problem.impossible
        for number, group in enumerate(problem.groups)
        if ask in group.asks
    )
    takes = _every_take(problem, part, pairs)
    if takes is None:
        return None
    judge = _Judge(problem, part, pairs, takes)
    kept = judge.kept()
    judge = _Judge(problem, part, pairs, takes[kept])
    goals = judge.goals() if order else {}
    values = np.stack([goals[goal] for goal in order], axis=1) if order else np.zeros((len(judge.takes), 0), int)
    rank = np.lexsort([*reversed(judge.takes.T), *reversed(values.T)]) if len(values) else np.zeros(0, int)
    return Columns(pairs, judge.takes[rank], values[rank])


def _every_take(problem: AllocationProblem, part: Part, pairs: Sequence[tuple[int, int]]) -> Array | None:
    whole = np.zeros((1, len(pairs)), np.int8)
    for indices in problem.requests[slice(*part.requests)]:
        if not len(whole):
            # A request before cannot be served. Beside no way at all, any number of ways would pass the count below.
            break
        # Counted first: to write down what is thrown away takes seconds.
        # Of the first request none are thrown away below.
        most = MOST_ROWS if len(whole) == 1 else MOST_ROWS * 20
        if sum(_number(problem, ask, pairs) for ask in indices) * len(whole) > most:
            return None
        options = np.concatenate([_options(problem, ask, pairs) for ask in indices] or [whole[:0]])
        whole = (whole[:, None, :] + options[None, :, :]).reshape(len(whole) * len(options), len(pairs))
        for number, group in enumerate(problem.groups):
            mine = [at for at, pair in enumerate(pairs) if pair[1] == number]
            if not group.shareable and len(mine) > 1:
                whole = whole[whole[:, mine].sum(axis=1) <= group.size]
        if len(whole) > MOST_ROWS:
            return None
    starts = sorted({problem.claim_of(ask) for ask in range(*part.asks)})
    for claim in starts:
        mine = [at for at, (ask, _) in enumerate(pairs) if problem.claim_of(ask) == claim]
        whole = whole[whole[:, mine].sum(axis=1) <= MAX_DEVICES]
    return whole


def _number(problem: AllocationProblem, ask: int, pairs: Sequence[tuple[int, int]]) -> int:
    """Return the number of ways in which one ask takes its devices."""
    if problem.need(ask) > MAX_DEVICES:
        return 0
    ways = [1] + [0] * problem.need(ask)
    for size in (problem.groups[group].size for other, group in pairs if other == ask):
        ways = [sum(ways[max(0, count - size) : count + 1]) for count in range(len(ways))]
    return ways[-1]


def _options(problem: AllocationProblem, ask: int, pairs: Sequence[tuple[int, int]]) -> Array:
    """Return every way in which one ask takes its devices, a row a way."""
    mine = [(at, problem.groups[group].size) for at, (other, group) in enumerate(pairs) if other == ask]
    rows = np.zeros((1, len(pairs)), np.int8)
    if not mine or problem.need(ask) > MAX_DEVICES:
        return rows[:0]
    left, behind = np.full(1, problem.need(ask)), sum(size for _, size in mine)
    for at, size in mine:
        # Of this group as many as are not too many, and no fewer than the groups behind it leave open.
        behind -= size
        most, least = np.minimum(left, size), np.maximum(left - behind, 0)
        ways = np.maximum(most - least + 1, 0)
        parent = np.repeat(np.arange(len(rows)), ways)
        taken = most[parent] - (np.arange(len(parent)) - np.repeat(np.cumsum(ways) - ways, ways))
        rows, left = rows[parent], left[parent] - taken
        rows[:, at] = taken
    return rows[left == 0]


class _Judge:
    """Links and goals of many ways at once."""

    def __init__(self, problem: AllocationProblem, part: Part, pairs: Sequence[tuple[int, int]], takes: Array) -> None:
        self.problem, self.part, self.pairs = problem, part, pairs
        self.takes = takes
        self.wide = takes.astype(np.int16)

    def _sum(self, where: Sequence[int]) -> Array:
        return self.wide[:, list(where)].sum(axis=1, dtype=np.int64)

    def _links(self, *, must: bool) -> Iterator[int]:
        return (link for link in range(*self.part.links) if self.problem.links[link].must == must)

    def kept(self) -> Array:
        """Say of each way whether it keeps every must-link."""
        fine = np.ones(len(self.takes), bool)
        for link in self._links(must=True):
            fine &= self.lost(link) == 0
        return fine

    def lost(self, link: int) -> Array:
        """Return what each way loses of a link."""
        how = self.problem.links[link].how
        if how is How.PAIRWISE:
            return self._pairs_lost(link)
        ends = set(self.problem.ends(link))
        tied = [at for at, (ask, _) in enumerate(self.pairs) if ask in ends]
        values = {at: self.problem.groups[self.pairs[at][1]].places[link] for at in tied}
        known = {value for found in values.values() for value in found}
        total = self._sum(tied)
        here = {value: self._sum([at for at in tied if value in values[at]]) for value in known}
        if how is How.TOGETHER:
            same = total == 0
            for count in here.values():
                same |= count == total
            return (~same).astype(np.int64)
        broken = self._sum([at for at in tied if not values[at]]) > 0
        for count in here.values():
            broken |= count > 1
        return broken.astype(np.int64)

    def _pairs_lost(self, link: int) -> Array:
        links = (link, *partner_links(self.problem, link))
        parts = self.problem.covered(link)
        tied = [[at for at, (ask, _) in enumerate(self.pairs) if ask in part] for part in parts]
        counts = np.stack([self._sum(part) for part in tied], axis=1)
        active = counts > 0
        large = np.where(active, counts, 10**6)
        groups = large.min(axis=1)
        shares = np.where(active, counts // np.maximum(groups, 1)[:, None], 0)
        uneven = (active & (counts % np.maximum(groups, 1)[:, None] != 0)).any(axis=1)
        places: dict[tuple[object, ...], list[list[int]]] = {}
        for number, part in enumerate(tied):
            for at in part:
                found = self.problem.groups[self.pairs[at][1]].places
                values = tuple(value for one in links for value in found[one])
                if len(values) == len(links):
                    places.setdefault(values, [[] for _ in tied])[number].append(at)
        kept = np.zeros(len(self.takes), np.int64)
        for mine in places.values():
            at_place = np.stack([self._sum(part) for part in mine], axis=1)
            kept += np.where(active, at_place // np.maximum(shares, 1), 10**6).min(axis=1)
        lost = np.where(uneven, groups, groups - kept)
        return np.where(active.sum(axis=1) < 2, 0, lost)

    def goals(self) -> dict[str, Array]:
        """Return the values of the goals of devices."""
        ranks = np.zeros(len(self.takes), np.int64)
        for ask in {ask for ask, _ in self.pairs}:
            mine = [at for at, pair in enumerate(self.pairs) if pair[0] == ask]
            ranks += self.problem.asks[ask].rank * (self._sum(mine) > 0)
        preferences = np.zeros(len(self.takes), np.int64)
        for link in self._links(must=False):
            preferences += self.lost(link)
        return {
            "alternatives": ranks,
            "preferences": preferences,
            "numa": self._spanned(NUMA_KINDS, "numa"),
            "unpaired": self._unpaired(),
            "roots": self._spanned(ROOT_KINDS, "root"),
        }

    def _taken(self, numbers: Sequence[int]) -> Array:
        """Return how many different devices are taken of some groups."""
        found = np.zeros(len(self.takes), np.int64)
        for number in numbers:
            count = self._sum([at for at, pair in enumerate(self.pairs) if pair[1] == number])
            found += np.minimum(count, 1) if self.problem.groups[number].shareable else count
        return found

    def _spanned(self, kinds: Sequence[str], level: str) -> Array:
        places: dict[object, list[int]] = {}
        for number, group in enumerate(self.problem.groups):
            if group.kind in kinds:
                places.setdefault(getattr(group, level), []).append(number)
        found = self._taken(places.pop(None, []))
        for numbers in places.values():
            found = found + (self._taken(numbers) > 0)
        return found

    def _unpaired(self) -> Array:
        found = np.zeros(len(self.takes), np.int64)
        if not self.part.paired:
            return found
        roots = dict.fromkeys(group.root for group in self.problem.groups if group.kind == "gpu")
        for root in roots:
            at = [(n, g.kind) for n, g in enumerate(self.problem.groups) if g.root == root]
            gpus = self._taken([number for number, kind in at if kind == "gpu"])
            nics = self._taken([number for number, kind in at if kind == "nic"]) if root is not None else 0
            found += np.maximum(0, gpus - nics)
        return found


def joined(used: Array) -> list[Array]:
    """Return the sets of columns that rows join, the columns that no row uses left out."""
    # Floats are multiplied fast; of rows there are not so many that a sum of ones could not be told from none.
    some = used.astype(np.float32)
    together = some.T @ some > 0
    left = set(np.flatnonzero(together.any(axis=1)).tolist())
    found = []
    while left:
        mine, border = set(), {min(left)}
        while border:
            mine |= border
            border = {at for one in border for at in np.flatnonzero(together[one]).tolist()} - mine
        found.append(np.array(sorted(mine)))
        left -= mine
    return found
