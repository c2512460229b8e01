"""ClaimCanvas in a real JupyterLab: drawn with a real mouse, changed from Python, read back in the kernel.

The traits are fed by hand, so what is tested here is the canvas and nothing below it.
"""

from __future__ import annotations

import pytest
from drawn_canvas import LINKED, TWO
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
    """Places are written when the mouse lets go; the boxes that were not moved stay where they are."""
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
    """Mouse, keyboard and Python share one history."""
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
