"""What topology files say: GPUs, NICs, roots, switches, NUMA nodes, whichever tool and version wrote the file."""

from __future__ import annotations

import pytest
from topology_texts import GPU, NCCL, NIC, SERVER, TOPO, bridge, host_bridge, hwloc, named, package, pci

from dra_lab.errors import SourceError
from dra_lab.sources.foreign.inventory import Inventory
from dra_lab.sources.foreign.made_slices import make_cluster
from dra_lab.sources.foreign.reading import decode_inventory


def read(data: bytes | str) -> Inventory:
    return decode_inventory(data.encode() if isinstance(data, str) else data, "a")


def values(inventory: Inventory, name: str) -> dict[str, object]:
    """Return the facts of the device with a name, as plain values."""
    device = next(device for device in inventory.devices if device.name == name)
    return {key: fact.value for key, fact in device.facts.items()}


def known(data: bytes | str) -> list[tuple[str, str, dict[str, object]]]:
    """Return all that a file says of its devices, without the places in the file."""
    inventory = read(data)
    return [(device.kind, device.name, values(inventory, device.name)) for device in inventory.devices]


def server(*inside: str, buses: str = "0000:[10-1f]", version: str = "2.0") -> bytes:
    return hwloc(package(0, host_bridge(buses, "".join(inside))), version=version)


GPU_MEMORY = '<object type="NUMANode" subtype="GPUMemory" os_index="1" cpuset="0x3" nodeset="0x2" local_memory="1"/>\n'
WITH_GPU_MEMORY = package(0, GPU_MEMORY + host_bridge("0000:[10-1f]", pci("0000:11:00.0", GPU)))
AT_THE_MACHINE = package(0, "") + package(1, "") + host_bridge("0000:[10-1f]", pci("0000:11:00.0", GPU))
NIC_ALONE = host_bridge("0000:[10-1f]", pci("0000:11:00.0", NIC))
ENDLESS = f'<object type="Package" os_index="0" nodeset="0xf...f">{NIC_ALONE}</object>'
CARD = bridge("0000:12:00.0", pci("0000:13:00.0", NIC) + pci("0000:13:00.1", NIC))
IN_A_CARD = bridge("0000:10:00.0", bridge("0000:11:01.0", CARD))
NVLINK_ONLY = TOPO.replace("PHB", "SYS")
OLD_MATRIX = "      GPU0 GPU1 mlx5_0 CPU Affinity\nGPU0 X SOC PIX 0-7\nGPU1 SYS X SOC 8-15\nmlx5_0 PIX SOC X\n"
INVENTED = NCCL.replace(b"0000:11:00.0", b"ffff:ff:01.0")

