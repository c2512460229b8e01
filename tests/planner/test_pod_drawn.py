"""A pod with several claims as one drawing: the same answers as for its claims given one by one."""

from __future__ import annotations

import random

import pytest
from checked_plans import checked_fleet, checked_plan
from msgspec.structs import replace
from random_clusters import random_fleet, random_sketch
from small_claims import request

from dra_lab import ClaimSketch, Workload, how_many_more, load_cluster
from dra_lab.errors import InputError
from dra_lab.model.sketch import claims_of, pod_drawing
from dra_lab.model.sketch_rules import check_sketch

ON = load_cluster("sample:eks-p4d")
FULL = "ip-192-168-158-9.ec2.internal"


def gpus(name: str, count: int) -> ClaimSketch:
    """Return a claim for a number of GPUs."""
    return ClaimSketch(name=name, requests=(request("gpu", "gpu.nvidia.com", count),))


@pytest.mark.parametrize("seed", range(20))
def test_a_drawn_pod_has_the_plan_of_its_claims(seed):
    """Status, node, devices and goals, on random clusters with two or three random claims."""
    rng = random.Random(seed)
    cluster = random_fleet(rng)
    claims = [replace(random_sketch(rng), name=f"claim-{number}") for number in range(2 + seed % 2)]
    drawn = checked_plan(cluster, pod_drawing("pod", claims))
    given = checked_plan(cluster, {claim.name: claim for claim in claims})
    assert (drawn.status, drawn.node, drawn.placements, drawn.goals) == (
        given.status,
        given.node,
        given.placements,
        given.goals,
    )


def test_the_plan_keeps_the_drawing_as_it_was_drawn():
    """A view compares the drawing of the answer with that on the canvas, an empty claim included."""
    pod = pod_drawing("pod", (gpus("a", 1), gpus("b", 1), ClaimSketch(name="later")))
    assert checked_plan(ON, pod).sketch == pod


def test_fleet_and_copies_take_the_drawing_as_the_claims_of_a_pod():
    """A Workload of a pod's drawing has its claims."""
    pod = pod_drawing("pod", (gpus("a", 2), gpus("b", 1)))
    assert Workload("pod", pod).claims == claims_of(pod)
    assert how_many_more(ON, Workload("pod", pod)).count == how_many_more(ON, Workload("pod", gpus("c", 3))).count
    assert checked_fleet(ON, [Workload("pod", pod, replicas=2)]).placed["pod"] == 2


def test_each_claim_may_have_32_devices_of_its_own():
    """The limit of a claim is no limit of the pod; one claim with as many is refused by kube-scheduler."""
    p4d = load_cluster("sample:eks-p4d")
    together = checked_plan(p4d, pod_drawing("pod", (gpus("a", 33), gpus("b", 1))))
    assert any("32" in reason.message for reason in together.shortfalls)


def test_a_change_that_helps_is_offered_as_a_drawing_of_the_pod():
    """It can be applied: it has the same claims, and fits."""
    plan = checked_plan(ON, pod_drawing("pod", (gpus("a", 8), gpus("b", 1))))
    offered = [found.sketch for found in plan.suggestions if found.sketch is not None]
    assert not plan.fits
    assert offered
    for sketch in offered:
        check_sketch(sketch)
        assert sketch.claims == ("a", "b")
    assert checked_plan(ON, offered[0]).fits


def test_a_pod_inside_of_a_pod_is_refused():
    """Claims have names of one level."""
    pod = pod_drawing("pod", (gpus("a", 1), gpus("b", 1)))
    with pytest.raises(InputError, match="one pod at a time"):
        checked_plan(ON, {"x": pod, "y": gpus("y", 1)})
