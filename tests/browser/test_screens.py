"""Every screen of the planner: nothing is cut, covered, too small or too pale, and every figure is explained."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from desk import Desk
from lab_server import until
from legible import illegible
from planner_page import IN_TAB, SCREENS, InTab, show_screen
from signs import signs_function

from dra_lab.words.facts import GLOSSARY

pytestmark = [pytest.mark.browser, pytest.mark.long]

FIGURES = {
    "plan": 4,
    "misfit": 1,
    "empty": 0,
    "goals": 4,
    "fleet": 10,
    "moves": 8,
    "compare": 10,
    "trace": 3,
    "export": 2,
}
"""The fewest figures that a screen has; an empty drawing has none."""
SIZES = [(1280, 800), (1440, 900), (1920, 1080)]
# What tells states apart without a hue: shapes, lines, patterns, letters, and grey in five steps, for each sign.
_SIGNS = signs_function("legend_signs.js")
_MOVING = """root => [root, ...root.querySelectorAll('*')].flatMap(node => ['', '::before', '::after'].map(part => {
    const style = getComputedStyle(node, part || undefined);
    const isStill = style.animationName === 'none' && style.transitionDuration.split(', ').every(one => one === '0s');
    return isStill ? '' : `${node.className.baseVal ?? node.className}${part}`;
})).filter(Boolean)"""
SIGNS = ".dra-hw-legend > g, .dra-fleet-swatch"
# Controls that a person cannot bring into sight, or that something covers there.
_COVERED = """root => [...root.querySelectorAll('button, select, summary, input:not([type=radio])')].filter(node => {
    const isHidden = !node.checkVisibility({visibilityProperty: true});
    if (isHidden || node.disabled || node.closest('[popover]:not(:popover-open)')) return false;
    node.scrollIntoView({block: 'center', inline: 'center'});
    // What only a program can scroll is out of reach for a person. The canvas, which can be moved, undoes a scroll.
    for (let up = node.parentElement; up; up = up.parentElement) {
        if (up.matches('.react-flow')) continue;
        const {overflowX, overflowY} = getComputedStyle(up);
        if ((overflowX === 'hidden' && up.scrollLeft > 1) || (overflowY === 'hidden' && up.scrollTop > 1)) return true;
    }
    const box = node.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const wanted = node.closest('label') ?? node;
    return !document.elementsFromPoint(x, y).some(at => wanted.contains(at));
}).map(node => node.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module", params=SCREENS)
def screen(request: pytest.FixtureRequest, desk: Desk) -> Iterator[tuple[str, InTab, str]]:
    """A screen that the tests of it share: its name, the planner, and the selector of what is shown."""
    shown = InTab(desk.run, width=1440, height=900)
    yield request.param, shown, show_screen(shown, request.param)
    desk.check()


@pytest.fixture
def shown(screen: tuple[str, InTab, str]) -> Iterator[InTab]:
    """The planner on this screen, in a window of 1440 x 900; what a test changes of the window is put back."""
    _, shown, _ = screen
    yield shown
    shown.page.emulate_media(forced_colors="none")
    shown.page.set_viewport_size({"width": 1440, "height": 900})


def test_every_text_of_a_screen_can_be_read(screen, shown):
    """Measured for each size and theme, with what axe finds serious; the pictures are kept for a person to look at."""
    name, _, selector = screen
    found = []
    for theme in ("dark", "light"):
        shown.lab.theme(theme)
        for width, height in SIZES:
            shown.page.set_viewport_size({"width": width, "height": height})
            shown.page.wait_for_timeout(300)
            shown.lab.picture(f"{name}-{width}-{theme}")
            at = f"{name} {width} {theme}: "
            found += [at + line for line in illegible(shown.page, selector)]
            if shown.root.locator("svg.dra-hw").first.is_visible():
                found += [at + line for line in illegible(shown.page, f"{IN_TAB} svg.dra-hw", least=13)]
        found += [at + line for line in shown.lab.axe(selector)]
        found += [at + line for line in shown.lab.low_contrast(selector)]
    assert found == []


def test_every_figure_opens_a_popover_with_its_meaning(screen, shown):
    """The first sentence is one of the table's, and Escape gives the focus back to the figure."""
    name, _, selector = screen
    figures = shown.page.locator(selector).locator(":is(.dra-tile-figure, .dra-term):visible")
    until(lambda: figures.count() >= FIGURES[name], "the figures are there")
    for figure in figures.all():
        figure.click()
        panel = shown.root.locator(".dra-explained:popover-open")
        texts = panel.locator("p:not(.dra-explained-figure)").all_text_contents()
        assert texts
        assert texts[0] in GLOSSARY.values()
        shown.page.keyboard.press("Escape")
        assert figure.evaluate("node => node === document.activeElement")


def test_forced_colours_keep_every_text_and_every_choice(screen, shown):
    """With the colours of the system each text has contrast, and what is chosen has another background."""
    name, _, selector = screen
    shown.page.emulate_media(forced_colors="active")
    shown.lab.picture(f"{name}-forced")
    assert shown.lab.low_contrast(selector) == []
    shade = "spans => new Set(spans.map(one => getComputedStyle(one).backgroundColor)).size"
    assert shown.bar.locator(".dra-modes span").evaluate_all(shade) == 2


def test_states_are_distinguished_without_hues_and_nothing_moves(screen, shown):
    """In grey each sign of a legend has its own lines or pattern; with reduced motion nothing fades or turns."""
    sight = shown.page.context.new_cdp_session(shown.page)
    sight.send("Emulation.setEmulatedVisionDeficiency", {"type": "achromatopsia"})
    shown.lab.picture(f"{screen[0]}-grey")
    sight.send("Emulation.setEmulatedVisionDeficiency", {"type": "none"})
    signs = shown.root.locator(SIGNS).evaluate_all(_SIGNS)
    assert len(signs) == len(set(signs)), "two signs of a legend differ by colour alone"
    assert shown.root.evaluate(_MOVING) == []


def test_nothing_is_lost_at_200_percent(screen, shown):
    """In half of the pixels nothing is cut, and every control can be brought into sight."""
    name, _, selector = screen
    shown.page.set_viewport_size({"width": 720, "height": 450})
    shown.page.wait_for_timeout(400)
    shown.lab.picture(f"{name}-zoomed")
    assert illegible(shown.page, selector) == []
    assert shown.page.locator(selector).evaluate(_COVERED) == []
    assert shown.lab.axe(IN_TAB) == []
