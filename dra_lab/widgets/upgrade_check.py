"""The check before an upgrade in the list of findings: a menu of newer releases, and the answers that change."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import traitlets
from msgspec import structs

from dra_lab.errors import Cancelled, DraLabError
from dra_lab.gitops.folder import Manifests, manifests_of
from dra_lab.gitops.upgrade import compare_releases, refuse_older
from dra_lab.model.release import RELEASES, SHOWN_RELEASES, KubernetesRelease, can_set
from dra_lab.model.upgrade import Upgrade
from dra_lab.session.job import Job
from dra_lab.session.outputs import manifest
from dra_lab.session.session import Session
from dra_lab.widgets.cluster_rows import FindingRow, finding_rows
from dra_lab.widgets.messages import Row, on
from dra_lab.widgets.session_view import Pane, attempt
from dra_lab.words.upgrade_document import HEADINGS, RULE, compared_words, upgrade_findings, upgrade_sentence

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
