"""What kube-scheduler would take on one node: the structured allocator of Kubernetes 1.36, device by device."""

from __future__ import annotations

import math
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import msgspec
from msgspec import Struct

from dra_lab.errors import CelCompileError
from dra_lab.model.claims import (
    AllocatedDevices,
    AllocationResult,
    DeviceAllocationResult,
    DeviceClaimConfiguration,
    DeviceClassConfiguration,
    DeviceRequestAllocationResult,
    ResourceClaim,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.quantity import NANO, format_quantity
from dra_lab.model.release import RECORDED_RELEASES, Gates, KubernetesRelease, gates_of
from dra_lab.scheduler.allocating import Books, Judge, Taken, prepare
from dra_lab.scheduler.candidates import NodeView, check_supported, view_node
from dra_lab.scheduler.depth_first import RecordedSearch, Search
from dra_lab.scheduler.memory import Memory
from dra_lab.scheduler.recorder import Recorder
from dra_lab.scheduler.requests import ClaimNeeds, Need, check_size, claim_needs
from dra_lab.scheduler.search_limits import SELECTOR, AttemptAborted, NodeFails, SearchLimits, SearchStopped

_SHARES = uuid.UUID("6f1d3c1e-5b0f-5f63-9a8e-2f4f0f5d7c11")


def allocation_result(
    needs: ClaimNeeds,
    index: int,
    taken: Sequence[Taken],
    chosen: Mapping[tuple[int, int], int],
    node: str,
    gates: Gates,
) -> AllocationResult:
    """Return the allocation of one claim; shareIDs, random in Kubernetes, are derived from what is shared.

    `chosen` holds the alternative taken by (claim, request). Raises AttemptAborted for a device whose node selector has
    more than one term.
    """
    picked = [request[chosen.get((index, position), 0)] for position, request in enumerate(needs.requests)]
    results = tuple(_device_result(needs, position, part, gates) for position, part in enumerate(taken))
    devices = DeviceAllocationResult(results=results, config=_config(needs, picked, gates))
    return AllocationResult(devices=devices, node_selector=_node_selector(needs, taken, node))


def _device_result(needs: ClaimNeeds, position: int, taken: Taken, gates: Gates) -> DeviceRequestAllocationResult:
    need, candidate = taken.need, taken.candidate
    metadata = needs.claim.metadata
    share = f"{metadata.namespace}/{metadata.name}/{metadata.uid}/{position}/{candidate.id}"
    binding = gates.binding_conditions
    return DeviceRequestAllocationResult(
        request=need.reference,
        driver=candidate.driver,
        pool=candidate.id.pool,
        device=candidate.id.device,
        admin_access=True if need.admin_access else None,
        # the API server stores the default operator
        tolerations=tuple({"operator": "Equal"} | msgspec.to_builtins(one) for one in need.tolerations),
        binding_conditions=candidate.device.binding_conditions if binding else (),
        binding_failure_conditions=candidate.device.binding_failure_conditions if binding else (),
        share_id=None if taken.consumed is None else str(uuid.uuid5(_SHARES, share)),
        consumed_capacity={
            key: format_quantity(Fraction(amount, NANO)) for key, amount in (taken.consumed or {}).items()
        },
    )


def _config(needs: ClaimNeeds, picked: Sequence[Need], gates: Gates) -> tuple[dict[str, object], ...]:
    """Class configurations once a class in order of first use, then those of the claim that apply.

    From 1.37 one that is for every request names none. Rules: docs/semantics.md 3.16.2, 3.16.3.
    """
    entries: list[dict[str, object]] = []
    by_class: dict[str, list[Need]] = {}
    for need in picked:
        by_class.setdefault(need.device_class.name, []).append(need)
    for same in by_class.values():
        every = not gates.defects and len(same) == len(picked)
        names = () if every else tuple(need.reference for need in same)
        entries += [_entry("FromClass", names, config) for config in same[0].device_class.spec.config]
    for config in needs.claim.spec.devices.config:
        wanted = config.requests
        hits = sum(need.request in wanted or need.reference in wanted for need in picked)
        if not wanted:
            entries.append(_entry("FromClaim", (), config))
        elif hits:
            whole = not gates.defects and hits == len(picked)
            repeated = hits if gates.defects else 1
            entries += [_entry("FromClaim", () if whole else wanted, config)] * repeated
    return tuple(entries)


def _entry(
    source: str, requests: Sequence[str], config: DeviceClaimConfiguration | DeviceClassConfiguration
) -> dict[str, object]:
    entry: dict[str, object] = {"source": source}
    if requests:
        entry["requests"] = list(requests)
    if config.opaque is not None:
        entry["opaque"] = msgspec.to_builtins(config.opaque)
    return entry


def _node_selector(needs: ClaimNeeds, taken: Sequence[Taken], node: str) -> NodeSelector | None:
    """Restrict the claim to the node for any node-local device, else AND all requirements of the devices.

    Rule: docs/semantics.md 3.12.3.
    """
    fields: dict[NodeSelectorRequirement, NodeSelectorRequirement] = {}
    labels: dict[NodeSelectorRequirement, NodeSelectorRequirement] = {}
    for part in taken:
        device, spec = part.candidate.device, part.candidate.slice.spec
        own = device if spec.per_device_node_selection else spec
        if own.node_name is not None or device.binds_to_node:
            only = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node,))
            return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(only,)),))
        if own.node_selector is None:
            continue
        terms = own.node_selector.node_selector_terms
        if len(terms) != 1:
            raise AttemptAborted(
                f"claim {needs.label}, device {part.candidate.id}: its node selector has {len(terms)} terms, one is "
                "needed; kube-scheduler gives up the pod"
            )
        for requirement in terms[0].match_fields:
            fields.setdefault(_by_value(requirement), requirement)
        for requirement in terms[0].match_expressions:
            labels.setdefault(_by_value(requirement), requirement)
    if not (fields or labels):
        return None
    term = NodeSelectorTerm(match_fields=tuple(fields.values()), match_expressions=tuple(labels.values()))
    return NodeSelector(node_selector_terms=(term,))


