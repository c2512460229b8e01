"""Lesson: a lesson of the course in a cell, with the part of the planner that its present step needs."""

from __future__ import annotations

import weakref
from pathlib import Path
from typing import Any

import ipywidgets

from dra_lab.course.lesson_run import LessonRun
from dra_lab.course.lesson_text import TASKS, lesson_named
from dra_lab.widgets.lesson_rows import head_row
from dra_lab.widgets.lesson_steps import LessonSteps
from dra_lab.widgets.session_view import STATIC, SessionView, wire
from dra_lab.widgets.stored_output import with_stored
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
        """Take the steps whose words are shown."""
        self._actors.append(steps)

    def show(self, **values: Any) -> None:
        """Set traits from rows, and store the lesson as it is now."""
        with self.hold_sync():
            for name, value in values.items():
                setattr(self, name, wire(value))
            self._store()

    def stored_parts(self) -> list[Part]:
        """Return what a notebook stores: title, tasks and progress."""
        return [part for steps in self._actors[1:] for part in steps.parts()]


_OPEN: weakref.WeakValueDictionary[Path, Lesson] = weakref.WeakValueDictionary()


class Lesson(ipywidgets.Box):  # type: ignore[misc]  # ipywidgets has no types
    """A lesson of the course: predict, trace, draw, check, explain.

    The drawing and the progress are files beside the notebook, `NAME.dralab.yaml` and `NAME.progress.json`. Only what
    the student does changes them: running the cell again shows the lesson as it was left.

    `run` is the lesson with its progress, None while the list of lessons is shown.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from dra_lab import Lesson
        >>> with TemporaryDirectory() as folder:
        ...     lesson = Lesson("03-first-fit", folder=folder)
        ...     print(lesson)
        ...     lesson.close()
        Lesson 3 of 15: First fit by hand. 0 of 5 steps done.
    """

    def __init__(
        self,
        name: str = "",
        *,
        folder: str | Path = ".",
        seed: int | None = None,
        student: str = "",
        lists: bool = False,
    ) -> None:
        """Open a lesson by its id or number; "" shows the list of all lessons.

        Args:
            name: The id or the number of the lesson; default "": the list.
            folder: The folder of drawing and progress; default: the present one.
            seed: A number that varies the cluster; default None: the sample itself.
            student: The name in the file of the progress; default: none.
            lists: Whether the student can go to the list of lessons; without a name always.

        Raises:
            InputError: There is no such lesson.
        """
        if name:
            lesson_named(name)
        self._view = LessonView(can_leave=lists or not name)
        self._grid = ipywidgets.Box([self._view])
        self._grid.add_class("dra-lesson-grid")
        self._steps = LessonSteps(self._view, self._grid, self._take_over, Path(folder), seed, student)
        self._view.compose(self._steps)
        super().__init__([self._grid])
        self.add_class("dra-lesson")
        if name:
            self._steps.open(name)
        else:
            self._steps.show_list()

    @property
    def run(self) -> LessonRun | None:
        """Return the lesson with its progress, None while the list is shown."""
        return self._steps.run

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any] | None:
        shown: dict[str, Any] | None = super()._repr_mimebundle_(**options)
        return shown if shown is None else with_stored(shown, self._steps.parts())

    def __repr__(self) -> str:
        """Say which lesson it is and how far it is, for places without widgets."""
        if self.run is None:
            return "Lessons of the course"
        head = head_row(self.run)
        return f"{head.number}: {head.title}. {len(self.run.progress.done)} of {len(TASKS)} steps done."

    def close(self) -> None:
        """End the workers and take the view away; drawing and progress stay in their files."""
        self.end()
        super().close()

    def end(self, why: str = "") -> None:
        """End the workers and the views.

        Args:
            why: The text that is shown in their place; default "": nothing.
        """
        self._steps.close()
        self.children = [ipywidgets.Label(why)] if why else []
        for view in (self._view, self._grid):
            view.close()

    def _take_over(self, path: Path) -> None:
        # Running the cell again shows the lesson a second time: the first one ends, or both would write the drawing.
        before = _OPEN.get(path)
        _OPEN[path] = self
        if before is not None and before is not self and before.comm is not None:
            before.end("This lesson has ended because another cell opened it again.")
