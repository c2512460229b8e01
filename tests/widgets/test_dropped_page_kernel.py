"""A plan's page that is dropped on the planner opens as a plan."""

from __future__ import annotations

import pytest
from checked_plans import checked_plan
from small_plans import a_plan, busy_cluster
from widget_messages import answered, say

from dra_lab.model.sketch import Drawing
from dra_lab.pictures.page_program import plan_in
from dra_lab.pictures.report import report_page
from dra_lab.session import picture_files, read_sketch
from dra_lab.session.picture_files import picture_page
from dra_lab.sources import load_cluster
from dra_lab.widgets.cluster_bar import ClusterBar


def drop(bar, text, name="plan.html"):
    """Drop a file on the bar."""
    data = text.encode()
    say(bar, type="upload", number=1, files=[{"name": name, "size": len(data)}])
    say(bar, type="piece", number=1, buffers=[data])
    assert bar.loading.wait()


@pytest.fixture(scope="module")
def page():
    """The page of a plan on another shipped cluster."""
    cluster = load_cluster("sample:dgx-h100")
    return report_page(cluster, checked_plan(cluster, read_sketch("sample:eks-p4d/four-pairs")))


def test_the_drawing_and_the_shipped_cluster_are_opened(session, page):
    """The answer is that of the page."""
    bar = ClusterBar(session)
    drop(bar, page)
    answered(session)
    assert (session.cluster.name, session.sketch.name, bar.refused) == ("sample:dgx-h100", "four-pairs", "")


def test_a_cluster_that_is_not_shipped_is_named_and_not_read(session):
    """A page may come from anybody: it must not make the planner read a file or ask a cluster."""
    bar = ClusterBar(session)
    drop(bar, report_page(busy_cluster(), a_plan()))
    assert session.cluster.name == "sample:eks-p4d"
    assert session.sketch == a_plan().sketch
    assert f"Load {a_plan().cluster or busy_cluster().name}" in bar.refused


def test_a_page_whose_drawing_is_broken_changes_nothing(session, page):
    """The problem names the file."""
    bar = ClusterBar(session)
    before = session.sketch
    drop(bar, page.replace("kind: Drawing", "kind: Nothing"))
    assert "plan.html" in bar.refused
    assert session.sketch == before


def test_another_page_is_no_plan(session):
    """HTML of anything else is refused by what reads clusters."""
    bar = ClusterBar(session)
    drop(bar, "<html><body>hello</body></html>", "hello.html")
    assert bar.loading.wait()
    assert "hello.html" in bar.refused
    assert session.cluster.name == "sample:eks-p4d"


def test_a_page_opens_with_the_cluster_that_it_carries(session, tmp_path):
    """A cluster that is no sample is in the page if it is small, and the answer is the same."""
    cluster = load_cluster("sample:dgx-h100").with_objects(name="context:prod")
    plan = checked_plan(cluster, read_sketch("sample:dgx-h100/gpu-nic-cpu"))
    path = tmp_path / "plan.html"
    picture_page(cluster, plan, "", path, drawing=Drawing(layout={"gpu": (1.0, 2.0)}))
    bar = ClusterBar(session)
    drop(bar, path.read_text(encoding="utf-8"))
    answered(session)
    assert (session.cluster.name, bar.refused) == ("prod (from plan.html)", "")
    assert session.drawing.layout == {"gpu": (1.0, 2.0)}
    assert [p.device for p in session.answer.placements] == [p.device for p in plan.placements]


def test_a_page_of_a_large_cluster_names_it_only(tmp_path, monkeypatch):
    """A page stays small enough to be sent."""
    monkeypatch.setattr(picture_files, "_MOST_PACKED", 1_000)
    cluster = load_cluster("sample:dgx-h100").with_objects(name="prod")
    path = tmp_path / "plan.html"
    picture_page(cluster, checked_plan(cluster, read_sketch("sample:dgx-h100/gpu-nic-cpu")), "", path)
    assert plan_in(path.read_text(encoding="utf-8")).snapshot == b""
