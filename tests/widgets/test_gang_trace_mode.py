"""The Trace mode of a gang: the steps of a scheduler, the domains at a step, the regret, and one of its pods."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dra_lab.model.sketch import GangDrawing, PodDrawing, claims_of, pod_drawing
from dra_lab.session import Session, read_sketch
from dra_lab.widgets.hardware_view import HardwareView

POD = "sample:h100-pod"
PAIRS = f"{POD}/eight-pairs"


def drawn_as(session: Session, gang: GangDrawing | None) -> None:
    """Make the drawing a workload, as a gang or not."""
    sketch = read_sketch(PAIRS)
    pod = PodDrawing("train", claims_of(sketch), 1, gang=gang)
    content = replace(session.history.present, workloads=(pod,), editing="train")
    session.change(content.with_sketch(pod_drawing("train", claims_of(sketch))))


@pytest.fixture
def view():
    """A view in Trace mode of a gang of three pods below one leaf switch."""
    session = Session(POD, sketch=read_sketch(PAIRS))
    session.wait()
    drawn_as(session, GangDrawing(size=3, level="leaf switch", hierarchy="h100-pod"))
    shown = HardwareView(session)
    session.show_mode("trace")
    traced(shown)
    yield shown
    shown.close()
    session.close()


def traced(view) -> None:
    """Wait until the replay and its regret are there."""
    assert view._gang_tracing.wait(60)


def test_the_first_step_is_shown_with_the_verdict(view):
    """Kueue counts nodes, and the head says what it ends with."""
    assert (view.gang_trace["name"], view.gang_trace["verdict"], view.gang_trace["total"]) == ("train", "no", 6)
    assert view.gang_trace_now["sentence"].startswith("Kueue counts only pods")


def test_the_regret_follows_the_best_plan(view):
    """It comes after the steps, and nothing is left to do then."""
    assert view.gang_trace["regret"] == "Kueue 0.19 starts 0; the best plan starts 1 of 1 gang, proven."
    assert "working" not in view.gang_trace


def test_a_step_shows_its_domains(view):
    """In the third step Kueue takes the first leaf switch, below its spine."""
    view.gang_trace_step = 3
    rows = [(row["name"], row.get("depth", 0), row.get("state", "above")) for row in view.gang_trace_now["rows"]]
    assert rows[:3] == [("spine-1", 0, "above"), ("leaf-1", 1, "chosen"), ("leaf-2", 1, "fits")]


def test_the_steps_up_to_the_present_one_are_listed(view):
    """Later ones are not sent."""
    view.gang_trace_step = 2
    assert [row["number"] for row in view.gang_trace_now["steps"]] == [1, 2]


def test_the_last_step_shows_the_pods_that_wait(view):
    """On the node that Kueue chose no claim can be met."""
    view.gang_trace_step = 6
    assert [(row["state"], row["words"]) for row in view.gang_trace_now["rows"]] == [("waits", "0 of 3 get devices")]


def test_the_other_scheduler_is_replayed_when_it_is_chosen(view):
    """kube-scheduler tries four placements; the second has room for all."""
    view.gang_trace_scheduler = "kube-scheduler"
    traced(view)
    view.gang_trace_step = 3
    rows = [(row["name"], row["state"]) for row in view.gang_trace_now["rows"] if not row.get("depth")]
    assert (view.gang_trace["verdict"], rows) == ("yes", [("leaf-1", "few"), ("leaf-2", "fits")])


def test_a_step_beyond_the_last_is_the_last(view):
    """A number that the browser kept from another scheduler shows no error."""
    view.gang_trace_step = 99
    assert (view.gang_trace_now["step"], view.problem) == (6, "")


def test_one_pod_of_the_gang_can_be_traced(view):
    """The search on a node begins when a person asks for it."""
    assert view.trace == {}
    view.gang_trace_shown = False
    assert view._tracing.wait(30)
    assert view._steps.wait(30)
    assert view.trace["total"] > 0


def test_a_workload_that_is_no_gang_has_the_search_for_its_pod(view):
    """Without the gang the pane is that of one pod."""
    drawn_as(view._session, None)
    assert view.gang_trace == {}


def test_a_level_that_the_cluster_lacks_is_named(view):
    """The pane says what the levels are."""
    drawn_as(view._session, GangDrawing(size=3, level="cage"))
    traced(view)
    assert "no hierarchy has 'cage'" in view.gang_trace["error"]


def test_a_replay_that_is_stopped_says_so(view):
    """Stop ends what runs; the steps that are known stay."""
    view._gang_tracing.running = True
    view._gang_tracing.error = ""
    view._on_message(view, {"type": "stop-trace"}, [])
    assert ("working" in view.gang_trace, view.gang_trace["total"]) == (False, 6)