SAYS: dict[str, tuple[bytes | str, str, int, dict[str, object]]] = {
    "matrix: the NIC legend": (TOPO, "nic", 1, {"rdmaDevice": "mlx5_3"}),
    "matrix: PIX is the switch and the root": (TOPO, "nic", 0, {"rootGroup": "of GPU0", "switch": "of GPU0"}),
    "matrix: PXB is the root alone": (TOPO, "nic", 1, {"rootGroup": "of GPU1", "switch": None}),
    "matrix: PHB is the root alone": (TOPO, "gpu", 2, {"rootGroup": "of GPU2", "switch": None}),
    "matrix: a NIC has the NUMA node of what is near": (TOPO, "nic", 0, {"numaNode": 0}),
    "matrix: a NIC that is near nothing has none": (NVLINK_ONLY, "nic", 2, {"numaNode": None}),
    "matrix: NVLink hides the root": (NVLINK_ONLY, "gpu", 2, {"rootGroup": None}),
    "matrix: SOC, names as headings, spaces": (OLD_MATRIX, "nic", 0, {"rdmaDevice": "mlx5_0", "switch": "of GPU0"}),
    "hwloc: everything": (
        SERVER,
        "nic",
        0,
        {
            "address": "0000:14:00.0",
            "vendor": "15b3",
            "device": "1021",
            "infiniBand": True,
            "interface": "ib0",
            "rdmaDevice": "mlx5_0",
            "pcieRoot": "pci0000:10",
            "switch": "0000:11:00.0",
            "numaNode": 0,
            "socket": 0,
        },
    ),
    "hwloc: a root of the machine": (hwloc(AT_THE_MACHINE), "gpu", 0, {"pcieRoot": "pci0000:10", "numaNode": None}),
    "hwloc: GPU memory is no place": (
        hwloc(WITH_GPU_MEMORY.replace('nodeset="0x00000001">', 'nodeset="0x00000003">', 1)),
        "gpu",
        0,
        {"numaNode": 0},
    ),
    "hwloc: an endless node set": (
        hwloc(ENDLESS, top='type="Machine" os_index="0" nodeset="0xf...f"'),
        "nic",
        0,
        {"pcieRoot": "pci0000:10", "numaNode": None},
    ),
    "hwloc: without bridges": (
        hwloc(package(0, pci("0000:11:00.0", GPU))),
        "gpu",
        0,
        {"pcieRoot": None, "numaNode": 0},
    ),
    "hwloc: a bridge inside a card is no switch": (server(IN_A_CARD), "nic", 0, {"switch": None}),
    "hwloc: a board's own graphics": (server(pci("0000:12:00.0", "0300 [1a03:2000]")), "other", 0, {"vendor": "1a03"}),
    "hwloc: a management function": (
        server(pci("0000:13:00.0", f"{NIC[:17]}[15b3:0087]")),
        "nic",
        0,
        {"management": True},
    ),
    "hwloc: InfiniBand of the class 0c06": (
        server(pci("0000:15:00.0", "0c06 [15b3:6746]", named("mlx4_0", 3))),
        "nic",
        0,
        {"rdmaDevice": "mlx4_0", "infiniBand": True},
    ),
    "hwloc: a PCI domain of five digits": (
        server(pci("10000:e1:00.0", NIC), buses="10000:[e0-e2]"),
        "nic",
        0,
        {"address": "10000:e1:00.0", "pcieRoot": "pci10000:e0"},
    ),
    "NCCL: a root without a name": (NCCL, "nic", 0, {"rootGroup": "above 0000:11:00.0", "switch": "0000:11:00.0"}),
    "NCCL: a switch that a cloud invents": (INVENTED, "gpu", 0, {"switch": "ffff:ff:01.0", "rootGroup": None}),
}


@pytest.mark.parametrize("rule", SAYS)
def test_a_file_says_this_of_a_device(rule):
    """The value of each fact, None for a fact that the file does not tell."""
    data, kind, number, facts = SAYS[rule]
    device = read(data).of(kind)[number]
    assert {name: device.value(name) for name in facts} == facts


@pytest.mark.parametrize(("version", "kinds"), [("2.0", (2, 3)), ("3.0", (16, 32)), ("3.0", (48, 48))])
def test_hwloc_names_of_nics_in_every_version(version, kinds):
    """The type of a kernel name is an enumeration up to version 2 and a set of bits from version 3."""
    nic = pci("0000:11:00.0", NIC, named("eth0", kinds[0]) + named("mlx5_0", kinds[1]))
    (device,) = read(server(nic, version=version)).of("nic")
    assert (device.text("interface"), device.text("rdmaDevice")) == ("eth0", "mlx5_0")


@pytest.mark.parametrize("names", [("cuda1", "nvml0"), ("nvml0", "cuda1"), ("nvml0",)])
def test_the_number_of_a_gpu_is_that_of_the_vendors_tool(names):
    """CUDA counts in an order of its own, which nvidia-smi does not know."""
    gpu = pci("0000:15:00.0", GPU, "".join(named(name, 5) for name in names))
    assert [one.value("index") for one in read(server(gpu)).of("gpu")] == [0]


