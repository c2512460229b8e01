"""`asPlanned` is true only if it holds for every order of arrival and every choice of nodes."""

from __future__ import annotations

import random

import pytest
from budgets import use_pin_sizes
from checked_plans import checked_fleet
from msgspec.structs import replace
from random_clusters import random_fleet, random_sketch
from small_claims import request
from small_nodes import a_slice, cluster, gpu

from dra_lab.errors import DraLabError
from dra_lab.exports.outcome import exit_status, export_answer
from dra_lab.model.fleet import Workload
from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.every_order import every_order
from dra_lab.pinning.plan_replay import expected_of, planned_values, replay_manifests, replay_plan
from dra_lab.pinning.scheduler_simulation import SchedulerSimulation

R136 = KubernetesRelease("1.36")
GPU = "gpu.nvidia.com"
ONE = ClaimSketch(name="one", requests=(request("gpu", GPU),))
TWO = ClaimSketch(name="two", requests=(request("gpu", GPU, 2),))


def each_end(simulation, counts, history=(), values=()):
    """Yield (workload, values) of the placed pods at the end of each order of pods and each choice of nodes."""
    steps = []
    for workload, left in enumerate(counts):
        for node in simulation.cluster.node_names:
            if left and simulation.admits(workload, node):
                taken = simulation.taken(node, history, workload)
                assert taken.status in (FirstFitStatus.ALLOCATED, FirstFitStatus.NONE)
                steps += [(workload, node, taken)] if taken.status is FirstFitStatus.ALLOCATED else []
    if not steps:
        yield values
    for workload, node, taken in steps:
        fewer = tuple(left - (number == workload) for number, left in enumerate(counts))
        yield from each_end(simulation, fewer, (*history, (node, workload)), (*values, (workload, taken.values)))


def fleet_of(seed):
    """Return a small cluster and a plan of one or two workloads on it; None where none can be made."""
    rng = random.Random(seed)
    on = random_fleet(rng)
    replicas = rng.choice([(3,), (2,), (2, 2), (1, 3), (2, 1)])
    drawn = [replace(random_sketch(rng), name=f"w{number}") for number in range(len(replicas))]
    workloads = [Workload(one.name, (one,), count) for one, count in zip(drawn, replicas, strict=True)]
    try:
        plan = checked_fleet(on, workloads, release=R136, first_fit=False)
    except DraLabError:
        return None
    return (on, plan) if plan.replicas else None


@pytest.mark.parametrize("few", range(0, 60, 10))
def test_the_worst_order_is_that_of_trying_each_one(few):
    """Small random fleets have the fewest and most pods placed, and "as planned", that brute force finds."""
    compared = 0
    for seed in range(few, few + 10):
        found = fleet_of(seed)
        if found is None:
            continue
        on, plan = found
        pods, expected = expected_of(on, plan, R136)
        simulation = SchedulerSimulation(on, pods, R136)
        planned = {
            w: sorted(planned_values(r, pods[w]) for r in expected if r.planned and r.workload == w)
            for w in range(len(pods))
        }
        every = every_order(simulation, expected, planned)
        if every is None:
            continue
        compared += 1
        counts = tuple(sum(replica.workload == w for replica in expected) for w in range(len(pods)))
        ends = [sorted(end) for end in set(each_end(simulation, counts))]
        missed = any(
            len(own) < len(want) or any(have > wish for have, wish in zip(own, want, strict=False))
            for end in ends
            for w, want in planned.items()
            for own in ([values for workload, values in end if workload == w],)
        )
        sizes = {len(end) for end in ends}
        assert (every.fewest, every.most, bool(every.worst)) == (min(sizes), max(sizes), missed), seed
        replay = replay_manifests(simulation, expected)
        assert (replay.always, replay.kept < replay.wanted) == (True, missed), seed
    assert compared >= 3


def mixed():
    """Return a node with two GPUs and one with three, and the plan of a pair and three single GPUs."""
    on = cluster(a_slice(GPU, gpu(0), gpu(1), node="n1"), a_slice(GPU, gpu(0), gpu(1), gpu(2), node="n2"))
    return on, checked_fleet(on, [Workload("a", (TWO,), 1), Workload("b", (ONE,), 3)], release=R136, first_fit=False)


def test_an_order_that_no_run_tried_is_found():
    """One pod on each node leaves no pair: two runs would not need to see it, and the answer names the replica."""
    replay = replay_plan(*mixed(), R136, seeds=0)
    assert (replay.kept, replay.wanted) == (3, 4)
    assert export_answer(mixed()[1], replay)["asPlanned"] is False


def test_what_is_too_large_to_go_through_is_not_known_to_be_as_planned(monkeypatch):
    """Runs without a miss are no proof: the answer is "not known", the sentence says so, and the status is 2."""
    on = cluster(a_slice(GPU, gpu(0), gpu(1), gpu(2)))
    plan = checked_fleet(on, [Workload("a", (TWO,), 1), Workload("b", (ONE,), 1)], release=R136, first_fit=False)
    assert replay_plan(on, plan, R136).always
    use_pin_sizes(monkeypatch, states=1)
    replay = replay_plan(on, plan, R136)
    assert "not every order was simulated" in replay.sentence
    answer = export_answer(plan, replay)
    assert (answer["asPlanned"], exit_status(answer), exit_status(answer, allow_worse=True)) == (None, 2, 0)


def test_workloads_whose_devices_do_not_meet_are_looked_at_one_by_one():
    """Six of each on two nodes: all orders together would be too many states, and each alone has seven."""
    drivers = (GPU, "gpu.amd.com")
    a, b = (ClaimSketch(name=f"c{n}", requests=(request("gpu", driver),)) for n, driver in enumerate(drivers))
    on = cluster(
        *(a_slice(driver, *(gpu(k) for k in range(6)), node=node) for driver in drivers for node in ("n1", "n2"))
    )
    plan = checked_fleet(on, [Workload("a", (a,), 12), Workload("b", (b,), 12)], release=R136, first_fit=False)
    replay = replay_plan(on, plan, R136)
    assert (replay.as_planned, replay.always) == (True, True)
