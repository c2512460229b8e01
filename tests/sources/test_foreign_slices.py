"""Slices made from topology files: what the chosen drivers would publish, marked as made, ready to plan on."""

from __future__ import annotations

import msgspec
import pytest
from checked_plans import checked_plan
from topology_texts import GPU, NCCL, NIC, SERVER, TOPO, host_bridge, hwloc, named, package, pci

from dra_lab.checks.cluster_checks import check_pools
from dra_lab.checks.refused import check_refused_slices
from dra_lab.errors import InputError
from dra_lab.findings import Severity
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.sources import load_cluster, load_texts
from dra_lab.sources.foreign import decode_inventory, make_cluster
from dra_lab.topology import localities


def made(text: bytes | str, **choices):
    """Return the cluster made from the text about a server."""
    return make_cluster(decode_inventory(text.encode() if isinstance(text, str) else text, "file-0"), **choices)


def attributes(cluster, driver: str) -> dict[str, dict[str, object]]:
    """Return the plain attributes of a driver's devices on the first node, by device."""
    spec = next(s.spec for s in cluster.slices if s.spec.driver == driver)
    return {d.name: {key: value.value for key, value in d.attributes.items()} for d in spec.devices or ()}


def places(cluster, node: str = "node-1"):
    """Return the localities of a node by device name."""
    return {found.device.device: found for found in localities(cluster, node).values()}


def test_gpus_look_as_the_driver_publishes_them():
    """NVIDIA's attributes are bare, the standard ones full; nothing is published that the file does not tell."""
    assert attributes(made(SERVER), "gpu.nvidia.com")["gpu-0"] == {
        "type": "gpu",
        "productName": "NVIDIA H100 80GB HBM3",
        "brand": "Nvidia",
        "architecture": "Hopper",
        "cudaComputeCapability": "9.0.0",
        "resource.kubernetes.io/pciBusID": "0000:13:00.0",
        "resource.kubernetes.io/pcieRoot": "pci0000:10",
        "resource.kubernetes.io/numaNode": 0,
    }


def test_nics_look_as_dranet_publishes_them():
    """DRANET names a NIC by its address and publishes its older NUMA name."""
    assert attributes(made(SERVER), "dra.net")["pci-0000-14-00-0"] == {
        "dra.net/ifName": "ib0",
        "dra.net/numaNode": 0,
        "dra.net/pciAddress": "0000:14:00.0",
        "dra.net/pciDevice": "MT2910 Family [ConnectX-7]",
        "dra.net/pciVendor": "Mellanox Technologies",
        "dra.net/rdma": True,
        "dra.net/rdmaDevice": "mlx5_0",
        "resource.kubernetes.io/pcieRoot": "pci0000:10",
    }


def test_cpus_come_in_both_modes():
    """A NUMA node is one shareable device, or every CPU a device, as the CPU driver's mode has it."""
    grouped, single = attributes(made(SERVER), "dra.cpu"), attributes(made(SERVER, cpu_mode="individual"), "dra.cpu")
    assert (list(grouped), list(single)) == (
        ["cpudevnuma000", "cpudevnuma001"],
        ["cpudev000", "cpudev001", "cpudev002", "cpudev003"],
    )
    assert (grouped["cpudevnuma001"]["dra.cpu/numCPUs"], single["cpudev002"]["dra.cpu/cpuID"]) == (2, 2)


def test_what_the_driver_does_not_publish_is_known_and_derived():
    """The socket and switch of a GPU come from the file, marked, with line and element."""
    gpu = places(made(SERVER))["gpu-0"]
    assert (gpu.socket.value, gpu.socket.derived, gpu.socket.source) == (0, True, "file: file-0:5, Package 0, nodeset")
    assert (gpu.switch.value, gpu.switch.derived) == ("0000:11:00.0", True)


def test_what_the_driver_publishes_says_which_line_it_was_made_from():
    """A made attribute names the attribute and the place in the file."""
    place = places(made(SERVER))["gpu-0"].pcie_root
    assert (place.derived, place.source) == (
        False,
        "resource.kubernetes.io/pcieRoot, made from file-0:8, Bridge 0000:[10-1f], bridge_pci",
    )


def test_roots_without_a_name_get_one_that_nobody_takes_for_real():
    """Devices of a matrix that share a root share an attribute, and a warning says that its name is made up."""
    cluster = made(TOPO)
    assert attributes(cluster, "dra.net")["mlx5-3"]["resource.kubernetes.io/pcieRoot"] == "root-of-GPU1"
    assert "made-root-names" in {finding.rule for finding in cluster.findings if finding.severity is Severity.WARNING}


def test_no_root_is_made_of_a_switch_that_a_file_invents():
    """Below a switch of the domain ffff no pcieRoot is published: in the virtual machine none is to be seen."""
    cluster = made(NCCL.replace(b"0000:11:00.0", b"ffff:ff:01.0"))
    assert "resource.kubernetes.io/pcieRoot" not in attributes(cluster, "gpu.nvidia.com")["gpu-0"]
    assert places(cluster)["gpu-0"].switch.value == "ffff:ff:01.0"


