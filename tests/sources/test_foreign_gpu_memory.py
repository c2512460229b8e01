"""NUMA nodes that are a GPU's memory and have no CPUs: `nvidia-smi topo -m` of GB200 and GH200."""

from __future__ import annotations

import pytest

from dra_lab.sources.foreign import Inventory, decode_inventory, make_cluster


def matrix(*rows: tuple[str, str, str]) -> Inventory:
    """Return what is read of GPUs with these CPU affinities, NUMA affinities and GPU NUMA ids."""
    names = [f"GPU{number}" for number in range(len(rows))]
    lines = ["\t".join(("", *names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"))]
    for at, (name, (cpus, nodes, own)) in enumerate(zip(names, rows, strict=True)):
        letters = [" X " if other == at else "NV18" for other in range(len(rows))]
        lines.append("\t".join((name, *letters, cpus, nodes, "", own)))
    return decode_inventory("\n".join(lines).encode(), "topo.txt")


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
    assert found.findings == () or {finding.rule for finding in found.findings} == {"topology-hidden-by-nvlink"}
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
    ],
    ids=[
        "GH200",
        "GH200 with its id",
        "four GH200",
        "one GPU of GB200",
        "GB200 without own nodes",
        "the same without ids",
        "another row names the node alone",
    ],
)
def test_other_graces_have_the_node_with_cpus(rows, expected):
    """The nodes of GPU memory come behind the nodes with CPUs, however many GPUs are listed."""
    assert numa(matrix(*rows)) == expected


@pytest.mark.parametrize("nodes", ["0-1", "0-3", "0,2", "0,2,4", "0-1,4-19"])
def test_several_nodes_with_cpus_are_reported(nodes):
    """Where several nodes may have CPUs the NUMA node stays unknown, and a Finding names the rows."""
    found = matrix(("0-63", nodes, "N/A"), ("0-63", nodes, "N/A"))
    assert numa(found) == [None, None]
    (finding,) = (finding for finding in found.findings if finding.rule == "topology-several-numa-nodes")
    assert finding.subject == "GPU0, GPU1"


def test_nodes_that_other_rows_name_have_cpus():
    """A list of nodes that other rows name one by one is several nodes with CPUs, whatever their numbers."""
    found = matrix(("0-7", "0", ""), ("8-15", "2", ""), ("16-23", "3", ""), ("0-23", "0,2-3", ""))
    assert numa(found) == [0, 2, 3, None]
