"""ClaimCanvas in a real JupyterLab, fed by hand: mouse, keyboard, Python, claims, and what can be read and hit."""

from __future__ import annotations

import pytest
from drawn_canvas import GPU, LINKED, NIC, TWO
from lab_page import box_of
from lab_server import until

pytestmark = [pytest.mark.browser, pytest.mark.long]


def test_a_drag_may_end_anywhere_on_a_box_and_starts_at_a_possible_place(draw):
    """GPU and NIC begin pairwise, at the first place that is possible between them."""
    canvas = draw(TWO)
    canvas.drag(canvas.handle(canvas.box("gpu"), "right"), canvas.centre(canvas.box("nic").locator(".dra-box-text")))
    until(canvas.links, "a link in the kernel")
    drawn = canvas.links()[0]
    assert (drawn["requests"], drawn["where"], drawn["how"]) == (["gpu", "nic"], "pcieRoot", "pairwise")
    assert canvas.lab.eval("[r.exactly.count for r in canvas.drawn.requests]") == [2, 2]


def test_moving_a_box_keeps_the_drawing_and_every_place(draw):
    canvas = draw(LINKED)
    before = box_of(canvas.box("nic"))
    x, y = canvas.centre(canvas.box("gpu").locator(".dra-box-text"))
    canvas.drag((x, y), (x - 120, y + 40))
    until(lambda: len(canvas.lab.eval("canvas.positions")) == 4, "four places in the kernel")
    canvas.settle()
    assert box_of(canvas.box("nic")) == pytest.approx(before, abs=1)
    assert canvas.lab.eval("canvas.history") == {}


def test_a_dropped_box_stays_where_it_is_dropped_and_pushes_the_others_aside(draw):
    """The first drop does not move the view; a box that is dropped on another one makes that one give way."""
    canvas = draw()
    board = canvas.root.locator(".dra-board .react-flow__pane")
    canvas.chip("gpu").drag_to(board, target_position={"x": 300, "y": 200})
    until(lambda: canvas.names() == ["gpu"], "the first drop")
    canvas.settle()
    pane, first = box_of(board), canvas.centre(canvas.box("gpu"))
    assert first == pytest.approx((pane["x"] + 300, pane["y"] + 200), abs=2)
    canvas.chip("rdma").drag_to(board, target_position={"x": 330, "y": 190})
    until(lambda: canvas.names() == ["gpu", "nic"], "the second drop")
    canvas.settle()
    gpu, nic = box_of(canvas.box("gpu")), box_of(canvas.box("nic"))
    assert abs(gpu["x"] - nic["x"]) >= nic["width"] or abs(gpu["y"] - nic["y"]) >= nic["height"]


# ---------------------------------------------------------------- Python and history


def test_a_change_in_python_is_drawn_and_can_be_undone_by_keyboard(draw):
    canvas = draw(TWO)
    canvas.lab.run("canvas.sketch = {**canvas.sketch, 'requests': [*canvas.sketch['requests'], "
                   "{'name': 'cpu', 'exactly': {'deviceClassName': 'dra.cpu'}}]}")  # fmt: skip
    canvas.box("cpu").wait_for()
    until(lambda: canvas.spoken.startswith("Changed from Python: added request cpu"), "spoken")
    canvas.box("gpu").focus()
    canvas.press("Control+z")
    until(lambda: canvas.names() == ["gpu", "nic"], "undone")
    canvas.box("cpu").wait_for(state="detached")
    until(lambda: canvas.spoken.startswith("Undone: removed request cpu"), "spoken")
    canvas.press("Control+Shift+z")
    canvas.box("cpu").wait_for()
    assert canvas.focused() == "r:gpu"


def test_undo_in_a_field_takes_back_what_was_sent_and_escape_goes_back_to_the_box(draw):
    """Text that is being typed keeps the field's own undo; Enter opens the form and Esc leaves it."""
    canvas = draw(TWO)
    canvas.box("gpu").focus()
    canvas.press("Enter")
    field = canvas.root.get_by_role("textbox", name="count")
    field.fill("7")
    canvas.press("Enter")
    until(lambda: canvas.lab.eval("canvas.drawn.request('gpu').exactly.count") == 7, "sent")
    canvas.press("Control+z")
    until(lambda: canvas.lab.eval("canvas.drawn.request('gpu').exactly.count") == 2, "undone")
    until(lambda: field.input_value() == "2", "seen in the form")
    field.fill("9")
    canvas.press("Escape")
    until(lambda: field.input_value() == "2", "what was typed is dropped")
    canvas.press("Escape")
    until(lambda: canvas.focused() == "r:gpu", "back on the box")


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


