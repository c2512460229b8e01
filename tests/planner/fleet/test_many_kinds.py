"""Many kinds of pods on large nodes: all numbers of them that a node may hold are told apart."""

from __future__ import annotations

import pytest
from benchmarks.mixed_cluster import mixed_cluster, workloads
from checked_plans import checked_fleet

from dra_lab.model.release import KubernetesRelease

RELEASE = KubernetesRelease("1.36")
KINDS = ((1, 1, 4), (1, 1, 8), (2, 1, 8), (1, 2, 8), (2, 2, 12))
"""GPUs, NICs and CPUs of each kind of pod."""


@pytest.mark.long
def test_five_kinds_of_pods_are_planned_to_the_proof():
    """A node of eight GPUs and ten NICs holds 425 combinations of small pods, and every goal is still proven."""
    cluster = mixed_cluster(3, types=(2,))
    plan = checked_fleet(
        cluster, workloads((6, 6, 3, 3, 3), must=False, kinds=KINDS), release=RELEASE, time_limit=60, first_fit=False
    )
    assert (plan.goals[0].value, plan.proven) == (plan.goals[0].bound, True)
