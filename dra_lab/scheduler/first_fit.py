"""What kube-scheduler would take on one node: the structured allocator of Kubernetes 1.36, device by device."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence

from msgspec import Struct

from dra_lab.errors import CelCompileError
from dra_lab.index.pools import pools_of
from dra_lab.model.claims import AllocationResult, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.release import RECORDED_RELEASES, Gates, KubernetesRelease, gates_of
from dra_lab.scheduler.allocating import Books
from dra_lab.scheduler.candidates import NodeView, held_devices, view_node
from dra_lab.scheduler.depth_first import Search
from dra_lab.scheduler.judging import Judge, prepare
from dra_lab.scheduler.memory import Memory
from dra_lab.scheduler.recorded_search import RecordedSearch
from dra_lab.scheduler.recorder import Recorder
from dra_lab.scheduler.requests import check_size, claim_needs
from dra_lab.scheduler.result import allocation_result
from dra_lab.scheduler.search_cost import SELECTOR
from dra_lab.scheduler.search_limits import AttemptAborted, SearchLimits, SearchStopped
from dra_lab.scheduler.unsupported import check_supported


class Verdict(Struct, frozen=True):
    """What first fit ends with on one node.

    `allocations` holds one result a claim, in the order of the claims, when `status` is ALLOCATED, else None. `message`
    says why a node has none, why the whole attempt of the pod would be given up (ERROR), or where the search stopped.
    `steps` counts the candidates that were tried, `seconds` is the time that kube-scheduler needs for them at most, as
    `search_cost` estimates it. `recorded` is False for releases whose verdicts come from
    documentation. `invalid_pools` is True when nothing was found and the node sees an invalid pool.
    """

    status: FirstFitStatus
    allocations: tuple[AllocationResult, ...] | None = None
    message: str = ""
    steps: int = 0
    recorded: bool = True
    invalid_pools: bool = False
    seconds: float = 0.0


def first_fit(
    cluster: Cluster,
    node_name: str,
    claims: Sequence[ResourceClaim],
    release: KubernetesRelease,
    *,
    step_limit: int = 5_000_000,
    time_limit: float = 10.0,
    search_limit: float = math.inf,
    ignore_allocated: bool = False,
    cancel: threading.Event | None = None,
    recorder: Recorder | None = None,
    progress: Callable[[int], None] | None = None,
) -> Verdict:
    """Return what kube-scheduler takes for the unallocated claims of one pod on a node, in the claims' order.

    The search is the structured allocator's: pools by (driver, name), slices by name, devices in list order, lazy CEL,
    full backtracking (docs/semantics.md 3). `time_limit` is in seconds of our own time, `search_limit` in seconds that
    kube-scheduler needs (`Verdict.seconds`); at a limit the verdict is STOPPED, never NONE.
    `ignore_allocated` asks what would be taken if nothing were in use. `recorder` records the steps (`node_trace`).
    `progress` gets the number of candidates so far, every few milliseconds.
    Raises InputError for an unknown node, QuantityError for a broken amount, UnsupportedFeature for rules of alpha
    gates, Cancelled once `cancel` is set.
    """
    gates = gates_of(release)
    check_node(cluster, node_name)
    pools = pools_of(cluster, node_name, gates)
    view = view_node(cluster, node_name, pools, held_devices(cluster, gates, ignore=ignore_allocated), gates)
    check_supported(view, claims, release)
    limits = SearchLimits(step_limit, time_limit, cancel, search_limit, progress)
    recorded = release.version in RECORDED_RELEASES
    return search_node(view, claims, gates, limits, recorder, recorded=recorded)


def check_node(cluster: Cluster, node_name: str) -> None:
    """Raise InputError for a node that is not in the cluster."""
    cluster.node_named(node_name)


def search_node(
    view: NodeView,
    claims: Sequence[ResourceClaim],
    gates: Gates,
    limits: SearchLimits,
    recorder: Recorder | None = None,
    *,
    recorded: bool,
) -> Verdict:
    """Run set-up and search on a node and return the verdict; every way to give up becomes one."""
    status, message = FirstFitStatus.NONE, ""
    allocations: tuple[AllocationResult, ...] | None = None
    try:
        allocations = _allocate(view, claims, gates, limits, recorder)
    except (AttemptAborted, CelCompileError) as error:
        status, message = FirstFitStatus.ERROR, str(error)
    except SearchStopped as stop:
        status, message = FirstFitStatus.STOPPED, str(stop)
    invalid = status is FirstFitStatus.NONE and allocations is None and view.invalid_pool is not None
    if allocations is not None:
        status = FirstFitStatus.ALLOCATED
    elif status is FirstFitStatus.NONE:
        message = _why_none(view)
    if recorder is not None:
        recorder.end(message)
    return Verdict(status, allocations, message, limits.steps, recorded, invalid, limits.cost / 1e9)


def _allocate(
    view: NodeView, claims: Sequence[ResourceClaim], gates: Gates, limits: SearchLimits, recorder: Recorder | None
) -> tuple[AllocationResult, ...] | None:
    judge = Judge(view, gates, recorder)
    needs = [claim_needs(index, claim, view, gates) for index, claim in enumerate(claims)]
    for claim in needs:
        prepare(claim, judge)
        check_size(claim)
    evaluated = sum(len(need.selectors) for claim in needs for request in claim.requests for need in request)
    limits.scan(SELECTOR * evaluated * len(view.candidates))
    books = Books(view, gates, len(claims), recorder)
    size = len(view.candidates)
    if recorder is None:
        search = Search(needs, size, judge, books, limits, Memory(needs, books, judge))
    else:
        search = RecordedSearch(needs, size, judge, books, limits, recorder)
    if not search.run():
        return None
    chosen = search.chosen
    return tuple(
        allocation_result(claim, index, books.results[index], chosen, view.node_name, gates)
        for index, claim in enumerate(needs)
    )


def _why_none(view: NodeView) -> str:
    pool = view.invalid_pool
    if pool is not None:
        return f"invalid resource pools were encountered: {pool.driver}/{pool.name}: {pool.invalid}"
    return "cannot allocate all claims"
