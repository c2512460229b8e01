"""Answering: what a worker thread answers to the present drawing on the present cluster, and how one waits for it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dra_lab.errors import Cancelled, DraLabError
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.fleet import Headroom
from dra_lab.model.layers import layered_release
from dra_lab.model.plan import Plan
from dra_lab.model.regret import with_measured
from dra_lab.model.release import KubernetesRelease, has_gate
from dra_lab.model.sketch import ClaimSketch, Drawing
from dra_lab.model.workload import Workload
from dra_lab.planner.waiting import WaitingBar
from dra_lab.session.events import Events
from dra_lab.session.manifest_search import search_manifest
from dra_lab.session.preparing import (
    check,
    checked_findings,
    count_matches,
    is_checked,
    is_prepared,
    is_small,
    prepare,
)
from dra_lab.session.worker import Worker

COPIES_AFTER = 0.1
"""How long an answer is drawn before copies are counted, in seconds: the threads share one interpreter."""

COPIES_SECONDS = 5.0
"""How long copies are counted; what is known then is a bound."""


class PlannerWorker:
    """The half of a session that plans: a question has a number, and only the answer to the latest one is kept.

    The other half (`Session`) sets `cluster` and `drawing` and then calls `_answer_anew`.
    """

    cluster: Cluster
    drawing: Drawing

    def __init__(self, time_limit: float | None, *, drawn: bool) -> None:
        """Begin without a question; no thread is begun."""
        self._drawn = drawn
        self.events = Events()
        self.time_limit = time_limit
        self.feature_gates: Mapping[str, bool] = {}
        # Where a person draws, edits come in bursts: the manifest is searched once they pause (seconds; Lab sets it).
        self.replay_delay = 0.0
        self.answer: Plan | None = None
        self.refusal: DraLabError | None = None
        self.manifest_findings: tuple[Finding, ...] = ()
        self.counts_copies = False
        self.hides_answer = False  # whether the views of a lesson must not show what is known
        self.prepares_export = False  # whether a view may simulate the export before a person opens it
        self.copies: Headroom | None = None
        self.counting = False
        self.status: Mapping[str, Any] = {}
        self.progress: Any = None
        self.searching = False  # whether the answer's manifest is being searched, where that may take seconds
        self.checking = False  # whether the findings of the cluster that was answered are being worked out
        self.number = 0
        self.answered = 0
        self._given = 0
        self._searched: tuple[ClaimSketch, KubernetesRelease] | None = None
        self._findings_before: tuple[Finding, ...] = ()
        self._worker = Worker(owner=self)
        self._lock = threading.RLock()

    @property
    def sketch(self) -> ClaimSketch:
        """Return the drawing's requests and links."""
        return self.drawing.sketch

    @property
    def release(self) -> KubernetesRelease:
        """Return the target release with its gates: the drawing's, else that of the cluster's lowest kubelet."""
        return self._release_for(self.cluster, self.drawing)

    def _release_for(self, cluster: Cluster, drawing: Drawing) -> KubernetesRelease:
        version = layered_release(drawing.layers) or drawing.release or cluster.default_release
        # Another release than the first may not have a gate that was given.
        gates = {gate: on for gate, on in self.feature_gates.items() if has_gate(version, gate)}
        return cluster.target_release(KubernetesRelease(version, gates))

    @property
    def stale(self) -> bool:
        """Say whether the latest answer is for a previous drawing."""
        return self.answered != self.number

    @property
    def is_answered(self) -> bool:
        """Say whether the latest answer is that of the present drawing: nothing is solved, nothing was refused."""
        return not self.stale and self.refusal is None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Return what was noticed about the cluster, the answer and the manifest's search, errors first."""
        checked = checked_findings(self.cluster, self._findings_before)
        answer = self.answer.findings if self.answer else ()
        return sort_findings((*self.cluster.findings, *checked, *answer, *self.manifest_findings))

    def plan(self, *, time_limit: float | None = None, bar: bool | None = None) -> Plan:
        """Return the answer to the present drawing; waits for it and obeys an interrupt.

        `time_limit` (seconds) asks again, and holds from then on. Shows a progress bar after 0.5 s, in a notebook or if
        `bar` says so. Raises UnsupportedFeature, CelError and other errors of ours for what cannot be answered,
        Cancelled where it was.
        """
        if time_limit is not None:
            self.time_limit = time_limit
            self._answer_anew()
        try:
            with WaitingBar(shown=bar) as waiting:
                while self.stale and not self._is_left():
                    waiting.show(self.progress)
        except KeyboardInterrupt:
            self.cancel()
            raise
        if self.refusal is not None:
            raise self.refusal.with_traceback(None)  # else it grew with every call, and kept the frames
        if self.answer is None or self.stale:
            raise Cancelled("the plan was cancelled before there was an answer; call plan() again")
        return self.answer

    def _is_left(self) -> bool:
        """Wait a moment; say whether the worker has nothing to do any more, though it was given the latest question."""
        # that one has a number a little before the worker gets it, maybe in another thread
        given = self._given
        return self._worker.wait(0.05) and given == self.number

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is planned or replayed; returns False when the time (in seconds) is over before."""
        return self._worker.wait(timeout)

    def cancel(self) -> None:
        """Stop the running solve; the best answer so far is kept, with its bound."""
        if self._worker.cancel():
            # The question was never started, so no other code will say that it has no answer.
            self._finish(self.number, None, Cancelled("cancelled before there was any answer"))

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
                self._given = number

    def _solve(self, number: int, cluster: Cluster, drawing: Drawing, stop: threading.Event) -> None:
        plan, refusal = None, None
        try:
            plan = self._plan_of(number, cluster, drawing, stop)
        except DraLabError as error:
            refusal = error
        except Exception as error:  # noqa: BLE001  a defect of ours must be seen in the planner and not end the thread
            refusal = DraLabError(f"this is a defect of dra_lab: {type(error).__name__}: {error}")
        # before the answer is there: who waits for it must not take the next cluster while this one is checked
        self.checking = not is_checked(cluster)
        self._finish(number, plan, refusal)
        if self.checking:
            try:
                check(cluster)
            finally:
                self.checking = False
            self.events.emit("findings")
        if plan is not None and plan.fits and self.counts_copies:
            self._count_copies(number, cluster, drawing, stop)
        # Edits come in bursts, and one search after them is enough; a cluster that goes on is another matter.
        release = self._release_for(cluster, drawing)
        search = drawing.sketch, release
        if plan is not None and not stop.wait(0.0 if search == self._searched else self.replay_delay):
            self._searched = search
            self._on_searching(number, now=not is_small(cluster))
            # cancelled, or a rule that kube-scheduler's copy does not know: the plan says so
            with suppress(DraLabError):
                search_manifest(
                    cluster,
                    drawing.sketch,
                    release,
                    stop,
                    lambda found: self._on_searched(number, found),
                    fits=plan.fits,
                )
            self._on_searching(number, now=False)

    def hide_answer(self, *, hidden: bool) -> None:
        """Keep the answer from the views from now on, or show it; it is computed all the same."""
        if hidden != self.hides_answer:
            self.hides_answer = hidden
            self.events.emit("plan")

    def count_copies(self) -> None:
        """Count the copies that fit after every answer from now on."""
        self.counts_copies = True
        if self.is_answered and not self._worker.wait(0.0):
            return  # the worker comes to it
        if self.is_answered:
            self._answer_anew()

    def _count_copies(self, number: int, cluster: Cluster, drawing: Drawing, stop: threading.Event) -> None:
        """Count how many pods with the claim fit, after the answer: until it is known, `counting` says so."""
        from dra_lab.planner.fleet import how_many_more

        headroom, workload = None, Workload(drawing.sketch.name or "claim", drawing.sketch)
        if stop.wait(COPIES_AFTER):
            return
        # cancelled, or a rule that is not known: then there is no number
        with suppress(DraLabError):
            release = self._release_for(cluster, drawing)
            headroom = how_many_more(cluster, workload, release=release, time_limit=COPIES_SECONDS, cancel=stop)
        if number == self.number and not stop.is_set():
            self.copies, self.counting = headroom, False
            self.events.emit("copies")

    def _plan_of(self, number: int, cluster: Cluster, drawing: Drawing, stop: threading.Event) -> Plan:
        from dra_lab.planner.plan_pod import plan_pod

        release = self._release_for(cluster, drawing)
        if self._drawn:
            self.status = count_matches(cluster, drawing.sketch, release)
            self.events.emit("status")
            if not is_prepared(cluster):
                prepare(cluster, release)
                self.events.emit("cluster")
        return plan_pod(
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

    def _on_searching(self, number: int, *, now: bool) -> None:
        if number == self.number and now != self.searching:
            self.searching = now
            self.events.emit("progress")

    def _on_searched(self, number: int, found: tuple[Finding, ...]) -> None:
        if number == self.number and found != self.manifest_findings:
            self.manifest_findings = found
            self.events.emit("findings")

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
        if plan is not None and self.drawing.measured:
            plan = replace(plan, regrets=with_measured(plan.regrets, self.drawing.measured))
        with self._lock:
            if number != self.number:
                return
            self.refusal, self.progress = refusal, None
            if self._searched != (self.sketch, self.release):
                self.manifest_findings = ()  # else those of a moment before stay, until the search has gone on
            if plan is not None:
                self.answer = plan
            self.copies, self.counting = None, plan is not None and plan.fits and self.counts_copies
            self.answered = number  # last, because a waiting thread checks this one and then reads the others
        self.events.emit("plan")
