"""Topology files on the command line and wherever a CLUSTER is asked for."""

from __future__ import annotations

import json

import pytest
from topology_texts import SERVER

from dra_lab.cli import main
from dra_lab.errors import InputError, SourceError
from dra_lab.sources import load_cluster, load_texts
from dra_lab.sources.foreign import read_inventory
from dra_lab.sources.foreign.reading import topology_cluster


@pytest.fixture
def files(tmp_path):
    """A folder with a topology file and a cluster."""
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


@pytest.mark.parametrize("name", ["topo:", "topo:*8"])
def test_no_file_is_an_error(name):
    """A name without a file says how to write it."""
    with pytest.raises(SourceError, match=r"write topo:FILE"):
        load_cluster(name)


def test_too_many_nodes_are_refused(files):
    """The count has a limit."""
    with pytest.raises(InputError, match="1 to 20,000"):
        load_cluster(f"topo:{files / 'dgx.xml'}*99999")


def test_a_missing_file_is_named():
    """A file that is not there is named."""
    with pytest.raises(SourceError, match=r"'absent\.xml' cannot be read"):
        read_inventory("absent.xml")


def test_a_mistyped_number_of_nodes_is_reported_as_one(tmp_path):
    """The star in the name that was not found is explained."""
    with pytest.raises(SourceError, match=r"write the number of nodes after \*"):
        load_cluster(f"topo:{tmp_path / 'topo.txt'}*x")


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


def test_a_command_reads_the_nodes_of_a_topology_file(files, capsys):
    """`--topology` takes the place of CLUSTER."""
    file = str(files / "dgx.xml")
    assert main(["check", "--topology", file, "--nodes", "2", str(files / "cluster.json"), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["cluster"] == f"topo:{file}*2"
