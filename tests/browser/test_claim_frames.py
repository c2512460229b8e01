"""Several claims on one canvas in a real JupyterLab: frames by mouse and keyboard, and what cannot be linked."""

from __future__ import annotations

import pytest
from code_of import code_of
from drawn_canvas import GPU, LINKED, NIC
from lab_page import box_of
from lab_server import until
from planner_page import Planner

pytestmark = pytest.mark.browser

APART = {
    "requests": [{**GPU, "name": "a:gpu"}, {**NIC, "name": "a:nic"}, {**GPU, "name": "b:gpu"}],
    "links": [{"name": "a:link-1", "requests": ["a:gpu", "a:nic"], "where": "pcieRoot", "how": "pairwise"}],
    "claims": ["a", "b"],
}


def claims(canvas) -> list[str]:
    """Return the claims of the drawing in the kernel."""
    return canvas.lab.eval("list(canvas.drawn.claims)")


def frame(canvas, claim: str):
    """Return the frame of a claim on the page."""
    return canvas.root.locator(f'.react-flow__node[data-id="c:{claim}"]')


def head(canvas, claim: str) -> tuple[float, float]:
    """Return the middle of a frame's name."""
    return canvas.centre(frame(canvas, claim).locator(".dra-frame-head"))


def test_a_drawing_of_one_claim_has_no_frame(draw):
    canvas = draw(LINKED)
    assert canvas.root.locator(".dra-frame").count() == 0


def test_a_second_claim_is_drawn_by_keyboard_alone(draw):
    """Shift+N, N, Enter, M: each step is spoken, and a device goes to the claim that has the focus."""
    canvas = draw(LINKED)
    canvas.root.locator(".dra-chip").first.focus()
    canvas.press("Tab", "Shift+n")
    until(lambda: canvas.focused() == "c:claim-2", "the new frame has the focus")
    until(lambda: canvas.spoken == "The pod has 2 claims: claim-1, claim-2", "spoken")
    canvas.press("n", "Enter")
    until(lambda: canvas.focused() == "r:claim-2:gpu", "the box is in the second claim")
    until(lambda: "claim-2:gpu" in canvas.names(), "the kernel has it: changes before that are one step to undo")
    canvas.press("m")
    until(lambda: canvas.names() == ["claim-1:gpu", "claim-1:nic", "claim-1:gpu-2"], "it moved to the first one")
    until(lambda: canvas.spoken == "Moved gpu-2 to claim claim-1", "spoken")
    until(lambda: canvas.focused() == "r:claim-1:gpu-2", "the moved box has the focus")
    canvas.press("Control+z")
    until(lambda: "claim-2:gpu" in canvas.names(), "undone")


@pytest.mark.long
def test_the_keyboard_offers_no_partner_in_another_claim(draw):
    """The only candidate is the request itself, and the banner says why."""
    canvas = draw(APART)
    canvas.box("b:gpu").focus()
    canvas.press("l")
    until(lambda: "(1 of 1)" in canvas.spoken and "no rule joins claims" in canvas.spoken, "the reason is spoken")


@pytest.mark.long
def test_a_line_to_another_claim_makes_no_link_and_says_why(draw):
    canvas = draw(APART)
    canvas.drag(
        canvas.handle(canvas.box("a:nic"), "right"), canvas.centre(canvas.box("b:gpu").locator(".dra-box-text"))
    )
    canvas.root.get_by_text("Kubernetes has no rule between claims").wait_for()
    assert len(canvas.links()) == 1


def test_a_device_is_added_to_the_frame_it_is_dropped_on(draw):
    canvas = draw(APART)
    pane = canvas.root.locator(".dra-board .react-flow__pane")
    (x, y), box = head(canvas, "a"), box_of(pane)
    canvas.chip("rdma").drag_to(pane, target_position={"x": x - box["x"], "y": y - box["y"]})
    until(lambda: "a:nic-2" in canvas.names(), "it is in the claim under the mouse")


def test_a_box_dragged_into_another_frame_moves_there_and_its_link_is_cut(draw):
    """The message says what was removed, and one click undoes it."""
    canvas = draw(APART)
    canvas.drag(canvas.centre(canvas.box("a:gpu").locator(".dra-box-text")), head(canvas, "b"))
    until(lambda: canvas.names() == ["b:gpu-2", "a:nic", "b:gpu"], "it is in the other claim")
    assert canvas.links() == []
    notice = canvas.root.locator(".dra-banner.is-notice")
    assert "removed the link gpu + nic" in notice.inner_text()
    notice.get_by_role("button", name="Undo").click()
    until(lambda: canvas.names() == ["a:gpu", "a:nic", "b:gpu"] and len(canvas.links()) == 1, "undone")


