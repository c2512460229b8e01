"""Lab and its widgets without a browser: one session, large clusters, and the programs of the front end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ipywidgets import Widget
from widget_messages import answered

from dra_lab import (
    ClaimCanvas,
    ClusterBar,
    HardwareView,
    Lab,
    PlanView,
    frame,
    load_cluster,
    read_sketch,
    with_more_nodes,
)
from dra_lab.model.plan import PlanStatus
from dra_lab.widgets.session_view import EXTENSION_VERSION


@pytest.fixture
def lab():
    made = Lab(file=None)
    yield made
    made.close()
    Widget.close_all()


def test_lab_ties_four_views_to_one_session(lab):
    assert lab.plan().fits
    assert lab.bar.source == lab.cluster.name == "sample:eks-p4d"
    lab.sketch = read_sketch("sample:eks-p4d/five-pairs")
    assert lab.plan().status is PlanStatus.INFEASIBLE
    assert lab.undo()
    assert lab.redo()
    assert repr(lab).startswith("Lab('sample:eks-p4d')")


def test_lab_writes_pictures_manifests_and_tables(lab, tmp_path):
    lab.plan()
    assert lab.draw(tmp_path / "plan.html").read_text().startswith("<!")
    names = ["resourceclaimtemplate.yaml", "pod.yaml", "kustomization.yaml", "plan.json"]
    assert [path.name for path in lab.export(tmp_path / "out", pin=True)] == names
    assert len(frame(lab.cluster)) == 60


def test_the_first_screen_is_small(session):
    """Opening the planner on the example sends the browser less than 200 kB beside the code."""
    views = (ClusterBar(session), PlanView(session), HardwareView(session))
    size = sum(
        len(json.dumps({key: value for key, value in view.get_state().items() if not key.startswith("_")}, default=str))
        for view in views
    )
    assert size < 200_000


def test_a_planner_whose_file_is_opened_again_ends_and_says_so(tmp_path):
    """Two planners of one file would write over each other; the first does not leave a blank place."""
    file = tmp_path / "twice.dralab.yaml"
    first, second = Lab(file=file), Lab(file=file)
    (error,) = first.children
    assert "another cell opened twice.dralab.yaml again" in error.value
    assert (first.bar.comm, second.bar.comm is None) == (None, False)
    for lab in (first, second):
        lab.close()
    assert (error.comm, first.comm) == (None, None)


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
    plan, seen = PlanView(session), []
    plan.observe(lambda change: seen.append(change["new"]), "answer")
    session.load(large)
    answered(session)
    assert "cluster" in [row.get("previous") for row in seen if row.get("stale")]


PROGRAMS = Path(__file__).parents[2] / "widgets" / "labextension" / "src" / "widget_programs.ts"
WIDGETS = [ClaimCanvas, ClusterBar, HardwareView, PlanView]


@pytest.mark.parametrize("cls", WIDGETS)
def test_the_extension_has_the_program_of_each_widget(cls):
    """Under the name that anywidget gives to its class."""
    assert f'"{cls.__module__}.{cls.__name__}": ' in PROGRAMS.read_text(encoding="utf-8")


def test_the_extension_registers_the_version_that_the_widgets_ask_for():
    """JupyterLab would take anywidget's own module for any other."""
    assert f'VERSION = "{EXTENSION_VERSION}"' in PROGRAMS.read_text(encoding="utf-8")


@pytest.mark.parametrize("cls", WIDGETS)
def test_a_widget_takes_anywidgets_own_module_as_well(cls):
    """Other front ends have that one only, and the same state must do for all."""
    versions = cls().get_state(["_model_module", "_model_module_version", "_view_module_version"])
    assert versions == {
        "_model_module": "anywidget",
        "_model_module_version": f"~0.11.*||{EXTENSION_VERSION}",
        "_view_module_version": f"~0.11.*||{EXTENSION_VERSION}",
    }