def _by_value(requirement: NodeSelectorRequirement) -> NodeSelectorRequirement:
    # equal as sets of values means equal
    return msgspec.structs.replace(requirement, values=tuple(sorted(set(requirement.values))))


class Verdict(Struct, frozen=True):
    """What first fit ends with on one node.

    `allocations` holds one result a claim, in the order of the claims, when `status` is ALLOCATED, else None. `message`
    says why a node has none, why the whole attempt of the pod would be given up (ERROR), or where the search stopped.
    `steps` counts the candidates that were tried, `seconds` is the time that kube-scheduler needs for them at most, as
    `search_limits` estimates it. `recorded` is False for releases whose verdicts come from
    documentation. `invalid_pools` is True when nothing was found and the node sees an invalid pool, or one that keeps
    it from a request for all devices.
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
    held: AllocatedDevices | None = None,
    cancel: threading.Event | None = None,
    recorder: Recorder | None = None,
    progress: Callable[[int], None] | None = None,
    gates: Gates | None = None,
) -> Verdict:
    """Return what kube-scheduler takes for the unallocated claims of one pod on a node, in the claims' order.

    The search is the structured allocator's: pools by (driver, name), slices by name, devices in list order, lazy CEL,
    full backtracking (docs/semantics.md 3). `time_limit` is in seconds of our own time, `search_limit` in seconds that
    kube-scheduler needs (`Verdict.seconds`); at a limit the verdict is STOPPED, never NONE.
    `held` replaces what is in use, and `gates` those of the release. `recorder` records the steps (`node_trace`).
    `progress` gets the number of candidates so far, every few milliseconds.
    Raises InputError for an unknown node, QuantityError for a broken amount, UnsupportedFeature for rules of alpha
    gates, Cancelled once `cancel` is set.
    """
    gates = gates or gates_of(release)
    cluster.node_named(node_name)
    view = view_node(cluster, node_name, gates, held)
    check_supported(view, claims, release)
    limits = SearchLimits(step_limit, time_limit, cancel, search_limit, progress)
    recorded = release.version in RECORDED_RELEASES
    return search_node(view, claims, gates, limits, recorder, recorded=recorded)


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
    status, message, invalid = FirstFitStatus.NONE, "", False
    allocations: tuple[AllocationResult, ...] | None = None
    try:
        allocations = _allocate(view, claims, gates, limits, recorder)
    except (AttemptAborted, CelCompileError) as error:
        status, message = FirstFitStatus.ERROR, str(error)
    except NodeFails as error:
        message, invalid = str(error), True
    except SearchStopped as stop:
        status, message = FirstFitStatus.STOPPED, str(stop)
    pool = view.invalid_pool
    if allocations is not None:
        status = FirstFitStatus.ALLOCATED
    elif status is FirstFitStatus.NONE and not invalid:
        invalid, message = pool is not None, "cannot allocate all claims"
        if pool is not None:
            message = f"invalid resource pools were encountered: {pool.driver}/{pool.name}: {pool.invalid}"
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
