"""What is asked of gangs: levels and slices that make no sense, time that is over, and nodes that are cordoned."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from checked_gangs import checked_gangs
from random_gangs import cordon, hierarchy_of

from dra_lab import PodGroup, Workload, load_cluster, read_sketch
from dra_lab.errors import InputError
from dra_lab.model.plan import PlanStatus

CLUSTER = load_cluster("sample:two-sockets")
FABRIC = hierarchy_of({"lab-1": ("b", "r1"), "lab-2": ("b", "r2")})
OTHER = hierarchy_of({"lab-1": ("x", "y"), "lab-2": ("x", "y")}, "other")
PODS = PodGroup("worker", read_sketch("sample:two-sockets/lesson"), count=2)
TRAIN = Workload("train", [PODS], level="rack")

WRONG = {
    "no hierarchy has 'island'": replace(TRAIN, level="island"),
    "there is no hierarchy 'nvlink'": replace(TRAIN, hierarchy="nvlink"),
    "pods without claims": replace(TRAIN, pods=()),
    "starts without any pod": replace(TRAIN, pods=[replace(PODS, minimum=0)]),
    "give it one": replace(TRAIN, pods=[replace(PODS, leader=True)]),
    "must divide 2": replace(TRAIN, pods=[replace(PODS, slices=((3, "host"),))]),
    "outside the level before": replace(TRAIN, pods=[replace(PODS, slices=((2, "block"),))]),
    "which is outside 'rack' of the gang": replace(TRAIN, pods=[replace(PODS, level="block")]),
    "at least 3": replace(TRAIN, pods=[replace(PODS, minimum=3)]),
    "two groups 'worker'": replace(TRAIN, pods=[PODS, PODS]),
}


@pytest.mark.parametrize("words", WRONG)
def test_a_gang_that_makes_no_sense_is_refused(words):
    """The error says what is wrong."""
    with pytest.raises(InputError, match=re.escape(words)):
        checked_gangs(CLUSTER, [WRONG[words]], hierarchies=[FABRIC])


def test_a_level_of_two_hierarchies_needs_the_name_of_one():
    """The error names the hierarchies."""
    with pytest.raises(InputError, match="name one of fabric, other"):
        checked_gangs(CLUSTER, [TRAIN], hierarchies=[FABRIC, OTHER])


def test_nothing_is_proven_without_time():
    """A plan that has no time claims no proof."""
    plan = checked_gangs(CLUSTER, [replace(TRAIN, replicas=3)], hierarchies=[FABRIC], time_limit=0)
    assert plan.status in (PlanStatus.FEASIBLE, PlanStatus.STOPPED)


def test_a_cordoned_node_has_no_pods():
    """The rack of a cordoned node has none, and says why."""
    plan = checked_gangs(cordon(CLUSTER, "lab-1"), [TRAIN], hierarchies=[FABRIC])
    assert (plan.placed["train"], plan.why["r1"]) == (0, "0 of 2; 1 node cordoned")


def test_a_preferred_level_does_not_change_how_many_gangs_fit():
    """Each domain has as many gangs as if they preferred nothing."""
    alone = replace(PODS, count=1, level="rack")
    found = []
    for preferred in ("", "rack"):
        gang = replace(TRAIN, pods=[alone], level="block", prefer_level=preferred, replicas=9)
        headroom = checked_gangs(CLUSTER, [gang], hierarchies=[FABRIC]).where
        found.append([(one.members, one.replicas) for one in headroom])
    assert found[0] == found[1]


def test_ordinary_pods_give_way_to_gangs():
    """Three pods fit: the gang has two of them, and an ordinary workload the third."""
    plan = checked_gangs(CLUSTER, [TRAIN], [Workload("plain", PODS.claims, replicas=3)], hierarchies=[FABRIC])
    assert (plan.placed, plan.proven) == ({"train": 1, "plain": 1}, True)


def test_a_plan_is_shown_in_words():
    """The first line has the number of gangs and what is proven."""
    plan = checked_gangs(CLUSTER, [replace(TRAIN, replicas=2)], hierarchies=[FABRIC])
    assert str(plan).startswith("1 of 2 gangs placed, 2 pods on 1 node; no more fit, proven.")
