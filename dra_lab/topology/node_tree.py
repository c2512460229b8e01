"""The tree of a node: node > socket > NUMA node > PCIe root > switch > device, in bus order, the same every time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_lab.errors import require
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import KINDS
from dra_lab.model.names import DeviceID
from dra_lab.topology.locality import localities
from dra_lab.topology.places import Locality

if TYPE_CHECKING:
    import networkx as nx


TREE_LEVELS = ("socket", "numaNode", "pcieRoot", "switch")
"""The levels between node and device, from the node down."""

UNKNOWN = "unknown"
"""The level of the branch that holds the devices without any known locality."""

_DIGITS = re.compile(r"(\d+)")


class Branch(Struct, frozen=True):
    """A place in the tree: `level` is "node", one of TREE_LEVELS or "unknown"; `path` are the values down to it.

    `devices` sit here and in no deeper branch: GPUs, NICs, CPUs, memory, others, each by PCI address, then by name.
    """

    level: str
    value: str | int
    path: tuple[tuple[str, str | int], ...] = ()
    branches: tuple[Branch, ...] = ()
    devices: tuple[Locality, ...] = ()

    def all_devices(self) -> Iterator[Locality]:
        """Yield the devices of the whole branch, deeper ones first, in the order in which they are drawn."""
        for branch in self.branches:
            yield from branch.all_devices()
        yield from self.devices


def node_tree(cluster: Cluster, node_name: str) -> Branch:
    """Return the tree of a node with every device once. Raises NodeError for a node that the cluster does not have."""
    places: Mapping[DeviceID, Locality] = localities(cluster, node_name)
    known = sorted((locality for locality in places.values() if locality.known), key=device_order)
    unknown = sorted((locality for locality in places.values() if not locality.known), key=device_order)
    tree = _branch("node", node_name, (), known)
    if unknown:
        lost = Branch(UNKNOWN, UNKNOWN, ((UNKNOWN, UNKNOWN),), devices=tuple(unknown))
        tree = Branch(tree.level, tree.value, branches=(*tree.branches, lost), devices=tree.devices)
    return tree


def device_order(locality: Locality) -> tuple[object, ...]:
    """Return the key that orders the devices of one place: kind, PCI address, natural order of the name, driver."""
    name = natural_order(locality.device.device)
    return (KINDS.index(locality.kind), locality.address.lower(), name, locality.device)


def natural_order(text: str) -> tuple[str | int, ...]:
    """Return a key that puts `gpu-2` before `gpu-10`."""
    # ASCII digits only: int() of a long run of exotic digits is neither wanted nor bounded.
    return tuple(
        int(part) if at % 2 and part.isascii() and len(part) < 20 else (part if at % 2 == 0 else 0)
        for at, part in enumerate(_DIGITS.split(text))
    )


def _branch(level: str, value: str | int, path: tuple[tuple[str, str | int], ...], devices: list[Locality]) -> Branch:
    here: list[Locality] = []
    deeper: dict[tuple[str, str | int], list[Locality]] = {}
    below = TREE_LEVELS[TREE_LEVELS.index(level) + 1 :] if level in TREE_LEVELS else TREE_LEVELS
    for locality in devices:
        step = next(((lower, place.value) for lower in below if (place := locality.place(lower)) is not None), None)
        if step is None:
            here.append(locality)
        else:
            deeper.setdefault(step, []).append(locality)
    branches = (
        _branch(lower, name, (*path, (lower, name)), deeper[lower, name])
        for lower, name in sorted(deeper, key=_place_order)
    )
    return Branch(level, value, path, tuple(branches), tuple(here))


def _place_order(step: tuple[str, str | int]) -> tuple[int, bool, int, str]:
    level, value = step
    is_text = isinstance(value, str)
    return (TREE_LEVELS.index(level), is_text, 0 if isinstance(value, str) else value, str(value).lower())


def node_graph(cluster: Cluster, node_name: str) -> nx.DiGraph:
    """Return the tree of a node: edges lead from the node down to the devices.

    A vertex is the path of a place, a tuple of (level, value) beginning with ("node", name), or a DeviceID. Its
    attributes: `level` ("node", "socket", "numaNode", "pcieRoot", "switch", "unknown", "device") and `label`; a device
    has `kind` and `locality` as well. Vertices and edges come in bus order. Raises NodeError for an unknown node.
    """
    require("networkx", "charts")
    # networkx takes a third of a second to import; only who asks for a graph waits for it.
    import networkx as nx

    graph = nx.DiGraph(node=node_name)
    _add(graph, node_tree(cluster, node_name), ("node", node_name))
    return graph


def _add(graph: nx.DiGraph, branch: Branch, root: tuple[str, str]) -> None:
    here = (root, *branch.path)
    graph.add_node(here, level=branch.level, label=str(branch.value))
    for deeper in branch.branches:
        _add(graph, deeper, root)
        graph.add_edge(here, (root, *deeper.path))
    for locality in branch.devices:
        graph.add_node(locality.device, **_device_attributes(locality))
        graph.add_edge(here, locality.device)


def _device_attributes(locality: Locality) -> dict[str, object]:
    return {"level": "device", "label": locality.device.device, "kind": locality.kind, "locality": locality}
