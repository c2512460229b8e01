"""What schedulers do with gangs: their verdict, and how many gangs start one after the other."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from gang_replays import GPU, RACK, racks, replay_kueue
from labelled_nodes import topology
from small_claims import alternative, one_of, request

from dra_lab import PodGroup, Workload
from dra_lab.model.cluster import Cluster
from dra_lab.model.gang_verdicts import GangVerdict
from dra_lab.model.hierarchy import Hierarchy, Level
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.pods import Pod, PodSpec
from dra_lab.model.queues import Configuration
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.gang_choices import gang_choices
from dra_lab.planner.gangs import plan_gangs

R136 = KubernetesRelease("1.36")
TWO = ClaimSketch(name="two", requests=(request("gpu", GPU, 2),))


def choices(sizes: dict[str, list[list[str]]], pods: int, replicas: int = 1, most: int = 110):
    """Return what the schedulers do with gangs of pods with two GPUs each."""
    on, tree = racks(sizes, most)
    gang = Workload(
        "train", [PodGroup("worker", (TWO,), count=pods)], level="rack", hierarchy="fabric", replicas=replicas
    )
    plan = plan_gangs(on, [gang], hierarchies=[tree], release=R136)
    return gang_choices(on, gang, tree, R136, plan)


PAIRED = ["r0", "r0", "r1", "r1"]
"""Four GPUs, for two pods."""


def test_whole_gangs_are_counted_in_each_domain():
    """Racks with room for three and two pods start one gang of two each, whatever order the pods come in."""
    [first, *_] = choices({"r1": [PAIRED, ["r0", "r0"]], "r2": [PAIRED]}, pods=2, replicas=3)
    assert (first.replay.verdict, first.started) == (GangVerdict.YES, (2, 2))


def test_kueue_fills_a_domain_gang_after_gang():
    """It counts pods: three a node, of which two get devices, so that the second gang waits."""
    kueue = choices({"r1": [PAIRED]}, pods=1, replicas=3, most=3)[1]
    assert (kueue.replay.verdict, kueue.started, kueue.trapped) == (GangVerdict.YES, (2, 2), ("r1",))


def configured(on: Cluster, **gates: bool) -> Cluster:
    """Return the cluster with these gates in Kueue's Configuration."""
    return replace(on, queues=(Configuration(feature_gates=gates),))


@pytest.mark.parametrize(
    ("gates", "name", "verdict"),
    [
        ({}, "Kueue 0.20 (KueueDRADeviceFeasibility off)", GangVerdict.NO),
        (
            {"KueueDRADeviceFeasibility": True},
            "Kueue 0.20 (KueueDRADeviceFeasibility on, KueueDRAIntegrationDeviceTaints off)",
            GangVerdict.YES,
        ),
    ],
)
def test_kueue_leaves_out_nodes_without_devices_if_its_gate_is_on(gates, name, verdict):
    """A verdict names the version and the gates that it assumes. Without the check the first node has one GPU."""
    on, tree = racks({"r1": [["r0"], ["r0", "r0"]]}, pods=1)
    gang = Workload("train", [PodGroup("worker", (TWO,), count=1)], level="rack", hierarchy="fabric")
    found = replay_kueue(configured(on, **gates), gang, tree, R136)
    assert (found.scheduler, found.verdict) == (name, verdict)


def test_kueue_checks_the_devices_of_one_pod_only():
    """It puts two pods on a node that has devices for one: the second waits there."""
    on, tree = racks({"r1": [["r0", "r0"]]})
    gang = Workload("train", [PodGroup("worker", (TWO,), count=2)], level="rack", hierarchy="fabric")
    found = replay_kueue(configured(on, KueueDRADeviceFeasibility=True), gang, tree, R136)
    assert (found.verdict, [(row.most, row.wanted) for row in found.domains]) == (GangVerdict.NO, [(1, 2)])


def test_kueue_admits_nothing_where_no_node_has_the_devices():
    """Its message counts the nodes that its check leaves out."""
    on, tree = racks({"r1": [["r0"], ["r0"]]})
    gang = Workload("train", [PodGroup("worker", (TWO,), count=1)], level="rack", hierarchy="fabric")
    found = replay_kueue(configured(on, KueueDRADeviceFeasibility=True), gang, tree, R136)
    assert "excluded: draNoFit: 2" in found.sentence


@pytest.mark.parametrize(("checks", "verdict"), [(False, GangVerdict.NO), (True, GangVerdict.YES)])
def test_an_extended_resource_of_a_class_needs_the_check_of_devices(checks, verdict):
    """Without it, Kueue looks for the resource in what the nodes can allocate, where DRA never writes it."""
    on, tree = racks({"r1": [PAIRED]})
    claim = ClaimSketch(name="extended-resources", requests=(request("container-0-request-0", GPU),))
    gang = Workload("train", [PodGroup("worker", (claim,), count=1)], level="rack", hierarchy="fabric")
    found = replay_kueue(configured(on, KueueDRADeviceFeasibility=checks), gang, tree, R136)
    assert (found.verdict, 'excluded: resource "nvidia.com/gpu": 1' in found.sentence) == (verdict, not checks)


