"""LessonView: the words of a lesson beside its picture and canvas: head, steps, task, hints, judgement, explanation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import traitlets

from dra_lab.widgets import messages
from dra_lab.widgets.bar_values import AskRow
from dra_lab.widgets.lesson_values import (
    ExplainedRow,
    HintRow,
    JudgedRow,
    LessonHead,
    LessonRow,
    StepRow,
    TaskRow,
    TermRow,
)
from dra_lab.widgets.messages import Message
from dra_lab.widgets.session_view import STATIC, Actions, FollowingWidget
from dra_lab.words.document import Part, as_html


class OpenLesson(Message, frozen=True):
    """Open a lesson of the list."""

    id: str


class ShowLessons(Message, frozen=True):
    """Show the list of lessons."""


class GoToStep(Message, frozen=True):
    """Show a step of the lesson, by its place on the rail."""

    step: int


class PredictDevices(Message, frozen=True):
    """Compare the chosen devices with those that kube-scheduler allocates."""


class CheckDrawing(Message, frozen=True):
    """Plan the drawing and say which needs of the task it meets."""


class ShowHint(Message, frozen=True):
    """Show the next hint."""


class ExplainLesson(Message, frozen=True, tag="explain"):
    """Keep the student's sentence, and show the model sentence."""

    text: str


class StartOver(Message, frozen=True):
    """Begin the lesson again; what was reached is kept in a copy."""


class LessonView(FollowingWidget):
    """The words of a lesson; without a lesson the list of all lessons.

    Python writes every trait. `lessons` is the list, empty while a lesson is shown. `picked` are the names of the
    devices that the student has chosen on the picture. `busy` says what is computed. `yaml` is the manifest of the
    drawing, "" until it is checked. `can_leave` says that a list of lessons stands behind the lesson.

    `act` is called with each message; `parts` returns what a notebook stores of the lesson.
    """

    _esm = STATIC / "lesson_view.js"
    _css = STATIC / "lesson_view.css"

    head = traitlets.Dict().tag(sync=True, value=LessonHead)
    steps: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[StepRow])
    task = traitlets.Dict().tag(sync=True, value=TaskRow)
    hints: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[HintRow])
    judged = traitlets.Dict().tag(sync=True, value=JudgedRow)
    explained = traitlets.Dict().tag(sync=True, value=ExplainedRow)
    terms: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[TermRow])
    lessons: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[LessonRow])
    picked: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[str])
    busy = traitlets.Unicode("").tag(sync=True)
    saved = traitlets.Unicode("").tag(sync=True)
    yaml = traitlets.Unicode("").tag(sync=True)
    ask = traitlets.Dict().tag(sync=True, value=AskRow)
    can_leave = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self, act: Callable[[Message], None] | None = None, parts: Callable[[], Sequence[Part]] = tuple, **traits: Any
    ) -> None:
        """Begin without words."""
        self._do = act
        self._parts = parts
        super().__init__(**traits)
        self.observe(lambda _change: self._store(), "_stores")

    def show(self, **values: Any) -> None:
        """Set traits from rows, and store the lesson as it is now.

        Args:
            **values: The new values of the traits, by their names.
        """
        with self.hold_sync():
            self._assign(**values)
            self._store()

    def stored_parts(self) -> list[Part]:
        """Return what a notebook stores: title, tasks and progress."""
        return list(self._parts())

    def _store(self) -> None:
        if self._stores and not self.is_part:
            self._stored = as_html(self.stored_parts())

    def _pass_on(self, message: Message) -> None:
        if self._do is not None:
            self._do(message)

    actions: ClassVar[Actions] = {
        messages.DismissProblem: FollowingWidget.actions[messages.DismissProblem],
        messages.GiveAnswer: _pass_on,
        OpenLesson: _pass_on,
        ShowLessons: _pass_on,
        GoToStep: _pass_on,
        PredictDevices: _pass_on,
        CheckDrawing: _pass_on,
        ShowHint: _pass_on,
        ExplainLesson: _pass_on,
        StartOver: _pass_on,
    }
