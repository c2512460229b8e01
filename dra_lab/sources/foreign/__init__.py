"""Hardware without DRA: topology files of other tools, joined, made into slices or laid over real ones.

    cluster = make_cluster(read_inventory("topo.txt", "dgx.xml"), count=8)
    cluster = with_overlay(load_cluster("cluster.json"), read_inventory("dgx.xml"))

A new format is one module here and one row of `XML_FORMATS` in `reading`.
"""

from dra_lab.sources.foreign.inventory import FACTS, CpuNode, Fact, Inventory, InventoryDevice, pci_address
from dra_lab.sources.foreign.inventory_tables import inventory_frame
from dra_lab.sources.foreign.joining import join
from dra_lab.sources.foreign.made_slices import make_cluster
from dra_lab.sources.foreign.reading import decode_inventory, is_topology, read_inventory
from dra_lab.sources.foreign.topology_overlay import with_overlay

__all__ = [
    "FACTS",
    "CpuNode",
    "Fact",
    "Inventory",
    "InventoryDevice",
    "decode_inventory",
    "inventory_frame",
    "is_topology",
    "join",
    "make_cluster",
    "pci_address",
    "read_inventory",
    "with_overlay",
]
