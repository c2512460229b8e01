"""Answering: what a session answers to the present drawing on the present cluster, and what it finds out after that."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from dra_lab.errors import Cancelled, DraLabError, InputError
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import Headroom
from dra_lab.model.layers import Layer, layered_release
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease, can_set
from dra_lab.model.sketch import ClaimSketch, Drawing, PodDrawing, claims_of
from dra_lab.planner.budget import WaitingBar
from dra_lab.session.answers import Answer, fleet_answers, pod_answer, with_sought
from dra_lab.session.drawings import fleet_cluster, free_name
from dra_lab.session.history import Content, History
from dra_lab.session.job import Events, Job, Run, refusal_of
from dra_lab.session.preparing import (
    begin_check,
    check,
    checked_findings,
    count_matches,
    is_prepared,
    is_small,
    manifest_findings,
    prepare,
)
from dra_lab.session.question import SessionQuestion


class Answering(Job[Answer]):
    """The half of a session that plans. It has one question, and answers the drawing first, and then the fleet.

    `answer` is the plan of the latest drawing, and `latest` what else is known of it; `fleet` has the answer for all
    workloads. While the drawing stays, its answer does; while the workloads stay, theirs does. The other half
    (`Session`) sets what is declared here, and then calls `replan`.
    """

    cluster: Cluster
    snapshot: Cluster
    drawing: Drawing
    history: History[Content]
    fleet: FleetAnswer
    mode: str

    def __init__(self, time_limit: float | None, *, drawn: bool) -> None:
        """Begin without a question; no thread is begun."""
        self.events = Events()
        super().__init__(self._answered, lambda: self.events.emit("progress"))
        self._drawn = drawn
        self.time_limit = time_limit
        self.feature_gates: Mapping[str, bool] = {}
        # Where a person draws, edits come in bursts: the manifest is searched once they pause (seconds; Lab sets it).
        self.replay_delay = 0.0
        self.manifest_findings: tuple[Finding, ...] = ()
        self.counts_copies = False
        self.hides_answer = False  # whether the views of a lesson must not show what is known
        self.prepares_export = False  # whether a view may simulate the export before a person opens it
        self._told: Plan | None = None
        self.status: Mapping[str, Any] = {}
        self.searching = False  # whether the answer's manifest is being searched, where that may take seconds
        self._searched: tuple[ClaimSketch, KubernetesRelease] | None = None
        self._search_ended = False
        self._findings_before: tuple[Finding, ...] = ()

    def change(self, content: Content) -> None:
        """Replace the content: one undo step."""
        raise NotImplementedError

    def complete(self, content: Content) -> None:
        """Replace the content without an undo step."""
        raise NotImplementedError

    @property
    def sketch(self) -> ClaimSketch:
        """Return the drawing's requests and links."""
        return self.history.present.sketch

    @property
    def release(self) -> KubernetesRelease:
        """Return the target release with its gates: the drawing's, else that of the cluster's lowest kubelet."""
        return self._release_for(self.cluster, self.drawing)

    def _release_for(self, cluster: Cluster, drawing: Drawing) -> KubernetesRelease:
        version = layered_release(drawing.layers) or drawing.release or cluster.default_release
        # Another release than the first may not have a gate that was given.
        gates = {gate: on for gate, on in self.feature_gates.items() if can_set(version, gate, on=on)}
        return cluster.target_release(KubernetesRelease(version, gates))

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
            self.replan()
        return self.finished(self, bar=bar)

    def finished(self, part: Answering | FleetAnswer, *, bar: bool | None = None) -> Plan:
        """Return the plan of the drawing or of the fleet; waits for it and obeys an interrupt.

        Shows a progress bar after 0.5 s, in a notebook or if `bar` says so. Raises the refusal, and Cancelled if the
        question was cancelled before there was an answer.
        """
        try:
            with WaitingBar(shown=bar) as waiting:
                while part.stale and not self.wait(0.05):
                    waiting.show(self.progress)
        except KeyboardInterrupt:
            self.cancel()
            raise
        if part.refusal is not None:
            raise part.refusal.with_traceback(None)  # else it grew with every call, and kept the frames
        if part.answer is None or part.stale:
            raise Cancelled("the plan was cancelled before there was an answer; call plan() again")
        return part.answer if isinstance(part.answer, Plan) else part.answer.plan

    def replan(self) -> None:
        """Plan the present drawing again, then the fleet if its question is another one and it is wanted."""
        with self.lock:  # of two threads that ask, the later one asks about what is the present drawing then
            at_once = not self.stale  # what still runs is not about the drawing
            self.outdate()
            self.searching = self._search_ended = False
            self.events.emit("solving")
            question = self.question
            self.fleet.take_question()
            self.start(lambda run: self._solve(run, question), at_once=at_once)

    def ask_fleet(self, *, again: bool = False) -> None:
        """Plan the fleet if it is wanted and its question is another one, or `again` after it was stopped.

        What is known of the drawing stays; what is sought of it goes on after the fleet.
        """
        with self.lock:
            at_once = self.fleet.run is None
            if self.fleet.take_question(again=again) and not self.stale:  # else what plans the drawing comes to it
                question = self.question
                self.start(lambda run: self._solve(run, question), at_once=at_once, more=True)

    @property
    def question(self) -> SessionQuestion:
        """Return what is asked of the present cluster: the drawing as one pod, and all workloads of the fleet."""
        drawn = self.drawing
        return SessionQuestion(
            self.cluster,
            self.release,
            self.fleet.workloads,
            drawn.sketch,
            node=drawn.node,
            movable=drawn.movable,
            goals=drawn.goals,
            measured=drawn.measured,
        )

    @property
    def answer(self) -> Plan | None:  # type: ignore[override]  # what is asked for is the plan
        """Return the plan of the latest drawing that was answered."""
        return self.latest.plan if self.latest is not None else None

    @property
    def copies(self) -> Headroom | None:
        """Return how many pods with the claim of the answer fit, None if that is not known."""
        return next(iter(self.latest.headroom), None) if self.latest is not None else None

    @property
    def room(self) -> Plan | None:
        """Return the plan with the fewest running pods that make room for a misfit, None if there is none."""
        return self.latest.room if self.latest is not None else None

    @property
    def sought(self) -> str:
        """Return what may still become known of the answer: "copies", "room" or ""."""
        return self.latest.sought if self.latest is not None else ""

    def _answered(self) -> None:
        """Report the plan, or what else is known of the same plan."""
        is_same = self.refusal is None and not self.stale and self.answer is self._told
        self._told = self.answer
        self.events.emit("copies" if is_same else "plan")

    def hide_answer(self, *, hidden: bool) -> None:
        """Keep the answer from the views from now on, or show it; it is computed all the same."""
        if hidden != self.hides_answer:
            self.hides_answer = hidden
            self.events.emit("plan")

    def count_copies(self) -> None:
        """Count the copies that fit after every answer from now on."""
        self.counts_copies = True
        if self.is_answered:  # else the worker comes to it; it may have passed the place where it counts
            self.replan()

    def _solve(self, run: Run[Answer], question: SessionQuestion) -> None:
        """Plan the drawing unless its answer is known, then the fleet, then what else is sought of the drawing."""
        if not run.is_answered:
            # before the answer is there: who waits for it must not take the next cluster while this one is checked
            with self.lock:
                checks = begin_check(question.cluster)
            run.settle(lambda: self._first(run, question))
            if checks:
                check(question.cluster)
                self.events.emit("findings")
        self.fleet.answer_question(run)
        answer = self.latest
        if self.refusal is None and answer is not None and run.is_latest:
            if answer.sought:
                run.show(with_sought(answer, run))
            if not self._search_ended:
                self._search_manifest(run, question, fits=answer.plan.fits)

    def _first(self, run: Run[Answer], question: SessionQuestion) -> Answer:
        """Return the plan of the drawing, after what the views show meanwhile."""
        if run.stop.is_set():
            raise Cancelled("cancelled before there was any answer")
        if self._drawn:
            self.status = count_matches(question.cluster, question.sketch or ClaimSketch(), question.release)
            self.events.emit("status")
            if not is_prepared(question.cluster):
                prepare(question.cluster, question.release)
                self.events.emit("cluster")
        answer = pod_answer(question, run, self.time_limit, lambda: self.counts_copies)
        if run.is_latest and self._searched != (self.sketch, self.release):
            self.manifest_findings = ()  # else those of a moment before stay, until the search has gone on
        return answer

    def _search_manifest(self, run: Run[Answer], question: SessionQuestion, *, fits: bool) -> None:
        """Search the manifest on every kind of node, once for edits that come in bursts."""
        cluster, search = question.cluster, (question.sketch or ClaimSketch(), question.release)
        if run.stop.wait(0.0 if search == self._searched else self.replay_delay):
            return
        self._searched = search

        def searching(now: bool) -> None:  # noqa: FBT001
            if run.is_latest and now != self.searching:
                self.searching = now
                self.events.emit("progress")

        searching(not is_small(cluster))
        # cancelled, or a rule that kube-scheduler's copy does not know: the plan says so
        with suppress(DraLabError):
            for found in manifest_findings(cluster, *search, run.stop, fits=fits):
                if run.is_latest and found != self.manifest_findings:
                    self.manifest_findings = found
                    self.events.emit("findings")
        searching(False)
        if run.is_latest:
            self._search_ended = True


