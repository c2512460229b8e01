"""Kubernetes objects as a cluster returns them: nodes, slices, classes, claims. What is invented is deterministic."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass, field
from typing import Any

Object = dict[str, Any]

_NAMESPACE = uuid.UUID("6f1d2c58-3a6e-4d0b-9a5b-6d5f3f0c7e11")
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
CREATED = "2026-09-01T08:00:00Z"
ALLOCATED = "2026-11-02T09:30:00Z"
KUBELET = "v1.36.2"


class Version(str):
    """An attribute of type version (semver)."""

    __slots__ = ()


@dataclass(frozen=True)
class Sample:
    """One sample cluster: its name and the objects of each file."""

    name: str
    nodes: list[Object]
    slices: list[Object]
    classes: list[Object]
    claims: list[Object]
    topologies: list[Object] = field(default_factory=list)
    queues: list[Object] = field(default_factory=list)
    pods: list[Object] = field(default_factory=list)
    budgets: list[Object] = field(default_factory=list)


@dataclass(frozen=True)
class Held:
    """What one request of a claim holds: devices of one driver on the claim's node; `consumed` makes it a share."""

    request: str
    device_class: str
    driver: str
    devices: tuple[str, ...]
    selector: str = ""
    consumed: dict[str, str] = field(default_factory=dict)
    tolerate: str = ""


def uid(*parts: str) -> str:
    """Return a UUID that depends on the parts alone."""
    return str(uuid.uuid5(_NAMESPACE, "/".join(parts)))


def suffix(*parts: str) -> str:
    """Return five letters like those that the API server appends to a generateName."""
    digest = hashlib.sha256("/".join(parts).encode()).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:5])


def attributes(values: dict[str, Any]) -> Object:
    """Return typed attributes; None is left out."""
    return {name: _typed(value) for name, value in values.items() if value is not None}


def _typed(value: Any) -> Object:
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, int):
        return {"int": value}
    return {"version": str(value)} if isinstance(value, Version) else {"string": value}


def capacity(values: dict[str, str]) -> Object:
    """Return plain capacities."""
    return {name: {"value": value} for name, value in values.items()}


def node(name: str, cpus: int, memory: str, labels: dict[str, str], *, architecture: str = "amd64") -> Object:
    """Return a Ready node with the labels that every node has, and more."""
    standard = {
        "kubernetes.io/arch": architecture,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
    }
    amounts = {"cpu": str(cpus), "ephemeral-storage": "900Gi", "memory": memory, "pods": "110"}
    info = {
        "architecture": architecture,
        "bootID": uid(name, "boot"),
        "containerRuntimeVersion": "containerd://2.1.4",
        "kernelVersion": "6.8.0-1031",
        "kubeProxyVersion": "",
        "kubeletVersion": KUBELET,
        "machineID": uid(name, "machine").replace("-", ""),
        "operatingSystem": "linux",
        "osImage": "Ubuntu 24.04.3 LTS",
        "systemUUID": uid(name, "system"),
    }
    ready = {
        "lastHeartbeatTime": ALLOCATED,
        "lastTransitionTime": CREATED,
        "message": "kubelet is posting ready status",
        "reason": "KubeletReady",
        "status": "True",
        "type": "Ready",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "creationTimestamp": CREATED,
            "labels": standard | labels,
            "name": name,
            "uid": uid("node", name),
        },
        "spec": {},
        "status": {"allocatable": dict(amounts), "capacity": amounts, "conditions": [ready], "nodeInfo": info},
    }


def resource_slice(
    driver: str,
    node_name: str,
    devices: list[Object] | None = None,
    *,
    part: int = 0,
    parts: int = 1,
    generation: int = 1,
    counters: list[Object] | None = None,
) -> Object:
    """Return one slice of the pool that a driver publishes for a node (the pool is named after the node)."""
    stem = f"{node_name}-{driver}-" if parts == 1 else f"{part:05d}-{driver}-{node_name}-"
    spec: Object = {
        "driver": driver,
        "nodeName": node_name,
        "pool": {"generation": generation, "name": node_name, "resourceSliceCount": parts},
    }
    if counters is not None:
        spec["sharedCounters"] = counters
    else:
        spec["devices"] = devices
    owner = {"apiVersion": "v1", "controller": True, "kind": "Node", "name": node_name, "uid": uid("node", node_name)}
    name = stem + suffix(stem, str(part), str(generation))
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {
            "creationTimestamp": CREATED,
            "generateName": stem,
            "generation": 1,
            "name": name,
            "ownerReferences": [owner],
            "uid": uid("slice", name),
        },
        "spec": spec,
    }


def device_class(name: str, *expressions: str, extended_resource_name: str = "") -> Object:
    """Return a DeviceClass with CEL selectors."""
    spec: Object = {"selectors": [{"cel": {"expression": expression}} for expression in expressions]}
    if extended_resource_name:
        spec["extendedResourceName"] = extended_resource_name
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"creationTimestamp": CREATED, "name": name, "uid": uid("class", name)},
        "spec": spec,
    }


