"""The purpose of each sample, as facts."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from dra_lab.drivers import derived_numa, device_kind, documented_class, profile, published

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


def held(name: str) -> list[tuple[str, str, str]]:
    """Return (driver, pool, device) of every result of every claim."""
    return [
        (result["driver"], result["pool"], result["device"])
        for claim in sample(name, "resourceclaims.yaml")
        for result in claim["status"]["allocation"]["devices"]["results"]
    ]


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


def test_p4d_has_an_idle_node() -> None:
    """One p4d node is free and untainted, so that four pairs fit now."""
    busy = {pool for _, pool, _ in held("eks-p4d")}
    tainted = {
        item["spec"]["nodeName"]
        for item in sample("eks-p4d")
        if any(device.get("taints") for device in item["spec"]["devices"])
    }

    assert len(by_node(sample("eks-p4d"), "dra.net").keys() - busy - tainted) == 1


@pytest.mark.parametrize("name", ["eks-p4d", "oke-gb200"])
def test_cloud_gpus_publish_no_numa_node(name: str) -> None:
    """The GPU driver of both clouds is older than the standard NUMA attribute."""
    gpus = [gpu for node in by_node(sample(name), "gpu.nvidia.com").values() for gpu in node.values()]

    assert {published("gpu.nvidia.com", "numaNode", gpu.get) for gpu in gpus} == {None}


def test_gb200_never_shares_a_root() -> None:
    """No GPU and no NIC of a GB200 node are under the same root."""
    slices = sample("oke-gb200")
    gpus, nics = by_node(slices, "gpu.nvidia.com"), by_node(slices, "dra.net")

    assert {pairs(gpus[node], nics[node], rdma_only=False) for node in gpus} == {0}


def test_gb200_numa_is_derived() -> None:
    """The NUMA node of every GB200 GPU is known from documented facts, two GPUs a NUMA node."""
    for gpus in by_node(sample("oke-gb200"), "gpu.nvidia.com").values():
        answers = [derived_numa("gpu.nvidia.com", gpu.get) for gpu in gpus.values()]
        assert [answer[0] for answer in answers if answer] == [0, 0, 1, 1]


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


def test_dgx_is_a_third_in_use() -> None:
    """A third of the GPUs and between a quarter and a third of the NICs are held."""
    drivers = Counter(driver for driver, _, _ in held("dgx-h100"))

    assert (drivers["gpu.nvidia.com"], drivers["dra.net"]) == (21, 21)


def test_dgx_management_nic_looks_like_a_compute_nic() -> None:
    """The management NIC has RDMA and the same model, but shares its root with no GPU; first fit meets it second."""
    slices = sample("dgx-h100")
    gpus, nics = by_node(slices, "gpu.nvidia.com")["dgx-01"], by_node(slices, "dra.net")["dgx-01"]
    roots = {gpu[ROOT] for gpu in gpus.values()}

    assert {(nic["dra.net/rdma"], nic["dra.net/pciDevice"]) for nic in nics.values()} == {
        (True, "MT2910 Family [ConnectX-7]")
    }
    assert [name for name, nic in nics.items() if nic[ROOT] not in roots] == [list(nics)[1]]


def test_dgx_has_two_racks() -> None:
    """Four nodes stand in each rack."""
    racks = Counter(
        node["metadata"]["labels"]["topology.example.com/rack"] for node in sample("dgx-h100", "nodes.yaml")
    )

    assert racks == {"rack-a": 4, "rack-b": 4}


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


def test_mig_counters_cover_every_partition() -> None:
    """Each partition alone fits into its GPU, and consumes only counters that its GPU declares."""
    slices = [item["spec"] for item in sample("mig")]
    sets = {entry["name"]: entry["counters"] for spec in slices for entry in spec.get("sharedCounters", ())}
    uses = [use for spec in slices for device in spec.get("devices", ()) for use in device["consumesCounters"]]

    assert len(uses) == 2 * 25
    assert all(set(use["counters"]) <= set(sets[use["counterSet"]]) for use in uses)
    assert all(
        int(counter["value"]) <= 1 for use in uses for name, counter in use["counters"].items() if "slice" in name
    )


def test_shared_gpus_have_room() -> None:
    """Shares of one GPU add up to less than it has."""
    cores = [
        int(result["consumedCapacity"]["cores"])
        for claim in sample("shared-gpu", "resourceclaims.yaml")
        for result in claim["status"]["allocation"]["devices"]["results"]
        if result["driver"].startswith("hami")
    ]

    assert cores == [50, 30]


def test_trouble_pools() -> None:
    """The GPU pools are incomplete, of two generations, with an undeclared counter set, and with a name twice."""
    gpus = [item["spec"] for item in sample("trouble") if item["spec"]["driver"] == "gpu.nvidia.com"]
    slices = Counter(spec["nodeName"] for spec in gpus)
    announced = {spec["nodeName"]: spec["pool"]["resourceSliceCount"] for spec in gpus}
    generations = {spec["pool"]["generation"] for spec in gpus if spec["nodeName"] == "n3-stale-slice"}
    names = [device["name"] for spec in gpus if spec["nodeName"].startswith("n8") for device in spec["devices"]]
    declared = {entry["name"] for spec in gpus for entry in spec.get("sharedCounters", ())}
    consumed = {
        use["counterSet"]
        for spec in gpus
        for device in spec.get("devices", ())
        for use in device.get("consumesCounters", ())
    }

    assert [node for node in slices if slices[node] < announced[node]] == ["n2-incomplete-pool"]
    assert generations == {1, 2}
    assert [name for name, count in Counter(names).items() if count > 1] == ["gpu-1"]
    assert consumed - declared == {"gpu-1-counter-set"}


def test_trouble_has_a_taint_of_each_effect() -> None:
    """Tainted GPUs show all three effects, of which None keeps no pod away."""
    effects = {
        taint["effect"]
        for item in sample("trouble")
        for device in item["spec"].get("devices", ())
        for taint in device.get("taints", ())
    }

    assert effects == {"NoSchedule", "NoExecute", "None"}


def test_trouble_has_a_selector_trap() -> None:
    """The class fast-nic reads an attribute that some devices of its driver lack."""
    (trap,) = (item for item in sample("trouble", "deviceclasses.yaml") if item["metadata"]["name"] == "fast-nic")
    lacking = [
        device
        for devices in by_node(sample("trouble"), "dra.net").values()
        for device in devices.values()
        if "dra.net/mtu" not in device
    ]

    assert "mtu" in trap["spec"]["selectors"][0]["cel"]["expression"]
    assert lacking


@pytest.mark.parametrize("name", sorted(path.parent.name for path in FOLDER.glob("*/deviceclasses.yaml")))
def test_classes_are_the_documented_ones(name: str) -> None:
    """A class with a documented name has the documented selectors."""
    for item in sample(name, "deviceclasses.yaml"):
        found = documented_class(item["metadata"]["name"])
        if found is not None:
            selectors = tuple(selector["cel"]["expression"] for selector in item["spec"]["selectors"])
            assert (selectors, item["spec"].get("extendedResourceName", "")) == (
                found[1].selectors,
                found[1].extended_resource_name,
            )


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
