"""The rows of a lesson: what its run has reached, as LessonView shows it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from dra_lab.course.lesson_run import LessonRun, open_lesson
from dra_lab.course.lesson_text import HINTS, TASKS, TaskKind, lessons
from dra_lab.course.topology_manager import baseline_lines
from dra_lab.widgets.session_view import Row
from dra_lab.words.verdict import Tile

StepState = Literal["done", "now", "open", "later"]

HintState = Literal["shown", "open", "locked"]

LessonState = Literal["new", "started", "done"]

Action = Literal["predict", "next", "check", "explain"]


class LessonHead(Row, frozen=True):
    """The lesson: its place in the course, title, length, and what was reached so far.

    `number` is "Lesson 3 of 15". `tiles` are the predictions and hints, with what they count.
    """

    number: str = ""
    title: str = ""
    minutes: int = 0
    progress: str = ""
    tiles: tuple[Tile, ...] = ()


class StepRow(Row, frozen=True):
    """A step of the rail. A person can go to it unless its state is "later"."""

    label: str
    state: StepState = "later"


class TaskRow(Row, frozen=True):
    """The present task: `text` in paragraphs, `ask` is what to do.

    In both, `**` encloses bold words, and a backquote encloses names. `primary` is the text of the one main button,
    "" for a step that has none, and `action` what it does; `waits` says what is missing before it can be pressed.
    """

    kind: str = ""
    title: str = ""
    text: str = ""
    ask: str = ""
    primary: str = ""
    action: Action = "next"
    waits: str = ""
    back: str = ""
    next: str = ""


class HintRow(Row, frozen=True):
    """A hint with its grade; `text` is empty until it is shown, and `note` says when it opens."""

    grade: str
    text: str = ""
    state: HintState = "locked"
    note: str = ""


class ExplainedRow(Row, frozen=True):
    """The sentence of the student, beside it a model sentence and the points to compare with."""

    yours: str = ""
    model: str = ""
    points: tuple[str, ...] = ()


class LessonRow(Row, frozen=True):
    """A lesson in the list; `words` say how far it is."""

    id: str
    number: str
    title: str
    minutes: int = 0
    state: LessonState = "new"
    words: str = ""


LABELS = {"predict": "Predict", "trace": "Trace", "draw": "Draw", "check": "Check", "explain": "Explain"}
SAVED = "Your drawing is saved. Only you change it."
_PRIMARY = {
    "predict": "This is my prediction",
    "trace": "Go to Draw",
    "draw": "Check my drawing",
    "check": "Go to Explain",
    "explain": "Compare my sentence",
}


def head_row(run: LessonRun) -> LessonHead:
    """Return the head of a lesson."""
    progress, lesson = run.progress, run.lesson
    right, tried = sum(progress.predictions), len(progress.predictions)
    tiles = (
        Tile(f"{right} of {tried}", "predictions right", title="How many of your predictions were right."),
        Tile(f"{progress.hints} of {len(HINTS)}", "hints used", title="How many hints you have read."),
    )
    step_words = "You finished this lesson." if run.finished else f"Step {run.task + 1} of {len(TASKS)}"
    number = f"Lesson {lesson.number} of {len(lessons())}"
    return LessonHead(number, lesson.title, lesson.minutes, step_words, tiles)


def step_rows(run: LessonRun) -> tuple[StepRow, ...]:
    """Return the steps of the rail."""
    return tuple(
        StepRow(
            LABELS[kind],
            "now" if at == run.task
            else "done" if kind in run.progress.done
            else "open" if at <= run.open_to
            else "later",
        )
        for at, kind in enumerate(TASKS)
    )  # fmt: skip


def task_row(run: LessonRun, *, picked: Sequence[str], drawn: bool, goes_on: bool) -> TaskRow:
    """Return the present task with its buttons; `goes_on` says that the next lesson can be opened here."""
    kind = TASKS[run.task]
    task = run.lesson.tasks[kind]
    before = TASKS[run.task - 1] if run.task else None
    text, primary, waits, onward = task.text, _PRIMARY[kind], "", ""
    action: Action = "check" if kind == "draw" else "next" if kind == "trace" else kind
    if kind == "predict":
        text = "\n\n".join([text, *run.slice_lines])
        if run.progress.predictions[-1:] == (True,):
            primary, action = "Go to Trace", "next"
        else:
            waits = "" if picked else "Click a device on the picture first."
            onward = "Go to Trace" if run.progress.predictions else ""
    elif kind == "trace":
        text = "\n\n".join([text, *baseline_lines(run)])
    elif kind == "draw":
        waits = "" if drawn else "Draw a request first."
    elif kind == "check":
        if "check" in run.progress.done:
            action = "next"
        else:
            primary = "Check again"
    elif kind == "explain" and run.finished and goes_on:
        primary, action = "Next lesson", "next"
    return TaskRow(
        kind=kind,
        title=f"{run.task + 1}. {LABELS[kind]}",
        text=text,
        ask=task.ask,
        primary=primary,
        action=action,
        waits=waits,
        back=f"Back to {LABELS[before]}" if before else "",
        next=onward,
    )


def hint_rows(run: LessonRun) -> tuple[HintRow, ...]:
    """Return the hints of the steps that have them: those that are shown, the next one, and the locked ones."""
    if TASKS[run.task] not in ("draw", "check"):
        return ()
    shown = run.hints
    rows = []
    for at, grade in enumerate(HINTS):
        if at < len(shown):
            rows.append(HintRow(grade, shown[at].text, "shown"))
        elif at == len(shown):
            rows.append(HintRow(grade, state="open"))
        else:
            rows.append(HintRow(grade, note=f"opens after hint {at}"))
    return tuple(rows)


def explained_row(run: LessonRun) -> ExplainedRow:
    """Return the student's sentence beside the model sentence; without a sentence only that it is missing."""
    explained = run.explained
    if explained is None:
        return ExplainedRow()
    found = {True: " It is in your sentence.", False: " It was not found in your sentence.", None: ""}
    return ExplainedRow(
        explained.yours, explained.model, tuple(f"{point}{found[named]}" for point, named in explained.points)
    )


def lesson_rows(folder: Path, student: str, seed: int | None) -> tuple[LessonRow, ...]:
    """Return the list of all lessons with what a student has reached in a folder."""
    rows = []
    for lesson in lessons():
        progress = open_lesson(lesson.id, folder, seed=seed, student=student).progress
        is_done = set(TASKS) <= set(progress.done)
        state: LessonState = "done" if is_done else "started" if progress.started else "new"
        words = f"{len(progress.done)} of {len(TASKS)} steps" if state == "started" else ""
        rows.append(LessonRow(lesson.id, str(lesson.number), lesson.title, lesson.minutes, state, words))
    return tuple(rows)


def shows_drawing(kind: TaskKind) -> bool:
    """Say whether a step has the canvas."""
    return kind in ("draw", "check", "explain")
