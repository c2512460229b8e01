"""Every screen of the planner at the usual sizes and in both themes: nothing is cut, covered, too small or too pale."""

from __future__ import annotations

import pytest
from lab_page import box_of
from lab_server import until
from legible import illegible
from planner_page import IN_TAB, SCREENS, show_screen

pytestmark = pytest.mark.browser

SIZES = [(1280, 800), (1440, 900), (1920, 1080)]


@pytest.mark.parametrize("screen", SCREENS)
def test_every_text_of_a_screen_can_be_read(in_tab, screen):
    """Measured for each size and theme, with what axe finds serious; the pictures are kept for a person to look at."""
    shown = in_tab(*SIZES[0])
    selector = show_screen(shown, screen)
    found = []
    for theme in ("light", "dark"):
        shown.lab.theme(theme)
        for width, height in SIZES:
            shown.page.set_viewport_size({"width": width, "height": height})
            shown.page.wait_for_timeout(300)
            shown.lab.picture(f"{screen}-{width}-{theme}")
            at = f"{screen} {width} {theme}: "
            found += [at + line for line in illegible(shown.page, selector)]
            if shown.root.locator("svg.dra-hw").first.is_visible():
                found += [at + line for line in illegible(shown.page, f"{IN_TAB} svg.dra-hw", least=13)]
        found += [at + line for line in shown.lab.axe(selector)]
        found += [at + line for line in shown.lab.low_contrast(selector)]
    assert found == []


def test_verdict_canvas_and_picture_need_no_scroll_in_a_small_window(in_tab):
    """A tab in a window of 1280 x 800 shows the three regions whole."""
    shown = in_tab(1280, 800)
    lower = box_of(shown.tabs)["y"]
    for region in (".dra-answer", ".dra-canvas", "svg.dra-hw"):
        part = shown.root.locator(region).first
        part.wait_for()
        # the picture is drawn again once the width of the tab is known
        until(lambda part=part: _is_within(box_of(part), lower), f"{region} is whole")


def _is_within(box: dict[str, float], lower: float) -> bool:
    return box["y"] >= 0 and box["y"] + box["height"] <= lower + 1
