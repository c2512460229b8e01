"""Answering: what a session answers to the present drawing on the present cluster, and what it finds out after that."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from dra_lab.errors import DraLabError
from dra_lab.findings import Finding, sort_findings
from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import Headroom
from dra_lab.model.layers import layered_release
from dra_lab.model.placement import with_measured
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease, can_set
from dra_lab.model.sketch import ClaimSketch, Drawing, claims_of
from dra_lab.model.workload import Workload
from dra_lab.session.events import Events
from dra_lab.session.history import Content, History
from dra_lab.session.job import Job, Run
from dra_lab.session.preparing import (
    check,
    checked_findings,
    count_matches,
    is_checked,
    is_prepared,
    is_small,
    prepare,
)

COPIES_AFTER = 0.1
"""How long an answer is drawn before copies are counted, in seconds: the threads share one interpreter."""

ROOM_SECONDS = 10.0
"""How long running pods are looked for whose move makes room."""

COPIES_SECONDS = 5.0
"""How long copies are counted; what is known then is a bound."""


class Answering(Job[Plan]):
    """The half of a session that plans: `answer` is the plan of the latest drawing that was answered.

    The other half (`Session`) sets what is declared here, and then calls `replan`.
    """

    cluster: Cluster
    snapshot: Cluster
    drawing: Drawing
    history: History[Content]
    mode: str

    def __init__(self, time_limit: float | None, *, drawn: bool) -> None:
        """Begin without a question; no thread is begun."""
        self.events = Events()
        super().__init__(lambda: self.events.emit("plan"), lambda: self.events.emit("progress"))
        self._drawn = drawn
        self.time_limit = time_limit
        self.feature_gates: Mapping[str, bool] = {}
        # Where a person draws, edits come in bursts: the manifest is searched once they pause (seconds; Lab sets it).
        self.replay_delay = 0.0
        self.manifest_findings: tuple[Finding, ...] = ()
        self.counts_copies = False
        self.hides_answer = False  # whether the views of a lesson must not show what is known
        self.prepares_export = False  # whether a view may simulate the export before a person opens it
        self.copies: Headroom | None = None
        # the plan with the fewest running pods that make room for a misfit, and whether it is being looked for
        self.room: Plan | None = None
        self.seeking_room = False
        self.counting = False
        self.status: Mapping[str, Any] = {}
        self.searching = False  # whether the answer's manifest is being searched, where that may take seconds
        self.checking = False  # whether the findings of the cluster that was answered are being worked out
        self._searched: tuple[ClaimSketch, KubernetesRelease] | None = None
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
        return self.drawing.sketch

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
        return self.finished(bar=bar)

    def replan(self) -> None:
        """Plan the present drawing again."""
        with self._lock:  # of two threads that ask, the later one asks about what is the present drawing then
            self.outdate()
            self.searching = False
            self.events.emit("solving")
            cluster, drawing = self.cluster, self.drawing
            self.start(lambda run: self._solve(run, cluster, drawing))

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

    def settled(self, answer: Plan | None) -> None:
        """Take the answer over, with the bandwidths that a person measured."""
        if answer is not None and self.drawing.measured:
            answer = replace(answer, regrets=with_measured(answer.regrets, self.drawing.measured))
        if self._searched != (self.sketch, self.release):
            self.manifest_findings = ()  # else those of a moment before stay, until the search has gone on
        self.room, self.seeking_room = None, answer is not None and not answer.fits and self._may_make_room
        self.copies, self.counting = None, answer is not None and answer.fits and self.counts_copies
        super().settled(answer)

    def _solve(self, run: Run[Plan], cluster: Cluster, drawing: Drawing) -> None:
        # before the answer is there: who waits for it must not take the next cluster while this one is checked
        self.checking = not is_checked(cluster)
        plan = run.settle(lambda: self._plan_of(run, cluster, drawing))
        if self.checking:
            try:
                check(cluster)
            finally:
                self.checking = False
            self.events.emit("findings")
        if plan is not None and plan.fits and self.counts_copies:
            self._count_copies(run, cluster, drawing)
        if plan is not None and self.seeking_room:
            self._look_for_room(run, cluster, drawing)
        if plan is not None:
            self._search_manifest(run, cluster, drawing, fits=plan.fits)

    def _plan_of(self, run: Run[Plan], cluster: Cluster, drawing: Drawing) -> Plan:
        from dra_lab.planner.plan_pod import plan_pod

        release = self._release_for(cluster, drawing)
        if self._drawn:
            self.status = count_matches(cluster, drawing.sketch, release)
            self.events.emit("status")
            if not is_prepared(cluster):
                prepare(cluster, release)
                self.events.emit("cluster")

        def misfit(plan: Plan) -> None:
            """Show that nothing fits while the reasons are looked for: until they are there the answer stays stale."""
            if run.is_latest:
                self.answer = plan
                self.events.emit("plan")
                run.stop.wait(0.05)  # those who draw it go first: both threads share one interpreter

        return plan_pod(
            cluster,
            drawing.sketch,
            release=release,
            node=drawing.node,
            goals=drawing.goals,
            time_limit=self.time_limit,
            progress=run.report,
            cancel=run.stop,
            early=misfit,
        )

    @property
    def _may_make_room(self) -> bool:
        """Say whether running pods were read, and no node is asked for."""
        return bool(self.cluster.pods and not self.drawing.node and self.sketch.requests)

    def _look_for_room(self, run: Run[Plan], cluster: Cluster, drawing: Drawing) -> None:
        """Look for the fewest running pods that have to move so that the drawing fits."""
        from dra_lab.planner.make_room import make_room

        found = None
        common: dict[str, Any] = {"progress": run.report, "cancel": run.stop, "time_limit": ROOM_SECONDS}
        # cancelled, or a rule that is not known: then there is no such card
        with suppress(DraLabError):
            if not run.stop.wait(COPIES_AFTER):
                release = self._release_for(cluster, drawing)
                found = make_room(cluster, drawing.sketch, movable=drawing.movable, release=release, **common)
        if run.is_latest:
            self.room, self.seeking_room = None if run.stop.is_set() else found, False
            self.events.emit("copies")

    def _count_copies(self, run: Run[Plan], cluster: Cluster, drawing: Drawing) -> None:
        """Count how many pods with the claim fit, after the answer: until it is known, `counting` says so."""
        from dra_lab.planner.questions import how_many_more

        headroom, workload = None, Workload(drawing.sketch.name or "claim", drawing.sketch)
        if run.stop.wait(COPIES_AFTER):
            return
        # cancelled, or a rule that is not known: then there is no number
        with suppress(DraLabError):
            release = self._release_for(cluster, drawing)
            headroom = how_many_more(cluster, workload, release=release, time_limit=COPIES_SECONDS, cancel=run.stop)
        if run.is_latest and not run.stop.is_set():
            self.copies, self.counting = headroom, False
            self.events.emit("copies")

    def _search_manifest(self, run: Run[Plan], cluster: Cluster, drawing: Drawing, *, fits: bool) -> None:
        """Search the manifest on every kind of node, once for edits that come in bursts."""
        search = drawing.sketch, self._release_for(cluster, drawing)
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


PART_SECONDS = 5.0
"""How long the node states are searched until what is known so far is reported, with how many states are still open."""

MOST_SECONDS = 60.0
"""How long they are searched in all; what is open then stays reported as not searched."""


def manifest_findings(
    cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease, stop: threading.Event, *, fits: bool
) -> Iterator[tuple[Finding, ...]]:
    """Yield what is wrong with the manifest, and what kube-scheduler's search for it does on every node state.

    `fits` says that an allocation exists. All that is known comes again after each part. Verdicts of searches are kept,
    so that only new states cost time while a cluster is followed. Raises what compiling raises; Cancelled when `stop`
    is set.
    """
    from dra_lab.checks.document_checks import check_text
    from dra_lab.exports.manifests import manifest_yaml
    from dra_lab.pinning.node_search import judged, search_pod, unallocated
    from dra_lab.pinning.pin_budget import budget_of

    written = check_text(manifest_yaml(sketch, cluster, release).text, "the manifest", release)
    claims = claims_of(sketch)
    for _ in range(int(MOST_SECONDS / PART_SECONDS)):
        found = search_pod(claims, cluster, release, budget_of(PART_SECONDS, stop))
        nowhere = unallocated(found, claims, cluster, release, sketch.name) if fits else ()
        yield (*written, *judged(found, sketch.name, release), *nowhere)
        if not found.skipped:
            return
