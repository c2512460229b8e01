"""Lesson without a browser: what a kernel holds of a lesson, and what ends when it is opened again."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import to_builtins
from widget_messages import say, set_traits

from dra_lab import ClaimCanvas, ClaimSketch, Lab, Lesson, read_sketch
from dra_lab.course.lesson_text import TASKS


def view_of(lesson: Lesson):
    """Return the view of a lesson's tasks."""
    return lesson.children[0].children[0]


def to_draw(folder: Path) -> Lesson:
    """Return a lesson at the step Draw."""
    lesson = Lesson("03-first-fit", folder=folder)
    lesson.run.predict([])
    for step in (1, 2):
        say(view_of(lesson), type="go-to-step", step=step)
    return lesson


def draw(lesson: Lesson, sketch: ClaimSketch) -> None:
    """Draw on the lesson's canvas."""
    (canvas,) = [one for one in lesson.children[0].children if isinstance(one, ClaimCanvas)]
    set_traits(canvas, sketch=to_builtins(sketch))


def test_a_lesson_that_is_opened_again_ends_the_first_one(tmp_path):
    first = Lesson("03-first-fit", folder=tmp_path)
    second = Lesson("03-first-fit", folder=tmp_path)
    assert [child.value for child in first.children] == ["This lesson has ended because another cell opened it again."]
    second.close()


def test_progress_that_is_not_saved_is_a_problem_of_the_view(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    lesson = Lesson("03-first-fit", folder=tmp_path / "file")
    say(view_of(lesson), type="show-hint")
    assert view_of(lesson).problem.startswith("Your progress is not saved:")
    assert lesson.run.progress.hints == 1
    lesson.close()


@pytest.mark.parametrize("content", [b"requests: [", b"\x00\x89PNG\xff", b"kind: Pod", b"x" * (4 * 2**20 + 1)])
def test_a_drawing_that_cannot_be_read_is_kept_under_another_name(content: bytes, tmp_path):
    """The canvas begins empty and says why; nothing is written before the student draws."""
    path = tmp_path / "03-first-fit.dralab.yaml"
    path.write_bytes(content)
    lesson = to_draw(tmp_path)
    assert path.name in view_of(lesson).problem
    assert path.read_bytes() == content
    draw(lesson, lesson.run.lesson.answers.wrong.sketch)
    assert path.with_name(f"{path.name}.bak").read_bytes() == content
    assert [request.name for request in read_sketch(path).requests] == ["gpu"]
    lesson.close()


def test_a_step_that_is_not_open_is_a_problem_of_the_view(tmp_path):
    lesson = Lesson("03-first-fit", folder=tmp_path)
    say(view_of(lesson), type="go-to-step", step=4)
    assert "opens when task 1 is done" in view_of(lesson).problem
    assert lesson.run.task == 0
    lesson.close()


def test_the_progress_of_a_lesson_is_in_the_list(tmp_path):
    lesson = Lesson("03-first-fit", folder=tmp_path)
    say(view_of(lesson), type="show-hint")
    listed = Lesson(folder=tmp_path)
    states = {row["id"]: row.get("state", "new") for row in view_of(listed).lessons}
    assert (states["03-first-fit"], states["05-links"]) == ("started", "new")
    lesson.close()
    listed.close()


def test_what_a_notebook_stores_has_title_tasks_and_progress(tmp_path):
    lesson = Lesson("03-first-fit", folder=tmp_path)
    html = lesson._repr_mimebundle_()["text/html"]
    assert "Lesson 3 of 15: First fit by hand" in html
    assert "Click both devices that kube-scheduler allocates" in html
    assert "matchAttribute" not in html
    lesson.close()


@pytest.mark.parametrize(("name", "kept"), [("08-shares", 1), ("03-first-fit", 2)])
def test_of_one_device_another_choice_replaces_the_first(name: str, kept: int, tmp_path):
    """A claim for one device has one prediction; of several devices, all that are clicked stay chosen."""
    lesson = Lesson(name, folder=tmp_path)
    picture = lesson.children[0].children[1]
    devices = [str(device) for device in lesson.run.names][:2]
    set_traits(picture, picked=devices)
    assert picture.picked == devices[-kept:]
    lesson.close()


def test_after_the_last_step_comes_the_next_lesson(tmp_path):
    lesson = Lesson("03-first-fit", folder=tmp_path, lists=True)
    lesson.run.predict([])
    lesson.run.check(lesson.run.lesson.answers.right)
    for step in range(1, len(TASKS)):
        say(view_of(lesson), type="go-to-step", step=step)
    say(view_of(lesson), type="explain", text="The first devices that match are allocated.")
    assert (view_of(lesson).task["primary"], view_of(lesson).task.get("action", "next")) == ("Next lesson", "next")
    say(view_of(lesson), type="go-to-step", step=len(TASKS))
    assert lesson.run.lesson.id == "04-locality"
    lesson.close()


@pytest.mark.parametrize("file", ["plan.dralab.yaml", None])
def test_lessons_of_a_planner_leave_no_file_beside_the_plan(file: str | None, tmp_path, monkeypatch):
    """They are in a folder of their own; a planner that keeps nothing keeps no lesson either."""
    monkeypatch.chdir(tmp_path)
    lab = Lab("sample:two-sockets", file=file)
    lab.session.show_mode("learn")
    lesson = lab.children[0].children[-1].children[0]
    say(view_of(lesson), type="open-lesson", id="03-first-fit")
    say(view_of(lesson), type="show-hint")
    lab.close()
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json")}
    assert found == ({"lessons/03-first-fit.progress.json"} if file else set())
