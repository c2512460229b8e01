"""The purpose of each sample, as facts."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_lab import check_cluster, load_cluster
from dra_lab.drivers import device_kind, profile, published

FOLDER = Path(__file__).parents[2] / "sample_clusters"
ROOT = "resource.kubernetes.io/pcieRoot"
REAL = Path(__file__).parents[2].parent / "shared" / "real-data" / "slices"

Object = dict[str, Any]


@cache
def load(path: Path) -> list[Object]:
    """Read the objects of one file."""
    document: Object = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    items: list[Object] = document["items"] if document["kind"] == "List" else [document]
    return items


def sample(name: str, file: str = "resourceslices.yaml") -> list[Object]:
    """Read one file of a sample."""
    return load(FOLDER / name / file)


def values(driver: str, device: Object) -> dict[str, Any]:
    """Return a device's attribute values by their full names."""
    return {
        key if "/" in key else f"{driver}/{key}": next(iter(value.values()))
        for key, value in device["attributes"].items()
    }


def by_node(slices: list[Object], driver: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return node -> device -> attribute values of one driver."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for spec in (item["spec"] for item in slices if item["spec"]["driver"] == driver):
        for device in spec.get("devices", ()):
            found.setdefault(spec["nodeName"], {})[device["name"]] = values(driver, device)
    return found


def pairs(gpus: dict[str, dict[str, Any]], nics: dict[str, dict[str, Any]], *, rdma_only: bool) -> int:
    """Return the largest number of disjoint GPU-NIC pairs that share a root: for each root the smaller number."""
    near = [nic for nic in nics.values() if nic["dra.net/rdma"] or not rdma_only]
    here = Counter(gpu[ROOT] for gpu in gpus.values())
    return sum(min(here[root], count) for root, count in Counter(nic[ROOT] for nic in near).items())


@pytest.mark.parametrize(("rdma_only", "expected"), [(True, 4), (False, 7)])
def test_p4d_pairs(rdma_only: bool, expected: int) -> None:
    """On every p4d node four GPU-EFA pairs share a root, seven when NICs without RDMA are taken too."""
    slices = sample("eks-p4d")
    gpus, nics = by_node(slices, "gpu.nvidia.com"), by_node(slices, "dra.net")

    assert {pairs(gpus[node], nics[node], rdma_only=rdma_only) for node in gpus} == {expected}


def test_gb200_never_shares_a_root() -> None:
    """No GPU and no NIC of a GB200 node are under the same root."""
    slices = sample("oke-gb200")
    gpus, nics = by_node(slices, "gpu.nvidia.com"), by_node(slices, "dra.net")

    assert {pairs(gpus[node], nics[node], rdma_only=False) for node in gpus} == {0}


@pytest.mark.skipif(not REAL.is_dir(), reason="no folder of real slices beside the checkout")
@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("eks-p4d", {"gpu.nvidia.com": "eks-p4d-gpu.yaml", "dra.net": "eks-p4d-nic.yaml"}),
        ("oke-gb200", {"gpu.nvidia.com": "oke-gb200-gpu.yaml", "dra.net": "oke-gb200-nic.yaml"}),
    ],
)
def test_hardware_is_that_of_the_real_node(name: str, files: dict[str, str]) -> None:
    """Apart from what is invented, every node's devices have the attributes and values of the real machine."""
    invented = {"gpu.nvidia.com/uuid", "dra.net/mac", "dra.net/ipv4"}

    def facts(node: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {
            device: {
                key: None if key in invented or key.startswith("oke.dra.net/") else value
                for key, value in attributes.items()
            }
            for device, attributes in node.items()
        }

    for driver, file in files.items():
        (real,) = by_node(load(REAL / file), driver).values()
        for node in by_node(sample(name), driver).values():
            assert facts(node) == facts(real)


def test_dgx_management_nic_looks_like_a_compute_nic() -> None:
    """The management NIC has RDMA and the same model, but shares its root with no GPU; first fit meets it second."""
    slices = sample("dgx-h100")
    gpus, nics = by_node(slices, "gpu.nvidia.com")["dgx-01"], by_node(slices, "dra.net")["dgx-01"]
    roots = {gpu[ROOT] for gpu in gpus.values()}

    assert {(nic["dra.net/rdma"], nic["dra.net/pciDevice"]) for nic in nics.values()} == {
        (True, "MT2910 Family [ConnectX-7]")
    }
    assert [name for name, nic in nics.items() if nic[ROOT] not in roots] == [list(nics)[1]]


def test_mi300x_numa_has_two_names() -> None:
    """GPUs and NICs publish the NUMA node under names that no constraint can match."""
    slices = sample("mi300x")
    found = {
        (published(driver, "numaNode", device.get) or ("", 0))[0]
        for driver in ("gpu.amd.com", "dra.net")
        for node in by_node(slices, driver).values()
        for device in node.values()
    }

    assert found == {"gpu.amd.com/numaNode", "dra.net/numaNode"}


def test_l40s_nics_are_on_one_numa_node_or_unknown() -> None:
    """Virtual functions sit on NUMA node 1 of the servers; in the virtual machine their place is not known."""
    driver = "sriovnetwork.k8snetworkplumbingwg.io"
    found = {
        node: {published(driver, "numaNode", device.get) for device in devices.values()}
        for node, devices in by_node(sample("inference-l40s"), driver).items()
    }

    assert found == {
        "l40s-1": {("dra.net/numaNode", 1)},
        "l40s-2": {("dra.net/numaNode", 1)},
        "l40s-vm-3": {None},
    }


def test_every_kind_of_device_is_shown() -> None:
    """The samples together have GPUs, NICs, CPUs and other devices."""
    kinds = {
        device_kind(item["spec"]["driver"], values(item["spec"]["driver"], device).get)
        for path in FOLDER.glob("*/resourceslices.yaml")
        for item in load(path)
        for device in item["spec"].get("devices", ())
    }

    assert kinds == {"gpu", "nic", "cpu", "other"}


def test_every_device_of_a_known_driver_can_be_asked_for() -> None:
    """Every published device is meant by some offer of its driver, except those that no person asks for."""
    missed = [
        (driver, device["name"])
        for path in FOLDER.glob("*/resourceslices.yaml")
        for driver, device in (
            (item["spec"]["driver"], d) for item in load(path) for d in item["spec"].get("devices", ())
        )
        if not any(
            offer.applies(
                values(driver, device).get,
                device.get("capacity", {}),
                shareable=device.get("allowMultipleAllocations", False),
            )
            for offer in profile(driver).offers
        )
    ]

    assert {driver for driver, _ in missed} == {"compute-domain.nvidia.com"}


def test_trouble_has_the_troubles_that_it_teaches() -> None:
    """Pools that kube-scheduler skips, taints, a name twice, and a device that is gone."""
    found = {finding.rule for finding in check_cluster(load_cluster("sample:trouble"))}
    assert found >= {
        "device-tainted",
        "device-vanished",
        "place-unknown",
        "pool-incomplete",
        "pool-invalid",
        "pool-stale",
    }
