"""The Trace mode: the present step, the picture, folded rows, and predictions."""

from __future__ import annotations

import json
import threading
from functools import partial

import pytest

from dra_lab.errors import Cancelled
from dra_lab.scheduler.node_trace import trace_claims
from dra_lab.session import Session
from dra_lab.widgets.hardware_view import HardwareView

EKS = "sample:eks-p4d"
FULL = "ip-192-168-158-9.ec2.internal"


@pytest.fixture
def view():
    """A view in Trace mode on the shipped example."""
    session = Session(EKS)
    session.wait()
    shown = HardwareView(session)
    session.show_mode("trace")
    traced(shown)
    yield shown
    shown.close()
    session.close()


def traced(view) -> None:
    """Wait until the search and the asked step are there."""
    assert view._tracing.wait(30)
    assert view._steps.wait(30)


def device_of(view, name: str) -> str:
    """Return the id of a device of the shown node."""
    return f"gpu.nvidia.com/{view.node}/{name}"


def send(view, **message) -> None:
    """Send what the browser sends, and wait for the step that it leads to."""
    view._on_message(view, message, [])
    assert view._steps.wait(30)


def go(view, step: int) -> None:
    """Choose a step and wait until it is shown."""
    view.trace_step = step
    traced(view)


def test_the_mode_shows_the_first_step(view):
    """The search begins at its first step, with nothing held."""
    assert (view.trace["total"], view.trace_now["step"]) == (87, 1)
    assert view.trace_now["held"] == ["A gpu: none yet, 2 needed", "B nic: none yet, 2 needed"]


def test_nothing_is_traced_in_another_mode():
    """A view in Plan mode runs no search."""
    session = Session(EKS)
    session.wait()
    view = HardwareView(session)
    assert view.trace == {}
    view.close()
    session.close()


def test_a_step_shows_its_device_and_what_is_held(view):
    """After a GPU is allocated its letter is on the picture, and the rows end with the present step."""
    go(view, 11)
    assert view.trace_now["device"] == device_of(view, "gpu-3")
    marked = view.trace_svg.partition(f'data-id="{device_of(view, "gpu-3")}"')[2].partition(">")[0]
    assert 'data-request="gpu"' in marked
    assert [row["last"] for row in view.trace_now["rows"]] == [1, 2, 3, 7, 10, 11]


def test_what_the_planner_knows_is_said_of_the_latest_device(view):
    """gpu-3 has no free NIC on its PCIe root, which the search finds out only when it tries the NICs."""
    go(view, 11)
    assert view.trace_now["unseen"] == [
        "gpu-3 is on PCIe root pci0000:20. rdmap32s27 for nic is in use there, so it has no partner."
    ]


def test_an_attempt_that_was_given_back_is_folded_and_opens(view):
    """The row has all steps of the attempt, and the rows inside it reach from its first to its last step."""
    go(view, 40)
    row = next(row for row in view.trace_now["rows"] if row.get("opens"))
    send(view, type="open-trace-row", first=row["first"], last=row["last"])
    inside = view.trace_inside[row["key"]]
    assert (inside[0]["first"], inside[-1]["last"]) == (row["first"], row["last"])


def test_the_next_device_passes_over_rejected_ones(view):
    """The first device that is allocated is in step 11."""
    send(view, type="next-allocation")
    assert view.trace_step == 11


@pytest.fixture
def busy(view):
    """The worker of a view, which does nothing until the event is set."""
    free = threading.Event()
    view._steps.submit(lambda _number: free.wait(20))
    yield free
    free.set()


def test_every_press_of_next_device_counts(view, busy):
    """A device is allocated in step 11 and given back in step 27, also if the worker is busy while a person presses."""
    for _ in range(2):
        view._on_message(view, {"type": "next-allocation"}, [])
    busy.set()
    traced(view)
    assert view.trace_step == view.trace_now["step"] == 27


