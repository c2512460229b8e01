"""Replicas without a place: shortage and scattered devices are told apart."""

from __future__ import annotations

from benchmarks.mixed_cluster import mixed_cluster, workloads

from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.fleet import plan_fleet


def test_scattered_devices_are_told():
    """Enough GPUs are free in all, and no node has as many as a replica takes."""
    fleet = workloads((30,), must=False, kinds=((4, 4, 8),))
    plan = plan_fleet(mixed_cluster(5), fleet, release=KubernetesRelease("1.36"), first_fit=False)
    reason = next(found for found in plan.shortfalls if "request gpu" in found.message)
    assert "no node has 4" in reason.message
    assert (reason.needed, reason.available) == (4, 3)


def test_nothing_is_told_where_all_are_placed():
    """A fleet of which every replica has a place has no reasons."""
    fleet = workloads((1,), must=False, kinds=((1, 1, 8),))
    assert plan_fleet(mixed_cluster(3), fleet, release=KubernetesRelease("1.36"), first_fit=False).shortfalls == ()
