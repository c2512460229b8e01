"""One template a group of equal nodes, where one template for all cannot serve every planned replica."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from checked_plans import checked_fleet
from random_clusters import random_fleet, random_sketch
from small_claims import request
from small_nodes import a_slice, cluster, gpu

from dra_lab.cli import main
from dra_lab.model.claims import DeviceRequest, DeviceSubRequest
from dra_lab.model.fleet import Workload
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.pin_plan import pin_plan
from dra_lab.pinning.replay_result import Replay
from dra_lab.pinning.replica_groups import groups_of
from dra_lab.sketch.object_names import object_name
from dra_lab.sources import load_cluster

R136 = KubernetesRelease("1.36")
GPU = "gpu.nvidia.com"


def planned(seed, name="w"):
    rng = random.Random(seed)
    on, sketch = random_fleet(rng), random_sketch(rng)
    workloads = [Workload(name, (sketch,), rng.randint(2, 4))]
    return on, checked_fleet(on, workloads, release=R136, first_fit=False)


def test_groups_serve_what_one_template_cannot():
    """A recorded fleet on which equal texts select other devices on other nodes."""
    on, plan = planned(10158)
    found = pin_plan(on, plan, R136, split=True, seeds=3, time_limit=600)
    assert found.plan is not plan
    assert found.replay.as_planned
    assert [workload.name for workload in found.plan.workloads] == ["w-1", "w-2", "w-3"]


@pytest.mark.long
def test_groups_hold_every_replica_once_and_nothing_else_is_changed():
    for seed in range(20):
        on, plan = planned(seed)
        parts = groups_of(on, plan, R136)
        held = sorted((r.node, tuple(p.device for p in r.placements)) for r in parts.replicas)
        assert held == sorted((r.node, tuple(p.device for p in r.placements)) for r in plan.replicas), seed
        assert sum(w.replicas for w in parts.workloads) == sum(w.replicas for w in plan.workloads), seed
        assert all(parts.placed[w.name] <= w.replicas for w in parts.workloads), seed


def test_groups_of_a_long_name_keep_names_of_their_own():
    """Objects have names of 63 characters at most: what tells the groups apart must not be cut off."""
    on, plan = planned(10148, name="w" * 70)
    names = [object_name(workload.name) for workload in groups_of(on, plan, R136).workloads]
    assert names == ["w" * 61 + "-1", "w" * 61 + "-2"]


def test_nothing_is_split_where_one_template_does():
    on, plan = planned(3)
    found = pin_plan(on, plan, R136, split=True, seeds=3, time_limit=600)
    assert found.replay.as_planned
    assert found.plan is plan


def test_partitions_of_many_profiles_are_taken_profile_by_profile():
    """Three pods of two MIG partitions of five profiles, where first fit leaves no place for the third."""
    on = load_cluster("sample:mig")
    two = ClaimSketch(name="slices", requests=(request("part", "mig.nvidia.com", 2),))
    plan = checked_fleet(on, [Workload("slices", (two,), 3)], release=R136, first_fit=False)
    found = pin_plan(on, plan, R136, seeds=3)
    assert not found.before.as_planned
    assert found.replay.as_planned, found.replay.sentence


def test_partitions_of_two_gpus_are_taken_from_one_gpu_each():
    """Four pods of two MIG partitions: alternatives by place, where a constraint finds nothing once a GPU is full."""
    on = load_cluster("sample:mig")
    two = ClaimSketch(name="slices", requests=(request("part", "mig.nvidia.com", 2),))
    plan = checked_fleet(on, [Workload("slices", (two,), 4)], release=R136, first_fit=False)
    found = pin_plan(on, plan, R136, seeds=3)
    assert found.replay.as_planned, found.replay.sentence
    assert [sub.name for sub in found.sketch.request("part").first_available] == ["place-0", "place-1"]


@pytest.mark.parametrize("options", [["--split"], ["--split", "--pin"]])
def test_a_split_without_replicas_is_refused(tmp_path, options):
    claim = ["sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs"]
    assert main(["export", *claim, "--dir", str(tmp_path / "new"), *options]) == 2
    assert not (tmp_path / "new").exists()


def mixed_alternatives():
    """Return a fleet that is planned with four GPUs for one replica and two for another, on one node of six GPUs."""
    on = cluster(a_slice(GPU, *(gpu(k, f"r{k // 3}") for k in range(6))))
    subs = tuple(DeviceSubRequest(name=n, device_class_name=GPU, count=c) for n, c in (("four", 4), ("two", 2)))
    drawn = ClaimSketch(name="w", requests=(DeviceRequest(name="gpu", first_available=subs),))
    return on, checked_fleet(on, [Workload("w", (drawn,), 2)], release=R136, first_fit=False)


def test_groups_have_the_same_alternatives_where_equal_nodes_are_not_enough():
    """Replicas on one node are told apart by what they were planned with."""
    on, plan = mixed_alternatives()
    assert [w.name for w in groups_of(on, plan, R136).workloads] == ["w"]
    groups = groups_of(on, plan, R136, alternatives=True)
    assert [(w.name, w.replicas) for w in groups.workloads] == [("w-1", 1), ("w-2", 1)]


def test_advice_is_what_was_not_tried():
    """`--split` is advised only where it can be used and was not."""
    on, plan = planned(10148)
    lost = Replay(2, 1, runs="a run")
    (split,) = (f for f in replace(pin_plan(on, plan, R136, seeds=3), replay=lost).findings if f.rule == "not-pinned")
    parts = pin_plan(on, plan, R136, split=True, seeds=3, time_limit=600)
    (tried,) = (f for f in replace(parts, replay=lost).findings if f.rule == "not-pinned")
    assert ("--split" in split.advice, "--split" in tried.advice) == (True, False)
