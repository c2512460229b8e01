"""ClaimCanvas without a browser: a recording comm stands in for it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import traitlets
from ipywidgets import Widget

from dra_lab.model.sketch import ClaimSketch
from dra_lab.session import Session
from dra_lab.widgets.canvas_values import CanvasStatus, PaletteRow, RequestRow
from dra_lab.widgets.claim_canvas import ClaimCanvas
from dra_lab.widgets.wire import wire

ROOT = Path(__file__).parents[2]
GPU = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com", "count": 2}}
NIC = {"name": "nic", "exactly": {"deviceClassName": "dranet"}}
LINK = {"name": "link-1", "requests": ["gpu", "nic"], "how": "pairwise"}


class RecordingComm:
    """The browser's side of the line: keeps what was sent."""

    comm_id = "x"

    def __init__(self) -> None:
        self.sent: list[dict] = []

    def send(self, data=None, metadata=None, buffers=None) -> None:
        self.sent.append(data)

    def on_msg(self, callback) -> None:
        pass

    def on_close(self, callback) -> None:
        pass

    def close(self, *arguments, **options) -> None:
        pass

    def updates(self, name: str) -> list:
        return [m["state"][name] for m in self.sent if m["method"] == "update" and name in m["state"]]


@pytest.fixture
def canvas():
    widget = ClaimCanvas(sketch={"requests": [GPU]})
    widget.comm = RecordingComm()
    yield widget
    Widget.close_all()


def from_browser(canvas: ClaimCanvas, **state: object) -> None:
    canvas._handle_msg({"content": {"data": {"method": "update", "state": state, "buffer_paths": []}}, "buffers": []})


def message(canvas: ClaimCanvas, **content: object) -> None:
    canvas._handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})


def test_a_drawing_of_the_browser_becomes_a_sketch_and_is_not_sent_back(canvas):
    """The browser has it already: sending it again could overtake what the person does next."""
    from_browser(canvas, sketch={"requests": [GPU, NIC], "links": [LINK]})
    assert [link.requests for link in canvas.drawn.links] == [("gpu", "nic")]
    assert canvas.comm.updates("sketch") == []


@pytest.mark.parametrize(
    ("sketch", "says"),
    [
        ({"requests": [GPU], "links": [LINK]}, "connects 'nic'"),
        ({"requests": [GPU, GPU]}, "appears twice"),
        ({"requests": [{**GPU, "name": "Not a label"}]}, "lower-case"),
        ({"requests": [{**GPU, "surprise": 1}]}, "surprise"),
        ({"requests": "gpu"}, "requests"),
    ],
)
def test_a_refused_drawing_is_reported_and_the_old_one_sent_back(canvas, sketch, says):
    """What ipywidgets alone does alone would leave the browser ahead of the kernel."""
    from_browser(canvas, sketch=sketch)
    assert canvas.sketch == {"requests": [GPU]}
    assert says in canvas.problem
    assert canvas.comm.updates("sketch")[-1] == {"requests": [GPU]}


def test_the_problem_goes_with_the_next_drawing_that_is_taken(canvas):
    from_browser(canvas, sketch={"requests": [GPU, GPU]})
    from_browser(canvas, sketch={"requests": [NIC]})
    assert canvas.problem == ""


def test_an_inconsistent_drawing_from_python_is_an_error(canvas):
    with pytest.raises(traitlets.TraitError, match="appears twice"):
        canvas.sketch = {"requests": [GPU, GPU]}


def test_mouse_and_python_share_one_history(canvas):
    """Undo goes back over changes of either side; a new change forgets what was undone."""
    from_browser(canvas, sketch={"requests": [GPU, NIC]})
    canvas.draw(ClaimSketch(name="mine"))
    message(canvas, type="undo")
    assert canvas.sketch == {"requests": [GPU, NIC]}
    message(canvas, type="undo")
    message(canvas, type="undo")
    assert canvas.sketch == {"requests": [GPU]}
    assert canvas.history == {"canRedo": True}
    message(canvas, type="redo")
    assert canvas.sketch == {"requests": [GPU, NIC]}
    from_browser(canvas, sketch={"requests": [NIC]})
    assert canvas.history == {"canUndo": True}


def test_moving_a_box_is_no_step_of_the_history(canvas):
    from_browser(canvas, positions={"gpu": [10, 20]})
    assert canvas.positions == {"gpu": [10, 20]}
    assert canvas.history == {}


@pytest.mark.parametrize("place", [[1], [1, 2, 3], ["x", 2], [float("inf"), 0], None])
def test_a_place_that_is_none_is_refused(canvas, place):
    from_browser(canvas, positions={"gpu": place})
    assert canvas.positions == {}
    assert "positions['gpu']" in canvas.problem


