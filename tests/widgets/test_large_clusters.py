"""A large cluster does not hold up the kernel's loop: what views ask of it is worked out in the worker's thread."""

from __future__ import annotations

import pytest
from widget_messages import answered

from dra_lab import ClaimCanvas, ClusterBar, PlanView, load_cluster, with_more_nodes


@pytest.fixture
def large():
    """The shipped cluster with 200 nodes more."""
    cluster = load_cluster("sample:eks-p4d")
    return with_more_nodes(cluster, like=cluster.node_names[1], count=200)


def test_views_of_a_large_cluster_are_there_before_its_devices_are_counted(session, large):
    """They say that counting goes on, and show the whole once the worker is through."""
    views, seen = [], []

    def look():
        if not views:
            bar, canvas, plan = ClusterBar(session), ClaimCanvas(session), PlanView(session)
            views.extend((bar, canvas, plan))
            seen.extend((bar.summary, bar.counts, canvas.palette, canvas.status["counting"], plan.devices))

    session.on("solving", look)
    session.load(large)
    answered(session)
    bar, canvas, plan = views
    assert "counting devices" in seen[0]
    assert seen[1:] == [{"checking": True}, [], True, {}]
    assert "GPUs" in bar.summary
    assert bar.counts == {"note": 1}
    assert canvas.palette
    assert not canvas.status.get("counting")
    assert plan.devices["total"] > 0


def test_an_answer_for_the_cluster_before_is_reported_as_such(session, large):
    """While another cluster is planned on, the strip does not blame the drawing."""
    plan, seen = PlanView(session), []
    plan.observe(lambda change: seen.append(change["new"]), "answer")
    session.load(large)
    answered(session)
    assert "cluster" in [row.get("previous") for row in seen if row.get("stale")]
