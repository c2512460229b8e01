"""Topology files as other systems and versions of the tools write them: the same hardware is read."""

from __future__ import annotations

import pytest
from topology_texts import GPU, NCCL, NIC, SERVER, TOPO, host_bridge, hwloc, named, package, pci

from dra_lab.errors import SourceError
from dra_lab.sources.foreign import Inventory, decode_inventory, make_cluster
from dra_lab.sources.foreign.reading import is_topology


def known(inventory: Inventory) -> list[tuple[str, str, dict[str, object]]]:
    """Return all that is known of the devices, without the places in the file."""
    return [(d.kind, d.name, {key: fact.value for key, fact in d.facts.items()}) for d in inventory.devices]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("text", [TOPO, SERVER.decode(), NCCL.decode()], ids=["topo", "hwloc", "nccl"])
def test_other_encodings_say_the_same(text, encoding):
    """PowerShell's `>` writes UTF-16 with a mark, whatever encoding the XML declares."""
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    data = (mark + text).encode(encoding)
    assert is_topology(data[:1000])
    assert known(decode_inventory(data, "a")) == known(decode_inventory(text.encode(), "a"))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.expandtabs(),
        lambda text: text.replace("PIX", "\x1b[32mPIX\x1b[0m"),
        lambda text: f"Script started\n$ nvidia-smi topo -m\n{text}$ exit\n",
        lambda text: "\n".join(f"    {line}" for line in text.splitlines()),
        lambda text: text.replace("\t\tN/A", "\tN/A"),
        lambda text: text.replace("\t\t", "\t \t") + "\n" + text,
    ],
    ids=["crlf", "spaces", "colours", "in a session", "indented", "tabs", "twice"],
)
def test_copies_of_a_matrix_say_the_same(change):
    """Line ends, tabs, colours and what stands around it do not matter."""
    assert known(decode_inventory(change(TOPO).encode(), "a")) == known(decode_inventory(TOPO.encode(), "a"))


def test_columns_without_a_value_are_not_known():
    """A machine without NUMA (a virtual one) has N/A or nothing there: GPUs, and no NUMA node."""
    for cells in ("\t\t\tN/A", "\tN/A\tN/A\tN/A", ""):
        text = f"\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X {cells}\n"
        found = decode_inventory(text.encode(), "a")
        assert [(device.name, device.value("numaNode")) for device in found.devices] == [("GPU0", None)]
        assert found.cpu_nodes == ()


def test_columns_that_a_later_tool_adds_are_ignored():
    """A heading after the known columns is no device, and its cells do not change the others."""
    text = TOPO.replace("GPU NUMA ID", "GPU NUMA ID\tDPU Affinity").replace("\tN/A\n", "\tN/A\t7\n")
    assert known(decode_inventory(text.encode(), "a")) == known(decode_inventory(TOPO.encode(), "a"))


def test_blank_lines_above_an_xml_declaration_count_as_lines():
    """A copy with blank lines at its beginning is read, and its values name the lines of the file."""
    plain, copy = (decode_inventory(b"\n \n"[:size] + SERVER, "a.xml") for size in (0, 3))
    assert is_topology(b"\n \n" + SERVER)
    assert [device.origin.line for device in copy.devices] == [device.origin.line + 2 for device in plain.devices]


@pytest.mark.parametrize("index", ["", 'os_index="4294967295" '])
def test_a_package_without_a_number_is_a_socket_without_one(index):
    """Windows and some firmware number no packages: NUMA nodes and roots are known all the same."""
    found = decode_inventory(SERVER.replace(b'"Package" os_index="0" ', f'"Package" {index}'.encode()), "a.xml")
    assert [node.socket for node in found.cpu_nodes] == [None, 1]
    assert {device.value("numaNode") for device in found.devices} == {0, 1}
    assert make_cluster(found).slices


def test_the_number_of_a_package_may_be_large():
    """Firmware of ARM servers gives offsets into its own tables."""
    found = decode_inventory(SERVER.replace(b'"Package" os_index="1"', b'"Package" os_index="16584"'), "a.xml")
    assert [node.socket for node in found.cpu_nodes] == [0, 16584]


def test_version_one_of_hwloc():
    """NUMA nodes above sockets, models as names, no version: the same places."""
    card = pci("0000:02:00.0", GPU, named("cuda0", 5)).replace("<object", '<object name="GH100 [H100]"', 1)
    node = (
        '<object type="NUMANode" os_index="1" cpuset="0x0000000c" nodeset="0x00000002" local_memory="4096">\n'
        '<object type="Socket" os_index="1" cpuset="0x0000000c" nodeset="0x00000002"/>\n'
        f"{host_bridge('0000:[00-02]', card)}</object>\n"
    )
    text = hwloc(node + node.replace('"1"', '"0"').replace("0000:", "0001:"), version="").replace(b' version=""', b"")
    found = decode_inventory(text, "a.xml")
    (other, gpu) = sorted(found.of("gpu"), key=lambda device: device.text("address"), reverse=True)
    assert [(d.text("model"), d.text("pcieRoot"), d.value("numaNode")) for d in (gpu, other)] == [
        ("GH100 [H100]", "pci0000:00", 1),
        ("GH100 [H100]", "pci0001:00", 0),
    ]


