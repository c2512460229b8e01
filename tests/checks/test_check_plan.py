"""What check_plan finds in a plan that says too much of itself: status, proofs, nodes, first fits, and `damage`."""

from __future__ import annotations

from dataclasses import replace

import pytest
from checked_plans import checked_plan
from msgspec.structs import replace as changed

from dra_lab import load_cluster, read_sketch
from dra_lab.checks import plan_damage
from dra_lab.checks.plans import check_plan
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.model.plan import NodeFit, Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease

RELEASE = KubernetesRelease("1.36")
SAMPLES = ("eks-p4d/gpu-nic-pairs", "dgx-h100/gpu-nic-cpu", "mi300x/gpu-nic-pairs", "two-sockets/lesson")


def world(sample: str):
    """The cluster of a sample's example with its classes, and the plan."""
    cluster = load_cluster(f"sample:{sample.partition('/')[0]}")
    return with_documented_classes(cluster), checked_plan(cluster, read_sketch(f"sample:{sample}"), release=RELEASE)


def valued(plan: Plan, name: str, **changes) -> Plan:
    """The plan with another value, bound or proof of one goal."""
    return replace(plan, goals=tuple(replace(g, **changes) if g.goal == name else g for g in plan.goals))


def at_first_fit(plan: Plan, **changes) -> Plan:
    """The plan with something else told of kube-scheduler's first fit."""
    return replace(plan, first_fit=changed(plan.first_fit, **changes))


MUTATIONS = {
    "a fit without devices": ("plan-status", lambda p: replace(p, placements=(), first_fit=None, first_fit_plain=None)),
    "a misfit with devices": ("plan-status", lambda p: replace(p, status=PlanStatus.INFEASIBLE)),
    "a bound above its value": ("plan-bound", lambda p: valued(p, "numa", bound=9, proven=False)),
    "a proof without its bound": ("plan-bound", lambda p: valued(p, "numa", bound=0)),
    "a proven plan with an open goal": ("plan-status", lambda p: valued(p, "roots", proven=False, bound=0)),
    "a node that is not told of": ("plan-nodes", lambda p: replace(p, node_classes=p.node_classes[1:])),
    "a node that is no best one": (
        "plan-nodes",
        lambda p: replace(p, node_classes=tuple(changed(c, fit=NodeFit.WORSE) for c in p.node_classes)),
    ),
    "another damage": ("plan-goal", lambda p: valued(p, "damage", value=0, bound=0)),
    "a most below the damage": ("plan-goal", lambda p: valued(p, "damage", value=0, bound=0, at_most=True)),
    "another value of first fit": (
        "plan-goal",
        lambda p: at_first_fit(p, goals=tuple(replace(g, value=g.value + 1) for g in p.first_fit.goals)),
    ),
    "a device that first fit has twice": (
        "plan-taken-twice",
        lambda p: at_first_fit(p, placements=(p.first_fit.placements[0],) * len(p.first_fit.placements)),
    ),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_plan_that_says_too_much_is_found_out(name):
    """Each of them alone makes a plan break the rule that it is about."""
    cluster, plan = world("eks-p4d/gpu-nic-pairs")
    rule, change = MUTATIONS[name]
    assert check_plan(cluster, plan, RELEASE) == ()
    assert rule in {finding.rule for finding in check_plan(cluster, change(plan), RELEASE)}


def test_the_most_that_a_damage_can_be_may_be_more_than_it_is():
    """Where the replicas were not counted, a bound from above is what the plan says, and right."""
    cluster, plan = world("eks-p4d/gpu-nic-pairs")
    changed = replace(valued(plan, "damage", value=3, bound=0, proven=False, at_most=True), status=PlanStatus.FEASIBLE)
    assert check_plan(cluster, changed, RELEASE) == ()


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_damage_of_samples_is_counted_anew(sample):
    """Nodes of this size, with links, shares and preferences, are within what trying all is allowed to take."""
    cluster, plan = world(sample)
    damage = plan.goal("damage")
    wrong = valued(plan, "damage", value=damage + 1, bound=damage + 1)
    assert "plan-goal" in {finding.rule for finding in check_plan(cluster, wrong, RELEASE)}


def test_a_damage_beyond_the_limit_is_left_alone(monkeypatch):
    """Where trying all takes too long nothing is said, rightly or wrongly."""
    monkeypatch.setattr(plan_damage.Others, "most_steps", 3)
    cluster, plan = world("dgx-h100/gpu-nic-cpu")
    assert check_plan(cluster, valued(plan, "damage", value=7, bound=7), RELEASE) == ()
