"""The verdict: what kube-scheduler does, the short cause, the changes that help, the figures and what explains them."""

from __future__ import annotations

import pytest
from checked_plans import checked_plan
from msgspec.structs import replace
from small_plans import a_plan

from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.goals import GOAL_WORDS, GoalValue
from dra_lab.model.headroom import Bounded, Headroom
from dra_lab.model.plan import PlanStatus
from dra_lab.model.sketch import ClaimSketch, How
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster
from dra_lab.words.comparison import ROWS
from dra_lab.words.facts import GLOSSARY, goal_words, proof_words
from dra_lab.words.verdict import cause, fixes, pairs_note, tiles


@pytest.fixture(scope="module")
def cluster():
    return load_cluster("sample:eks-p4d")


@pytest.fixture(scope="module")
def pairs(cluster):
    return checked_plan(cluster, read_sketch("sample:eks-p4d/gpu-nic-pairs"))


@pytest.fixture(scope="module")
def misfit(cluster):
    return checked_plan(cluster, read_sketch("sample:eks-p4d/five-pairs"))


def test_the_figures_of_pairs_stand_beside_each_other(pairs):
    """The plan and both of kube-scheduler's choices are counted in the same way."""
    found = [(tile.value, tile.caption) for tile in tiles(pairs)]
    assert found == [("2 of 2", "GPUs paired"), ("2 of 2", "scheduler, this YAML"), ("1 of 2", "scheduler, no links")]


def test_every_figure_says_what_it_counts_and_where_it_comes_from(pairs, misfit):
    every = [*tiles(pairs, Headroom("claim", Bounded(3, 4))), *tiles(misfit), *tiles(a_plan(), counting=True)]
    assert [tile.caption for tile in every if not tile.title or tile.lines[0] not in GLOSSARY.values()] == []


FOUR = Headroom("claim", Bounded(4, 4))


@pytest.mark.parametrize(
    ("headroom", "caption", "proof"),
    [
        (FOUR, "copies fit, proven", "Proven: no more than 4 fit."),
        (
            Headroom("claim", Bounded(4, 7)),
            "copies fit, at least",
            "At least 4, at most 7: the time for counting was up.",
        ),
        (
            Headroom("claim", Bounded(10_000)),
            "copies fit, at least",
            "At least 10,000",
        ),
    ],
)
def test_copies_are_reported_with_their_bound(pairs, headroom, caption, proof):
    tile = tiles(pairs, headroom)[1]
    assert (tile.caption, tile.lines[1].startswith(proof)) == (caption, True)


def test_how_many_nodes_would_serve_an_idle_cluster_is_explained_with_the_copies(pairs):
    assert "would fit on all 4 if nothing else were running" in tiles(pairs, FOUR)[1].lines[-1]


def test_the_cause_of_a_misfit_is_short(cluster, misfit):
    assert cause(misfit, cluster) == "No node has 5 free RDMA NICs. The most that one node has is 4."


def test_a_class_without_devices_names_those_that_there_are():
    gpus = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.nvidia.com"))
    mig = load_cluster("sample:mig")
    plan = checked_plan(mig, ClaimSketch(requests=(gpus,)))
    assert cause(plan, mig) == "No node has a device of class gpu.nvidia.com. This cluster has mig.nvidia.com."


def test_a_link_that_cannot_hold_is_reported_by_its_place(cluster):
    drawn = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    together = replace(drawn, links=tuple(replace(link, how=How.TOGETHER) for link in drawn.links))
    sentence = cause(checked_plan(cluster, together), cluster)
    assert sentence == "No PCIe root has all 4 devices. The most on one are 3."


def test_a_misfit_offers_at_most_three_changes_with_what_they_bring(misfit):
    found = fixes(misfit)
    assert [(fix.title, fix.brings) for fix in found[:2]] == [
        ("Drop the selector “rdma” of nic", "fits on 3 of 4 nodes"),
        ("Ask for gpu ×4 and nic ×4", "fits on 1 of 4 nodes"),
    ]
    assert all(misfit.suggestions[fix.number].sketch is not None for fix in found)


def test_how_near_a_misfit_is_has_a_figure(misfit):
    (tile,) = tiles(misfit)
    assert (tile.value, tile.caption) == ("4 of 5", "pairs, most on one node")


def test_the_nearest_node_says_how_many_pairs_find_no_place(misfit):
    found = "4 of 5 pairs of gpu and nic fit here, each on one PCIe root. No place is left for 1 pair."
    nodes = [name for fit in misfit.node_classes for name in fit.members]
    assert {name: note for name in nodes if (note := pairs_note(misfit, name))} == {misfit.shortfalls[0].node: found}


VALUES = [
    (GoalValue("unpaired", 1, of=2), "1 of 2 GPUs paired"),
    (GoalValue("unpaired", 1), "1 GPU unpaired"),
    (GoalValue("numa", 2), "2 NUMA nodes"),
    (GoalValue("numa", 2, unknown=1), "1 NUMA node, NUMA node of 1 device unknown"),
    (GoalValue("preferences", 1), "1 preferred link broken"),
    (GoalValue("damage", 3, at_most=True), "at most 3 copies fewer fit beside it"),
]


@pytest.mark.parametrize(("goal", "words"), VALUES)
def test_a_value_of_a_goal_has_one_wording(goal, words):
    assert goal_words(goal) == words


def test_an_unproven_plan_names_what_is_open_with_its_bound():
    """The bound is in the words of the goal: of pairs it is the most that could be paired."""
    goals = (GoalValue("numa", 3, 1), GoalValue("unpaired", 1, 0, of=2))
    words = proof_words(a_plan(status=PlanStatus.FEASIBLE, goals=goals))
    assert words == "best so far, not proven (3 NUMA nodes, bound 1; 1 of 2 GPUs paired, bound 2 of 2)"


def test_every_goal_and_every_row_of_a_comparison_has_a_meaning():
    assert {*GOAL_WORDS, *ROWS} - GLOSSARY.keys() == set()


def test_a_meaning_is_whole_sentences():
    assert [name for name, text in GLOSSARY.items() if not (text[0].isupper() or text[0].isdigit())] == []
    assert [name for name, text in GLOSSARY.items() if not text.endswith(".")] == []
