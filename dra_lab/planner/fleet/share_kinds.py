"""Shares of equal devices, told apart only by how much they are: how many of each size one device holds at once.

Benchmark row that needs it: a share of storage and a NIC a pod, 100 nodes before 20 devices (`bench_crowded`) place
all 135 pods that fit in 0.3 s, proven, and 127 in 10 s without it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from msgspec.structs import replace as changed

from dra_lab.index.node_binding import Tie
from dra_lab.planner.budget import Sizes
from dra_lab.planner.fleet.partition_kinds import Supply, Vector, most_fed
from dra_lab.planner.node.allocation_problem import NUMA_KINDS, AllocationProblem, DeviceGroup
from dra_lab.planner.node.copies import CopyPart, JointProblem
from dra_lab.planner.states.node_state import common_unit

_Uses = tuple[tuple[str, Fraction], ...]


def shares_by_kind(
    problem: AllocationProblem, parts: Sequence[CopyPart], limits: Sizes
) -> tuple[AllocationProblem, tuple[Supply, ...], Mapping[int, int]]:
    """Return a problem in which shares of one size are an unshared group, and what feeds these groups.

    The third says where each other group is now. This applies to two and more shareable devices that asks cannot
    distinguish, which they take one by one, and which use no counters. With GPUs, NICs and CPUs it applies if no pod
    may take several of them, because then it counts whether these are one device.
    """
    alike: dict[Hashable, list[int]] = {}
    for number, group in enumerate(problem.groups):
        if _is_plain(problem, group, parts):
            where = problem.wheres[number] if isinstance(problem, JointProblem) else ()
            alike.setdefault((changed(group, devices=()), where), []).append(number)
    held = {mine[0]: (mine, _held(problem.groups[mine[0]], limits)) for mine in alike.values() if len(mine) > 1}
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


def _is_plain(problem: AllocationProblem, group: DeviceGroup, parts: Sequence[CopyPart]) -> bool:
    asks = [problem.asks[ask] for ask in group.asks]
    single = all(ask.count == 1 and not (ask.all_devices or ask.admin_access) for ask in asks)
    if not (group.shareable and single and not group.draws and group.tie is Tie.SELECTOR):
        return False
    mine = set(group.asks)
    each = (sum(bool(mine & set(row)) for row in problem.requests[slice(*part.requests)]) for part in parts)
    return group.kind not in NUMA_KINDS or max(each, default=0) < 2


def _held(group: DeviceGroup, limits: Sizes) -> tuple[tuple[_Uses, ...], tuple[Vector, ...]] | None:
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
    vectors = most_fed(roles, tuple(int(left[key] // units[key]) for key in keys), len(sizes), limits)
    return None if vectors is None else (sizes, tuple(vectors))


def moved(supplies: Sequence[Supply], now_at: Mapping[int, int]) -> tuple[Supply, ...]:
    """Return supplies of groups that are elsewhere now."""
    return tuple(replace(supply, kinds=tuple(now_at[kind] for kind in supply.kinds)) for supply in supplies)
