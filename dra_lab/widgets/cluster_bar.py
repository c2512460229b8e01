"""ClusterBar: which cluster, what is in it, for which release, and what is wrong with it; the way to another."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any

import traitlets
from msgspec import structs

from dra_lab.errors import Cancelled, DraLabError
from dra_lab.findings import sentence_case
from dra_lab.gitops.folder import Manifests, manifests_of
from dra_lab.gitops.upgrade import compare_releases, refuse_older
from dra_lab.model.layers import spans
from dra_lab.model.release import RELEASES, SHOWN_RELEASES, KubernetesRelease, can_set
from dra_lab.model.upgrade import Upgrade
from dra_lab.session import MODES, Session
from dra_lab.session.exporting import Exporting
from dra_lab.session.job import Job
from dra_lab.session.outputs import manifest
from dra_lab.session.preparing import is_checked
from dra_lab.sources.live.connection import PREFIX, Context, contexts
from dra_lab.sources.live.following import Following
from dra_lab.widgets.cluster_opening import ClusterOpening, FolderListing
from dra_lab.widgets.cluster_rows import (
    MOST_NODES,
    AskRow,
    CountsRow,
    FindingRow,
    SourceRow,
    UseRow,
    counts,
    detail_rows,
    finding_rows,
    meter_rows,
    node_use_rows,
    read_words,
    source_rows,
)
from dra_lab.widgets.session_view import STATIC, Pane, Row, SessionView, Shown, attempt, calls, on, wire
from dra_lab.widgets.stored_output import source_parts
from dra_lab.words.cluster_document import first_words, summary
from dra_lab.words.document import Part, printable
from dra_lab.words.moves_document import drained_sentence
from dra_lab.words.upgrade_document import HEADINGS, RULE, compared_words, upgrade_findings, upgrade_sentence

MOST_PODS = 200
"""Pods that travel to the browser."""


class PendingRow(Row, frozen=True):
    """A pending pod with its reason."""

    pod: str
    reason: str


class PendingPods(Pane):
    """The pods that are pending, and the way to draw the claims of one."""

    pending: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[PendingRow])

    def _begin(self) -> None:
        self.shows("pending", pending=pending_rows)
        self.when(lambda: self.session.pending.ask(self.session.snapshot), "cluster")

    @on
    def open_pod(self, pod: str) -> None:
        """Draw the claims of a pending pod: one undo step."""
        self.session.edit(self.session.pending.drawing(pod))
        self.session.show_mode("plan")


def pending_rows(session: Session) -> list[PendingRow]:
    """Return the pods that are pending, each with its reason, which does not repeat its name."""
    found = session.pending.answer
    waiting = [one for one in (found.pods if found is not None else ()) if one.rule]
    words = {one.pod: one.sentence.removeprefix(f"{one.pod} ").removeprefix("is pending: ") for one in waiting}
    return [PendingRow(pod=pod, reason=sentence_case(reason)) for pod, reason in [*words.items()][:MOST_PODS]]


class ClusterShown(Pane):
    """The present cluster: what is in it, its release, its findings, and whether it is followed."""

    sources: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[SourceRow])
    source = traitlets.Unicode("").tag(sync=True)
    summary = traitlets.Unicode("").tag(sync=True)
    meters: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[UseRow])
    node_use: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[UseRow])
    read_at = traitlets.Unicode("").tag(sync=True)
    details: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[tuple[str, str]])
    follow = traitlets.Dict().tag(sync=True, value=Following)
    release = traitlets.Unicode("").tag(sync=True)
    releases: traitlets.List[Any] = traitlets.List([*SHOWN_RELEASES]).tag(sync=True, value=list[tuple[str, str]])
    findings: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[FindingRow])
    counts = traitlets.Dict().tag(sync=True, value=CountsRow)
    example = traitlets.Bool(False).tag(sync=True)
    modes: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[tuple[str, str]])
    ask = traitlets.Dict().tag(sync=True, value=AskRow)
    what_if: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[str])
    leaving = traitlets.Unicode().tag(sync=True)

    def _begin(self) -> None:
        self._contexts: tuple[Context, ...] = ()
        self.assign(modes=[*MODES.items()])
        self.when(self._show_cluster, "cluster")
        self.when(self._show_following, "cluster", "following")
        self.when(self._show_findings, "cluster", "plan", "findings")
        self.shows("cluster", "sketch", "history", "solving", example=lambda session: session.example)
        self.shows("ask", ask=lambda session: dict(session.ask))
        self.when(lambda: self.view.report("session", self.session.problem), "problem")

    def _show_cluster(self) -> None:
        session, cluster, read = self.session, self.session.cluster, self.session.snapshot
        self.assign(sources=source_rows(read, self._contexts), source=read.name, read_at=read_words(read))
        known = session.is_prepared
        words = summary(cluster, session.release) if known else f"{first_words(cluster)} · counting devices ..."
        leaving = drained_sentence([move for move in cluster.moves if move.drained])
        self.assign(what_if=[one.words for one in spans(session.fleet.layers)], leaving=printable(leaving))
        if known:
            few = len(cluster.node_names) <= MOST_NODES
            self.assign(meters=meter_rows(cluster, session.release))
            self.assign(node_use=node_use_rows(cluster, session.release) if few else ())
        self.assign(summary=words, release=session.release.version)
        self._show_details()

    def _show_following(self) -> None:
        following = self.session.following
        can = self.session.snapshot.name.startswith(PREFIX)
        self.assign(follow=following if can else {})
        self._show_details()

    def _show_details(self) -> None:
        """Show what is open, line by line, and why no changes come of a cluster that is followed."""
        following = self.session.following
        why = "Followed", f"{following.state.value}: {following.reason}"
        rows = detail_rows(self.session.cluster, self.view.summary)
        self.assign(details=(*rows, *((why,) if following.reason else ())))

    def _show_findings(self) -> None:
        findings, checking = self.session.findings, not is_checked(self.session.cluster)
        self.assign(findings=finding_rows(findings), counts=counts(findings, checking=checking))

    # ------------------------------------------------------------ what the person did

    show_mode = calls(Session.show_mode, tag="mode")
    show_export = calls(Exporting.open, "exporting", tag="show-export")
    set_release = calls(Session.set_release, tag="release")

    @on(tag="sources")
    def list_sources(self) -> None:
        """Read the contexts of the kubeconfig: the choice of a cluster has opened."""
        # It is read when the choice opens: a login in a terminal must be seen without a new notebook.
        self._contexts = contexts()
        self.assign(sources=source_rows(self.session.snapshot, self._contexts))

    @on(tag="follow")
    def turn_following(self, *, on: bool) -> None:
        """Begin or stop to follow the running cluster."""
        if on:
            self.session.follow()
        else:
            # Ending waits for the connections to close, which must not hold up the kernel.
            threading.Thread(target=self.session.unfollow, name="dra-lab unfollow", daemon=True).start()

    @on
    def start_empty(self) -> None:
        """Clear the example's drawing."""
        self.session.clear()
        self.dismiss_example()

    @on
    def dismiss_example(self) -> None:
        """Keep the example and hide the line about it."""
        self.view.example = self.session.example = False

    @on
    def undo_what_if(self) -> None:
        """Undo the last what-if change; all moves of pods that follow each other."""
        for last in [*spans(self.session.fleet.layers)][-1:]:
            self.session.fleet.remove_layer(last.first, last.count)

    @on
    def show_use(self) -> None:
        """Count what is in use on each node or hardware type."""
        if self.session.is_prepared:
            self.assign(node_use=node_use_rows(self.session.cluster, self.session.release))


