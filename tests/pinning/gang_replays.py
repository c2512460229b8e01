"""What kube-scheduler and Kueue do with a gang whose plan proves nothing."""

from __future__ import annotations

from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.pinning.gang_choices import gang_choices


def replay_pod_group(on, wanted, hierarchy, release, **more):
    """Return what kube-scheduler does with a gang."""
    return gang_choices(on, wanted, hierarchy, release, Plan(PlanStatus.FEASIBLE), **more)[0].replay


def replay_kueue(on, wanted, hierarchy, release, **more):
    """Return what Kueue does with a gang."""
    return gang_choices(on, wanted, hierarchy, release, Plan(PlanStatus.FEASIBLE), **more)[1].replay
