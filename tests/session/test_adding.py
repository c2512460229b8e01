"""The what-if changes that nodes to add become: the cluster with them has a place for everything that was wanted."""

from __future__ import annotations

from collections import Counter

import pytest

from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.fleet import Workload
from dra_lab.model.gang import Gang, GangGroup
from dra_lab.model.node_type import NewDomains, NodeType
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.gangs import nodes_to_add, plan_gangs
from dra_lab.session.adding import layers_with
from dra_lab.sources import load_cluster
from dra_lab.topology.hierarchies import hierarchies
from dra_lab.topology.layered import with_layers

LEAF = "leaf switch"
GPU_NODE, NIC_NODE = "h100-09", "h100-10"


def group(name: str, pods: int, device_class: str = "gpu.nvidia.com", least: int | None = None) -> GangGroup:
    """Return pods that each need all eight devices of a class on a node."""
    request = DeviceRequest(name="all", exactly=ExactDeviceRequest(device_class_name=device_class, count=8))
    return GangGroup(Workload(name, (ClaimSketch(name="claim", requests=(request,)),), pods), least)


@pytest.fixture(scope="module")
def pod():
    """Return 16 nodes below four leaf switches; one of them has GPUs alone, another one NICs alone."""
    cluster = load_cluster("sample:h100-pod")
    kept = {GPU_NODE: "gpu.nvidia.com", NIC_NODE: "dra.net"}
    slices = [one for one in cluster.slices if kept.get(one.spec.node_name, one.spec.driver) == one.spec.driver]
    return cluster.with_objects(slices=tuple(slices))


def added(pod, gang: Gang, nodes: int, *like: str, most: int | None = None):
    """Return the nodes to add below new leaf switches alone, and the cluster with the changes that they become."""
    new = NewDomains(nodes=nodes, most=most)
    found = nodes_to_add(pod, [gang], types=[NodeType.like(one, places=0, new_domains=new) for one in like])
    return found, with_layers(pod, layers_with(found, pod))


def new_leaves(pod, larger) -> list[int]:
    """Return the nodes of each leaf switch that only the larger cluster has."""
    leaves = Counter(
        tree.path_of(node) for tree in hierarchies(larger)[:1] for node in {*larger.node_names} - {*pod.node_names}
    )
    return sorted(leaves.values())


def test_two_node_types_are_in_one_new_domain(pod):
    """One half of the gang needs GPUs and the other one NICs, which different nodes have."""
    gang = Gang("train", [group("gpu", 4), group("nic", 4, "dranet")], LEAF)
    found, larger = added(pod, gang, 8, GPU_NODE, NIC_NODE, most=1)
    assert [(one.type, one.count, one.new) for one in found.added] == [(GPU_NODE, 4, True), (NIC_NODE, 4, True)]
    assert (plan_gangs(larger, [gang]).counts, new_leaves(pod, larger)) == ({"train": 1}, [8])


def test_several_new_domains_are_made_at_once(pod):
    """Each of three gangs has a new leaf switch."""
    gang = Gang("train", [group("worker", 6)], LEAF, replicas=3)
    _, larger = added(pod, gang, 6, GPU_NODE)
    assert (plan_gangs(larger, [gang]).counts, new_leaves(pod, larger)) == ({"train": 3}, [6, 6, 6])


def test_a_new_domain_of_hyper_nodes_has_one_of_its_own():
    """It is a member of the HyperNode above it, and the new node is a member of it."""
    spines = load_cluster("sample:nvlink-over-spines")
    request = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=4))
    workload = Workload("worker", (ClaimSketch(name="claim", requests=(request,)),), 5)
    gang = Gang("train", [GangGroup(workload)], "spine")
    found, larger = added(spines, gang, 6, "srv1101")
    assert [one.new for one in found.added] == [True]
    assert (plan_gangs(larger, [gang]).counts, new_leaves(spines, larger)) == ({"train": 1}, [found.count])


def test_a_gang_with_a_minimum_gets_nodes_for_it(pod):
    """Five of seven pods are enough."""
    gang = Gang("train", [group("worker", 7, least=5)], LEAF)
    found, larger = added(pod, gang, 7, GPU_NODE)
    assert (found.count, plan_gangs(larger, [gang]).counts, new_leaves(pod, larger)) == (5, {"train": 1}, [5])
