"""Topology files that are broken, that lie, or that mean harm: one error with file and line, and nothing kept."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from topology_texts import GPU, NCCL, SERVER, TOPO, host_bridge, hwloc, package, pci

from dra_lab.checks.cluster_checks import check_pools
from dra_lab.checks.refused import check_refused_slices
from dra_lab.errors import DraLabError, SourceError
from dra_lab.sources import load_texts
from dra_lab.sources.foreign.made_slices import make_cluster
from dra_lab.sources.foreign.reading import decode_inventory, read_inventory
from dra_lab.sources.foreign.xml_text import MAX_DEPTH


def refused(data: bytes | str, name: str = "a.xml") -> str:
    with pytest.raises(SourceError) as caught:
        decode_inventory(data.encode() if isinstance(data, str) else data, name)
    return str(caught.value)


BOMB = """<?xml version="1.0"?>
<!DOCTYPE topology [
<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
]>
<topology version="2.0"><object type="Machine">&c;</object></topology>
"""


READS = "nvidia-smi topo -m, XML of hwloc 2 and later (lstopo topology.xml)"
TIES = "\tGPU0\tGPU1\tNIC0\nGPU0\tX\tSYS\tPIX\nGPU1\tSYS\tX\tPIX\nNIC0\tPIX\tPIX\tX\n"
DEEP = '<topology version="2.0">\n' + '<object type="Group">\n' * 100_000
OUTSIDE = '<!DOCTYPE system [<!ENTITY x {}>]><system version="1">&x;</system>'
REFUSED = {
    "an entity bomb": (BOMB, "a.xml:2: it declares its own markup"),
    "a file of this machine": (OUTSIDE.format('SYSTEM "file:///etc/passwd"'), "its own markup"),
    "an address": (OUTSIDE.format('SYSTEM "http://localhost:1/"'), "its own markup"),
    "a public name": (OUTSIDE.format('PUBLIC "a" "b"'), "its own markup"),
    "an undeclared entity": (SERVER.replace(b"</topology>", b"&all;</topology>"), "it uses its own entity"),
    "deep nesting": (DEEP, f"a.xml:{MAX_DEPTH + 1}: more than {MAX_DEPTH} elements"),
    "very many elements": (b"<system>" + b"<a/>" * 250_001 + b"</system>", "the limit"),
    "ties that contradict": (TIES, "GPU0 is SYS to GPU1, but other entries put both on one PCIe root"),
    "another text": ("hello\n", READS),
    "another page": ("<!DOCTYPE html>\n<html></html>", "<html>"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_means_harm_or_is_no_topology_is_refused(name):
    """Nothing that a file declares is expanded or fetched, and each limit is named at its line."""
    data, words = REFUSED[name]
    assert words in refused(data)


def test_an_address_twice_matters_for_gpus_and_nics_only():
    """A SATA controller with the address of a GPU is no GPU; hwloc's own files have such lines."""
    machine = package(
        0, host_bridge("0000:[10-1f]", pci("0000:13:00.0", GPU) + pci("0000:13:00.0", "0106 [8086:1d02]"))
    )
    (device,) = [one for one in decode_inventory(hwloc(machine), "a.xml").devices if one.kind == "gpu"]
    assert device.facts["address"].value == "0000:13:00.0"


