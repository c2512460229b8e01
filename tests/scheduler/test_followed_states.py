"""Node states of a cluster that is followed: what did not change is not looked at, nor searched, again."""

from __future__ import annotations

import random

from small_claims import CLASSES, a_claim, holding, request
from small_nodes import ROOT, a_slice, cluster, device, gpu, nic

from dra_lab import ClaimSketch, How, KubernetesRelease, Link
from dra_lab.model.claims import DeviceConstraint
from dra_lab.model.device import DeviceTaint
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.slices import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from dra_lab.pinning.node_search import search_pod
from dra_lab.pinning.pin_budget import PinBudget
from dra_lab.scheduler.identical_nodes import NodeStates, node_states

NOW = KubernetesRelease("1.36")
GPUS = "gpu.nvidia.com"
PAIR = a_claim(request("gpu"), request("nic", "nic"), constraints=[DeviceConstraint(match_attribute=ROOT)])
NAMES = [f"n{number:02}" for number in range(20)]
SKETCH = ClaimSketch(
    requests=(request("gpu", GPUS), request("nic", "dranet")),
    links=(Link(name="l", requests=("gpu", "nic"), how=How.PAIRWISE, must=True),),
)


def a_fleet():
    """Nodes of three GPUs, one of them shareable, and two NICs at two roots, nothing in use."""
    shared = device("gpu-2", {ROOT: "b"}, allow_multiple_allocations=True)
    parts = [
        part
        for name in NAMES
        for part in (
            a_slice(GPUS, gpu(0, "a"), gpu(1, "b"), shared, node=name),
            a_slice("dra.net", nic("nic-0", "a"), nic("nic-1", "b"), node=name),
        )
    ]
    return cluster(*parts, classes=CLASSES)


def some_claims(rng):
    """Claims that hold a device, or a share of one, of a third of the nodes."""
    ways = (("gpu-0", {}), ("gpu-1", {}), ("gpu-2", {"share_id": "s"}))
    chosen = [(name, *rng.choice(ways)) for name in NAMES if rng.random() < 0.3]
    return tuple(holding(f"{GPUS}/{name}/{held}", **fields) for name, held, fields in chosen)


def states(some):
    return {names for names, _ in node_states(some, NOW).searched([PAIR], 1000)[0]}


def test_a_followed_cluster_has_the_groups_of_one_that_is_looked_at_anew():
    """Over random snapshots, and taint rules that come, the groups are those without a memory."""
    rng, some = random.Random(3), a_fleet()
    rule = DeviceTaintRuleSpec(DeviceTaint(key="k", effect="NoSchedule"), DeviceTaintSelector(driver=GPUS, pool="n03"))
    for turn in range(8):
        rules = {"taint_rules": (DeviceTaintRule(metadata=ObjectMeta(name="rule"), spec=rule),)} if turn == 5 else {}
        some = some.with_objects(claims=some_claims(rng), **rules)
        assert states(some) == set(NodeStates(some, NOW).groups([PAIR]))


def test_what_was_remembered_is_what_a_search_finds():
    """Status and steps of remembered verdicts are those of a cluster without memory."""
    rng, some = random.Random(5), a_fleet()
    for _ in range(4):
        some = some.with_objects(claims=some_claims(rng))
        fresh = a_fleet().with_objects(claims=some.claims)
        found, anew = (
            {names: (v.status, v.steps) for names, v in search_pod([SKETCH], on, NOW, PinBudget()).states}
            for on in (some, fresh)
        )
        assert found == anew
