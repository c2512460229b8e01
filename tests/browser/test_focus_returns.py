"""Where the keyboard is after a panel or a mode was left: the planner is as before, so the tests share one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from desk import Desk
from lab_server import until
from planner_page import InTab

pytestmark = [pytest.mark.browser, pytest.mark.long]


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
    """Escape closes a popover or the sheet, and its button has the focus again."""
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
    """The number is pressed anywhere, and 1 leads back."""
    for key in (mode, "1"):
        if key == mode:
            tab.root.locator(at).first.focus()
        tab.page.keyboard.press(key)
        chosen = tab.bar.locator(".dra-modes input").nth(int(key) - 1)
        until(lambda radio=chosen: radio.evaluate("one => one === document.activeElement"), "the mode has the focus")
