"""Replicas without a place: shortage and scattered devices are told apart."""

from __future__ import annotations

from benchmarks.mixed_cluster import mixed_cluster, workloads
from checked_plans import checked_fleet
from drawn_fleets import seen_by_all
from msgspec.structs import replace
from random_devices import GPU
from sharing_nodes import RELEASE, ask, node
from small_nodes import a_slice, gpu

from dra_lab import ClaimSketch, Cluster, Workload
from dra_lab.model.device import DeviceTaint
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.plan import Plan, PlanStatus


def planned(on: Cluster, *requests, replicas: int = 2, objective: str = "replicas") -> Plan:
    workload = Workload("w", (ClaimSketch("c", requests),), replicas=replicas)
    return checked_fleet(on, [workload], release=RELEASE, first_fit=False, objective=objective)


def gpus(count: int):
    return ask("gpu", count=count)


def eight_gpus(*, sick: int = 0) -> Cluster:
    taint = DeviceTaint(key="xid", effect="NoSchedule")
    return node(a_slice(GPU, *(replace(gpu(n), taints=(taint,)) if n < sick else gpu(n) for n in range(8))))


def test_scattered_devices_are_reported():
    """Enough GPUs are free in all, and no node has as many as a replica takes."""
    fleet = workloads((30,), must=False, kinds=((4, 4, 8),))
    plan = checked_fleet(mixed_cluster(5), fleet, release=RELEASE, first_fit=False)
    reason = next(found for found in plan.shortfalls if "request gpu" in found.message)
    assert "no node has 4" in reason.message
    assert (reason.needed, reason.available) == (4, 3)


def test_nothing_is_reported_where_all_are_placed():
    """A fleet of which every replica has a place has no reasons."""
    assert planned(eight_gpus(), gpus(4)).shortfalls == ()


def test_what_fits_nowhere_has_reasons_too():
    """If no replica is placed, the reasons still name the free devices and the devices that one replica needs."""
    plan = planned(eight_gpus(sick=6), gpus(4))
    assert plan.status is PlanStatus.INFEASIBLE
    assert "2 devices for request gpu are left free, one replica takes 4" in plan.shortfalls[0].message


def test_a_tainted_device_is_not_free():
    """A device whose taint the request does not tolerate is not counted as free for it."""
    plan = planned(eight_gpus(sick=1), gpus(4))
    assert plan.placed == {"w": 1}
    assert "3 devices for request gpu are left free" in plan.shortfalls[0].message


def test_all_or_none_counts_what_all_replicas_take():
    """With the fewest nodes for all replicas, what they take together is held against what is free."""
    plan = planned(eight_gpus(), gpus(4), replicas=3, objective="nodes")
    assert not plan.pods
    assert "3 replicas of w take 12 devices for request gpu, 8 are free" in plan.shortfalls[0].message


def test_one_replica_and_one_device_are_not_several():
    """Each number has its noun and its verb."""
    assert planned(eight_gpus(sick=7), gpus(2), replicas=1).shortfalls[0].message == (
        "1 replica of w has no place: 1 device for request gpu is left free, one replica takes 2"
    )


def test_a_device_that_several_nodes_see_is_one():
    """Three GPUs of a pool that all nodes see are three, however many nodes there are."""
    nodes = tuple(Node(metadata=ObjectMeta(name=name)) for name in "ab")
    far = seen_by_all(a_slice(GPU, *map(gpu, range(3)), node="far"))
    (reason,) = planned(node(far, nodes=nodes), gpus(4), replicas=1).shortfalls
    assert "3 devices for request gpu are left free, one replica takes 4" in reason.message


def test_a_class_that_is_not_there_is_reported():
    """Where nothing in the cluster matches a request, freeing devices would not help, and is not advised."""
    (reason,) = planned(eight_gpus(), gpus(1), ask("nic", "none.example")).shortfalls
    assert "no device of the cluster matches request nic" in reason.message
    assert "class" in reason.advice
