"""ClaimCanvas without a browser: drawing, history, gangs, and what the inspector of a request shows."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from ipywidgets import Widget
from msgspec import to_builtins
from msgspec.structs import replace
from widget_messages import answered, say, set_traits

from dra_lab import ClaimCanvas, ClaimSketch, Link, PlanView, Session, load_cluster, read_sketch
from dra_lab.model.sketch import pod_drawing

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
        self.handle_msg = callback

    def on_close(self, callback) -> None:
        pass

    def close(self, *arguments, **options) -> None:
        pass

    def updates(self, name: str) -> list:
        sent = [data["state"] for data in self.sent if data and data["method"] == "update"]
        return [state[name] for state in sent if name in state]


@pytest.fixture
def canvas():
    widget = ClaimCanvas(sketch={"requests": [GPU]})
    widget.comm = RecordingComm()
    yield widget
    Widget.close_all()


def test_a_drawing_of_the_browser_becomes_a_sketch_and_is_not_sent_back(canvas):
    """The browser has it already: sending it again could overtake what the person does next."""
    set_traits(canvas, sketch={"requests": [GPU, NIC], "links": [LINK]})
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
    """The browser would be ahead of the kernel if ipywidgets alone did it."""
    set_traits(canvas, sketch=sketch)
    assert canvas.sketch == {"requests": [GPU]}
    assert says in canvas.problem
    assert canvas.comm.updates("sketch")[-1] == {"requests": [GPU]}


def test_the_problem_goes_with_the_next_drawing_that_is_taken(canvas):
    set_traits(canvas, sketch={"requests": [GPU, GPU]})
    set_traits(canvas, sketch={"requests": [NIC]})
    assert canvas.problem == ""


def test_mouse_and_python_share_one_history(canvas):
    set_traits(canvas, sketch={"requests": [GPU, NIC]})
    canvas.draw(ClaimSketch(name="mine"))
    say(canvas, type="undo")
    assert canvas.sketch == {"requests": [GPU, NIC]}
    say(canvas, type="undo")
    say(canvas, type="undo")
    assert canvas.sketch == {"requests": [GPU]}
    assert canvas.history == {"canRedo": True}
    say(canvas, type="redo")
    assert canvas.sketch == {"requests": [GPU, NIC]}
    set_traits(canvas, sketch={"requests": [NIC]})
    assert canvas.history == {"canUndo": True}


def test_moving_a_box_is_no_step_of_the_history(canvas):
    set_traits(canvas, positions={"gpu": [10, 20]})
    assert canvas.positions == {"gpu": [10, 20]}
    assert canvas.history == {}


@pytest.mark.parametrize("place", [[1], [1, 2, 3], ["x", 2], [float("inf"), 0], None])
def test_a_place_that_is_none_is_refused(canvas, place):
    set_traits(canvas, positions={"gpu": place})
    assert canvas.positions == {}
    assert "positions['gpu']" in canvas.problem


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
def blank():
    given = Session("sample:eks-p4d", sketch=ClaimSketch(name="drawn"))
    yield given
    given.close()
    Widget.close_all()


def test_a_canvas_of_a_session_draws_into_it_and_follows_it(blank):
    canvas = ClaimCanvas(blank)
    canvas.comm = RecordingComm()
    assert [row["kind"] for row in canvas.palette] == ["gpu", "nic", "nic"]
    set_traits(canvas, sketch={"requests": [GPU, NIC]}, positions={"gpu": [1, 2]})
    assert [request.name for request in blank.sketch.requests] == ["gpu", "nic"]
    assert blank.drawing.layout == {"gpu": (1, 2)}
    assert blank.wait(30)
    assert canvas.status["requests"]["gpu"]["letter"] == "A"
    assert canvas.status["requests"]["gpu"]["matching"] == 32
    assert [option["where"] for option in canvas.status["pairs"]["gpu|nic"]][:2] == ["switch", "pcieRoot"]
    say(canvas, type="undo")
    assert blank.sketch.requests == ()
    assert canvas.sketch.get("requests", []) == []
    blank.redo()
    assert len(canvas.drawn.requests) == 2
    assert canvas.history == {"canUndo": True}


def test_lighting_up_goes_both_ways(blank):
    canvas = ClaimCanvas(blank)
    set_traits(canvas, highlight="gpu")
    assert blank.highlight == "gpu"
    blank.light("")
    assert canvas.highlight == ""


def test_counts_that_make_no_pairs_are_reported_at_the_link_and_never_changed(blank):
    canvas = ClaimCanvas(blank)
    three = {"name": "nic", "exactly": {"deviceClassName": "dranet", "count": 3}}
    set_traits(canvas, sketch={"requests": [GPU, three], "links": [LINK]})
    assert "nic ×2 or ×4" in canvas.status["links"]["link-1"]["problem"]
    assert canvas.drawn.request("nic").exactly.count == 3


def test_a_place_that_one_side_does_not_publish_is_the_problem_of_the_link(blank):
    canvas = ClaimCanvas(blank)
    set_traits(canvas, sketch={"requests": [GPU, NIC], "links": [{**LINK, "where": "switch"}]})
    row = canvas.status["links"]["link-1"]
    assert "PCIe switch" in row["problem"]


def pod_drawn(session):
    """Draw a pod with the session's claim twice, and return it."""
    pod = pod_drawing("train", (replace(session.sketch, name="a"), replace(session.sketch, name="b")))
    session.edit(pod)
    answered(session)
    return pod


