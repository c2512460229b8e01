"""`dra-lab explain`: why a node or a device, and kube-scheduler's search step by step."""

from __future__ import annotations

import pytest

from dra_lab.cli import main

EKS = "sample:eks-p4d"
FITS = ["explain", EKS, "--claim", f"{EKS}/gpu-nic-pairs"]
FULL = "ip-192-168-158-9.ec2.internal"


def printed(capsys, *arguments: str) -> str:
    """Return the standard output of a command."""
    main(list(arguments))
    return capsys.readouterr().out


def refusal(capsys, *arguments: str) -> str:
    """Return the error of a command that ends with status 2."""
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


def test_a_mistyped_device_gets_the_nearest_name(capsys):
    """The refusal names the most similar device of the node."""
    assert "did you mean gpu-3?" in refusal(capsys, *FITS, "--device", "gpu-33")


def test_a_mistyped_node_gets_the_nodes_that_there_are(capsys):
    """The refusal names nodes of the cluster."""
    assert FULL in refusal(capsys, *FITS, "--node", "158")


@pytest.mark.parametrize("example", ["gpu-nic-pairs", "five-pairs"])
def test_the_answer_is_that_of_the_plan(example, capsys):
    """Both commands name the devices with the same words."""
    words = ["sample:eks-p4d", "--claim", f"sample:eks-p4d/{example}"]
    assert printed(capsys, "explain", *words, "-q") == printed(capsys, "plan", *words, "-q")


@pytest.mark.parametrize("more", [[], ["--step"], ["--device", "gpu-0"]])
def test_feature_gates_are_part_of_the_release(more, capsys):
    """A gate that differs from the release's default changes nothing in a cluster without taint rules."""
    words = [*FITS, "--release", "1.36", *more]
    assert printed(capsys, *words, "--feature-gates", "DRADeviceTaintRules=true") == printed(capsys, *words)