def test_the_dtd_that_hwloc_names_is_not_fetched(tmp_path, monkeypatch):
    """A document type that names a DTD is passed over; no file is opened for it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hwloc2.dtd").write_text('<!ENTITY all "x">')
    assert len(decode_inventory(SERVER, "dgx.xml").devices) == 6


def test_a_huge_file_is_refused(tmp_path):
    path = tmp_path / "huge.xml"
    with path.open("wb") as file:
        file.truncate(2**31)
    with pytest.raises(SourceError, match=r"2,147,483,648 bytes; the limit is 16,777,216"):
        read_inventory(path)


LIES = {
    SERVER: [
        ((b"</topology>", b""), "the XML is broken"),
        ((b"0000:13:00.0", b"0000:14:00.0"), "the address 0000:14:00.0 appears twice (first on line 12)"),
        ((b'pci_busid="0000:13:00.0"', b'pci_busid="13"'), "pci_busid is '13', expected dddd:bb:dd.f"),
        ((b"0001:81:00.0", b"0002:81:00.0"), "another PCI domain than its host bridge, pci0001:80"),
        ((b'"0000:[20-2f]"', b'"all"'), "bridge_pci of a host bridge is 'all'"),
        ((b"0000:[20-2f]", b"0000:[10-2f]"), "the root pci0000:10 appears twice"),
        ((b'type="NUMANode" os_index="1"', b'type="NUMANode" os_index="0"'), "NUMA node 0 appears twice"),
        (
            (b'os_index="1" cpuset="0x0000000c"', b'os_index="1" cpuset="0x000000f0"'),
            "CPUs that the Package around it, on",
        ),
        ((b'type="NUMANode" os_index="1"', b'type="NUMANode" os_index="-1"'), "os_index is '-1'"),
        (
            (b'type="Bridge" bridge_type="0-1"', b'type="Bridgf" bridge_type="0-1"'),
            "type 'Bridgf' has an address on PCI",
        ),
        ((b"0207 [15b3:1021]", b"0207 [15b3:1v21]"), "pci_type is '0207 [15b3:1v21]"),
        ((b'type="Package" os_index="1"', b'type="Machine" os_index="1"'), "it is inside the Machine of line 4"),
        (
            (b'type="Bridge" bridge_type="1-1"', b'type="Bridge" bridge_type="0-1" bridge_pci="0000:[11-1f]"'),
            "the root pci0000:11 is inside another root, pci0000:10",
        ),
        ((b' pci_type="0302 [10de:2330] [10de:16c1] a1"', b""), "PCIDev 0000:13:00.0: it has no pci_type, which says"),
        ((b'nodeset="0x00000001"', b'nodeset="0x0000000g"'), "Package 0: nodeset is '0x0000000g', expected a mask"),
        ((b'cpuset="0x00000003"', b'cpuset="0-1"'), "Package 0: cpuset is '0-1', expected a mask"),
        ((b'type="PCIDev"', b'type="PCIDew"'), "an object of type 'PCIDew' has an address on PCI"),
        ((b'type="Bridge" bridge_type="1-1"', b'type="OSDev"'), "it is inside the OSDev of line"),
        ((b'type="Bridge" bridge_type="1-1"', b'type="PCIDev"'), "it is inside the PCIDev of line"),
    ],
    NCCL: [
        ((b'affinity="00000000,0000000f"', b'affinity="00000000,0000000x"'), "affinity is '00000000,0000000x'"),
        (
            (b'busid="0000:81:00.0" class="0x030200"', b'busid="0000:81:00.0"'),
            "pci 0000:81:00.0: it has no class, which says",
        ),
        ((b'numaid="1"', b'numaid="x"'), "numaid is 'x'"),
        ((b'numaid="1"', b'numaid="0"'), "NUMA node 0 appears twice"),
        ((b'busid="0000:81:00.0"', b""), "busid is ''"),
        ((b"0000:81:00.0", b"0000:13:00.0"), "the address 0000:13:00.0 appears twice (first on line 4)"),
        ((b"</cpu>", b"</pci>"), "the XML is broken"),
        (
            (b'<nic><net name="eth0" dev="1"/></nic>', b'<cpu numaid="2"/>'),
            "it is inside the <cpu> of line 10, where it cannot be",
        ),
        (
            (b'<net name="eth0" dev="1"/>', b'<net name="eth0" dev="1"/>\n' * 2),
            "eth0 appears twice (first on line 13)",
        ),
    ],
}


@pytest.mark.parametrize(("data", "change", "words"), [(data, *row) for data, rows in LIES.items() for row in rows])
def test_xml_that_lies_names_line_and_element(data, change, words):
    """An impossible value in a file of hwloc or NCCL."""
    message = refused(data.replace(*change, 1), "topology.xml")
    assert words in message
    assert message.startswith("topology.xml:")


@pytest.mark.parametrize(
    ("change", "rule", "words"),
    [
        ((b'type="NUMANode"', b'type="NUMANodf"'), "topology-unknown-object", "a.xml:6, NUMANodf 0: objects of"),
        (
            (b'name="nvml1"', b'name="nvml3"'),
            "topology-numbers-missing",
            "a.xml:28, OSDev nvml3, name: there is nvml3 and no nvml1:",
        ),
        ((b'type="NUMANode"', b'type="NUMANodf"'), "topology-nodes-missing", "nodeset names the NUMA nodes 0, which"),
    ],
)
def test_hwloc_that_lost_something_is_reported(change, rule, words):
    """What is read may be all there is, or not: a warning with line and element."""
    found = decode_inventory(SERVER.replace(*change, 1), "a.xml").findings
    assert [words in str(finding) for finding in found if finding.rule == rule] == [True]


def test_no_numa_node_at_all_is_reported():
    """From version 2 on every machine has one; a machine's own nodeset names it."""
    body = "".join(line for line in package(0, "").splitlines(keepends=True) if "NUMANode" not in line)
    found = decode_inventory(hwloc(body, top='type="Machine" os_index="0" nodeset="0x00000001"'), "a.xml").findings
    assert "topology-nodes-missing" in {finding.rule for finding in found}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("NIC0\tPIX", "NIC0\tSYS"), "topo.txt:2: GPU0 is PIX to NIC0, but NIC0 is SYS to GPU0 (line 5)"),
        (("NIC2\tSYS\tSYS\tPHB\tSYS\tSYS\t X \n", ""), "a column but no row for NIC2"),
        (("SYS\tSYS\t X \n", "SYS\n"), "topo.txt:7: the row NIC2 has 4 of 6 cells"),
        (("\tPXB\tSYS\t0-55", "\tABC\tSYS\t0-55"), "'ABC' in the row GPU1 is none of"),
        (("GPU0\t X ", "GPU0\t0"), "this table is from another tool; give lstopo topology.xml"),
        (("GPU0\t X ", "GPU0\tMTLK"), "this table is from another tool; give lstopo topology.xml"),
        (("GPU0\t X ", "GPU0\tSYS"), "the row GPU0 has SYS in the column GPU0"),
        (("168-223\t1\t", "168-223\tnode1\t"), "'node1' is not a list of NUMA nodes"),
        (("GPU1\tNV18\t X ", "GPU0\tNV18\t X "), "the row GPU0 appears twice"),
        (("\t0-55", "\n\t0-55"), "topo.txt:3: '0-55,112-167 0 N/A' is between the rows and is not a row"),
    ],
)
def test_a_matrix_that_lies_names_the_line(change, words):
    """A matrix that is cut or contradicts itself is refused with its line."""
    assert words in refused(TOPO.replace(*change, 1), "topo.txt")


