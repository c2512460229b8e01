"""The tests' `make_plan` and `plan_fleet` fail for a plan that breaks a rule; plans of sessions keep every rule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from checked_plans import broken_rules, checked_fleet, checked_plan
from msgspec.structs import replace as changed

import dra_lab.planner.answer as single
import dra_lab.planner.fleet.placing as fleet
from dra_lab import Session, Workload, load_cluster, read_sketch, samples

PAIRS = "sample:eks-p4d/gpu-nic-pairs"


def test_a_plan_that_takes_a_device_twice_fails_its_test(monkeypatch):
    """`checked_plan` asserts the rules of `check_plan`."""
    found = single.plan_of_fit

    def tampered(work):
        plan = found(work)
        return replace(plan, placements=(plan.placements[0],) * len(plan.placements))

    monkeypatch.setattr(single, "plan_of_fit", tampered)
    with pytest.raises(AssertionError, match="plan-taken-twice"):
        checked_plan(load_cluster("sample:eks-p4d"), read_sketch(PAIRS))


def test_a_fleet_that_takes_a_device_twice_fails_its_test(monkeypatch):
    """`checked_fleet` asserts the rules of `check_fleet`."""
    replicas = fleet.replicas_of

    def twice(*asked):
        made = replicas(*asked)
        return (*made[:-1], changed(made[-1], node=made[0].node, placements=made[0].placements))

    monkeypatch.setattr(fleet, "replicas_of", twice)
    with pytest.raises(AssertionError, match="plan-in-use"):
        checked_fleet(load_cluster("sample:eks-p4d"), [Workload("pairs", (read_sketch(PAIRS),), 3)], first_fit=False)


EXAMPLES = [(sample.name, example) for sample in samples() for example in sample.examples]


@pytest.mark.parametrize(("sample", "example"), EXAMPLES)
def test_plans_of_sessions_keep_every_rule(sample, example):
    """A session shows a plan of each example that breaks no rule of `check_plan`."""
    cluster = load_cluster(f"sample:{sample}")
    session = Session(cluster, sketch=read_sketch(f"sample:{sample}/{example}"))
    session.wait()
    plan = session.answer
    session.close()
    assert broken_rules(cluster, plan) == []
