"""Several claims of one pod, as a drawing or one by one: what is counted together, and what each has for itself."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from checked_plans import broken_rules, checked_fleet, checked_plan
from msgspec.structs import replace as changed
from random_clusters import random_fleet, random_sketch
from random_devices import GPU
from sharing_nodes import RELEASE, node
from small_nodes import a_slice, gpu
from small_plans import held, request, with_pod

from dra_lab import (
    ClaimSketch,
    KubernetesRelease,
    Workload,
    frame,
    how_many_more,
    load_cluster,
    picture,
    read_sketch,
)
from dra_lab.errors import InputError
from dra_lab.model.claims import (
    DeviceClaim,
    ResourceClaim,
    ResourceClaimSpec,
)
from dra_lab.model.names import DeviceID
from dra_lab.model.nodes import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
)
from dra_lab.model.placement import Placement
from dra_lab.model.plan import PlanStatus
from dra_lab.model.sketch import claims_of, pod_drawing
from dra_lab.model.sketch_rules import check_sketch


def gpus(count: int) -> ClaimSketch:
    return ClaimSketch(name="gpus", requests=(request("gpu", GPU, count),))


def planned(on, claims, **options):
    return checked_plan(on, claims, release=RELEASE, **options)


def test_each_claim_may_have_32_devices():
    """Two claims of 20 devices fit, one of 40 does not: `allocation.devices.results` holds 32 at most."""
    forty = node(a_slice(GPU, *map(gpu, range(40))))
    plan = planned(forty, (gpus(20), gpus(20)))
    assert len(plan.placements) == 40
    assert not planned(forty, gpus(40)).fits


def test_placements_say_their_claim():
    """Names of requests are those in their claim, for the plan and for kube-scheduler alike."""
    plan = planned(node(a_slice(GPU, gpu(0), gpu(1))), {"train": gpus(1), "serve": gpus(1)})
    assert [(p.claim, p.request, p.reference) for p in plan.placements] == [
        ("train", "gpu", "train:gpu"),
        ("serve", "gpu", "serve:gpu"),
    ]
    assert [claim.name for claim in plan.workloads[0].claims] == ["train", "serve"]
    assert [p.reference for p in plan.first_fit.placements] == ["train:gpu", "serve:gpu"]


def test_one_claim_is_as_it_was():
    """A pod with one claim gives the plan of that claim."""
    on = node(a_slice(GPU, gpu(0), gpu(1)))
    first, *others = [planned(on, given) for given in (gpus(1), (gpus(1),), Workload("gpus", (gpus(1),)))]
    assert all(replace(plan, drawn=first.drawn) == first for plan in others)


def test_claims_of_one_name_are_numbered():
    """Names in a pod are told apart."""
    plan = planned(node(a_slice(GPU, gpu(0), gpu(1))), (gpus(1), gpus(1)))
    assert [claim.name for claim in plan.workloads[0].claims] == ["gpus", "gpus-2"]


def test_names_that_stand_between_names_are_refused():
    """A claim name with a colon would look like the name of a request."""
    with pytest.raises(InputError, match="rename"):
        checked_plan(node(a_slice(GPU, gpu(0))), {"a:b": gpus(1), "c": gpus(1)}, release=RELEASE)


@pytest.mark.parametrize("goals", ["roots", "roots, numa", ["roots"]])
def test_goals_may_be_one_text(goals):
    """As on the command line."""
    plan = checked_plan(node(a_slice(GPU, gpu(0))), gpus(1), release=RELEASE, goals=goals)
    assert [goal.goal for goal in plan.goals][2] == "roots"


OWN = ResourceClaim(ObjectMeta(name="own"), ResourceClaimSpec(DeviceClaim(requests=(request("g", GPU),))))


def test_a_resource_claim_is_served_as_it_stands():
    """A ResourceClaim may be given among drawings; its constraints are at exactly their attributes."""
    plan = planned(node(a_slice(GPU, gpu(0), gpu(1))), (OWN, gpus(1)))
    assert [p.reference for p in plan.placements] == ["own:g", "gpus:gpu"]


def test_a_resource_claim_that_is_given_twice_is_one_claim():
    """It is allocated once; that it was named twice is told."""
    plan = planned(node(a_slice(GPU, gpu(0), gpu(1))), {"a": OWN, "b": OWN})
    assert [str(p.device) for p in plan.placements] == [f"{GPU}/n1/gpu-0"]
    assert "claim-repeated" in {finding.rule for finding in plan.findings}


def allocated(name: str, node_name: str) -> ResourceClaim:
    """Make a claim that holds gpu-0 of a node and is tied to it."""
    claim = held(DeviceID(GPU, node_name, "gpu-0"))
    only = NodeSelectorRequirement(key="metadata.name", operator="In", values=(node_name,))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(only,)),))
    status = changed(claim.status, allocation=changed(claim.status.allocation, node_selector=selector))
    return changed(claim, metadata=ObjectMeta(name=name, namespace="team"), status=status)


def two_nodes(*claims):
    nodes = tuple(Node(metadata=ObjectMeta(name=name)) for name in ("n1", "n2"))
    return node(*(a_slice(GPU, gpu(0), gpu(1), node=n.name) for n in nodes), nodes=nodes, claims=claims)


@pytest.mark.parametrize("read", [True, False], ids=["read", "given"])
def test_an_allocated_claim_keeps_its_devices_and_ties_the_pod(read):
    """The pod goes where its allocated claim is, and takes none of the devices that it holds."""
    claim = allocated("kept", "n2")
    plan = planned(two_nodes(*((claim,) if read else ())), (claim, gpus(1)))
    assert [str(p.device) for p in plan.placements] == ["gpu.nvidia.com/n2/gpu-1"]
    assert {name for fit in plan.node_classes if fit.verdict == "no" for name in fit.members} == {"n1"}
    assert "claim-allocated" in {finding.rule for finding in plan.findings}


def test_an_allocated_claim_elsewhere_is_a_reason():
    """On a pinned node that the claim's selector does not match nothing fits, and the claim is named."""
    claim = allocated("kept", "n2")
    plan = planned(two_nodes(claim), (claim, gpus(1)), node="n1")
    assert plan.status is PlanStatus.INFEASIBLE
    assert [(s.rule, s.subject) for s in plan.shortfalls] == [("node", "kept")]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda p: with_pod(p, devices=(p.placements[0], changed(p.placements[1], device=p.placements[0].device))),
        lambda p: with_pod(p, devices=p.placements[:1]),
        lambda p: with_pod(p, devices=(*p.placements, Placement("gpu", DeviceID(GPU, "n1", "gpu-2"), claim="a"))),
        lambda p: with_pod(p, devices=(p.placements[0], changed(p.placements[1], claim="c"))),
        lambda p: replace(p, allocated_claims=(allocated("kept", "n2"),)),
    ],
    ids=["twice", "missing", "too many", "no such claim", "tied elsewhere"],
)
def test_wrong_plans_of_pods_are_refused(wrong):
    """check_plan holds every claim against the rules, and the claims against one another."""
    on = node(a_slice(GPU, gpu(0), gpu(1), gpu(2)))
    plan = planned(on, {"a": gpus(1), "b": gpus(1)})
    assert broken_rules(on, wrong(plan), RELEASE)


