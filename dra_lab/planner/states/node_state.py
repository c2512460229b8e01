"""What a node offers of its hardware, as numbers, and the problem that makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.index.in_use import Counter
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node_classes import Layout

Array = Any
"""A numpy array."""

PodTakes = tuple[tuple[int, int, int], ...]
"""(ask, position of the group, number of devices) of all that one pod takes."""

Shares = tuple[tuple[int, tuple[tuple[str, Fraction], ...]], ...]
"""What is left of shared devices: (group of the layout, amount by key), for those of which something is in use."""


class NodeState(Struct, frozen=True, cache_hash=True):
    """The offer of a node: which hardware, how many devices of each of its groups are free, what is left of shares.

    `counters` is what is left of each shared counter of the layout's problem, in its order.
    """

    layout: int
    free: tuple[int, ...]
    left: Shares = ()
    counters: tuple[int, ...] = ()


def common_unit(amounts: Iterable[Fraction]) -> Fraction:
    """Return the largest amount of which all amounts are whole multiples, 0 where there is none."""
    # By whole numbers, which takes a third of the time of fractions on thousands of nodes.
    some = [(amount.numerator, amount.denominator) for amount in amounts if amount.numerator > 0]
    bottom = lcm(*(below for _, below in some))
    return Fraction(gcd(*(above * (bottom // below) for above, below in some)), bottom)


def inspectors(problem: AllocationProblem, group: DeviceGroup) -> tuple[int, ...]:
    """Return the asks that may look into a group's devices while another claim has them (`adminAccess`)."""
    return tuple(ask for ask in group.asks if problem.asks[ask].admin_access)


def kept_groups(layout: Layout, state: NodeState) -> tuple[int, ...]:
    """Return the group of the layout behind each group of a state's problem (`state_problem`).

    One of which some devices are in use and may be looked into is there twice: first what is free.
    """
    whole, left, found = layout.problem, dict(state.left), []
    looked_into = any(ask.admin_access for ask in whole.asks)
    for at, size in enumerate(state.free):
        if size and (at not in left or _able(whole.groups[at], left[at])):
            found.append(at)
        if looked_into and size < layout.sizes[at] and inspectors(whole, whole.groups[at]):
            found.append(at)
    return tuple(found)


def state_problem(layout: Layout, state: NodeState) -> AllocationProblem:
    """Return the problem of a state. Its groups (`kept_groups`) have as many devices as are free, but not the same."""
    whole, left = layout.problem, dict(state.left)
    groups: list[DeviceGroup] = []
    for at, (group, size) in enumerate(zip(whole.groups, state.free, strict=True)):
        if size:
            found = group if size == group.size else replace(group, devices=group.devices[:size])
            able = _able(group, left[at]) if at in left else group.asks
            if at in left and able:
                uses = tuple((ask, use) for ask, use in group.uses if ask in able)
                found = replace(found, remaining=left[at], asks=able, uses=uses)
            groups += [found] if able else []
        if size < group.size and (admin := inspectors(whole, group)):
            groups.append(replace(group, devices=group.devices[size:], asks=admin))
    # A request for all devices is not served while one of them is in use.
    short = [group for group, size in zip(whole.groups, state.free, strict=True) if size < group.size]
    asks = {ask for group in short for ask in group.asks}
    lost = frozenset(ask for ask in asks if whole.asks[ask].all_devices and not whole.asks[ask].admin_access)
    problem = replace(whole, groups=tuple(groups), impossible=whole.impossible | lost)
    return _with_counters(problem, state.counters) if whole.counters else problem


def _able(group: DeviceGroup, left: tuple[tuple[str, Fraction], ...]) -> tuple[int, ...]:
    have = dict(left)
    return tuple(ask for ask, uses in group.uses if all(amount <= have[key] for key, amount in uses))


def _with_counters(problem: AllocationProblem, counters: Sequence[int]) -> AllocationProblem:
    """Return a problem with what is left of counters, without those that all devices together do not use up."""
    drawn: dict[Counter, int] = {}
    for group in problem.groups:
        for counter, amount in group.draws:
            drawn[counter] = drawn.get(counter, 0) + amount * group.size
    names = (counter for counter, _ in problem.counters)
    left = tuple((name, have) for name, have in zip(names, counters, strict=True) if drawn.get(name, 0) > have)
    groups = []
    for group in problem.groups:
        mine = tuple((counter, amount) for counter, amount in group.draws if counter in dict(left))
        groups.append(group if mine == group.draws else replace(group, draws=mine))
    return replace(problem, groups=tuple(groups), counters=left)
