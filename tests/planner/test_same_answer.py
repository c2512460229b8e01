"""The same question has the same answer in every process, in three forms, and for a release in three forms."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from checked_plans import checked_fleet, checked_plan

from dra_lab import (
    KubernetesRelease,
    Workload,
    how_many_more,
    largest_job,
    load_cluster,
    make_plan,
    read_sketch,
    samples,
    stranded,
)
from dra_lab.errors import InputError

QUESTION = """
from dra_lab import KubernetesRelease, Workload, load_cluster, make_plan, read_sketch
from dra_lab.planner.fleet import plan_fleet

cluster, release = load_cluster("sample:dgx-h100"), KubernetesRelease("1.36")
sketch = read_sketch("sample:dgx-h100/gpu-nic-cpu")
print(make_plan(cluster, sketch, release=release).placements)
fleet = plan_fleet(cluster, [Workload("w", (sketch,), 9)], release=release)
print([(replica.node, [str(placement.device) for placement in replica.devices]) for replica in fleet.pods])
"""


def answer(seed: str) -> str:
    env = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run([sys.executable, "-c", QUESTION], env=env, capture_output=True, text=True, check=True).stdout


@pytest.mark.long
def test_plans_do_not_depend_on_the_hashes_of_texts():
    """Python hashes texts differently in every process; a plan and a fleet take the same devices all the same."""
    first, second = map(answer, "12")
    assert first == second
    assert "dgx-0" in first


DRAWN = [(sample.name, example) for sample in samples() for example in sample.examples]


def values(goals):
    """Return the values of the goals that depend on the devices of one pod."""
    return {goal.goal: goal.value for goal in goals if goal.goal in ("alternatives", "preferences", "numa", "roots")}


@pytest.mark.parametrize(("sample", "example"), DRAWN)
def test_one_pod_a_fleet_and_a_gang_of_one_have_one_answer(sample, example):
    """All three are placed with the same values, or none is."""
    cluster, claim = load_cluster(f"sample:{sample}"), read_sketch(f"sample:{sample}/{example}")
    pod = make_plan(cluster, claim)
    fleet = make_plan(cluster, Workload("one", claim))
    gang = make_plan(cluster, Workload("one", claim, level="host"))
    assert bool(pod.node) == bool(fleet.pods) == bool(gang.pods)
    if pod.node:
        assert values(pod.goals) == values(fleet.goals) == values(gang.goals)


QUESTIONS = {
    "make_plan": lambda cluster, claim, **more: checked_plan(cluster, claim, **more).release,
    "plan_fleet": lambda cluster, claim, **more: (
        checked_fleet(cluster, [Workload("w", (claim,), replicas=1)], **more).release
    ),
    "how_many_more": lambda cluster, claim, **more: how_many_more(cluster, Workload("w", (claim,)), **more).count,
    "largest_job": lambda cluster, claim, **more: largest_job(cluster, claim, **more).scale,
    "stranded": lambda cluster, claim, **more: stranded(cluster, [claim], **more).kinds,
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_version_is_a_release_and_none_is_the_clusters(question):
    """The text `release="1.36"`, or no release at all, gives the same answer as the release object."""
    cluster, claim = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
    ask = QUESTIONS[question]
    expected = ask(cluster, claim, release=KubernetesRelease(cluster.default_release))
    assert ask(cluster, claim, release=cluster.default_release) == expected
    assert ask(cluster, claim) == expected


@pytest.mark.parametrize("given", ["1.20", 1.36])
def test_what_is_no_known_version_is_refused(given):
    """The error lists the known versions, or says what a release is."""
    cluster, claim = load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson")
    with pytest.raises(InputError, match=r"1\.36"):
        checked_plan(cluster, claim, release=given)
