"""That a claim fits nowhere is shown before its reasons, which take longer, are there."""

from __future__ import annotations

from checked_plans import checked_plan
from msgspec.structs import replace

from dra_lab import load_cluster, read_sketch
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.session import Session

CLUSTER, SKETCH = "sample:eks-p4d", read_sketch("sample:eks-p4d/gpu-nic-pairs")


def too_many():
    """The example's claim with more GPUs than any node has."""
    requests = tuple(
        replace(request, exactly=replace(request.exactly, count=30)) if request.name == "gpu" else request
        for request in SKETCH.requests
    )
    return replace(SKETCH, requests=requests, links=())


def test_a_misfit_is_reported_before_its_reasons():
    """Once, with the proof and what is short; the answer then has the reasons too."""
    reports = []
    plan = checked_plan(load_cluster(CLUSTER), too_many(), release=KubernetesRelease("1.36"), early=reports.append)
    [early] = reports
    assert (early.status, early.reasons, early.suggestions) == (PlanStatus.INFEASIBLE, None, ())
    assert early.shortfalls
    assert plan.reasons is not None
    assert plan.status is PlanStatus.INFEASIBLE


def test_a_fit_is_reported_once():
    """A claim that fits has no early report."""
    reports = []
    assert checked_plan(load_cluster(CLUSTER), SKETCH, release=KubernetesRelease("1.36"), early=reports.append).fits
    assert not reports


def test_a_session_shows_a_misfit_and_stays_stale_until_the_reasons_are_there():
    """Two `plan` events: the first while the answer is stale, the second with the reasons."""
    session = Session(CLUSTER, sketch=SKETCH)
    assert session.wait(60)
    seen = []
    session.on("plan", lambda: seen.append((session.stale, session.answer.fits, session.answer.reasons is None)))
    session.edit(too_many())
    assert session.wait(60)
    session.close()
    assert seen == [(True, False, True), (False, False, False)]
