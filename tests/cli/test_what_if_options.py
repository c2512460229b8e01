"""`--add`, `--drain`, `--without` and `--idle`: planning on a cluster that is changed first."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main
from dra_lab.sources import load_cluster

EKS = "sample:eks-p4d"
PAIRS = ["--claim", f"{EKS}/gpu-nic-pairs"]
NODES = load_cluster(EKS).node_names


def answer(capsys, command: str, *words: str) -> dict[str, object]:
    """Return the JSON of a command about the pairs."""
    main([command, EKS, *PAIRS, *words, "-o", "json"])
    return json.loads(capsys.readouterr().out)


def test_a_drained_node_serves_no_claim(capsys):
    """The plan goes to another node than without the change."""
    first = answer(capsys, "plan")["node"]
    found = answer(capsys, "plan", "--drain", first)
    assert (found["outcome"], found["node"] != first) == ("fits", True)


def test_a_device_that_is_removed_is_not_planned(capsys):
    """The device is named as the plan prints it."""
    device = answer(capsys, "plan")["devices"][0]
    name = f"{device['driver']}/{device['pool']}/{device['device']}"
    assert device not in answer(capsys, "plan", "--without", name)["devices"]


def test_more_nodes_like_one_serve_the_claim(capsys):
    """They are named after the node that they are like."""
    fitting = answer(capsys, "plan", "--add", f"3={NODES[0]}")["nodes"]["fittingIdle"]
    assert len(fitting) == len(NODES) + 3


def test_nothing_is_in_use_with_idle(capsys):
    """Every node that fits when idle fits now."""
    nodes = answer(capsys, "plan", "--idle")["nodes"]
    assert nodes["fitting"] == nodes["fittingIdle"]


def test_numa_nodes_are_published(capsys):
    """The GPUs publish none today, and their NICs on the same PCIe root do."""
    assert answer(capsys, "plan", "--publish-numa")["layers"][0]["words"] == "Next driver publishes NUMA"


@pytest.mark.parametrize(
    "words", [["plan"], ["plan", "--replicas", "2"], ["export", "--dir", "out"]], ids=["plan", "fleet", "export"]
)
def test_json_lists_the_changes_in_their_order(words, tmp_path, monkeypatch, capsys):
    """Each is the option that makes it, with its words."""
    monkeypatch.chdir(tmp_path)
    command, *more = words
    layers = answer(capsys, command, *more, "--idle", "--drain", NODES[0])["layers"]
    assert [layer["option"] for layer in layers] == ["--idle", f"--drain {NODES[0]}"]


@pytest.mark.parametrize("detail", [[], ["-q"], ["-v"]])
def test_text_names_the_changes_after_the_answer(detail, capsys):
    """Also with -q: the sentence holds for the changed cluster only."""
    main(["plan", EKS, *PAIRS, "--idle", *detail])
    assert capsys.readouterr().out.splitlines()[2] == "What if: Nothing in use."


def test_without_a_change_nothing_is_said(capsys):
    """The answer is about the cluster as it is."""
    main(["plan", EKS, *PAIRS])
    assert "What if" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--drain", NODES[0][:-1]], f"did you mean {NODES[0]!r}?"),
        (["--add", NODES[0]], "write N=NODE"),
        (["--without", "gpu-0"], "write driver/pool/device"),
    ],
)
def test_a_change_that_cannot_be_made_says_what_can(words, said, capsys):
    """An unknown name is refused before anything is planned."""
    assert (main(["plan", EKS, *PAIRS, *words]), said in capsys.readouterr().err) == (2, True)
