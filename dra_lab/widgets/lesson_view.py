"""LessonView: the words of a lesson beside its picture and canvas: head, steps, task, hints, judgement, explanation."""

from __future__ import annotations

from typing import Any

from dra_lab.widgets.lesson_steps import LessonSteps
from dra_lab.widgets.session_view import STATIC, SessionView
from dra_lab.widgets.wire import wire
from dra_lab.words.document import Part


class LessonView(SessionView):
    """The words of a lesson; without a lesson the list of all lessons.

    Python writes every trait. `lessons` is the list, empty while a lesson is shown. `picked` are the names of the
    devices that the student has chosen on the picture. `busy` says what is computed. `yaml` is the manifest of the
    drawing, "" until it is checked. `can_leave` says that a list of lessons stands behind the lesson.
    """

    _esm = STATIC / "lesson_view.js"
    _css = STATIC / "lesson_view.css"

    panes = (LessonSteps,)

    def compose(self, steps: LessonSteps) -> None:
        """Take the steps whose words are shown.

        Args:
            steps: The steps of the lesson.
        """
        self._actors.append(steps)

    def show(self, **values: Any) -> None:
        """Set traits from rows, and store the lesson as it is now.

        Args:
            **values: The new values of the traits, by their names.
        """
        with self.hold_sync():
            for name, value in values.items():
                setattr(self, name, wire(value))
            self._store()

    def stored_parts(self) -> list[Part]:
        """Return what a notebook stores: title, tasks and progress."""
        return [part for steps in self._actors[1:] for part in steps.parts()]
