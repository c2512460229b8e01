"""What is known of drivers: kinds, labels and places of devices, offers, and documented classes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from dra_lab.drivers.kinds import derived_numa, device_kind, device_label, device_short, published
from dra_lab.drivers.profiles import documented_class, known_drivers, profile
from dra_lab.model.driver_profile import KINDS, LEVELS, Lookup, Offer

if TYPE_CHECKING:
    from dra_lab.model.device import AttributeValue

FULL_NAME = re.compile(r"[a-z0-9.-]+/[A-Za-z_][A-Za-z0-9_]{0,31}")

GB200 = {"gpu.nvidia.com/type": "gpu", "gpu.nvidia.com/productName": "NVIDIA GB200"}


def device(attributes: dict[str, AttributeValue]) -> Lookup:
    return attributes.get


def offer(driver: str, key: str) -> Offer:
    return next(offer for offer in profile(driver, {}).offers if offer.key == key)


@pytest.mark.parametrize(
    ("driver", "kind"),
    [
        ("gpu.nvidia.com", "gpu"),
        ("gpu.amd.com", "gpu"),
        ("gpu.intel.com", "gpu"),
        ("hami-core-gpu.project-hami.io", "gpu"),
        ("dra.net", "nic"),
        ("sriovnetwork.k8snetworkplumbingwg.io", "nic"),
        ("dra.cpu", "cpu"),
        ("dra.memory", "memory"),
        ("compute-domain.nvidia.com", "other"),
        ("fpga.example.org", "other"),
    ],
)
def test_kind(driver: str, kind: str) -> None:
    """The kind follows from the driver; an unknown driver's devices are "other"."""
    assert device_kind(profile(driver, {}), device({})) == kind