@pytest.mark.parametrize(
    ("data", "device", "fact", "origin"),
    [
        (TOPO, "GPU2", "numaNode", "a:4, row GPU2, column NUMA Affinity"),
        (TOPO, "mlx5_0", "numaNode", "a:2, row GPU0, column NUMA Affinity"),
        (SERVER, "mlx5_0", "pcieRoot", "a:8, Bridge 0000:[10-1f], bridge_pci"),
        (b"\n \n" + SERVER, "mlx5_0", "pcieRoot", "a:10, Bridge 0000:[10-1f], bridge_pci"),
    ],
)
def test_a_value_names_its_place_in_the_file(data, device, fact, origin):
    """Line and element or row, counted from the first line of the file."""
    found = next(one for one in read(data).devices if device in (one.name, one.text("rdmaDevice")))
    assert str(found.facts[fact].origin) == origin


@pytest.mark.parametrize(
    ("data", "cpus"),
    [(TOPO, [112, 112]), (NCCL, [4, 4]), (SERVER, [2, 2]), (TOPO.replace("0-55,112-167", "0-3,"), [0, 112])],
)
def test_numa_nodes_have_their_cpus(data, cpus):
    """A list that the tool cut tells nothing about the number of CPUs."""
    assert [len(node.cpus or ()) for node in read(data).cpu_nodes] == cpus


FINDINGS = {
    "topology-cpus-cut": [TOPO.replace("0-55,112-167", cut) for cut in ("0,2,4,6,8,10", "0-3,", "0-5,1x")],
    "topology-hidden-by-nvlink": [NVLINK_ONLY],
    "topology-without-bridges": [hwloc(package(0, pci("0000:11:00.0", GPU)))],
    "topology-nic-without-net": [NCCL.replace(b'<net name="eth0" dev="1"/>', b"", 1)],
}


@pytest.mark.parametrize("rule", FINDINGS)
def test_what_a_file_does_not_tell_is_a_finding(rule):
    """The rule says what is missing, and the advice how to get it."""
    for data in FINDINGS[rule]:
        assert rule in {finding.rule for finding in read(data).findings}


# ---------------------------------------------------------------- the same hardware, written otherwise


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("text", [TOPO, SERVER.decode(), NCCL.decode()], ids=["topo", "hwloc", "nccl"])
def test_other_encodings_say_the_same(text, encoding):
    """PowerShell's `>` writes UTF-16 with a mark, whatever encoding the XML declares."""
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    assert known((mark + text).encode(encoding)) == known(text)


COPIES = {
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "spaces": lambda text: text.expandtabs(),
    "colours": lambda text: text.replace("PIX", "\x1b[32mPIX\x1b[0m"),
    "half an escape": lambda text: text.replace("\x1b[4m", "[4m").replace("\x1b[0m", "[0m"),
    "a written escape": lambda text: text.replace("\x1b[4m", "^[[4m").replace("\x1b[0m", "^[[0m"),
    "no underline": lambda text: text.replace("\x1b[4m", "").replace("\x1b[0m", ""),
    "in a session": lambda text: f"Script started\n$ nvidia-smi topo -m\n{text}$ exit\n",
    "indented": lambda text: "\n".join(f"    {line}" for line in text.splitlines()),
    "tabs": lambda text: text.replace("\t\tN/A", "\tN/A"),
    "twice": lambda text: text.replace("\t\t", "\t \t") + "\n" + text,
    "a later column": lambda text: text.replace("GPU NUMA ID", "GPU NUMA ID\tDPU Affinity").replace(
        "N/A\n", "N/A\t7\n"
    ),
}


@pytest.mark.parametrize("copy", COPIES)
def test_copies_of_a_matrix_say_the_same(copy):
    """Line ends, tabs, colours, what stands around it and columns of later tools do not matter."""
    assert known(COPIES[copy](TOPO)) == known(TOPO)


@pytest.mark.parametrize("cells", ["\t\t\tN/A", "\tN/A\tN/A\tN/A", ""])
def test_columns_without_a_value_are_not_known(cells):
    """A machine without NUMA (a virtual one) has N/A or nothing there: GPUs, and no NUMA node."""
    found = read(f"\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X {cells}\n")
    assert [(device.name, device.value("numaNode")) for device in found.devices] == [("GPU0", None)]
    assert found.cpu_nodes == ()