def claim(
    pod: str,
    node_name: str,
    held: list[Held],
    *,
    namespace: str = "training",
    named: str = "devices",
    match: tuple[str, list[str]] | None = None,
) -> Object:
    """Return an allocated claim of a template, reserved for its pod; `match` is (attribute, requests).

    `named` is what the pod calls the claim.
    """
    own = (namespace, pod) if named == "devices" else (namespace, pod, named)
    name = f"{pod}-{named}-{suffix('claim', *own)}"
    spec: Object = {"devices": {"requests": [_request(item) for item in held]}}
    if match:
        spec["devices"]["constraints"] = [{"matchAttribute": match[0], "requests": match[1]}]
    results = [_result(item, device, node_name, name) for item in held for device in item.devices]
    here = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "annotations": {"resource.kubernetes.io/pod-claim-name": named},
            "creationTimestamp": ALLOCATED,
            "finalizers": ["resource.kubernetes.io/delete-protection"],
            "generateName": f"{pod}-{named}-",
            "name": name,
            "namespace": namespace,
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "blockOwnerDeletion": True,
                    "controller": True,
                    "kind": "Pod",
                    "name": pod,
                    "uid": uid("pod", namespace, pod),
                }
            ],
            "uid": uid("claim", namespace, name),
        },
        "spec": spec,
        "status": {
            "allocation": {
                "devices": {"results": results},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [here]}]},
            },
            "reservedFor": [{"name": pod, "resource": "pods", "uid": uid("pod", namespace, pod)}],
        },
    }


def pod(
    namespace: str,
    name: str,
    node_name: str,
    *,
    owner: str = "",
    labels: dict[str, str] | None = None,
    priority: int = 0,
) -> Object:
    """Return a running pod with the claim `devices` of a template; `owner` is its controller as `Kind/name`."""
    kind, _, owner_name = owner.partition("/")
    versions = {"Job": "batch/v1"}
    metadata: Object = {
        "creationTimestamp": ALLOCATED,
        "labels": labels or {},
        "name": name,
        "namespace": namespace,
        "uid": uid("pod", namespace, name),
    }
    if owner:
        controller = {"apiVersion": versions.get(kind, "apps/v1"), "blockOwnerDeletion": True, "controller": True}
        controller |= {"kind": kind, "name": owner_name, "uid": uid(kind, namespace, owner_name)}
        metadata["ownerReferences"] = [controller]
    made = f"{name}-devices-{suffix('claim', namespace, name)}"
    resources = {"claims": [{"name": "devices"}], "limits": {}, "requests": {"cpu": "4", "memory": "32Gi"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {
            "containers": [{"image": "registry.example.com/app:1", "name": "main", "resources": resources}],
            "nodeName": node_name,
            "priority": priority,
            "resourceClaims": [{"name": "devices", "resourceClaimTemplateName": "devices"}],
            "schedulerName": "default-scheduler",
        },
        "status": {
            "phase": "Running",
            "resourceClaimStatuses": [{"name": "devices", "resourceClaimName": made}],
        },
    }


def budget(namespace: str, name: str, labels: dict[str, str], *, allowed: int) -> Object:
    """Return a PodDisruptionBudget that allows some disruptions now."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "creationTimestamp": CREATED,
            "name": name,
            "namespace": namespace,
            "uid": uid("pdb", namespace, name),
        },
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}},
        "status": {"currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": allowed, "expectedPods": 2},
    }


def cluster_object(api_version: str, kind: str, name: str, spec: Object) -> Object:
    """Return an object without a namespace, of a scheduler's own API."""
    metadata = {"creationTimestamp": CREATED, "generation": 1, "name": name, "uid": uid(kind, name)}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def topology(api_version: str, name: str, *labels: str) -> Object:
    """Return a Topology of Kueue or KAI, whose last level is the host name."""
    levels = [{"nodeLabel": label} for label in (*labels, "kubernetes.io/hostname")]
    return cluster_object(api_version, "Topology", name, {"levels": levels})


def cordoned(item: Object) -> Object:
    """Return a node after kubectl cordon."""
    taint = {"effect": "NoSchedule", "key": "node.kubernetes.io/unschedulable", "timeAdded": ALLOCATED}
    return item | {"spec": {"taints": [taint], "unschedulable": True}}


def _request(held: Held) -> Object:
    exactly: Object = {
        "allocationMode": "ExactCount",
        "count": len(held.devices),
        "deviceClassName": held.device_class,
    }
    if held.selector:
        exactly["selectors"] = [{"cel": {"expression": held.selector}}]
    if held.consumed:
        exactly["capacity"] = {"requests": dict(held.consumed)}
    if held.tolerate:
        exactly["tolerations"] = [{"key": held.tolerate, "operator": "Exists"}]
    return {"exactly": exactly, "name": held.request}


def _result(held: Held, device: str, pool: str, claim_name: str) -> Object:
    result: Object = {"device": device, "driver": held.driver, "pool": pool, "request": held.request}
    if held.consumed:
        result["consumedCapacity"] = dict(held.consumed)
        result["shareID"] = uid("share", claim_name, device)
    if held.tolerate:
        result["tolerations"] = [{"key": held.tolerate, "operator": "Exists"}]
    return result
