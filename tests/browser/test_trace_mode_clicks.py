"""Trace mode in a real JupyterLab: the steps by mouse and keyboard, folded attempts, predictions."""

from __future__ import annotations

import pytest
from lab_server import until
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


@pytest.fixture
def pane(planner):
    """The Trace pane of the planner's example, at its first step."""
    planner.bar.get_by_role("radio", name="Trace").click(force=True)
    found = planner.hardware.get_by_role("region", name="Trace")
    expect(found.get_by_role("heading", level=2)).to_contain_text("Step 1 of 87.")
    return found


def heading(pane):
    return pane.get_by_role("heading", level=2)


def test_the_keyboard_walks_through_the_steps(planner, pane):
    """Right goes on, left goes back, End shows the last state, and the list ends with the present step."""
    pane.get_by_role("button", name="Next", exact=True).click()
    expect(heading(pane)).to_contain_text("Step 2 of 87.")
    planner.page.keyboard.press("ArrowRight")
    expect(heading(pane)).to_contain_text("Step 3 of 87.")
    planner.page.keyboard.press("ArrowLeft")
    expect(heading(pane)).to_contain_text("Step 2 of 87.")
    expect(pane.locator("tr[aria-current=step]")).to_contain_text("2")
    expect(pane.locator(".dra-trace-later")).to_have_text("3–87 not shown yet")
    planner.page.keyboard.press("End")
    expect(pane.locator("svg .dra-hw-chosen[data-request]")).to_have_count(4)


def test_the_next_device_is_marked_on_the_picture(pane):
    """The device that is allocated has the mark of the present step and the letter of its request."""
    pane.get_by_role("button", name="Next device").click()
    marked = pane.locator("svg .dra-trace-now")
    expect(marked).to_have_attribute("data-request", "gpu")
    expect(marked).to_have_attribute("data-step", "allocated")


def test_an_attempt_that_was_given_back_opens(pane):
    """The folded row shows the steps inside it."""
    pane.get_by_role("slider", name="Step").fill("40")
    row = pane.get_by_role("button", name="Show steps 11–27")
    row.click()
    expect(pane.locator("tr", has_text="given back").nth(1)).to_be_visible()


def test_a_prediction_is_clicked_and_scored(planner, pane):
    """With "Predict first" a click on a device shows the step that allocates, and the score counts."""
    planner.page.keyboard.press("Tab")
    pane.get_by_role("button", name="Predict first").click()
    expect(pane.get_by_role("button", name="Next", exact=True)).to_be_disabled()
    pane.locator('svg [data-id$="gpu-3"]').first.click()
    expect(pane.locator(".dra-trace-predict")).to_contain_text("Right: kube-scheduler allocates gpu-3")
    expect(pane.locator(".dra-trace-predict")).to_contain_text("Score: 1 of 1")
    pane.locator('svg [data-id$="gpu-0"]').first.click()
    expect(pane.locator(".dra-trace-predict")).to_contain_text("Score: 1 of 2")


@pytest.mark.long
def test_the_search_without_links_and_on_another_node(planner, pane):
    """The choice of the claim and the tiles of the nodes show another search."""
    pane.get_by_role("radio", name="No links").click(force=True)
    expect(heading(pane)).to_contain_text("Step 1 of 20.")
    pane.locator(".dra-tile").last.click()
    until(lambda: "158-9" in planner.lab.eval("lab.hardware.trace['title']"), "another node")
    expect(heading(pane)).to_contain_text("Step 1 of 16.")


def test_playing_goes_on_by_itself(pane):
    """Play shows one step after the other, and Pause stops."""
    pane.get_by_role("button", name="Play").click()
    expect(heading(pane)).to_contain_text("Step 3 of 87.")
    pane.get_by_role("button", name="Pause").click()
