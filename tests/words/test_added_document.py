"""Nodes to add in words: the answer first, then each row, and why no number helps."""

from __future__ import annotations

import dataclasses

import pytest

from dra_lab.model.node_type import AddedCount, AddedNodes, NodeType
from dra_lab.model.plan import PlanStatus
from dra_lab.model.reasons import Shortfall
from dra_lab.model.workload import Workload
from dra_lab.words.capacity_document import added_sentence
from dra_lab.words.frames import frame
from dra_lab.words.shown import in_html, in_words

ANSWER = AddedNodes(
    PlanStatus.OPTIMAL,
    (NodeType.like("n41", cost=3.0),),
    (Workload("train", (), replicas=4),),
    added=(AddedCount("n41", ("b1", "r1"), 2, 6.0), AddedCount("n41", ("b1", "r2"), 18, 54.0, new=True)),
    cost=60.0,
    bound=60.0,
)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "Add 20 nodes (20 × n41, 1 new domain) at a cost of 60 so that all 4 gangs fit."),
        ({"status": PlanStatus.FEASIBLE, "bound": 57.0}, "Best so far: no answer costs less than 57, proven."),
        ({"status": PlanStatus.FEASIBLE, "bound": None}, "Something cheaper may exist."),
        ({"added": (), "cost": 0.0}, "No nodes have to be added: all 4 gangs fit."),
        ({"added": (), "status": PlanStatus.INFEASIBLE}, "No number of these nodes helps, proven"),
        ({"added": (), "status": PlanStatus.STOPPED}, "Not answered"),
    ],
)
def test_the_sentence_says_what_is_proven(changes, words):
    """The first sentence is the answer, with its proof or bound."""
    assert words in added_sentence(dataclasses.replace(ANSWER, **changes))


def test_a_person_reads_each_row():
    """The text has every type and domain with its number and cost."""
    assert [line.split() for line in in_words(ANSWER).splitlines()[-2:]] == [
        ["n41", "b1/r1", "2", "6"],
        ["n41", "b1/r2", "new", "18", "54"],
    ]


def test_a_misfit_says_why():
    """The reasons follow the answer."""
    short = Shortfall("places", "train", "gang 'train' needs 6 pods in one rack", advice="Allow more places.")
    none = dataclasses.replace(ANSWER, status=PlanStatus.INFEASIBLE, added=(), shortfalls=(short,))
    assert "gang 'train' needs 6 pods in one rack. Allow more places." in in_words(none)


def test_html_escapes_names():
    """Names from a cluster are text."""
    row = AddedCount("<b>", ("r",), 1, 1.0)
    assert "<b>" not in in_html(dataclasses.replace(ANSWER, added=(row,)))


def test_a_frame_has_every_row():
    """One row for each type and domain."""
    assert frame(ANSWER)["nodes"].tolist() == [2, 18]
