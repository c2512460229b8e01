"""ClaimCanvas in a real JupyterLab by keyboard alone, and what keys must not do.

The traits are fed by hand, so what is tested here is the canvas and nothing below it.
"""

from __future__ import annotations

import pytest
from drawn_canvas import LINKED, TWO
from lab_server import until

pytestmark = [pytest.mark.browser, pytest.mark.long]


def test_a_linked_sketch_is_drawn_by_keyboard_alone(draw):
    """N, arrows, Enter; L, arrows, Enter; plus; no mouse at all. Each step is spoken."""
    canvas = draw()
    canvas.root.locator(".dra-board").focus()
    canvas.press("n", "Enter")
    until(lambda: canvas.focused() == "r:gpu", "the new box has the focus")
    canvas.press("+", "+")
    until(lambda: canvas.lab.eval("canvas.drawn.request('gpu').exactly.count") == 3, "counted up")
    until(lambda: canvas.spoken == "Count of gpu is 3", "spoken")
    canvas.press("n", "ArrowRight", "Enter")
    until(lambda: canvas.focused() == "r:nic", "the second box has the focus")
    canvas.press("l")
    until(lambda: "Link nic with gpu" in canvas.spoken, "the first candidate is spoken")
    canvas.press("Enter")
    until(canvas.links, "the link in the kernel")
    assert canvas.links()[0]["requests"] == ["nic", "gpu"]
    place = "() => document.activeElement?.closest('.dra-inspector') && document.activeElement.value"
    until(lambda: canvas.page.evaluate(place) == "pcieRoot", "the place of the new link has the focus")
    canvas.press("Tab", "Tab", "ArrowLeft")
    until(lambda: canvas.links()[0]["how"] == "together", "another kind by an arrow")
    canvas.press("Escape")
    until(lambda: canvas.focused() == "l:link-1", "back on the link")
    canvas.press("ArrowUp")
    until(lambda: canvas.focused() in ("r:gpu", "r:nic"), "along the link")
    canvas.press("-")
    until(lambda: "ount" in canvas.spoken, "spoken")


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


def test_escape_cancels_and_keeps_the_focus(draw):
    canvas = draw(TWO)
    canvas.box("gpu").focus()
    canvas.press("l", "ArrowRight", "Escape")
    until(lambda: canvas.spoken == "No link made", "spoken")
    assert canvas.focused() == "r:gpu"
    canvas.press("Escape")
    assert canvas.focused() == "r:gpu"
    canvas.press("n", "Escape")
    assert canvas.focused() == "r:gpu"
    assert canvas.links() == []


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
