"""Manifests on which kube-scheduler would give up: kept off the nodes where its search is too long, or made simpler."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from msgspec.structs import replace

from dra_lab.exports.node_pins import node_requirements
from dra_lab.exports.objects import Affinity
from dra_lab.exports.replay import Searched, judged, search_states
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch


@dataclass(frozen=True)
class Guarded:
    """What may be exported: the drawing and the requirements on nodes, `changed` where they are not those given."""

    sketch: ClaimSketch
    affinity: Affinity
    changed: bool = False
    findings: tuple[Finding, ...] = ()


def guard_steps(
    sketch: ClaimSketch,
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    affinity: Affinity = (),
    time_limit: float = 30.0,
    cancel: threading.Event | None = None,
) -> Guarded:
    """Return a drawing and requirements on nodes with which no search of an admitted node is too long.

    Every state of the nodes that `affinity` admits is searched, fitting or not. Where a search takes more than five
    million steps, or did not end in ten seconds here so that it is not known, pods are kept on nodes that fit and where
    it is known to be short, by labels; where no label tells those apart, or there is none, the preferred links are left
    out one after the other, from the last. What was done, and what could not be searched in `time_limit` seconds, is
    told.
    Raises UnsupportedFeature, and Cancelled when `cancel` is set.
    """
    found = search_states(sketch, cluster, release, affinity=affinity, time_limit=time_limit, cancel=cancel)
    if not found.heavy:
        return Guarded(sketch, affinity, findings=judged(found, sketch.name, release))
    fitting = [n for names, verdict in found.states if verdict.status is FirstFitStatus.ALLOCATED for n in names]
    heavy = [name for names in found.heavy for name in names]
    if found.skipped:
        # One search was too long: where none was made, it may be as long.
        looked = {name for names, _ in found.states for name in names}
        heavy += [name for name in cluster.node_names if name not in looked]
    light = [name for name in fitting if name not in set(heavy)]
    extra = node_requirements(cluster, light, heavy) if light else ()
    if extra:
        words = "; ".join(f"{r['key']} {r['operator']} {', '.join(r['values'])}" for r in extra)
        message = (
            f"on {len(heavy)} nodes {_length(found)}, and kube-scheduler gives up a pod after 10 s; its pods are kept "
            f"on others by node affinity ({words})"
        )
        note = Finding("kept-off-nodes", Severity.WARNING, sketch.name, message, "Make preferred pairs fewer or musts.")
        return Guarded(sketch, (*affinity, *extra), changed=True, findings=(note, *_not_searched(found, sketch)))
    return _simpler(sketch, cluster, release, affinity, found, time_limit, cancel)


def _simpler(
    sketch: ClaimSketch,
    cluster: Cluster,
    release: KubernetesRelease,
    affinity: Affinity,
    found: Searched,
    time_limit: float,
    cancel: threading.Event | None,
) -> Guarded:
    dropped: list[str] = []
    drawn, first = sketch, found
    while found.heavy and (soft := [link for link in drawn.links if not link.must]):
        dropped.append(soft[-1].name)
        drawn = replace(drawn, links=tuple(link for link in drawn.links if link is not soft[-1]))
        found = search_states(drawn, cluster, release, affinity=affinity, time_limit=time_limit, cancel=cancel)
    findings = judged(found, sketch.name, release)
    if not dropped or found.heavy:
        return Guarded(sketch, affinity, findings=findings)
    message = (
        f"the preferred links {', '.join(dropped)} are left out: with them {_length(first)} on a node, and "
        "kube-scheduler gives up a pod after 10 s"
    )
    note = Finding("preferences-left-out", Severity.WARNING, sketch.name, message, "Make them musts, or ask for less.")
    return Guarded(drawn, affinity, changed=True, findings=(note, *findings))


def _length(found: Searched) -> str:
    most = max(verdict.steps for _, verdict in found.states if verdict.status is FirstFitStatus.STOPPED)
    return f"the search does not end within {most:,} steps"


def _not_searched(found: Searched, sketch: ClaimSketch) -> tuple[Finding, ...]:
    return tuple(f for f in judged(found, sketch.name, KubernetesRelease()) if f.rule == "manifest-not-replayed")
