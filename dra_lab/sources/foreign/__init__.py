"""Hardware without DRA: the topology file of one server, made into the slices of equal nodes.

    cluster = make_cluster(read_inventory("dgx.xml"), count=8)

A new format is one module here and one row of `XML_FORMATS` in `reading`.
"""

from dra_lab.sources.foreign.inventory import Inventory
from dra_lab.sources.foreign.made_slices import make_cluster
from dra_lab.sources.foreign.reading import decode_inventory, read_inventory

__all__ = ["Inventory", "decode_inventory", "make_cluster", "read_inventory"]
