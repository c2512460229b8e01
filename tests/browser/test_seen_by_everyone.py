"""The planner with forced colours, without hues, without motion, and at 200 % zoom."""

from __future__ import annotations

import pytest
from legible import illegible
from planner_page import IN_TAB, InTab, show_screen
from signs import signs_function

pytestmark = pytest.mark.browser

SCREENS = ("plan", "misfit", "fleet", "compare", "trace", "export")
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
    // What only a program can scroll is out of reach for a person.
    for (let up = node.parentElement; up; up = up.parentElement) {
        const {overflowX, overflowY} = getComputedStyle(up);
        if ((overflowX === 'hidden' && up.scrollLeft > 1) || (overflowY === 'hidden' && up.scrollTop > 1)) return true;
    }
    const box = node.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const wanted = node.closest('label') ?? node;
    return !document.elementsFromPoint(x, y).some(at => wanted.contains(at));
}).map(node => node.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("screen", SCREENS)
def test_forced_colours_keep_every_text_and_every_choice(open_notebook, screen):
    """With the colours of the system each text has contrast, and what is chosen has another background."""
    shown = InTab(open_notebook, forced_colors="active", width=1440, height=900)
    selector = show_screen(shown, screen)
    shown.lab.picture(f"{screen}-forced")
    assert shown.lab.low_contrast(selector) == []
    shade = "spans => new Set(spans.map(one => getComputedStyle(one).backgroundColor)).size"
    assert shown.bar.locator(".dra-modes span").evaluate_all(shade) == 2
    shown.page.emulate_media(forced_colors="none")


@pytest.mark.parametrize("screen", SCREENS)
def test_states_are_distinguished_without_hues_and_nothing_moves(in_tab, screen):
    """In grey each sign of a legend has its own lines or pattern; with reduced motion nothing fades or turns."""
    shown = in_tab(1440, 900)
    show_screen(shown, screen)
    sight = shown.page.context.new_cdp_session(shown.page)
    sight.send("Emulation.setEmulatedVisionDeficiency", {"type": "achromatopsia"})
    shown.lab.picture(f"{screen}-grey")
    sight.send("Emulation.setEmulatedVisionDeficiency", {"type": "none"})
    signs = shown.root.locator(SIGNS).evaluate_all(_SIGNS)
    assert len(signs) == len(set(signs)), "two signs of a legend differ by colour alone"
    assert shown.root.evaluate(_MOVING) == []


@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_is_lost_at_200_percent(in_tab, screen):
    """In half of the pixels nothing is cut, and every control can be brought into sight."""
    shown = in_tab(1440, 900)
    selector = show_screen(shown, screen)
    shown.page.set_viewport_size({"width": 720, "height": 450})
    shown.page.wait_for_timeout(400)
    shown.lab.picture(f"{screen}-zoomed")
    assert illegible(shown.page, selector) == []
    assert shown.page.locator(selector).evaluate(_COVERED) == []
    assert shown.lab.axe(IN_TAB) == []
