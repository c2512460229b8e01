"""Find what nodes share: devices that several nodes see, and counters that devices of several nodes draw on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from dra_lab.index.pools import PoolDevice
from dra_lab.model.names import DeviceID
from dra_lab.planner.scan import Scan

_DEVICES, _POOLS, _MEANT = "devices", "pools", "meant"


def coupled_devices(scan: Scan) -> Mapping[DeviceID, tuple[str, ...]]:
    """Return the devices that an ask may mean on more than one node, with these nodes, sorted.

    Slices with `allNodes`, `nodeSelector` or `perDeviceNodeSelection` show one device to several nodes: what a pod on
    one of them takes is gone for the others. One pod runs on one node, so that each node is planned alone for it.
    """
    if not scan.cluster.network_slices:
        return {}
    if _DEVICES not in scan.coupled:
        scan.coupled[_DEVICES] = _coupled_devices(scan)
    found: Mapping[DeviceID, tuple[str, ...]] = scan.coupled[_DEVICES]
    return found


def _coupled_devices(scan: Scan) -> Mapping[DeviceID, tuple[str, ...]]:
    # nodes that see the same far devices together: a pool that many nodes see is gone through once
    identical: dict[tuple[DeviceID, ...], list[str]] = defaultdict(list)
    for name in _looked_at(scan):
        identical[tuple([item.id for item in _meant(scan, name) if item.slice.spec.node_name is None])].append(name)
    seen: dict[DeviceID, list[tuple[str, ...]]] = defaultdict(list)
    for mine, nodes in identical.items():
        names = tuple(nodes)
        for device in mine:
            seen[device].append(names)
    # one tuple for all devices that the same nodes see
    same: dict[tuple[tuple[str, ...], ...], tuple[str, ...]] = {}
    found = {}
    for device, sets in seen.items():
        key = tuple(sets)
        if key not in same:
            same[key] = tuple(sorted(name for nodes in sets for name in nodes))
        if len(same[key]) > 1:
            found[device] = same[key]
    return found


def _looked_at(scan: Scan) -> Iterator[str]:
    """Yield the nodes that were looked at, because the others have no pods, and looking at them takes time again."""
    left_out = set(scan.unseen)
    return (name for name in scan.rules.nodes if name not in left_out)


def coupled_pools(scan: Scan) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return (driver, pool) whose shared counters devices of more than one node draw on, with these nodes, sorted.

    Counters belong to a pool, wherever its devices are (docs/semantics.md 3.10.1): what one node's partition draws
    is gone for the partitions of the others, though no device is seen twice.
    """
    if _POOLS not in scan.coupled:
        seen: dict[tuple[str, str], list[str]] = defaultdict(list)
        for name in _looked_at(scan):
            counted = scan.views.view(name).counted
            for pool in {item.id[:2]: None for item in _meant(scan, name) if counted and item.device.consumes_counters}:
                seen[pool].append(name)
        scan.coupled[_POOLS] = {pool: tuple(nodes) for pool, nodes in seen.items() if len(nodes) > 1}
    found: Mapping[tuple[str, str], tuple[str, ...]] = scan.coupled[_POOLS]
    return found


def _meant(scan: Scan, name: str) -> list[PoolDevice]:
    """Return the devices of a node that some ask means; their positions are found once for all identical nodes."""
    views = scan.views
    identical = tuple([views.answers(ask, name).by_node[name] for ask in scan.rules.asks])
    if (_MEANT, identical) not in scan.coupled:
        reached = zip(*(views.stages(ask, name) for ask in scan.rules.asks), strict=True)
        scan.coupled[_MEANT, identical] = [at for at, stages in enumerate(reached) if "match" in stages]
    devices = views.view(name).devices
    return [devices[at] for at in scan.coupled[_MEANT, identical]]