@pytest.mark.parametrize(
    ("old", "new", "sockets"),
    [
        (b'"Package" os_index="0" ', b'"Package" ', [None, 1]),
        (b'"Package" os_index="0" ', b'"Package" os_index="4294967295" ', [None, 1]),
        (b'"Package" os_index="1"', b'"Package" os_index="16584"', [0, 16584]),
    ],
)
def test_the_number_of_a_package_may_be_missing_or_large(old, new, sockets):
    """Windows and some firmware number no packages, ARM servers give offsets: NUMA nodes are known all the same."""
    found = read(SERVER.replace(old, new))
    assert [node.socket for node in found.cpu_nodes] == sockets
    assert {device.value("numaNode") for device in found.devices} == {0, 1}
    assert make_cluster(found).slices


@pytest.mark.parametrize("has_dram", [False, True])
def test_near_memory_is_main_memory_where_there_is_no_other(has_dram):
    """Xeon Max: HBM beside DRAM is no node for devices, HBM alone is."""
    both = '<object type="NUMANode" subtype="HBM" os_index="1" cpuset="0x00000003" nodeset="0x00000002"/>\n'
    body = package(0, host_bridge("0000:[00-02]", pci("0000:02:00.0", NIC)))
    body = body.replace('<object type="Core', f'{both}<object type="Core', 1)
    body = body.replace('nodeset="0x00000001"', 'nodeset="0x00000003"', 1)
    if not has_dram:
        first = body.index('<object type="NUMANode" os_index="0"')
        body = body[:first] + body[body.index("\n", first) + 1 :]
    found = read(hwloc(body))
    assert [node.numa_node for node in found.cpu_nodes] == [0 if has_dram else 1]
    assert [nic.value("numaNode") for nic in found.of("nic")] == [0 if has_dram else 1]


def test_nics_that_nccl_uses_as_one_are_several():
    """A fused NIC has no address; what is listed by its address too is there once."""
    fused = NCCL.replace(b'<net name="eth0"', b'<net name="mlx5_0+mlx5_1"')
    assert [nic.name for nic in read(fused).of("nic")] == ["mlx5_0", "mlx5_1"]


def test_nccl_tells_gpus_from_nvswitches():
    """The kinds follow from the PCI classes."""
    assert [device.kind for device in read(NCCL).devices] == ["gpu", "nic", "gpu", "other", "nic"]


def test_a_file_of_several_hosts_is_refused():
    """NCCL writes the hosts of an NVLink domain into one file, with the same addresses; a host is asked for."""
    one = NCCL.replace(b"<cpu ", b'<cpu host_hash="0x1" ')
    assert known(one) == known(NCCL)
    with pytest.raises(SourceError, match=r"a:15.* 2 hosts"):
        read(one.replace(b"</system>", b'  <cpu host_hash="0x2" numaid="0"/>\n</system>'))


def test_bridges_of_rccl_may_repeat_an_address():
    """RCCL writes the functions of one switch with one address: two bridges are read, and a Finding reports it."""
    card = '<pci busid="0000:c5:00.0" class="0x060400"><pci busid="0000:{}:00.0" class="0x038000"/></pci>'
    text = "<system><cpu numaid='0' affinity='ff'>\n" + card.format("cf") + "\n" + card.format("d0") + "</cpu></system>"
    found = read(text)
    assert len({device.text("rootGroup") for device in found.of("gpu")}) == 2
    assert [finding.rule for finding in found.findings] == ["topology-repeated-bridge"]


def test_a_nic_may_have_the_address_of_a_bridge():
    """RCCL's own models have a NIC at the address of a bridge; both are read."""
    text = '<system><cpu numaid="0" affinity="ff"><pci busid="0000:a1:00.0" class="0x060400">{}</pci></cpu></system>'
    assert len(read(text.format('<pci busid="0000:a1:00.0" class="0x020700"/>')).of("nic")) == 1


