"""`dra-lab explain`: why a node or a device, and kube-scheduler's search step by step."""

from __future__ import annotations

import pytest

from dra_lab.cli import main

EKS = "sample:eks-p4d"
FITS = ["explain", EKS, "--claim", f"{EKS}/gpu-nic-pairs"]
FULL = "ip-192-168-158-9.ec2.internal"


def printed(capsys, *arguments: str) -> str:
    main(list(arguments))
    return capsys.readouterr().out


def refusal(capsys, *arguments: str) -> str:
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


def test_a_mistyped_device_gets_the_nearest_name(capsys):
    assert "did you mean gpu-3?" in refusal(capsys, *FITS, "--device", "gpu-33")


def test_a_mistyped_node_gets_the_nodes_that_there_are(capsys):
    assert FULL in refusal(capsys, *FITS, "--node", "158")


@pytest.mark.parametrize("example", ["gpu-nic-pairs", "five-pairs"])
def test_the_answer_is_that_of_the_plan(example, capsys):
    words = ["sample:eks-p4d", "--claim", f"sample:eks-p4d/{example}"]
    assert printed(capsys, "explain", *words, "-q") == printed(capsys, "plan", *words, "-q")


@pytest.mark.parametrize("more", [[], ["--step"], ["--device", "gpu-0"]])
def test_feature_gates_are_part_of_the_release(more, capsys):
    words = [*FITS, "--release", "1.36", *more]
    assert printed(capsys, *words, "--feature-gates", "DRADeviceTaintRules=true") == printed(capsys, *words)


POD = "sample:h100-pod"
GANG = ["explain", POD, "--claim", f"{POD}/eight-pairs", "--gang", "3", "--level", "leaf switch"]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([*GANG, "--node", "h100-01"], "--node is for one pod"),
        ([*GANG, "--step"], "--step is for one pod"),
        ([*GANG[:4], "--scheduler", "kueue"], "write --gang SIZE after --claim"),
        ([*GANG[:4], "--replicas", "2"], "write --gang SIZE after --claim"),
        ([*GANG, "--claim", f"{POD}/eight-pairs"], "one --claim is explained at a time"),
    ],
)
def test_options_that_have_no_meaning_are_refused(more, expected, capsys):
    assert expected in refusal(capsys, *more)
