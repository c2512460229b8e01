"""The fleet strip."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from small_plans import a_plan, hostile_plan

from dra_lab.model.headroom import NodeClass, NodeFit
from dra_lab.pictures.node_strip import fleet_svg, fleet_tiles, short_labels


def large_plan():
    """A plan over 100 nodes in three classes."""
    names = [f"node-{n:03}" for n in range(100)]
    return a_plan(
        node="node-007",
        node_classes=(
            NodeClass(tuple(names[90:]), NodeFit.NO),
            NodeClass(tuple(names[:60]), NodeFit.BEST),
            NodeClass(tuple(names[60:90]), NodeFit.WORSE),
        ),
    )


def test_a_small_cluster_has_a_tile_a_node_by_name():
    """Every node once, in the order of names, the plan's node marked."""
    tiles = fleet_tiles(a_plan())
    assert [(tile["node"], tile["fit"], tile["selected"]) for tile in tiles] == [
        ("n1", "best", True),
        ("n2", "worse", False),
        ("n3", "no", False),
    ]


def test_a_large_cluster_has_a_tile_a_class_most_nodes_first():
    """Above 64 nodes identical ones share a tile; the plan's node stands for its own."""
    tiles = fleet_tiles(large_plan())
    assert [(tile["node"], tile["count"]) for tile in tiles] == [("node-007", 60), ("node-060", 30), ("node-090", 10)]
    assert tiles[0]["title"] == "node-007, one of 60 identical nodes: fits as well as the best"


def test_a_misfit_tells_whether_it_would_fit_when_idle():
    """The missing devices are in use, or never existed."""
    assert fleet_tiles(a_plan())[2]["title"] == "n3: does not fit, even if idle"


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["ip-10-0-128-17.ec2.internal", "ip-10-0-140-52.ec2.internal"], ["128-17", "140-52"]),
        (["node-01", "node-02"], ["node-01", "node-02"]),
        (["ip-10-0-1.ec2.internal", "ip-10-0-2.ec2.internal"], ["10-0-1", "10-0-2"]),
        (["a", "b-c"], ["a", "b-c"]),
        (["x.one", "x.two"], ["x.one", "x.two"]),
        (["10.0.0.1", "10.0.0.2"], ["10.0.0.1", "10.0.0.2"]),
        (["only.example.org"], ["only"]),
    ],
)
def test_labels_lose_what_they_share(names: list[str], labels: list[str]):
    """A tile shows what tells nodes apart, and at least four characters."""
    assert short_labels(names) == labels


def test_short_labels_stay_different():
    """No two nodes get the same label."""
    names = [f"rack-{r}-node-{n}.dc.example" for r in range(3) for n in range(4)]
    assert len(set(short_labels(names))) == len(names)


@pytest.mark.parametrize("plan", [a_plan(), large_plan(), hostile_plan()], ids=["small", "large", "hostile"])
def test_the_strip_is_well_formed_and_has_a_tile_each(plan):
    """One group a tile, whatever the names are."""
    root = ET.fromstring(fleet_svg(plan))
    assert len([e for e in root.iter() if e.get("class") == "dra-hw-tile"]) == len(fleet_tiles(plan))
    assert not [e for e in root.iter() if e.tag.endswith(("img", "script"))]
