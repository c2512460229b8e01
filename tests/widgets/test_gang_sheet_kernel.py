"""The Export sheet of a gang on the Python side: what it shows of the scheduler, the pin and the other workloads."""

import pytest
from ipywidgets import Widget
from widget_messages import say

from dra_lab.model.sketch import GangDrawing
from dra_lab.session import Session, read_sketch
from dra_lab.session.drawn_gang import set_drawn_gang
from dra_lab.widgets.plan_view import PlanView

SAMPLE, POD = "sample:h100-pod", "eight-pairs"
TRAIN = GangDrawing(size=3, level="leaf switch", hierarchy="h100-pod", queue="training/train")


@pytest.fixture
def view():
    """Give the view of a drawing that is a gang of three pods, with its sheet open."""
    session = Session(SAMPLE, sketch=read_sketch(f"{SAMPLE}/{POD}"))
    set_drawn_gang(session, TRAIN)
    made = PlanView(session)
    say(made, type="show-export")
    yield made
    session.close()
    Widget.close_all()


def shown(view, **message) -> dict:
    """Return what the sheet shows once its files are made, after a message if one is given."""
    if message:
        say(view, **message)
    assert view._session.fleet.wait(60)
    assert view._session.exporting.wait(60)
    view._session.events.emit("export")
    return view.export


def test_the_sheet_of_a_drawn_gang_has_its_files(view):
    """In mode Plan too: the frame on the canvas is what is exported."""
    row = shown(view)
    assert row["name"] == "eight-pairs, 1 gang of 3 pods, all in one leaf switch"
    assert {"job.yaml", "README.md"} <= {file["name"] for file in row["files"]}


def test_the_scheduler_is_chosen_by_its_name(view):
    """Its files and what it does with the gang are shown instead."""
    row = shown(view, type="choose-gang-export", scheduler="kube-scheduler")
    assert "podgroup.yaml" in {file["name"] for file in row["files"]}
    assert row["plain"]["detail"].startswith("kube-scheduler 1.36.2 (PodGroup, GangScheduling on) finds a place")


def test_a_choice_of_kueue_where_the_claims_do_not_fit_is_a_warning(view):
    """Kueue counts no devices, and may choose the leaf switch that is in use."""
    row = shown(view)
    assert (row["plain"]["verdict"], "leaf-1, where the claims do not fit" in row["plain"]["detail"]) == ("warn", True)


def test_what_the_scheduler_cannot_express_is_listed(view):
    """A PodGroup has no preferred level."""
    preferred = {"level": "spine", "prefer": "leaf switch", "hierarchy": "h100-pod"}
    say(view, type="set-gang", name=POD, size=3, **preferred)
    row = shown(view, type="choose-gang-export", scheduler="kube-scheduler")
    assert row["gang"]["notExpressed"] == ["A PodGroup has no preferred level, so leaf switch is left out."]


def test_a_gang_without_a_level_has_no_domain_to_pin(view):
    """The reason is shown instead of the domain."""
    say(view, type="set-gang", name=POD, size=3)
    assert shown(view)["gang"]["noDomain"] == "This gang requires no level."


def test_the_planned_domain_is_shown_with_the_pin(view):
    """A person sees what the pin holds the pods to."""
    gang = shown(view, type="choose-export", pin=True)["gang"]
    assert (gang["pin"], gang["domain"]) == (True, "spine-1/leaf-2")


def test_an_empty_queue_is_an_error_beside_the_button(view):
    """Kueue does not manage a Job without a queue."""
    row = shown(view, type="choose-gang-export", queue="")
    assert (row["worse"], row["findings"][0]["rule"]) == ("Correct the error above.", "kueue-queue-missing")


def test_the_queues_of_kueue_are_offered_to_kueue_alone(view):
    """KAI has queues of its own."""
    found = [shown(view, type="choose-gang-export", scheduler=name)["gang"].get("queues") for name in ("kueue", "kai")]
    assert found == [["inference/serve", "research/study", "training/train"], None]


def test_ordinary_pods_are_named_because_they_are_not_in_the_files(view):
    """They are part of the plan that decides the domain."""
    view._session.fleet.add(read_sketch(f"{SAMPLE}/{POD}"), 1, "web")
    words = "web is planned with the gang and not in these files. Open it in Plan to export it."
    assert shown(view)["gang"]["others"] == words


def test_a_part_of_a_configuration_is_marked(view):
    """kueue-configuration.yaml is merged by hand."""
    marked = [file["name"] for file in shown(view)["files"] if file.get("fragment")]
    assert marked == ["kueue-configuration.yaml"]