@pytest.mark.parametrize("has_dram", [False, True])
def test_near_memory_is_main_memory_where_there_is_no_other(has_dram):
    """Xeon Max: HBM beside DRAM is no node for devices, HBM alone is."""
    both = '<object type="NUMANode" subtype="HBM" os_index="1" cpuset="0x00000003" nodeset="0x00000002"/>\n'
    body = package(0, host_bridge("0000:[00-02]", pci("0000:02:00.0", NIC)))
    body = body.replace('<object type="Core', f'{both}<object type="Core', 1).replace(
        'nodeset="0x00000001"', 'nodeset="0x00000003"', 1
    )
    if not has_dram:
        first = body.index('<object type="NUMANode" os_index="0"')
        body = body[:first] + body[body.index("\n", first) + 1 :]
    found = decode_inventory(hwloc(body), "a.xml")
    assert [node.numa_node for node in found.cpu_nodes] == [0 if has_dram else 1]
    assert [nic.value("numaNode") for nic in found.of("nic")] == [0 if has_dram else 1]


def test_an_endless_node_set_names_no_node():
    """Old exports of machines without NUMA have 0xf...f: nothing is known, and nothing is invented."""
    bridge = host_bridge("0000:[00-02]", pci("0000:02:00.0", NIC))
    body = f'<object type="Socket" os_index="0" nodeset="0xf...f">{bridge}</object>'
    (nic,) = decode_inventory(hwloc(body, top='type="Machine" os_index="0" nodeset="0xf...f"'), "a.xml").of("nic")
    assert (nic.text("pcieRoot"), nic.value("numaNode")) == ("pci0000:00", None)


@pytest.mark.parametrize("names", [("cuda1", "nvml0"), ("nvml0", "cuda1"), ("nvml0",)])
def test_the_number_of_a_gpu_is_that_of_the_vendors_tool(names):
    """CUDA counts in an order of its own, which nvidia-smi does not know."""
    text = hwloc(package(0, host_bridge("0000:[00-06]", pci("0000:05:00.0", GPU, "".join(named(n, 5) for n in names)))))
    assert [gpu.value("index") for gpu in decode_inventory(text, "a.xml").of("gpu")] == [0]


def test_infiniband_of_the_serial_bus_class_is_a_nic():
    """Mellanox cards in InfiniBand mode had the class 0c06."""
    text = hwloc(package(0, host_bridge("0000:[00-06]", pci("0000:05:00.0", "0c06 [15b3:6746]", named("mlx4_0", 3)))))
    (nic,) = decode_inventory(text, "a.xml").of("nic")
    assert (nic.name, nic.value("infiniBand")) == ("mlx4_0", True)


def test_pci_domains_of_eight_digits():
    """Domains behind a volume management device go beyond four digits."""
    text = hwloc(package(0, host_bridge("10000:[e0-e2]", pci("10000:e1:00.0", NIC))))
    (nic,) = decode_inventory(text, "a.xml").of("nic")
    assert (nic.text("address"), nic.text("pcieRoot")) == ("10000:e1:00.0", "pci10000:e0")


def test_nics_that_nccl_uses_as_one_are_several():
    """A fused NIC has no address; what is listed by its address too is there once."""
    fused = NCCL.replace(b'<net name="eth0"', b'<net name="mlx5_0+mlx5_1"')
    assert [nic.name for nic in decode_inventory(fused, "a.xml").of("nic")] == ["mlx5_0", "mlx5_1"]


def test_a_file_of_several_hosts_is_refused():
    """NCCL writes the hosts of an NVLink domain into one file, with the same addresses; a host is asked for."""
    one = NCCL.replace(b"<cpu ", b'<cpu host_hash="0x1" ')
    assert known(decode_inventory(one, "a.xml")) == known(decode_inventory(NCCL, "a.xml"))
    two = one.replace(b"</system>", b'  <cpu host_hash="0x2" numaid="0"/>\n</system>')
    with pytest.raises(SourceError, match=r"a\.xml:15.* 2 hosts"):
        decode_inventory(two, "a.xml")


def test_bridges_of_rccl_may_repeat_an_address():
    """RCCL writes the functions of one switch with one address: two bridges are read, and a Finding reports it."""
    card = '<pci busid="0000:c5:00.0" class="0x060400"><pci busid="0000:{}:00.0" class="0x038000"/></pci>'
    text = "<system><cpu numaid='0' affinity='ff'>\n" + card.format("cf") + "\n" + card.format("d0") + "</cpu></system>"
    found = decode_inventory(text.encode(), "a.xml")
    assert len({device.text("rootGroup") for device in found.of("gpu")}) == 2
    assert [finding.rule for finding in found.findings] == ["topology-repeated-bridge"]


def test_a_nic_may_have_the_address_of_a_bridge():
    """RCCL's own models have a NIC at the address of a bridge; both are read."""
    text = '<system><cpu numaid="0" affinity="ff"><pci busid="0000:a1:00.0" class="0x060400">{}</pci></cpu></system>'
    nic = '<pci busid="0000:a1:00.0" class="0x020700"/>'
    assert len(decode_inventory(text.format(nic).encode(), "a.xml").of("nic")) == 1


def test_the_graphs_of_nccl_are_named_as_such():
    """NCCL's file of graphs has no hardware in it: the refusal names its outermost element."""
    with pytest.raises(SourceError, match="<graphs>"):
        decode_inventory(b'<graphs version="1"><graph id="0"/></graphs>', "graph.xml")
