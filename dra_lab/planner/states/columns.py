"""Every way to give one pod its devices on one kind of hardware, as rows of numbers with their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from msgspec.structs import replace

from dra_lab.model.sketch import MAX_DEVICES
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.node.device_counts import NumberCounts
from dra_lab.planner.node.goal_table import goal_arrays
from dra_lab.planner.node.link_rows import lost
from dra_lab.planner.node.merged_requests import MergedRequests, merge_requests

Array = Any
"""A numpy array."""

PodTakes = tuple[tuple[int, int, int], ...]
"""(ask, position of the group, number of devices) of all that one pod takes."""


@dataclass(frozen=True)
class Columns:
    """All ways of one pod, best values first.

    `pairs` are the (ask, group) that the columns of `takes` count; `values` holds the goals of devices in their order.
    """

    pairs: tuple[tuple[int, int], ...]
    takes: Array
    values: Array

    def way(self, number: int) -> PodTakes:
        """Return what the pod takes in one way; thousands of pods have the same object."""
        found = self._ways.get(number)
        if found is None:
            counts = zip(self.pairs, self.takes[number].tolist(), strict=True)
            found = self._ways[number] = tuple([(ask, group, count) for (ask, group), count in counts if count])
        return found

    @cached_property
    def _ways(self) -> dict[int, PodTakes]:
        return {}


def columns_of(
    problem: AllocationProblem, part: CopyPart, order: Sequence[str], most: int, budget: Budget | None = None
) -> Columns | None:
    """Return every allocation of one pod that keeps the must-links, None where more than `most` are to be listed.

    It does not look at what others leave, of counters too. Known are problems as in `is_listable`. Requests that mean
    the same can change places: one allocation stands for all that differ only in this. If a budget is given and is
    reached meanwhile, the result is None too.
    """
    merged = merge_requests(problem, range(*part.requests))
    if merged is None:
        return _columns(problem, part, order, most, budget)
    found = _columns(merged.problem, merged.part(part), order, most, budget)
    return None if found is None else _as_written(merged, part, found)


def number_of_ways(problem: AllocationProblem, part: CopyPart) -> int:
    """Return how many allocations of one pod `columns_of` looks at before links: no more than these are listed."""
    merged = merge_requests(problem, range(*part.requests))
    if merged is not None:
        problem, part = merged.problem, merged.part(part)
    pairs = _pairs(problem, part)
    requests = problem.requests[slice(*part.requests)]
    return prod(sum(_number(problem, ask, pairs) for ask in indices) for indices in requests)


def _as_written(merged: MergedRequests, part: CopyPart, found: Columns) -> Columns:
    """Return the columns of merged requests with what each request takes as it was written."""
    pairs = _pairs(merged.written, part)
    position = {pair: at for at, pair in enumerate(pairs)}
    takes = np.zeros((len(found.takes), len(pairs)), np.int8)
    for row, merged_takes in enumerate(found.takes.tolist()):
        for pair, count in merged.hand_back(dict(zip(found.pairs, merged_takes, strict=True))).items():
            takes[row, position[pair]] = count
    return Columns(pairs, takes, found.values)


def _pairs(problem: AllocationProblem, part: CopyPart) -> tuple[tuple[int, int], ...]:
    return tuple(
        (ask, number)
        for ask in range(*part.asks)
        if ask not in problem.impossible
        for number, group in enumerate(problem.groups)
        if ask in group.asks
    )


def _columns(
    problem: AllocationProblem, part: CopyPart, order: Sequence[str], most: int, budget: Budget | None
) -> Columns | None:
    pairs = _pairs(problem, part)
    takes = _every_take(problem, part, pairs, most)
    if takes is None or (budget is not None and budget.reached):
        return None
    takes = takes[_kept(problem, part, pairs, takes)]
    alone = replace(problem, paired=part.paired)
    values = goal_arrays(NumberCounts(alone, pairs, takes, range(*part.links)), len(takes), order)
    rank = np.lexsort([*reversed(takes.T), *reversed(values.T)]) if len(values) else np.zeros(0, int)
    return Columns(pairs, takes[rank], values[rank])


def _kept(problem: AllocationProblem, part: CopyPart, pairs: Sequence[tuple[int, int]], takes: Array) -> Array:
    """Say of each way whether it keeps every must-link."""
    counts = NumberCounts(problem, pairs, takes, range(*part.links))
    fine = np.ones(len(takes), bool)
    for link in range(*part.links):
        if problem.links[link].must:
            fine &= lost(counts, link) == 0
    return fine


def _every_take(
    problem: AllocationProblem, part: CopyPart, pairs: Sequence[tuple[int, int]], most: int
) -> Array | None:
    whole = np.zeros((1, len(pairs)), np.int8)
    for indices in problem.requests[slice(*part.requests)]:
        if not len(whole):
            # A request before cannot be served. Beside no way at all, any number of ways would pass the count below.
            break
        # Counted first: to write down what is thrown away takes seconds.
        # None of the first request's rows are removed below.
        written = most if len(whole) == 1 else most * 20
        if sum(_number(problem, ask, pairs) for ask in indices) * len(whole) > written:
            return None
        options = np.concatenate([_options(problem, ask, pairs) for ask in indices] or [whole[:0]])
        whole = (whole[:, None, :] + options[None, :, :]).reshape(len(whole) * len(options), len(pairs))
        for number, group in enumerate(problem.groups):
            mine = [at for at, pair in enumerate(pairs) if pair[1] == number]
            if not group.shareable and len(mine) > 1:
                whole = whole[whole[:, mine].sum(axis=1) <= group.size]
        if len(whole) > most:
            return None
    claims = sorted({problem.claim_of(ask) for ask in range(*part.asks)})
    for claim in claims:
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
    rows, done = np.zeros((1, len(pairs)), np.int8), [np.zeros((0, len(pairs)), np.int8)]
    if not mine or problem.need(ask) > MAX_DEVICES:
        return done[0]
    left, behind = np.full(1, problem.need(ask)), sum(size for _, size in mine)
    for at, size in mine:
        # From this group, take as many as are not too many, and no fewer than the groups behind it leave open.
        behind -= size
        most, least = np.minimum(left, size), np.maximum(left - behind, 0)
        ways = np.maximum(most - least + 1, 0)
        parent = np.repeat(np.arange(len(rows)), ways)
        taken = most[parent] - (np.arange(len(parent)) - np.repeat(np.cumsum(ways) - ways, ways))
        rows, left = rows[parent], left[parent] - taken
        rows[:, at] = taken
        # Ways that have all their devices are not copied again with each group behind.
        done.append(rows[left == 0])
        rows, left = rows[left > 0], left[left > 0]
    return np.concatenate(done)
