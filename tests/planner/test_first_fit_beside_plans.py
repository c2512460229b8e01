"""A plan beside what kube-scheduler takes: what its first fit costs, and the same devices where they are as good."""

from __future__ import annotations

import random

import pytest
from checked_plans import checked_fleet, checked_plan
from random_clusters import random_cluster, random_fleet, random_sketch

from dra_lab import KubernetesRelease, Workload, load_cluster, read_sketch
from dra_lab.errors import DraLabError
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.release import RELEASES

RELEASE = KubernetesRelease("1.36")


@pytest.fixture(scope="module")
def plans():
    """Return ten random claims that fit, with their plans."""
    found = []
    for seed in range(400):
        rng = random.Random(f"regret {seed}")
        cluster = random_cluster(rng)
        plan = checked_plan(cluster, random_sketch(rng), release=RELEASE)
        if plan.fits and plan.regrets:
            found.append((cluster, plan))
        if len(found) == 10:
            return found
    raise AssertionError


@pytest.fixture(scope="module")
def fleet():
    """Return a sample and the plan of four pods on it, drawn without a link, so that first fit scatters them."""
    cluster = load_cluster("sample:eks-p4d")
    sketch = read_sketch("sample:eks-p4d/any-nic-pairs")
    loose = type(sketch)(sketch.name, sketch.requests)
    return cluster, checked_fleet(cluster, [Workload("pairs", (loose,), replicas=4)], release=RELEASE)


def test_every_goal_that_differs_is_reported_with_both_values(plans):
    """The differences are those of the goals of the plan and of its first fit, no more and no less."""
    for _, plan in plans:
        for regret in plan.regrets:
            fit = plan.first_fit if regret.against == "manifest" else plan.first_fit_plain
            assert fit.status is FirstFitStatus.ALLOCATED
            theirs = {goal.goal: goal.value for goal in fit.goals}
            ours = {goal.goal: goal.value for goal in plan.goals if goal.goal in theirs}
            assert {g.goal: (g.best, g.theirs) for g in regret.goals} == {
                goal: (value, theirs[goal]) for goal, value in ours.items() if value != theirs[goal]
            }


def test_first_fit_is_never_better_than_what_is_proven(plans):
    """The first goal in which they differ is worse with first fit, where the plan is proven and can be written."""
    for _, plan in plans:
        manifest = next((r for r in plan.regrets if r.against == "manifest"), None)
        unwritable = any(f.rule in ("link-not-writable", "first-fit-breaks-link") for f in plan.findings)
        if plan.proven and manifest is not None and manifest.goals and not unwritable:
            assert manifest.goals[0].difference > 0


def test_a_fleet_has_its_regret_goal_by_goal_and_as_ranges(fleet):
    """Over all replicas: goals with both values, GPUs on each path, and ranges in the text."""
    _, plan = fleet
    (regret,) = plan.regrets
    theirs = {goal.goal: goal.value for goal in plan.first_fit.goals}
    assert {g.goal: g.difference for g in regret.goals} == {
        g.goal: theirs[g.goal] - g.value for g in plan.goals if theirs[g.goal] != g.value
    }
    gpus = sum(p.request == "gpu" for replica in plan.pods for p in replica.devices)
    assert sum(share.gpus for share in regret.best) == gpus
    assert regret.paths_differ
    assert "Bandwidth from GPUs to NICs" in str(plan)


def random_plans(seeds):
    for seed in seeds:
        rng = random.Random(seed)
        try:
            yield seed, checked_plan(random_cluster(rng), random_sketch(rng), release=RELEASES[seed % len(RELEASES)])
        except DraLabError:
            continue


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_a_set_of_devices_that_is_as_good_is_the_plan(first):
    """Then nothing is pinned, and the picture of the plan is that of the pod."""
    ties = 0
    for seed, plan in random_plans(range(first, first + 25)):
        found = plan.first_fit
        if (
            found is None
            or not found.placements
            or any(finding.rule == "first-fit-breaks-link" for finding in plan.findings)
        ):
            continue
        values = [[(goal.goal, goal.value, goal.unknown) for goal in goals] for goals in (found.goals, plan.goals)]
        if values[0] == values[1]:
            ties += 1
            taken = [sorted((p.request, p.device) for p in placed) for placed in (found.placements, plan.placements)]
            assert taken[0] == taken[1], seed
    assert ties


def test_devices_without_a_value_at_a_must_link_are_not_the_plan():
    """The plan has none, also if kube-scheduler takes one because the other end of the link is not asked for."""
    rng, release = random.Random("ways 382"), KubernetesRelease("1.36")
    cluster, sketch = random_fleet(rng), random_sketch(rng)
    plan = checked_plan(cluster, sketch, release=release)
    assert plan.fits
