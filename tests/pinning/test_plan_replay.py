"""First fit on exported manifests, compared with the plan, and pins that make it take the planned devices."""

from __future__ import annotations

import random
from dataclasses import replace as changed

import pytest
from checked_plans import checked_fleet, checked_plan
from msgspec.structs import replace
from random_clusters import random_cluster, random_fleet, random_sketch
from small_claims import request
from small_nodes import a_slice, cluster, gpu, nic

from dra_lab import ClaimSketch, DraLabError, How, KubernetesRelease, Link, Workload, load_cluster, read_sketch
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.placement import FirstFitStatus
from dra_lab.pinning.pin_budget import budget_of
from dra_lab.pinning.pin_plan import pin_plan
from dra_lab.pinning.place_selectors import admitted_nodes
from dra_lab.pinning.plan_replay import replay_plan
from dra_lab.pinning.pod_kinds import pod_kind
from dra_lab.pinning.scheduler_simulation import SchedulerSimulation
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.sketch.compile import compile_claim

R136 = KubernetesRelease("1.36")
GPU, NIC = "gpu.nvidia.com", "dranet"
NUMA = "resource.kubernetes.io/numaNode"
PAIR = ClaimSketch(name="pair", requests=(request("gpu", GPU), request("nic", NIC)))


def crossed(node="n1"):
    """Make a node on which the first GPU and the first NIC are at different roots and NUMA nodes."""
    gpus = (gpu(0, f"{node}-r1", **{NUMA: 1}), gpu(1, f"{node}-r0", **{NUMA: 0}))
    return a_slice(GPU, *gpus, node=node), a_slice(
        "dra.net", nic("a", f"{node}-r0", 0), nic("b", f"{node}-r1", 1), node=node
    )


def straight(node):
    gpus = (gpu(0, f"{node}-r0", **{NUMA: 0}), gpu(1, f"{node}-r1", **{NUMA: 1}))
    return a_slice(GPU, *gpus, node=node), a_slice(
        "dra.net", nic("a", f"{node}-r0", 0), nic("b", f"{node}-r1", 1), node=node
    )


def fleet(on, sketch, replicas):
    return checked_fleet(on, [Workload(sketch.name, (sketch,), replicas=replicas)], release=R136, first_fit=False)


def test_a_manifest_that_says_too_little_is_not_called_as_planned():
    """Counts alone: first fit takes the first GPU and the first NIC, which are far apart."""
    on = cluster(*crossed())
    replay = replay_plan(on, checked_plan(on, PAIR, release=R136), R136)
    assert (replay.kept, replay.wanted, replay.as_planned) == (0, 1, False)
    assert "gets 2 NUMA nodes instead of 1 NUMA node" in replay.sentence
    assert [finding.severity for finding in replay.findings] == ["warning"]


def test_a_manifest_that_leaves_no_choice_is_as_planned_on_every_node():
    on = cluster(*crossed())
    linked = replace(PAIR, links=(Link(name="l", requests=("gpu", "nic")),))
    replay = replay_plan(on, checked_plan(on, linked, release=R136), R136)
    assert replay.as_planned
    assert replay.sentence == "1 of 1 as planned (on the node that serves it worst)."


def test_the_worst_node_decides():
    """Other plugins choose the node: good luck on one node is not a promise."""
    on = cluster(*straight("n1"), *crossed("n2"))
    replay = replay_plan(on, checked_plan(on, PAIR, release=R136), R136)
    assert not replay.as_planned
    assert [miss.node for miss in replay.misses] == ["n2"]


def test_every_replica_is_held_against_the_plan():
    on = cluster(*crossed())
    replay = replay_plan(on, fleet(on, PAIR, 2), R136)
    assert (replay.kept, replay.wanted) == (0, 2)
    assert [miss.number for miss in replay.misses] == [0, 1]


def test_what_there_was_no_time_for_is_said_and_never_claimed():
    on = cluster(*crossed())
    replay = replay_plan(on, checked_plan(on, PAIR, release=R136), R136, budget=budget_of(0.0))
    assert not replay.as_planned
    assert replay.sentence == "kube-scheduler's first fit was not simulated: 1 of 1 runs, no time was left."


def test_releases_that_were_not_recorded_are_marked():
    on = cluster(*crossed())
    replay = replay_plan(on, checked_plan(on, PAIR, release=KubernetesRelease("1.37")), KubernetesRelease("1.37"))
    assert "from documentation, not recorded" in replay.sentence


def test_a_must_link_that_no_manifest_can_express_counts_as_missed():
    """The plan keeps it by a derived place; a manifest without it breaks it, whatever the goals say."""
    on = cluster(*crossed())
    bare = tuple(
        replace(
            s,
            spec=replace(
                s.spec,
                devices=tuple(
                    replace(d, attributes={k: v for k, v in d.attributes.items() if k != NUMA}) for d in s.spec.devices
                ),
            ),
        )
        for s in on.slices
    )
    linked = replace(PAIR, links=(Link(name="near", requests=("gpu", "nic"), where="numaNode"),))
    off = cluster(*bare)
    replay = replay_plan(off, checked_plan(off, linked, release=R136), R136)
    assert "does not keep the link near" in replay.sentence


