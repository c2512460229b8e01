"""The arguments of the public questions: what they take, and what they refuse by name."""

import math
from functools import cache
from pathlib import Path

import msgspec
import pytest

from dra_lab import (
    NodeType,
    PodGroup,
    Scenario,
    Workload,
    how_many_more,
    largest_job,
    load_cluster,
    make_plan,
    make_room,
    nodes_to_add,
    plan_scenarios,
    read_sketch,
    stranded,
)
from dra_lab.errors import InputError
from dra_lab.model.headroom import Bounded
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.planner.fleet import plan_fleet
from dra_lab.planner.gangs import plan_gangs

REPRO = Path(__file__).parents[1] / "repro" / "questions"
CLUSTER = load_cluster(REPRO / "six_nodes.json")
CLAIM = read_sketch(REPRO / "two_gpus_one_nic.dralab.yaml")


def pods(replicas=3, claims=CLAIM):
    return Workload("w", claims, replicas=replicas)


def gang(workload=None, replicas=1, name="g", priority=0, **group):
    return Workload(
        name,
        [workload or PodGroup("w", CLAIM, 2, **group)],
        level="rack",
        replicas=replicas,
        priority=priority,
    )


WRONG = {
    "a count beside groups": (lambda: Workload("w", [PodGroup("a", CLAIM)], count=2), "give them to each PodGroup"),
    "a name for a workload": (lambda: how_many_more(CLUSTER, "w"), "what is a drawing or a Workload, not a str"),
    "a gang for a pod": (lambda: largest_job(CLUSTER, gang()), "what is one pod with one claim"),
    "a name for workloads": (lambda: stranded(CLUSTER, "w"), "what is a drawing, a Workload or a list of them"),
    "a name for a scenario": (lambda: plan_scenarios(CLUSTER, CLAIM, ["w"]), "scenarios is a Scenario, not a str"),
    "one workload for a list": (lambda: plan_fleet(CLUSTER, pods()), "workloads is a list of Workload"),
    "sketches for workloads": (lambda: plan_fleet(CLUSTER, [CLAIM]), r"workloads\[0\] is a Workload"),
    "names for workloads": (lambda: plan_fleet(CLUSTER, "w"), "workloads is a list of Workload"),
    "one gang for a list": (lambda: plan_gangs(CLUSTER, gang()), "workloads is a list of Workload"),
    "a node for a type": (lambda: nodes_to_add(CLUSTER, [gang()], types=["n0"]), r"types\[0\] is a NodeType"),
    "a claim of text": (
        lambda: plan_fleet(CLUSTER, [pods(claims=["x"])]),
        r"what\[0\] is a ClaimSketch",
    ),
    "no cluster": (lambda: make_plan(None, CLAIM), "cluster is a Cluster, not a NoneType"),
    "a name": (lambda: make_plan(CLUSTER, "pairs.yaml"), "'pairs.yaml' is not a claim"),
    "a name among workloads": (
        lambda: make_plan(CLUSTER, [pods(), "w"]),
        r"what\[1\] is a drawing",
    ),
    "a node for many pods": (lambda: make_plan(CLUSTER, pods(), node="n0"), "node is for one pod"),
    "goals for gangs": (lambda: make_plan(CLUSTER, gang(), goals=("numa",)), "goals have one order for gangs"),
    "an unknown goal": (lambda: make_plan(CLUSTER, pods(), goals="speed"), "goal 'speed' is not known"),
    "1.5 replicas": (lambda: plan_fleet(CLUSTER, [pods(1.5)]), r"workloads\[0\].replicas is a whole number, not 1.5"),
    "NaN replicas": (lambda: plan_fleet(CLUSTER, [pods(math.nan)]), "replicas is a whole number, not nan"),
    "true replicas": (lambda: plan_fleet(CLUSTER, [pods(True)]), "replicas is a whole number, not True"),
    "half a minimum": (lambda: plan_gangs(CLUSTER, [gang(minimum=1.5)]), r"pods\[0\].minimum is a whole number"),
    "half a priority": (lambda: plan_gangs(CLUSTER, [gang(priority=1.5)]), "priority is a whole number"),
    "slices without a level": (lambda: plan_gangs(CLUSTER, [gang(slices=((2,),))]), r"slices has \(2,\); write"),
    "NaN places": (lambda: NodeType.like("n0", places=math.nan, level="rack"), "nan places"),
    "a limit of text": (lambda: plan_fleet(CLUSTER, [pods()], time_limit="1"), "time_limit is a number of seconds"),
    "a limit of NaN": (lambda: plan_gangs(CLUSTER, [gang()], time_limit=math.nan), "time_limit is a number"),
    "a plan of text": (lambda: how_many_more(CLUSTER, pods(), after="plan"), "after is a plan"),
    "too many replicas": (lambda: plan_fleet(CLUSTER, [pods(1_000_001)]), "want 1,000,001 replicas; at most 1,000,000"),
    "too many gangs": (lambda: plan_gangs(CLUSTER, [gang(replicas=10**9)]), "want 2,000,000,000 replicas; at most"),
    "too many pods of gangs": (lambda: plan_gangs(CLUSTER, [gang(replicas=600_000)]), "want 1,200,000 replicas"),
    "too many to add nodes for": (
        lambda: nodes_to_add(CLUSTER, [pods(2_000_000)], types=[NodeType.like("n0")]),
        "want 2,000,000 replicas",
    ),
}


