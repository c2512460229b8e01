"""The regions of Plan in a real JupyterLab: figures, why not, dock, tabs, keys, and the canvas after other tabs."""

from __future__ import annotations

from pathlib import Path

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
    planner = in_tab(1440, 900)
    planner.lab.kill_kernel()
    lost = planner.page.locator(".jp-LinkedOutputView .dra-lost")
    until(lambda: lost.count() > 0, "it is told")
    assert lost.count() == 1


def test_tabs_by_keyboard_show_goals_and_devices(planner):
    """Arrows choose a tab; goals stand beside kube-scheduler's; the table filters, and its rows light the picture."""
    planner.tab("YAML").focus()
    planner.page.keyboard.press("ArrowRight")
    rows = planner.tabs.locator(".dra-goals > li")
    assert rows.count() == 6
    numa = planner.tabs.locator("[data-goal=numa]")
    assert numa.locator(".dra-goal-value").text_content() == "1 NUMA node proven"
    assert numa.locator("dd").all_text_contents()[:2] == ["1", "2"]
    planner.page.keyboard.press("End")
    assert planner.tab("Findings").get_attribute("aria-selected") == "true"
    planner.tab("Devices").click()
    planner.tabs.get_by_role("searchbox").fill("gpu-4 128-17")
    row = planner.tabs.locator(".dra-panel:visible .dra-tbody .dra-tr")
    until(lambda: row.count() == 1, "one row is left")
    row.hover()
    planner.hardware.locator(".dra-hw-lit").wait_for()
    assert planner.hardware.locator(".dra-hw-lit").get_attribute("data-id") == row.get_attribute("data-id")


def test_copy_where_the_clipboard_is_barred_selects_the_text(planner):
    """No permission is asked for: the text is selected and the person told what to press."""
    planner.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('barred')); }")
    planner.button("Copy", planner.tabs.locator(".dra-tools-right")).click()
    planner.tabs.get_by_text("press Ctrl+C").wait_for()
    selected = planner.page.evaluate("() => window.getSelection().toString()")
    # The letters in the margin are no part of it.
    assert selected.strip() == planner.lab.eval("lab.plan_view.yaml").strip()


# Boxes that a person sees: inside the canvas, and not hidden.
_SEEN = (Path(__file__).parent / "seen_boxes.js").read_text(encoding="utf-8")
_FRONT = """wanted => {
    const { shell } = window.jupyterapp;
    const isTab = one => one.node.querySelector('.jp-LinkedOutputView') || one.node.matches('.jp-LinkedOutputView');
    const found = [...shell.widgets('main')].find(one => Boolean(isTab(one)) === (wanted === 'tab'));
    shell.activateById(found.id);
}"""


@pytest.fixture
def shown(in_tab):
    """The planner in a tab."""
    return in_tab(1440, 900)


def bring(shown, wanted: str) -> None:
    """Bring the planner's tab, or the notebook, to the front."""
    shown.page.evaluate(_FRONT, wanted)
    state = "visible" if wanted == "tab" else "hidden"
    shown.root.locator(".dra-canvas").wait_for(state=state)


def test_the_canvas_is_not_blank_after_other_tabs(shown):
    canvas = shown.root.locator(".dra-canvas")
    for _ in range(4):
        bring(shown, "notebook")
        bring(shown, "tab")
        until(lambda: canvas.evaluate(_SEEN) == 2, "both boxes are in sight")
    bring(shown, "notebook")
    shown.lab.run("lab.load('sample:dgx-h100')")
    shown.lab.run("from dra_lab import read_sketch\nlab.sketch = read_sketch('sample:dgx-h100/gpu-nic-cpu')")
    bring(shown, "tab")
    until(lambda: canvas.evaluate(_SEEN) == 3, "the three boxes of the other drawing are in sight")
