"""Nodes that share devices, each with a part of them, so that each can be planned alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace as changed

from dra_lab.index.pools import Pool
from dra_lab.model.names import DeviceID
from dra_lab.planner.coupling import coupled_devices, coupled_pools
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.sites import Site, parts_on, table
from dra_lab.planner.fleet.together import united
from dra_lab.planner.node.allocation_problem import AllocationProblem


def site_with(fleet: FleetProblem, node: str, given: Mapping[DeviceID, str]) -> Site:
    """Return a node that shares devices with others, having only those that it was given."""
    problem = _taken_by(given, table(fleet, node))

    def devices(_: str) -> Mapping[int, list[DeviceID]]:
        return {at: list(group.devices) for at, group in enumerate(problem.groups)}

    return Site((node,), parts_on(fleet, node), partial(_itself, problem), devices=devices)


def _itself(problem: AllocationProblem) -> AllocationProblem:
    return problem


def _taken_by(devices: Mapping[DeviceID, str], problem: AllocationProblem) -> AllocationProblem:
    """Return a node's problem with only those shared devices that it was given (`devices` names each one's node).

    A request for all devices that needs another one cannot be served.
    """
    groups, lost = [], set(problem.impossible)
    for group in problem.groups:
        mine = tuple(device for device in group.devices if devices.get(device, problem.node) == problem.node)
        if len(mine) < group.size:
            lost.update(ask for ask in group.asks if problem.asks[ask].all_devices)
        if mine:
            groups.append(changed(group, devices=mine))
    return changed(problem, groups=tuple(groups), impossible=frozenset(lost))


def share_out(fleet: FleetProblem, nodes: Sequence[str]) -> Mapping[DeviceID, str]:
    """Give each shared device to one of the nodes that see it, in turn; devices that draw on a counter go together."""
    mine = set(nodes)
    have: Counter[tuple[str, str]] = Counter()
    given: dict[DeviceID, str] = {}
    for pool, seen in coupled_pools(fleet.scan).items():
        able = [node for node in seen if node in mine]
        for devices in _drawing_together(fleet, pool, able):
            # A node that sees few of them could use few of them.
            most = max(map(len, devices.values()))
            fit = [node for node in able if len(devices.get(node, ())) == most]
            node = min(fit, key=lambda name: (have[name, pool[0]], name))
            given.update(dict.fromkeys((device for seeing in devices.values() for device in seeing), node))
            have[node, pool[0]] += most
    for device, seen in coupled_devices(fleet.scan).items():
        able = [node for node in seen if node in mine]
        if able and device not in given:
            given[device] = min(able, key=lambda name: (have[name, device.driver], name))
            have[given[device], device.driver] += 1
    return given


def _drawing_together(
    fleet: FleetProblem, pool: tuple[str, str], nodes: Sequence[str]
) -> Iterator[Mapping[str, Sequence[DeviceID]]]:
    """Yield the devices of a pool, node by node, whose counter sets are the same, directly or by way of others."""
    drawn: dict[DeviceID, frozenset[str]] = {}
    seen: dict[DeviceID, list[str]] = {}
    # nodes that see a pool alike have it as one object
    alike: dict[int, tuple[Pool, list[str]]] = {}
    for node in nodes:
        for counted in fleet.scan.views.view(node).counted:
            if (counted.driver, counted.name) == pool:
                alike.setdefault(id(counted), (counted, []))[1].append(node)
    for counted, mine in alike.values():
        for item in counted.devices:
            if item.on_node and item.device.consumes_counters:
                drawn[item.id] = frozenset(use.counter_set for use in item.device.consumes_counters)
                seen.setdefault(item.id, []).extend(mine)
    for sets in united(dict.fromkeys(drawn.values())):
        found: dict[str, list[DeviceID]] = {}
        for device, drawing in drawn.items():
            if drawing <= sets:
                for node in seen[device]:
                    found.setdefault(node, []).append(device)
        yield found
