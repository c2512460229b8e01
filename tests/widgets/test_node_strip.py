"""The rows of the node strip: labels, words for the state of a node, order, racks of a large cluster."""

from __future__ import annotations

import pytest
from checked_plans import checked_plan

from dra_lab import read_sketch
from dra_lab.sources import load_cluster
from dra_lab.widgets.device_rows import fleet, node_use


@pytest.fixture(scope="module")
def p4d():
    """Four nodes, of which one is idle and one full, with the plan of two pairs."""
    cluster = load_cluster("sample:eks-p4d")
    return cluster, checked_plan(cluster, read_sketch("sample:eks-p4d/gpu-nic-pairs"))


@pytest.fixture(scope="module")
def racks():
    """Four trays with the labels of their rack, with the plan of one pair, which fits on none of them."""
    cluster = load_cluster("sample:oke-gb200")
    return cluster, checked_plan(cluster, read_sketch("sample:oke-gb200/one-pair"))


def test_the_plans_node_is_first_and_those_that_do_not_fit_are_last(p4d):
    """Each with what tells it apart, and its state in a word."""
    strip = fleet(*p4d)
    assert strip.items[0].id == strip.best
    assert [(item.label, item.fit, item.word) for item in strip.items] == [
        ("128-17", "best", ""),
        ("140-52", "best", "idle"),
        ("149-201", "best", ""),
        ("158-9", "no", "full"),
    ]


def test_a_node_is_full_where_all_its_gpus_are_in_use(p4d):
    """Its NICs may be free."""
    cluster, _ = p4d
    use = {name.split(".")[0].rpartition("168-")[2]: node_use(cluster, name) for name in cluster.node_names}
    assert use == {"128-17": (False, False), "140-52": (True, False), "149-201": (False, False), "158-9": (False, True)}


def test_a_node_that_does_not_fit_says_whether_it_would_if_idle(p4d):
    """The tooltip has the whole sentence."""
    assert fleet(*p4d).items[-1].detail == "does not fit now; would if it were idle"


def test_many_nodes_have_a_heat_map_of_their_racks(racks, monkeypatch):
    """A cell counts the nodes of its rack that can take the drawing, and offers a node to look at."""
    monkeypatch.setattr("dra_lab.pictures.node_strip.MOST_TILES", 2)
    strip = fleet(*racks)
    assert strip.kind == "classes"
    assert [cell.words.partition(": ")[2] for cell in strip.heat.cells] == ["the drawing fits on 0 of 2 nodes"] * 2
    assert all(cell.id in racks[0].node_by_name for cell in strip.heat.cells)


def test_the_innermost_level_stands_for_racks(p4d, monkeypatch):
    """The nodes have no label for a rack, and one for their nearest switch."""
    monkeypatch.setattr("dra_lab.pictures.node_strip.MOST_TILES", 2)
    heat = fleet(*p4d).heat
    assert heat.title == "Fitting nodes by leaf switch"
    assert len(heat.cells) == 2


def test_without_racks_there_is_no_heat_map(monkeypatch):
    """Two nodes of one zone, whose names have nothing in common."""
    monkeypatch.setattr("dra_lab.pictures.node_strip.MOST_TILES", 1)
    cluster = load_cluster("sample:two-sockets")
    assert fleet(cluster, None).heat.cells == ()


def test_the_nearest_node_of_a_misfit_comes_first_with_its_pairs():
    """How far the claim gets is known of this node; the others say that it does not fit."""
    cluster = load_cluster("sample:eks-p4d")
    strip = fleet(cluster, checked_plan(cluster, read_sketch("sample:eks-p4d/five-pairs")))
    assert [(item.label, item.word) for item in strip.items][:2] == [
        ("140-52", "4 of 5 pairs"),
        ("128-17", "does not fit"),
    ]