@pytest.mark.parametrize(
    "text",
    [
        "         GPU 0/0 GPU 0/1 CPU Affinity\nGPU 0/0  S       MDF     0-23\nGPU 0/1  MDF     S       0-23\n",
        "\tNPU0\tNPU1\tCPU Affinity\nNPU0\tX\tHCCS\t0-23\nNPU1\tHCCS\tX\t0-23\n",
        "LINK TYPE TABLE:\n             0000:0c:00.0 0000:22:00.0\n0000:0c:00.0 SELF         XGMI\n",
        "Machine (503GB total)\n  Package L#0\n    NUMANode L#0 (P#0 251GB)\n",
    ],
    ids=["xpu-smi", "npu-smi", "amd-smi", "lstopo's text"],
)
def test_tables_of_other_tools_are_reported_as_such(text):
    """A text file with the table of another tool is refused as a topology file, not as a broken manifest."""
    with pytest.raises(SourceError, match="does not read this topology format; it reads nvidia-smi topo -m"):
        load_texts({"topo.txt": text})


@pytest.mark.parametrize("seed", range(12))
def test_whatever_is_changed_is_read_or_refused(seed):
    """Files with random changes are read, made into valid nodes, or refused with an error of ours; nothing else."""
    rng = random.Random(seed)
    parts = [b"-1", b"999999999", b"0xffff", b"\xff", b"&lt;", b"\t", b"{product}", b"e9"]
    for number in range(60):
        data = bytearray((SERVER, NCCL, TOPO.encode())[number % 3])
        for _ in range(rng.randrange(1, 5)):
            at, end = rng.randrange(len(data)), rng.randrange(len(data))
            match rng.randrange(4):
                case 0:
                    data[at] = rng.randrange(256)
                case 1:
                    del data[min(at, end) : min(at, end) + rng.randrange(60)]
                case 2:
                    data[at:at] = bytes(data[end : end + rng.randrange(60)])
                case 3:
                    data[at:at] = rng.choice(parts)
        with suppress(DraLabError):
            cluster = make_cluster(decode_inventory(bytes(data), "a"))
            assert [*check_pools(cluster), *check_refused_slices(cluster)] == [], bytes(data)
