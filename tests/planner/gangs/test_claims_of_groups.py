"""Claims that the pods of one group of a gang share: one node for each such group, and not for the gang."""

from __future__ import annotations

from dataclasses import replace as replaced

import pytest
from checked_gangs import checked_gangs
from msgspec.structs import replace
from random_devices import device_class
from random_gangs import hierarchy_of
from small_claims import request
from small_nodes import a_slice, cluster, device, gpu

from dra_lab import ClaimSketch, Cluster, NodeType, PodGroup, Workload, nodes_to_add
from dra_lab.errors import InputError, UnsupportedFeature
from dra_lab.model.headroom import Bounded
from dra_lab.model.nodes import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta
from dra_lab.model.plan import PlanStatus
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec

GPU = ClaimSketch(name="gpus", requests=(request("gpu", "gpu.nvidia.com"),))
SHARED = ClaimSketch(name="shared", requests=(request("gpu", "gpu.nvidia.com"),))


def nodes(*counts: int) -> Cluster:
    """Return nodes with some GPUs each."""
    slices = [
        a_slice("gpu.nvidia.com", *(gpu(at, f"r{at}") for at in range(count)), node=f"n{number}")
        for number, count in enumerate(counts)
    ]
    return cluster(*slices)


def sharing(name: str, pods: int = 2, **more) -> PodGroup:
    """Return a group whose pods have one GPU each and one more together."""
    return PodGroup(name, (GPU,), count=pods, shared_claims=(SHARED,), **more)


def test_a_group_with_shared_claims_has_a_pod():
    """Without one its claim would have no devices."""
    with pytest.raises(InputError, match="give a min of 1 or more"):
        checked_gangs(nodes(4), [Workload("g", (sharing("a", minimum=0), PodGroup("b", (GPU,), count=1)))])


def test_nodes_to_add_have_the_claim_too():
    """A node of two GPUs cannot have the group, however many there are; one of three GPUs can."""
    tree = hierarchy_of({"n0": ("a", "r"), "n1": ("a", "r")})
    on, gang = nodes(2, 3), Workload("g", (sharing("a"),), replicas=3)
    small, large = (NodeType(name, node=node) for name, node in (("small", "n0"), ("large", "n1")))
    found = nodes_to_add(on, [gang], types=[small, large], hierarchies=[tree])
    assert ({one.type: one.count for one in found.added}, found.status) == ({"large": 2}, PlanStatus.OPTIMAL)


def test_nodes_are_added_for_pods_with_only_a_shared_claim():
    """Three gangs need three GPUs, and one is there."""
    tree = hierarchy_of({"n0": ("a", "r"), "n1": ("a", "r")})
    gang = Workload("g", (PodGroup("a", (), count=3, shared_claims=(SHARED,)),), replicas=3)
    found = nodes_to_add(nodes(1, 0), [gang], types=[NodeType("small", node="n0")], hierarchies=[tree])
    assert ({one.type: one.count for one in found.added}, found.status) == ({"small": 2}, PlanStatus.OPTIMAL)


LINK = ClaimSketch(name="link", requests=(request("link", "net.example.com"),))


def selected(name: str, count: int, **labels: str) -> ResourceSlice:
    """Return devices of a network that the nodes with some labels see; without labels, all nodes."""
    wanted = tuple(NodeSelectorRequirement(key, "In", (value,)) for key, value in labels.items())
    spec = ResourceSliceSpec(
        driver="net.example.com",
        pool=ResourcePool(name=name, generation=1, resource_slice_count=1),
        devices=tuple(device(f"{name}-{at}") for at in range(count)),
        node_selector=NodeSelector((NodeSelectorTerm(wanted),)) if labels else None,
        all_nodes=not labels,
    )
    return ResourceSlice(metadata=ObjectMeta(name=name), spec=spec)


def networked(*slices: ResourceSlice, racks: str = "aabb", gpus: int = 1) -> Cluster:
    """Return one node with GPUs for each letter, which is its rack, with devices of networks."""
    own = nodes(*[gpus] * len(racks)).slices
    classes = map(device_class, ("net.example.com", "gpu.nvidia.com"))
    places = [Node(ObjectMeta(name=f"n{at}", labels={"rack": rack})) for at, rack in enumerate(racks)]
    return cluster(*own, *slices, classes=tuple(classes), nodes=tuple(places))


def linked(pods: int, replicas: int = 1, *, of_gang: bool = True) -> Workload:
    """Return a gang whose pods have one GPU each and one link together."""
    own = {} if of_gang else {"shared_claims": (LINK,)}
    more = {"shared_claims": (LINK,)} if of_gang else {}
    return Workload("g", (PodGroup("a", (GPU,), count=pods, **own),), replicas=replicas, **more)


