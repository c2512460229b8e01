"""`dra-lab explain --gang`: the choice of Kueue and kube-scheduler for a gang, step by step, and what it costs."""

from __future__ import annotations

import json

import pytest

from dra_lab.cli import main

POD = "sample:h100-pod"
GANG = ["explain", POD, "--claim", f"{POD}/eight-pairs", "--gang", "3", "--level", "leaf switch"]


def printed(capsys, *options: str) -> str:
    """Return the standard output of the command for a gang that fits below one leaf switch."""
    main([*GANG, *options])
    return capsys.readouterr().out


def refusal(capsys, *arguments: str) -> str:
    """Return the error of a command that ends with status 2."""
    assert main(list(arguments)) == 2
    return capsys.readouterr().err


def test_both_schedulers_are_explained(capsys):
    """The answer of the planner, each verdict, and how far it stays behind."""
    out = printed(capsys)
    lines = [line for line in out.splitlines() if line]
    assert [line[:58] for line in lines] == [
        "The gang fits in spine-1/leaf-2: 3 pods on 3 nodes. Every ",
        "Kueue 0.19: no. Kueue's counts admit it, but on h100-01 th",
        "Kueue 0.19 starts 0; the best plan starts 1 of 1 gang, pro",
        "kube-scheduler 1.36.2 (PodGroup, GangScheduling on): yes. ",
        "kube-scheduler 1.36.2 (PodGroup, GangScheduling on) starts",
        "--step shows each step of their choice.",
    ]


@pytest.mark.parametrize(("scheduler", "title"), [("kai", "KAI 0.17"), ("volcano", "Volcano 1.15")])
@pytest.mark.parametrize("step", [[], ["--step"]])
def test_a_scheduler_that_is_not_replayed_has_a_verdict(scheduler, title, step, capsys):
    """With what is known of it, and that it is not replayed."""
    out = printed(capsys, "--scheduler", scheduler, *step)
    assert f"{title}: maybe." in out
    assert f"dra-lab does not replay {title}." in out


def test_the_steps_of_one_scheduler(capsys):
    """Every step has its number and a sentence."""
    out = printed(capsys, "--step", "--scheduler", "kueue")
    assert "     3  Kueue takes the leaf switch leaf-1, the first by name of those with the least room" in out


def test_all_of_it_names_the_source_of_each_rule(capsys):
    """With -v the table of steps has the file and the function."""
    out = printed(capsys, "--step", "-v", "--scheduler", "kube-scheduler")
    assert "schedule_one_podgroup.go:podGroupSchedulingDefaultAlgorithm" in out


def test_json_has_the_steps_and_the_regret(capsys):
    """For each scheduler, with the verdict."""
    found = json.loads(printed(capsys, "-o", "json"))
    assert [
        (row["scheduler"], row["verdict"], row["steps"][-1]["rule"], row["regret"]["least"])
        for row in found["schedulers"]
    ] == [
        ("Kueue 0.19", "no", "claims", 0),
        ("kube-scheduler 1.36.2 (PodGroup, GangScheduling on)", "yes", "scores", 1),
    ]


@pytest.mark.parametrize(("size", "status"), [("3", 0), ("4", 1)])
def test_the_exit_status_is_that_of_the_plan(size, status, capsys):
    """Status 0 is for a gang that fits."""
    assert main([*GANG[:5], size, *GANG[6:], "-q"]) == status


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([*GANG, "--node", "h100-01"], "--node is for one pod"),
        ([*GANG[:4], "--scheduler", "kueue"], "write --gang SIZE after --claim"),
        ([*GANG[:4], "--replicas", "2"], "write --gang SIZE after --claim"),
        ([*GANG, "--claim", f"{POD}/eight-pairs"], "one --claim is explained at a time"),
    ],
)
def test_options_that_have_no_meaning_are_refused(more, expected, capsys):
    """The message says what to write instead."""
    assert expected in refusal(capsys, *more)
