"""The claim is edited as text, and the canvas follows."""

from __future__ import annotations

import pytest
from lab_server import until

pytestmark = pytest.mark.browser


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


def test_a_request_written_as_text_appears_on_the_canvas(planner):
    """A second request, typed into the text, is a box on the canvas."""
    planner.tab("YAML").click()
    planner.button("Edit", planner.tabs).click()
    new = "requests:\n      - {name: extra, exactly: {deviceClassName: gpu.nvidia.com}}"
    area = planner.page.get_by_label("Claim as YAML")
    area.fill(area.input_value().replace("requests:", new, 1))
    until(lambda: "extra" in planner.lab.eval("[r.name for r in lab.sketch.requests]"), "the drawing follows")
    planner.page.locator(".dra-canvas, .react-flow").first.get_by_text("extra").first.wait_for()


@pytest.mark.long
def test_what_is_drawn_meanwhile_is_in_the_text_that_is_typed_on(planner):
    """An open editor takes over what changes elsewhere, with its caret in place: no later key takes the change back."""
    planner.tab("YAML").click()
    planner.button("Edit", planner.tabs).click()
    area = _replace(planner, "name: gpu-nic-pairs", "name: by-hand")
    until(lambda: planner.lab.eval("lab.sketch.name") == "by-hand", "the drawing follows")
    assert "name: by-hand" in area.input_value()
    caret = area.evaluate("node => node.selectionStart")
    planner.lab.run("lab.session.undo()")
    until(lambda: "name: gpu-nic-pairs" in area.input_value(), "the text follows the drawing")
    planner.lab.run("lab.session.redo()")
    until(lambda: "name: by-hand" in area.input_value(), "and once more")
    assert abs(area.evaluate("node => node.selectionStart") - caret) <= len("gpu-nic-pairs")
    assert planner.page.evaluate("() => document.activeElement.classList.contains('dra-editor-text')")
    _replace(planner, "name: by-hand", "name: again")
    until(lambda: planner.lab.eval("lab.sketch.name") == "again", "and it is typed on")


@pytest.mark.long
def test_a_text_of_an_article_is_corrected_in_the_editor_and_undone(planner):
    """The button writes the corrected text and lists each change; Ctrl+Z brings the text of the article back."""
    planner.tab("YAML").click()
    planner.button("Edit", planner.tabs).click()
    area = planner.page.get_by_label("Claim as YAML")
    shown = area.input_value()
    area.fill(shown.replace("deviceClassName: gpu.nvidia.com", "deviceClassName: nvidia-gpu", 1))
    button = planner.tabs.get_by_role("button", name="Correct 1 problem")
    button.wait_for()
    button.click()
    until(lambda: area.input_value() == shown, "the corrected text")
    listed = planner.tabs.locator(".dra-editor .dra-fixes li")
    assert "'nvidia-gpu' → 'gpu.nvidia.com'" in (listed.first.text_content() or "")
    until(lambda: planner.lab.eval("lab.sketch.requests[0].exactly.device_class_name") == "gpu.nvidia.com", "drawn")
    area.press("ControlOrMeta+z")
    until(lambda: "nvidia-gpu" in area.input_value(), "the article's text is back")
