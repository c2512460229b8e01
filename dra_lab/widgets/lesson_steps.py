"""The steps of a lesson: what each one shows beside its words, and what the student does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import traitlets

from dra_lab.course.lesson_run import Judgement, LessonRun, open_lesson
from dra_lab.course.lesson_text import TASKS
from dra_lab.course.progress_file import NOT_SAVED, rename_to_copy
from dra_lab.errors import DraLabError
from dra_lab.model.names import DeviceID
from dra_lab.model.sketch import ClaimSketch, Drawing
from dra_lab.session import Session
from dra_lab.session.drawings import DrawingFile
from dra_lab.session.outputs import manifest
from dra_lab.widgets import lesson_rows as rows
from dra_lab.widgets.claim_canvas import ClaimCanvas
from dra_lab.widgets.cluster_rows import AskRow
from dra_lab.widgets.hardware_view import HardwareView, NodePicture
from dra_lab.widgets.session_view import Highlight, Pane, Shown, on, on_kernel_loop
from dra_lab.widgets.trace_mode import MODE, TraceMode
from dra_lab.widgets.trace_mode import MODE as TRACE
from dra_lab.words.document import Part, Sentence, Words

PICTURE = "lesson"
"""The mode in which the picture alone is shown; the other one is the search of kube-scheduler, step by step."""


class LessonShown(Shown):
    """The mode of a lesson's picture."""

    def _mode(self, session: Session) -> str:
        return MODE if session.mode == MODE else PICTURE


class LessonPicture(HardwareView):
    """The picture of a node, or kube-scheduler's search on it, as a step of a lesson needs it.

    `picked` are the devices that a student has chosen; both sides write it. `picks` says whether devices can be chosen,
    and `only` the node that the step is about, on which its session plans, "" if a student may look at every node. If
    `picks_one`, another device replaces the chosen one.

    Example:
        >>> from dra_lab import Session
        >>> view = LessonPicture(Session("sample:two-sockets"))
        >>> view.mode
        'lesson'
    """

    is_part = True
    panes = (LessonShown, NodePicture, Highlight, TraceMode)

    picked: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[str])
    picks = traitlets.Bool(False).tag(sync=True)
    only = traitlets.Unicode("").tag(sync=True)

    def __init__(self, session: Session, *, only: str = "", picks_one: bool = False, **traits: Any) -> None:
        """Show a session's nodes, or only one of them."""
        self._picks_one = picks_one
        super().__init__(session, only=only, **traits)
        if only:
            session.look_at(only)

    @traitlets.validate("picked")
    def _check_picked(self, proposal: Any) -> list[str]:
        picked: list[str] = proposal["value"]
        return picked[-1:] if self._picks_one else picked


FIRST_MODE = "plan"
_NOT_JUDGED = Judgement(passed=False, message="")


