"""Racks by labels or names, and the rows of a heat map."""

from __future__ import annotations

import pytest

from dra_lab import Cluster
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.pictures.racks import Heat, Racks, grade_words, heat, racks


def cluster(*names: str, label: str = "", values: tuple[str, ...] = ()) -> Cluster:
    """Make a cluster of nodes, with a label if there are values for it."""
    labels = [{label: value} for value in values] or [{} for _ in names]
    nodes = (Node(metadata=ObjectMeta(name=name, labels=own)) for name, own in zip(names, labels, strict=True))
    return Cluster(nodes=tuple(nodes), name="test")


def test_a_rack_label_says_which_nodes_stand_together():
    """The label goes before the names."""
    world = cluster("a-1", "b-1", "a-2", label="topology.kubernetes.io/rack", values=("r1", "r1", "r2"))
    found = racks(world)
    assert dict(found.nodes) == {"r1": ("a-1", "b-1"), "r2": ("a-2",)}


def test_without_labels_names_that_begin_alike_are_a_rack():
    """`h100-r38-02` stands in `h100-r38`."""
    found = racks(cluster("h100-r38-01", "h100-r38-02", "h100-r39-01", "h100-r39-02"))
    assert list(found.nodes) == ["h100-r38", "h100-r39"]
    assert found.source == "names of the nodes"


@pytest.mark.parametrize("names", [("node-1", "node-2", "node-3"), ("a", "b", "c")])
def test_names_that_tell_no_racks_give_none(names: tuple[str, ...]):
    """One group of all nodes, or a group for each, is no rack."""
    assert racks(cluster(*names)) is None


def test_the_most_of_any_rack_has_the_highest_grade():
    """Nothing is grade 0, and a little is never grade 0."""
    found = Racks({"r1": ("a",), "r2": ("b",), "r3": ("c",)}, "test")
    rows = heat(found, {"a": (0, 8), "b": (1, 8), "c": (8, 8)})
    assert rows == (Heat("r1", 1, 0, 8, 0), Heat("r2", 1, 1, 8, 1), Heat("r3", 1, 8, 8, 4))


@pytest.mark.parametrize(
    ("most", "words"),
    [(0, ("0",)), (20, ("0", "1–5", "6–10", "11–15", "16–20")), (2, ("0", "", "1", "", "2"))],
)
def test_grades_have_ranges(most: int, words: tuple[str, ...]):
    """Ranges do not overlap; grades that no number has are empty."""
    assert grade_words(most) == words


@pytest.mark.parametrize("most", range(1, 40))
def test_every_value_has_the_grade_of_its_range(most: int):
    """What the legend says of a colour holds for each cell."""
    found = Racks({str(value): (str(value),) for value in range(most + 1)}, "test")
    rows = heat(found, {str(value): (value, most) for value in range(most + 1)})
    for row in rows:
        low, _, high = grade_words(most)[row.grade].partition("–")
        assert int(low) <= row.value <= int(high or low)
