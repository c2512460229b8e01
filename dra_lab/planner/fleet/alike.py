"""Devices of nodes that are equal position by position: what was found out for one of them holds for the others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence

from dra_lab.index.node_index import shape_key
from dra_lab.model.names import DeviceID
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.node_counters import left_of
from dra_lab.planner.problem import AllocationProblem


def exactly(fleet: Fleet, node: str) -> Hashable:
    """Return a value that nodes share only if their devices are equal, position by position, free or in use alike."""
    scan = fleet.scan
    held = scan.rules.allocated
    wheres = tuple(dict.fromkeys(link.where for link in scan.sketch.links if not link.is_level))
    left = left_of(scan.cluster, scan.views.view(node).counted, held)
    shape = shape_key(scan.views, node, scan.rules.asks, wheres)
    return shape, scan.views.held_on(node, held), tuple(sorted(left.items()))


def devices_by_position(
    fleet: Fleet, node: str, made: Callable[[], AllocationProblem]
) -> Mapping[int, Sequence[DeviceID]]:
    """Return the devices of a node by the position of their group in its problem, which `made` makes.

    That is done once for all nodes that are equal: with a thousand devices that all of them see it takes milliseconds.
    """
    key = exactly(fleet, node)
    devices = fleet.scan.views.view(node).devices
    positions = fleet.survey.positions
    if key not in positions:
        at = {item.id: position for position, item in enumerate(devices)}
        positions[key] = tuple(tuple(at[device] for device in group.devices) for group in made().groups)
    return {group: [devices[at].id for at in mine] for group, mine in enumerate(positions[key])}
