"""Several claims on one canvas in a real JupyterLab: frames by mouse and keyboard, and what cannot be linked."""

from __future__ import annotations

import pytest
from drawn_canvas import GPU, LINKED, NIC
from lab_server import until

pytestmark = [pytest.mark.browser, pytest.mark.long]

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


def test_a_line_to_another_claim_makes_no_link_and_says_why(draw):
    canvas = draw(APART)
    canvas.drag(
        canvas.handle(canvas.box("a:nic"), "right"), canvas.centre(canvas.box("b:gpu").locator(".dra-box-text"))
    )
    canvas.root.get_by_text("Kubernetes has no rule between claims").wait_for()
    assert len(canvas.links()) == 1


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