@pytest.mark.parametrize(("ask", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_argument_is_refused_by_its_name(ask, message):
    """The message says which argument it is and what it has to be."""
    with pytest.raises(InputError, match=message):
        ask()


def test_an_infinite_limit_is_no_limit():
    """Every question has the answer that it has without a limit."""
    assert plan_gangs(CLUSTER, [gang()], time_limit=math.inf).placed
    assert plan_fleet(CLUSTER, [pods()], time_limit=math.inf).proven


def test_what_is_one_pod_many_pods_or_gangs():
    """A drawing is one pod; workloads and lists of drawings are many; a gang makes a plan with gangs."""
    other = msgspec.structs.replace(CLAIM, name="other")
    found = [make_plan(CLUSTER, what) for what in (CLAIM, pods(), [CLAIM, other], [pods(), gang()])]
    assert [type(plan) for plan in found] == [Plan, Plan, Plan, Plan]
    assert found[2].placed == {CLAIM.name: 1, "other": 1}


@pytest.mark.parametrize("what", [CLAIM, pods(), gang()], ids=["pod", "pods", "gang"])
def test_the_pods_of_any_plan_are_there_for_the_next_one(what):
    """With every GPU taken by a plan, nothing fits after it."""
    assert make_plan(CLUSTER, what, after=full()).status is PlanStatus.INFEASIBLE
    assert (
        make_plan(CLUSTER, pods(24), after=make_plan(CLUSTER, what)).placed["w"]
        < make_plan(CLUSTER, pods(24)).placed["w"]
    )


@pytest.mark.parametrize("what", [CLAIM, pods(), gang()], ids=["pod", "pods", "gang"])
def test_equal_plans_are_one_key(what):
    """Two plans of one question are equal, whatever time each took, and so are their clusters."""
    again = load_cluster(REPRO / "six_nodes.json")
    assert len({make_plan(CLUSTER, what), make_plan(again, what)}) == len({CLUSTER, again}) == 1


@cache
def full():
    """Return a plan of gangs that takes every GPU of the cluster."""
    return plan_gangs(CLUSTER, [gang(replicas=12)])


@pytest.mark.parametrize("after", [full])
def test_the_gangs_of_a_plan_count_as_there(after):
    """Nothing is left, proven, whether the plan is of gangs or of their pods."""
    plan = after()
    more, job = how_many_more(CLUSTER, pods(), after=plan), largest_job(CLUSTER, CLAIM, after=plan)
    free = {kind.kind: kind.free for kind in stranded(CLUSTER, [CLAIM], after=plan).kinds}
    assert (more.count, job.scale, job.replicas, free["gpu"]) == (Bounded(0, 0), 0, Bounded(0, 0), 0)


@pytest.mark.parametrize("ask", [make_plan, make_room])
def test_a_plan_says_which_pods_were_there_already(ask):
    """Its question has the pods of the plan that was given as `after`."""
    taken = plan_fleet(CLUSTER, [pods(2)])
    assert ask(CLUSTER, CLAIM, after=taken).question.after == taken.pods


def test_the_pods_of_a_plan_count_as_there_for_gangs():
    """A plan of replicas is taken where a plan of gangs is."""
    taken = plan_fleet(CLUSTER, [pods(24)])
    assert how_many_more(CLUSTER, gang(), after=taken).count.value < how_many_more(CLUSTER, gang()).count.value


@pytest.mark.parametrize("value", [CLUSTER, Scenario("a", CLUSTER, (pods(),))], ids=["cluster", "scenario"])
def test_a_value_with_a_cluster_is_printed_in_a_short_line(value):
    """A cell of a notebook stays readable."""
    assert len(repr(value)) < 300
    assert "\n" not in repr(value)
