"""The steps of replays of gangs, and the documented examples of kube-scheduler's PodGroup loop.

The examples are those of kubernetes v1.36, test/integration/scheduler/podgroup/topology_aware_scheduling/tas_test.go.
A CPU there is a GPU here, so that a node of 2 CPUs has 2 GPUs.
"""

from __future__ import annotations

from dataclasses import replace as changed

import pytest
from msgspec.structs import replace
from small_claims import request
from test_gang_replay import GPU, ONE, R136, gang, racks

from dra_lab.model.gang_replay import MOST_TRIED, GangVerdict
from dra_lab.model.nodes import NodeStatus, ObjectMeta
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workloads import Container, Pod, PodSpec, ResourceRequirements
from dra_lab.pinning.replay_gang import replay_kueue, replay_pod_group

LARGE = ClaimSketch(name="large", requests=(request("gpu", GPU, 2),))

UPSTREAM = {
    "single rack, when only one feasible rack is available": (
        {"rack-1": [2, 2, 2], "rack-2": [0, 2], "rack-3": [2]},
        *(3, ONE, {"rack-1"}, "rack-1"),
    ),
    "pending when no feasible resources are found": (
        {"rack-1": [2, 2], "rack-2": [2], "rack-3": [2]},
        *(3, LARGE, set(), ""),
    ),
    "pending when resources are consumed by existing pods": ({"rack-1": [0, 2, 0]}, 3, ONE, set(), ""),
    "after an existing pod is deleted": ({"rack-1": [2, 2, 0]}, 3, ONE, {"rack-1"}, "rack-1"),
    "placement with the highest score": (
        {"rack-1": [2, 2], "rack-2": [2, 2, 2], "rack-3": [2]},
        *(3, ONE, {"rack-1", "rack-2"}, "rack-1"),
    ),
    "highest allocation percentage with pre-existing pods": (
        {"rack-1": [2, 2], "rack-2": [0, 2, 2], "rack-3": [2, 2, 1], "rack-4": [2]},
        *(3, ONE, {"rack-1", "rack-2", "rack-3"}, "rack-2"),
    ),
    "large pods only fit on rack1": ({"rack-1": [2, 2, 2], "rack-2": [2, 2]}, 3, LARGE, {"rack-1"}, "rack-1"),
    "does not schedule when preemption could free up enough": ({"rack-1": [2, 0]}, 3, ONE, set(), ""),
}


@pytest.mark.parametrize("name", UPSTREAM)
def test_upstream_examples_have_the_same_feasible_racks(name: str):
    """The placements with room are those of the example, and the one that its scores choose is among them."""
    sizes, number, claim, feasible, chosen = UPSTREAM[name]
    found = replay_pod_group(*_on(sizes), gang(number, claim), _tree(sizes), R136)
    assert {row.domain for row in found.domains if row.least >= number} == feasible >= ({chosen} - {""})


def _on(sizes):
    return (racks(sizes)[0],)


def _tree(sizes):
    return racks(sizes)[1]


SCORED = {
    "choosing placement with the highest score": (
        {"rack-1": 2, "rack-2": 3, "rack-3": 1},
        *({}, [("rack-1", 75), ("rack-2", 50)]),
    ),
    "highest allocation percentage with pre-existing pods": (
        {"rack-1": 2, "rack-2": 3, "rack-3": 3, "rack-4": 1},
        *({"rack-2-n0": 2, "rack-3-n2": 1}, [("rack-2", 83), ("rack-1", 75), ("rack-3", 66)]),
    ),
    "choosing smaller rack": ({"rack-1": 3, "rack-2": 2, "rack-3": 1}, {}, [("rack-2", 75), ("rack-1", 50)]),
}


@pytest.mark.parametrize("name", SCORED)
def test_upstream_examples_have_the_same_scores(name: str):
    """Nodes of 2 CPUs, pods of 1 CPU, and existing pods: the rack with the highest share is chosen."""
    nodes, existing, documented = SCORED[name]
    on, tree = racks({rack: [8] * number for rack, number in nodes.items()})
    two_cpus = tuple(replace(node, status=NodeStatus(allocatable={"cpu": 2, "pods": 110})) for node in on.nodes)
    holders = tuple(_holder(node, cpus) for node, cpus in existing.items())
    on = changed(on, nodes=two_cpus, pods=holders)
    steps = replay_pod_group(on, gang(3), tree, R136, requests={"worker": {"cpu": "1"}}).steps
    assert [(row.path[0], row.score) for row in steps[-1].domains] == documented


def test_nodes_with_too_few_cpus_take_fewer_pods():
    """Each node of 64 CPUs has room for one pod of 33, whatever devices it has."""
    on, tree = racks({"r1": [8, 8]})
    found = replay_pod_group(on, gang(3), tree, R136, requests={"worker": {"cpu": "33"}})
    assert (found.verdict, found.domains[0].most) == (GangVerdict.NO, 2)


def _holder(node: str, cpus: int) -> Pod:
    """Return a pod that runs on a node."""
    container = Container(resources=ResourceRequirements(requests={"cpu": cpus}))
    return Pod(ObjectMeta(name=f"existing-{node}"), PodSpec(node_name=node, containers=(container,)))


def rules(found) -> list[str]:
    """Return the rules of the steps."""
    return [step.rule.value for step in found.steps]


def test_every_placement_is_tried():
    """One step for the placements, one for each of them, and one for the choice by scores."""
    on, tree = racks({"r1": [2, 1], "r2": [4, 4], "r3": [8]})
    found = replay_pod_group(on, gang(8), tree, R136)
    assert rules(found) == ["placements", "tried", "tried", "tried", "scores"]


def test_a_placement_says_how_many_pods_find_a_node():
    """Three of eight, with the nodes that they are on."""
    on, tree = racks({"r1": [2, 1], "r2": [4, 4]})
    step = replay_pod_group(on, gang(8), tree, R136).steps[1]
    assert (step.of, step.fits, [(row.path[-1], row.pods) for row in step.domains]) == (
        ("r1",),
        (3, 3),
        [("r1-n0", 2), ("r1-n1", 1)],
    )


def test_placements_with_room_have_a_step_also_among_many():
    """The last rack of many is tried in a step of its own, the others are counted."""
    sizes = {f"r{number:03}": [1] for number in range(MOST_TRIED + 20)} | {"z": [2, 2]}
    on, tree = racks(sizes)
    steps = replay_pod_group(on, gang(4), tree, R136).steps
    assert (steps[MOST_TRIED].of, steps[MOST_TRIED + 1].more) == (("z",), 21)


def test_kueue_goes_on_to_the_claims_of_the_nodes_that_it_chose():
    """The last step has the pods that get their devices beside those that Kueue put there."""
    on, tree = racks({"r1": [0, 1], "r2": [4, 4, 4]})
    found = replay_kueue(on, gang(4), tree, R136, requests={"worker": {"cpu": "8"}})
    assert [(row.path[-1], row.pods, row.taken) for row in found.steps[-1].domains] == [("r1-n0", 0, 4)]


def test_a_refusal_of_kueue_ends_the_steps():
    """The verdict is no, and the last step is the refusal."""
    on, tree = racks({"r1": [8]})
    found = replay_kueue(on, gang(9), tree, R136, requests={"worker": {"cpu": "8"}})
    assert (found.verdict, rules(found)[-1]) == (GangVerdict.NO, "refused")
