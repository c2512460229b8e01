"""Notebook 7 in JupyterLab: a student draws with the mouse, and Run All keeps what was drawn."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lab_page import LabPage
from lab_server import until

pytestmark = pytest.mark.browser
LESSON = Path(__file__).parents[2] / "notebooks" / "07_lesson.ipynb"
REQUESTS = "[request.name for request in task1.sketch.requests]"
DONE = "'check3' in globals() and 'answer3' in globals()"


def test_run_all_keeps_what_a_student_drew_with_the_mouse(server, chromium):
    """Three empty planners open; a GPU that is dragged into the first is there after every cell ran again."""
    shutil.copy(LESSON, server.root / "07_lesson.ipynb")
    lab = LabPage(chromium.new_context(reduced_motion="reduce", viewport={"width": 1440, "height": 1000}), server)
    try:
        lab.open("07_lesson.ipynb").run_all()
        until(lambda: lab.eval(DONE), "every cell has run")
        assert lab.eval("[len(task.sketch.requests) for task in (task1, task2, task3)]") == [0, 0, 0]
        canvas = lab.page.locator(".dra-lab .dra-canvas").first
        canvas.scroll_into_view_if_needed()
        chip = canvas.locator('.dra-chip[data-key^="gpu.nvidia.com"]').first
        chip.drag_to(canvas.locator(".react-flow__pane"), target_position={"x": 160, "y": 80})
        until(lambda: lab.eval(REQUESTS) == ["gpu"], "the drop is in the kernel")
        lab.run("del answer3")
        lab.run_all()
        until(lambda: lab.eval(DONE), "every cell has run again")
        assert lab.eval(REQUESTS) == ["gpu"]
        lab.page.locator(".dra-lab .dra-canvas").first.locator('.react-flow__node[data-id="r:gpu"]').wait_for()
        lab.picture("lesson")
        lab.check()
    finally:
        lab.close()
        server.end_sessions("07_lesson.ipynb")