# --------------------------------------------------------------------- The check before an upgrade

MOST_SHOWN = 100
"""Changes of each heading that travel to the browser."""


class ChangesRow(Row, frozen=True):
    """The answers with one heading, which are `total` in all: what stops working, changes, or starts working."""

    heading: str
    total: int
    findings: tuple[FindingRow, ...]


class UpgradeRow(Row, frozen=True):
    """The check of one release: `working` while it goes on, then a sentence, what was compared, and the changes.

    `old` says that the cluster or the drawing has changed since.
    """

    version: str = ""
    working: str = ""
    sentence: str = ""
    compared: str = ""
    problem: str = ""
    stops: bool = False
    old: bool = False
    changes: tuple[ChangesRow, ...] = ()


class UpgradeCheck(Pane):
    """What an upgrade changes: computed when a person chooses a release, and old once cluster or drawing change."""

    upgrades: traitlets.List[Any] = traitlets.List().tag(sync=True, value=list[tuple[str, str]])
    upgrade = traitlets.Dict().tag(sync=True, value=UpgradeRow)

    def _begin(self) -> None:
        post = self.session.events.post
        self._version, self._asked, self._old = "", ("", ""), False
        self._job: Job[Upgrade] = Job(lambda: post(lambda: attempt(self.view, "upgrade", self._show)))
        self.when(self._change, "cluster", "sketch")
        self.endings.append(self._job.drop)

    def _change(self) -> None:
        """Mark the answer as old; one about another cluster or release is dropped."""
        if self._asked != self._start():
            self._forget()
        elif self._version:
            self._old = True
            self._show()

    def _start(self) -> tuple[str, str]:
        return self.session.snapshot.name, str(self.session.release)

    def _forget(self) -> None:
        self._job.drop()
        self._version, self._asked, self._old = "", self._start(), False
        self.assign(upgrades=newer_releases(self.session), upgrade=UpgradeRow())

    def _show(self) -> None:
        job = self._job
        if not self._version:
            return
        if isinstance(job.refusal, Cancelled):
            self._forget()
        elif job.stale:
            working = str(job.progress or "Comparing the releases")
            self.assign(upgrade=UpgradeRow(version=self._version, working=working, old=self._old))
        elif job.refusal is not None:
            self.assign(upgrade=UpgradeRow(version=self._version, problem=str(job.refusal)))
        elif job.answer is not None:
            self.assign(upgrade=upgrade_row(self._version, job.answer, old=self._old))

    @on
    def check_upgrade(self, version: str) -> None:
        """Compute which answers change up to a release; "" forgets the answer."""
        self._forget()
        if version:
            check_upgrade(self.session, self._job, version)
            self._version = version
            self._show()

    @on
    def cancel_upgrade(self) -> None:
        """Give up the check."""
        self._forget()


