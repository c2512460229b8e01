"""Small nodes for the tests of topology and pictures, and the real slices where they are at hand."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import yaml

from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec

ROOT = "resource.kubernetes.io/pcieRoot"
NUMA = "resource.kubernetes.io/numaNode"
SHARED = Path(__file__).parents[1].parent / "shared"


def attribute(value: str | int | bool) -> DeviceAttribute:
    """Wrap a value in the member of its type."""
    if isinstance(value, bool):
        return DeviceAttribute(bool_=value)
    return DeviceAttribute(int_=value) if isinstance(value, int) else DeviceAttribute(string=value)


def device(name: str, attributes: dict[str, str | int | bool] | None = None, **fields) -> Device:
    """Make a device from plain values."""
    return Device(name=name, attributes={k: attribute(v) for k, v in (attributes or {}).items()}, **fields)


def a_slice(driver: str, *devices: Device, node: str = "n1", count: int = 1, generation: int = 1) -> ResourceSlice:
    """Make a slice with the pool named after the node."""
    pool = ResourcePool(name=node, generation=generation, resource_slice_count=count)
    spec = ResourceSliceSpec(driver=driver, pool=pool, node_name=node, devices=devices)
    return ResourceSlice(metadata=ObjectMeta(name=f"{node}-{driver}"), spec=spec)


def cluster(*slices: ResourceSlice, **fields) -> Cluster:
    """Make a cluster of slices."""
    return Cluster(slices=slices, name="test", **fields)


def gpu(index: int, root: str = "", **more: str | int | bool) -> Device:
    """Make an NVIDIA GPU; `root` is its PCIe root or ""."""
    attributes = {"type": "gpu", "productName": "NVIDIA A100", **({ROOT: root} if root else {}), **more}
    return device(f"gpu-{index}", attributes)


def nic(name: str, root: str = "", numa: int | None = None) -> Device:
    """Make a DRANET device with RDMA."""
    attributes: dict[str, str | int | bool] = {"dra.net/rdma": True, "dra.net/pciDevice": "a NIC"}
    if root:
        attributes[ROOT] = root
    if numa is not None:
        attributes["dra.net/numaNode"] = numa
    return device(name, attributes)


def real_cluster(name: str) -> Cluster:
    """Read the recorded slices of one machine; skips where they are absent."""
    folder = SHARED / "real-data" / "slices"
    if not folder.is_dir():
        pytest.skip(f"the recorded slices are not at hand ({folder})")
    slices = []
    for part in ("gpu", "nic"):
        document = yaml.safe_load((folder / f"{name}-{part}.yaml").read_text(encoding="utf-8"))
        slices += [msgspec.convert(item, ResourceSlice) for item in document.get("items", [document])]
    return Cluster(slices=tuple(slices), name=name)
