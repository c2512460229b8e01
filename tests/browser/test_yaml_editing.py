"""The claim is edited as text, and the canvas follows."""

from __future__ import annotations

import pytest
from lab_server import until

pytestmark = [pytest.mark.browser, pytest.mark.long]


def _replace(planner, old, new):
    """Type a change into the editor, as a person who selects a part and types over it."""
    area = planner.page.get_by_label("Claim as YAML")
    area.evaluate(
        """(node, old) => {
            const at = node.value.indexOf(old);
            node.focus();
            node.setSelectionRange(at, at + old.length);
        }""",
        old,
    )
    planner.page.keyboard.type(new)
    return area


def test_the_canvas_follows_the_text_and_a_broken_line_is_marked(planner):
    """A changed class arrives on the canvas as one step; a broken line is marked, and the canvas keeps what it had."""
    planner.tab("YAML").click()
    planner.button("Edit", planner.tabs).click()
    area = _replace(planner, "name: gpu-nic-pairs", "name: by-hand")
    until(lambda: planner.lab.eval("lab.sketch.name") == "by-hand", "the drawing follows")
    assert planner.lab.eval("[l.how.value for l in lab.sketch.links]") == ["pairwise"]
    _replace(planner, "deviceClassName", "deviceClass")
    message = planner.tabs.locator(".dra-editor-told")
    until(lambda: "unknown field" in (message.text_content() or ""), "the message")
    assert planner.tabs.locator(".dra-editor-lines .is-wrong").count() == 1
    assert planner.lab.eval("len(lab.sketch.requests)") == 2
    assert "deviceClass:" in area.input_value()
    planner.button("Back to the drawing's YAML", planner.tabs).click()
    until(lambda: "deviceClass:" not in area.input_value(), "the drawing's text")
    planner.page.keyboard.press("Escape")
    area.wait_for(state="hidden")
    planner.lab.eval("lab.session.undo()")
    until(lambda: planner.lab.eval("lab.sketch.name") == "gpu-nic-pairs", "one step back")
