"""A manifest before it goes out: kube-scheduler's search for it on every node state, also where it does not fit."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import PCIE_ROOT
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link
from dra_lab.pinning.node_pins import admitted_nodes
from dra_lab.pinning.pod_start import NOT_ALLOCATED
from dra_lab.scheduler import search_cost
from dra_lab.scheduler.first_fit import Verdict, first_fit
from dra_lab.scheduler.identical_nodes import NodeStates, node_states
from dra_lab.sketch.claim_objects import Affinity
from dra_lab.sketch.compile import compile_claim
from dra_lab.sketch.read_back import spec_of

SLOW = search_cost.SLOW
"""A search for which kube-scheduler may need more seconds than this is a Finding."""

LONGEST = search_cost.LONGEST
"""A search for which kube-scheduler may need more seconds than this is one that it may give up."""

OWN_LIMIT = 10.0
"""Seconds after which we stop our own search of one node."""

MOST_STEPS = 10**12
"""No limit of its own: the time that kube-scheduler needs is the limit."""


class Searched(Struct, frozen=True):
    """What searching the node states gave: (equal nodes, verdict) each, of `count` states in `time_limit` seconds.

    The verdicts hold no allocations: they may be those of an equal state of an earlier snapshot.
    """

    states: tuple[tuple[tuple[str, ...], Verdict], ...]
    count: int
    time_limit: float

    @property
    def skipped(self) -> int:
        """Return how many states there was no time for."""
        return self.count - len(self.states)

    @property
    def heavy(self) -> tuple[tuple[str, ...], ...]:
        """Return the groups of nodes on which the search did not end: it takes too long, or our own time was over."""
        return tuple(nodes for nodes, verdict in self.states if verdict.status is FirstFitStatus.STOPPED)


def replay_findings(
    sketch: ClaimSketch,
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    time_limit: float = 30.0,
    cancel: threading.Event | None = None,
) -> tuple[Finding, ...]:
    """Return what a compiled drawing would do to a pod while kube-scheduler looks for a node.

    From 1.36 a node on which the search takes 10 s aborts the whole attempt, and so does an error on any node, so
    every node state is searched, also those where the claim does not fit. `time_limit` in seconds bounds
    all searches together; a Finding says how many states were not looked at. Raises Cancelled when `cancel` is set.
    """
    found = search_states(sketch, cluster, release, time_limit=time_limit, cancel=cancel)
    return judged(found, sketch.name, release)


def start_findings(
    sketches: Sequence[ClaimSketch],
    cluster: Cluster,
    release: KubernetesRelease,
    subject: str,
    *,
    written: bool = False,
    time_limit: float = 30.0,
    cancel: threading.Event | None = None,
) -> tuple[Finding, ...]:
    """Return what kube-scheduler's search does for a pod for whose claims an allocation exists, on every node.

    One of these findings says so if it finds no devices on any node (`sentences.start_of`). For `written` and the rest
    see `search_pod`; a search with a rule that our copy of kube-scheduler does not know is open.
    """
    try:
        found = search_pod(sketches, cluster, release, written=written, time_limit=time_limit, cancel=cancel)
    except UnsupportedFeature as error:
        message = f"whether kube-scheduler finds an allocation is not known: {error.message}"
        return (Finding("manifest-not-replayed", Severity.WARNING, subject, message),)
    return (*judged(found, subject, release), *unallocated(found, sketches, cluster, release, subject))


def search_states(
    sketch: ClaimSketch,
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    affinity: Affinity = (),
    time_limit: float = 30.0,
    cancel: threading.Event | None = None,
) -> Searched:
    """Search a compiled drawing on every state of the nodes that `affinity` admits; see `replay_findings`."""
    return search_pod([sketch], cluster, release, affinity=affinity, time_limit=time_limit, cancel=cancel)


def search_pod(
    sketches: Sequence[ClaimSketch],
    cluster: Cluster,
    release: KubernetesRelease,
    *,
    affinity: Affinity = (),
    idle: bool = False,
    leave_out: frozenset[str] = frozenset(),
    written: bool = False,
    time_limit: float = 30.0,
    cancel: threading.Event | None = None,
) -> Searched:
    """Search all claims of a pod together, as kube-scheduler does; `idle` leaves out what is in use.

    `leave_out` are nodes that are not searched. `written` searches the claims as a person wrote them
    (`read_back.spec_of`), else as they are compiled.
    """
    on = with_documented_classes(cluster)
    specs = [spec_of(sketch, release) if written else compile_claim(sketch, on, release).spec for sketch in sketches]
    claims = [
        ResourceClaim(metadata=ObjectMeta(name=sketch.name), spec=spec)
        for sketch, spec in zip(sketches, specs, strict=True)
    ]
    states_of = NodeStates(on, release, ignore_allocated=True) if idle else node_states(on, release)
    every, known = states_of.searched(claims, LONGEST, cancel=cancel)
    admitted = admitted_nodes(on, affinity) - leave_out
    groups = [(own, state) for nodes, state in every if (own := tuple(name for name in nodes if name in admitted))]
    end = time.monotonic() + time_limit
    states = []
    for nodes, state in groups:
        verdict = known.get(state)
        if verdict is None and (limit := min(OWN_LIMIT, end - time.monotonic())) > 0:
            verdict = _search(on, nodes[0], claims, release, limit, cancel, idle=idle)
            if verdict is not None and _lasts(verdict):
                known[state] = verdict
        if verdict is not None:
            states.append((nodes, verdict))
    return Searched(tuple(states), len(groups), time_limit)


def judged(found: Searched, subject: str, release: KubernetesRelease) -> tuple[Finding, ...]:
    """Return what searched node states mean for a pod."""
    findings = [finding for nodes, verdict in found.states for finding in _judged(verdict, nodes, release)]
    if found.skipped:
        message = f"{found.skipped} of {found.count} node states were not searched in {found.time_limit:g} s"
        findings.append(Finding("manifest-not-replayed", Severity.WARNING, subject, message))
    return tuple(findings)


def unallocated(
    found: Searched, sketches: Sequence[ClaimSketch], cluster: Cluster, release: KubernetesRelease, subject: str
) -> Iterator[Finding]:
    """Yield that every search ended and none found devices; for a pod for whose claims an allocation exists."""
    ends = [verdict for _, verdict in found.states]
    undecided = any(v.status is FirstFitStatus.STOPPED and v.seconds < LONGEST for v in ends)
    if found.skipped or undecided or any(v.status in (FirstFitStatus.ALLOCATED, FirstFitStatus.ERROR) for v in ends):
        return
    message = "kube-scheduler finds no devices for this pod on any node, although an allocation exists"
    advice = "Select the planned devices by their attributes."
    if not release.matches_lists and any(_is_over_lists(link, cluster) for one in sketches for link in one.links):
        message += f", because its links compare lists, and kube-scheduler {release.version} does not compare lists"
        advice = "Link by an attribute that is not a list, or select the planned devices by their attributes."
    yield Finding(NOT_ALLOCATED, Severity.ERROR, subject, message, advice)


def _is_over_lists(link: Link, cluster: Cluster) -> bool:
    attribute = PCIE_ROOT if link.where == "pcieRoot" else link.where
    every = ((device, published.spec.driver) for published in cluster.slices for device in published.spec.devices or ())
    found = (device.lookup(attribute, driver) for device, driver in every)
    return link.must and any(one is not None and one.is_list for one in found)


def _search(
    cluster: Cluster,
    node: str,
    claims: Sequence[ResourceClaim],
    release: KubernetesRelease,
    limit: float,
    cancel: threading.Event | None,
    *,
    idle: bool,
) -> Verdict | None:
    """Search one node; None where our own limit cut it off, which says nothing about kube-scheduler's."""
    verdict = first_fit(
        cluster,
        node,
        claims,
        release,
        step_limit=MOST_STEPS,
        time_limit=limit,
        search_limit=LONGEST,
        ignore_allocated=idle,
        cancel=cancel,
    )
    stopped = verdict.status is FirstFitStatus.STOPPED and verdict.seconds < LONGEST
    return None if stopped and limit < OWN_LIMIT else replace(verdict, allocations=None)


