"""Partitions told apart only by what asks see of them: how many of each kind shared counters feed at once.

Benchmark row that needs it: one MIG partition and a NIC a pod, 50 nodes before 4 chassis (`bench_crowded`) take 1.0 s
of processor time to the proof, and 5.7 s without it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from dra_lab.index.counter_draws import Counter
from dra_lab.index.node_binding import Tie
from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Sizes
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node.copies import JointProblem

Vector = tuple[int, ...]
"""Numbers of partitions, kind by kind."""


@dataclass(frozen=True)
class Supply:
    """Equal sets of counters, those of GPUs of one model for example: each feeds what one of `vectors` says, or less.

    `kinds` are the groups that the numbers of a vector are about. `sets` holds, set by set and vector by vector, the
    devices that are in use then, kind by kind.
    """

    kinds: tuple[int, ...]
    vectors: tuple[Vector, ...]
    sets: tuple[tuple[tuple[tuple[DeviceID, ...], ...], ...], ...]

    def devices(self, often: Sequence[int]) -> Iterator[tuple[int, tuple[DeviceID, ...]]]:
        """Yield, with their group, the devices of the sets, of which this many feed each vector."""
        order = [vector for vector, times in enumerate(often) for _ in range(times)]
        for vector, mine in zip(order, self.sets, strict=False):
            yield from zip(self.kinds, mine[vector], strict=True)


def by_kind(problem: AllocationProblem, sizes: Sizes) -> tuple[AllocationProblem, tuple[Supply, ...]]:
    """Return a problem in which partitions that asks cannot tell apart are one group, and what feeds these groups.

    A counter is left to the problem where partitions that draw on it are shareable, looked into (`adminAccess`), wanted
    as all there are, or too many.
    """
    kind_of = _kinds(problem)
    fed: list[_Fed] = []
    memo: dict[Hashable, Mapping[Vector, Vector] | None] = {}
    for members in _tied(problem):
        if all(_is_plain(problem, problem.groups[number]) for number in members):
            kinds = tuple(dict.fromkeys(kind_of[number] for number in members))
            vectors = _fed(problem, members, [kinds.index(kind_of[number]) for number in members], memo, sizes)
            fed += [] if vectors is None else [_Fed(members, kinds, vectors)]
    return _reduced(problem, kind_of, fed) if fed else (problem, ())


@dataclass(frozen=True)
class _Fed:
    """A set of counters: the `members` that draw on it, and how many of each are in use for the most it feeds."""

    members: tuple[int, ...]
    kinds: tuple[int, ...]
    vectors: Mapping[Vector, Vector]


def _is_plain(problem: AllocationProblem, group: DeviceGroup) -> bool:
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
            seen = (replace(group, devices=(), draws=()), where)
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


def _fed(
    problem: AllocationProblem,
    members: Sequence[int],
    kinds: Sequence[int],
    memo: dict[Hashable, Mapping[Vector, Vector] | None],
    sizes: Sizes,
) -> Mapping[Vector, Vector] | None:
    """Return the most that the counters of some groups feed; equal ones are looked at once."""
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
        memo[roles, amounts] = most_fed(roles, amounts, max(kinds) + 1, sizes)
    return memo[roles, amounts]


def most_fed(
    roles: Sequence[tuple[int, int, tuple[tuple[int, int], ...]]], amounts: tuple[int, ...], kinds: int, sizes: Sizes
) -> Mapping[Vector, Vector] | None:
    """Return the most that counters feed, each with the partitions in use; None where there are too many ways."""
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
    problem: AllocationProblem, kind_of: Mapping[int, int], fed: Sequence[_Fed]
) -> tuple[AllocationProblem, tuple[Supply, ...]]:
    merged = {number for one in fed for number in one.members}
    groups: list[DeviceGroup] = []
    behind: list[int] = []
    at: dict[int, int] = {}
    for number, group in enumerate(problem.groups):
        kind = kind_of[number] if number in merged else None
        if kind is not None and kind in at:
            mine = groups[at[kind]]
            groups[at[kind]] = replace(mine, devices=mine.devices + group.devices)
            continue
        if kind is not None:
            at[kind] = len(groups)
        groups.append(group if kind is None else replace(group, draws=()))
        behind.append(number)
    alike: dict[tuple[tuple[int, ...], tuple[Vector, ...]], list[_Fed]] = {}
    for one in fed:
        alike.setdefault((tuple(at[kind] for kind in one.kinds), tuple(one.vectors)), []).append(one)
    supplies = tuple(
        Supply(kinds, vectors, tuple(_in_use(problem, one, kind_of) for one in mine))
        for (kinds, vectors), mine in alike.items()
    )
    gone = {counter for number in merged for counter, _ in problem.groups[number].draws}
    counters = tuple((counter, left) for counter, left in problem.counters if counter not in gone)
    whole = replace(problem, groups=tuple(groups), counters=counters)
    if isinstance(whole, JointProblem):
        whole = replace(whole, wheres=tuple(whole.wheres[number] for number in behind))
    return whole, supplies


def _in_use(
    problem: AllocationProblem, one: _Fed, kind_of: Mapping[int, int]
) -> tuple[tuple[tuple[DeviceID, ...], ...], ...]:
    """Return, vector by vector, the devices of a set of counters that are in use then, kind by kind."""
    found = []
    for used in one.vectors.values():
        mine: dict[int, list[DeviceID]] = {kind: [] for kind in one.kinds}
        for number, count in zip(one.members, used, strict=True):
            mine[kind_of[number]].extend(problem.groups[number].devices[:count])
        found.append(tuple(tuple(mine[kind]) for kind in one.kinds))
    return tuple(found)
