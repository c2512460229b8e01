"""Among equally good sets of devices, the plan has the one that kube-scheduler takes."""

from __future__ import annotations

import random

import pytest
from checked_plans import checked_plan
from random_clusters import random_cluster, random_fleet, random_sketch

from dra_lab import KubernetesRelease
from dra_lab.errors import DraLabError
from dra_lab.model.release import RELEASES


def plans(seeds):
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
    for seed, plan in plans(range(first, first + 25)):
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
