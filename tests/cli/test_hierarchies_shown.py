"""`dra-lab topology CLUSTER`: levels, domains and findings of each hierarchy, and JSON with all of it."""

from __future__ import annotations

import pytest

from dra_lab.cli.main import main


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command; return its status and what it printed."""
    status = main(["topology", *arguments])
    found = capsys.readouterr()
    return status, found.out, found.err


def test_a_cluster_that_says_nothing(capsys, tmp_path):
    """A sentence instead of an empty table."""
    file = tmp_path / "nodes.yaml"
    file.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n")
    assert "says where its nodes are" in shown(capsys, str(file))[1]


def test_a_folder_of_topology_files_is_not_called_a_cluster(tmp_path, capsys):
    """The message names the file of a server as the way out, not the endings of a cluster's files."""
    (tmp_path / "topo.txt").write_text("GPU0 X")
    assert main(["topology", str(tmp_path)]) == 2
    assert "name its file about one server" in capsys.readouterr().err
