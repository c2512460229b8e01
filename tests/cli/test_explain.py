"""`dra-lab explain`: why a node or a device, and kube-scheduler's search step by step."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main

EKS = "sample:eks-p4d"
FITS = ["explain", EKS, "--claim", f"{EKS}/gpu-nic-pairs"]
MISFIT = ["explain", EKS, "--claim", f"{EKS}/five-pairs"]
FULL = "ip-192-168-158-9.ec2.internal"


def printed(capsys, *arguments: str) -> str:
    """Return the standard output of a command."""
    main(list(arguments))
    return capsys.readouterr().out


def refusal(capsys, *arguments: str) -> str:
    """Return the error of a command that ends with status 2."""
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(FITS, 0), ([*FITS, "--node", FULL], 1), (MISFIT, 1), ([*FITS, "--device", "gpu-3"], 0)],
    ids=["fits", "full node", "misfit", "device"],
)
def test_the_exit_status_says_whether_the_claim_fits(arguments, status):
    """Status 0 is for a claim that fits, 1 for one that does not."""
    assert main(arguments) == status


@pytest.mark.parametrize(
    ("node", "gpus", "nics"),
    [("ip-192-168-140-52.ec2.internal", 8, 4), (FULL, 0, 0)],
    ids=["fits", "full"],
)
def test_a_node_shows_how_many_devices_are_left_after_each_test(node, gpus, nics, capsys):
    """Both a node that fits and one that does not have the tests of each request."""
    found = json.loads(printed(capsys, *FITS, "--node", node, "-o", "json"))["tests"]
    assert found["node"] == node
    assert [(one["request"], one["tests"][-1]["left"]) for one in found["requests"]] == [("gpu", gpus), ("nic", nics)]


def test_a_claim_that_fits_nowhere_shows_the_tests_of_the_node_whose_search_is_shown(capsys):
    """Without --node the search is that of the nearest node."""
    found = json.loads(printed(capsys, *MISFIT, "-o", "json"))
    assert found["tests"]["node"] == found["scheduler"]["node"]


def test_the_tests_of_a_node_name_who_uses_its_devices(capsys):
    """The row of the test that the full node fails has the claim that holds the devices."""
    assert "training/llm-70b-0-devices-2ddgn uses 8" in printed(capsys, *FITS, "--node", FULL)


def test_a_device_of_another_node_than_the_best_is_explained(capsys):
    """With --node the device is looked for on that node."""
    text = printed(capsys, *FITS, "--node", FULL, "--device", "gpu-3", "-q")
    assert text.strip().endswith("in use by training/llm-70b-0-devices-2ddgn.")


def test_a_full_node_is_explained_by_its_own_devices(capsys):
    """With --node the reason is that of this node."""
    short = f"{FULL} is short of A100-SXM4-40GB GPUs: 0 of 2 are free"
    assert short in printed(capsys, *FITS, "--node", FULL)


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("gpu-0", "kube-scheduler cannot allocate it: in use by training/llm-7b-0-devices-wslqm."),
        ("gpu-3", "kube-scheduler allocates it first and gives it back."),
        ("gpu-4", "kube-scheduler allocates it to gpu-0."),
        ("gpu-7", "kube-scheduler finds all devices before it."),
    ],
)
def test_a_device_is_explained_in_the_first_line(device, words, capsys):
    """The first line says what becomes of the device."""
    assert printed(capsys, *FITS, "--device", device, "-q").strip().endswith(words)


def test_a_mistyped_device_gets_the_nearest_name(capsys):
    """The refusal names the most similar device of the node."""
    assert "did you mean gpu-3?" in refusal(capsys, *FITS, "--device", "gpu-33")


def test_a_mistyped_node_gets_the_nodes_that_there_are(capsys):
    """The refusal names nodes of the cluster."""
    assert FULL in refusal(capsys, *FITS, "--node", "158")


def test_a_missing_claim_says_what_to_give(capsys):
    """Without --claim the message names the option."""
    assert f"--claim {EKS}/gpu-nic-pairs" in refusal(capsys, "explain", EKS)


def test_steps_are_short_by_default_and_whole_with_verbose(capsys):
    """A search that tries many devices prints one row for each device, with -v one for each test."""
    short, whole = (printed(capsys, *FITS, "--step", *more).count("\n") for more in ((), ("-v",)))
    assert short < whole < 200


def test_json_has_the_end_the_counts_and_the_steps(capsys):
    """The rows follow each other up to the number of steps that is counted."""
    found = json.loads(printed(capsys, *FITS, "--step", "-o", "json"))
    trace = found["scheduler"]
    assert (found["kind"], found["outcome"], trace["end"]["status"]) == ("Explanation", "fits", "allocated")
    assert [row["first"] for row in trace["steps"]] == [1, *(row["last"] + 1 for row in trace["steps"][:-1])]
    assert trace["steps"][-1]["last"] == trace["counts"]["steps"]


@pytest.mark.parametrize("example", ["gpu-nic-pairs", "five-pairs"])
def test_the_answer_is_that_of_the_plan(example, capsys):
    """Both commands name the devices with the same words."""
    words = ["sample:eks-p4d", "--claim", f"sample:eks-p4d/{example}"]
    assert printed(capsys, "explain", *words, "-q") == printed(capsys, "plan", *words, "-q")


def test_a_test_that_leaves_too_few_devices_is_marked(capsys):
    """The first such test is why a request cannot be met on the node."""
    text = printed(capsys, "explain", "sample:eks-p4d", "--claim", "sample:eks-p4d/five-pairs")
    rows = [line.split() for line in text.splitlines() if "too few" in line]
    assert ["match", "rdma", "4", "15", "too", "few"] in rows


def test_the_whole_answer_has_each_heading_once(capsys):
    """What is in the way is a part of the reasons, and is not printed before them too."""
    text = printed(capsys, "explain", "sample:eks-p4d", "--claim", "sample:eks-p4d/five-pairs", "-v")
    assert text.splitlines().count("What is in the way") == 1


def test_a_claim_that_does_not_fit_has_no_plan_that_leaves_a_device_out(capsys):
    """The answer states what a plan uses only if there is a plan."""
    words = ["explain", "sample:oke-gb200", "--claim", "sample:oke-gb200/one-pair", "--device", "gpu-0", "-q"]
    assert "The plan does not use" not in printed(capsys, *words)
