"""Lesson without a browser: what a kernel holds of a lesson, and what ends when it is opened again."""

from __future__ import annotations

from pathlib import Path

import pytest

from dra_lab import Lesson, read_sketch
from dra_lab.widgets.lesson_view import GoToStep, ShowHint


def to_draw(folder: Path) -> Lesson:
    """Return a lesson at the step Draw."""
    lesson = Lesson("03-first-fit", folder=folder)
    lesson.run.predict([])
    for step in (1, 2):
        lesson._act(GoToStep(step=step))
    return lesson


def test_a_lesson_that_is_opened_again_ends_the_first_one(tmp_path):
    """Two of them would write one drawing: the first says that it has ended, and its worker stops."""
    first = Lesson("03-first-fit", folder=tmp_path)
    second = Lesson("03-first-fit", folder=tmp_path)
    assert [child.value for child in first.children] == ["This lesson has ended because another cell opened it again."]
    assert first._searched is None
    second.close()


def test_progress_that_is_not_saved_is_a_problem_of_the_view(tmp_path):
    """The view says it after the student's action, and goes on."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    lesson = Lesson("03-first-fit", folder=tmp_path / "file")
    lesson._view._on_message(None, {"type": "show-hint"}, [])
    assert lesson._view.problem.startswith("Your progress is not saved:")
    assert lesson.run.progress.hints == 1
    lesson.close()


def test_a_drawing_that_is_not_saved_is_a_problem_of_the_view(tmp_path, monkeypatch):
    """The view says so until the student draws again, and does not call the drawing saved."""
    lesson = to_draw(tmp_path)
    answers = lesson.run.lesson.answers

    def refuse(*_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr("tempfile.mkstemp", refuse)
        lesson._drawn.edit(answers.wrong.sketch)
    assert lesson._view.problem.startswith("Your drawing is not saved:")
    assert lesson._view.saved == ""
    lesson._drawn.edit(answers.right.sketch)
    lesson._show_words()
    assert (lesson._view.problem, lesson._view.saved) == ("", "Your drawing is saved. Only you change it.")
    lesson.close()


@pytest.mark.parametrize("content", [b"requests: [", b"\x00\x89PNG\xff", b"kind: Pod", b"x" * (4 * 2**20 + 1)])
def test_a_drawing_that_cannot_be_read_is_kept_under_another_name(content: bytes, tmp_path):
    """The canvas begins empty and says why; nothing is written before the student draws."""
    path = tmp_path / "03-first-fit.dralab.yaml"
    path.write_bytes(content)
    lesson = to_draw(tmp_path)
    assert path.name in lesson._view.problem
    assert path.read_bytes() == content
    lesson._drawn.edit(lesson.run.lesson.answers.wrong.sketch)
    assert path.with_name(f"{path.name}.bak").read_bytes() == content
    assert [request.name for request in read_sketch(path).requests] == ["gpu"]
    lesson.close()


def test_a_lesson_that_cannot_start_over_goes_on(tmp_path, monkeypatch):
    """If the files cannot be renamed, the view says so, and the lesson stays where it was."""
    lesson = to_draw(tmp_path)

    def refuse(*_arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rename", refuse)
    lesson._view._on_message(None, {"type": "start-over"}, [])
    assert "'03-first-fit.progress.json' cannot be renamed: Permission denied" in lesson._view.problem
    assert (lesson.run.task, lesson._drawn is not None) == (2, True)
    lesson.close()


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
    lesson = to_draw(tmp_path)
    lesson._drawn.edit(lesson.run.lesson.answers.wrong.sketch)
    for step in (1, 2):
        lesson._act(GoToStep(step=step))
    assert [request.name for request in lesson._drawn.sketch.requests] == ["gpu"]
    lesson.close()