@pytest.mark.parametrize(
    ("driver", "attributes", "label"),
    [
        ("gpu.nvidia.com", GB200, "NVIDIA GB200"),
        (
            "gpu.nvidia.com",
            {
                "gpu.nvidia.com/type": "mig",
                "gpu.nvidia.com/productName": "NVIDIA A100-SXM4-40GB",
                "gpu.nvidia.com/profile": "1g.5gb",
            },
            "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        ),
        ("dra.net", {"dra.net/pciDevice": "Elastic Fabric Adapter (EFA)"}, "Elastic Fabric Adapter (EFA)"),
        ("dra.net", {"dra.net/virtual": True, "dra.net/ifName": "cni0"}, "virtual interface"),
        ("dra.cpu", {"dra.cpu/numCPUs": 56, "resource.kubernetes.io/numaNode": 0}, "CPUs of a NUMA node"),
        ("compute-domain.nvidia.com", {"compute-domain.nvidia.com/type": "daemon"}, "IMEX daemon"),
        ("dra.cpu", {"dra.cpu/cpuID": 3, "dra.cpu/coreType": "standard"}, "CPU, standard core"),
        ("gpu.nvidia.com", {}, "NVIDIA GPU"),
        ("fpga.example.org", {}, "fpga.example.org"),
    ],
)
def test_label(driver: str, attributes: dict[str, AttributeValue], label: str) -> None:
    """The label is the model name that people know."""
    assert device_label(profile(driver, {}), device(attributes)) == label


def test_label_keeps_braces_of_the_cluster() -> None:
    """Text from the cluster is filled in once and never read as a template again."""
    assert device_label(profile("dra.net", {}), device({"dra.net/pciDevice": "{dra.net/mac}"})) == "{dra.net/mac}"


def test_published_prefers_the_standard_name() -> None:
    """Where a driver publishes a level twice, the standard attribute is taken."""
    both: dict[str, AttributeValue] = {"resource.kubernetes.io/numaNode": 1, "dra.net/numaNode": 0}

    assert published(profile("dra.net", {}), "numaNode", device(both)) == ("resource.kubernetes.io/numaNode", 1)


def test_published_passes_over_unknown() -> None:
    """-1 and "" stand for "not known"; 0 is a place like any other."""
    unknown: dict[str, AttributeValue] = {"dra.net/numaNode": -1, "resource.kubernetes.io/pcieRoot": ""}

    assert published(profile("sriovnetwork.k8snetworkplumbingwg.io", {}), "numaNode", device(unknown)) is None
    assert published(profile("sriovnetwork.k8snetworkplumbingwg.io", {}), "pcieRoot", device(unknown)) is None
    assert published(profile("dra.net", {}), "numaNode", device({"dra.net/numaNode": 0})) == ("dra.net/numaNode", 0)


def test_a_bool_is_not_an_int() -> None:
    """A bool attribute never meets a rule about an int, and the other way round."""
    assert device_label(profile("dra.net", {}), device({"dra.net/virtual": 1, "dra.net/pciDevice": "x"})) == "x"


def test_cpu_offers_follow_the_mode() -> None:
    """A shareable CPU group is asked for by capacity, single CPUs by count."""
    grouped, single = offer("dra.cpu", "cpu-group"), offer("dra.cpu", "cpu")
    group = device({"dra.cpu/numCPUs": 56})

    assert grouped.applies(group, ["dra.cpu/cpu"], shareable=True)
    assert not single.applies(group, ["dra.cpu/cpu"], shareable=True)
    assert single.applies(device({"dra.cpu/cpuID": 0}))
    assert not grouped.applies(device({"dra.cpu/cpuID": 0}))


def test_rdma_offer_is_for_rdma_devices() -> None:
    ena = device({"dra.net/rdma": False})

    assert not offer("dra.net", "rdma-nic").applies(ena)
    assert offer("dra.net", "nic").applies(ena)


@pytest.mark.parametrize(
    ("address", "numa"),
    [("0008:06:00.0", 0), ("0009:06:00.0", 0), ("0018:06:00.0", 1), ("0019:06:00.0", 1)],
)
def test_gb200_numa_is_derived(address: str, numa: int) -> None:
    """GB200 GPUs publish no NUMA node; the PCI domain gives it, with its source."""
    answer = derived_numa(profile("gpu.nvidia.com", {}), device({**GB200, "resource.kubernetes.io/pciBusID": address}))

    assert answer is not None
    assert answer[0] == numa
    assert answer[1].startswith("derived: on a GB200 the GPUs in PCI domains 0008")


@pytest.mark.parametrize(
    "attributes",
    [
        {**GB200, "resource.kubernetes.io/pciBusID": "0000:06:00.0"},
        {**GB200, "resource.kubernetes.io/pciBusID": "0008:06:00.0", "resource.kubernetes.io/numaNode": 1},
        {"gpu.nvidia.com/productName": "NVIDIA H200", "resource.kubernetes.io/pciBusID": "0008:06:00.0"},
        GB200,
    ],
    ids=["other domain", "published", "other machine", "no address"],
)
def test_nothing_is_derived_without_a_fact(attributes: dict[str, AttributeValue]) -> None:
    """An unknown machine or address stays unknown, and a published value is never overridden."""
    assert derived_numa(profile("gpu.nvidia.com", {}), device(attributes)) is None


@pytest.mark.parametrize(
    ("driver", "attributes", "short"),
    [
        ("dra.net", {"dra.net/ifName": "rdma0", "dra.net/rdmaDevice": "mlx5_0"}, "rdma0"),
        ("dra.net", {"dra.net/rdmaDevice": "rdmap16s27"}, "rdmap16s27"),
        ("dra.cpu", {"dra.cpu/cpuID": 3}, "cpu3"),
        ("gpu.nvidia.com", {"gpu.nvidia.com/type": "gpu"}, ""),
        ("new.example.org", {}, ""),
    ],
)
def test_short_label(driver: str, attributes: dict[str, AttributeValue], short: str) -> None:
    """A picture shows the name that people know a device by; without one the device's own name is left to be shown."""
    assert device_short(profile(driver, {}), device(attributes)) == short


@pytest.mark.parametrize("driver", known_drivers())
def test_names_are_full(driver: str) -> None:
    known = profile(driver, {})
    names = [name for attributes in known.topology.values() for name in attributes]
    names += [name for rule in (*known.kinds, *known.labels, *known.offers) for name in rule.when]

    assert [name for name in names if not FULL_NAME.fullmatch(name)] == []
    assert set(known.topology) <= set(LEVELS)
    assert {rule.kind for rule in (*known.kinds, *known.offers)} <= set(KINDS)


@pytest.mark.parametrize("driver", known_drivers())
def test_offers_name_documented_classes(driver: str) -> None:
    """An offer asks for a class that the same file documents, so that a missing class can be written."""
    known = profile(driver, {})

    assert {offer.device_class for offer in known.offers} <= {documented.name for documented in known.classes}


def test_dranet_class() -> None:
    """DRANET brings no class; the documented one is dranet and selects the driver."""
    found = documented_class("dranet", {})

    assert found is not None
    assert (found[0].driver, found[1].selectors) == ("dra.net", ('device.driver == "dra.net"',))


def test_class_is_found_by_its_other_names() -> None:
    """Users name DRANET's class after the driver too."""
    assert documented_class("dra.net", {}) == documented_class("dranet", {})


def test_unknown_driver_gets_a_generic_profile() -> None:
    """A driver without a file appears under its own name, with standard topology only."""
    known = profile("fpga.example.org", {})

    assert (known.title, known.known, known.offers) == ("fpga.example.org", False, ())
    assert known.attributes_at("numaNode") == ("resource.kubernetes.io/numaNode",)


@pytest.mark.parametrize("driver", ["../machines", "machines", "/etc/passwd", "gpu.nvidia.com.yaml", ""])
def test_driver_name_is_never_a_path(driver: str) -> None:
    """A driver's name comes from a cluster and cannot make us read another file."""
    assert not profile(driver, {}).known


def test_standard_name_is_looked_at_too() -> None:
    """A driver that begins to publish the standard name is read without a new data file."""
    assert profile("gpu.amd.com", {}).attributes_at("numaNode") == (
        "gpu.amd.com/numaNode",
        "resource.kubernetes.io/numaNode",
    )
