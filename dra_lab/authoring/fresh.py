"""The devices of the nodes that see something else since a change of a cluster that is followed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.pools import PoolDevice, devices_on, gather_pools, nodes_seeing
from dra_lab.model.shelf import Change
from dra_lab.model.slices import ResourceSlice


@dataclass(frozen=True)
class Fresh:
    """What nodes see that saw something else before a change, by name of the node; a node that went sees nothing.

    It is for clusters in which every node sees its own devices only: then devices stand by node in all lists.
    """

    by_node: Mapping[str, tuple[PoolDevice, ...]]

    @classmethod
    def since(cls, cluster: Cluster, change: Change) -> Fresh | None:
        """Return what is different in a cluster since a change; None where one node's devices are seen by others.

        Worked out once: the catalogue asks, and every request and offer.
        """
        return change.find("devices", lambda: cls._since(cluster, change))

    @classmethod
    def _since(cls, cluster: Cluster, change: Change) -> Fresh | None:
        seeing = nodes_seeing(cluster, change)
        if seeing is None or cluster.network_slices or not all(map(_own, (*cluster.counter_slices, *change.gone))):
            return None
        found: dict[str, tuple[PoolDevice, ...]] = {}
        seen: set[DeviceID] = set()
        for name in sorted(seeing):
            devices = devices_on(gather_pools(cluster, name)) if name in cluster.node_by_name else ()
            # two nodes may publish the same device (docs/semantics.md 3.2.13): it counts for the first
            found[name] = tuple({item.id: item for item in devices if item.id not in seen}.values())
            seen.update(item.id for item in found[name])
        return cls(found)

    @property
    def items(self) -> tuple[PoolDevice, ...]:
        """Return all devices that these nodes see now."""
        return tuple(item for items in self.by_node.values() for item in items)

    def spliced(
        self, before: tuple[PoolDevice, ...], wanted: Callable[[PoolDevice], bool] = lambda _: True
    ) -> tuple[tuple[PoolDevice, ...], tuple[PoolDevice, ...]]:
        """Return a list that stands by node with what is `wanted` now in place of these nodes' devices, and those."""
        found, gone = list(before), []
        for name, items in self.by_node.items():
            first, last = bisect_left(found, name, key=_node), bisect_right(found, name, key=_node)
            gone += found[first:last]
            found[first:last] = filter(wanted, items)
        return tuple(found), tuple(gone)


def _node(item: PoolDevice) -> str:
    return item.slice.spec.node_name or ""


def _own(slice_: ResourceSlice) -> bool:
    """Say whether no other node sees a slice's devices (docs/semantics.md 3.2.2, 3.2.3)."""
    return bool(slice_.spec.node_name) and not (slice_.spec.shared_counters is not None and slice_.spec.devices)
