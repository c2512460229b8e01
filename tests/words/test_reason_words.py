"""Reasons and regret in text, JSON and frames: every figure is there, and says where it comes from."""

from __future__ import annotations

import json

import pytest
from checked_plans import checked_plan

from dra_lab import load_cluster, read_sketch
from dra_lab.errors import InputError
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.trace import Check, Reason
from dra_lab.words.frames import frame
from dra_lab.words.plan_json import plan_json
from dra_lab.words.trace_words import reason_words

RELEASE = KubernetesRelease("1.36")


@pytest.fixture(scope="module")
def cluster():
    return load_cluster("sample:eks-p4d")


@pytest.fixture(scope="module")
def misfit(cluster):
    return checked_plan(cluster, read_sketch("sample:eks-p4d/five-pairs"), release=RELEASE)


@pytest.fixture(scope="module")
def fitting(cluster):
    return checked_plan(cluster, read_sketch("sample:eks-p4d/gpu-nic-pairs"), release=RELEASE)


def test_json_and_frames_have_the_same_figures(misfit, fitting):
    """Nothing is lost between the plan, its JSON and its frames."""
    values = json.loads(json.dumps(plan_json(misfit)))["reasons"]
    assert len(frame(misfit, "changes")) == len(values["relaxations"]) == len(misfit.reasons.relaxations)
    assert len(frame(misfit, "tests")) == sum(len(funnel["steps"]) for funnel in values["funnels"])
    assert len(frame(misfit, "conflicts")) == sum(len(conflict["elements"]) for conflict in values["conflicts"])
    assert list(frame(misfit, "scarcity")["kind"]) == ["enough", "fragmentation"]
    regret = json.loads(json.dumps(plan_json(fitting)))["regrets"]
    assert [row["against"] for row in regret] == ["manifest", "plain"]
    assert {goal["goal"] for goal in regret[1]["goals"]} == {"numa", "unpaired", "roots"}
    rows = frame(fitting, "bandwidth")
    assert rows[rows["allocation"] == "plain"]["low"].tolist() == [1.0, 0.45]
    assert plan_json(fitting)["reasons"] is None


EKS = "sample:eks-p4d"


@pytest.fixture(scope="module")
def plan():
    return checked_plan(load_cluster(EKS), read_sketch(f"{EKS}/gpu-nic-pairs"))


def test_a_plan_of_nothing_has_no_trace():
    with pytest.raises(InputError, match="no request"):
        checked_plan(load_cluster(EKS), ClaimSketch()).trace()


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (Reason(Check.IN_USE, "claim a/b"), "in use by a/b"),
        (Reason(Check.IN_USE, "request gpu"), "request gpu already has it"),
        (Reason(Check.GATE, "DRAX"), "it needs the feature gate DRAX, which is off"),
        (Reason(Check.CONSTRAINT, "resource.kubernetes.io/pcieRoot", "10", "20"), "PCIe root is 20, must be 10"),
        (Reason(Check.CONSTRAINT, "a/b", "10", ""), "it publishes no a/b, which a constraint compares"),
        (Reason(Check.COUNTERS, "set/memory", "4", "2"), "it needs 4 of the counter set/memory, of which 2 is left"),
    ],
)
def test_a_failed_test_is_named_with_its_values(reason, words):
    assert reason_words(reason) == words
