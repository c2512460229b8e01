"""A large cluster does not hold up the kernel's loop: what views ask of it is worked out in the worker's thread."""

from __future__ import annotations

import dataclasses
import threading

import pytest
from ipywidgets import Widget
from msgspec.structs import replace

from dra_lab import load_cluster, read_sketch
from dra_lab.model.claims import DeviceRequest
from dra_lab.session import Session, preparing
from dra_lab.widgets.claim_canvas import ClaimCanvas
from dra_lab.widgets.cluster_bar import ClusterBar
from dra_lab.widgets.plan_view import PlanView


@pytest.fixture
def held(monkeypatch):
    """A session on a cluster that counts as large, whose worker waits until `go` is set."""
    monkeypatch.setattr(preparing, "SMALL", 0)
    go, real = threading.Event(), Session._solve

    def waiting(*args):
        go.wait(30)
        real(*args)

    monkeypatch.setattr(Session, "_solve", waiting)
    cluster = dataclasses.replace(load_cluster("sample:eks-p4d"))  # nothing is derived from it yet
    session = Session(cluster, sketch=read_sketch("sample:eks-p4d/gpu-nic-pairs"))
    yield session, go
    go.set()
    session.close()
    Widget.close_all()


def test_views_of_a_large_cluster_are_there_before_its_devices_are_counted(held):
    """They say that counting goes on, and show the whole once the worker is through."""
    session, go = held
    bar, canvas, plan = ClusterBar(session), ClaimCanvas(session), PlanView(session)
    assert "counting devices" in bar.summary
    assert (canvas.palette, plan.devices) == ([], {})
    assert canvas.status["counting"]
    go.set()
    assert session.wait(30)
    assert "GPUs" in bar.summary
    assert canvas.palette
    assert not canvas.status.get("counting")
    assert plan.devices["total"] > 0
    assert "kind: ResourceClaimTemplate" in plan.yaml


def test_a_large_cluster_is_called_free_of_findings_only_when_it_was_looked_at(held):
    """Until then the bar says that they are looked for; then how many there are."""
    session, go = held
    bar = ClusterBar(session)
    assert bar.counts == {"checking": True}
    go.set()
    assert session.wait(30)
    assert bar.counts == {"note": 1}


def test_the_search_of_the_manifest_is_reported_while_it_goes_on(held):
    """The answer is there, and the strip says what the worker is still at, until it is through."""
    session, go = held
    plan, reports = PlanView(session), []
    plan.observe(lambda change: reports.append(change["new"]), "answer")
    go.set()
    assert session.wait(30)
    assert [row.get("stale", False) for row in reports if row.get("after")] == [False]
    assert "after" not in plan.answer


def test_an_answer_for_the_cluster_before_is_reported_as_such(held):
    """While another cluster is planned on, the strip does not blame the drawing."""
    session, go = held
    plan = PlanView(session)
    go.set()
    assert session.wait(30)
    go.clear()
    session.load("sample:two-sockets")
    assert (plan.answer["stale"], plan.answer["previous"]) == (True, "cluster")


def test_nothing_is_counted_where_the_views_are_made(held):
    """Neither catalogue nor matches are known when the views stand."""
    session, _ = held
    made = ClusterBar(session), ClaimCanvas(session), PlanView(session)
    assert all(view.comm is not None for view in made)
    derived = {*session.cluster.memo.devices, *session.cluster.memo.hardware}
    assert not [make for make, *_ in derived if make.__module__.startswith("dra_lab.sketch")]


def test_an_edit_on_a_large_cluster_keeps_the_links_until_it_is_counted(held):
    """The rows of links stay as they were while another request is counted."""
    session, go = held
    canvas = ClaimCanvas(session)
    go.set()
    assert session.wait(30)
    before = canvas.status["links"]
    go.clear()
    gpu = session.sketch.requests[0].exactly
    session.edit(replace(session.sketch, requests=(*session.sketch.requests, DeviceRequest(name="new", exactly=gpu))))
    assert before
    assert canvas.status["links"] == before
    go.set()
    assert session.wait(30)
    assert "new" in canvas.status["requests"]
    assert any("new" in pair.split("|") for pair in canvas.status["pairs"])