class FleetAnswer:
    """The answer to the fleet's part of a session's question, `question`.

    Without workloads, the drawing is the only one, with one pod. `answer` is to the question or an earlier one, and
    grows while it is worked out (`stale`). `refusal` says why there is none. `unchanged` is the last complete answer to
    these workloads without layers. The fleet is planned when its mode is shown, while `is_exported`, or while `plan`
    waits for it.
    """

    def __init__(self, session: Answering) -> None:
        """Begin without a question."""
        self._session = session
        self.question: SessionQuestion | None = None
        self.answer: Answer | None = None
        self.refusal: DraLabError | None = None
        self._ended: SessionQuestion | None = None  # the latest one that was answered, refused or stopped
        self.run: tuple[Run[Answer], SessionQuestion] | None = None  # what is being answered
        self._on: tuple[Cluster, object, Cluster] | None = None
        self._is_wanted = self.is_exported = False
        self.unchanged: Answer | None = None

    @property
    def workloads(self) -> tuple[PodDrawing, ...]:
        """Return the workloads; the drawing alone if there is none."""
        return self._content.workloads

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Return the what-if changes, in their order."""
        return self._session.history.present.layers

    @property
    def _content(self) -> Content:
        """Return the content, with the drawing as the only workload if there is none."""
        content = self._session.history.present
        if content.workloads or not content.sketch.requests:
            return content
        name = free_name(content.sketch.name, ())
        return replace(content, workloads=(PodDrawing(pod=name, claims=claims_of(content.sketch)),), editing=name)

    @property
    def stale(self) -> bool:
        """Say whether the answer is for another question, or not complete yet."""
        return self.question is not self._ended

    @property
    def is_current(self) -> bool:
        """Say whether the answer is for the present question, if it is complete or not."""
        return self.answer is not None and self.answer.question == self.question

    def plan(self) -> Plan:
        """Return the plan of the workloads; waits for it. Raises what the planner raises, and Cancelled."""
        session, answer, self._is_wanted = self._session, self.answer, True
        try:
            session.ask_fleet(again=answer is None or not answer.complete or not self.is_current)
            return session.finished(self)
        finally:
            self._is_wanted = False

    def take_question(self, *, again: bool = False) -> bool:
        """Take over the session's present question, `again` also if it was stopped; say whether it is to be planned."""
        session, about = self._session, [(pod.nodes, pod.classes) for pod in self.workloads]
        try:
            # the same cluster for the same workloads: it keeps what is found of it
            if self._on is None or self._on[0] is not session.cluster or self._on[1] != about:
                self._on = session.cluster, about, fleet_cluster(session.cluster, self.workloads)
        except InputError as error:  # these workloads cannot be planned together
            self.question = self._ended = self.unchanged = None
            self.refusal = error
            session.events.emit("fleet")
            return False
        question = replace(session.question, sketch=None, node="", movable=None, cluster=self._on[2])
        if question != self.question:
            plain = self.unchanged
            if plain is not None and (plain.question.pods != question.pods or not self.layers):
                self.unchanged = None
            self.question, self.refusal = question, None
        elif again and not self.stale:
            self._ended = None
        is_taken = self.run is not None and self.run[0].is_latest and self.run[1] is self.question
        return self._is_due and not is_taken

    @property
    def _is_due(self) -> bool:
        session = self._session
        modes = ("fleet", "compare") if session.history.present.workloads else ("fleet",)
        return self.stale and (self._is_wanted or self.is_exported or session.mode in modes)

    def answer_question(self, run: Run[Answer]) -> None:
        """Answer the question if that is to be done, and show the answer as it grows."""
        session, found, refusal = self._session, dict[str, Any](), None
        with session.lock:
            question = self.question
            if question is None or not self._is_due or not run.is_latest:
                return
            mine = self.run = run, question
        session.events.emit("fleet")
        try:
            if run.stop.is_set():
                raise Cancelled("cancelled before there was any answer")
            for answer in fleet_answers(question, run, session.time_limit):
                if not self._show(mine, answer=answer, refusal=None):
                    break
                found = {"unchanged": answer} if answer.complete and not self.layers else {}
        except Exception as error:  # noqa: BLE001  a defect of ours too: the rest of the session goes on
            refusal = refusal_of(error)
        if self.run is mine:
            self.run = None
        self._show(mine, _ended=question, refusal=refusal, **found)

    def _show(self, of: tuple[Run[Answer], SessionQuestion], **values: Any) -> bool:
        """Set what is known, unless something newer was asked for."""
        run, question = of
        with self._session.lock:
            if not run.is_latest or self.question is not question:
                return False
            for name, value in values.items():
                setattr(self, name, value)
        self._session.events.emit("fleet")
        return True

    def forget(self) -> None:
        """Have no question: an answer for one cluster is never shown under another."""
        with self._session.lock:
            self.question = self._ended = self.answer = self.refusal = self.unchanged = None