@pytest.mark.parametrize("names", [("train", "serve"), ("train", "serve", "spare")], ids=["fits", "does not fit"])
def test_texts_tables_and_pictures_name_the_claims(names):
    """Text, frames, picture and page are there whether the pod fits or not, and say of which claim a request is."""
    cluster, sketch = load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/gpu-nic-pairs")
    plan = checked_plan(cluster, dict.fromkeys(names, sketch), release=KubernetesRelease("1.36"))
    assert "train:" in str(plan)
    taken = {("train", "gpu"), ("train", "nic"), ("serve", "gpu"), ("serve", "nic")} if plan.fits else set()
    assert set(frame(plan)[["claim", "request"]].itertuples(index=False, name=None)) == taken
    assert (len(frame(plan, "goals")), len(frame(plan, "reasons"))) == (len(plan.goals), len(plan.shortfalls))
    assert str(picture(cluster, plan.node, plan=plan)).startswith("<svg")
    assert str(picture(cluster, plan.node, plan=plan, kind="graph")).startswith("<!DOCTYPE html>")


ON = load_cluster("sample:eks-p4d")
FULL = "ip-192-168-158-9.ec2.internal"


def claim(name: str, count: int) -> ClaimSketch:
    """Return a claim for a number of GPUs."""
    return ClaimSketch(name=name, requests=(request("gpu", "gpu.nvidia.com", count),))


@pytest.mark.parametrize("seed", range(20))
def test_a_drawn_pod_has_the_plan_of_its_claims(seed):
    """Status, node, devices and goals, on random clusters with two or three random claims."""
    rng = random.Random(seed)
    cluster = random_fleet(rng)
    claims = [changed(random_sketch(rng), name=f"claim-{number}") for number in range(2 + seed % 2)]
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
    pod = pod_drawing("pod", (claim("a", 1), claim("b", 1), ClaimSketch(name="later")))
    assert checked_plan(ON, pod).sketch == pod


def test_fleet_and_copies_take_the_drawing_as_the_claims_of_a_pod():
    """A Workload of a pod's drawing has its claims."""
    pod = pod_drawing("pod", (claim("a", 2), claim("b", 1)))
    assert Workload("pod", pod).claims == claims_of(pod)
    assert how_many_more(ON, Workload("pod", pod)).count == how_many_more(ON, Workload("pod", claim("c", 3))).count
    assert checked_fleet(ON, [Workload("pod", pod, replicas=2)]).placed["pod"] == 2


def test_a_change_that_helps_is_offered_as_a_drawing_of_the_pod():
    """It can be applied: it has the same claims, and fits."""
    plan = checked_plan(ON, pod_drawing("pod", (claim("a", 8), claim("b", 1))))
    offered = [found.sketch for found in plan.suggestions if found.sketch is not None]
    assert not plan.fits
    assert offered
    for sketch in offered:
        check_sketch(sketch)
        assert sketch.claims == ("a", "b")
    assert checked_plan(ON, offered[0]).fits


def test_a_pod_inside_of_a_pod_is_refused():
    """Claims have names of one level."""
    pod = pod_drawing("pod", (claim("a", 1), claim("b", 1)))
    with pytest.raises(InputError, match="one pod at a time"):
        checked_plan(ON, {"x": pod, "y": claim("y", 1)})
