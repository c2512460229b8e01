"""Nodes to add that can be counted by hand, what new nodes are, and what is refused."""

from __future__ import annotations

import pytest
from checked_gangs import checked_gangs
from msgspec.structs import replace

from dra_lab import ClaimSketch, KubernetesRelease, NodeType, PodGroup, Workload, load_cluster, nodes_to_add
from dra_lab.errors import InputError, NodeError
from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector, ExactDeviceRequest
from dra_lab.model.node_type import NewDomains
from dra_lab.model.plan import PlanStatus

LEAF = "leaf switch"


def workers(pods: int, gpus: int = 8, **fields) -> PodGroup:
    """Return pods with some GPUs each; a node of the sample has 8."""
    request = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=gpus))
    return PodGroup("worker", (ClaimSketch(name="claim", requests=(request,)),), count=pods, **fields)


def gang(pods: int, gpus: int = 8, level: str = LEAF, replicas: int = 1) -> Workload:
    """Return gangs of such pods."""
    return Workload("train", [workers(pods, gpus)], level=level, replicas=replicas)


@pytest.fixture(scope="module")
def pod():
    """Return 16 nodes behind 4 leaf switches, of which some devices are in use."""
    return load_cluster("sample:h100-pod")


def new(nodes: int, most: int | None = None) -> NodeType:
    """Return nodes that go behind new leaf switches only."""
    return NodeType.like("h100-09", places=0, new_domains=NewDomains(nodes=nodes, most=most))


@pytest.mark.parametrize(("pods", "gpus", "replicas"), [(6, 8, 4), (9, 4, 3), (20, 3, 2), (7, 8, 1)])
def test_identical_nodes_are_counted_by_division(pods, gpus, replicas, pod):
    """Behind new switches, each gang that is too large for the others needs its pods divided by those of a node."""
    each = -(-pods // (8 // gpus))
    found = nodes_to_add(pod, [gang(pods, gpus, replicas=replicas)], types=[new(each)])
    assert (found.count, found.bound, found.proven) == (replicas * each, replicas * each, True)


def test_the_cheapest_mix_is_found(pod):
    """A node of half the devices for less than half the cost is taken twice."""
    gpus, own = [{"gpu.nvidia.com": 4}], {"gpu.nvidia.com": {"type": "gpu"}}
    half = NodeType.from_roots("half", gpus, attributes=own, cost=1.4, places=0, new_domains=12)
    whole = NodeType.like("h100-09", cost=3, places=0, new_domains=12)
    found = nodes_to_add(pod, [gang(12, 4)], types=[whole, half])
    assert ([(one.type, one.count) for one in found.added], found.cost) == ([("half", 12)], pytest.approx(16.8))


def test_nothing_is_added_if_everything_fits(pod):
    """The answer is 0, proven, with the plan on the cluster as it is."""
    found = nodes_to_add(pod, [gang(1, 1)], types=[new(4)])
    assert (found.count, found.proven, found.plan.placed) == (0, True, {"train": 1})


def test_new_nodes_make_the_rest_fit(pod):
    """A plan on the cluster with the new nodes places every gang and keeps every rule."""
    release = KubernetesRelease("1.36")
    found = nodes_to_add(pod, [gang(5, replicas=3)], types=[NodeType.like("h100-09", places=4)], release=release)
    plan = checked_gangs(found.cluster, [gang(5, replicas=3)], hierarchies=found.hierarchies, release=release)
    assert plan.placed == {"train": 3}


def test_a_minimum_is_enough_unless_all_pods_are_wanted(pod):
    """With `full`, the pods beyond the minimum need nodes too."""
    elastic = Workload("train", [workers(6, minimum=5)], level=LEAF)
    found = [nodes_to_add(pod, [elastic], types=[new(6)], full=full).count for full in (False, True)]
    assert found == [5, 6]


def test_a_gang_that_is_too_large_for_a_rack_is_named(pod):
    """If no number of nodes helps, the answer says which gang lacks places."""
    found = nodes_to_add(pod, [gang(6)], types=[new(5)])
    assert (found.status, found.shortfalls[0].needed, found.shortfalls[0].available) == (PlanStatus.INFEASIBLE, 6, 5)


def test_no_number_of_nodes_helps_without_places(pod):
    """A type that has a place nowhere adds no node, proven."""
    found = nodes_to_add(pod, [gang(6)], types=[NodeType.like("h100-09", places=0)])
    assert (found.status, found.count) == (PlanStatus.INFEASIBLE, 0)


def test_a_claim_that_fits_no_node_type_is_named(pod):
    """The answer says which type lacks which devices."""
    small = NodeType.from_roots("small", [{"gpu.nvidia.com": 4}], attributes={"gpu.nvidia.com": {"type": "gpu"}})
    found = nodes_to_add(pod, [gang(6)], types=[small])
    assert "small: " in found.shortfalls[0].message


def test_new_nodes_have_pools_and_domains_of_their_own(pod):
    """Pool names and the label of the new switch differ from those of the copied node; the zone is kept."""
    found = nodes_to_add(pod, [gang(6)], types=[new(6)])
    node = found.cluster.node_by_name["h100-09-new-1"].metadata.labels
    pools = {item.spec.pool.name for item in found.cluster.slices_by_node["h100-09-new-1"]}
    seen = (node["topology.example.com/leaf"], node["topology.kubernetes.io/zone"], pools)
    assert seen == ("leaf-switch-new-1", "hall-1", {"h100-09-new-1"})


def test_devices_of_several_nodes_are_refused(pod):
    """A slice for all nodes does not grow with them, so that its devices would be counted twice."""
    first = pod.slices[0]
    spec = replace(first.spec, node_name=None, all_nodes=True, pool=replace(first.spec.pool, name="shared"))
    shared = replace(first, spec=spec, metadata=replace(first.metadata, name="shared"))
    cluster = pod.with_objects(slices=(*pod.slices, shared))
    with pytest.raises(InputError, match="several nodes share"):
        nodes_to_add(cluster, [gang(6)], types=[new(6)])


def test_a_node_to_copy_must_be_there(pod):
    """Another name is refused before anything is planned."""
    with pytest.raises(NodeError, match="n41"):
        nodes_to_add(pod, [gang(6)], types=[NodeType.like("n41")])


@pytest.mark.parametrize(
    "fields",
    [{"cost": 0}, {"cost": 1e-7}, {"places": -1}, {"places": {"leaf-1": -2}}, {"node": ""}],
)
def test_a_node_type_that_makes_no_sense_is_refused(fields):
    """Costs are above 0, places are not negative, and the hardware is given once."""
    with pytest.raises(InputError):
        NodeType(**{"name": "n", "node": "n41", **fields})


@pytest.mark.parametrize(("selector", "proven"), [("type", True), ("rackId", False)])
def test_a_selector_on_the_place_of_a_node_is_no_proof(selector, proven):
    """New nodes are tabled in one place; elsewhere such a selector may pass more devices."""
    domain = "dra.net" if selector == "type" else "oke.dra.net"
    text = DeviceSelector(cel=CELDeviceSelector(expression=f'device.attributes["{domain}"].{selector} != "x"'))
    nics = ExactDeviceRequest(device_class_name="dranet", count=2, selectors=(text,))
    claim = ClaimSketch(name="claim", requests=(DeviceRequest(name="nic", exactly=nics),))
    cluster = load_cluster("sample:oke-gb200")
    many = Workload("train", [PodGroup("worker", (claim,), count=40)])
    found = nodes_to_add(cluster, [many], types=[NodeType.like(cluster.node_names[0])])
    assert (found.count, found.proven) == (8, proven)