@pytest.mark.parametrize("of_gang", [True, False])
@pytest.mark.parametrize(("gpus", "replicas", "placed"), [(1, 3, 2), (2, 3, 3), (2, 5, 4)])
def test_pods_that_have_only_a_shared_claim_are_on_its_node(gpus, replicas, placed, of_gang):
    """A claim of one GPU is enough for three pods, so two nodes hold as many gangs as they have GPUs."""
    group = PodGroup("a", (), count=3, shared_claims=() if of_gang else (SHARED,))
    on = networked(racks="ab", gpus=gpus)
    plan = checked_gangs(on, [Workload("g", (group,), replicas=replicas, shared_claims=(SHARED,) if of_gang else ())])
    assert [(len(one.pods), len(one.nodes)) for one in plan.placed_gangs] == [(3, 1)] * placed
    assert plan.goal("gangs").proven
    assert {domain.pods for domain in plan.where} == {Bounded(3, 3)}


def test_the_bound_of_a_domain_counts_pods_with_only_a_shared_claim():
    """Two GPUs are enough for the claim, the leader and one of two workers, although the gang does not fit."""
    leader, workers = PodGroup("leader", (), count=1, leader=True), PodGroup("worker", (GPU,), count=2)
    [domain] = checked_gangs(
        networked(racks="a", gpus=2), [Workload("g", (leader, workers), shared_claims=(SHARED,))]
    ).where
    assert (domain.replicas.bound, domain.pods.value <= 2 <= domain.pods.bound) == (0, True)


@pytest.mark.parametrize("of_gang", [False, True])
def test_pods_with_only_a_shared_claim_have_the_levels_of_their_group(of_gang):
    """Their node has a domain of the slices' level, and of a level that is preferred it counts as one."""
    tree = hierarchy_of({"n1": ("a", "r")})
    shares = {} if of_gang else {"shared_claims": (SHARED,)}
    group = PodGroup("w", (), count=2, prefer_level="rack", slices=((2, "rack"),), **shares)
    gang = Workload("g", (group,), prefer_level="block", shared_claims=(SHARED,) if of_gang else ())
    plan = checked_gangs(nodes(4, 1), [gang], hierarchies=[tree])
    levels = {goal.goal: goal.value for goal in plan.goals}["levels"]
    assert (plan.placed_gangs[0].nodes, levels, plan.proven) == (("n1",), 2, True)


def test_pods_without_any_claim_are_refused():
    """Nothing says where they are."""
    with pytest.raises(InputError, match="pods without claims"):
        checked_gangs(nodes(1), [Workload("g", (PodGroup("a", (), count=2),))])


@pytest.mark.parametrize("of_gang", [True, False])
@pytest.mark.parametrize(
    ("slices", "pods", "placed"),
    [
        ((selected("all", 1),), 4, 1),
        ((selected("a", 1, rack="a"),), 2, 1),
        ((selected("a", 1, rack="a"),), 3, 0),
        ((selected("a", 1, rack="a"), selected("b", 1, rack="b")), 2, 2),
        ((selected("a", 2, rack="a"),), 2, 1),
        ((selected("none", 1, rack="c"),), 1, 0),
    ],
)
def test_pods_that_share_a_device_of_a_network_are_where_it_is_seen(slices, pods, placed, of_gang):
    """The claim holds its pods to the nodes that see the device, and not to one of them."""
    on = networked(*slices)
    plan = checked_gangs(on, [linked(pods, 2, of_gang=of_gang)])
    first = plan.goal("gangs")
    assert (len(plan.placed_gangs), first.value, first.proven) == (placed, 2 - placed, True)


def test_devices_that_different_nodes_see_are_not_planned():
    """Which device the claim gets decides where the pods may be."""
    with pytest.raises(UnsupportedFeature, match="different nodes"):
        checked_gangs(networked(selected("all", 1), selected("a", 1, rack="a")), [linked(2)])


def test_a_claim_with_a_device_of_a_node_holds_its_pods_to_the_node():
    """A link of the network besides does not help."""
    both = replace(LINK, requests=(*LINK.requests, *GPU.requests))
    gang = replaced(linked(2), shared_claims=(both,))
    placed = checked_gangs(networked(selected("all", 1), gpus=3), [gang]).placed_gangs
    assert [len(one.nodes) for one in placed] == [1]


def test_a_domain_of_the_required_level_sees_its_own_device():
    """The pods are in one rack and see one device: no rack has both nodes of it."""
    tree = hierarchy_of({"n0": ("a", "r"), "n1": ("b", "r"), "n2": ("a", "r"), "n3": ("b", "r")})
    on = networked(selected("a", 1, rack="a"), selected("b", 1, rack="b"))
    plans = [checked_gangs(on, [replaced(linked(2), level=level)], hierarchies=[tree]) for level in ("block", "")]
    assert [(len(plan.placed_gangs), plan.goal("gangs").proven) for plan in plans] == [(0, True), (1, True)]


def test_nodes_are_not_added_for_devices_of_a_network():
    """A new node may see them or not."""
    with pytest.raises(UnsupportedFeature, match="several nodes see"):
        nodes_to_add(networked(selected("all", 1)), [linked(9)], types=[NodeType.like("n0")])
