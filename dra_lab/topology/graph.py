"""The tree of a node as a networkx graph, for analysis and for the graph page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_lab.errors import require
from dra_lab.model.cluster import Cluster
from dra_lab.topology.locality import Locality
from dra_lab.topology.node_tree import Branch, node_tree

if TYPE_CHECKING:
    import networkx as nx


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
