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
from dra_lab.pinning.node_pins import admitted_nodes, affinity_words, node_requirements
from dra_lab.pinning.node_search import Searched, judged, search_pod
from dra_lab.pinning.pin_budget import PinBudget, budget_of
from dra_lab.pinning.pod_kinds import pod_kind
from dra_lab.pinning.scheduler_simulation import History, SchedulerSimulation
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
        time_limit: Seconds for all searches; default 30.
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
        >>> from dra_lab import load_cluster, read_sketch
        >>> from dra_lab.pinning.search_budget import within_search_budget
        >>> # On a sample cluster.
        >>> cluster = load_cluster("sample:two-sockets")
        >>> found = within_search_budget([read_sketch("sample:two-sockets/lesson")], cluster, cluster.target_release())
        >>> found.changed, found.affinity
        (False, ())
    """
    return short_searches(sketches, cluster, release, budget_of(time_limit, cancel), affinity=affinity)


def short_searches(
    sketches: Sequence[ClaimSketch],
    cluster: Cluster,
    release: KubernetesRelease,
    budget: PinBudget,
    *,
    affinity: Affinity = (),
) -> WithinSearchBudget:
    """Return drawings and node requirements with which every search is short; see `within_search_budget`."""
    drawn, on, first = tuple(sketches), with_documented_classes(cluster), None
    dropped: list[str] = []
    while True:
        found = _search(drawn, on, release, affinity, budget.part(budget.pin_shares.step))
        first = first or found
        left_out = _left_out(dropped, first.why, drawn)
        if found.short == found.admitted:
            return WithinSearchBudget(drawn, affinity, bool(dropped), (*left_out, *_findings(found, drawn, release)))
        fewer = _without_last_preference(drawn)
        where = found.fitting if fewer else found.fitting or found.short
        extra = node_requirements(on, sorted(where), sorted(found.admitted - found.short)) if where else ()
        if extra:
            kept = (*affinity, *extra)
            rest = _findings(changed(found, admitted=admitted_nodes(on, kept)), drawn, release)
            return WithinSearchBudget(drawn, kept, True, (*left_out, _kept_off(found, extra, drawn), *rest))
        if fewer is None:
            raise ExportError(
                f"{_names(drawn)} cannot be exported, because {first.why}, and no node label selects the nodes on "
                "which the search is short; request fewer devices, or make preferred links musts"
            )
        name, drawn = fewer
        dropped.append(name)


_NOTHING = Searched()


@dataclass(frozen=True)
class _Searches:
    """The results of searching the admitted nodes: with devices in use now, with none in use, and as nodes fill up.

    On the `long` nodes a search is too long once some of the pods run there; `not_filled` counts the kinds of nodes of
    which this is not known.
    """

    admitted: frozenset[str]
    now: Searched = _NOTHING
    idle: Searched = _NOTHING
    long: frozenset[str] = frozenset()
    not_filled: int = 0

    @property
    def short(self) -> frozenset[str]:
        """Return the admitted nodes on which the searches are known to be short, and none was found that is not."""
        now, idle = (part.nodes(lambda v: v.status is not FirstFitStatus.STOPPED) for part in (self.now, self.idle))
        return self.admitted & now & idle - self.long

    @property
    def fitting(self) -> frozenset[str]:
        """Return those of them where the pod fits now, else with nothing in use."""
        now, idle = (part.nodes(lambda v: v.status is FirstFitStatus.ALLOCATED) for part in (self.now, self.idle))
        return self.short & now or self.short & idle

    @property
    def why(self) -> str:
        """Return what is the matter with the longest search."""
        verdicts = [verdict for part in (self.now, self.idle) for _, verdict in part.states]
        seconds = max((v.seconds for v in verdicts if v.status is FirstFitStatus.STOPPED), default=0.0)
        if seconds < node_search.LONGEST and not self.long:
            left = max(self.now.skipped, self.idle.skipped, 1)
            return f"the searches of {left} node states did not end in the available time and may be too long"
        return (
            f"kube-scheduler may need more than {node_search.LONGEST:g} s to search a node, "
            f"and after {GIVES_UP:g} s it gives up the pod"
        )


def _search(
    drawn: Sequence[ClaimSketch], cluster: Cluster, release: KubernetesRelease, affinity: Affinity, budget: PinBudget
) -> _Searches:
    share = budget.pin_shares.step
    search = partial(search_pod, drawn, cluster, release, affinity=affinity)
    now = search(budget.part(share))
    idle = search(budget.part(share), idle=True)
    long, not_filled = _fill(drawn, cluster, release, affinity, budget)
    return _Searches(admitted_nodes(cluster, affinity), now, idle, long, not_filled)


def _fill(
    drawn: Sequence[ClaimSketch],
    cluster: Cluster,
    release: KubernetesRelease,
    affinity: Affinity,
    budget: PinBudget,
) -> tuple[frozenset[str], int]:
    """Let pods arrive on each kind of node until none fits, from what is in use now and from nothing.

    Return the nodes on which a search gets too long, and the number of kinds of which this is not known.
    """
    long: set[str] = set()
    skipped = 0
    pod = pod_kind(cluster, release, "pod", drawn)
    for idle in (False, True):
        simulation = SchedulerSimulation(
            cluster,
            [pod],
            release,
            affinity=[affinity],
            budget=budget.part(1 if idle else budget.pin_shares.step),
            idle=idle,
        )
        for names in simulation.kinds.values():
            history: History = ()
            taken = simulation.taken(names[0], history, 0)
            while taken.status is FirstFitStatus.ALLOCATED and len(history) < budget.pin_sizes.pods:
                history = (*history, (names[0] if simulation.shared else "", 0))
                taken = simulation.taken(names[0], history, 0)
            if taken.cut_off:
                skipped += 1
            elif taken.status is FirstFitStatus.STOPPED:
                long.update(names)
    return frozenset(long), skipped


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


def _kept_off(found: _Searches, extra: Affinity, drawn: Sequence[ClaimSketch]) -> Finding:
    long = len(found.admitted - found.short)
    message = f"on {long} nodes {found.why}; node affinity keeps its pods on other nodes ({affinity_words(extra)})"
    return Finding(
        "kept-off-nodes", Severity.WARNING, _names(drawn), message, "Remove preferred pairs or make them musts."
    )


def _findings(searches: _Searches, drawn: Sequence[ClaimSketch], release: KubernetesRelease) -> tuple[Finding, ...]:
    """Return what is to be known of the searches of admitted nodes; of those with nothing in use the long ones only."""
    now, idle = (part.on(searches.admitted) for part in (searches.now, searches.idle))
    found = dict.fromkeys(judged(now, _names(drawn), release))
    for finding in judged(idle, _names(drawn), release):
        if finding.rule == "manifest-slow" and not any(known.subject == finding.subject for known in found):
            found[changed(finding, message=f"with nothing in use {finding.message}")] = None
    if searches.not_filled:
        kinds = f"{searches.not_filled} kinds of nodes"
        message = f"{kinds} were not filled with its own pods, because no time was left"
        found[Finding("manifest-not-replayed", Severity.NOTE, _names(drawn), message)] = None
    return tuple(found)


def _names(drawn: Sequence[ClaimSketch]) -> str:
    return ", ".join(sketch.name for sketch in drawn)
