"""The values of `LessonView`: the head of a lesson, its steps, the present task, hints, the judgement, and the list."""

from __future__ import annotations

from typing import Literal

from dra_lab.widgets.canvas_values import Row
from dra_lab.widgets.plan_values import TileRow

StepState = Literal["done", "now", "open", "later"]
HintState = Literal["shown", "open", "locked"]
LessonState = Literal["new", "started", "done"]
Action = Literal["", "predict", "next", "check", "explain", "back", "leave"]


class LessonHead(Row, frozen=True):
    """The lesson: its place in the course, title, length, and what was reached so far.

    `number` is "Lesson 3 of 13" or "Final exercise". `tiles` are the predictions and hints, with what they count.
    """

    id: str = ""
    number: str = ""
    title: str = ""
    minutes: int = 0
    progress: str = ""
    done: bool = False
    tiles: tuple[TileRow, ...] = ()


class StepRow(Row, frozen=True):
    """A step of the rail. A person can go to it unless its state is "later"."""

    kind: str
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
    node: str = ""
    primary: str = ""
    action: Action = ""
    waits: str = ""
    back: str = ""
    next: str = ""


class HintRow(Row, frozen=True):
    """A hint with its grade; `text` is empty until it is shown, and `note` says when it opens."""

    grade: str
    text: str = ""
    state: HintState = "locked"
    note: str = ""


class RuleRow(Row, frozen=True):
    """A need of the task, and whether the drawing meets it."""

    text: str
    kept: bool = False


class JudgedRow(Row, frozen=True):
    """The judgement of the latest prediction or drawing; `stale` says that the drawing has changed since."""

    message: str = ""
    passed: bool = False
    stale: bool = False
    rows: tuple[RuleRow, ...] = ()


class ExplainedRow(Row, frozen=True):
    """The sentence of the student, beside it a model sentence and the points to compare with."""

    yours: str = ""
    model: str = ""
    points: tuple[str, ...] = ()


class TermRow(Row, frozen=True):
    """A word of the lesson and its meaning."""

    word: str
    meaning: str


class LessonRow(Row, frozen=True):
    """A lesson in the list; `words` say how far it is."""

    id: str
    number: str
    title: str
    minutes: int = 0
    state: LessonState = "new"
    words: str = ""
