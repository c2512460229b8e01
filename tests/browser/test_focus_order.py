"""Where the keyboard is: Tab follows the screen, and the focus never falls to the page around the planner."""

from __future__ import annotations

from itertools import groupby

import pytest
from lab_server import until

pytestmark = [pytest.mark.browser, pytest.mark.long]

NO_FIT = "from dra_lab import read_sketch\nlab.sketch = read_sketch('sample:eks-p4d/five-pairs')"
ONE_PAIR = """from msgspec.structs import replace
one = [replace(r, exactly=replace(r.exactly, count=1)) for r in lab.sketch.requests]
lab.sketch = replace(lab.sketch, requests=tuple(one))"""
PANES = ["bar", "plan", "canvas", "hardware", "dock"]
# The pane of the planner in the tab that has the focus; "" for anything else on the page.
_PANE = """() => {
    const pane = document.activeElement.closest('.jp-LinkedOutputView .dra-lab-grid > *');
    return [...pane?.classList ?? []].find(name => name.startsWith('dra-lab-'))?.slice(8) ?? '';
}"""


@pytest.fixture
def shown(in_tab):
    """The planner in a tab."""
    return in_tab(1440, 900)


def pane(shown) -> str:
    return shown.page.evaluate(_PANE)


def stops(shown, key: str) -> list[str]:
    """Press a key until the focus leaves the planner, and return the panes on the way, each once."""
    found = [pane(shown)]
    for _ in range(150):
        shown.page.keyboard.press(key)
        if not (now := pane(shown)):
            break
        found.append(now)
    return [name for name, _ in groupby(found)]


def test_tab_goes_through_the_panes_as_they_stand_on_the_screen(shown):
    """From the bar to the verdict, the canvas, the picture and the dock, and back again."""
    shown.bar.locator("[data-key=source]").focus()
    assert stops(shown, "Tab") == PANES
    shown.button("Open the dock").focus()
    assert stops(shown, "Shift+Tab") == PANES[::-1]


def test_the_focus_goes_to_the_canvas_after_a_change_that_helps(shown):
    """The card of the change disappears with the answer."""
    shown.lab.run(NO_FIT)
    shown.strip.locator(".dra-fix").first.focus()
    shown.page.keyboard.press("Enter")
    shown.sentence("Fits on 3 of 4 nodes")
    assert pane(shown) == "canvas"


def test_the_focus_stays_on_the_canvas_after_clear_and_delete(shown):
    """The focused element is gone, and the keys still draw."""
    shown.root.locator('.react-flow__node[data-id="r:gpu"]').focus()
    shown.page.keyboard.press("Delete")
    until(lambda: shown.lab.eval("len(lab.sketch.requests)") == 1, "the box is deleted")
    shown.answered()
    assert pane(shown) == "canvas"
    shown.root.get_by_role("button", name="Clear").focus()
    shown.page.keyboard.press("Enter")
    shown.sentence("Nothing is drawn")
    assert pane(shown) == "canvas"


def test_the_mode_has_the_focus_though_the_browser_took_it_before(shown):
    """A slow page draws a frame between hiding a view and the news of the mode; Chromium drops the focus in it."""
    shown.root.locator(".dra-hardware [tabindex='0']").first.focus()
    shown.root.evaluate("grid => grid.classList.remove('is-plan')")
    until(lambda: shown.page.evaluate("document.activeElement === document.body"), "what is hidden lost the focus")
    shown.lab.run("lab.session.show_mode('fleet')")
    chosen = shown.bar.locator(".dra-modes input").nth(1)
    until(lambda: chosen.evaluate("one => one === document.activeElement"), "the mode has the focus")


@pytest.mark.parametrize("width", [1440, 900])
def test_another_picture_leaves_the_focus_on_its_device(shown, width):
    """An answer arrives, or there is room for less, while a person walks through the devices."""
    focused = "document.activeElement.closest('.dra-lab-hardware [data-id]')?.dataset.id ?? ''"
    taken = shown.hardware.locator("[role=treeitem].dra-hw-chosen").last
    taken.focus()
    device = shown.page.evaluate(focused)
    before = taken.element_handle()
    if width == 1440:
        shown.lab.run(ONE_PAIR)
    shown.page.set_viewport_size({"width": width, "height": 900})
    until(lambda: not before.evaluate("node => node.isConnected"), "there is another picture")
    shown.answered()
    assert shown.page.evaluate(focused) == device != ""


def test_a_button_that_changes_the_mode_does_not_lose_the_focus(shown):
    """Open in Plan takes Fleet away with itself."""
    shown.mode("Fleet")
    row = shown.root.locator(".dra-fleet-mode [aria-haspopup=menu]").first
    row.focus()
    shown.page.keyboard.press("Enter")
    shown.root.get_by_role("menuitem", name="Open in Plan").focus()
    shown.page.keyboard.press("Enter")
    shown.strip.wait_for()
    until(lambda: pane(shown) != "", "the focus is in the planner")
