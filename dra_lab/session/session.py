"""Session: the cluster, the drawing and the answers of one notebook; it delegates and decides nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from dra_lab.errors import Cancelled, DraLabError
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import FIXED_GOALS, Plan, goal_order
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Drawing, check_sketch
from dra_lab.planner.waiting import WaitingBar
from dra_lab.session.drawing_file import DrawingFile
from dra_lab.session.events import Events
from dra_lab.session.history import History
from dra_lab.session.live import LiveCluster
from dra_lab.session.manifest_search import search_manifest
from dra_lab.session.opening import first_cluster, first_drawing
from dra_lab.session.preparing import (
    check,
    check_node,
    checked_findings,
    count_matches,
    is_checked,
    is_counted,
    is_prepared,
    is_small,
    prepare,
)
from dra_lab.session.worker import Worker
from dra_lab.sources import load_cluster, load_texts
from dra_lab.sources.live import Following


class Session:
    """A cluster, a drawing with its undo history and its file, and the latest answer.

    `cluster` is a Cluster or what `load_cluster` takes; without one, the drawing's file names it, else the shipped
    example is shown (`example` is True until something changes). Every change is planned in a worker thread; `wait()`
    waits for the answer and `plan()` returns it. The thread ends with `close`, or when nobody holds the session any
    more. Raises SourceError or SketchError for what cannot be read.
    """

    def __init__(
        self,
        cluster: str | Path | Cluster | None = None,
        *,
        file: str | Path | None = None,
        sketch: ClaimSketch | None = None,
        release: str = "",
        node: str = "",
        goals: Sequence[str] = (),
        time_limit: float | None = 30.0,
    ) -> None:
        """Read what is given, restore the drawing's file if there is one, and begin to plan."""
        self.events = Events()
        self.file = DrawingFile(Path(file)) if file else None
        self.time_limit = time_limit
        # Where a person draws, edits come in bursts: the manifest is searched once they pause (seconds; Lab sets it).
        self.replay_delay = 0.0
        self.ask: Mapping[str, Any] = {}
        self.highlight = ""
        self.answer: Plan | None = None
        self.refusal: DraLabError | None = None
        self.manifest_findings: tuple[Finding, ...] = ()
        self.status: Mapping[str, Any] = {}
        self.progress: Any = None
        self.searching = False  # whether the answer's manifest is being searched, where that may take seconds
        self.number = 0
        self.answered = 0
        self._searched: tuple[ClaimSketch, KubernetesRelease] | None = None
        self._said_before: tuple[Finding, ...] = ()
        self._worker = Worker(owner=self)
        self._lock = threading.RLock()
        self._live = LiveCluster(self._take_live, lambda: self.stale, lambda: self.events.emit("following"))
        kept = self.file.read() if self.file else None
        drawing, self.example = first_drawing(kept, cluster, sketch, release, node, goals)
        self.history: History[ClaimSketch] = History(drawing.sketch)
        self.cluster, self.drawing, self.problem = first_cluster(cluster, drawing, node)
        self._answer_anew()

    # -- what is shown

    @property
    def sketch(self) -> ClaimSketch:
        """Return the drawing's requests and links."""
        return self.history.present

    @property
    def release(self) -> KubernetesRelease:
        """Return the target release: the drawing's, else that of the cluster's lowest kubelet."""
        return KubernetesRelease(self.drawing.release or self.cluster.default_release)

    @property
    def stale(self) -> bool:
        """Say whether the latest answer is for a previous drawing."""
        return self.answered != self.number

    @property
    def is_answered(self) -> bool:
        """Say whether the latest answer is that of the present drawing: nothing is solved, nothing was refused."""
        return not self.stale and self.refusal is None

    @property
    def is_prepared(self) -> bool:
        """Say whether what views ask of the cluster is known: if not, the worker finds it out and tells `cluster`."""
        return is_prepared(self.cluster)

    @property
    def is_counted(self) -> bool:
        """Say whether the devices that the drawing may mean are known: if not, the worker looks and tells `status`."""
        return is_counted(self.cluster, self.sketch, self.release)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what was noticed about the cluster, the answer and the manifest's search, errors first."""
        checked = checked_findings(self.cluster, self._said_before)
        answer = self.answer.findings if self.answer else ()
        return sort_findings((*self.cluster.findings, *checked, *answer, *self.manifest_findings))

    # -- what a person does

    def edit(self, sketch: ClaimSketch) -> None:
        """Replace the drawing: one undo step. Raises SketchError, keeping everything, when it is inconsistent."""
        check_sketch(sketch)
        if self.history.push(sketch):
            self._drawing_changed("sketch", "history")

    def undo(self) -> bool:
        """Take back the latest edit; returns False when there is none."""
        return self._step(moved=self.history.undo())

    def redo(self) -> bool:
        """Make the latest undone edit again; returns False when there is none."""
        return self._step(moved=self.history.redo())

    def clear(self) -> None:
        """Begin with an empty drawing; can be undone."""
        self.edit(msgspec.structs.replace(self.sketch, requests=(), links=(), config=()))

    def move(self, layout: Mapping[str, tuple[float, float]]) -> None:
        """Keep where the boxes stand; no undo step, no new answer."""
        self.drawing = msgspec.structs.replace(self.drawing, layout=dict(layout))
        self._save()
        self.events.emit("layout")

    def load(self, source: str | Path | Cluster) -> None:
        """Take another cluster and keep the drawing. Raises like `load_cluster`, keeping the present one."""
        self._take(source if isinstance(source, Cluster) else load_cluster(source))

    def load_texts(self, texts: Mapping[str, str]) -> None:
        """Take the cluster of texts by file name (files dropped on the planner). Raises like `load_texts`."""
        self._take(load_texts(dict(texts)))

    def follow(self) -> None:
        """Let the running cluster's changes reach the answer as they happen, until `unfollow` or another cluster.

        Raises InputError when the cluster is none of `context:NAME`.
        """
        self._live.begin(self.cluster)

    def unfollow(self) -> None:
        """Keep the cluster as it is now; returns when nothing is connected any more."""
        self._live.end()

    @property
    def following(self) -> Following:
        """Return whether the cluster is followed: a state and, when events are missing, why."""
        return self._live.following

    def set_release(self, version: str) -> None:
        """Plan and write for another release ("" for the cluster's own). Raises InputError when it is unknown."""
        if version:
            KubernetesRelease(version)
        self.drawing = msgspec.structs.replace(self.drawing, release=version)
        self._drawing_changed("cluster")

    def pin(self, node: str) -> None:
        """Plan on this node only; "" for the best node. Raises InputError when the cluster has no such node."""
        check_node(self.cluster, node)
        self.drawing = msgspec.structs.replace(self.drawing, node=node)
        self._drawing_changed()

    def order_goals(self, goals: Sequence[str] = ()) -> None:
        """Put goals in front of the others, after the fixed first two; none for the usual order. Raises InputError."""
        order = goal_order(goals)
        named = () if order == goal_order(()) else order[len(FIXED_GOALS) :]
        if named != self.drawing.goals:
            self.drawing = msgspec.structs.replace(self.drawing, goals=named)
            self._drawing_changed()

    def light(self, subject: str) -> None:
        """Light up a request or a device everywhere; "" for nothing."""
        if subject != self.highlight:
            self.highlight = subject
            self.events.emit("highlight")

    def choose(self, option: str) -> None:
        """Answer the open question about a file that changed on disk: `reload` or `overwrite`."""
        if self.file is None or not self.ask:
            return
        self.ask = {}
        if option == "reload":
            drawing = self.file.read() or Drawing()
            self.drawing = drawing
            self.history.push(drawing.sketch)
            self._drawing_changed("sketch", "layout", "history", save=False)
        else:
            self.file.overwrite(self.drawing)
        self.events.emit("ask")

    def plan(self, *, time_limit: float | None = None, bar: bool | None = None) -> Plan:
        """Return the answer to the present drawing; waits for it and obeys an interrupt.

        Who waits longer than half a second sees a bar: in a notebook, or where `bar` says so. Raises
        UnsupportedFeature, CelError and other errors of ours for what cannot be answered, Cancelled where it was.
        """
        if time_limit is not None:
            self.time_limit = time_limit
            self._answer_anew()
        try:
            with WaitingBar(shown=bar) as waiting:
                while self.stale and not self._worker.wait(0.05):
                    waiting.tell(self.progress)
        except KeyboardInterrupt:
            self.cancel()
            raise
        if self.refusal is not None:
            raise self.refusal.with_traceback(None)  # else it grew with every call, and kept the frames
        if self.answer is None or self.stale:
            raise Cancelled("the plan was cancelled before there was an answer; call plan() again")
        return self.answer

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is planned or replayed; returns False when the time (in seconds) is over before."""
        return self._worker.wait(timeout)

    def cancel(self) -> None:
        """Stop the running solve; the best answer so far is kept, with its bound."""
        if self._worker.cancel():
            # The question was never begun, so nobody else will say that it has no answer.
            self._finish(self.number, None, Cancelled("cancelled before there was any answer"))

    def close(self) -> None:
        """Stop following and solving, and end the threads."""
        self._live.end()
        self._worker.close()

    def on(self, event: str, callback: Callable[[], None]) -> Callable[[], None]:
        """Call `callback` after each event of that name (see EVENTS); returns a function that ends it."""
        return self.events.on(event, callback)

    def _take_live(self, cluster: Cluster) -> None:
        prepare(cluster, KubernetesRelease(self.drawing.release or cluster.default_release))
        # it is checked after the answer, which a person waits for; until then what was said a moment before stays
        with self._lock:
            self._said_before = checked_findings(self.cluster, self._said_before)
            self.cluster = cluster
            if self.drawing.node and self.drawing.node not in cluster.node_by_name:
                self.problem = f"The node {self.drawing.node}, on which was planned, is gone; planning on all nodes"
                self.drawing = msgspec.structs.replace(self.drawing, node="")
                self.events.emit("problem")
        self.events.emit("cluster")
        self._answer_anew()

    def _take(self, cluster: Cluster) -> None:
        self._live.end()
        self.cluster, self._said_before = cluster, ()
        self.drawing = msgspec.structs.replace(self.drawing, cluster=cluster.name, node="")
        self.problem = ""
        self._drawing_changed("cluster", "problem")

    def _step(self, *, moved: bool) -> bool:
        if moved:
            self._drawing_changed("sketch", "history")
        return moved

    def _drawing_changed(self, *events: str, save: bool = True) -> None:
        self.example = False
        self.drawing = msgspec.structs.replace(self.drawing, sketch=self.sketch)
        if save:
            self._save()
        self.events.emit(*events)
        self._answer_anew()

    def _save(self) -> None:
        if self.file is None:
            return
        try:
            if not self.file.write(self.drawing):
                name = self.file.path.name
                text = f"{name} was changed by somebody else. Take its content, or write this drawing over it?"
                self.ask = {"text": text, "options": [["reload", "Take the file's"], ["overwrite", "Write over it"]]}
                self.events.emit("ask")
        except DraLabError as error:
            self.problem = str(error)
            self.events.emit("problem")

    def _answer_anew(self) -> None:
        with self._lock:
            self.number += 1
            number, cluster, drawing = self.number, self.cluster, self.drawing
        self.progress, self.searching = None, False
        self.events.emit("solving")
        with self._lock:
            # two threads may be here: what is asked later must not be given to the worker sooner
            if number == self.number:
                self._worker.submit(lambda stop: self._solve(number, cluster, drawing, stop))

    def _solve(self, number: int, cluster: Cluster, drawing: Drawing, stop: threading.Event) -> None:
        plan, refusal = None, None
        try:
            plan = self._plan_of(number, cluster, drawing, stop)
        except DraLabError as error:
            refusal = error
        except Exception as error:  # noqa: BLE001  a defect of ours must be seen in the planner and not end the thread
            refusal = DraLabError(f"this is a defect of dra_lab: {type(error).__name__}: {error}")
        self._finish(number, plan, refusal)
        if not is_checked(cluster):
            check(cluster)
            self.events.emit("findings")
        # Edits come in bursts, and one search after them is enough; a cluster that goes on is another matter.
        asked = drawing.sketch, KubernetesRelease(drawing.release or cluster.default_release)
        if plan is not None and not stop.wait(0.0 if asked == self._searched else self.replay_delay):
            self._searched = asked
            self._on_searching(number, now=not is_small(cluster))
            # cancelled, or a rule that kube-scheduler's copy does not know: the plan says so
            with suppress(DraLabError):
                search_manifest(cluster, drawing, stop, lambda found: self._on_searched(number, found))
            self._on_searching(number, now=False)

    def _on_searching(self, number: int, *, now: bool) -> None:
        if number == self.number and now != self.searching:
            self.searching = now
            self.events.emit("progress")

    def _on_searched(self, number: int, found: tuple[Finding, ...]) -> None:
        if number == self.number and found != self.manifest_findings:
            self.manifest_findings = found
            self.events.emit("findings")

    def _plan_of(self, number: int, cluster: Cluster, drawing: Drawing, stop: threading.Event) -> Plan:
        from dra_lab.planner import make_plan

        release = KubernetesRelease(drawing.release or cluster.default_release)
        self.status = count_matches(cluster, drawing.sketch, release)
        self.events.emit("status")
        if not is_prepared(cluster):
            prepare(cluster, release)
            self.events.emit("cluster")
        return make_plan(
            cluster,
            drawing.sketch,
            release=release,
            node=drawing.node,
            goals=drawing.goals,
            time_limit=self.time_limit,
            progress=lambda progress: self._on_progress(number, progress),
            cancel=stop,
            early=lambda plan: self._on_misfit(number, plan, stop),
        )

    def _on_misfit(self, number: int, plan: Plan, stop: threading.Event) -> None:
        """Show that nothing fits while the reasons are looked for: until they are there the answer stays stale."""
        if number == self.number:
            self.answer = plan
            self.events.emit("plan")
            stop.wait(0.05)  # those who draw it go first: both threads share one interpreter

    def _on_progress(self, number: int, progress: Any) -> None:
        if number == self.number:
            self.progress = progress
            self.events.emit("progress")

    def _finish(self, number: int, plan: Plan | None, refusal: DraLabError | None) -> None:
        with self._lock:
            if number != self.number:
                return
            self.answered, self.refusal, self.progress = number, refusal, None
            if self._searched != (self.sketch, self.release):
                self.manifest_findings = ()  # else those of a moment before stay, until the search has gone on
            if plan is not None:
                self.answer = plan
        self.events.emit("plan")
