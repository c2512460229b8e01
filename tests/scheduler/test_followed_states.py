"""Node states of a cluster that is followed: what did not change is not looked at, nor searched, again."""

from __future__ import annotations

import random

from small_claims import CLASSES, a_claim, holding, request
from small_nodes import ROOT, a_slice, cluster, device, gpu, nic

from dra_lab.model.claims import DeviceConstraint
from dra_lab.model.device import DeviceTaint
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.slices import DeviceTaintRule, DeviceTaintRuleSpec, DeviceTaintSelector
from dra_lab.pinning import node_search
from dra_lab.pinning.node_search import search_pod
from dra_lab.pinning.pin_budget import PinBudget
from dra_lab.scheduler import kept_states
from dra_lab.scheduler.identical_nodes import MOST_OLDER, NodeStates, node_states

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


def test_only_states_that_are_new_are_searched(monkeypatch):
    """A claim that comes on one node costs one search, and one that goes costs none."""
    searched = []
    real = node_search._search

    def counting(on, node, *rest, **options):
        searched.append(node)
        return real(on, node, *rest, **options)

    monkeypatch.setattr(node_search, "_search", counting)
    some = a_fleet()
    search_pod([SKETCH], some, NOW, PinBudget())
    busy = some.with_objects(claims=(holding(f"{GPUS}/n05/gpu-0"),))
    search_pod([SKETCH], busy, NOW, PinBudget())
    search_pod([SKETCH], busy.with_objects(claims=()), NOW, PinBudget())
    assert searched == ["n00", "n05"]


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


def test_what_is_remembered_stays_small():
    """After many snapshots no more than a bounded number of states and questions is kept."""
    rng, some = random.Random(7), a_fleet()
    for turn in range(40):
        some = some.with_objects(claims=some_claims(rng))
        claim = a_claim(request("gpu", count=turn % 8 + 1))
        groups, verdicts = node_states(some, NOW).searched([claim], 1000)
        assert len(verdicts) <= len(groups) + MOST_OLDER
        verdicts.update(dict.fromkeys(range(3000)))
    for number in range(40):
        node_states(some, NOW).groups([a_claim(request("gpu", "gpu", 1, f"true && {number} > 0"))])
    assert len(node_states(some, NOW)._groups) <= 4
    kept = kept_states._latest(some, NOW)[0]
    assert len(kept.states) <= 4
    assert len(kept.searched.verdicts) <= 4


def test_states_of_devices_that_come_and_go_do_not_add_up(monkeypatch):
    """A shared device is in another state with every amount that is taken of it; those of long ago are forgotten."""
    monkeypatch.setattr(kept_states, "_FEW", 10)
    some, numbers = a_fleet(), []
    for turn in range(60):
        share = holding(f"{GPUS}/{NAMES[0]}/gpu-2", share_id="s", consumed_capacity={"memory": f"{turn}Mi"})
        some = some.with_objects(claims=(share,))
        assert states(some) == set(NodeStates(some, NOW).groups([PAIR]))
        numbers.append(len(kept_states._latest(some, NOW)[0].searched.numbers))
    assert max(numbers) <= 2 * numbers[0] + 11
