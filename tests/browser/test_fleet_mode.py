"""The Fleet mode with a real mouse and keyboard: pods are pinned, a device breaks."""

from __future__ import annotations

import pytest
from planner_page import Fleet

pytestmark = [pytest.mark.browser, pytest.mark.long]


@pytest.fixture
def fleet(open_notebook) -> Fleet:
    """Give the Fleet mode of the shipped fleet of eight nodes."""
    return Fleet(open_notebook)


def test_a_pod_that_is_dragged_to_a_node_is_pinned_there(fleet):
    """The pod runs where it was dropped, and its row says that it is pinned."""
    here = fleet.lab.eval("lab.fleet.answer.plan.nodes[0]")
    there = "dgx-06" if here != "dgx-06" else "dgx-08"
    fleet.node(here).locator(".dra-fleet-pod").drag_to(fleet.node(there))
    fleet.pane.locator("tbody th", has_text=f"1 pinned to {there}").wait_for()
    fleet.planned()
    assert fleet.lab.eval("list(lab.fleet.answer.plan.nodes)") == [there]


def test_a_device_of_the_picture_is_broken_by_right_click(fleet):
    """The picture of a node shows its pods, and a device can be removed from it."""
    here = fleet.lab.eval("lab.fleet.answer.plan.nodes[0]")
    fleet.node(here).dblclick()
    device = fleet.pane.locator(".dra-fleet-picture [data-id][data-request]").first
    device.click(button="right")
    fleet.page.get_by_role("menuitem", name="Remove this device").click()
    fleet.pane.locator(".dra-fleet-chips li", has_text="Remove ").wait_for()
    assert fleet.lab.eval("str(lab.fleet.layers[0])").startswith("--without ")
