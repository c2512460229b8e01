"""The check before an upgrade of a session's cluster: its what-if changes count, and the drawing is a manifest."""

from __future__ import annotations

from contextlib import suppress

from dra_lab.errors import DraLabError
from dra_lab.gitops.folder import Manifests, manifests_of
from dra_lab.gitops.upgrade import compare_releases, refuse_older
from dra_lab.model.release import RELEASES, SHOWN_RELEASES, KubernetesRelease, can_set
from dra_lab.model.upgrade import Upgrade
from dra_lab.session.job import Job
from dra_lab.session.outputs import manifest
from dra_lab.session.session import Session

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
