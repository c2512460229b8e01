"""Assign shared devices to pods on many nodes by maximum flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dra_lab.errors import SolverError
from dra_lab.model.names import DeviceID
from dra_lab.planner.fleet.pack import Takes
from dra_lab.planner.fleet.sites import Site

Given = dict[tuple[int, int], list[DeviceID]]
"""The shared devices of (replica, ask) on one node."""

_Able = frozenset[DeviceID]


@dataclass(frozen=True)
class _SharedRequests:
    """What pods on many nodes want of shared devices.

    `wanted` is (node, (replica, ask), number of devices, type) for each take, `able` which devices a type of request
    may take, and `stock` the devices that the same types may take.
    """

    wanted: Sequence[tuple[int, tuple[int, int], int, int]]
    able: Sequence[_Able]
    stock: Mapping[tuple[bool, ...], list[DeviceID]]

    @classmethod
    def of(cls, nodes: Sequence[tuple[Site, Takes]]) -> _SharedRequests:
        able: dict[tuple[int, int], _Able] = {}
        types: dict[_Able, int] = {}
        wanted: list[tuple[int, tuple[int, int], int, int]] = []
        for number, (site, takes) in enumerate(nodes):
            shared = {device for cap in site.caps for device in cap.devices}
            if not shared:
                continue
            for replica, ask, group, count in ((replica, *take) for replica, mine in enumerate(takes) for take in mine):
                if shared.issuperset(site.problem.groups[group].devices):
                    key = (id(site), ask)
                    if key not in able:
                        able[key] = devices_for(site, ask)
                    wanted.append((number, (replica, ask), count, types.setdefault(able[key], len(types))))
        stock: dict[tuple[bool, ...], list[DeviceID]] = {}
        for device in sorted(frozenset[DeviceID]().union(*types)):
            stock.setdefault(tuple(device in mine for mine in types), []).append(device)
        return cls(wanted, tuple(types), stock)

    def flow(self) -> list[dict[tuple[bool, ...], int]] | None:
        """Return how many devices of which stock each type gets, None where there are too few."""
        need = [0] * len(self.able)
        for _, _, count, mine in self.wanted:
            need[mine] += count
        return _flow(need, {kind: len(devices) for kind, devices in self.stock.items()})


def assign_shared(nodes: Sequence[tuple[Site, Takes]]) -> list[Given]:
    """Return for each node, with what its pods take, which shared devices they get; nothing for one that shares none.

    A request takes of all that it may take (`shared_pools`): those that few others may take, if there are any left.
    Raises SolverError where there are too few for all.
    """
    requests = _SharedRequests.of(nodes)
    flow = requests.flow()
    if flow is None:
        raise SolverError("shared devices are too few for a plan; please report the claims and the cluster")
    stock = {kind: list(devices) for kind, devices in requests.stock.items()}
    pools = [[device for kind, often in mine.items() for device in _taken(stock[kind], often)] for mine in flow]
    found: list[Given] = [{} for _ in nodes]
    for number, key, count, mine in requests.wanted:
        found[number].setdefault(key, []).extend(_taken(pools[mine], count))
    return found


def devices_for(site: Site, ask: int) -> frozenset[DeviceID]:
    """Return the devices that a request may take on a site's first member."""
    return frozenset(device for group in site.problem.groups if ask in group.asks for device in group.devices)


def _taken(devices: list[DeviceID], count: int) -> list[DeviceID]:
    """Take the first of some devices away."""
    mine = devices[:count]
    del devices[:count]
    return mine


def _flow(need: Sequence[int], have: Mapping[tuple[bool, ...], int]) -> list[dict[tuple[bool, ...], int]] | None:
    """Return how many devices of each kind each type of request gets, None where there are too few.

    `kind[type]` says whether it may take them.
    """
    left = dict(have)
    found: list[dict[tuple[bool, ...], int]] = [{} for _ in need]
    for one, wanted in enumerate(need):
        rest = wanted
        while rest:
            path = _path(one, found, left)
            if not path:
                return None
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
) -> list[_Step]:
    """Return the shortest way for a type of request to one device more, none where none is left for those it met."""
    before: dict[int, tuple[int, tuple[bool, ...]] | None] = {start: None}
    border = [start]
    while border:
        following = []
        for one in border:
            for kind, rest in left.items():
                if not kind[one]:
                    continue
                if rest:
                    return _path_to(one, kind, before)
                for other, mine in enumerate(found):
                    if other not in before and mine.get(kind, 0):
                        before[other] = (one, kind)
                        following.append(other)
        border = following
    return []


def _path_to(
    last: int, kind: tuple[bool, ...], before: Mapping[int, tuple[int, tuple[bool, ...]] | None]
) -> list[_Step]:
    steps: list[_Step] = []
    gets = kind
    at: int | None = last
    while at is not None:
        known = before[at]
        steps.append((at, gets, None if known is None else known[1]))
        at, gets = (None, gets) if known is None else known
    return steps[::-1]
