"""A plan for a fleet that was tampered with is refused, whatever was changed."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from benchmarks.mixed_cluster import mixed_cluster, workloads
from checked_plans import checked_fleet
from msgspec.structs import replace as changed

from dra_lab.checks.fleets import check_fleet
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease

RELEASE = KubernetesRelease("1.36")
CLUSTER = mixed_cluster(6)
GPU = "gpu.nvidia.com"


@cache
def good():
    return checked_fleet(CLUSTER, workloads((1, 2, 2), must=True), release=RELEASE, first_fit=False)


def with_first(plan, **fields):
    return replace(plan, replicas=(changed(plan.replicas[0], **fields), *plan.replicas[1:]))


def with_gpu(plan, device):
    """Give the first replica another device instead of its first GPU."""
    placements = list(plan.replicas[0].placements)
    at = next(n for n, placement in enumerate(placements) if placement.device.driver == GPU)
    placements[at] = changed(placements[at], device=device)
    return with_first(plan, placements=tuple(placements))


def gpus(replica):
    return [placement.device for placement in replica.placements if placement.device.driver == GPU]


def with_goal(plan, at=0, **fields):
    goals = list(plan.goals)
    goals[at] = replace(goals[at], **fields)
    return replace(plan, goals=tuple(goals))


def in_use(plan):
    return with_gpu(plan, next(d for d in CLUSTER.allocated.exclusive if d.driver == GPU))


def of_another_node(plan):
    node = plan.replicas[0].node
    return with_gpu(plan, next(DeviceID(GPU, n, "gpu-0") for n in CLUSTER.node_names if n != node))


def twice_in_a_pod(plan):
    return with_gpu(plan, gpus(plan.replicas[0])[-1])


def twice_on_a_node(plan):
    twin = changed(plan.replicas[0], number=len(plan.replicas))
    kinds = tuple(replace(w, replicas=w.replicas + len(plan.replicas) + 1) for w in plan.workloads)
    return replace(plan, workloads=kinds, replicas=(*plan.replicas, twin))


def too_much_capacity(plan):
    placements = list(plan.replicas[0].placements)
    at = next(n for n, placement in enumerate(placements) if placement.consumed)
    placements[at] = changed(placements[at], consumed=dict.fromkeys(placements[at].consumed, "100000"))
    return with_first(plan, placements=tuple(placements))


def wrong_goal_of_a_replica(plan):
    first = plan.replicas[0]
    goals = tuple(replace(goal, value=goal.value + 1) for goal in first.goals)
    sums = {goal.goal for goal in first.goals}
    return replace(
        with_first(plan, goals=goals),
        goals=tuple(replace(g, value=g.value + 1, bound=g.value + 1) if g.goal in sums else g for g in plan.goals),
    )


MUTATIONS = {
    "in use": in_use,
    "of another node": of_another_node,
    "twice in a pod": twice_in_a_pod,
    "twice on a node": twice_on_a_node,
    "unknown device": lambda plan: with_gpu(plan, DeviceID(GPU, plan.replicas[0].node, "none")),
    "another node": lambda plan: with_first(
        plan, node=next(n for n in CLUSTER.node_names if n != plan.replicas[0].node)
    ),
    "unknown node": lambda plan: with_first(plan, node="nowhere"),
    "too much capacity": too_much_capacity,
    "a device less": lambda plan: with_first(plan, placements=plan.replicas[0].placements[1:]),
    "no devices": lambda plan: with_first(plan, placements=()),
    "unknown request": lambda plan: with_first(
        plan, placements=tuple(changed(p, request="none") for p in plan.replicas[0].placements)
    ),
    "unknown workload": lambda plan: with_first(plan, workload="none"),
    "number twice": lambda plan: replace(plan, replicas=(*plan.replicas, plan.replicas[-1])),
    "number too high": lambda plan: with_first(plan, number=99),
    "a replica less": lambda plan: replace(plan, replicas=plan.replicas[1:]),
    "wrong sum": lambda plan: with_goal(plan, 3, value=plan.goals[3].value + 1, bound=plan.goals[3].value + 1),
    "wrong goal of a replica": wrong_goal_of_a_replica,
    "bound above the value": lambda plan: with_goal(plan, 3, bound=plan.goals[3].value + 1, proven=False),
    "proof without a bound": lambda plan: with_goal(plan, 3, bound=None),
    "best without a proof": lambda plan: with_goal(plan, 3, proven=False),
    "best without a goal": lambda plan: replace(plan, goals=()),
    "a goal that is not told": lambda plan: replace(plan, goals=plan.goals[:-2]),
    "placed but infeasible": lambda plan: replace(plan, status=PlanStatus.INFEASIBLE),
    "nothing placed but best": lambda plan: replace(plan, replicas=()),
    "all asked for, not all placed": lambda plan: replace(
        plan, objective="nodes", workloads=(replace(plan.workloads[0], replicas=9), *plan.workloads[1:])
    ),
}


def test_the_plan_itself_is_accepted():
    """What is changed below is right as it is."""
    assert good().status is PlanStatus.OPTIMAL
    assert check_fleet(CLUSTER, good(), RELEASE) == ()


@pytest.mark.parametrize("name", MUTATIONS)
def test_changed_plan_is_refused(name):
    """Every change that breaks a rule of DRA, a sum, a bound or a proof is found."""
    assert check_fleet(CLUSTER, MUTATIONS[name](good()), RELEASE)
