"""What the allocator writes into `status.allocation` (docs/semantics.md 3.12.3, 3.16)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from fractions import Fraction

import msgspec

from dra_lab.model.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClaimConfiguration,
    DeviceClassConfiguration,
    DeviceRequestAllocationResult,
    DeviceToleration,
)
from dra_lab.model.nodes import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from dra_lab.model.quantity import NANO, format_quantity
from dra_lab.model.release import Gates
from dra_lab.scheduler.allocating import Taken
from dra_lab.scheduler.requests import ClaimNeeds, Need
from dra_lab.scheduler.search_limits import AttemptAborted

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
        tolerations=tuple(map(_toleration, need.tolerations)),
        binding_conditions=candidate.device.binding_conditions if binding else (),
        binding_failure_conditions=candidate.device.binding_failure_conditions if binding else (),
        share_id=None if taken.consumed is None else str(uuid.uuid5(_SHARES, share)),
        consumed_capacity={
            key: format_quantity(Fraction(amount, NANO)) for key, amount in (taken.consumed or {}).items()
        },
    )


def _toleration(toleration: DeviceToleration) -> dict[str, object]:
    # the API server stores the default operator
    fields: dict[str, object] = msgspec.to_builtins(toleration)
    return {"operator": "Equal"} | fields


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
