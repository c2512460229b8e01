"""Where each device sits and how far apart two devices are."""

from dra_lab.topology.hierarchies import hierarchies, hierarchy_findings
from dra_lab.topology.locality import Locality, Place, SkippedDevice, level_value, localities, skipped_devices
from dra_lab.topology.node_tree import Branch, node_graph, node_tree
from dra_lab.topology.places import DISTANCES, distance

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