def upgrade_row(version: str, upgrade: Upgrade, *, old: bool) -> UpgradeRow:
    """Return what an upgrade changes as the browser shows it."""
    pairs = list(zip(upgrade_findings(upgrade), upgrade.changes, strict=True))
    rows = []
    for turn, heading in HEADINGS.items():
        own = [replace(finding, origin=None) for finding, change in pairs if change.turn is turn]
        if own:
            shown = finding_rows(own[:MOST_SHOWN])
            without = (structs.replace(row, rule="", help=()) if row.rule == RULE else row for row in shown)
            rows.append(ChangesRow(heading=heading, total=len(own), findings=tuple(without)))
    return UpgradeRow(
        version=version,
        sentence=upgrade_sentence(upgrade),
        compared=compared_words(upgrade),
        old=old,
        stops=upgrade.outcome == "does-not-fit",
        changes=tuple(rows),
    )


DRAWING = "the drawing"
SECONDS = 60.0
"""Seconds for all planning of a check."""


def newer_releases(session: Session) -> tuple[tuple[str, str], ...]:
    """Return the releases that are newer than the session's, with their names in a menu."""
    return SHOWN_RELEASES[RELEASES.index(session.release.version) + 1 :]


def check_upgrade(session: Session, job: Job[Upgrade], version: str) -> None:
    """Let a job compare the session's release with a newer one.

    Gates that the newer release does not take are left out. Raises InputError for one that is not known or not newer.
    """
    start, cluster, known = session.release, session.cluster, KubernetesRelease(version).version
    gates = {gate: on for gate, on in start.gates.items() if can_set(known, gate, on=on)}
    target = cluster.target_release(KubernetesRelease(known, gates))
    refuse_older(start, target, cluster.name)
    manifests = _drawing(session)
    job.start(
        lambda run: compare_releases(
            cluster, manifests, start, target, time_limit=SECONDS, progress=run.report, cancel=run.stop
        )
    )


def _drawing(session: Session) -> Manifests:
    """Return the manifests of the drawing, none if it cannot be written."""
    with suppress(DraLabError):
        if session.sketch.requests:
            return manifests_of([(DRAWING, manifest(session).text)], [])
    return manifests_of([], [])


class ClusterBar(SessionView):
    """The line over a plan: cluster, its contents in a few words, target release, findings, a tab of its own.

    All traits are written by Python.
    `meters` say how much of the cluster is free, `node_use` how much is in use on each node (of a large cluster once
    that is asked for).
    `example` shows the line about the example, and `ask` a question with a button for each answer. `busy` is what is
    being read, and `refused` why the latest cluster could not be read. `offer` is what a file contains to draw, and
    `uploaded` how many bytes of a drop have arrived. `details` is what was read, and `follow` whether the running
    cluster is followed. `upgrades` are the releases that are newer, and `upgrade` what changes up to one of them.
    `modes` are the modes of the planner (a bar alone has none). Clusters are read in a thread
    (`loading`).

    Example:
        >>> from dra_lab import ClusterBar, Session
        >>> bar = ClusterBar(Session("sample:two-sockets"))
        >>> bar.close()
    """

    _esm = STATIC / "cluster_bar.js"
    _css = STATIC / "cluster_bar.css"

    panes = (Shown, ClusterOpening, ClusterShown, PendingPods, UpgradeCheck, FolderListing)
    loading: Job[Any]

    @on
    def _dismiss_problem(self) -> None:
        """Hide what is wrong with the bar, and the offer."""
        super()._dismiss_problem()
        self.refused, self.offer = "", wire(AskRow())

    def stored_parts(self) -> list[Part]:
        """Return what is in the cluster, in one line."""
        return source_parts(self._session) if self._session is not None else []
