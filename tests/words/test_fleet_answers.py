"""Answers about fleets: sentence, text, JSON and tables hold every row and claim no more than is proven."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import pytest
from checked_plans import checked_fleet

from dra_lab import Scenario, plan_scenarios
from dra_lab.cli.output import status_of
from dra_lab.model.goals import GoalValue
from dra_lab.model.headroom import Bounded, Fit, Headroom, LargestJob, Stranded, StrandedKind, StrandedNodes
from dra_lab.model.node_type import AddedCount, AddedNodes, NodeType
from dra_lab.model.placement import PlacedPod
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Shortfall
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import Question, Workload
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.capacity_document import added_sentence, headroom_sentence, job_sentence, stranded_sentence
from dra_lab.words.document import as_text
from dra_lab.words.frames import frame
from dra_lab.words.plan_document import AfterPlan, plan_parts, short_parts
from dra_lab.words.plan_json import plain_value, plan_json, pod_outcome
from dra_lab.words.shown import in_words
from dra_lab.words.workload_words import stranded_words

PAIRS = "sample:eks-p4d/gpu-nic-pairs"


@pytest.fixture(scope="module")
def cluster():
    return load_cluster("sample:eks-p4d")


@pytest.fixture(scope="module")
def plan(cluster) -> Plan:
    """Give a plan for eight replicas, of which four fit."""
    return checked_fleet(
        cluster, [Workload("pairs", (read_sketch(PAIRS),), replicas=8)], release=KubernetesRelease("1.36")
    )


def a_fleet(status: PlanStatus, *goals: GoalValue, wanted: int = 8) -> Plan:
    """Return a plan with goals and nothing placed."""
    return Plan(status, Question((Workload("w", (), replicas=wanted),)), goals=goals)


def test_what_is_not_proven_is_reported_with_its_bound():
    unplaced = GoalValue("unplaced", 5, bound=2)
    fleet = a_fleet(PlanStatus.FEASIBLE, unplaced, GoalValue("roots", 9, bound=7))
    sentence = answer_sentence(replace(fleet, pods=tuple(PlacedPod("w", at, "n1", ()) for at in range(3))))
    assert "at most 6 could, not proven" in sentence
    assert "(at least 7)" in sentence
    assert ", proven" not in sentence


@pytest.mark.parametrize(
    ("fleet", "status"),
    [
        (a_fleet(PlanStatus.OPTIMAL, GoalValue("unplaced", 0, 0, proven=True)), 0),
        (a_fleet(PlanStatus.FEASIBLE, GoalValue("unplaced", 0, 0, proven=True)), 0),
        (a_fleet(PlanStatus.OPTIMAL, GoalValue("unplaced", 3, 3, proven=True)), 1),
        (a_fleet(PlanStatus.FEASIBLE, GoalValue("unplaced", 3, 1)), 1),
        (a_fleet(PlanStatus.FEASIBLE, GoalValue("unplaced", 3, 0)), 2),
        (a_fleet(PlanStatus.FEASIBLE, GoalValue("unplaced", 3)), 2),
        (a_fleet(PlanStatus.INFEASIBLE, GoalValue("unplaced", 8, 8, proven=True)), 1),
        (a_fleet(PlanStatus.STOPPED), 2),
    ],
)
def test_the_exit_status_is_0_only_when_all_are_placed_and_1_only_with_a_proof(fleet, status):
    """0: all placed; 1: proven that not all fit; 2: not decided."""
    assert status_of(pod_outcome(fleet)) == status


def test_tables_hold_every_device_of_every_replica(plan, cluster):
    assert len(frame(plan)) == sum(len(replica.devices) for replica in plan.pods)
    assert list(frame(plan, "goals")["goal"]) == [goal.goal for goal in plan.goals]
    assert frame(plan, "workloads").to_dict("records") == [{"workload": "pairs", "wanted": 8, "placed": 4, "nodes": 3}]


def test_numbers_that_are_not_proven_are_ranges():
    headroom = Headroom(
        "w", Bounded(2, 5), (Fit("w", "node", ("a", "b"), Bounded(1, 2)), Fit("w", "node", ("c",), Bounded(0, 1)))
    )
    job = LargestJob("c", 2, 4, Bounded(3, 9), "a")
    kinds = (StrandedKind("gpu", 8, 5, 7),)
    lost = Stranded(("c",), kinds, (StrandedNodes(("a", "b"), kinds),))
    assert headroom_sentence(headroom) == "w: at least 2 more, at most 5; not proven"
    assert "at most 4 times; not proven" in job_sentence(job)
    assert stranded_sentence(lost) == "Stranded: 3 of 8 free GPUs (at least 1; not proven)."
    parts = Stranded(("c",), (StrandedKind("gpu", 19, 7, 7, partitions=18),))
    assert "12 of 19 free GPUs (at least 0; 18 of these are partitions" in stranded_sentence(parts)
    assert not parts.proven
    assert [plain_value(headroom)["proven"], plain_value(job)["proven"], plain_value(lost)["proven"]] == [False] * 3
    assert list(frame(headroom)["where"]) == ["a", "b", "c"]
    assert list(frame(lost)["stranded"]) == [3, 3]


def test_every_text_on_what_is_stranded_says_that_nodes_were_not_examined():
    kinds = (StrandedKind("gpu", 8, 5, 5),)
    lost = Stranded(("c",), kinds, (StrandedNodes(("a",), kinds),), not_examined=2)
    assert stranded_sentence(lost) == "Stranded: 3 of 8 free GPUs. 2 nodes not examined before the time limit."
    assert "2 nodes not examined" in as_text(plan_parts(a_fleet(PlanStatus.INFEASIBLE), after=AfterPlan(stranded=lost)))
    assert stranded_words(lost) == (("3 GPUs", "stranded, proven, on the nodes examined"),)
    assert (plain_value(lost)["notExamined"], plain_value(lost)["proven"]) == (2, False)
    assert stranded_sentence(Stranded(("c",), (), not_examined=1)) == "1 node not examined before the time limit."


def test_many_nodes_that_hold_the_same_are_one_row():
    """Above MANY nodes, equal ones stand in one row of the text with their number; JSON names every one."""
    names = tuple(f"n{number:02}" for number in range(60))
    plan = Plan(PlanStatus.OPTIMAL, Question((Workload("w", (), replicas=60),)), pods=tuple(map(on, names)))
    lost = Stranded(("c",), (StrandedKind("gpu", 60, 0, 0),), (StrandedNodes(names, (StrandedKind("gpu", 1, 0, 0),)),))
    text = as_text(plan_parts(plan, after=AfterPlan(stranded=lost)))
    assert text.count("n00, n01 and 58 more") == 2
    assert "n07" not in text
    assert sum(map(len, plan_json(plan)["pods"]["pages"])) == 60


def on(node):
    return PlacedPod("w", 0, node, ())


def test_the_short_form_names_eight_nodes_and_counts_the_others():
    """A long list of nodes is for -v and JSON."""
    replicas = tuple(on(f"node-{number:02}") for number in range(11))
    plan = Plan(PlanStatus.OPTIMAL, Question((Workload("w", (), replicas=11),)), pods=replicas)
    text = as_text(short_parts(plan))
    assert (text.count("node-"), "and 3 more" in text) == (8, True)


def test_scenarios_are_rows_with_their_errors(cluster):
    wanted = [Workload("pairs", read_sketch(PAIRS), replicas=8)]
    asked = [
        Scenario("a"),
        Scenario("b", what=read_sketch(PAIRS), node="nowhere"),
    ]
    rows = frame(plan_scenarios(cluster, wanted, asked, jobs=1, progress=False)).to_dict("records")
    assert [rows[0][key] for key in ("status", "placed", "wanted")] == ["optimal", 4, 8]
    assert (rows[1]["status"], "nowhere" in rows[1]["error"]) == ("not answered", True)


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
    assert words in added_sentence(dataclasses.replace(ANSWER, **changes))


def test_a_person_reads_each_row():
    assert [line.split() for line in in_words(ANSWER).splitlines()[-2:]] == [
        ["n41", "b1/r1", "2", "6"],
        ["n41", "b1/r2", "new", "18", "54"],
    ]


def test_a_misfit_says_why():
    short = Shortfall("places", "train", "gang 'train' needs 6 pods in one rack", advice="Allow more places.")
    none = dataclasses.replace(ANSWER, status=PlanStatus.INFEASIBLE, added=(), shortfalls=(short,))
    assert "gang 'train' needs 6 pods in one rack. Allow more places." in in_words(none)


def test_a_frame_has_every_row():
    assert frame(ANSWER)["nodes"].tolist() == [2, 18]