def test_a_dragged_frame_takes_its_boxes_along(draw):
    canvas = draw(APART)
    box, name = canvas.centre(canvas.box("b:gpu")), head(canvas, "b")
    canvas.drag(name, (name[0] + 60, name[1] + 70))
    canvas.settle()
    moved = [now - then for now, then in zip(head(canvas, "b"), name, strict=True)]
    assert min(moved) > 40
    assert canvas.centre(canvas.box("b:gpu")) == pytest.approx((box[0] + moved[0], box[1] + moved[1]), abs=1)


def are_apart(canvas) -> bool:
    """Say whether the frames of the two claims do not lie on each other."""
    a, b = (box_of(frame(canvas, claim)) for claim in "ab")
    apart = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
    return apart or a["y"] + a["height"] <= b["y"] or b["y"] + b["height"] <= a["y"]


@pytest.mark.long
def test_a_frame_that_is_dragged_onto_another_one_pushes_it_aside(draw):
    canvas = draw(APART)
    canvas.drag(head(canvas, "b"), head(canvas, "a"))
    canvas.settle()
    assert are_apart(canvas)


@pytest.mark.long
def test_frames_stay_apart_when_a_box_becomes_higher(draw):
    """The cause of a misfit has up to three lines in the box."""
    canvas = draw(APART, positions={"a:gpu": [0, 0], "a:nic": [0, 140], "b:gpu": [0, 300]})
    why = "No node has nine free devices of this class; the most on one node are four, so that it does not fit at all."
    canvas.lab.run(f"canvas.problems = [dict(kind='request', name='a:nic', text={why!r})]")
    canvas.box("a:nic").locator(".dra-box.is-cause").wait_for()
    canvas.settle()
    assert are_apart(canvas)


def test_a_claim_is_renamed_and_deleted_by_its_card(draw):
    """With the last but one claim the frames go, and names are as in a drawing of one claim."""
    canvas = draw(APART)
    canvas.page.mouse.click(*head(canvas, "b"))
    name = canvas.root.locator(".dra-inspector").get_by_role("textbox", name="Name")
    name.fill("serve")
    name.press("Enter")
    until(lambda: claims(canvas) == ["a", "serve"], "renamed")
    frame(canvas, "serve").locator(".dra-frame-head").click()
    canvas.root.locator(".dra-inspector").get_by_role("button", name="Delete").click()
    until(lambda: claims(canvas) == [] and canvas.names() == ["gpu", "nic"], "one claim is left")
    assert canvas.root.locator(".dra-frame").count() == 0


def test_the_card_of_a_request_moves_it_to_another_claim(draw):
    canvas = draw(APART)
    canvas.box("b:gpu").locator(".dra-box-text").click()
    canvas.root.get_by_role("combobox", name="Claim").select_option("a")
    until(lambda: canvas.names() == ["a:gpu", "a:nic", "a:gpu-2"], "moved under a free name")


def two_claims():
    """A pod of a claim with links and a claim without."""
    from msgspec.structs import replace

    from dra_lab import Lab, pod_drawing, read_sketch

    pairs = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    pod = pod_drawing("train", (replace(pairs, name="gpus"), replace(pairs, name="more", links=())))
    lab = Lab("sample:eks-p4d", pod, file=None)
    return lab


def export_by_command(lab):
    """Call the command line in the kernel; `shown` has what it prints."""
    import contextlib
    import io
    from pathlib import Path

    from dra_lab.cli.main import main
    from dra_lab.manifests.plan_files import encode_drawing

    Path("train.dralab.yaml").write_text(encode_drawing(lab.session.drawing))
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        main(["export", "sample:eks-p4d", "--claim", "train.dralab.yaml", "--dir", "by-command", "--allow-worse"])


def test_the_export_has_a_template_per_claim_and_says_what_the_command_says(open_notebook, server):
    """The sheet and `dra-lab export` simulate the same pod and write the same manifests."""
    planner = Planner(open_notebook, code_of(two_claims))
    planner.button("Export…").click()
    sheet = planner.root.get_by_role("dialog", name="Export")
    sheet.get_by_role("button", name="resourceclaimtemplate-train-gpus.yaml").wait_for()
    until(lambda: planner.lab.eval("lab.session.exporting.plain is not None"), "simulated")
    sentence = planner.lab.eval("lab.session.exporting.plain.simulation.sentence")
    planner.lab.run(code_of(export_by_command))
    assert sentence in planner.lab.eval("shown.getvalue()")
    written = {path.name: path.read_text() for path in (server.root / "by-command").glob("*.yaml")}
    shown = planner.lab.eval("dict(lab.session.exporting.plain.texts)")
    assert {"resourceclaimtemplate-train-gpus.yaml", "resourceclaimtemplate-train-more.yaml"} < set(written)
    assert {name: shown[name] for name in written} == written
