"""Devices told apart only by what asks see of them: how many of each kind are provided at once, and by what.

Shared counters provide partitions; a device that is taken in shares provides shares of each size.

Benchmark rows that need it (`bench_crowded`): one MIG partition and a NIC a pod, 50 nodes before 4 chassis, take 1.0 s
of processor time to the proof, and 5.7 s without partitions by kind. A share of storage and a NIC a pod, 100 nodes
before 20 devices, place all 135 pods that fit in 0.3 s, proven, and 127 in 10 s without shares by size.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from msgspec.structs import replace as changed

from dra_lab.index.counter_draws import Counter
from dra_lab.index.node_binding import Tie
from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Sizes
from dra_lab.planner.node.allocation_problem import NUMA_KINDS, AllocationProblem, DeviceGroup
from dra_lab.planner.node.copies import CopyPart, JointProblem
from dra_lab.planner.states.node_state import common_unit

Vector = tuple[int, ...]
"""Numbers of devices, or of shares, kind by kind."""

_Uses = tuple[tuple[str, Fraction], ...]
"""What a share takes of each capacity."""


@dataclass(frozen=True)
class Supply:
    """Equal sets of counters, or equal devices with shares: each provides what one of `vectors` says, or less.

    `kinds` are the groups that the numbers of a vector are about. `sets` holds, set by set and vector by vector, the
    devices that are in use then, kind by kind.
    """

    kinds: tuple[int, ...]
    vectors: tuple[Vector, ...]
    sets: tuple[tuple[tuple[tuple[DeviceID, ...], ...], ...], ...]

    def devices(self, often: Sequence[int]) -> Iterator[tuple[int, tuple[DeviceID, ...]]]:
        """Yield, with their group, the devices of the sets, of which this many provide each vector."""
        order = [vector for vector, times in enumerate(often) for _ in range(times)]
        for vector, mine in zip(order, self.sets, strict=False):
            yield from zip(self.kinds, mine[vector], strict=True)


def with_supplies(
    problem: AllocationProblem, parts: Sequence[CopyPart], sizes: Sizes
) -> tuple[AllocationProblem, tuple[Supply, ...]]:
    """Return a problem in which partitions and shares of a kind are one group each, and what provides these groups."""
    problem, counters = _partitions_by_kind(problem, sizes)
    problem, devices, now_at = _shares_by_size(problem, parts, sizes)
    moved = (replace(supply, kinds=tuple(now_at[kind] for kind in supply.kinds)) for supply in counters)
    return problem, (*moved, *devices)


def _partitions_by_kind(problem: AllocationProblem, sizes: Sizes) -> tuple[AllocationProblem, tuple[Supply, ...]]:
    """Return a problem in which partitions that asks cannot tell apart are one group, and what provides these groups.

    A counter is left to the problem where partitions that draw on it are shareable, looked into (`adminAccess`), wanted
    as all there are, or too many.
    """
    kind_of = _kinds(problem)
    found: list[_CounterSet] = []
    memo: dict[Hashable, Mapping[Vector, Vector] | None] = {}
    for members in _tied(problem):
        if all(_is_partition(problem, problem.groups[number]) for number in members):
            kinds = tuple(dict.fromkeys(kind_of[number] for number in members))
            vectors = _vectors_of(problem, members, [kinds.index(kind_of[number]) for number in members], memo, sizes)
            found += [] if vectors is None else [_CounterSet(members, kinds, vectors)]
    return _reduced(problem, kind_of, found) if found else (problem, ())


@dataclass(frozen=True)
class _CounterSet:
    """A set of counters: the `members` that draw on it, and how many of each are in use for the most it provides."""

    members: tuple[int, ...]
    kinds: tuple[int, ...]
    vectors: Mapping[Vector, Vector]


def _is_partition(problem: AllocationProblem, group: DeviceGroup) -> bool:
    asks = [problem.asks[ask] for ask in group.asks]
    special = any(ask.all_devices or ask.admin_access for ask in asks)
    return not (special or group.shareable or group.tie is not Tie.SELECTOR)


def _kinds(problem: AllocationProblem) -> dict[int, int]:
    """Return what asks see of each group that draws on counters, as a number."""
    numbers: dict[Hashable, int] = {}
    found = {}
    for number, group in enumerate(problem.groups):
        if group.draws:
            where = problem.wheres[number] if isinstance(problem, JointProblem) else ()
            seen = (changed(group, devices=(), draws=()), where)
            found[number] = numbers.setdefault(seen, len(numbers))
    return found


def _tied(problem: AllocationProblem) -> list[tuple[int, ...]]:
    """Return the groups that draw on counters, those together that have one in common, directly or by others."""
    found: list[tuple[set[Counter], list[int]]] = []
    for number, group in enumerate(problem.groups):
        counters, members = {counter for counter, _ in group.draws}, [number]
        if not counters:
            continue
        apart = []
        for other in found:
            if other[0] & counters:
                counters |= other[0]
                members = other[1] + members
            else:
                apart.append(other)
        found = [*apart, (counters, members)]
    return [tuple(members) for _, members in found]


def _vectors_of(
    problem: AllocationProblem,
    members: Sequence[int],
    kinds: Sequence[int],
    memo: dict[Hashable, Mapping[Vector, Vector] | None],
    sizes: Sizes,
) -> Mapping[Vector, Vector] | None:
    """Return the most that the counters of some groups provide; equal ones are looked at once."""
    counters = sorted({counter for number in members for counter, _ in problem.groups[number].draws})
    place = {counter: at for at, counter in enumerate(counters)}
    groups = [problem.groups[number] for number in members]
    roles = tuple(
        (kind, group.size, tuple((place[counter], amount) for counter, amount in group.draws))
        for kind, group in zip(kinds, groups, strict=True)
    )
    left = dict(problem.counters)
    amounts = tuple(left[counter] for counter in counters)
    if (roles, amounts) not in memo:
        memo[roles, amounts] = largest_vectors(roles, amounts, max(kinds) + 1, sizes)
    return memo[roles, amounts]


def largest_vectors(
    roles: Sequence[tuple[int, int, tuple[tuple[int, int], ...]]], amounts: tuple[int, ...], kinds: int, sizes: Sizes
) -> Mapping[Vector, Vector] | None:
    """Return the most that counters provide, each with the partitions in use; None where there are too many ways."""
    states: dict[tuple[Vector, Vector], Vector] = {((0,) * kinds, amounts): ()}
    for kind, size, draws in roles:
        following: dict[tuple[Vector, Vector], Vector] = {}
        for (vector, left), used in states.items():
            for count in range(size + 1):
                rest = list(left)
                for at, amount in draws:
                    rest[at] -= count * amount
                if min(rest, default=0) < 0:
                    break
                more = (*vector[:kind], vector[kind] + count, *vector[kind + 1 :])
                following.setdefault((more, tuple(rest)), (*used, count))
        if len(following) > sizes.supply_states:
            return None
        states = following
    every = {vector: used for (vector, _), used in states.items()}
    if len(every) > sizes.supply_states:
        return None
    most: list[Vector] = []
    for vector in sorted(every, key=sum, reverse=True):
        if not any(all(a <= b for a, b in zip(vector, other, strict=True)) for other in most):
            most.append(vector)
            if len(most) > sizes.supplies:
                return None
    return {vector: every[vector] for vector in sorted(most)}


def _reduced(
    problem: AllocationProblem, kind_of: Mapping[int, int], sets: Sequence[_CounterSet]
) -> tuple[AllocationProblem, tuple[Supply, ...]]:
    merged = {number for one in sets for number in one.members}
    groups: list[DeviceGroup] = []
    behind: list[int] = []
    at: dict[int, int] = {}
    for number, group in enumerate(problem.groups):
        kind = kind_of[number] if number in merged else None
        if kind is not None and kind in at:
            mine = groups[at[kind]]
            groups[at[kind]] = changed(mine, devices=mine.devices + group.devices)
            continue
        if kind is not None:
            at[kind] = len(groups)
        groups.append(group if kind is None else changed(group, draws=()))
        behind.append(number)
    identical: dict[tuple[tuple[int, ...], tuple[Vector, ...]], list[_CounterSet]] = {}
    for one in sets:
        identical.setdefault((tuple(at[kind] for kind in one.kinds), tuple(one.vectors)), []).append(one)
    supplies = tuple(
        Supply(kinds, vectors, tuple(_in_use(problem, one, kind_of) for one in mine))
        for (kinds, vectors), mine in identical.items()
    )
    gone = {counter for number in merged for counter, _ in problem.groups[number].draws}
    counters = tuple((counter, left) for counter, left in problem.counters if counter not in gone)
    whole = changed(problem, groups=tuple(groups), counters=counters)
    if isinstance(whole, JointProblem):
        whole = changed(whole, wheres=tuple(whole.wheres[number] for number in behind))
    return whole, supplies


def _in_use(
    problem: AllocationProblem, one: _CounterSet, kind_of: Mapping[int, int]
) -> tuple[tuple[tuple[DeviceID, ...], ...], ...]:
    """Return, vector by vector, the devices of a set of counters that are in use then, kind by kind."""
    found = []
    for used in one.vectors.values():
        mine: dict[int, list[DeviceID]] = {kind: [] for kind in one.kinds}
        for number, count in zip(one.members, used, strict=True):
            mine[kind_of[number]].extend(problem.groups[number].devices[:count])
        found.append(tuple(tuple(mine[kind]) for kind in one.kinds))
    return tuple(found)


def _shares_by_size(
    problem: AllocationProblem, parts: Sequence[CopyPart], limits: Sizes
) -> tuple[AllocationProblem, tuple[Supply, ...], Mapping[int, int]]:
    """Return a problem in which shares of one size are an unshared group, and what provides these groups.

    The third says where each other group is now. This applies to two and more shareable devices that asks cannot
    distinguish, which they take one by one, and which use no counters. With GPUs, NICs and CPUs it applies if no pod
    may take several of them, because then it counts whether these are one device.
    """
    same: dict[Hashable, list[int]] = {}
    for number, group in enumerate(problem.groups):
        if _is_in_shares(problem, group, parts):
            where = problem.wheres[number] if isinstance(problem, JointProblem) else ()
            same.setdefault((changed(group, devices=()), where), []).append(number)
    held = {mine[0]: (mine, _shares_of(problem.groups[mine[0]], limits)) for mine in same.values() if len(mine) > 1}
    gone = {number for mine, found in held.values() if found is not None for number in mine}
    groups: list[DeviceGroup] = []
    behind: list[int] = []
    now_at: dict[int, int] = {}
    supplies: list[Supply] = []
    for number, group in enumerate(problem.groups):
        if number not in gone:
            now_at[number] = len(groups)
            groups.append(group)
            behind.append(number)
        elif (found := held[number][1] if number in held else None) is not None:
            sizes, vectors = found
            devices = [problem.groups[one].devices[0] for one in held[number][0]]
            kinds = tuple(range(len(groups), len(groups) + len(sizes)))
            for at, uses in enumerate(sizes):
                most = max(vector[at] for vector in vectors)
                own = tuple(row for row in group.uses if row[1] == uses)
                asks = tuple(ask for ask, _ in own)
                groups.append(
                    changed(group, devices=tuple(devices * most), asks=asks, uses=own, shareable=False, remaining=())
                )
                behind.append(number)
            sets = tuple(tuple(tuple((one,) * count for count in vector) for vector in vectors) for one in devices)
            supplies.append(Supply(kinds, vectors, sets))
    whole = changed(problem, groups=tuple(groups))
    if isinstance(whole, JointProblem):
        whole = changed(whole, wheres=tuple(whole.wheres[number] for number in behind))
    return whole, tuple(supplies), now_at


def _is_in_shares(problem: AllocationProblem, group: DeviceGroup, parts: Sequence[CopyPart]) -> bool:
    asks = [problem.asks[ask] for ask in group.asks]
    single = all(ask.count == 1 and not (ask.all_devices or ask.admin_access) for ask in asks)
    if not (group.shareable and single and not group.draws and group.tie is Tie.SELECTOR):
        return False
    mine = set(group.asks)
    each = (sum(bool(mine & set(row)) for row in problem.requests[slice(*part.requests)]) for part in parts)
    return group.kind not in NUMA_KINDS or max(each, default=0) < 2


def _shares_of(group: DeviceGroup, limits: Sizes) -> tuple[tuple[_Uses, ...], tuple[Vector, ...]] | None:
    """Return the sizes of shares, and the most shares of each size that a device holds at once; None where too many."""
    sizes = tuple(dict.fromkeys(uses for _, uses in group.uses))
    left = dict(group.remaining)
    units = {key: common_unit(amount for uses in sizes for name, amount in uses if name == key) for key in left}
    keys = [key for key, unit in units.items() if unit]
    roles = []
    for kind, uses in enumerate(sizes):
        amounts = {keys.index(key): int(amount / units[key]) for key, amount in uses if key in keys and amount}
        most = min((int(left[keys[at]] // (units[keys[at]] * n)) for at, n in amounts.items()), default=0)
        if most < 1 or any(key not in left for key, _ in uses):
            return None
        roles.append((kind, most, tuple(amounts.items())))
    vectors = largest_vectors(roles, tuple(int(left[key] // units[key]) for key in keys), len(sizes), limits)
    return None if vectors is None else (sizes, tuple(vectors))
