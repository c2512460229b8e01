"""Slices made from topology files: what the chosen drivers would publish, marked as made, ready to plan on."""

from __future__ import annotations

import msgspec
import pytest
from checked_plans import checked_plan
from topology_texts import GPU, NCCL, NIC, SERVER, TOPO, host_bridge, hwloc, named, package, pci

from dra_lab.checks.cluster_checks import check_pools
from dra_lab.checks.refused import check_refused_slices
from dra_lab.cli import main
from dra_lab.errors import InputError, SourceError
from dra_lab.findings import Severity
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.sources import load_cluster, load_texts
from dra_lab.sources.foreign.made_slices import make_cluster
from dra_lab.sources.foreign.reading import decode_inventory, read_inventory, topology_cluster
from dra_lab.topology.locality import localities


def made(text: bytes | str, **choices):
    return make_cluster(decode_inventory(text.encode() if isinstance(text, str) else text, "file-0"), **choices)


def attributes(cluster, driver: str) -> dict[str, dict[str, object]]:
    """Return the plain attributes of a driver's devices on the first node, by device."""
    spec = next(s.spec for s in cluster.slices if s.spec.driver == driver)
    return {d.name: {key: value.value for key, value in d.attributes.items()} for d in spec.devices or ()}


def places(cluster, node: str = "node-1"):
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
    assert load_cluster(tmp_path / "dgx.xml", nodes=8).slices == eight.slices
    for source, nodes in (("sample:two-sockets", 2), (tmp_path / "dgx.xml", 0), (f"topo:{tmp_path / 'dgx.xml'}*8", 2)):
        with pytest.raises(InputError, match="nodes is"):
            load_cluster(source, nodes=nodes)
    assert (len(eight.node_names), len(eight.slices)) == (8, 24)
    assert load_texts({"dgx.xml": SERVER.decode()}).drivers == ("dra.cpu", "dra.net", "gpu.nvidia.com")


def test_hostile_names_become_plain_ones():
    """Names from a file become DNS labels that differ, and texts are cut at the API's limit."""
    name = "../../<b>" * 20
    nics = "".join(pci(f"0000:1{n}:00.0", NIC.replace("1021", "9999"), named("", 2)) for n in range(2))
    nics = nics.replace('name=""', f'name="{name.replace("<", "&lt;")}"')
    cluster = made(hwloc(package(0, host_bridge("0000:[10-1f]", nics))))
    assert [*check_pools(cluster), *check_refused_slices(cluster)] == []


def server(*gpus: str) -> bytes:
    """Return a file of NCCL or RCCL with one NUMA node, these GPUs and a NIC."""
    found = "".join(gpu.replace("BUS", f"0000:{number:02x}:00.0") for number, gpu in enumerate(gpus, 0x21))
    nic = '<pci busid="0000:11:00.0" class="0x020700" vendor="0x15b3"/>'
    return f'<system version="1"><cpu numaid="0" affinity="0000ffff">{found}{nic}</cpu></system>'.encode()


def gpu(inside: str = "", code: str = "0x030200", vendor: str = "") -> str:
    return f'<pci busid="BUS" class="{code}"{vendor and f" vendor={vendor!r}"}>{inside}</pci>'.replace("'", '"')


def made_for(data: bytes, *drivers: str) -> Cluster:
    return make_cluster(decode_inventory(data, "topo.xml"), drivers=drivers)


def gpus(cluster: Cluster, driver: str) -> int:
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
    cluster = made_for(file, *([driver, "dra.net"] if named else []))
    assert gpus(cluster, driver) == 2
    assert {"made-vendor", "made-left-out"}.isdisjoint(finding.rule for finding in cluster.findings)


@pytest.mark.parametrize("driver", ["gpu.amd.com", "gpu.nvidia.com"])
@pytest.mark.parametrize("code", ["0x030200", "0x038000"])
def test_the_named_drivers_decide_where_the_file_says_nothing(driver, code):
    """A person who names one GPU driver gets that driver's GPUs, and a note that the file does not name the vendor."""
    cluster = made_for(server(gpu(code=code), gpu(code=code)), driver, "dra.net")
    assert gpus(cluster, driver) == 2
    assert [f.severity for f in cluster.findings if f.rule == "made-vendor"] == [Severity.NOTE]
    assert "made-left-out" not in {finding.rule for finding in cluster.findings}


