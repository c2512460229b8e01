"""Where each device sits and how far apart two devices are."""

from dra_lab.topology.distance import DISTANCES, distance
from dra_lab.topology.fabric import FabricBranch, FabricRow, FabricTree, fabric_rows, fabric_tree, fabric_words
from dra_lab.topology.fabric_labels import FabricLabel
from dra_lab.topology.graph import node_graph
from dra_lab.topology.locality import Locality, Place, SkippedDevice, level_value, localities, skipped_devices
from dra_lab.topology.node_tree import Branch, node_tree

__all__ = [
    "DISTANCES",
    "Branch",
    "FabricBranch",
    "FabricLabel",
    "FabricRow",
    "FabricTree",
    "Locality",
    "Place",
    "SkippedDevice",
    "distance",
    "fabric_rows",
    "fabric_tree",
    "fabric_words",
    "level_value",
    "localities",
    "node_graph",
    "node_tree",
    "skipped_devices",
]
