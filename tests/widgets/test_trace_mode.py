"""The Trace mode: the present step, the picture, folded rows, and predictions."""

from __future__ import annotations

import json

import pytest
from widget_messages import say, until

from dra_lab import HardwareView, Session, read_sketch

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
    """Wait until the search is there and the step that was asked for is shown."""
    until(view, lambda: view.trace.get("total") and view.trace_now.get("step") == view.trace_step)


def device_of(view, name: str) -> str:
    """Return the id of a device of the shown node."""
    return f"gpu.nvidia.com/{view.node}/{name}"


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
    say(view, type="open-trace-row", first=row["first"], last=row["last"])
    until(view, lambda: row["key"] in view.trace_inside)
    inside = view.trace_inside[row["key"]]
    assert (inside[0]["first"], inside[-1]["last"]) == (row["first"], row["last"])


def test_the_next_device_passes_over_rejected_ones(view):
    """The first device that is allocated is in step 11."""
    say(view, type="next-allocation")
    until(view, lambda: view.trace_step == 11)


def test_the_search_without_links_is_another_one(view):
    """Counts and selectors only need 20 steps."""
    view.trace_links = False
    until(view, lambda: view.trace.get("total") == 20)


def test_another_node_is_traced(view):
    """A node that is full rejects every device."""
    say(view, type="node", name=FULL)
    until(view, lambda: "finds no allocation" in view.trace.get("end", ""))


@pytest.mark.parametrize(
    ("picked", "score", "words"),
    [
        ("gpu-3", 1, "Right: kube-scheduler allocates gpu-3 to A1."),
        ("gpu-0", 0, "It rejects gpu-0: in use by training/llm-7b-0-devices-wslqm."),
        ("gpu-7", 0, "It takes the first device that passes all tests, and gpu-7 comes later."),
    ],
)
def test_a_prediction_is_compared_and_counted(view, picked, score, words):
    """The step of the allocation is shown, the score is kept, and a wrong device has its reason."""
    view.trace_predict = True
    say(view, type="predict", device=device_of(view, picked))
    until(view, lambda: view.trace_prediction.get("verdict") and view.trace_step == 11)
    found = view.trace_prediction
    assert (view.trace_step, found.get("score", 0), found["asked"]) == (11, score, 1)
    assert found["verdict"].endswith(words)
    assert found["question"] == "Which device does kube-scheduler allocate next to A1?"


def test_a_step_of_a_long_search_is_a_small_message():
    """The browser gets less than 100 kB for a step of a search of 55,696 steps."""
    session = Session(EKS, sketch=read_sketch(f"{EKS}/five-pairs"))
    session.wait()
    view = HardwareView(session)
    say(view, type="node", name="ip-192-168-140-52.ec2.internal")
    session.show_mode("trace")
    traced(view)
    go(view, 40_000)
    assert view.trace_now["step"] == 40_000
    assert len(json.dumps(view.trace_now)) + len(view.trace_svg) < 100_000
    view.close()
    session.close()
