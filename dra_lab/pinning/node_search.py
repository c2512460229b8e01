"""A manifest before it goes out: kube-scheduler's search for it on every node state, also where it does not fit."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.errors import UnsupportedFeature
from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import AllocatedDevices, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import PCIE_ROOT
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link
from dra_lab.pinning.pin_budget import NODE_SECONDS, PinBudget, budget_of
from dra_lab.pinning.pod_start import NOT_ALLOCATED
from dra_lab.scheduler import search_limits
from dra_lab.scheduler.first_fit import Verdict, first_fit
from dra_lab.scheduler.identical_nodes import node_states
from dra_lab.sketch.compile import compile_claim
from dra_lab.sketch.read_back import spec_of

SLOW = search_limits.SLOW
"""A search for which kube-scheduler may need more seconds than this is a Finding."""

LONGEST = search_limits.LONGEST
"""A search for which kube-scheduler may need more seconds than this is one that it may give up."""

MOST_STEPS = 10**12
"""No limit of its own: the time that kube-scheduler needs is the limit."""


class Searched(Struct, frozen=True):
    """What searching the node states gave: (identical nodes, verdict) each, of `count` states in `time_limit` seconds.

    The verdicts contain no allocations: they may be those of an identical state of an earlier snapshot.
    """

    states: tuple[tuple[tuple[str, ...], Verdict], ...] = ()
    count: int = 0
    time_limit: float = 0.0

    @property
    def skipped(self) -> int:
        """Return how many states there was no time for."""
        return self.count - len(self.states)


def start_findings(
    sketches: Sequence[ClaimSketch],
    cluster: Cluster,
    release: KubernetesRelease,
    subject: str,
    *,
    written: bool = False,
    fits: bool = True,
    time_limit: float = 30.0,
    cancel: threading.Event | None = None,
) -> tuple[Finding, ...]:
    """Return what kube-scheduler's search does for the claims of a pod, on every node.

    If an allocation exists (`fits`), one of these findings says so if it finds no devices on any node. For `written`
    and the rest see `search_pod`; a search with a rule that our copy of kube-scheduler does not know is open.
    """
    budget = budget_of(time_limit, cancel)
    try:
        found = search_pod(sketches, cluster, release, budget, written=written)
    except UnsupportedFeature as error:
        message = f"whether kube-scheduler finds an allocation is not known: {error.message}"
        return (Finding("manifest-not-replayed", Severity.WARNING, subject, message),)
    nowhere = unallocated(found, sketches, cluster, release, subject) if fits else ()
    return (*judged(found, subject, release), *nowhere)


def search_pod(
    sketches: Sequence[ClaimSketch],
    cluster: Cluster,
    release: KubernetesRelease,
    budget: PinBudget,
    *,
    written: bool = False,
) -> Searched:
    """Search all claims of a pod together, as kube-scheduler does.

    From 1.36 a node on which the search takes 10 s aborts the whole attempt, and so does an error on any node, so
    every node state is searched, also those where the claim does not fit.
    `written` searches the claims as a person wrote them (`read_back.spec_of`), else as they are compiled. Raises
    Cancelled when the budget is cancelled.
    """
    specs = [spec_of(one, release) if written else compile_claim(one, cluster, release).spec for one in sketches]
    claims = [
        ResourceClaim(metadata=ObjectMeta(name=sketch.name), spec=spec)
        for sketch, spec in zip(sketches, specs, strict=True)
    ]
    groups, known = node_states(cluster, release).searched(claims, LONGEST, cancel=budget.cancel)
    time_limit, states = budget.left or 0.0, []
    for nodes, state in groups:
        verdict = known.get(state)
        if verdict is None and budget.node_seconds > 0:
            verdict, cut_off = search(cluster, nodes[0], claims, release, budget)
            verdict = None if cut_off else replace(verdict, allocations=None)
            if verdict is not None and not is_undecided(verdict) and verdict.status is not FirstFitStatus.ERROR:
                known[state] = verdict  # time cuts off here and there, and an error names the device
        if verdict is not None:
            states.append((nodes, verdict))
    return Searched(tuple(states), len(groups), time_limit)


def search(
    cluster: Cluster,
    node: str,
    claims: Sequence[ResourceClaim],
    release: KubernetesRelease,
    budget: PinBudget,
    held: AllocatedDevices | None = None,
) -> tuple[Verdict, bool]:
    """Return what first fit takes on a node, and whether it was cut off because no time was left; see `first_fit`."""
    seconds = budget.node_seconds
    limits: dict[str, Any] = {"step_limit": MOST_STEPS, "time_limit": seconds, "search_limit": LONGEST}
    verdict = first_fit(cluster, node, claims, release, held=held, cancel=budget.cancel, **limits)
    return verdict, is_undecided(verdict) and (seconds < NODE_SECONDS or budget.reached)


def is_undecided(verdict: Verdict) -> bool:
    """Say whether our own time ended a search: then it is not known whether kube-scheduler ends it."""
    return verdict.status is FirstFitStatus.STOPPED and verdict.seconds < LONGEST


def judged(found: Searched, subject: str, release: KubernetesRelease) -> tuple[Finding, ...]:
    """Return what searched node states mean for a pod."""
    findings = [finding for nodes, verdict in found.states for finding in _judged(verdict, nodes, release)]
    if found.skipped:
        message = f"{found.skipped} of {found.count} node states were not searched in {found.time_limit:.2g} s"
        findings.append(Finding("manifest-not-replayed", Severity.WARNING, subject, message))
    return tuple(findings)


def unallocated(
    found: Searched, sketches: Sequence[ClaimSketch], cluster: Cluster, release: KubernetesRelease, subject: str
) -> Iterator[Finding]:
    """Yield that every search ended and none found devices; for a pod for whose claims an allocation exists."""
    ends = [verdict for _, verdict in found.states]
    if (
        found.skipped
        or any(map(is_undecided, ends))
        or any(v.status in (FirstFitStatus.ALLOCATED, FirstFitStatus.ERROR) for v in ends)
    ):
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


def _judged(verdict: Verdict, nodes: tuple[str, ...], release: KubernetesRelease) -> Iterator[Finding]:
    where = nodes[0] if len(nodes) == 1 else f"{nodes[0]} and {len(nodes) - 1} identical nodes"
    aborts = release.is_at_least("1.36")
    scope = "kube-scheduler would give up the pod, on every node" if aborts else "kube-scheduler would skip the node"
    advice = (
        "Remove preferred pairs or make them musts, draw the scarcer kind first, or exclude the node with "
        "node affinity."
    )
    if verdict.status is FirstFitStatus.ERROR:
        message = f"kube-scheduler would give up the pod, on every node: {verdict.message}"
        yield Finding("manifest-gives-up", Severity.ERROR, where, message)
    elif is_undecided(verdict):
        message = (
            f"the search did not end within {verdict.steps:,} candidates, "
            f"which took {NODE_SECONDS:g} s here; "
            f"it is not known whether kube-scheduler ends it within its {search_limits.GIVES_UP:g} s"
        )
        yield Finding("manifest-undecided", Severity.WARNING, where, message, advice)
    elif verdict.status is FirstFitStatus.STOPPED:
        message = (
            f"kube-scheduler may need more than {LONGEST:g} s to search it, because the search does not end "
            f"within {verdict.steps:,} candidates; after {search_limits.GIVES_UP:g} s {scope}"
        )
        severity = Severity.ERROR if aborts else Severity.WARNING
        yield Finding("manifest-gives-up", severity, where, message, advice)
    elif verdict.seconds > SLOW:
        message = (
            f"kube-scheduler may need {verdict.seconds:.1f} s to search it, for {verdict.steps:,} candidates; "
            f"after {search_limits.GIVES_UP:g} s {scope}"
        )
        yield Finding("manifest-slow", Severity.WARNING, where, message, advice)
