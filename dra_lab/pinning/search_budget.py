"""Manifests on which kube-scheduler would give up: kept off the nodes where its search is too long, or made simpler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as replaced
from typing import NamedTuple

from msgspec.structs import replace

from dra_lab.errors import Cancelled, ExportError
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning import node_search
from dra_lab.pinning.node_search import Searched, judged
from dra_lab.pinning.pin_budget import DEFAULT_SECONDS, PODS_ON_NODE, STEP, PinBudget, budget_of
from dra_lab.pinning.place_selectors import admitted_nodes, affinity_words, node_requirements
from dra_lab.pinning.pod_kinds import pod_kind
from dra_lab.pinning.scheduler_simulation import History, SchedulerSimulation, SimulatedPod
from dra_lab.scheduler.search_limits import GIVES_UP
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


def within_search_budget(
    sketches: Sequence[ClaimSketch],
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    affinity: Affinity = (),
    budget: PinBudget | None = None,
) -> WithinSearchBudget:
    """Return drawings and node requirements with which kube-scheduler searches no admitted node for too long.

    All claims of a pod are searched together, on every state of the admitted nodes, fitting or not. The states are
    those with the devices in use now, with nothing in use, and as nodes fill up with these pods. A search is too long
    if kube-scheduler may need more than 5 s for it (`node_search.LONGEST`). It gives up a pod after 10 s (gate
    DRASchedulerFilterTimeout). A search that is not known to be shorter counts as too long.

    Labels then keep pods on nodes where the searches are known to be short. If no label selects those nodes, or there
    are none, preferred links are left out one after the other, from the last. `affinity` are requirements that the pod
    already has. The findings name each change and each search of more than 1 s (`node_search.SLOW`).

    Raises ExportError if no change makes the searches short, UnsupportedFeature for a rule that the copy of the
    scheduler does not have, SketchError for a drawing that is inconsistent, and Cancelled if the budget was cancelled.
    """
    drawn, first = tuple(sketches), None
    budget, dropped = budget or budget_of(DEFAULT_SECONDS), list[str]()
    while True:
        found = _search(drawn, cluster, release, affinity, budget.part(STEP))
        first = first or found
        left_out: tuple[Finding, ...] = ()
        if dropped:
            message = f"dra-lab left out the preferred links {', '.join(dropped)}, because with them {first.why}"
            advice = "Make them musts, or request fewer devices."
            left_out = (Finding("preferences-left-out", Severity.WARNING, _names(drawn), message, advice),)
        if found.short == found.admitted:
            return WithinSearchBudget(drawn, affinity, bool(dropped), (*left_out, *_findings(found, drawn, release)))
        fewer = _without_last_preference(drawn)
        where = found.fitting if fewer else found.fitting or found.short
        extra = node_requirements(cluster, sorted(where), sorted(found.admitted - found.short)) if where else ()
        if extra:
            kept = (*affinity, *extra)
            rest = _findings(found, drawn, release, admitted_nodes(cluster, kept))
            return WithinSearchBudget(drawn, kept, True, (*left_out, _kept_off(found, extra, drawn), *rest))
        if fewer is None:
            raise ExportError(
                f"{_names(drawn)} cannot be exported, because {first.why}, and no node label selects the nodes on "
                "which the search is short; request fewer devices, or make preferred links musts"
            )
        name, drawn = fewer
        dropped.append(name)


class _Filled(NamedTuple):
    """Identical nodes that are filled with the pods: what the first pod finds there, and the last one."""

    nodes: tuple[str, ...]
    first: SimulatedPod
    last: SimulatedPod

    @property
    def is_long(self) -> bool:
        """Say whether some search there is too long."""
        return self.last.status is FirstFitStatus.STOPPED and not self.last.cut_off

    @property
    def is_short(self) -> bool:
        """Say whether the first search is known to be short, and none was found that is not."""
        return self.first.status is not FirstFitStatus.STOPPED and not self.is_long

    @property
    def fits(self) -> bool:
        """Say whether the first pod fits."""
        return self.first.status is FirstFitStatus.ALLOCATED


@dataclass(frozen=True)
class _Searches:
    """The searches of the admitted nodes as they fill up, from the devices in use now, and from none in use."""

    admitted: frozenset[str]
    now: tuple[_Filled, ...]
    idle: tuple[_Filled, ...]
    seconds: float

    @property
    def short(self) -> frozenset[str]:
        """Return the admitted nodes on which the searches are known to be short, and none was found that is not."""
        now, idle = (frozenset(n for one in part if one.is_short for n in one.nodes) for part in (self.now, self.idle))
        return now & idle

    @property
    def fitting(self) -> frozenset[str]:
        """Return those of them where the pod fits now, else with nothing in use."""
        now, idle = (frozenset(n for one in part if one.fits for n in one.nodes) for part in (self.now, self.idle))
        return self.short & now or self.short & idle

    @property
    def why(self) -> str:
        """Return what is the matter with the longest search."""
        every = (*self.now, *self.idle)
        if not any(one.is_long for one in every):
            left = max(*(sum(one.first.cut_off for one in part) for part in (self.now, self.idle)), 1)
            return f"the searches of {left} node states did not end in the available time and may be too long"
        return (
            f"kube-scheduler may need more than {node_search.LONGEST:g} s to search a node, "
            f"and after {GIVES_UP:g} s it gives up the pod"
        )


def _search(
    drawn: Sequence[ClaimSketch], cluster: Cluster, release: KubernetesRelease, affinity: Affinity, budget: PinBudget
) -> _Searches:
    seconds, pod = budget.left or 0.0, pod_kind(cluster, release, "pod", drawn)
    found = []
    for idle in (False, True):
        own = budget.part(1 if idle else STEP)
        simulation = SchedulerSimulation(cluster, [pod], release, affinity=[affinity], budget=own, idle=idle)
        found.append(tuple(_filled(simulation, nodes) for nodes in simulation.kinds.values()))
    if budget.cancelled:
        raise Cancelled("the search was cancelled")
    return _Searches(admitted_nodes(cluster, affinity), found[0], found[1], seconds)


def _filled(simulation: SchedulerSimulation, nodes: tuple[str, ...]) -> _Filled:
    """Let pods arrive on one of some identical nodes until none fits."""
    history: History = ()
    first = last = simulation.taken(nodes[0], history, 0)
    while last.status is FirstFitStatus.ALLOCATED and len(history) < PODS_ON_NODE:
        history = (*history, (nodes[0] if simulation.shared else "", 0))
        last = simulation.taken(nodes[0], history, 0)
    return _Filled(nodes, first, last)


def _without_last_preference(drawn: Sequence[ClaimSketch]) -> tuple[str, tuple[ClaimSketch, ...]] | None:
    """Return the name of the last preferred link of a pod and its drawings without it; None where there is none."""
    for number in reversed(range(len(drawn))):
        soft = [link for link in drawn[number].links if not link.must]
        if soft:
            links = tuple(link for link in drawn[number].links if link is not soft[-1])
            return soft[-1].name, (*drawn[:number], replace(drawn[number], links=links), *drawn[number + 1 :])
    return None


def _kept_off(found: _Searches, extra: Affinity, drawn: Sequence[ClaimSketch]) -> Finding:
    long = len(found.admitted - found.short)
    message = f"on {long} nodes {found.why}; node affinity keeps its pods on other nodes ({affinity_words(extra)})"
    return Finding(
        "kept-off-nodes", Severity.WARNING, _names(drawn), message, "Remove preferred pairs or make them musts."
    )


def _findings(
    searches: _Searches,
    drawn: Sequence[ClaimSketch],
    release: KubernetesRelease,
    admitted: frozenset[str] | None = None,
) -> tuple[Finding, ...]:
    """Return what is to be known of the searches of admitted nodes; of those with nothing in use the long ones only."""
    names, nodes = _names(drawn), searches.admitted if admitted is None else admitted
    now, idle = (_searched(part, nodes, searches.seconds) for part in (searches.now, searches.idle))
    found = dict.fromkeys(judged(now, names, release))
    for finding in judged(idle, names, release):
        if finding.rule == "manifest-slow" and not any(known.subject == finding.subject for known in found):
            found[replaced(finding, message=f"with nothing in use {finding.message}")] = None
    if not_filled := sum(one.last.cut_off for one in (*searches.now, *searches.idle)):
        message = f"{not_filled} kinds of nodes were not filled with its own pods, because no time was left"
        found[Finding("manifest-not-replayed", Severity.NOTE, names, message)] = None
    return tuple(found)


def _searched(part: Sequence[_Filled], admitted: frozenset[str], seconds: float) -> Searched:
    own = [(tuple(name for name in one.nodes if name in admitted), one.first) for one in part]
    ended = [(nodes, pod) for nodes, pod in own if nodes and not pod.cut_off]
    return Searched(tuple((n, p.verdict) for n, p in ended), sum(bool(nodes) for nodes, _ in own), seconds)


def _names(drawn: Sequence[ClaimSketch]) -> str:
    return ", ".join(sketch.name for sketch in drawn)
