"""One pod, a fleet of one and a gang of one are the same question."""

from __future__ import annotations

import pytest

from dra_lab import Workload, load_cluster, make_plan, read_sketch, samples

DRAWN = [(sample.name, example) for sample in samples() for example in sample.examples]


def values(goals):
    """Return the values of the goals that depend on the devices of one pod."""
    return {goal.goal: goal.value for goal in goals if goal.goal in ("alternatives", "preferences", "numa", "roots")}


@pytest.mark.parametrize(("sample", "example"), DRAWN)
def test_one_pod_a_fleet_and_a_gang_of_one_have_one_answer(sample, example):
    """All three are placed with the same values, or none is."""
    cluster, claim = load_cluster(f"sample:{sample}"), read_sketch(f"sample:{sample}/{example}")
    pod = make_plan(cluster, claim)
    fleet = make_plan(cluster, Workload("one", claim))
    gang = make_plan(cluster, Workload("one", claim, level="host"))
    assert bool(pod.node) == bool(fleet.pods) == bool(gang.pods)
    if pod.node:
        assert values(pod.goals) == values(fleet.goals) == values(gang.goals)
