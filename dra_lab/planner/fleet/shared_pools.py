"""Nodes that share a pool of interchangeable devices: each by itself, and together no more than there are of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dra_lab.planner.coupling import coupled_devices, coupled_pools
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.sites import Cap, Site, alone_sites
from dra_lab.planner.problem import AllocationProblem, DeviceGroup
from dra_lab.planner.progress import Limits
from dra_lab.planner.stages import Tie


def apart(fleet: Fleet, sites: Sequence[Site], limits: Limits) -> list[Site]:
    """Return the sites, with those of nodes that share devices as nodes by themselves wherever that is exact.

    So it is where all of the nodes see all shared devices, and a request that may take one may take no others but
    those that nothing tells apart from it: then only their number counts, which `Site.caps` keeps. Which of them a pod
    gets is decided when devices are given out. At a limit the sites that are left stay together.
    """
    found: list[Site] = []
    counted = {node for nodes in coupled_pools(fleet.scan).values() for node in nodes}
    for site in sites:
        own: list[Site] = []
        if site.nodes and not limits.reached and not counted.intersection(site.all_nodes):
            own = alone_sites(fleet, site.all_nodes)
        caps = _caps(fleet, site, own, limits) if own else None
        found.extend([site] if caps is None else [replace(one, caps=caps) for one in own])
    return found


def _caps(fleet: Fleet, site: Site, own: Sequence[Site], limits: Limits) -> tuple[Cap, ...] | None:
    """Return what pods on all the nodes keep together, None where more than numbers counts."""
    nodes = set(site.all_nodes)
    devices = coupled_devices(fleet.scan)
    here = {seen for seen in set(devices.values()) if nodes.intersection(seen)}
    if any(set(seen) != nodes for seen in here):
        return None
    shared = {device for device, seen in devices.items() if seen in here}
    told: set[tuple[tuple[object, ...], ...]] = set()
    caps: tuple[Cap, ...] = ()
    for one in own:
        if limits.reached:
            return None
        problem = one.problem
        groups = [group for group in problem.groups if any(device in shared for device in group.devices)]
        if not all(_is_plain(problem, group) and shared.issuperset(group.devices) for group in groups):
            return None
        told.add(tuple(sorted((group.asks, tuple(sorted(group.devices))) for group in groups)))
        caps = tuple(_cap(fleet, problem, group) for group in groups)
    return caps if len(told) == 1 else None


def _is_plain(problem: AllocationProblem, group: DeviceGroup) -> bool:
    """Say whether a request that may take the group's devices may take no others, and so many of them."""
    return not (group.shareable or group.draws or group.tie is not Tie.SELECTOR) and all(
        not problem.asks[ask].all_devices
        and not problem.asks[ask].admin_access
        and sum(ask in other.asks for other in problem.groups) == 1
        and any(indices == (ask,) for indices in problem.requests)
        for ask in group.asks
    )


def _cap(fleet: Fleet, problem: AllocationProblem, group: DeviceGroup) -> Cap:
    weights = tuple(sum(problem.need(ask) for ask in group.asks if ask in range(*pod.asks)) for pod in fleet.pods)
    return Cap(weights, group.size, tuple(sorted(group.devices)))
