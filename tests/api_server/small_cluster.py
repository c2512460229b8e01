"""The cluster that the exchanges were recorded from: six nodes with GPUs and NICs, claims, pods."""

from __future__ import annotations

import json
from typing import Any

from .answers import recorded
from .store import KINDS, Store

_LISTS = {f"/apis/resource.k8s.io/v1/{p}": p for p in ("resourceslices", "deviceclasses", "resourceclaims")} | {
    "/apis/resource.k8s.io/v1/resourceclaimtemplates": "resourceclaimtemplates",
    "/api/v1/nodes": "nodes",
    "/api/v1/pods": "pods",
    "/api/v1/events?fieldSelector=reason%3DFailedScheduling": "events",
}


def recorded_store() -> Store:
    """Return a store with the recorded objects, each at the resource version that it had."""
    store = Store()
    for exchange in recorded():
        plural = _LISTS.get(exchange["path"])
        if plural is None or exchange["as"] != "admin":
            continue
        found = json.loads(exchange["body"])
        for item in found["items"]:
            meta = item["metadata"]
            key = (meta.get("namespace", ""), meta["name"])
            store.objects[plural][key] = json.dumps(item, separators=(",", ":"), ensure_ascii=False).encode()
        store.version = int(found["metadata"]["resourceVersion"])
    return store


def claim(name: str, device: str = "", *, namespace: str = "team-a", node: str = "gpu-node-0") -> dict[str, Any]:
    """Return a ResourceClaim, holding a GPU of a node where a device is named."""
    result = {"request": "gpu", "driver": "gpu.nvidia.com", "pool": node, "device": device}
    request = {
        "name": "gpu",
        "exactly": {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 1},
    }
    return {
        "apiVersion": KINDS["resourceclaims"][1],
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": [request]}},
        "status": {"allocation": {"devices": {"results": [result]}}} if device else {},
    }