@pytest.mark.parametrize("content", [{"type": "rm -rf"}, {}, {"type": None}])
def test_an_unknown_message_does_nothing(canvas, content):
    message(canvas, **content)
    assert canvas.sketch == {"requests": [GPU]}


def test_rows_travel_in_camel_case_without_defaults():
    row = PaletteRow(key="gpu", label="GPU", device_class="gpu.nvidia.com", in_cluster=False)
    canvas = ClaimCanvas(palette=[row], status=CanvasStatus(requests={"gpu": RequestRow(matching_ids=("a/b/c",))}))
    assert canvas.palette == [{"key": "gpu", "label": "GPU", "deviceClass": "gpu.nvidia.com", "inCluster": False}]
    assert canvas.status == {"requests": {"gpu": {"matchingIds": ["a/b/c"]}}}


def test_a_sketch_goes_to_the_browser_and_comes_back_the_same(canvas):
    from_browser(canvas, sketch={"requests": [GPU, NIC], "links": [LINK]})
    assert wire(canvas.drawn) == {"requests": [GPU, NIC], "links": [LINK]}
    json.dumps(canvas.sketch)


def test_the_types_of_the_browser_are_those_of_the_traits():
    """widgets/src/generated/models.ts is checked in; changing a trait without it would break silently."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "widgets" / "generate_models.py"), "--check"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def session():
    given = Session("sample:eks-p4d", sketch=ClaimSketch(name="drawn"))
    yield given
    given.close()
    Widget.close_all()


def test_a_canvas_of_a_session_draws_into_it_and_follows_it(session):
    """There is one drawing and one history, from wherever it is changed."""
    canvas = ClaimCanvas(session)
    canvas.comm = RecordingComm()
    assert [row["kind"] for row in canvas.palette] == ["gpu", "nic", "nic"]
    from_browser(canvas, sketch={"requests": [GPU, NIC]}, positions={"gpu": [1, 2]})
    assert [request.name for request in session.sketch.requests] == ["gpu", "nic"]
    assert session.drawing.layout == {"gpu": (1, 2)}
    assert session.wait(30)
    assert canvas.status["requests"]["gpu"]["letter"] == "A"
    assert canvas.status["requests"]["gpu"]["matching"] == 32
    assert [option["where"] for option in canvas.status["pairs"]["gpu|nic"]][:2] == ["switch", "pcieRoot"]
    message(canvas, type="undo")
    assert session.sketch.requests == ()
    assert canvas.sketch.get("requests", []) == []
    session.redo()
    assert len(canvas.drawn.requests) == 2
    assert canvas.history == {"canUndo": True}


def test_a_closed_canvas_no_longer_follows(session):
    canvas = ClaimCanvas(session)
    canvas.close()
    session.edit(ClaimSketch(name="later"))
    assert canvas.sketch["name"] == "drawn"


def test_lighting_up_goes_both_ways(session):
    canvas = ClaimCanvas(session)
    from_browser(canvas, highlight="gpu")
    assert session.highlight == "gpu"
    session.light("")
    assert canvas.highlight == ""


def test_a_defect_in_one_part_is_reported_and_the_rest_stays(session, monkeypatch):
    monkeypatch.setattr("dra_lab.widgets.claim_canvas.palette_rows", lambda cluster: 1 / 0)
    canvas = ClaimCanvas(session)
    assert "ZeroDivisionError" in canvas.problem
    from_browser(canvas, sketch={"requests": [GPU]})
    assert [request.name for request in session.sketch.requests] == ["gpu"]
    from_browser(canvas, problem="")
    assert canvas.problem == ""


def test_counts_that_make_no_pairs_are_reported_at_the_link_and_never_changed(session):
    """The link is marked with the nearest counts that work."""
    canvas = ClaimCanvas(session)
    three = {"name": "nic", "exactly": {"deviceClassName": "dranet", "count": 3}}
    from_browser(canvas, sketch={"requests": [GPU, three], "links": [LINK]})
    assert "nic ×2 or ×4" in canvas.status["links"]["link-1"]["problem"]
    assert canvas.drawn.request("nic").exactly.count == 3


def test_a_place_that_one_side_does_not_publish_is_the_problem_of_the_link(session):
    canvas = ClaimCanvas(session)
    from_browser(canvas, sketch={"requests": [GPU, NIC], "links": [{**LINK, "where": "switch"}]})
    row = canvas.status["links"]["link-1"]
    assert row["label"] == "PCIe switch"
    assert "PCIe switch" in row["problem"]
