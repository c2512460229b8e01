"""Hardware without DRA: the topology file of one server, made into the slices of equal nodes.

    cluster = make_cluster(read_inventory("dgx.xml"), count=8)

A new format is one module here and one row of `XML_FORMATS` in `reading`.
"""
