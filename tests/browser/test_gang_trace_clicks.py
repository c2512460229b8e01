"""Trace mode of a gang in a real JupyterLab: the steps, the domains, the other scheduler, one of its pods."""

from __future__ import annotations

import pytest
from code_of import code_of
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def draw_two_gangs(lab):
    """Two gangs of three pods, of which three fit in one leaf switch and four do not."""
    from msgspec.structs import replace

    from dra_lab import claims_of, pod_drawing, read_sketch
    from dra_lab.model.sketch import GangDrawing, PodDrawing

    lab.session.load("sample:h100-pod")
    claims = claims_of(read_sketch("sample:h100-pod/eight-pairs"))
    drawn = GangDrawing(size=3, level="leaf switch", hierarchy="h100-pod")
    present = lab.session.history.present
    content = replace(present, workloads=(PodDrawing("train", claims, 2, gang=drawn),), editing="train")
    lab.session.change(content.with_sketch(pod_drawing("train", claims)))


def test_a_gang_is_traced_by_clicks_and_keys(planner):
    """Kueue step by step to the node where the pods wait, then kube-scheduler, then one pod, and back."""
    planner.lab.run(code_of(draw_two_gangs))
    planner.bar.get_by_role("radio", name="Trace").click(force=True)
    pane = planner.hardware.get_by_role("region", name="Trace")
    heading = pane.get_by_role("heading", level=2)
    expect(heading).to_contain_text("Step 1 of 6. Kueue counts only pods")
    pane.get_by_role("button", name="Next", exact=True).click()
    planner.page.keyboard.press("ArrowRight")
    expect(heading).to_contain_text("Step 3 of 6. Kueue takes the leaf switch leaf-1")
    expect(pane.locator('tr[data-state="chosen"]')).to_contain_text("gets 3 pods")
    planner.page.keyboard.press("End")
    expect(pane.locator('tr[data-state="waits"]')).to_contain_text("0 of 3 get devices")
    expect(pane.locator(".dra-trace-card").last).to_contain_text("starts 0; the best plan starts 2 of 2 gangs")
    pane.get_by_role("radio", name="kube-scheduler").click(force=True)
    expect(heading).to_contain_text("Step 1 of 6. kube-scheduler makes 4 placements")
    pane.get_by_role("radio", name="One pod").click(force=True)
    expect(heading).to_contain_text("Step 1 of 137.")
    pane.get_by_role("radio", name="Gang").click(force=True)
    expect(heading).to_contain_text("kube-scheduler makes 4 placements")
