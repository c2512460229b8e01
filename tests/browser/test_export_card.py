"""The card "What you export": what kube-scheduler does on each node it may choose, the pin, one primary button."""

from __future__ import annotations

import pytest
from lab_server import until

pytestmark = pytest.mark.browser


def test_the_card_says_the_simulation_and_pins_with_one_click(in_tab):
    """The sentence comes by itself after the answer; the switch changes what Export writes; one button is primary."""
    shown = in_tab(1440, 900)
    card = shown.root.locator(".dra-cards .dra-outgoing")
    card.get_by_text("kube-scheduler allocates devices with 2 NUMA nodes on a node like").wait_for()
    pin = card.get_by_role("switch")
    assert "allocates 2 of 2 pairs on every node it may choose" in pin.locator("xpath=..").inner_text()
    assert pin.is_checked()
    pin.click()
    until(lambda: shown.lab.eval("lab.session.exporting.pins") is False, "the pin is off")
    assert shown.root.get_by_role("button", name="Export…").count() == 1
    card.get_by_role("button", name="Show what you export").click()
    shown.root.get_by_role("dialog", name="Export").wait_for()
