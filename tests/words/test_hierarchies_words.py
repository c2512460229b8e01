"""The line about the hierarchies of a cluster."""

from __future__ import annotations

import pytest
from labelled_nodes import BLOCK, CLIQUE, HOST, RACK, ZONE, labelled, topology

from dra_lab.model.cluster import Cluster
from dra_lab.words.cluster_document import hierarchy_line

GKE = "cloud.google.com/gce-topology-"


@pytest.mark.parametrize(
    ("world", "line"),
    [
        (labelled({}, {}), ""),
        (labelled({ZONE: "a"}, {ZONE: "b"}), "2 zones of 1 node"),
        (
            labelled(*({ZONE: "a", BLOCK: f"b{n // 4}", RACK: f"r{n // 2}"} for n in range(7))),
            "1 zone · 2 blocks · 4 racks of 1 to 2 nodes",
        ),
        (labelled({f"{GKE}block": "b"}, {BLOCK: "B"}), "1 block (GKE) of 1 node · 1 block (Kueue) of 1 node"),
        (labelled(*({CLIQUE: f"u{n // 2}.0"} for n in range(4))), "2 NVLink domains of 2 nodes"),
        (
            labelled(*({CLIQUE: f"u.{n // 2}"} for n in range(4))),
            "1 NVLink domain · 2 NVLink partitions of 2 nodes",
        ),
        (
            labelled(*({CLIQUE: f"u{n // 2}.0"} for n in range(4)), objects=(topology(CLIQUE, HOST),)),
            "2 NVLink partitions of 2 nodes",
        ),
        (
            labelled(*({ZONE: "z", RACK: f"r{n // 2}"} for n in range(4)), objects=(topology(ZONE, RACK, HOST),)),
            "1 zone · 2 racks of 2 nodes",
        ),
        (labelled({RACK: "a"}, objects=(topology(BLOCK, HOST),)), "1 rack of 1 node"),
    ],
)
def test_the_line_counts_the_domains_of_each_level(world: Cluster, line: str):
    assert hierarchy_line(world) == line


def test_a_line_that_is_not_known_yet_is_empty():
    """It takes a tenth of a second for 5,000 nodes, which a cell of the bar does not wait for."""
    world = labelled({RACK: "a"})
    assert [hierarchy_line(world, known=True), hierarchy_line(world), hierarchy_line(world, known=True)] == [
        "",
        "1 rack of 1 node",
        "1 rack of 1 node",
    ]


def test_new_topology_objects_give_a_new_line():
    world = labelled({"x/row": "a"})
    hierarchy_line(world)
    assert hierarchy_line(world.with_objects(topologies=(topology("x/row", HOST),))) == "1 row of 1 node"
