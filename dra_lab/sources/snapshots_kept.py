"""What of each object goes into a snapshot: what planning needs, and nothing that may hold a secret.

Never kept: annotations, managedFields, finalizers, owners, parameters of opaque configurations, data and network data
of allocated devices, messages of conditions, images, commands, arguments and environment of containers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TypeVar

from msgspec import structs

from dra_lab.model.claims import (
    AllocationResult,
    DeviceAllocationResult,
    DeviceClass,
    ResourceClaim,
    ResourceClaimStatus,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import Node, NodeSpec, ObjectMeta
from dra_lab.model.pods import Container, ContainerStatus, Pod, PodSpec, ResourceRequirements
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
    kept = replace(
        cluster,
        slices=tuple(_slice(item, left_out) for item in cluster.slices),
        classes=tuple(_class(item, left_out) for item in cluster.classes),
        nodes=tuple(_node(item, left_out) for item in cluster.nodes),
        claims=tuple(_claim(item, left_out) for item in cluster.claims),
        taint_rules=tuple(_rule(item, left_out) for item in cluster.taint_rules),
        pods=tuple(_pod(item, left_out) for item in cluster.pods if item.uses_claims),
        topologies=tuple(_custom(item, left_out) for item in cluster.topologies),
        queues=tuple(_custom(item, left_out) for item in cluster.queues),
    )
    return kept, dict(sorted((name, count) for name, count in left_out.items() if count))


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


def _slice(item: ResourceSlice, left_out: Counter[str]) -> ResourceSlice:
    return ResourceSlice(metadata=_meta(item.metadata, left_out), spec=item.spec)


def _class(item: DeviceClass, left_out: Counter[str]) -> DeviceClass:
    left_out["config"] += len(item.spec.config)
    return DeviceClass(metadata=_meta(item.metadata, left_out), spec=structs.replace(item.spec, config=()))


def _node(item: Node, left_out: Counter[str]) -> Node:
    taints = tuple({key: taint[key] for key in _TAINT_KEYS if key in taint} for taint in item.spec.taints)
    spec = NodeSpec(unschedulable=item.spec.unschedulable, taints=taints)
    return Node(metadata=_meta(item.metadata, left_out, labels=True), spec=spec, status=item.status)


def _claim(item: ResourceClaim, left_out: Counter[str]) -> ResourceClaim:
    devices = item.spec.devices
    left_out["config"] += len(devices.config)
    spec = structs.replace(item.spec, devices=structs.replace(devices, config=()))
    status = ResourceClaimStatus(
        allocation=_allocation(item.status.allocation, left_out),
        reserved_for=item.status.reserved_for,
        devices=tuple(_device_status(entry, left_out) for entry in item.status.devices),
    )
    return ResourceClaim(metadata=_meta(item.metadata, left_out), spec=spec, status=status)


def _allocation(allocation: AllocationResult | None, left_out: Counter[str]) -> AllocationResult | None:
    if allocation is None:
        return None
    left_out["config"] += len(allocation.devices.config)
    return structs.replace(allocation, devices=DeviceAllocationResult(results=allocation.devices.results))


def _device_status(entry: dict[str, object], left_out: Counter[str]) -> dict[str, object]:
    left_out["status.devices"] += sum(1 for key in entry if key not in _STATUS_KEYS)
    kept = {key: entry[key] for key in _STATUS_KEYS if key in entry}
    conditions = kept.get("conditions")
    if isinstance(conditions, list | tuple):
        kept["conditions"] = [
            {key: condition[key] for key in _CONDITION_KEYS if key in condition}
            for condition in conditions
            if isinstance(condition, dict)
        ]
    return kept


def _rule(item: DeviceTaintRule, left_out: Counter[str]) -> DeviceTaintRule:
    return DeviceTaintRule(metadata=_meta(item.metadata, left_out), spec=item.spec)


def _custom(item: _Custom, left_out: Counter[str]) -> _Custom:
    kept = structs.replace(item, metadata=_meta(item.metadata, left_out))
    if isinstance(kept, ResourceFlavor):
        taints = tuple({key: one[key] for key in _TAINT_KEYS if key in one} for one in kept.spec.node_taints)
        tolerations = tuple({key: one[key] for key in _TOLERATION_KEYS if key in one} for one in kept.spec.tolerations)
        kept = structs.replace(kept, spec=structs.replace(kept.spec, node_taints=taints, tolerations=tolerations))
    return kept


def _pod(item: Pod, left_out: Counter[str]) -> Pod:
    spec = PodSpec(
        containers=tuple(_container(c) for c in item.spec.containers),
        init_containers=tuple(_container(c) for c in item.spec.init_containers),
        resource_claims=item.spec.resource_claims,
        node_name=item.spec.node_name,
        node_selector=item.spec.node_selector,
        affinity=_affinity(item.spec.affinity),
        tolerations=tuple({key: one[key] for key in _TOLERATION_KEYS if key in one} for one in item.spec.tolerations),
        topology_spread_constraints=({},) if item.spec.topology_spread_constraints else (),
        volumes=({"persistentVolumeClaim": {}},) if any(map(_is_claimed, item.spec.volumes)) else (),
        overhead=item.spec.overhead,
        resources=item.spec.resources,
        scheduling_gates=tuple({"name": one.get("name")} for one in item.spec.scheduling_gates),
        scheduling_group={"": ""} if item.spec.scheduling_group else {},
        scheduler_name=item.spec.scheduler_name,
    )
    status = structs.replace(
        item.status,
        conditions=(),
        container_statuses=_healthy_or_not(item.status.container_statuses),
        init_container_statuses=_healthy_or_not(item.status.init_container_statuses),
    )
    return Pod(metadata=_meta(item.metadata, left_out), spec=spec, status=status)


def _affinity(affinity: dict[str, object]) -> dict[str, object]:
    """Return the required node affinity of a pod, and only that there is a required affinity to other pods."""
    found: dict[str, object] = {}
    for field, value in affinity.items():
        required = value.get(REQUIRED) if isinstance(value, dict) else None
        if required:
            found[field] = {REQUIRED: required if field == "nodeAffinity" else [{}]}
    return found


def _is_claimed(volume: object) -> bool:
    return isinstance(volume, dict) and volume.get("persistentVolumeClaim") is not None


def _container(container: Container) -> Container:
    needs = container.resources
    resources = ResourceRequirements(claims=needs.claims, limits=needs.limits, requests=needs.requests)
    return Container(name=container.name, resources=resources)


def _healthy_or_not(statuses: tuple[ContainerStatus, ...]) -> tuple[ContainerStatus, ...]:
    return tuple(status for status in statuses if status.allocated_resources_status)
