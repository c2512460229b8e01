"""A large cluster for the benchmarks: five hardware types, GPUs, NICs, CPUs, partly busy; the same every time."""

from __future__ import annotations

import json
import random
from functools import cache
from typing import Any

from dra_lab.model.cluster import Cluster
from dra_lab.sources import load_texts

RESOURCE_V1 = "resource.k8s.io/v1"
ROOTS = (2, 4, 4, 8, 8)
"""PCIe roots of a node by hardware type; half of them on each NUMA node. GPUs and NICs are spread evenly over them."""


def _attributes(numa: int, root: int, index: int) -> dict[str, Any]:
    return {
        "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{root:02x}"},
        "resource.kubernetes.io/numaNode": {"int": numa},
        "resource.kubernetes.io/pciBusID": {"string": f"0000:{root:02x}:{index:02x}.0"},
    }


def _gpu(node: int, index: int, numa: int, root: int) -> dict[str, Any]:
    own = {
        "type": {"string": "gpu"},
        "productName": {"string": "NVIDIA H100 80GB HBM3"},
        "uuid": {"string": f"GPU-{node:08x}-{index:04x}"},
        "driverVersion": {"version": "580.126.9"},
    }
    return {
        "name": f"gpu-{index}",
        "attributes": {**own, **_attributes(numa, root, index)},
        "capacity": {"memory": {"value": "81559Mi"}},
    }


def _nic(index: int, numa: int, root: int) -> dict[str, Any]:
    own = {
        "dra.net/rdma": {"bool": True},
        "dra.net/numaNode": {"int": numa},
        "dra.net/ifName": {"string": f"rdma{index}"},
        "dra.net/mtu": {"int": 9000},
    }
    return {"name": f"nic-{index}", "attributes": {**own, **_attributes(numa, root, 16 + index)}}


def _cpu(numa: int) -> dict[str, Any]:
    return {
        "name": f"cpudevnuma{numa:03d}",
        "attributes": {"resource.kubernetes.io/numaNode": {"int": numa}, "dra.cpu/numCPUs": {"int": 56}},
        "allowMultipleAllocations": True,
        "capacity": {"dra.cpu/cpu": {"value": "56"}},
    }


def _slice(node: str, driver: str, devices: list[dict[str, Any]]) -> dict[str, Any]:
    spec = {"driver": driver, "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}, "nodeName": node}
    return {
        "apiVersion": RESOURCE_V1,
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{driver}"},
        "spec": {**spec, "devices": devices},
    }


def _class(name: str, expression: str) -> dict[str, Any]:
    spec = {"selectors": [{"cel": {"expression": expression}}]}
    return {"apiVersion": RESOURCE_V1, "kind": "DeviceClass", "metadata": {"name": name}, "spec": spec}


def _claim(node: str, results: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "apiVersion": RESOURCE_V1,
        "kind": "ResourceClaim",
        "metadata": {"name": f"busy-{node}", "namespace": "a" if node[-1] in "02468" else "b"},
        "spec": {},
        "status": {"allocation": {"devices": {"results": results}}},
    }


@cache
def documents(nodes: int, busy: float = 0.2) -> str:
    """Return the JSON of a List as kubectl writes it: `nodes` nodes with 8 GPUs, 8 NICs and 2 CPU groups each."""
    chance = random.Random(7)
    items = [
        _class(
            "gpu.nvidia.com", "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"
        ),
        _class("dranet", "device.driver == 'dra.net'"),
        _class("dra.cpu", "device.driver == 'dra.cpu'"),
    ]
    for number in range(nodes):
        node, roots = f"node-{number:05d}", ROOTS[number % len(ROOTS)]
        places = [(index * roots // 8, 2 * (index * roots // 8) // roots) for index in range(8)]
        gpus = [_gpu(number, i, numa, 0x10 + 16 * (root % 14)) for i, (root, numa) in enumerate(places)]
        nics = [_nic(i, numa, 0x10 + 16 * (root % 14)) for i, (root, numa) in enumerate(places)]
        labels = {"kubernetes.io/hostname": node}
        items.append({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node, "labels": labels}})
        items.append(_slice(node, "gpu.nvidia.com", gpus))
        items.append(_slice(node, "dra.net", nics))
        items.append(_slice(node, "dra.cpu", [_cpu(0), _cpu(1)]))
        taken = [
            {"request": "r", "driver": driver, "pool": node, "device": device["name"]}
            for driver, devices in (("gpu.nvidia.com", gpus), ("dra.net", nics))
            for device in devices
            if chance.random() < busy
        ]
        if taken:
            items.append(_claim(node, taken))
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


@cache
def big_cluster(nodes: int, busy: float = 0.2) -> Cluster:
    """Return the cluster of `documents`."""
    return load_texts({"big.json": documents(nodes, busy)})
