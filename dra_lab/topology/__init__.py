"""Where each device sits and how far apart two devices are."""

from dra_lab.topology.distance import DISTANCES, distance
from dra_lab.topology.graph import node_graph
from dra_lab.topology.hierarchies import hierarchies, hierarchy_findings
from dra_lab.topology.locality import Locality, Place, SkippedDevice, level_value, localities, skipped_devices
from dra_lab.topology.node_tree import Branch, node_tree

__all__ = [
    "DISTANCES",
    "Branch",
    "Locality",
    "Place",
    "SkippedDevice",
    "distance",
    "hierarchies",
    "hierarchy_findings",
    "level_value",
    "localities",
    "node_graph",
    "node_tree",
    "skipped_devices",
]
