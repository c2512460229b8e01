"""Lesson without a browser: what a kernel holds of a lesson, and what ends when it is opened again."""

from __future__ import annotations

from dra_lab import Lesson
from dra_lab.widgets.lesson_view import GoToStep, ShowHint


def test_a_lesson_that_is_opened_again_ends_the_first_one(tmp_path):
    """Two of them would write one drawing: the first says that it has ended, and its worker stops."""
    first = Lesson("03-first-fit", folder=tmp_path)
    second = Lesson("03-first-fit", folder=tmp_path)
    assert [child.value for child in first.children] == ["This lesson has ended because another cell opened it again."]
    assert first._searched is None
    second.close()


def test_another_lesson_does_not_end_the_first_one(tmp_path):
    """Two lessons have drawings of their own."""
    first, second = Lesson("03-first-fit", folder=tmp_path), Lesson("05-links", folder=tmp_path)
    assert first.run is not None
    assert second.run is not None
    first.close()
    second.close()


def test_a_step_that_is_not_open_is_a_problem_of_the_view(tmp_path):
    """A message that the browser should not send changes nothing, and says why."""
    lesson = Lesson("03-first-fit", folder=tmp_path)
    lesson._view._on_message(None, {"type": "go-to-step", "step": 4}, [])
    assert "opens when task 1 is done" in lesson._view.problem
    assert lesson.run.task == 0
    lesson.close()


def test_the_progress_of_a_lesson_is_in_the_list(tmp_path):
    """A lesson with a hint is started."""
    lesson = Lesson("03-first-fit", folder=tmp_path)
    lesson._act(ShowHint())
    listed = Lesson(folder=tmp_path)
    states = {row["id"]: row.get("state", "new") for row in listed._view.lessons}
    assert (states["03-first-fit"], states["05-links"]) == ("started", "new")
    lesson.close()
    listed.close()


def test_what_a_notebook_stores_has_title_tasks_and_progress(tmp_path):
    """Without a kernel, the tasks can be read."""
    lesson = Lesson("03-first-fit", folder=tmp_path)
    html = lesson._repr_mimebundle_()["text/html"]
    assert "Lesson 3 of 13: First fit by hand" in html
    assert "Click both devices that kube-scheduler allocates" in html
    assert "matchAttribute" not in html
    lesson.close()


def test_a_step_forward_and_back_keeps_the_drawing(tmp_path):
    """The canvas of Draw is the same after a look at Trace."""
    lesson = Lesson("03-first-fit", folder=tmp_path)
    lesson.run.predict([])
    for step in (1, 2):
        lesson._act(GoToStep(step=step))
    lesson._drawn.edit(lesson.run.lesson.answers.wrong.sketch)
    for step in (1, 2):
        lesson._act(GoToStep(step=step))
    assert [request.name for request in lesson._drawn.sketch.requests] == ["gpu"]
    lesson.close()
