"""The vendor of a GPU: what a topology file says of it, and what is assumed where it says nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from dra_lab.findings import Severity
from dra_lab.model.cluster import Cluster
from dra_lab.sources.foreign import decode_inventory, make_cluster

REAL = Path(__file__).parents[2] / ".." / "shared" / "real-files" / "topology"


def server(*gpus: str) -> bytes:
    """Return a file of NCCL or RCCL with one NUMA node, these GPUs and a NIC."""
    found = "".join(gpu.replace("BUS", f"0000:{number:02x}:00.0") for number, gpu in enumerate(gpus, 0x21))
    nic = '<pci busid="0000:11:00.0" class="0x020700" vendor="0x15b3"/>'
    return f'<system version="1"><cpu numaid="0" affinity="0000ffff">{found}{nic}</cpu></system>'.encode()


def gpu(inside: str = "", code: str = "0x030200", vendor: str = "") -> str:
    """Return a GPU with a PCI class and what stands inside it."""
    return f'<pci busid="BUS" class="{code}"{vendor and f" vendor={vendor!r}"}>{inside}</pci>'.replace("'", '"')


def made(data: bytes, *drivers: str) -> Cluster:
    """Return the cluster made from a text."""
    return make_cluster(decode_inventory(data, "topo.xml"), drivers=drivers)


def gpus(cluster: Cluster, driver: str) -> int:
    """Return how many devices a driver publishes."""
    return sum(len(item.spec.devices or ()) for item in cluster.slices if item.spec.driver == driver)


GCN = '<gpu dev="0" sm="120" gcn="908" rank="0"/>'
XGMI = '<gpu dev="0" rank="0"><xgmi target="0000:22:00.0" count="1" tclass="0x038000"/></gpu>'
NVLINK = '<gpu dev="0" rank="0"><nvlink target="0000:22:00.0" count="4" tclass="0x030200"/></gpu>'
SM = '<gpu dev="0" sm="80" rank="0"/>'


@pytest.mark.parametrize(
    ("file", "driver"),
    [
        (server(gpu(GCN), gpu(GCN)), "gpu.amd.com"),
        (server(gpu(XGMI), gpu(XGMI)), "gpu.amd.com"),
        (server(gpu(NVLINK, "0x038000"), gpu(NVLINK, "0x038000")), "gpu.nvidia.com"),
        (server(gpu(SM, "0x038000"), gpu(SM, "0x038000")), "gpu.nvidia.com"),
        (server(gpu(vendor="0x1002"), gpu(vendor="0x1002")), "gpu.amd.com"),
        (server(gpu(GCN, vendor="0x0000"), gpu(vendor="0x0000")), "gpu.amd.com"),
        (server(gpu(XGMI), gpu()), "gpu.amd.com"),
    ],
    ids=["gcn", "xgmi", "nvlink", "sm", "vendor id", "vendor id of zeros", "one of two says it"],
)
@pytest.mark.parametrize("named", [False, True])
def test_what_a_file_says_decides_the_vendor(file, driver, named):
    """A vendor id, gcn=, <xgmi>, <nvlink> or sm= decides the vendor of all GPUs, and nothing is assumed."""
    cluster = made(file, *([driver, "dra.net"] if named else []))
    assert gpus(cluster, driver) == 2
    assert {"made-vendor", "made-left-out"}.isdisjoint(finding.rule for finding in cluster.findings)


@pytest.mark.parametrize("driver", ["gpu.amd.com", "gpu.nvidia.com"])
@pytest.mark.parametrize("code", ["0x030200", "0x038000"])
def test_the_named_drivers_decide_where_the_file_says_nothing(driver, code):
    """A person who names one GPU driver gets that driver's GPUs, and a note that the file does not name the vendor."""
    cluster = made(server(gpu(code=code), gpu(code=code)), driver, "dra.net")
    assert gpus(cluster, driver) == 2
    assert [f.severity for f in cluster.findings if f.rule == "made-vendor"] == [Severity.NOTE]
    assert "made-left-out" not in {finding.rule for finding in cluster.findings}


@pytest.mark.parametrize(
    ("code", "driver"), [("0x030200", "gpu.nvidia.com"), ("0x038000", "gpu.amd.com"), ("0x120000", "gpu.amd.com")]
)
@pytest.mark.parametrize("named", [(), ("gpu.amd.com", "gpu.nvidia.com")])
def test_the_class_decides_where_nobody_does(code, driver, named):
    """Without a vendor and without one named GPU driver, the PCI class decides, and a Finding reports it."""
    cluster = made(server(gpu(code=code)), *named)
    assert gpus(cluster, driver) == 1
    (finding,) = (finding for finding in cluster.findings if finding.rule == "made-vendor")
    assert code[2:6] in finding.message


def test_nvidia_is_assumed_where_there_is_not_even_a_class():
    """A GPU of which the file says nothing is taken for NVIDIA's with a warning; the inventory keeps it unknown."""
    inventory = decode_inventory(server('<pci busid="BUS"><gpu dev="0" rank="0"/></pci>'), "topo.xml")
    cluster = make_cluster(inventory)
    assert inventory.of("gpu")[0].text("vendor") == ""
    assert gpus(cluster, "gpu.nvidia.com") == 1
    assert [f.severity for f in cluster.findings if f.rule == "made-vendor"] == [Severity.WARNING]


def test_gpus_of_another_vendor_are_left_out_in_one_finding():
    """Where a file proves AMD and only NVIDIA's driver is chosen, one Finding counts the GPUs and names the driver."""
    cluster = made(server(*[gpu(GCN)] * 8), "gpu.nvidia.com", "dra.net")
    (finding,) = (finding for finding in cluster.findings if finding.rule == "made-left-out")
    assert "8 GPUs of AMD" in finding.message
    assert ("gpu.amd.com" in finding.advice, finding.severity) == (True, Severity.WARNING)


def test_a_vendor_id_of_zeros_is_no_vendor():
    """A display controller whose vendor id is 0000 or ffff is still a GPU, of unknown vendor."""
    for vendor in ("0x0000", "0xffff"):
        (found,) = decode_inventory(server(gpu(vendor=vendor)), "topo.xml").of("gpu")
        assert found.text("vendor") == ""
