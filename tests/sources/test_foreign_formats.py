"""What topology files say: GPUs, NICs, roots, switches, NUMA nodes, each value with its place in the file."""

from __future__ import annotations

import pytest
from topology_texts import GPU, NCCL, NIC, SERVER, TOPO, bridge, host_bridge, hwloc, named, package, pci

from dra_lab.sources.foreign import Inventory, decode_inventory


def values(inventory: Inventory, name: str) -> dict[str, object]:
    """Return the facts of the device with a name, as plain values."""
    device = next(device for device in inventory.devices if device.name == name)
    return {key: fact.value for key, fact in device.facts.items()}


def topo(text: str = TOPO) -> Inventory:
    """Read a matrix."""
    return decode_inventory(text.encode(), "topo.txt")


@pytest.mark.parametrize("escape", ["\x1b[4m", "[4m", "^[[4m", ""])
def test_the_header_may_be_underlined(escape):
    """Escapes of a terminal in the header, whole or as copies leave them, do not hide it: all devices are read."""
    found = topo(TOPO.replace("\x1b[4m", escape).replace("\x1b[0m", escape.replace("4", "0")))
    assert [device.kind for device in found.devices] == ["gpu"] * 3 + ["nic"] * 3


def test_letters_within_one_root():
    """PIX, PXB and PHB say that two devices share a root; PIX that they share the switch."""
    found = topo()
    assert [values(found, name).get("rootGroup") for name in ("GPU0", "NIC0", "GPU1", "NIC1", "GPU2", "NIC2")] == [
        "of GPU0",
        "of GPU0",
        "of GPU1",
        "of GPU1",
        "of GPU2",
        "of GPU2",
    ]
    assert [device.name for device in found.devices if "switch" in device.facts] == ["GPU0", "NIC0"]


def test_the_legend_names_the_nics():
    """The NIC legend at the end gives the RDMA device of each NIC, with its own line."""
    nic = topo().of("nic")[1]
    assert (nic.text("rdmaDevice"), nic.facts["rdmaDevice"].origin.line) == ("mlx5_3", 17)


def test_a_value_of_the_matrix_names_its_row_and_line():
    """The NUMA node of a GPU comes from its row."""
    origin = topo().of("gpu")[2].facts["numaNode"].origin
    assert str(origin) == "topo.txt:4, row GPU2, column NUMA Affinity"


def test_nic_rows_may_lack_the_last_columns():
    """A NIC without NUMA affinity has that of the devices on its node by the letters, with their row as the source."""
    nic = topo().of("nic")[0]
    assert (nic.value("numaNode"), str(nic.facts["numaNode"].origin)) == (
        0,
        "topo.txt:2, row GPU0, column NUMA Affinity",
    )


def test_a_nic_that_is_tied_to_nothing_has_no_numa_node():
    """A NIC that is far from everything is on no node that the text tells."""
    assert "numaNode" not in values(topo(TOPO.replace("PHB", "SYS")), "NIC2")


def test_cpus_of_a_numa_node():
    """A whole list of CPUs is the NUMA node's."""
    assert [len(node.cpus or ()) for node in topo().cpu_nodes] == [112, 112]


@pytest.mark.parametrize("cut", ["0,2,4,6,8,10", "0-3,", "0-5,1x"])
def test_cut_lists_of_cpus_are_not_used(cut):
    """A list that the tool cut tells nothing about the number of CPUs, and a Finding says so."""
    found = topo(TOPO.replace("0-55,112-167", cut))
    assert found.cpu_nodes[0].cpus is None
    assert [finding.rule for finding in found.findings][:1] == ["topology-cpus-cut"]


def test_nvlink_hides_roots_and_it_is_reported():
    """GPUs that no letter ties to anything by PCIe have an unknown root, and the way out is named."""
    text = TOPO.replace("PHB", "SYS")
    found = topo(text)
    assert "rootGroup" not in values(found, "GPU2")
    assert "nvidia-smi topo -mp" in found.findings[-1].advice


def test_old_spelling_and_spaces():
    """SOC is SYS, names of NICs may head the columns, and tabs may have become spaces."""
    text = "      GPU0 GPU1 mlx5_0 CPU Affinity\nGPU0 X SOC PIX 0-7\nGPU1 SYS X SOC 8-15\nmlx5_0 PIX SOC X\n"
    found = topo(text)
    assert values(found, "mlx5_0") == {"rdmaDevice": "mlx5_0", "rootGroup": "of GPU0", "switch": "of GPU0"}


def test_hwloc_names_root_switch_and_numa_node():
    """A host bridge gives root and NUMA node, the bridges under it the switch, names the rest."""
    found = decode_inventory(SERVER, "dgx.xml")
    assert values(found, "mlx5_0") == {
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
    }


