"""ClaimCanvas in a real JupyterLab: what can be seen, read and hit, in both themes and at any size.

The traits are fed by hand, so what is tested here is the canvas and nothing below it.
"""

from __future__ import annotations

import pytest
from drawn_canvas import LINKED
from lab_page import box_of
from lab_server import until

pytestmark = [pytest.mark.browser, pytest.mark.long]


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
