"""A run of arriving pods: where each goes, held against asking every node before every pod."""

from __future__ import annotations

import random

import pytest
from random_clusters import random_fleet, random_sketch
from small_nodes import a_slice, cluster, device

from dra_lab import ClaimSketch, KubernetesRelease
from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector, DeviceSubRequest
from dra_lab.model.placement import FirstFitStatus
from dra_lab.pinning.pod_kinds import PlannedReplica, pod_kind
from dra_lab.pinning.scheduler_simulation import SchedulerSimulation, run_pods

R136 = KubernetesRelease("1.36")


@pytest.mark.parametrize("worst", [True, False])
def test_each_pod_goes_where_it_is_served_worst_or_has_the_best_score(worst):
    """Two workloads run on random fleets, one of them kept off some nodes; a failing search ends an attempt."""
    placed = 0
    for seed in range(60):
        rng = random.Random(seed)
        on, drawn = random_fleet(rng), [random_sketch(rng), random_sketch(rng)]
        pods = [pod_kind(on, R136, f"p{number}", [sketch]) for number, sketch in enumerate(drawn)]
        some = {"key": "metadata.name", "operator": "In", "values": ["n1", "n2"]}
        simulation = SchedulerSimulation(on, pods, R136, affinity=[(some,) if seed % 2 else (), ()])
        order = [PlannedReplica(rng.randint(0, 1), number) for number in range(6)]
        held_on_nodes = dict.fromkeys(on.node_names, ())
        for replica, node, taken in run_pods(simulation, order, None if worst else rng):
            own = replica.workload
            offers = {n: simulation.taken(n, h, own) for n, h in held_on_nodes.items() if simulation.admits(own, n)}
            failing = any(o.status in (FirstFitStatus.ERROR, FirstFitStatus.STOPPED) for o in offers.values())
            fitting = [o for o in offers.values() if o.status is FirstFitStatus.ALLOCATED and not failing]
            assert bool(node) == bool(fitting), seed
            if node:
                placed += 1
                assert taken == offers[node]
                assert taken.values == max(o.values for o in fitting) or not worst
                assert taken.score == max(o.score for o in fitting) or worst
                held_on_nodes[node] = (*held_on_nodes[node], ("", own))
    assert placed > 60


def test_the_score_of_a_claim_is_its_own():
    """Two claims of a pod may name requests alike; each counts the alternative that it has.

    Rule: docs/semantics.md 3.15.1.
    """

    def way(name, kind):
        test = DeviceSelector(cel=CELDeviceSelector(expression=f'device.attributes["gpu.nvidia.com"].sort == "{kind}"'))
        return DeviceSubRequest(name=name, device_class_name="gpu.nvidia.com", count=1, selectors=(test,))

    ask = DeviceRequest(name="gpu", first_available=(way("new", "new"), way("old", "old")))
    claims = [ClaimSketch(name=name, requests=(ask,)) for name in ("one", "other")]
    kinds = {"both-new": ("new", "new"), "mixed": ("new", "old"), "both-old": ("old", "old")}
    on = cluster(
        *(
            a_slice(
                "gpu.nvidia.com",
                *(device(f"d{n}", {"type": "gpu", "sort": sort}) for n, sort in enumerate(sorts)),
                node=node,
            )
            for node, sorts in kinds.items()
        )
    )
    simulation = SchedulerSimulation(on, [pod_kind(on, R136, "pod", claims)], R136)
    assert {node: simulation.taken(node, (), 0).score for node in kinds} == {
        "both-new": 16,
        "mixed": 15,
        "both-old": 14,
    }
    older = KubernetesRelease("1.34")
    before = SchedulerSimulation(on, [pod_kind(on, older, "pod", claims)], older)
    assert before.taken("mixed", (), 0).score == 0