def test_each_claim_says_its_field_and_the_name_of_its_template(session):
    canvas = ClaimCanvas(session)
    pod_drawn(session)
    assert canvas.status["claims"] == {
        "a": {"field": "spec.resourceClaims[0].name", "template": "train-a"},
        "b": {"field": "spec.resourceClaims[1].name", "template": "train-b"},
    }


def test_requests_and_links_have_the_rows_of_their_claim(session):
    """Fields count from 0 in each claim, and pairs for a new link are of one claim."""
    canvas = ClaimCanvas(session)
    pod_drawn(session)
    status = canvas.status
    assert status["requests"]["a:gpu"]["field"] == status["requests"]["b:gpu"]["field"]
    assert "matchAttribute" in status["links"]["b:pairs"]["field"]
    assert set(status["pairs"]) == {"a:gpu|a:nic", "b:gpu|b:nic"}


def test_a_link_between_claims_is_refused_with_what_to_do(session):
    canvas = ClaimCanvas(session)
    pod = pod_drawn(session)
    across = replace(pod, links=(*pod.links, Link(name="a:x", requests=("a:gpu", "b:nic"))))
    set_traits(canvas, sketch=to_builtins(across))
    assert "Move the requests into one claim" in canvas.problem
    assert (session.sketch, canvas.drawn) == (pod, pod)


def test_the_editor_of_the_yaml_has_all_claims(session):
    """The letters go on from claim to claim."""
    view = PlanView(session)
    pod_drawn(session)
    assert view.claim_text.count("kind: ResourceClaimTemplate") == 2
    assert "name: gpu-0  # C" in view.claim_text


def test_the_sentence_says_what_each_claim_asks_for(session):
    view = PlanView(session)
    pod_drawn(session)
    assert view.answer["asked"].startswith(
        "The pod has two claims. a: 2 A100-SXM4-40GB GPUs, each with its own RDMA NIC"
    )
    assert " b: 2 A100-SXM4-40GB GPUs, each with" in view.answer["asked"]


LEVEL = {"level": "leaf switch", "hierarchy": "h100-pod"}


@pytest.fixture
def gang():
    """Give a session with a drawing and the canvas that shows it."""
    session = Session("sample:h100-pod", sketch=read_sketch("sample:h100-pod/eight-pairs"))
    yield session, ClaimCanvas(session)
    session.close()
    Widget.close_all()


def test_a_drawing_becomes_a_gang_and_the_workload_that_is_edited(gang):
    session, canvas = gang
    say(canvas, type="make-gang")
    (pod,) = session.drawing.workloads
    assert (pod.pod, pod.gang.size, pod.gang.level) == ("eight-pairs", 4, "leaf switch")
    assert session.drawing.editing == "eight-pairs"
    assert canvas.gang["words"] == "1 gang of 4 pods, all in one leaf switch"


def test_the_frame_changes_the_gang_and_one_undo_brings_it_back(gang):
    session, canvas = gang
    say(canvas, type="make-gang")
    say(canvas, type="set-gang", gang={"size": 8, **LEVEL})
    assert canvas.gang["size"] == 8
    session.undo()
    assert canvas.gang["size"] == 4
    session.undo()
    assert canvas.gang == {}