@pytest.mark.parametrize(
    ("code", "driver"), [("0x030200", "gpu.nvidia.com"), ("0x038000", "gpu.amd.com"), ("0x120000", "gpu.amd.com")]
)
@pytest.mark.parametrize("named", [(), ("gpu.amd.com", "gpu.nvidia.com")])
def test_the_class_decides_where_nobody_does(code, driver, named):
    """Without a vendor and without one named GPU driver, the PCI class decides, and a Finding reports it."""
    cluster = made_for(server(gpu(code=code)), *named)
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
    cluster = made_for(server(*[gpu(GCN)] * 8), "gpu.nvidia.com", "dra.net")
    (finding,) = (finding for finding in cluster.findings if finding.rule == "made-left-out")
    assert "8 GPUs of AMD" in finding.message
    assert ("gpu.amd.com" in finding.advice, finding.severity) == (True, Severity.WARNING)


def test_a_vendor_id_of_zeros_is_no_vendor():
    """A display controller whose vendor id is 0000 or ffff is still a GPU, of unknown vendor."""
    for vendor in ("0x0000", "0xffff"):
        (found,) = decode_inventory(server(gpu(vendor=vendor)), "topo.xml").of("gpu")
        assert found.text("vendor") == ""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "dgx.xml").write_bytes(SERVER)
    (tmp_path / "cluster.json").write_text('{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1"}}')
    return tmp_path


def test_topology_prints_what_the_file_says(files, capsys):
    """A line for each GPU, NIC and NUMA node, with root, switch, NUMA node and the line of the file."""
    assert main(["topology", str(files / "dgx.xml")]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    places = ["0000:14:00.0", "pci0000:10", "0000:11:00.0", "0"]
    assert any(line[0] == "mlx5_0" and line[1] == "nic" and line[-5:-1] == places for line in lines if len(line) > 6)


def test_what_a_terminal_would_obey_is_not_printed(files, capsys):
    """Names from a file cannot move the cursor."""
    (files / "bad.xml").write_bytes(SERVER.replace(b'"mlx5_0"', b'"&#x9b;2J"'))
    main(["topology", str(files / "bad.xml")])
    assert "\x9b" not in capsys.readouterr().out


def test_the_drivers_to_plan_for_are_named_behind_the_count(files):
    """`topo:FILE*8@DRIVER,DRIVER`: only these have slices; one of which nothing is known is refused by name."""
    name = f"topo:{files / 'dgx.xml'}*2@dra.net,dra.cpu"
    assert (load_cluster(name).drivers, load_cluster(name).name) == (("dra.cpu", "dra.net"), name)
    with pytest.raises(InputError, match=r"'gpu\.example\.org'; it can for: .*gpu\.amd\.com"):
        load_cluster(f"topo:{files / 'dgx.xml'}*2@gpu.example.org")


def test_a_dropped_topology_file_is_a_cluster_by_itself(files):
    """Other files that are dropped with it are refused, and the message says what to do."""
    assert load_texts({"dgx.xml": SERVER}).node_names == ("node-1",)
    with pytest.raises(SourceError, match=r"'dgx\.xml' is a topology file, .* load it alone"):
        load_texts({name: (files / name).read_bytes() for name in ("cluster.json", "dgx.xml")})


def test_a_missing_file_is_named():
    with pytest.raises(SourceError, match=r"'absent\.xml' cannot be read"):
        read_inventory("absent.xml")


def test_options_name_the_same_nodes_as_the_name_of_the_cluster(files):
    """`--topology FILE --nodes 2 --driver D` makes the cluster that is read again by its name."""
    made = topology_cluster(str(files / "dgx.xml"), 2, ["dra.net", "dra.cpu"])
    again = load_cluster(made.name)
    assert (made.name, made.slices) == (f"topo:{files / 'dgx.xml'}*2@dra.net,dra.cpu", again.slices)


PAIRS = "sample:eks-p4d/gpu-nic-pairs"
REFUSED = {
    "a name": (["topo:FILE*2"], "give --topology FILE --nodes 8"),
    "two files": (["--topology", "a.xml", "--topology", "b.xml"], "--topology b.xml is a second file; give one"),
    "nodes of nothing": (["sample:eks-p4d", "--nodes", "2"], "need --topology FILE"),
    "a driver of nothing": (["sample:eks-p4d", "--driver", "dra.net"], "need --topology FILE"),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_a_topology_file_is_named_by_options_alone(words, said, capsys):
    """A command line has one spelling for the file, and the message has it."""
    assert main(["plan", *words, "--claim", PAIRS]) == 2
    assert said in capsys.readouterr().err
