"""What of each object goes into a snapshot: what planning needs, and nothing that may hold a secret.

Never kept: annotations, managedFields, finalizers, owners, parameters of opaque configurations, data and network data
of allocated devices, messages of conditions, images, commands, arguments and environment of containers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from msgspec import structs

from dra_lab.model.claims import DeviceAllocationResult, DeviceClass, ResourceClaim, ResourceClaimStatus
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import Node, NodeSpec, ObjectMeta
from dra_lab.model.pods import Container, Pod, PodSpec, ResourceRequirements
from dra_lab.model.slices import DeviceTaintRule, ResourceSlice
from dra_lab.model.topologies import CustomValue, ResourceFlavor

_STATUS_KEYS = ("driver", "pool", "device", "shareID", "conditions")
_CONDITION_KEYS = ("type", "status", "observedGeneration", "lastTransitionTime")
_TAINT_KEYS = ("key", "value", "effect")
_TOLERATION_KEYS = (*_TAINT_KEYS, "operator")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
"""The field of an affinity that kube-scheduler must obey."""

_Custom = TypeVar("_Custom", bound=CustomValue)


def portable(cluster: Cluster) -> tuple[Cluster, dict[str, int]]:
    """Return a cluster with what planning needs of it, and how much of what was left out, by its name in the API.

    All labels of nodes stay, since a pod's nodeSelector may name any; other objects keep none.
    """
    left_out: Counter[str] = Counter()
    left_out["config"] += sum(len(item.spec.config) for item in cluster.classes)
    kept = replace(
        cluster,
        slices=tuple(ResourceSlice(_meta(item.metadata, left_out), item.spec) for item in cluster.slices),
        classes=tuple(
            DeviceClass(metadata=_meta(item.metadata, left_out), spec=structs.replace(item.spec, config=()))
            for item in cluster.classes
        ),
        nodes=tuple(_node(item, left_out) for item in cluster.nodes),
        claims=tuple(_claim(item, left_out) for item in cluster.claims),
        taint_rules=tuple(DeviceTaintRule(_meta(item.metadata, left_out), item.spec) for item in cluster.taint_rules),
        pods=tuple(_pod(item, left_out) for item in cluster.pods if item.uses_claims),
        topologies=tuple(_custom(item, left_out) for item in cluster.topologies),
        queues=tuple(_custom(item, left_out) for item in cluster.queues),
    )
    return kept, dict(sorted((name, count) for name, count in left_out.items() if count))


def _picked(entries: Iterable[Mapping[str, object]], keys: tuple[str, ...]) -> tuple[dict[str, object], ...]:
    """Return JSON objects with some of their keys."""
    return tuple({key: entry[key] for key in keys if key in entry} for entry in entries)


def _meta(meta: ObjectMeta, left_out: Counter[str], *, labels: bool = False) -> ObjectMeta:
    left_out["annotations"] += len(meta.annotations)
    if not labels:
        left_out["labels"] += len(meta.labels)
    return ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        labels=meta.labels if labels else {},
        deletion_timestamp=meta.deletion_timestamp,
    )


def _node(item: Node, left_out: Counter[str]) -> Node:
    spec = NodeSpec(unschedulable=item.spec.unschedulable, taints=_picked(item.spec.taints, _TAINT_KEYS))
    return Node(metadata=_meta(item.metadata, left_out, labels=True), spec=spec, status=item.status)


def _claim(item: ResourceClaim, left_out: Counter[str]) -> ResourceClaim:
    devices, allocation = item.spec.devices, item.status.allocation
    left_out["config"] += len(devices.config) + (len(allocation.devices.config) if allocation is not None else 0)
    if allocation is not None:
        allocation = structs.replace(allocation, devices=DeviceAllocationResult(results=allocation.devices.results))
    status = ResourceClaimStatus(
        allocation=allocation,
        reserved_for=item.status.reserved_for,
        devices=tuple(_device_status(entry, left_out) for entry in item.status.devices),
    )
    spec = structs.replace(item.spec, devices=structs.replace(devices, config=()))
    return ResourceClaim(metadata=_meta(item.metadata, left_out), spec=spec, status=status)


def _device_status(entry: dict[str, object], left_out: Counter[str]) -> dict[str, object]:
    left_out["status.devices"] += sum(1 for key in entry if key not in _STATUS_KEYS)
    (kept,) = _picked([entry], _STATUS_KEYS)
    conditions = kept.get("conditions")
    if isinstance(conditions, list | tuple):
        kept["conditions"] = list(_picked((one for one in conditions if isinstance(one, dict)), _CONDITION_KEYS))
    return kept


def _custom(item: _Custom, left_out: Counter[str]) -> _Custom:
    kept = structs.replace(item, metadata=_meta(item.metadata, left_out))
    if isinstance(kept, ResourceFlavor):
        taints = _picked(kept.spec.node_taints, _TAINT_KEYS)
        tolerations = _picked(kept.spec.tolerations, _TOLERATION_KEYS)
        kept = structs.replace(kept, spec=structs.replace(kept.spec, node_taints=taints, tolerations=tolerations))
    return kept


def _pod(item: Pod, left_out: Counter[str]) -> Pod:
    spec, status = item.spec, item.status
    claimed = any(isinstance(one, dict) and one.get("persistentVolumeClaim") is not None for one in spec.volumes)
    containers, first = (
        tuple(Container(name=one.name, resources=_resources(one.resources)) for one in group)
        for group in (spec.containers, spec.init_containers)
    )
    kept = PodSpec(
        containers=containers,
        init_containers=first,
        resource_claims=spec.resource_claims,
        node_name=spec.node_name,
        node_selector=spec.node_selector,
        affinity=_affinity(spec.affinity),
        tolerations=_picked(spec.tolerations, _TOLERATION_KEYS),
        topology_spread_constraints=({},) if spec.topology_spread_constraints else (),
        volumes=({"persistentVolumeClaim": {}},) if claimed else (),
        overhead=spec.overhead,
        resources=spec.resources,
        scheduling_gates=tuple({"name": one.get("name")} for one in spec.scheduling_gates),
        scheduling_group={"": ""} if spec.scheduling_group else {},
        scheduler_name=spec.scheduler_name,
    )
    running, initial = (
        tuple(one for one in group if one.allocated_resources_status)
        for group in (status.container_statuses, status.init_container_statuses)
    )
    status = structs.replace(status, conditions=(), container_statuses=running, init_container_statuses=initial)
    return Pod(metadata=_meta(item.metadata, left_out), spec=kept, status=status)


def _resources(needs: ResourceRequirements) -> ResourceRequirements:
    return ResourceRequirements(claims=needs.claims, limits=needs.limits, requests=needs.requests)


def _affinity(affinity: dict[str, object]) -> dict[str, object]:
    """Return the required node affinity of a pod, and only that there is a required affinity to other pods."""
    found: dict[str, object] = {}
    for field, value in affinity.items():
        required = value.get(REQUIRED) if isinstance(value, dict) else None
        if required:
            found[field] = {REQUIRED: required if field == "nodeAffinity" else [{}]}
    return found
