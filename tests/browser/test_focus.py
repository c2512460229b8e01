"""Where the keyboard is: Tab follows the screen, and the focus never falls to the page around the planner."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import pytest
from desk import Desk
from lab_server import until
from planner_page import InTab

pytestmark = [pytest.mark.browser, pytest.mark.long]


NO_FIT = "from dra_lab import read_sketch\nlab.sketch = read_sketch('sample:eks-p4d/five-pairs')"
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
    shown.bar.locator("[data-key=source]").focus()
    assert stops(shown, "Tab") == PANES
    shown.button("Open the dock").focus()
    assert stops(shown, "Shift+Tab") == PANES[::-1]


def test_the_focus_goes_to_the_canvas_after_a_change_that_helps(shown):
    shown.lab.run(NO_FIT)
    shown.strip.locator(".dra-fix").first.focus()
    shown.page.keyboard.press("Enter")
    shown.sentence("Fits on 3 of 4 nodes")
    assert pane(shown) == "canvas"


def test_the_focus_stays_on_the_canvas_after_clear_and_delete(shown):
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


@pytest.fixture(scope="module")
def tab(desk: Desk) -> Iterator[InTab]:
    """The planner in a tab."""
    yield InTab(desk.run, width=1440, height=900)
    desk.check()


@pytest.mark.parametrize(
    ("opener", "panel"),
    [
        ("[data-key=source]", ".dra-sources"),
        (".dra-meters", ".dra-use"),
        (".dra-findings-button", ".dra-findings-panel"),
        (".dra-tile-figure >> nth=0", ".dra-explained >> nth=0"),
        (".dra-dock-button >> nth=0", ".dra-find"),
        (".dra-dock-button >> nth=1", ".dra-keys"),
        (".dra-export", ".dra-sheet"),
    ],
)
def test_what_was_opened_gives_the_focus_back(tab, opener, panel):
    button, found = tab.root.locator(opener).first, tab.root.locator(panel).first
    button.focus()
    tab.page.keyboard.press("Enter")
    found.wait_for()
    until(lambda: found.evaluate("node => node.contains(document.activeElement)"), "the focus is in the panel")
    tab.page.keyboard.press("Escape")
    found.wait_for(state="hidden")
    until(lambda: button.evaluate("node => node === document.activeElement"), "the button has the focus again")


@pytest.mark.parametrize(
    ("mode", "at"),
    [
        ("2", ".dra-tile-figure"),
        ("3", ".dra-tab[tabindex='0']"),
        ("4", ".dra-board"),
        ("2", ".dra-hardware [tabindex='0']"),
    ],
)
def test_another_mode_takes_the_focus_to_its_name(tab, mode, at):
    for key in (mode, "1"):
        if key == mode:
            tab.root.locator(at).first.focus()
        tab.page.keyboard.press(key)
        chosen = tab.bar.locator(".dra-modes input").nth(int(key) - 1)
        until(lambda radio=chosen: radio.evaluate("one => one === document.activeElement"), "the mode has the focus")