class LessonSteps(Pane):
    """The list of lessons, or the steps of one: its words, and the canvas and the picture in `grid` beside them.

    `run` is the lesson with its progress, None while the list is shown. `opened` is called with the file of a lesson's
    drawing before it is shown.
    """

    head = traitlets.Dict().tag(sync=True, value=rows.LessonHead)
    steps: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[rows.StepRow])
    task = traitlets.Dict().tag(sync=True, value=rows.TaskRow)
    hints: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[rows.HintRow])
    judged = traitlets.Dict().tag(sync=True, value=Judgement)
    judged_stale = traitlets.Bool(False).tag(sync=True)
    explained = traitlets.Dict().tag(sync=True, value=rows.ExplainedRow)
    terms = traitlets.Dict().tag(sync=True, value=dict[str, str])
    lessons: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[rows.LessonRow])
    picked: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[str])
    busy = traitlets.Unicode("").tag(sync=True)
    saved = traitlets.Unicode("").tag(sync=True)
    yaml = traitlets.Unicode("").tag(sync=True)
    ask = traitlets.Dict().tag(sync=True, value=AskRow)
    can_leave = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self, view: Any, grid: Any, opened: Callable[[Path], None], folder: Path, seed: int | None, student: str
    ) -> None:
        """Begin without a lesson."""
        self.view, self.grid, self._opened = view, grid, opened
        self._folder, self._seed, self._student = folder, seed, student
        self.endings = []
        self.run: LessonRun | None = None
        self._searched: Session | None = None
        self._drawn: Session | None = None
        self._judged: Judgement | None = None
        self._checked: object = None
        self._unsaved: tuple[Drawing | None, str] = (None, "")

    def show_list(self) -> None:
        """Show the list of lessons."""
        self.close()
        listed = rows.lesson_rows(self._folder, self._student, self._seed)
        done = sum(row.state == "done" for row in listed)
        head = rows.LessonHead(title="Learn DRA", progress=f"You finished {done} of {len(listed)} lessons.")
        self.view.show(
            lessons=listed, head=head, task={}, steps=(), hints=(), judged=_NOT_JUDGED, explained={}, terms={}
        )
        self._show_parts()

    def open(self, name: str) -> None:
        """Show a lesson at the step where it was left."""
        self.close()
        run = self.run = open_lesson(name, self._folder, seed=self._seed, student=self._student)
        self._judged = self._checked = None
        self._opened(run.drawing_path.absolute())
        self.view.report("progress", run.problem)
        self.view.report("drawing", "")
        self.view.show(lessons=(), yaml="", saved="")
        self._show_step(run)
        self._show_words()

    def close(self) -> None:
        """End what belongs to the present lesson."""
        self.grid.children = [self.view]
        super().close()
        self._searched = self._drawn = self.run = None

    def parts(self) -> list[Part]:
        """Return what a notebook stores: the title, the tasks, and what was reached."""
        if (run := self.run) is None:
            return [Sentence("Lessons of the course"), Words("Run the cell to see the list.")]
        head, done = rows.head_row(run), set(run.progress.done)
        tasks = (
            f"{rows.LABELS[kind]}{' (done)' if kind in done else ''}: {run.lesson.tasks[kind].ask}" for kind in TASKS
        )
        title, words = Sentence(f"{head.number}: {head.title}"), Words(f"{head.progress}. Run the cell to go on.")
        return [title, words, *map(Words, tasks)]

    # ------------------------------------------------------------ the steps

    def _show_step(self, run: LessonRun) -> None:
        kind = TASKS[run.task]
        if rows.shows_drawing(kind):
            self._show_drawing(run)
        else:
            self._show_search(run, predicts=kind == "predict")

    def _show_search(self, run: LessonRun, *, predicts: bool) -> None:
        """Show the node of the prediction, to choose devices on it or with the search of kube-scheduler."""
        session = self._searched
        if session is None:
            predict = run.lesson.predict
            session = self._searched = Session(run.cluster, sketch=predict.sketch, node=predict.node, drawn=False)
            on_kernel_loop(session)
            picture = LessonPicture(
                session, only=predict.node, picks_one=run.asks_for_one, picked=list(run.picked), picks=predicts
            )
            picture.observe(lambda _change: self._show_words(), "picked")
            self._search_picture = picture
            self.endings += [picture.close, session.close]
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
            followed = {"ask": self._show_words, "problem": self._not_saved}
            followed |= dict.fromkeys(("plan", "solving"), self._drawing_changed)
            ends = (session.on(event, show) for event, show in followed.items())
            self.endings += [canvas.close, picture.close, *ends, session.close]
        canvas, picture = self._draw_parts
        self._show_parts(canvas=canvas, picture=picture)

    def _show_parts(self, *, canvas: Any = None, picture: LessonPicture | None = None) -> None:
        """Put the canvas and the picture beside the words."""
        parts = {"canvas": canvas, "picture": picture}
        for name, part in parts.items():
            if part is not None:
                part.add_class(f"dra-lesson-{name}")
        for name, holds in (("has-canvas", canvas is not None), ("has-text-only", picture is None)):
            (self.grid.add_class if holds else self.grid.remove_class)(name)
        children = [self.view, *(part for part in parts.values() if part is not None)]
        if tuple(children) != tuple(self.grid.children):
            self.grid.children = children

    def _drawing_changed(self) -> None:
        """Hide the answer again when the drawing is another one than the checked one."""
        if (session := self._drawn) is not None and self._checked != self._content():
            session.hide_answer(hidden=True)
            self._show_words()

    def _not_saved(self) -> None:
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
            self.view.report("drawing", problem)
        self.view.show(
            head=rows.head_row(run),
            steps=rows.step_rows(run),
            task=rows.task_row(
                run,
                picked=picked,
                drawn=drawn is not None and bool(drawn.sketch.requests),
                goes_on=self.view.can_leave and run.lesson.following != "",
            ),
            hints=rows.hint_rows(run),
            judged=judged or _NOT_JUDGED,
            judged_stale=judged is not None and stale and on_drawing,
            explained=rows.explained_row(run) if kind == "explain" else {},
            terms=run.lesson.words,
            picked=[run.names[DeviceID.parse(one)] for one in picked],
            saved=rows.SAVED if on_drawing and not problem else "",
            yaml=manifest(drawn).text if checked and drawn is not None else "",
            ask=dict(drawn.ask) if drawn is not None else {},
            busy="",
        )

    # ------------------------------------------------------------ what the student does

    @on
    def open_lesson(self, id: str) -> None:  # noqa: A002  the field of the message
        """Open a lesson of the list."""
        self.open(id)

    @on
    def show_lessons(self) -> None:
        """Show the list of lessons."""
        self.show_list()

    @on(tag="answer")
    def give_answer(self, id: str) -> None:  # noqa: A002  the field of the message
        """Choose an answer to the question of `ask`."""
        if self._drawn is not None:
            self._drawn.choose(id)

    @on
    def go_to_step(self, step: int) -> None:
        """Show a step of the lesson, by its place on the rail; after the last step comes the next lesson."""
        if (run := self.run) is None:
            return
        if step == len(TASKS) and run.finished and (following := run.lesson.following):
            self.open(following)
        else:
            run.go(step)
            if rows.shows_drawing(TASKS[run.task]) != (self._checked is not None):
                self._judged = None
            self._show_step(run)
            self._acted(run)

    @on
    def predict_devices(self) -> None:
        """Compare the chosen devices with those that kube-scheduler allocates."""
        if (run := self.run) is not None:
            self._judged = run.predict([DeviceID.parse(one) for one in self._search_picture.picked])
            self._checked = None
            self._acted(run)

    @on
    def check_drawing(self) -> None:
        """Plan the drawing and say which needs of the task it meets."""
        if (run := self.run) is None or (session := self._drawn) is None:
            return
        self.view.busy = "Planning your drawing ..."
        self.view.send_state("busy")
        try:
            self._judged = run.check(session.drawing)
        except DraLabError:
            self.view.busy = ""
            raise
        self._checked = self._content()
        if self._judged.rows:
            session.hide_answer(hidden=False)
            if "draw" in run.progress.done and TASKS[run.task] == "draw":
                run.go(run.task + 1)
        self._show_step(run)
        self._acted(run)

    @on
    def show_hint(self) -> None:
        """Show the next hint."""
        if (run := self.run) is not None:
            run.hint()
            self._acted(run)

    @on
    def explain(self, text: str) -> None:
        """Keep the student's sentence, and show the model sentence."""
        if (run := self.run) is not None:
            run.explain(text)
            self._acted(run)

    @on
    def start_over(self) -> None:
        """Begin the lesson again; what was reached is kept in a copy."""
        if (run := self.run) is not None:
            run.reset()
            self.open(run.lesson.id)

    def _acted(self, run: LessonRun) -> None:
        """Show the words of the step, and whether the progress could be saved."""
        self._show_words()
        self.view.report("progress", run.problem)


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