def test_a_step_that_is_chosen_later_is_not_taken_back(view, busy):
    """The step of the button is shown when the person has chosen another one."""
    view._on_message(view, {"type": "next-allocation"}, [])
    view.trace_step = 40
    seen = []
    view.observe(lambda change: seen.append(change.new), "trace_step")
    busy.set()
    traced(view)
    assert (seen, view.trace_now["step"]) == ([], 40)


def test_a_slider_is_followed_to_its_end_only(view, busy, monkeypatch):
    """The worker computes only the last of the waiting steps."""
    found = []
    monkeypatch.setattr(view._position, "go", found.append)
    for step in (5, 6, 7):
        view.trace_step = step
    busy.set()
    traced(view)
    assert found == [7]


def test_the_search_without_links_is_another_one(view):
    """Counts and selectors only need 20 steps."""
    view.trace_links = False
    traced(view)
    assert view.trace["total"] == 20


def test_another_node_is_traced(view):
    """A node that is full rejects every device."""
    send(view, type="node", name=FULL)
    traced(view)
    assert "finds no allocation" in view.trace["end"]


@pytest.mark.parametrize(
    ("picked", "score", "words"),
    [
        ("gpu-3", 1, "Right: kube-scheduler allocates gpu-3 to gpu-0, first."),
        ("gpu-0", 0, "It rejects gpu-0: in use by training/llm-7b-0-devices-wslqm."),
        ("gpu-7", 0, "It takes the first device that passes all tests, and gpu-7 comes later."),
    ],
)
def test_a_prediction_is_compared_and_counted(view, picked, score, words):
    """The step of the allocation is shown, the score is kept, and a wrong device has its reason."""
    view.trace_predict = True
    send(view, type="predict", device=device_of(view, picked))
    found = view.trace_prediction
    assert (view.trace_step, found.get("score", 0), found["asked"]) == (11, score, 1)
    assert found["verdict"].endswith(words)
    assert found["question"] == "Which device does kube-scheduler allocate next to gpu-0, first?"


def test_a_step_of_a_long_search_is_a_small_message():
    """The browser gets less than 100 kB for a step of a search of 55,696 steps."""
    from dra_lab import read_sketch

    session = Session(EKS, sketch=read_sketch(f"{EKS}/five-pairs"))
    session.wait()
    view = HardwareView(session)
    send(view, type="node", name="ip-192-168-140-52.ec2.internal")
    session.show_mode("trace")
    traced(view)
    go(view, 40_000)
    assert view.trace_now["step"] == 40_000
    assert len(json.dumps(view.trace_now)) + len(view.trace_svg) < 100_000
    view.close()
    session.close()


def test_a_search_that_is_longer_than_its_record_says_what_is_shown(view, monkeypatch):
    """The title has the number of steps, and the last ones are what is left out and the end."""
    short = partial(trace_claims, most_steps=20)
    monkeypatch.setattr("dra_lab.planner.kube_scheduler.trace_claims", short)
    view.trace_links = False
    view.trace_links = True
    traced(view)
    go(view, view.trace["total"])
    recorded = view.trace["recorded"]
    assert view.trace["title"].endswith(f"Shown: the first {recorded} steps, and the end")
    assert [row["kind"] for row in view.trace_now["rows"][-2:]] == ["left-out", "end"]


def test_a_search_that_runs_shows_how_far_it_is_and_can_be_stopped(view, monkeypatch):
    """The browser gets the number of candidates, and its message stops the search."""
    notified = threading.Event()

    def search(*_arguments, progress, cancel, **_more):
        progress(4_096)
        notified.set()
        cancel.wait(20)
        raise Cancelled("stopped")

    monkeypatch.setattr("dra_lab.session.tracing.REPORT_EVERY", -1.0)
    monkeypatch.setattr("dra_lab.planner.kube_scheduler.trace_claims", search)
    view.trace_links = False
    notified.wait(20)
    working = view.trace["working"]
    send(view, type="stop-trace")
    traced(view)
    assert (working, view.trace["error"][:24]) == ("4,096 devices tried so far", "You stopped the search b")
