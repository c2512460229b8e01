"""The kind of a device and its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dra_lab.drivers import (
    Lookup,
    Offer,
    attributes_read,
    derived_numa,
    device_kind,
    device_label,
    device_short,
    profile,
    published,
)

if TYPE_CHECKING:
    from dra_lab.model.device import AttributeValue

GB200 = {"gpu.nvidia.com/type": "gpu", "gpu.nvidia.com/productName": "NVIDIA GB200"}


def device(attributes: dict[str, AttributeValue]) -> Lookup:
    """Look up in a plain dictionary."""
    return attributes.get


def offer(driver: str, key: str) -> Offer:
    """Find an offer by its key."""
    return next(offer for offer in profile(driver).offers if offer.key == key)


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
    assert device_kind(driver, device({})) == kind


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
    ],
)
def test_label(driver: str, attributes: dict[str, AttributeValue], label: str) -> None:
    """The label is the model name that people know."""
    assert device_label(driver, device(attributes)) == label


def test_label_without_attributes() -> None:
    """A device that publishes nothing is called by the title of its driver, or the driver's name."""
    assert device_label("gpu.nvidia.com", device({})) == "NVIDIA GPU"
    assert device_label("fpga.example.org", device({})) == "fpga.example.org"


def test_label_keeps_braces_of_the_cluster() -> None:
    """Text from the cluster is filled in once and never read as a template again."""
    assert device_label("dra.net", device({"dra.net/pciDevice": "{dra.net/mac}"})) == "{dra.net/mac}"


def test_published_prefers_the_standard_name() -> None:
    """Where a driver publishes a level twice, the standard attribute is taken."""
    both: dict[str, AttributeValue] = {"resource.kubernetes.io/numaNode": 1, "dra.net/numaNode": 0}

    assert published("dra.net", "numaNode", device(both)) == ("resource.kubernetes.io/numaNode", 1)


def test_published_passes_over_unknown() -> None:
    """-1 and "" stand for "not known"."""
    unknown: dict[str, AttributeValue] = {"dra.net/numaNode": -1, "resource.kubernetes.io/pcieRoot": ""}

    assert published("sriovnetwork.k8snetworkplumbingwg.io", "numaNode", device(unknown)) is None
    assert published("sriovnetwork.k8snetworkplumbingwg.io", "pcieRoot", device(unknown)) is None


def test_published_zero_is_known() -> None:
    """NUMA node 0 is a place like any other."""
    assert published("dra.net", "numaNode", device({"dra.net/numaNode": 0})) == ("dra.net/numaNode", 0)


def test_a_bool_is_not_an_int() -> None:
    """A bool attribute never meets a rule about an int, and the other way round."""
    assert device_label("dra.net", device({"dra.net/virtual": 1, "dra.net/pciDevice": "x"})) == "x"


def test_cpu_offers_follow_the_mode() -> None:
    """A shareable CPU group is asked for by capacity, single CPUs by count."""
    grouped, single = offer("dra.cpu", "cpu-group"), offer("dra.cpu", "cpu")
    group = device({"dra.cpu/numCPUs": 56})

    assert grouped.applies(group, ["dra.cpu/cpu"], shareable=True)
    assert not single.applies(group, ["dra.cpu/cpu"], shareable=True)
    assert single.applies(device({"dra.cpu/cpuID": 0}))
    assert not grouped.applies(device({"dra.cpu/cpuID": 0}))


def test_capacity_key_is_exact() -> None:
    """A group that publishes another key is not asked for by ours."""
    assert not offer("dra.cpu", "cpu-group").applies(device({}), ["cpu"], shareable=True)


def test_rdma_offer_is_for_rdma_devices() -> None:
    """The offer "RDMA NIC" is meant for NICs with RDMA, "any NIC" for all."""
    ena = device({"dra.net/rdma": False})

    assert not offer("dra.net", "rdma-nic").applies(ena)
    assert offer("dra.net", "nic").applies(ena)


@pytest.mark.parametrize(
    ("address", "numa"),
    [("0008:06:00.0", 0), ("0009:06:00.0", 0), ("0018:06:00.0", 1), ("0019:06:00.0", 1)],
)
def test_gb200_numa_is_derived(address: str, numa: int) -> None:
    """GB200 GPUs publish no NUMA node; the PCI domain gives it, with its source."""
    answer = derived_numa("gpu.nvidia.com", device({**GB200, "resource.kubernetes.io/pciBusID": address}))

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
    assert derived_numa("gpu.nvidia.com", device(attributes)) is None


@pytest.mark.parametrize(
    ("driver", "attributes", "short"),
    [
        ("dra.net", {"dra.net/ifName": "rdma0", "dra.net/rdmaDevice": "mlx5_0"}, "rdma0"),
        ("dra.net", {"dra.net/rdmaDevice": "rdmap16s27"}, "rdmap16s27"),
        ("dra.cpu", {"dra.cpu/numCPUs": 112}, "112 CPUs"),
        ("gpu.nvidia.com", {"gpu.nvidia.com/type": "gpu"}, ""),
        ("new.example.org", {}, ""),
    ],
)
def test_short_label(driver: str, attributes: dict[str, AttributeValue], short: str) -> None:
    """A picture shows the name that people know a device by; without one the device's own name is left to be shown."""
    assert device_short(driver, device(attributes)) == short


def test_attributes_read_are_those_that_decide() -> None:
    """Kinds, labels, short labels and places are decided by the attributes named here and by no others."""
    read = set(attributes_read("dra.net"))
    assert read >= {"dra.net/ifName", "dra.net/rdmaDevice", "dra.net/virtual", "dra.net/pciAddress", "dra.net/numaNode"}
    assert "dra.net/mtu" not in read
