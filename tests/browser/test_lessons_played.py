"""The lessons in a real JupyterLab: each is played wrong, with a correct answer of another shape, and right."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from lab_page import LabPage, box_of
from lab_server import until
from playwright.sync_api import Locator, expect

pytestmark = [pytest.mark.browser, pytest.mark.long]

OPEN = """from tempfile import mkdtemp
from dra_lab import Lesson
folder = mkdtemp()
lesson = Lesson({name!r}, folder=folder)
lesson"""
DRAW = """
from msgspec.structs import replace
answer = lesson.run.lesson.answers.{answer}
present = lesson._steps._drawn.history.present
content = replace(present, workloads=answer.workloads, editing=answer.editing)
lesson._steps._drawn.change(content.with_sketch(answer.sketch))
"""
TAKEN = "[str(one.device) for one in lesson.run.searched.first_fit.placements]"


def opened(desk, name: str, **size: int) -> LabPage:
    """Return the page with a lesson in its only cell."""
    lab = desk.show([OPEN.format(name=name)], **size)
    lab.run_all()
    lab.page.locator(".dra-lesson-picture [data-id]").first.wait_for()
    return lab


def pick(lab: LabPage, devices: Sequence[str]) -> None:
    """Click devices on the picture."""
    for device in devices:
        lab.page.locator(f'.dra-lesson-picture [data-id="{device}"]').first.click()


def press(lab: LabPage, name: str) -> None:
    lab.page.locator(".dra-lesson-buttons").get_by_role("button", name=name).click()


def judged(lab: LabPage) -> Locator:
    return lab.page.locator(".dra-lesson-judged")


def draw(lab: LabPage, answer: str) -> None:
    """Bring an answer of the lesson's file onto the canvas, and wait until the page shows it."""
    lab.run(DRAW.format(answer=answer))
    count = lab.eval("len(lesson._steps._drawn.sketch.requests)")
    expect(lab.page.locator(".dra-lesson-canvas .dra-canvas")).to_have_attribute("data-requests", str(count))


def to_draw(lab: LabPage) -> None:
    """Predict right with the mouse, look at the trace, and go on to the canvas."""
    pick(lab, lab.eval(TAKEN))
    press(lab, "This is my prediction")
    press(lab, "Go to Trace")
    lab.page.locator(".dra-lesson-picture .dra-trace-card, .dra-lesson-picture h2").first.wait_for()
    press(lab, "Go to Draw")
    lab.page.locator(".dra-lesson-canvas .dra-canvas").wait_for()


def test_no_trait_has_the_answer_before_it_is_due(desk):
    """Before the prediction and before the check, nothing that the browser gets names what kube-scheduler takes."""
    lab = opened(desk, "05-links")
    state = (
        "[str({name: getattr(view, name) for name in view.keys if name not in ('_esm', '_css')})"
        " for view in (lesson._view, *lesson._grid.children[1:])]"
    )
    text = " ".join(lab.eval(state))
    assert "data-request=" not in text
    assert "pairwise" not in text
    to_draw(lab)
    draw(lab, "right")
    until(lambda: lab.eval("not lesson._steps._drawn.stale"), "the drawing is planned")
    drawn = lab.eval(state)
    assert "data-request=" not in drawn[2]
    assert "matchAttribute" not in drawn[0]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_lesson_is_accessible_and_large_enough_for_a_projector(desk, theme: str):
    lab = opened(desk, "03-first-fit")
    lab.theme(theme)
    assert lab.axe(".dra-lesson") == []
    size = "() => parseFloat(getComputedStyle(document.querySelector('.dra-lesson-body p')).fontSize)"
    assert lab.page.evaluate(size) >= 16


def test_a_lesson_takes_the_whole_screen_for_a_class(desk):
    lab = opened(desk, "08-shares")
    button = lab.page.get_by_role("button", name="Full screen")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    until(lambda: box_of(lab.page.locator(".dra-lesson-grid"))["x"] == 0, "it begins at the edge of the screen")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")


def test_a_task_is_read_as_a_whole_in_a_narrow_cell(desk):
    """Beside JupyterLab's file browser, at 1280 pixels, no line of the task is cut."""
    lab = opened(desk, "10-from-device-plugins", width=1280)
    lab.page.wait_for_function("() => document.querySelector('.dra-lesson').clientWidth < 880")
    cut = lab.page.locator(".dra-lesson-body").evaluate("body => body.scrollHeight - body.clientHeight")
    assert cut <= 1
