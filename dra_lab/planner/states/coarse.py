"""Groups of devices that no rule tells apart, taken as one: for questions in which goals do not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from msgspec.structs import replace as changed

from dra_lab.index.node_binding import Tie
from dra_lab.planner.problem import AllocationProblem, DeviceGroup
from dra_lab.planner.states.node_state import NodeState


def coarse(problem: AllocationProblem) -> tuple[AllocationProblem, tuple[int, ...]]:
    """Return a problem in which as many pods fit, with fewer groups, and the group of it that each group is now in.

    Devices that one pod has to itself are alike where the same asks may take them and all must-links see them at the
    same places: a pod that takes some of two such groups can take as many in any other share, so only their sum counts.
    """
    must = [at for at, link in enumerate(problem.links) if link.must]
    first: dict[object, int] = {}
    groups: list[DeviceGroup] = []
    now_in = []
    for number, group in enumerate(problem.groups):
        plain = not group.shareable and not group.draws and group.tie is Tie.SELECTOR
        key = (group.asks, group.kind, tuple(group.places[at] for at in must)) if plain else number
        if key not in first:
            first[key] = len(groups)
            groups.append(group)
        else:
            mine = groups[first[key]]
            groups[first[key]] = changed(mine, devices=mine.devices + group.devices)
        now_in.append(first[key])
    return changed(problem, groups=tuple(groups)), tuple(now_in)


def coarse_state(state: NodeState, now_in: Sequence[int]) -> NodeState:
    """Return what a node offers of the groups that `coarse` made."""
    free = [0] * (max(now_in, default=-1) + 1)
    for number, count in zip(now_in, state.free, strict=True):
        free[number] += count
    return replace(state, free=tuple(free), left=tuple((now_in[number], amounts) for number, amounts in state.left))
