"""Regret: best against first fit, goal by goal, for a pod, for each replica and for all; bandwidth only as a range."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from benchmarks.mixed_cluster import mixed_cluster, workloads
from checked_plans import checked_fleet, checked_plan
from random_clusters import random_cluster, random_sketch

from dra_lab.model.fleet import Workload
from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.pictures.charts import regret_chart
from dra_lab.planner.fleet import fleet_regret
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster
from dra_lab.topology.bandwidth import PATHS
from dra_lab.topology.locality import localities
from dra_lab.words.fleet_document import fleet_text
from dra_lab.words.fleet_frames import fleet_frame, replica_bandwidth_frame, replica_regret_frame
from dra_lab.words.fleet_json import fleet_json

RELEASE = KubernetesRelease("1.36")


@pytest.fixture(scope="module")
def plans():
    """Return twenty random claims that fit, with their plans."""
    found = []
    for seed in range(400):
        rng = random.Random(f"regret {seed}")
        cluster = random_cluster(rng)
        plan = checked_plan(cluster, random_sketch(rng), release=RELEASE)
        if plan.fits and plan.regrets:
            found.append((cluster, plan))
        if len(found) == 20:
            return found
    raise AssertionError


@pytest.fixture(scope="module")
def fleet():
    """Return a sample and the plan of four pods on it, drawn without a link, so that first fit scatters them."""
    cluster = load_cluster("sample:eks-p4d")
    sketch = read_sketch("sample:eks-p4d/any-nic-pairs")
    loose = type(sketch)(sketch.name, sketch.requests)
    return cluster, checked_fleet(cluster, [Workload("pairs", (loose,), 4)], release=RELEASE)


def test_every_goal_that_differs_is_reported_with_both_values(plans):
    """The differences are those of the goals of the plan and of its first fit, no more and no less."""
    for _, plan in plans:
        for regret in plan.regrets:
            fit = plan.first_fit if regret.against == "manifest" else plan.first_fit_plain
            assert fit.status is FirstFitStatus.ALLOCATED
            theirs = {goal.goal: goal.value for goal in fit.goals}
            ours = {goal.goal: goal.value for goal in plan.goals if goal.goal in theirs}
            assert {g.goal: (g.best, g.theirs) for g in regret.goals} == {
                goal: (value, theirs[goal]) for goal, value in ours.items() if value != theirs[goal]
            }


def test_first_fit_is_never_better_than_what_is_proven(plans):
    """The first goal in which they differ is worse with first fit, where the plan is proven and can be written."""
    for _, plan in plans:
        manifest = next((r for r in plan.regrets if r.against == "manifest"), None)
        unwritable = any(f.rule in ("link-not-writable", "first-fit-breaks-link") for f in plan.findings)
        if plan.proven and manifest is not None and manifest.goals and not unwritable:
            assert manifest.goals[0].difference > 0


def test_every_gpu_is_on_one_path_if_any_nic_is_taken(plans):
    """The shares count each chosen GPU once, in the plan and in the first fit."""
    for cluster, plan in plans:
        here = localities(cluster, plan.node)
        for regret in plan.regrets:
            fit = plan.first_fit if regret.against == "manifest" else plan.first_fit_plain
            for shares, placements in ((regret.best, plan.placements), (regret.theirs, fit.placements)):
                kinds = Counter(here[device].kind for device in {p.device for p in placements})
                assert sum(s.gpus for s in shares) == (kinds["gpu"] if kinds["nic"] else 0)


@pytest.mark.parametrize("path", PATHS)
def test_a_ratio_is_a_range_with_its_kind_and_source(path):
    """Only the reference is one number; every other path is a range that is measured or derived, or is not known."""
    cost = PATHS[path]
    assert cost.kind in ("reference", "measured", "derived", "unknown")
    if cost.low is None or cost.high is None:
        assert (cost.low, cost.high, cost.kind) == (None, None, "unknown")
    elif path != "root":
        assert 0 < cost.low < cost.high <= 1
        assert cost.sources


def test_a_fleet_has_its_regret_goal_by_goal_and_as_ranges(fleet):
    """Over all replicas: goals with both values, GPUs on each path, and in the text and JSON the same."""
    _, plan = fleet
    (regret,) = plan.regrets
    theirs = {goal.goal: goal.value for goal in plan.first_fit.goals}
    assert {g.goal: g.difference for g in regret.goals} == {
        g.goal: theirs[g.goal] - g.value for g in plan.goals if theirs[g.goal] != g.value
    }
    gpus = sum(p.request == "gpu" for replica in plan.replicas for p in replica.placements)
    assert sum(share.gpus for share in regret.best) == gpus
    assert regret.paths_differ
    assert "Bandwidth from GPUs to NICs" in fleet_text(plan)
    assert fleet_json(plan)["regrets"][0]["against"] == "manifest"


def test_each_replica_has_its_own_regret(fleet):
    """The frame's regrets by replica sum up to those of the fleet, goal by goal."""
    _, plan = fleet
    frame = replica_regret_frame(plan)
    summed = frame.groupby("goal")["regret"].sum()
    found = {goal.goal: goal.difference for goal in plan.regrets[0].goals}
    assert len(plan.first_fit.replicas) == len(plan.replicas)
    assert {goal: value for goal, value in summed.items() if value} == found


def test_each_replica_has_its_own_ranges_with_their_source(fleet):
    """By replica, the GPUs on each path sum up to those of the fleet, and every range has its kind and source."""
    cluster, plan = fleet
    frame = replica_bandwidth_frame(cluster, plan)
    for name, shares in (("best", plan.regrets[0].best), ("first fit", plan.regrets[0].theirs)):
        summed = frame[frame["plan"] == name].groupby("path")["gpus"].sum().to_dict()
        assert summed == {share.words: share.gpus for share in shares}
    known = frame[frame["kind"] != "unknown"]
    assert len(known)
    assert (known["low"] <= known["high"]).all()
    assert known[known["kind"] != "reference"]["sources"].astype(bool).all()


def test_a_part_of_the_nodes_is_compared_with_itself(monkeypatch):
    """Where the time sufficed for one node, goals, text, JSON, table and chart compare what stands on that node."""
    cluster = mixed_cluster(8)
    tried = fleet_regret._on_node
    monkeypatch.setattr(fleet_regret, "_on_node", lambda trial, *given: not trial.replicas and tried(trial, *given))
    plan = checked_fleet(cluster, workloads((2, 3, 3), must=False), release=RELEASE)
    (node,) = plan.first_fit.compared
    assert len(plan.nodes) > 1
    pairs = plan.against_first_fit
    here = plan.on_node[node]
    assert pairs["nodes"] == (1, 1)
    assert pairs["unplaced"] == (0, len(here) - len(plan.first_fit.replicas))
    assert pairs["roots"][0] == sum(goal.value for pod in here for goal in pod.goals if goal.goal == "roots")
    differing = {goal: theirs - mine for goal, (mine, theirs) in pairs.items() if mine != theirs}
    assert {goal.goal: goal.difference for goal in plan.regrets[0].goals} == differing
    assert fleet_json(plan)["firstFit"]["regret"] == differing
    found = fleet_frame(plan).set_index("goal")["regret"].to_dict()
    assert {goal: value for goal, value in found.items() if value} == differing
    assert f"on 1 of {len(plan.nodes)} nodes" in fleet_text(plan)
    assert "on 1 node, which there was time to compare" in str(regret_chart(plan))
