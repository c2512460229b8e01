"""Plans for gangs that are cancelled at any moment: every rule is kept, and what is called proven is."""

from __future__ import annotations

import random
from itertools import takewhile
from operator import lt

import pytest
from budgets import CancelledAfter
from random_gangs import random_case

from dra_lab.checks.gang_audit import check_gangs
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.gangs import how_many_more_gangs, plan_gangs

RELEASE = KubernetesRelease("1.36")
LOOKS = [1, 10, 30, 60, 100, 150, 250, 400, 700]


CASES = [(seed, looks) for seed in range(6) for looks in LOOKS]


@pytest.mark.parametrize(("seed", "looks"), CASES)
def test_a_cancelled_plan_keeps_every_rule(seed, looks):
    """Whatever is found until a cancel is a plan."""
    cluster, hierarchy, gangs, workloads = random_case(random.Random(f"cancelled {seed}"))
    cancel = CancelledAfter(looks)
    plan = plan_gangs(cluster, gangs, workloads, hierarchies=[hierarchy], release=RELEASE, cancel=cancel)
    assert check_gangs(cluster, plan, [hierarchy], RELEASE) == ()


@pytest.mark.parametrize(("seed", "looks"), CASES)
def test_what_a_cancelled_plan_proves_is_true(seed, looks):
    """The goals that are proven have the values of the plan that was not cancelled."""
    cluster, hierarchy, gangs, workloads = random_case(random.Random(f"cancelled {seed}"))
    given = {"hierarchies": [hierarchy], "release": RELEASE}
    plan = plan_gangs(cluster, gangs, workloads, **given, cancel=CancelledAfter(looks))
    proven = [goal.value for goal in takewhile(lambda goal: goal.proven, plan.goals)]
    assert proven == [goal.value for goal in plan_gangs(cluster, gangs, workloads, **given).goals][: len(proven)]


@pytest.mark.parametrize(("seed", "looks"), CASES)
def test_rooms_that_a_cancelled_count_bounds_are_true(seed, looks):
    """No domain has more pods of a gang, or more gangs, than a cancelled count says at most."""
    cluster, hierarchy, gangs, _ = random_case(random.Random(f"cancelled {seed}"))
    given = {"hierarchies": [hierarchy], "release": RELEASE}
    count = how_many_more_gangs(cluster, gangs[0], **given, cancel=CancelledAfter(looks))
    bounds = {headroom.domain: (headroom.bound, headroom.gangs_bound) for headroom in count.headroom}
    headrooms = {
        headroom.domain: (headroom.most, headroom.gangs)
        for headroom in how_many_more_gangs(cluster, gangs[0], **given).headroom
    }
    assert [domain for domain, most in bounds.items() if any(map(lt, most, headrooms[domain]))] == []


@pytest.mark.parametrize("seed", range(6))
def test_reasons_of_a_cancelled_plan_are_those_of_all_nodes_or_none(seed):
    """A plan names what keeps a gang from a domain only if time sufficed to look at all nodes of it."""
    cluster, hierarchy, gangs, workloads = random_case(random.Random(f"reasons {seed}"))
    given = {"hierarchies": [hierarchy], "release": RELEASE}
    never = CancelledAfter(10**9)
    every = {
        (headroom.gang, headroom.domain): headroom.lacking
        for headroom in plan_gangs(cluster, gangs, workloads, **given, cancel=never).headroom
    }
    whole = 10**9 - never.looks
    for looks in range(max(1, whole - 40), whole):
        plan = plan_gangs(cluster, gangs, workloads, **given, cancel=CancelledAfter(looks))
        for headroom in plan.headroom:
            assert headroom.lacking in ((), every[headroom.gang, headroom.domain]), looks


@pytest.mark.parametrize(("seed", "looks"), CASES)
def test_the_bound_of_a_cancelled_count_is_true(seed, looks):
    """No more gangs fit than a cancelled count says at most."""
    cluster, hierarchy, gangs, _ = random_case(random.Random(f"cancelled {seed}"))
    given = {"hierarchies": [hierarchy], "release": RELEASE}
    count = how_many_more_gangs(cluster, gangs[0], **given, cancel=CancelledAfter(looks))
    assert count.bound >= how_many_more_gangs(cluster, gangs[0], **given).count