@pytest.mark.parametrize("version", [' version="1.0"', ""])
def test_hwloc_1_is_refused(version):
    """Its NUMA nodes stand elsewhere in the tree; the message says how to write the file again."""
    with pytest.raises(SourceError, match=r"this is XML of hwloc 1.*write it again with lstopo of hwloc 2 or later"):
        read(SERVER.replace(b' version="2.0"', version.encode(), 1))


def test_the_graphs_of_nccl_are_named_as_such():
    """NCCL's file of graphs has no hardware in it: the refusal names its outermost element."""
    with pytest.raises(SourceError, match="<graphs>"):
        read('<graphs version="1"><graph id="0"/></graphs>')


# ---------------------------------------------------------------- NUMA nodes that are a GPU's memory


def matrix(*rows: tuple[str, str, str]) -> Inventory:
    """Return what is read of GPUs with these CPU affinities, NUMA affinities and GPU NUMA ids."""
    names = [f"GPU{number}" for number in range(len(rows))]
    lines = ["\t".join(("", *names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"))]
    for at, (name, (cpus, nodes, own)) in enumerate(zip(names, rows, strict=True)):
        letters = [" X " if other == at else "NV18" for other in range(len(rows))]
        lines.append("\t".join((name, *letters, cpus, nodes, "", own)))
    return read("\n".join(lines))


def numa(found: Inventory) -> list[object]:
    """Return the NUMA node of each GPU, None where it is not known."""
    return [device.value("numaNode") for device in found.of("gpu")]


GB200 = (("0-71", "0,2-17"), ("0-71", "0,2-17"), ("72-143", "1,18-33"), ("72-143", "1,18-33"))


@pytest.mark.parametrize("own", [("N/A",) * 4, ("2", "10", "18", "26"), ("",) * 4])
def test_gb200_has_the_node_with_cpus_and_its_cpus(own):
    """GB200: each GPU is on its Grace's NUMA node with that node's 72 CPUs, with and without GPU NUMA ids."""
    found = matrix(*((*row, cell) for row, cell in zip(GB200, own, strict=True)))
    assert numa(found) == [0, 0, 1, 1]
    assert [(node.numa_node, len(node.cpus or ())) for node in found.cpu_nodes] == [(0, 72), (1, 72)]
    assert {finding.rule for finding in found.findings} <= {"topology-hidden-by-nvlink"}
    assert "dra.cpu" in make_cluster(found).drivers


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((("0-71", "0-8", "N/A"),), [0]),
        ((("0-71", "0-8", "1"),), [0]),
        ((("0-71", "0,4-11", "4"), ("72-143", "1,12-19", "12")), [0, 1]),
        ((("72-143", "1,18-33", "N/A"),), [1]),
        ((("0-71", "0,3-9,11-17", "2"), ("72-143", "1,19-25,27-33", "18")), [0, 1]),
        ((("0-71", "0,3-9,11-17", "N/A"), ("72-143", "1,19-25,27-33", "N/A")), [0, 1]),
        ((("0-71", "0,2-5", "N/A"), ("0-71", "0", "N/A")), [0, 0]),
        ((("0-7", "0", ""), ("8-15", "2", ""), ("16-23", "3", ""), ("0-23", "0,2-3", "")), [0, 2, 3, None]),
    ],
    ids=[
        "GH200",
        "GH200 with its id",
        "four GH200",
        "one GPU of GB200",
        "GB200 without own nodes",
        "the same without ids",
        "another row names the node alone",
        "other rows name nodes with CPUs",
    ],
)
def test_other_graces_have_the_node_with_cpus(rows, expected):
    """The nodes of GPU memory come behind the nodes with CPUs, however many GPUs are listed."""
    assert numa(matrix(*rows)) == expected


@pytest.mark.parametrize("nodes", ["0-1", "0-3", "0,2", "0,2,4", "0-1,4-19"])
def test_several_nodes_with_cpus_are_reported(nodes):
    found = matrix(("0-63", nodes, "N/A"), ("0-63", nodes, "N/A"))
    assert numa(found) == [None, None]
    (finding,) = (finding for finding in found.findings if finding.rule == "topology-several-numa-nodes")
    assert finding.subject == "GPU0, GPU1"
