"""Shared devices given out to pods on many nodes, so that all get theirs: who may take few is not left with none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dra_lab.errors import SolverError
from dra_lab.model.names import DeviceID
from dra_lab.planner.fleet.sites import Site

Takes = Sequence[tuple[int, int, int, int]]
"""(replica, ask, position of the group, number of devices), as `pack.Takes`."""

Given = dict[tuple[int, int], list[DeviceID]]
"""The shared devices of (replica, ask) on one node."""

_Able = frozenset[DeviceID]


def share_out(nodes: Sequence[tuple[Site, Takes]]) -> list[Given]:
    """Return for each node, with what its pods take, which shared devices they get; nothing for one that shares none.

    A request takes of all that it may take (`shared_pools`): those that few others may take, if there are any left.
    Raises SolverError where there are too few for all.
    """
    able: dict[tuple[int, int], _Able] = {}
    wanted: list[tuple[int, tuple[int, int], int, _Able]] = []
    for number, (site, takes) in enumerate(nodes):
        shared = {device for cap in site.caps for device in cap.devices}
        for replica, ask, group, count in takes if shared else ():
            if shared.issuperset(site.problem.groups[group].devices):
                key = (id(site), ask)
                if key not in able:
                    able[key] = frozenset(d for g in site.problem.groups if ask in g.asks for d in g.devices)
                wanted.append((number, (replica, ask), count, able[key]))
    types = list(dict.fromkeys(mine for _, _, _, mine in wanted))
    stock: dict[tuple[bool, ...], list[DeviceID]] = {}
    for device in sorted(frozenset[DeviceID]().union(*types)):
        stock.setdefault(tuple(device in mine for mine in types), []).append(device)
    need = [sum(count for _, _, count, mine in wanted if mine == one) for one in types]
    flow = _flow(need, {kind: len(devices) for kind, devices in stock.items()})
    pools = [[device for kind, often in mine.items() for device in _taken(stock[kind], often)] for mine in flow]
    found: list[Given] = [{} for _ in nodes]
    at = {mine: number for number, mine in enumerate(types)}
    for number, key, count, mine in wanted:
        found[number].setdefault(key, []).extend(_taken(pools[at[mine]], count))
    return found


def _taken(devices: list[DeviceID], count: int) -> list[DeviceID]:
    """Take the first of some devices away."""
    mine = devices[:count]
    del devices[:count]
    return mine


def _flow(need: Sequence[int], have: Mapping[tuple[bool, ...], int]) -> list[dict[tuple[bool, ...], int]]:
    """Return how many devices of each kind each type of request gets; `kind[type]` says whether it may."""
    left = dict(have)
    found: list[dict[tuple[bool, ...], int]] = [{} for _ in need]
    for one, wanted in enumerate(need):
        rest = wanted
        while rest:
            path = _path(one, found, left)
            if path is None:
                raise SolverError("shared devices are too few for a plan; please report the claims and the cluster")
            often = min(rest, left[path[-1][1]], *(found[mine][gives] for mine, _, gives in path if gives is not None))
            for mine, gets, gives in path:
                found[mine][gets] = found[mine].get(gets, 0) + often
                if gives is not None:
                    found[mine][gives] -= often
            left[path[-1][1]] -= often
            rest -= often
    return found


_Step = tuple[int, tuple[bool, ...], tuple[bool, ...] | None]
"""A type of request that gets a kind of device, and gives another one up for the type before it."""


def _path(
    start: int, found: Sequence[Mapping[tuple[bool, ...], int]], left: Mapping[tuple[bool, ...], int]
) -> list[_Step] | None:
    """Return the shortest way for a type of request to one device more, None where there is none."""
    before: dict[int, tuple[int, tuple[bool, ...]] | None] = {start: None}
    border = [start]
    while border:
        following = []
        for one in border:
            for kind, rest in left.items():
                if not kind[one]:
                    continue
                if rest:
                    return _told(one, kind, before)
                for other, mine in enumerate(found):
                    if other not in before and mine.get(kind, 0):
                        before[other] = (one, kind)
                        following.append(other)
        border = following
    return None


def _told(last: int, kind: tuple[bool, ...], before: Mapping[int, tuple[int, tuple[bool, ...]] | None]) -> list[_Step]:
    steps: list[_Step] = []
    gets = kind
    at: int | None = last
    while at is not None:
        known = before[at]
        steps.append((at, gets, None if known is None else known[1]))
        at, gets = (None, gets) if known is None else known
    return steps[::-1]
