"""Nodes that share devices, each with its part of them: what is planned on such a node is feasible on all together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from dra_lab.model.names import DeviceID
from dra_lab.planner.coupling import coupled_devices, coupled_pools
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.sites import Site, parts_on, table
from dra_lab.planner.node.allocation_problem import AllocationProblem


def split_sites(fleet: FleetProblem, nodes: Sequence[str]) -> list[Site]:
    """Return nodes that share devices as sites that share none: one node has each device, or pool with counters."""
    mine, have = set(nodes), Counter[tuple[str, str]]()
    pools: dict[tuple[str, str], str] = {}
    devices: dict[DeviceID, str] = {}
    for pool, seen in coupled_pools(fleet.scan).items():
        if able := [node for node in seen if node in mine]:
            pools[pool] = min(able, key=lambda node: (have[node, pool[0]], node))
            have[pools[pool], pool[0]] += 1
    for device, seen in coupled_devices(fleet.scan).items():
        if able := [node for node in seen if node in mine]:
            devices[device] = min(able, key=lambda node: (have[node, device.driver], node))
            have[devices[device], device.driver] += 1
    return [_site(fleet, node, pools, devices) for node in nodes]


def _site(
    fleet: FleetProblem, node: str, pools: Mapping[tuple[str, str], str], devices: Mapping[DeviceID, str]
) -> Site:
    problem = _part(table(fleet, node), pools, devices)

    def free(_: str) -> Mapping[int, list[DeviceID]]:
        return {at: list(group.devices) for at, group in enumerate(problem.groups)}

    return Site((node,), parts_on(fleet, node), lambda: problem, devices=free)


def _part(
    problem: AllocationProblem, pools: Mapping[tuple[str, str], str], devices: Mapping[DeviceID, str]
) -> AllocationProblem:
    """Return a node's problem with its part; a request for all devices that needs another one cannot be served."""
    groups, lost = [], set(problem.impossible)
    for group in problem.groups:
        mine = tuple(
            device
            for device in group.devices
            if pools.get((device.driver, device.pool), devices.get(device, problem.node)) == problem.node
        )
        if len(mine) < group.size:
            lost.update(ask for ask in group.asks if problem.asks[ask].all_devices)
        if mine:
            groups.append(replace(group, devices=mine))
    return replace(problem, groups=tuple(groups), impossible=frozenset(lost))
