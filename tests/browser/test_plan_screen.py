"""The regions of Plan in a real JupyterLab: figures, why not, dock and keys."""

from __future__ import annotations

import pytest
from lab_page import box_of
from lab_server import until

pytestmark = [pytest.mark.browser, pytest.mark.long]


def test_no_figure_is_cut_and_all_regions_are_in_sight(in_tab):
    """At the usual sizes every figure can be read, and verdict, canvas and picture need no scroll."""
    sizes = {(1280, 800): 120, (1440, 900): 170, (1920, 1080): 170}
    planner = in_tab(*next(iter(sizes)))
    cut = """nodes => nodes.filter(n => n.scrollWidth > n.clientWidth || n.textContent.endsWith('…')).length"""
    for (width, height), strip in sizes.items():
        planner.page.set_viewport_size({"width": width, "height": height})
        # The picture is drawn again once the width of the tab is known.
        until(lambda: _are_whole(planner), f"the regions are whole at {width} x {height}")
        assert planner.strip.locator(".dra-tile-figure, .dra-tile-figure *").evaluate_all(cut) == 0
        assert box_of(planner.strip)["height"] <= strip


def _are_whole(planner):
    """Say whether the regions end above the dock, and its tabs in the window."""
    tabs, grid = box_of(planner.tabs), box_of(planner.root)
    boxes = [box_of(planner.root.locator(region).first) for region in (".dra-answer", ".dra-canvas", "svg.dra-hw")]
    lowest = max(box["y"] + box["height"] for box in boxes)
    bar = box_of(planner.root.locator(".dra-tabbar"))
    return (
        min(box["y"] for box in boxes) >= 0
        and lowest <= tabs["y"] + 1
        and bar["y"] + bar["height"] <= grid["y"] + grid["height"] + 1
    )


def test_a_click_on_a_node_asks_why_not_at_once(in_tab):
    """Under the picture where there is room, in the dock where space is short."""
    planner = in_tab(1440, 900)
    planner.hardware.locator(".dra-tile", has_text="140-52").click()
    planner.why.get_by_text("Why 140-52?").wait_for()
    planner.page.set_viewport_size({"width": 1280, "height": 800})
    planner.hardware.locator(".dra-tile", has_text="158-9").click()
    planner.tab("Why not 158-9?").wait_for()
    planner.why.get_by_text("training/llm-70b-0-devices-2ddgn uses 8").wait_for()


def test_keys_work_all_over_the_planner_and_not_while_typing(in_tab):
    """J opens and closes the dock, / finds, ? lists the keys; JupyterLab and text fields keep theirs."""
    planner = in_tab(1440, 900)
    keyboard, dock = planner.page.keyboard, planner.root.locator(".dra-dock")
    planner.strip.locator(".dra-tile-figure").first.focus()
    keyboard.press("j")
    until(lambda: box_of(dock)["height"] > 100, "the dock is open")
    keyboard.press("?")
    planner.root.locator(".dra-keys", has_text="choose a mode").wait_for()
    keyboard.press("Escape")
    keyboard.press("/")
    keyboard.type("gpu-4 128-17 j")
    assert box_of(dock)["height"] > 100
    for _ in range(2):
        keyboard.press("Backspace")
    keyboard.press("Enter")
    planner.why.get_by_text("chosen for this request").wait_for()
    assert planner.page.evaluate("() => document.activeElement !== document.body")
    planner.strip.locator(".dra-tile-figure").first.focus()
    keyboard.press("J")
    until(lambda: box_of(dock)["height"] <= 41, "the dock is closed")


def test_the_loss_of_the_kernel_is_reported_once(in_tab):
    """Every view of every planner would say it, and one line is enough."""
    planner = in_tab(1440, 900)
    planner.lab.kill_kernel()
    lost = planner.page.locator(".jp-LinkedOutputView .dra-lost")
    until(lambda: lost.count() > 0, "it is told")
    assert lost.count() == 1
