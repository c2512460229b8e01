"""Lesson: a lesson of the course in a cell, with the part of the planner that its present step needs."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets

from dra_lab.course.lesson_run import Judgement, LessonRun, open_lesson
from dra_lab.course.lesson_text import TASKS, lesson_named
from dra_lab.course.progress_file import NOT_SAVED, rename_to_copy
from dra_lab.errors import DraLabError
from dra_lab.model.names import DeviceID
from dra_lab.model.sketch import ClaimSketch, Drawing
from dra_lab.session import Session
from dra_lab.session.drawing_file import DrawingFile
from dra_lab.session.outputs import manifest
from dra_lab.widgets import lesson_rows as rows
from dra_lab.widgets.claim_canvas import ClaimCanvas
from dra_lab.widgets.kernel_loop import on_kernel_loop
from dra_lab.widgets.lesson_picture import LessonPicture
from dra_lab.widgets.lesson_values import LessonHead
from dra_lab.widgets.lesson_view import (
    CheckDrawing,
    ExplainLesson,
    GoToStep,
    LessonView,
    OpenLesson,
    PredictDevices,
    ShowHint,
    ShowLessons,
    StartOver,
)
from dra_lab.widgets.messages import GiveAnswer, Message
from dra_lab.widgets.stored_output import with_stored
from dra_lab.widgets.trace_mode import MODE as TRACE
from dra_lab.words.document import Part, Sentence, Words

FIRST_MODE = "plan"
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
        Lesson 3 of 13: First fit by hand. 0 of 5 steps done.
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
        self._folder, self._seed, self._student = Path(folder), seed, student
        self.run: LessonRun | None = None
        self._searched: Session | None = None
        self._drawn: Session | None = None
        self._close_step: list[Callable[[], object]] = []
        self._judged: Judgement | None = None
        self._checked: object = None
        self._unsaved: tuple[Drawing | None, str] = (None, "")
        self._view = LessonView(self._act, self._parts, can_leave=lists or not name)
        self._grid = ipywidgets.Box([self._view])
        self._grid.add_class("dra-lesson-grid")
        super().__init__([self._grid])
        self.add_class("dra-lesson")
        if name:
            self._open(name)
        else:
            self._show_list()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any] | None:
        shown: dict[str, Any] | None = super()._repr_mimebundle_(**options)
        return shown if shown is None else with_stored(shown, self._parts())

    def __repr__(self) -> str:
        """Say which lesson it is and how far it is, for places without widgets."""
        if self.run is None:
            return "Lessons of the course"
        head = rows.head_row(self.run)
        return f"{head.number}: {head.title}. {len(self.run.progress.done)} of {len(TASKS)} steps done."

    def close(self) -> None:
        """End the workers and take the view away; drawing and progress stay in their files."""
        self.end()
        super().close()

    # ------------------------------------------------------------ the list and one lesson

    def _show_list(self) -> None:
        self._leave()
        listed = rows.lesson_rows(self._folder, self._student, self._seed)
        done = sum(row.state == "done" for row in listed)
        head = LessonHead(title="Learn DRA", progress=f"You finished {done} of {len(listed)} lessons.")
        self._view.show(lessons=listed, head=head, task={}, steps=(), hints=(), judged={}, explained={}, terms=())
        self._show_parts()

    def _open(self, name: str) -> None:
        self._leave()
        self.run = open_lesson(name, self._folder, seed=self._seed, student=self._student)
        self._judged = self._checked = None
        self._take_over(self.run.drawing_path.absolute())
        self._view.report("progress", self.run.problem)
        self._view.report("drawing", "")
        self._view.show(lessons=(), yaml="", saved="")
        self._show_step()

    def _take_over(self, path: Path) -> None:
        # Running the cell again shows the lesson a second time: the first one ends, or both would write the drawing.
        before = _OPEN.get(path)
        _OPEN[path] = self
        if before is not None and before is not self and before.comm is not None:
            before.end("This lesson has ended because another cell opened it again.")

    def end(self, why: str = "") -> None:
        """End the workers and the views.

        Args:
            why: The text that is shown in their place; default "": nothing.
        """
        self._leave()
        self.children = [ipywidgets.Label(why)] if why else []
        for view in (self._view, self._grid):
            view.close()

    def _leave(self) -> None:
        """End what belongs to the present lesson."""
        self._grid.children = [self._view]
        for end in (*self._close_step, *(one.close for one in (self._searched, self._drawn) if one is not None)):
            end()
        self._close_step, self._searched, self._drawn, self.run = [], None, None, None

    # ------------------------------------------------------------ the steps

    def _show_step(self) -> None:
        if (run := self.run) is None:
            return
        kind = TASKS[run.task]
        if rows.shows_drawing(kind):
            self._show_drawing(run)
        else:
            self._show_search(run, predicts=kind == "predict")
        self._show_words()

    def _show_search(self, run: LessonRun, *, predicts: bool) -> None:
        """Show the node of the prediction, to choose devices on it or with the search of kube-scheduler."""
        session = self._searched
        if session is None:
            predict = run.lesson.predict
            session = self._searched = Session(run.cluster, sketch=predict.sketch, node=predict.node, drawn=False)
            on_kernel_loop(session)
            picture = LessonPicture(session, only=predict.node, picked=list(run.picked), picks=predicts)
            picture.observe(lambda _change: self._show_words(), "picked")
            self._search_picture = picture
            self._close_step.append(picture.close)
        session.hide_answer(hidden=predicts)
        session.show_mode(FIRST_MODE if predicts else TRACE)
        self._search_picture.picks = predicts
        self._show_parts(picture=self._search_picture)

    def _show_drawing(self, run: LessonRun) -> None:
        """Show the canvas with the student's drawing, and the nodes of the cluster."""
        session = self._drawn
        if session is None:
            session = self._drawn = _drawn_session(run)
            session.mode = FIRST_MODE
            self._unsaved = session.drawing, session.problem
            on_kernel_loop(session)
            session.hide_answer(hidden=True)
            canvas, picture = ClaimCanvas(session, height=0), LessonPicture(session)
            canvas.is_part = True
            self._draw_parts = canvas, picture
            self._close_step += [
                canvas.close,
                picture.close,
                session.on("plan", self._drawing_changed),
                session.on("solving", self._drawing_changed),
                session.on("ask", self._show_words),
                session.on("problem", self._drawing_failed),
            ]
        canvas, picture = self._draw_parts
        self._show_parts(canvas=canvas, picture=picture)

    def _show_parts(self, *, canvas: Any = None, picture: LessonPicture | None = None) -> None:
        """Put the canvas and the picture beside the words."""
        parts = {"canvas": canvas, "picture": picture}
        for name, part in parts.items():
            if part is not None:
                part.add_class(f"dra-lesson-{name}")
        for name, holds in (("has-canvas", canvas is not None), ("has-text-only", picture is None)):
            (self._grid.add_class if holds else self._grid.remove_class)(name)
        children = [self._view, *(part for part in parts.values() if part is not None)]
        if tuple(children) != tuple(self._grid.children):
            self._grid.children = children

    def _drawing_changed(self) -> None:
        """Hide the answer again when the drawing is another one than the checked one."""
        if (session := self._drawn) is not None and self._checked != self._content():
            session.hide_answer(hidden=True)
            self._show_words()

    def _drawing_failed(self) -> None:
        """Say that the present drawing is not saved, until the student changes it again."""
        if (session := self._drawn) is not None:
            self._unsaved = session.drawing, f"Your drawing is not saved: {session.problem}. {NOT_SAVED}"
            self._show_words()

    def _content(self) -> object:
        session = self._drawn
        return None if session is None else (session.sketch, session.drawing.workloads)

    def _show_words(self) -> None:
        if (run := self.run) is None:
            return
        kind, drawn = TASKS[run.task], self._drawn
        stale = self._judged is not None and self._checked is not None and self._checked != self._content()
        on_drawing = rows.shows_drawing(kind)
        is_judged = kind != "explain" and kind != "trace" and on_drawing == (self._checked is not None)
        judged = self._judged if is_judged else None
        picked = self._search_picture.picked if self._searched is not None else ()
        checked = on_drawing and drawn is not None and not drawn.hides_answer
        problem = self._unsaved[1] if drawn is not None and drawn.drawing is self._unsaved[0] else ""
        if on_drawing:
            self._view.report("drawing", problem)
        self._view.show(
            head=rows.head_row(run),
            steps=rows.step_rows(run),
            task=rows.task_row(run, picked=picked, drawn=drawn is not None and bool(drawn.sketch.requests)),
            hints=rows.hint_rows(run),
            judged=rows.judged_row(judged, stale=stale and on_drawing),
            explained=rows.explained_row(run) if kind == "explain" else {},
            terms=rows.term_rows(run),
            picked=[run.names[DeviceID.parse(one)] for one in picked],
            saved=rows.SAVED if on_drawing and not problem else "",
            yaml=manifest(drawn).text if checked and drawn is not None else "",
            ask=dict(drawn.ask) if drawn is not None else {},
            busy="",
        )

    # ------------------------------------------------------------ what the student does

    def _act(self, message: Message) -> None:
        match message:
            case OpenLesson(id=name):
                self._open(name)
            case ShowLessons():
                self._show_list()
            case GiveAnswer(id=answer):
                if self._drawn is not None:
                    self._drawn.choose(answer)
            case _:
                if self.run is not None:
                    self._act_in_lesson(self.run, message)
                    self._view.report("progress", self.run.problem)

    def _act_in_lesson(self, run: LessonRun, message: Message) -> None:
        match message:
            case GoToStep(step=step):
                run.go(step)
                if rows.shows_drawing(TASKS[run.task]) != (self._checked is not None):
                    self._judged = None
                self._show_step()
            case PredictDevices():
                self._judged = run.predict([DeviceID.parse(one) for one in self._search_picture.picked])
                self._checked = None
                self._show_words()
            case CheckDrawing():
                self._check(run)
            case ShowHint():
                run.hint()
                self._show_words()
            case ExplainLesson(text=text):
                run.explain(text)
                self._show_words()
            case StartOver():
                run.reset()
                self._open(run.lesson.id)

    def _check(self, run: LessonRun) -> None:
        """Plan the drawing, and show which needs it meets."""
        if (session := self._drawn) is None:
            return
        self._view.busy = "Planning your drawing ..."
        self._view.send_state("busy")
        try:
            self._judged = run.check(session.drawing)
        except DraLabError:
            self._view.busy = ""
            raise
        self._checked = self._content()
        if self._judged.rows:
            session.hide_answer(hidden=False)
            if "draw" in run.progress.done and TASKS[run.task] == "draw":
                run.go(run.task + 1)
        self._show_step()

    def _parts(self) -> list[Part]:
        """Return what a notebook stores: the title, the tasks, and what was reached."""
        if self.run is None:
            return [Sentence("Lessons of the course"), Words("Run the cell to see the list.")]
        head, run = rows.head_row(self.run), self.run
        shown_parts: list[Part] = [
            Sentence(f"{head.number}: {head.title}"),
            Words(f"{head.progress}. Run the cell to go on."),
        ]
        done = set(run.progress.done)
        tasks = (
            f"{rows.LABELS[kind]}{' (done)' if kind in done else ''}: {run.lesson.tasks[kind].ask}" for kind in TASKS
        )
        return [*shown_parts, *map(Words, tasks)]


class _UnreadableFile(DrawingFile):
    """A file that is no drawing. It is renamed before the first drawing is written."""

    _is_renamed = False

    def overwrite(self, drawing: Drawing) -> None:
        """Write the drawing, and keep the former file under another name. Raises ExportError."""
        if not self._is_renamed:
            rename_to_copy(self.path)
        self._is_renamed = True
        super().overwrite(drawing)


def _drawn_session(run: LessonRun) -> Session:
    """Return a session with the student's drawing, or with an empty one and a problem if the file is no drawing."""
    try:
        return Session(run.cluster, file=run.drawing_path)
    except DraLabError as error:
        session = Session(run.cluster, sketch=ClaimSketch())
        session.file = _UnreadableFile(run.drawing_path)
        session.problem = f"{error} The canvas begins empty; the file is renamed before your first change is saved."
        return session
