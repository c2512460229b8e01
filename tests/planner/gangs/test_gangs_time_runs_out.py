"""Plans for gangs that are cancelled at any moment: every rule is kept, and what is called proven is."""

from __future__ import annotations

import random
from itertools import takewhile

import pytest
from cancelled import CancelledAfter
from checked_gangs import checked_gangs
from random_gangs import random_case
from random_node_types import random_node_case

from dra_lab import KubernetesRelease, how_many_more, nodes_to_add
from dra_lab.model.plan import PlanStatus

RELEASE = KubernetesRelease("1.36")
LOOKS = [1, 10, 30, 60, 100, 150, 250, 400, 700]


@pytest.mark.parametrize("seed", range(6))
def test_what_a_cancelled_plan_proves_is_true(seed):
    """A cancelled plan keeps every rule, and its proven goals have the values of the plan that was not cancelled."""
    cluster, hierarchy, gangs, workloads = random_case(random.Random(f"cancelled {seed}"))
    given = {"hierarchies": [hierarchy], "release": RELEASE}
    best = [goal.value for goal in checked_gangs(cluster, gangs, workloads, **given).goals]
    for looks in LOOKS:
        plan = checked_gangs(cluster, gangs, workloads, **given, cancel=CancelledAfter(looks))
        proven = [goal.value for goal in takewhile(lambda goal: goal.proven, plan.goals)]
        assert proven == best[: len(proven)], looks


@pytest.mark.parametrize("seed", range(6))
def test_the_bounds_of_a_cancelled_count_are_true(seed):
    """No more gangs fit in all, and no domain has more pods or gangs, than a cancelled count says at most."""
    cluster, hierarchy, gangs, _ = random_case(random.Random(f"cancelled {seed}"))
    given = {"hierarchies": [hierarchy], "release": RELEASE}
    whole = how_many_more(cluster, gangs[0], **given)
    known = {headroom.members: headroom for headroom in whole.where}
    for looks in LOOKS:
        count = how_many_more(cluster, gangs[0], **given, cancel=CancelledAfter(looks))
        assert count.count.bound >= whole.count.value, looks
        for mine in count.where:
            best = known[mine.members]
            assert mine.pods.bound >= best.pods.value, (looks, mine)
            assert mine.replicas.bound >= best.replicas.value, (looks, mine)


@pytest.mark.parametrize("seed", range(6))
def test_what_cancelled_nodes_to_add_prove_is_true(seed):
    """A cancelled answer costs no less than the best one, its bound is no more, and what is proven is the best."""
    cluster, hierarchy, gangs, workloads, types = random_node_case(random.Random(f"cancelled nodes {seed}"), RELEASE)
    given = {"types": types, "hierarchies": [hierarchy], "release": RELEASE}
    best = nodes_to_add(cluster, [*gangs, *workloads], **given)
    for looks in LOOKS:
        found = nodes_to_add(cluster, [*gangs, *workloads], **given, cancel=CancelledAfter(looks))
        if found.proven:
            assert (found.status, found.cost) == (best.status, best.cost), looks
        if found.status is PlanStatus.FEASIBLE:
            assert (found.bound or 0) <= best.cost <= found.cost, looks


@pytest.mark.parametrize("seed", range(6))
def test_reasons_of_a_cancelled_plan_are_those_of_all_nodes_or_none(seed):
    """A plan names what keeps a gang from a domain only if time sufficed to look at all nodes of it."""
    cluster, hierarchy, gangs, workloads = random_case(random.Random(f"reasons {seed}"))
    given = {"hierarchies": [hierarchy], "release": RELEASE}
    never = CancelledAfter(10**9)
    every = {
        (headroom.workload, headroom.members): headroom.reasons
        for headroom in checked_gangs(cluster, gangs, workloads, **given, cancel=never).where
    }
    whole = 10**9 - never.looks
    for looks in range(max(1, whole - 40), whole, 3):
        plan = checked_gangs(cluster, gangs, workloads, **given, cancel=CancelledAfter(looks))
        for headroom in plan.where:
            assert headroom.reasons in ((), every[headroom.workload, headroom.members]), looks