def test_the_copy_takes_what_first_fit_takes_on_every_node_of_random_clusters():
    """Equal nodes are searched once; each answer is the one that a search of that node gives."""
    for seed in range(20):
        rng = random.Random(seed)
        on, sketch = random_fleet(rng), random_sketch(rng)
        pod = pod_kind(on, R136, "w", [sketch])
        simulation = SchedulerSimulation(on, [pod], R136)
        claim = ResourceClaim(metadata=ObjectMeta(name="w-0"), spec=compile_claim(sketch, on, R136).spec)
        for node in on.node_names:
            verdict, taken = first_fit(on, node, [claim], R136), simulation.taken(node, (), 0)
            assert taken.status is verdict.status, (seed, node)
            if verdict.status is FirstFitStatus.ALLOCATED:
                names = [result.device for result in verdict.allocations[0].devices.results]
                assert [p.device.device for p in taken.placements] == names, (seed, node)


# -- pins


def test_nothing_is_pinned_where_first_fit_does_it_anyway():
    on = cluster(*straight("n1"))
    found = pin_plan(on, checked_plan(on, PAIR, release=R136), R136)
    assert found.pins == ()
    assert found.sketches[0][0] == PAIR


def test_a_link_is_enough_where_a_link_says_it():
    """No selector and no node: the weakest pin that brings the plan, with its reason and its price."""
    on = cluster(*crossed("n1"), *crossed("n2"))
    found = pin_plan(on, fleet(on, PAIR, 4), R136)
    assert found.replay.as_planned
    (pin,) = found.pins
    assert pin.text == "gpu + nic pairwise on one PCIe root"
    assert pin.price == "it still fits on all 2 nodes that could serve it"
    assert found.affinities[0] == ()


def test_pods_are_kept_on_nodes_by_a_label_that_they_share():
    """Where the devices of a node cannot be told, the node can; the price names the nodes that are lost."""
    tag = "example.com/board"
    slices = [
        a_slice(GPU, gpu(0, **{NUMA: 0}), gpu(1, **{NUMA: 0 if n == "good" else 1}), node=n) for n in ("good", "poor")
    ]
    nodes = tuple(Node(metadata=ObjectMeta(name=n, labels={tag: n[0]})) for n in ("good", "poor"))
    on = changed(cluster(*slices), nodes=nodes)
    two = ClaimSketch(name="two", requests=(request("gpu", GPU, 2),))
    found = pin_plan(on, checked_plan(on, two, release=R136), R136)
    assert found.replay.as_planned
    assert admitted_nodes(on, found.affinities[0]) == frozenset(["good"]) or found.sketches[0][0].links
    assert "no longer fits on 1 of 2 nodes: poor" in found.pins[0].price


def test_devices_are_distinguished_by_what_they_publish():
    """The planned NIC is the second; nothing but a selector brings first fit to it."""
    nics = (nic("a", "r0", 0), nic("b", "r1", 1))
    on = cluster(a_slice(GPU, gpu(0, "r9", **{NUMA: 1})), a_slice("dra.net", *nics))
    soft = replace(PAIR, links=(Link(name="near", requests=("gpu", "nic"), where="socket", must=False),))
    found = pin_plan(on, checked_plan(on, soft, release=R136), R136)
    assert found.replay.as_planned, found.replay.sentence


@pytest.mark.parametrize(
    "example", ["eks-p4d/gpu-nic-pairs", "eks-p4d/any-nic-pairs", "dgx-h100/gpu-nic-cpu", "mi300x/gpu-nic-pairs"]
)
def test_every_planned_replica_of_the_samples_is_served_as_planned(example):
    """With pins, in every order and on every node that first fit may choose."""
    on, sketch = load_cluster(f"sample:{example.partition('/')[0]}"), read_sketch(f"sample:{example}")
    for replicas in (1, 3):
        found = pin_plan(on, fleet(on, sketch, replicas), R136)
        assert found.replay.as_planned, found.replay.sentence


@pytest.mark.long
def test_pinned_manifests_serve_nearly_every_random_plan():
    """Pins serve most random plans of single claims; the benchmark counts more of them, and fleets."""
    before = after = wanted = 0
    for seed in range(60):
        rng = random.Random(seed)
        on, sketch = random_cluster(rng), random_sketch(rng)
        try:
            plan = checked_plan(on, sketch, release=R136)
        except DraLabError:
            continue
        if plan.fits:
            found = pin_plan(on, plan, R136, seeds=3)
            wanted += 1
            before += found.before.as_planned
            after += found.replay.as_planned
    assert before < after
    assert after >= wanted - 1 > 10


def test_pairs_link_how_is_kept():
    """A preferred link that becomes a must stays of its kind."""
    on = cluster(*crossed())
    soft = replace(PAIR, links=(Link(name="l", requests=("gpu", "nic"), how=How.PAIRWISE, must=False),))
    found = pin_plan(on, checked_plan(on, soft, release=R136), R136)
    assert all(link.how is How.PAIRWISE for link in found.sketches[0][0].links if link.name == "l")
