"""PlanView in a real JupyterLab: the answer strip, the tabs, what is copied and written."""

from __future__ import annotations

import pytest
from lab_server import until

pytestmark = [pytest.mark.browser, pytest.mark.long]


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