def test_a_box_dragged_into_another_frame_moves_there_and_its_link_is_cut(draw):
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


def test_one_tab_enters_the_drawing_and_one_leaves_it(draw):
    """Tab does not walk through every box: the arrows do."""
    canvas = draw(LINKED)
    canvas.root.locator(".dra-chip").first.focus()
    canvas.press("Tab")
    assert canvas.focused() == "r:gpu"
    canvas.press("ArrowDown")
    knot = canvas.focused()
    assert knot.startswith("l:")
    canvas.press("Tab")
    assert canvas.focused() == ""
    assert canvas.page.evaluate("() => document.activeElement.closest('.dra-canvas') !== null")
    canvas.press("Shift+Tab")
    assert canvas.focused() == knot


def test_delete_with_the_focus_elsewhere_leaves_the_drawing_alone(draw):
    """React Flow alone would listen on the whole document."""
    canvas = draw(TWO)
    canvas.box("gpu").locator(".dra-box-text").click()
    canvas.page.locator(".jp-MarkdownCell").click()
    canvas.press("Delete")
    canvas.lab.run("canvas.height = 461")
    until(lambda: canvas.root.evaluate("n => n.style.height") == "461px", "a later message has arrived")
    assert canvas.names() == ["gpu", "nic"]


def test_notebook_shortcuts_do_not_fire_inside_the_canvas(draw):
    """In command mode these keys would insert, cut and merge cells, the canvas itself among them."""
    canvas = draw(TWO)
    canvas.box("gpu").focus()
    for key in ["a", "b", "x", "d", "d", "z", "m", "y", "c", "v", "Shift+Enter", "Control+Enter", "i", "i"]:
        canvas.press(key)
    canvas.lab.run("canvas.height = 461")
    until(lambda: canvas.root.evaluate("n => n.style.height") == "461px", "a later message has arrived")
    assert canvas.page.locator(".jp-Notebook .jp-Cell").count() == 3
    assert canvas.page.locator(".jp-Notebook .jp-MarkdownCell").count() == 1
    assert canvas.names() == ["gpu", "nic"]


def test_targets_are_at_least_24_pixels(draw):
    """WCAG 2.5.8: every button, field and choice can be hit."""
    canvas = draw(LINKED)
    canvas.root.get_by_role("button", name="Zoom to fit").click()
    canvas.box("nic").locator(".dra-box-text").click()
    small = canvas.page.evaluate(
        """() => [...document.querySelectorAll('.dra-canvas :is(button, input[type=text], textarea, select)')]
            .map(n => [n.getAttribute('aria-label') ?? n.textContent, n.offsetWidth, n.offsetHeight])
            .filter(([, w, h]) => w < 24 || h < 24)"""
    )
    assert small == []


@pytest.mark.parametrize("name", ["gpu", "nic"])
def test_chips_card_and_buttons_have_places_beside_the_drawing(draw, name):
    """Whatever is selected, nothing lies over the board, and the selected box is wholly in sight."""
    canvas = draw(LINKED)
    canvas.box(name).locator(".dra-box-text").click()
    canvas.root.locator(".dra-inspector").wait_for()
    canvas.settle()
    board, box = box_of(canvas.root.locator(".dra-board")), box_of(canvas.box(name))
    assert board["y"] <= box["y"]
    assert box["y"] + box["height"] <= board["y"] + board["height"]
    assert board["x"] <= box["x"]
    assert box["x"] + box["width"] <= board["x"] + board["width"]
    for part in (".dra-palette", ".dra-inspector", ".dra-tools"):
        other = box_of(canvas.root.locator(part))
        above, below = other["y"] + other["height"] <= board["y"] + 1, other["y"] >= board["y"] + board["height"] - 1
        assert above or below or other["x"] >= board["x"] + board["width"] - 1


def test_the_wheel_scrolls_the_page_and_not_the_canvas(draw):
    canvas = draw(LINKED)
    canvas.page.locator(".jp-Notebook .jp-Cell").last.evaluate("n => { n.style.minHeight = '3000px'; }")
    before = box_of(canvas.root)["y"]
    canvas.page.mouse.move(*canvas.centre(canvas.root.locator(".react-flow__pane")))
    canvas.page.mouse.wheel(0, 100)
    until(lambda: box_of(canvas.root)["y"] < before, "the page has scrolled")
