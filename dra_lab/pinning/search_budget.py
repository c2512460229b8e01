"""Manifests on which kube-scheduler would give up: kept off the nodes where its search is too long, or made simpler."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as changed
from functools import partial

from msgspec.structs import replace

from dra_lab.errors import ExportError
from dra_lab.findings import Finding, Severity
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning import node_search
from dra_lab.pinning.filled_nodes import FilledNodes, fill_nodes
from dra_lab.pinning.node_pins import admitted_nodes, node_requirements
from dra_lab.pinning.node_search import Searched, judged, search_pod
from dra_lab.pinning.search_bound import longest_searches
from dra_lab.scheduler.search_cost import GIVES_UP
from dra_lab.sketch.claim_objects import Affinity


@dataclass(frozen=True)
class WithinSearchBudget:
    """What may be exported: the drawings of a pod's claims and its requirements on nodes.

    `changed` says that they are not those given.
    """

    sketches: tuple[ClaimSketch, ...]
    affinity: Affinity
    changed: bool = False
    findings: tuple[Finding, ...] = ()

    @property
    def sketch(self) -> ClaimSketch:
        """Return the first drawing: all there is for a pod with one claim."""
        return self.sketches[0]


@dataclass(frozen=True)
class _Looked:
    """The results of searching the admitted nodes: with devices in use now, with none in use, and as nodes fill up.

    On the `proven` nodes any search is short, whatever is in use: those were searched as they are now alone.
    """

    admitted: frozenset[str]
    now: Searched
    idle: Searched
    filled: FilledNodes
    proven: frozenset[str]

    @property
    def short(self) -> frozenset[str]:
        """Return the admitted nodes on which the searches are known to be short, and none was found that is not."""
        return self.admitted & self.proven | (self.admitted & _short(self.now) & _short(self.idle)) - self.filled.long

    @property
    def fitting(self) -> frozenset[str]:
        """Return those of them where the pod fits now, else with nothing in use."""
        return self.short & _fitting(self.now) or self.short & _fitting(self.idle)

    @property
    def why(self) -> str:
        """Return what is the matter with the longest search."""
        verdicts = [verdict for part in (self.now, self.idle) for _, verdict in part.states]
        seconds = max((v.seconds for v in verdicts if v.status is FirstFitStatus.STOPPED), default=0.0)
        if seconds < node_search.LONGEST and not self.filled.long:
            left = max(self.now.skipped, self.idle.skipped, 1)
            return f"the searches of {left} node states did not end in the available time and may be too long"
        return (
            f"kube-scheduler may need more than {node_search.LONGEST:g} s to search a node, "
            f"and after {GIVES_UP:g} s it gives up the pod"
        )


def within_search_budget(
    sketches: Sequence[ClaimSketch],
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    affinity: Affinity = (),
    time_limit: float = 30.0,
    cancel: threading.Event | None = None,
) -> WithinSearchBudget:
    """Return drawings and node requirements with which kube-scheduler searches no admitted node for too long.

    All claims of a pod are searched together, on every state of the admitted nodes, fitting or not. The states are
    those with the devices in use now, with nothing in use, and as nodes fill up with these pods. A search is too long
    if kube-scheduler may need more than 5 s for it (`node_search.LONGEST`). It gives up a pod after 10 s (gate
    DRASchedulerFilterTimeout). A search that is not known to be shorter counts as too long.

    Labels then keep pods on nodes where the searches are known to be short. If no label selects those nodes, or there
    are none, preferred links are left out one after the other, from the last.

    Args:
        sketches: The drawings of the claims of one pod.
        cluster: The cluster with the nodes.
        release: The release to search with, such as `cluster.target_release()`.
        affinity: Requirements on nodes (`matchExpressions`) that the pod already has; default: none.
        time_limit: Seconds for the search with the devices in use now; the others take a third of it each. Default 30.
        cancel: Ends the search when it is set; default: none.

    Returns:
        The drawings, the requirements, whether they changed, and findings. Findings report each change and each search
        of more than 1 s (`node_search.SLOW`).

    Raises:
        ExportError: No change makes the searches short.
        SketchError: A drawing is inconsistent.
        UnsupportedFeature: A claim uses a rule that the copy of the scheduler does not have.
        Cancelled: `cancel` was set.

    Example:
        >>> from dra_lab import load_cluster, read_sketch, within_search_budget
        >>> # On a sample cluster.
        >>> cluster = load_cluster("sample:two-sockets")
        >>> found = within_search_budget([read_sketch("sample:two-sockets/lesson")], cluster, cluster.target_release())
        >>> found.changed, found.affinity
        (False, ())
    """
    drawn = tuple(sketches)
    on, first = with_documented_classes(cluster), None
    dropped: list[str] = []
    while True:
        looked = _look(drawn, on, release, affinity, time_limit, cancel)
        first = first or looked
        left_out = _left_out(dropped, first.why, drawn)
        if looked.short == looked.admitted:
            return WithinSearchBudget(drawn, affinity, bool(dropped), (*left_out, *_told(looked, drawn, release)))
        fewer = _without_last_preference(drawn)
        where = looked.fitting if fewer else looked.fitting or looked.short
        extra = node_requirements(on, sorted(where), sorted(looked.admitted - looked.short)) if where else ()
        if extra:
            kept = (*affinity, *extra)
            told = _told(changed(looked, admitted=admitted_nodes(on, kept)), drawn, release)
            return WithinSearchBudget(drawn, kept, True, (*left_out, _kept_off(looked, extra, drawn), *told))
        if fewer is None:
            raise ExportError(
                f"{_names(drawn)} cannot be exported, because {first.why}, and no node label selects the nodes on "
                "which the search is short; request fewer devices, or make preferred links musts"
            )
        name, drawn = fewer
        dropped.append(name)


def _look(
    drawn: Sequence[ClaimSketch],
    cluster: Cluster,
    release: KubernetesRelease,
    affinity: Affinity,
    time_limit: float,
    cancel: threading.Event | None,
) -> _Looked:
    admitted = admitted_nodes(cluster, affinity)
    bounds = longest_searches(drawn, cluster, release)
    proven = admitted & {name for name, seconds in bounds.items() if seconds <= node_search.SLOW}
    part = partial(search_pod, drawn, cluster, release, affinity=affinity, cancel=cancel)
    if len(proven) < len(admitted):
        now = part(leave_out=proven, time_limit=time_limit)
        idle = part(leave_out=proven, idle=True, time_limit=time_limit / 3)
        filled = fill_nodes(
            drawn, cluster, release, affinity=affinity, leave_out=proven, seconds=time_limit / 3, cancel=cancel
        )
    else:
        now = idle = Searched((), 0, time_limit)
        filled = FilledNodes()
    rest = part(leave_out=admitted - proven, time_limit=time_limit / 3)
    now = Searched((*now.states, *rest.states), now.count + len(rest.states), time_limit)
    return _Looked(admitted, now, idle, filled, proven)


def _short(found: Searched) -> frozenset[str]:
    ended = (names for names, verdict in found.states if verdict.status is not FirstFitStatus.STOPPED)
    return frozenset(name for names in ended for name in names)


def _fitting(found: Searched) -> frozenset[str]:
    fits = (names for names, verdict in found.states if verdict.status is FirstFitStatus.ALLOCATED)
    return frozenset(name for names in fits for name in names)


def _without_last_preference(drawn: Sequence[ClaimSketch]) -> tuple[str, tuple[ClaimSketch, ...]] | None:
    """Return the name of the last preferred link of a pod and its drawings without it; None where there is none."""
    for number in reversed(range(len(drawn))):
        soft = [link for link in drawn[number].links if not link.must]
        if soft:
            links = tuple(link for link in drawn[number].links if link is not soft[-1])
            return soft[-1].name, (*drawn[:number], replace(drawn[number], links=links), *drawn[number + 1 :])
    return None


def _left_out(dropped: Sequence[str], why: str, drawn: Sequence[ClaimSketch]) -> tuple[Finding, ...]:
    if not dropped:
        return ()
    message = f"dra-lab left out the preferred links {', '.join(dropped)}, because with them {why}"
    advice = "Make them musts, or request fewer devices."
    return (Finding("preferences-left-out", Severity.WARNING, _names(drawn), message, advice),)


def _kept_off(looked: _Looked, extra: Affinity, drawn: Sequence[ClaimSketch]) -> Finding:
    words = "; ".join(f"{r['key']} {r['operator']} {', '.join(r['values'])}" for r in extra)
    long = len(looked.admitted - looked.short)
    message = f"on {long} nodes {looked.why}; node affinity keeps its pods on other nodes ({words})"
    return Finding(
        "kept-off-nodes", Severity.WARNING, _names(drawn), message, "Remove preferred pairs or make them musts."
    )


def _told(looked: _Looked, drawn: Sequence[ClaimSketch], release: KubernetesRelease) -> tuple[Finding, ...]:
    """Return what is to be known of the searches of admitted nodes; of those with nothing in use the long ones only."""
    now, idle = (_on(part, looked.admitted) for part in (looked.now, looked.idle))
    found = dict.fromkeys(judged(now, _names(drawn), release))
    for finding in judged(idle, _names(drawn), release):
        if finding.rule == "manifest-slow" and not any(known.subject == finding.subject for known in found):
            found[changed(finding, message=f"with nothing in use {finding.message}")] = None
    if looked.filled.skipped:
        message = f"{looked.filled.skipped} kinds of nodes were not filled with its own pods, because no time was left"
        found[Finding("manifest-not-replayed", Severity.NOTE, _names(drawn), message)] = None
    return tuple(found)


def _on(found: Searched, admitted: frozenset[str]) -> Searched:
    """Return the searches of admitted nodes, all of which were made."""
    own = [(tuple(name for name in names if name in admitted), verdict) for names, verdict in found.states]
    states = tuple((names, verdict) for names, verdict in own if names)
    return Searched(states, len(states), found.time_limit)


def _names(drawn: Sequence[ClaimSketch]) -> str:
    return ", ".join(sketch.name for sketch in drawn)
