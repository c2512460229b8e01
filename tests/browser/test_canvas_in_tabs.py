"""The canvas of a planner in a tab: it is whole after other tabs were in front, and tidying it up keeps it legible."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab_server import until

pytestmark = [pytest.mark.browser, pytest.mark.long]

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
    """However often it was hidden, and whatever changed meanwhile, each box is in sight."""
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