def test_equal_nodes():
    """A count gives that many nodes with the same devices, each in a pool named after the node."""
    cluster = made(SERVER, count=12)
    assert cluster.node_names[:2] == ("node-01", "node-02")
    assert [s.spec.pool.name for s in cluster.slices[:4]] == ["node-01", "node-01", "node-01", "node-02"]


def test_a_made_cluster_is_valid():
    """The API server would take every made slice, also with a hundred devices and more a node."""
    cpus = hwloc(package(0, "").replace('cpuset="0x00000003"', f'cpuset="{",".join(["0xffffffff"] * 5)}"'))
    for cluster in (made(SERVER), made(TOPO), made(NCCL), made(cpus, cpu_mode="individual")):
        assert [*check_pools(cluster), *check_refused_slices(cluster)] == []
        assert max(len(slice_.spec.devices or ()) for slice_ in cluster.slices) <= 128
        assert msgspec.json.decode(msgspec.json.encode(cluster.slices))


def test_management_nics_are_left_out_and_reported():
    """A function that is no network is no NIC to plan with; that DRANET may publish it is told."""
    decoy = pci("0000:73:00.0", "0207 [15b3:1021] [15b3:0087]")
    cluster = made(hwloc(package(0, host_bridge("0000:[66-79]", decoy + pci("0000:75:00.0", GPU)))))
    assert "dra.net" not in cluster.drivers
    assert "made-management-nic" in {finding.rule for finding in cluster.findings}


@pytest.mark.parametrize(
    ("ids", "driver"), [("1200 [1002:74a1]", "gpu.amd.com"), ("0380 [8086:56c0]", "gpu.intel.com")]
)
def test_the_driver_follows_from_the_vendor(ids, driver):
    """AMD's and Intel's GPUs get their own drivers without being asked."""
    cluster = made(hwloc(package(0, host_bridge("0000:[10-1f]", pci("0000:13:00.0", ids)))))
    assert cluster.drivers == ("dra.cpu", driver)


def test_drivers_are_chosen():
    """Only the drivers that a person names publish something; one Finding names all devices that are left out."""
    cluster = made(SERVER, drivers=["dra.net"])
    assert cluster.drivers == ("dra.net",)
    assert [finding.subject for finding in cluster.findings if finding.rule == "made-left-out"] == [
        "0000:13:00.0, 0000:21:00.0, 0001:81:00.0"
    ]


@pytest.mark.parametrize(
    "choices", [{"drivers": ["gpu.example.org"]}, {"cpu_mode": "both"}, {"count": 0}, {"node": "a/b"}, {"count": 10**6}]
)
def test_wrong_choices_are_refused(choices):
    """An unknown driver, mode, count or name is an error in words."""
    with pytest.raises(InputError):
        made(SERVER, **choices)


@pytest.mark.parametrize(("text", "where"), [(SERVER, "pcieRoot"), (TOPO, "pcieRoot"), (NCCL, "switch")])
def test_pairs_are_planned_on_made_nodes(text, where):
    """A GPU with the NIC beside it is found, proven, on a cluster that no driver has published anything in."""
    requests = tuple(
        DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=wanted, count=1))
        for name, wanted in (("gpu", "gpu.nvidia.com"), ("nic", "dranet"))
    )
    link = Link(name="near", requests=("gpu", "nic"), where=where, how=How.TOGETHER)
    sketch = ClaimSketch(requests=requests, links=(link,))
    plan = checked_plan(made(text, count=3), sketch, release=KubernetesRelease("1.36"))
    assert plan.fits
    assert "made-from-file" in {finding.rule for finding in plan.findings}


def test_files_load_as_clusters(tmp_path):
    """A topology file is a CLUSTER by its content; `topo:` counts nodes."""
    (tmp_path / "dgx.xml").write_bytes(SERVER)
    assert load_cluster(tmp_path / "dgx.xml").node_names == ("node-1",)
    eight = load_cluster(f"topo:{tmp_path / 'dgx.xml'}*8")
    assert (len(eight.node_names), len(eight.slices)) == (8, 24)
    assert load_texts({"dgx.xml": SERVER.decode()}).drivers == ("dra.cpu", "dra.net", "gpu.nvidia.com")


def test_hostile_names_become_plain_ones():
    """Names from a file become DNS labels that differ, and texts are cut at the API's limit."""
    name = "../../<b>" * 20
    nics = "".join(pci(f"0000:1{n}:00.0", NIC.replace("1021", "9999"), named("", 2)) for n in range(2))
    nics = nics.replace('name=""', f'name="{name.replace("<", "&lt;")}"')
    cluster = made(hwloc(package(0, host_bridge("0000:[10-1f]", nics))))
    assert [*check_pools(cluster), *check_refused_slices(cluster)] == []
