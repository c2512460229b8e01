"""Nodes that share pools of devices: each by itself, and together no more than there are for them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from dra_lab.index.node_binding import Tie
from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.coupling import coupled_devices, coupled_pools
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.sites import Cap, Site, alone_sites
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.states.columns import number_of_ways

_Kind = tuple[tuple[str, ...], Hashable]
"""Shared devices that nothing tells apart: the nodes that see them, and what asks may take them."""

_Kinds = frozenset[_Kind]


def apart(fleet: FleetProblem, sites: Sequence[Site], budget: Budget) -> list[Site]:
    """Return the sites, with those of nodes that share devices as nodes by themselves wherever that is exact.

    This is exact where all devices that a request may take have the same value for it, if any is shared. The choice
    among them then affects other pods only through what is left. There are enough devices for all just if no set of
    devices is smaller than the number of devices wanted by requests that may take no others (Hall's theorem), which
    `Site.caps` keeps. Which pod gets which is decided when devices are assigned (`assign_shared`). Sites with sets that
    overlap stay together: one model is faster than many sets. So do few nodes whose ways can be listed, and
    identical nodes with devices of their own that pods take instead. At a limit the sites that are left stay together.

    Benchmark row that needs it (`bench_crowded`): GPUs and a NIC on 1,000 nodes that share 1,600 NICs place all 1,600
    pods, proven, in 5 s, and 688 in 20 s without it.
    """
    found: list[Site] = []
    counted = {node for nodes in coupled_pools(fleet.scan).values() for node in nodes}
    for site in sites:
        look = None
        if site.nodes and not budget.reached and not counted.intersection(site.all_nodes):
            look = _Look(fleet, budget)
        own = None if look is None else look.at(site)
        found.extend([site] if own is None else own)
    return found


@dataclass
class _Look:
    """Looks at nodes that share devices: who may take which.

    `size` is the number of devices of each kind, `wanted` how many of some kinds pods of each workload want on a node,
    site by site.
    """

    fleet: FleetProblem
    budget: Budget
    kind_of: dict[DeviceID, _Kind] = field(default_factory=dict)
    wanted: list[dict[_Kinds, tuple[int, ...]]] = field(default_factory=list)

    def at(self, site: Site) -> list[Site] | None:
        """Return the nodes by themselves with what they keep together, None where more than numbers counts."""
        nodes = set(site.all_nodes)
        shared = {one: seen for one, seen in coupled_devices(self.fleet.scan).items() if nodes.intersection(seen)}
        signatures: dict[frozenset[tuple[str, ...]], list[str]] = {}
        seeing = set(shared.values())
        for node in site.all_nodes:
            signatures.setdefault(frozenset(seen for seen in seeing if node in seen), []).append(node)
        own = [one for mine in signatures.values() for one in alone_sites(self.fleet, mine)]
        sizes = self.fleet.sizes
        few = len(nodes) <= sizes.sharing and sum(map(_number_of_ways, own)) <= sizes.pod_ways
        if few or any(_has_own_too(one, shared) for one in own):
            return None
        for one in own:
            if self.budget.reached or not self._is_plain(one, shared):
                return None
        members: dict[_Kind, list[DeviceID]] = {}
        for device, kind in self.kind_of.items():
            members.setdefault(kind, []).append(device)
        sets = sorted({kinds for wanted in self.wanted for kinds in wanted}, key=repr)
        if not all(one <= other or other <= one or not one & other for one, other in combinations(sets, 2)):
            return None
        return [
            replace(one, caps=tuple(self._caps(wanted, sets, members)))
            for one, wanted in zip(own, self.wanted, strict=True)
        ]

    def _is_plain(self, site: Site, shared: Mapping[DeviceID, tuple[str, ...]]) -> bool:
        """Note what pods want of shared devices on a node; say whether only numbers count there."""
        problem = site.problem
        kinds: dict[int, set[_Kind]] = {}
        places: dict[int, Hashable] = {}
        for group in _tied(problem, shared):
            if group.shareable or group.draws or group.tie is not Tie.SELECTOR:
                return False
            mine = {device: (shared.get(device, (problem.node,)), group.asks) for device in group.devices}
            if any(self.kind_of.setdefault(device, kind) != kind for device, kind in mine.items()):
                return False
            for ask in group.asks:
                kinds.setdefault(ask, set()).update(mine.values())
                if places.setdefault(ask, _places(problem, group, ask)) != _places(problem, group, ask):
                    return False
        if not all(_is_single(problem, ask) for ask in kinds):
            return False
        self.wanted.append(self._wanted(problem, kinds))
        return True

    def _wanted(self, problem: AllocationProblem, kinds: Mapping[int, set[_Kind]]) -> dict[_Kinds, tuple[int, ...]]:
        found: dict[_Kinds, list[int]] = {}
        for ask, mine in kinds.items():
            row = found.setdefault(frozenset(mine), [0] * len(self.fleet.pods))
            pod = next(number for number, pod in enumerate(self.fleet.pods) if ask in range(*pod.asks))
            row[pod] += problem.need(ask)
        return {mine: tuple(row) for mine, row in found.items()}

    def _caps(
        self,
        wanted: Mapping[_Kinds, tuple[int, ...]],
        sets: Sequence[_Kinds],
        members: Mapping[_Kind, list[DeviceID]],
    ) -> Iterator[Cap]:
        for one in sets:
            rows = [row for kinds, row in wanted.items() if kinds <= one]
            if rows:
                devices = tuple(sorted(device for kind in one for device in members[kind]))
                yield Cap(tuple(map(sum, zip(*rows, strict=True))), devices)


def _tied(problem: AllocationProblem, shared: Collection[DeviceID]) -> list[DeviceGroup]:
    """Return the groups with shared devices, and those that stand in for them, directly or by way of others."""
    found = [group for group in problem.groups if any(device in shared for device in group.devices)]
    while True:
        asks = {ask for group in found for ask in group.asks}
        following = [group for group in problem.groups if asks.intersection(group.asks)]
        if len(following) == len(found):
            return found
        found = following


def _has_own_too(site: Site, shared: Collection[DeviceID]) -> bool:
    """Say whether nodes that are equal have devices of their own each, which stand in for shared ones."""
    tied = _tied(site.problem, shared) if site.count > 1 else []
    return any(device not in shared for group in tied for device in group.devices)


def _places(problem: AllocationProblem, group: DeviceGroup, ask: int) -> Hashable:
    """Return what an ask can see of a group: kind and places, those of links only where these tie the ask."""
    tied = (group.places[link] for link in range(len(problem.links)) if ask in problem.ends(link))
    return group.kind, group.numa, group.root, tuple(tied)


def _is_single(problem: AllocationProblem, ask: int) -> bool:
    """Say whether an ask is the only way to serve its request, with this many devices that it keeps."""
    found = problem.asks[ask]
    return not found.all_devices and not found.admin_access and any(row == (ask,) for row in problem.requests)


def _number_of_ways(site: Site) -> int:
    """Return how many ways the pods have on all members of a site, before links."""
    return site.count * sum(number_of_ways(site.problem, part) for part in site.parts)
