"""Every figure of every mode is explained by a click, in the words of one table."""

from __future__ import annotations

import pytest
from planner_page import show_screen

from dra_lab.words.glossary import GLOSSARY

pytestmark = pytest.mark.browser

FEWEST = {"plan": 4, "misfit": 1, "fleet": 10, "compare": 10, "trace": 3, "export": 2}


@pytest.mark.parametrize("screen", FEWEST)
def test_every_figure_opens_a_popover_with_its_meaning(in_tab, screen):
    """The first sentence is one of the table's, and Escape gives the focus back to the figure."""
    shown = in_tab(1440, 900)
    place = shown.page.locator(show_screen(shown, screen))
    figures = place.locator(":is(.dra-tile-figure, .dra-term):visible")
    figures.nth(FEWEST[screen] - 1).wait_for()
    for figure in figures.all():
        figure.click()
        panel = shown.root.locator(".dra-explained:popover-open")
        texts = panel.locator("p:not(.dra-explained-figure)").all_text_contents()
        assert texts
        assert texts[0] in GLOSSARY.values()
        shown.page.keyboard.press("Escape")
        assert figure.evaluate("node => node === document.activeElement")
