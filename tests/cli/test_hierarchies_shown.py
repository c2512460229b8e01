"""`dra-lab topology CLUSTER`: levels, domains and findings of each hierarchy, and JSON with all of it."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli.main import main


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command; return its status and what it printed."""
    status = main(["topology", *arguments])
    found = capsys.readouterr()
    return status, found.out, found.err


def test_the_levels_of_each_hierarchy(capsys):
    """The line comes first, then a row for each level."""
    status, out, err = shown(capsys, "sample:h100-pod")
    assert (status, err) == (0, "")
    assert out.startswith("1 zone · 2 spines · 4 leaf switches of 4 nodes\n")
    assert "topology.example.com/leaf    Kueue Topology h100-pod        4" in out


def test_every_domain_in_detail(capsys):
    """-v has a row for each domain with its path."""
    assert "spine-2/leaf-3      4  h100-09, h100-10, h100-11, h100-12" in shown(capsys, "sample:h100-pod", "-v")[1]


def test_the_answer_alone(capsys):
    """-q is one line."""
    assert shown(capsys, "sample:h100-pod", "-q")[1] == "1 zone · 2 spines · 4 leaf switches of 4 nodes\n"


def test_findings_are_on_standard_error(capsys):
    """Two nodes of the sample are cordoned."""
    assert "nvl-b17, nvl-b18" in shown(capsys, "sample:gb200-nvl72")[2]


def test_json_has_paths_and_nodes(capsys):
    """A domain is its path; its nodes are all of them."""
    found = json.loads(shown(capsys, "sample:h100-pod", "-o", "json")[1])
    tree = found["hierarchies"][0]
    assert (found["kind"], tree["name"], tree["leftOut"]) == ("Hierarchies", "h100-pod", [])
    assert tree["domains"][-1] == {
        "level": "leaf switch",
        "path": ["spine-2", "leaf-4"],
        "nodes": ["h100-13", "h100-14", "h100-15", "h100-16"],
    }


def test_a_cluster_that_says_nothing(capsys, tmp_path):
    """A sentence instead of an empty table."""
    file = tmp_path / "nodes.yaml"
    file.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    assert "says where its nodes are" in shown(capsys, str(file))[1]


def test_a_cluster_is_given_alone(capsys):
    """Files about a server are something else."""
    status, _, err = shown(capsys, "sample:h100-pod", "topo.txt")
    assert (status, "give one cluster, or files about one server" in err) == (2, True)


def test_a_folder_of_topology_files_is_not_called_a_cluster(tmp_path, capsys):
    """The message names the files of the folder as the way out, not the endings of a cluster's files."""
    (tmp_path / "topo.txt").write_text("GPU0 X")
    assert main(["topology", str(tmp_path)]) == 2
    assert "name its files about one server" in capsys.readouterr().err