@pytest.mark.parametrize(("version", "kinds"), [("1.0", (2, 3)), ("2.0", (2, 3)), ("3.0", (16, 32)), ("3.0", (48, 48))])
def test_hwloc_names_of_nics_in_every_version(version, kinds):
    """The type of a kernel name is an enumeration up to version 2 and a set of bits from version 3."""
    nic = pci("0000:11:00.0", NIC, named("eth0", kinds[0]) + named("mlx5_0", kinds[1]))
    found = decode_inventory(hwloc(package(0, host_bridge("0000:[10-1f]", nic)), version=version), "a.xml")
    assert (found.devices[0].text("interface"), found.devices[0].text("rdmaDevice")) == ("eth0", "mlx5_0")


def test_hwloc_version_1_has_numa_nodes_in_the_tree():
    """Where the NUMA node is itself above the bridge, it is the place."""
    node = '<object type="NUMANode" os_index="{}" cpuset="0x1" local_memory="1">{}</object>\n'
    body = node.format(0, "") + node.format(1, host_bridge("0000:[10-1f]", pci("0000:11:00.0", GPU)))
    found = decode_inventory(hwloc(body, version="1.0"), "a.xml")
    assert found.devices[0].value("numaNode") == 1


def test_hwloc_bridge_at_the_machine_has_no_numa_node():
    """A root that hangs at a machine of two NUMA nodes is known, its NUMA node is not."""
    body = package(0, "") + package(1, "") + host_bridge("0000:[00-ff]", pci("0000:16:00.0", GPU))
    gpu = decode_inventory(hwloc(body), "a.xml").devices[0]
    assert (gpu.value("pcieRoot"), gpu.value("numaNode")) == ("pci0000:00", None)


def test_hwloc_gpu_memory_is_no_place():
    """NUMA nodes that are a GPU's memory do not make the place of a bridge ambiguous."""
    memory = '<object type="NUMANode" subtype="GPUMemory" os_index="1" cpuset="0x3" nodeset="0x2" local_memory="1"/>\n'
    body = package(0, memory + host_bridge("0008:[00-ff]", pci("0008:06:00.0", GPU))).replace(
        'nodeset="0x00000001">', 'nodeset="0x00000003">', 1
    )
    assert decode_inventory(hwloc(body), "a.xml").devices[0].value("numaNode") == 0


def test_hwloc_without_bridges_knows_the_numa_node_only():
    """Without Bridge objects roots are unknown, and a Finding says how to get them."""
    found = decode_inventory(hwloc(package(0, pci("0000:11:00.0", GPU))), "a.xml")
    assert (found.devices[0].value("pcieRoot"), found.devices[0].value("numaNode")) == (None, 0)
    assert found.findings[0].rule == "topology-without-bridges"


def test_a_bridge_inside_a_card_is_no_switch():
    """A bridge that holds the functions of one card only is not shared with anybody."""
    card = bridge("0000:12:00.0", pci("0000:13:00.0", NIC) + pci("0000:13:00.1", NIC))
    body = package(0, host_bridge("0000:[10-1f]", bridge("0000:10:00.0", bridge("0000:11:00.0", card))))
    assert all("switch" not in device.facts for device in decode_inventory(hwloc(body), "a.xml").devices)


def test_a_boards_own_graphics_are_no_gpu():
    """The display controller of a server's board is not an accelerator."""
    body = package(0, host_bridge("0000:[00-0f]", pci("0000:02:00.0", "0300 [1a03:2000]")))
    assert decode_inventory(hwloc(body), "a.xml").devices[0].kind == "other"


def test_management_functions_are_known():
    """The ConnectX-7 functions of an HGX board that manage NVSwitches are marked."""
    nic = pci("0000:73:00.0", "0207 [15b3:1021] [15b3:0087]")
    found = decode_inventory(hwloc(package(0, host_bridge("0000:[66-79]", nic))), "a.xml")
    assert found.devices[0].value("management") is True


def test_nccl_knows_switches_and_numa_nodes_but_no_root():
    """Devices below one bridge share a root without a name; the NVSwitch is no GPU."""
    found = decode_inventory(NCCL, "nccl.xml")
    assert [device.kind for device in found.devices] == ["gpu", "nic", "gpu", "other", "nic"]
    assert values(found, "mlx5_0")["rootGroup"] == values(found, "0000:13:00.0")["rootGroup"] == "above 0000:11:00.0"
    assert found.roots == ()


def test_nccl_switches_in_no_domain_say_nothing_of_roots():
    """A switch that a cloud's file invents (domain ffff) is a switch, and no PCIe root."""
    found = decode_inventory(NCCL.replace(b"0000:11:00.0", b"ffff:ff:01.0"), "nccl.xml")
    gpu = found.of("gpu")[0]
    assert (gpu.value("switch"), gpu.value("rootGroup")) == ("ffff:ff:01.0", None)


def test_nccl_affinity_is_the_cpus():
    """The mask of a <cpu> gives its CPUs."""
    assert [node.cpus for node in decode_inventory(NCCL, "nccl.xml").cpu_nodes] == [(0, 1, 2, 3), (4, 5, 6, 7)]