def _lasts(verdict: Verdict) -> bool:
    """Say whether a verdict is that of every equal state: time cuts off here and there, an error names the device."""
    cut_off = verdict.status is FirstFitStatus.STOPPED and verdict.seconds < LONGEST
    return not cut_off and verdict.status is not FirstFitStatus.ERROR


def _judged(verdict: Verdict, nodes: tuple[str, ...], release: KubernetesRelease) -> Iterator[Finding]:
    where = nodes[0] if len(nodes) == 1 else f"{nodes[0]} and {len(nodes) - 1} identical nodes"
    aborts = release.version not in ("1.34", "1.35")
    scope = "kube-scheduler would give up the pod, on every node" if aborts else "kube-scheduler would skip the node"
    advice = (
        "Remove preferred pairs or make them musts, draw the scarcer kind first, or exclude the node with "
        "node affinity."
    )
    if verdict.status is FirstFitStatus.ERROR:
        message = f"kube-scheduler would give up the pod, on every node: {verdict.message}"
        yield Finding("manifest-gives-up", Severity.ERROR, where, message)
    elif verdict.status is FirstFitStatus.STOPPED and verdict.seconds < LONGEST:
        message = (
            f"the search did not end within {verdict.steps:,} candidates, which took {OWN_LIMIT:g} s here; "
            f"it is not known whether kube-scheduler ends it within its {search_cost.GIVES_UP:g} s"
        )
        yield Finding("manifest-undecided", Severity.WARNING, where, message, advice)
    elif verdict.status is FirstFitStatus.STOPPED:
        message = (
            f"kube-scheduler may need more than {LONGEST:g} s to search it, because the search does not end "
            f"within {verdict.steps:,} candidates; after {search_cost.GIVES_UP:g} s {scope}"
        )
        severity = Severity.ERROR if aborts else Severity.WARNING
        yield Finding("manifest-gives-up", severity, where, message, advice)
    elif verdict.seconds > SLOW:
        message = (
            f"kube-scheduler may need {verdict.seconds:.1f} s to search it, for {verdict.steps:,} candidates; "
            f"after {search_cost.GIVES_UP:g} s {scope}"
        )
        yield Finding("manifest-slow", Severity.WARNING, where, message, advice)
