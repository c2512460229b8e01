"""Racks by labels or names, and the rows of a heat map."""

from __future__ import annotations

import pytest

from dra_lab import Cluster
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.pictures.racks import Heat, Racks, grade_words, heat, racks, short_labels


def cluster(*names: str, label: str = "", values: tuple[str, ...] = ()) -> Cluster:
    labels = [{label: value} for value in values] or [{} for _ in names]
    nodes = (Node(metadata=ObjectMeta(name=name, labels=own)) for name, own in zip(names, labels, strict=True))
    return Cluster(nodes=tuple(nodes), name="test")


def test_a_rack_label_says_which_nodes_stand_together():
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
    assert racks(cluster(*names)) is None


def test_the_most_of_any_rack_has_the_highest_grade():
    found = Racks({"r1": ("a",), "r2": ("b",), "r3": ("c",)}, "test")
    rows = heat(found, {"a": (0, 8), "b": (1, 8), "c": (8, 8)})
    assert rows == (Heat("r1", 1, 0, 8, 0), Heat("r2", 1, 1, 8, 1), Heat("r3", 1, 8, 8, 4))


@pytest.mark.parametrize(
    ("most", "words"),
    [(0, ("0",)), (20, ("0", "1–5", "6–10", "11–15", "16–20")), (2, ("0", "", "1", "", "2"))],
)
def test_grades_have_ranges(most: int, words: tuple[str, ...]):
    assert grade_words(most) == words


@pytest.mark.parametrize("most", range(1, 40))
def test_every_value_has_the_grade_of_its_range(most: int):
    found = Racks({str(value): (str(value),) for value in range(most + 1)}, "test")
    rows = heat(found, {str(value): (value, most) for value in range(most + 1)})
    for row in rows:
        low, _, high = grade_words(most)[row.grade].partition("–")
        assert int(low) <= row.value <= int(high or low)


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
    assert short_labels(names) == labels


def test_short_labels_stay_different():
    names = [f"rack-{r}-node-{n}.dc.example" for r in range(3) for n in range(4)]
    assert len(set(short_labels(names))) == len(names)