def test_kube_scheduler_chooses_the_nodes_of_a_domain_without_host_names():
    """Kueue holds the pods to the rack, so they find the node that has devices."""
    on, tree = racks({"r1": [["r0"], PAIRED]})
    own = replace(on, topologies=(topology(RACK, name="fabric"),))
    levels = Hierarchy("fabric", (Level("rack", RACK, "Kueue Topology fabric"),), tree.domains)
    gang = Workload("train", [PodGroup("worker", (TWO,), count=2)], level="rack", hierarchy="fabric")
    found = replay_kueue(own, gang, levels, R136)
    assert (found.verdict, [row.domain for row in found.domains]) == (GangVerdict.YES, ["r1"])


def test_kueue_refuses_what_its_gates_do_not_cover():
    """A list of alternatives needs a gate, which the verdict names."""
    on, tree = racks({"r1": [PAIRED]})
    alternatives = ClaimSketch(name="one", requests=(one_of("gpu", alternative("a", GPU), alternative("b", GPU)),))
    gang = Workload("train", [PodGroup("worker", (alternatives,), count=1)], level="rack", hierarchy="fabric")
    gate = "KueueDRAIntegrationPrioritizedList"
    verdicts = [replay_kueue(configured(on, **{gate: value}), gang, tree, R136) for value in (False, True)]
    assert [one.verdict for one in verdicts] == [GangVerdict.NO, GangVerdict.YES]
    assert verdicts[0].scheduler.startswith(f"Kueue 0.20 ({gate} off")


def test_what_is_proven_to_fit_nowhere_fits_nowhere_with_kai_and_volcano():
    """They are not replayed, but no scheduler can do what is impossible."""
    assert [one.replay.verdict for one in choices({"r1": [PAIRED]}, pods=3)[2:]] == [GangVerdict.NO] * 2


def test_without_a_pod_group_kube_scheduler_is_open():
    """Kubernetes 1.35 has no PodGroup with a level."""
    on, tree = racks({"r1": [PAIRED]})
    gang = Workload("train", [PodGroup("worker", (TWO,), count=2)], level="rack", hierarchy="fabric")
    plan = plan_gangs(on, [gang], hierarchies=[tree], release=R136)
    [first, *_] = gang_choices(on, gang, tree, KubernetesRelease("1.35"), plan)
    assert first.replay.verdict is GangVerdict.MAYBE


# ---------------------------------------------------------------- gangs that arrive one after the other

CASES = range(40)
ONE = ClaimSketch(name="one", requests=(request("gpu", GPU),))


def drawn(seed: int):
    """Return a number generator, racks of nodes with few GPUs, and a gang with its replicas."""
    draw = random.Random(f"regret {seed}")
    sizes = {f"r{rack}": [draw.randint(0, 3) for _ in range(draw.randint(1, 3))] for rack in range(3)}
    size = draw.randint(1, 4)
    group = PodGroup("worker", (ONE,), count=size, minimum=draw.choice([size, size, draw.randint(1, size)]))
    gang = Workload("train", [group], level="rack", hierarchy="fabric", replicas=draw.randint(1, 3))
    on, tree = racks({rack: [["r0"] * gpus for gpus in nodes] for rack, nodes in sizes.items()}, draw.randint(2, 6))
    return draw, sizes, gang, on, tree


def started(seed: int) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Return how many gangs kube-scheduler starts, how many Kueue starts, and how many the best plan places."""
    _, _, gang, on, tree = drawn(seed)
    plan = plan_gangs(on, [gang], hierarchies=[tree], release=R136)
    group, kueue, *_ = gang_choices(on, gang, tree, R136, plan)
    return group.started, kueue.started, len(plan.placed_gangs)


def started_by_chance(draw, sizes, gang) -> int:
    """Return how many PodGroups start if chance takes every choice."""
    left = {rack: sum(nodes) for rack, nodes in sizes.items()}
    begun = 0
    for _ in range(gang.replicas):
        feasible = [rack for rack, free in left.items() if free >= gang.least]
        if feasible:
            rack = draw.choice(feasible)
            left[rack] -= min(gang.size, left[rack])
            begun += 1
    return begun


@pytest.mark.parametrize("seed", CASES)
def test_what_pod_groups_do_by_chance_is_in_the_range(seed):
    """The gangs that start are at least and at most as many as the choice says."""
    draw, sizes, gang, *_ = drawn(seed)
    least, most = started(seed)[0]
    assert {started_by_chance(draw, sizes, gang) for _ in range(30)} <= set(range(least, most + 1))


@pytest.mark.parametrize("seed", CASES)
def test_kueue_starts_as_many_gangs_as_one_replay_after_the_other(seed):
    """Each replay sees the pods of those before it, and their devices are in use."""
    _, _, gang, on, tree = drawn(seed)
    free = {node.name: 0 for node in on.nodes} | {s.spec.node_name: len(s.spec.devices) for s in on.slices}
    begun, pods = 0, list(on.pods)
    for _ in range(gang.replicas):
        replay = replay_kueue(replace(on, pods=tuple(pods)), replace(gang, replicas=1), tree, R136)
        served = 0
        for row in replay.domains:
            served += min(free[row.domain], row.wanted)
            free[row.domain] -= min(free[row.domain], row.wanted)
            pods += [Pod(ObjectMeta(), PodSpec(node_name=row.domain))] * row.wanted
        begun += bool(replay.domains) and served >= gang.least
    assert started(seed)[1] == (begun, begun)


@pytest.mark.parametrize("seed", CASES)
def test_no_scheduler_starts_more_than_the_best_plan(seed):
    """The plan is proven, so what starts for certain is never more."""
    group, kueue, best = started(seed)
    assert max(group[0], kueue[0]) <= best