def test_a_drawing_beside_other_workloads_becomes_one_of_them(gang):
    """The drawing is none of the workloads: its gang is another one, in one step."""
    session, canvas = gang
    session.fleet.add(session.sketch, 2, "other")
    session.fleet.remove("eight-pairs")
    say(canvas, type="make-gang")
    assert [pod.pod for pod in session.fleet.workloads] == ["other", "eight-pairs"]
    session.undo()
    assert [pod.pod for pod in session.fleet.workloads] == ["other"]


def test_plan_says_who_answers_for_the_gang(gang):
    session, canvas = gang
    view = PlanView(session)
    session.plan()
    say(canvas, type="make-gang")
    asked = view.answer["asked"]
    assert asked.endswith("Fleet answers for 1 gang of 4 pods, all in one leaf switch.")


def part(session, device_class: str, *selectors: str, **amounts: str) -> dict:
    """Draw a request, and return the row of its only part."""
    exactly = {"deviceClassName": device_class, "selectors": [{"cel": {"expression": text}} for text in selectors]}
    exactly["capacity"] = {"requests": {key.replace("__", "/"): amount for key, amount in amounts.items()}}
    canvas = ClaimCanvas(session)
    set_traits(canvas, sketch={"requests": [{"name": "one", "exactly": exactly}]})
    answered(session)
    (row,) = canvas.status["requests"]["one"]["parts"]
    return row


def test_each_selector_is_counted_alone_and_free(session):
    row = part(session, "dranet", 'device.attributes["dra.net"].rdma == true', "true")
    assert [found["text"] for found in row["selectors"]] == ["16 of 28 match, 9 free", "28 of 28 match, 21 free"]
    assert row["classWords"] == "selects every device of the driver dra.net"


@pytest.mark.parametrize(("known", "words"), [(False, "use unknown"), (True, "51 free")])
def test_devices_are_called_free_only_as_far_as_claims_were_read(known, words):
    read = dataclasses.replace(load_cluster("sample:dgx-h100"), claims_known=known)
    with closing(Session(read, sketch=read_sketch("sample:dgx-h100/gpu-nic-cpu"))) as session:
        session.plan()
        canvas = ClaimCanvas(session)
        (entry,) = [one for one in canvas.palette if one["label"] == "RDMA NIC"]
        row = canvas.status["requests"]["nic"]
        texts = [entry.get("chip") or entry["use"], row["text"]]
    assert [words in text for text in texts] == [True] * 2


def test_a_selector_that_does_not_compile_is_reported_beside_it(session):
    assert "nonsense" in part(session, "dranet", "device.nonsense")["selectors"][0]["error"]


@pytest.mark.parametrize(
    ("amount", "words"), [("16", "16 allocated."), ("9999", "The largest device has"), ("many", "many")]
)
def test_an_amount_says_what_the_driver_makes_of_it(amount, words):
    with closing(Session("sample:dgx-h100")) as session:
        row = part(session, "dra.cpu", **{"dra.cpu__cpu": amount})
    (found,) = [one for one in row["amounts"] if one["key"] == "dra.cpu/cpu"]
    assert words in found["note"]


@pytest.fixture
def configure(session):
    """Return what sends typed parameters for the request gpu, and the canvas that gets them."""
    canvas = ClaimCanvas(session)

    def send(text: str) -> ClaimCanvas:
        say(canvas, type="configure", index=0, requests=["gpu"], driver="gpu.nvidia.com", text=text)
        return canvas

    return send


def test_typed_parameters_become_an_entry_of_the_configuration_until_they_are_empty(session, configure):
    configure("sharing: {strategy: TimeSlicing}")
    (entry,) = session.sketch.config
    assert entry.opaque.parameters == {"sharing": {"strategy": "TimeSlicing"}}
    configure("")
    assert session.sketch.config == ()


@pytest.mark.parametrize(
    ("text", "words"), [("a: [", "not valid YAML"), ("- 1", "one YAML or JSON object"), ("a", "object")]
)
def test_parameters_that_are_no_object_are_refused(configure, text, words):
    assert words in configure(text).configured["message"]
