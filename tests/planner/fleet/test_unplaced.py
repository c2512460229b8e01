"""Replicas without a place: shortage and scattered devices are told apart."""

from __future__ import annotations

from benchmarks.mixed_cluster import mixed_cluster, workloads
from checked_plans import checked_fleet
from msgspec import structs
from small_nodes import a_slice, cluster, gpu
from small_plans import request

from dra_lab import ClaimSketch, Cluster, KubernetesRelease, Workload
from dra_lab.model.claims import CELDeviceSelector, DeviceClass, DeviceClassSpec, DeviceSelector
from dra_lab.model.device import DeviceTaint
from dra_lab.model.nodes import Node, ObjectMeta
from dra_lab.model.plan import PlanStatus
from dra_lab.model.slices import ResourceSlice

RELEASE, GPU = KubernetesRelease("1.36"), "gpu.nvidia.com"


def classes(driver: str):
    selector = DeviceSelector(CELDeviceSelector(f'device.driver == "{driver}"'))
    return (DeviceClass(metadata=ObjectMeta(name=driver), spec=DeviceClassSpec(selectors=(selector,))),)


def test_scattered_devices_are_reported():
    """Enough GPUs are free in all, and no node has as many as a replica takes."""
    fleet = workloads((30,), must=False, kinds=((4, 4, 8),))
    plan = checked_fleet(mixed_cluster(5), fleet, release=KubernetesRelease("1.36"), first_fit=False)
    reason = next(found for found in plan.shortfalls if "request gpu" in found.message)
    assert "no node has 4" in reason.message
    assert (reason.needed, reason.available) == (4, 3)


def test_nothing_is_reported_where_all_are_placed():
    """A fleet of which every replica has a place has no reasons."""
    fleet = workloads((1,), must=False, kinds=((1, 1, 8),))
    assert checked_fleet(mixed_cluster(3), fleet, release=KubernetesRelease("1.36"), first_fit=False).shortfalls == ()


def gpus(count: int) -> ClaimSketch:
    return ClaimSketch("gpus", (request("gpu", GPU, count),))


def eight_gpus(*, sick: int = 0):
    taint = DeviceTaint(key="xid", effect="NoSchedule")
    devices = [structs.replace(gpu(n), taints=(taint,)) if n < sick else gpu(n) for n in range(8)]
    return cluster(a_slice(GPU, *devices), classes=classes(GPU))


def test_what_fits_nowhere_has_reasons_too():
    """If no replica is placed, the reasons still name the free devices and the devices that one replica needs."""
    plan = checked_fleet(eight_gpus(sick=6), [Workload("w", (gpus(4),), replicas=2)], release=RELEASE, first_fit=False)
    assert plan.status is PlanStatus.INFEASIBLE
    assert "2 devices for request gpu are left free, one replica takes 4" in plan.shortfalls[0].message


def test_a_tainted_device_is_not_free():
    """A device whose taint the request does not tolerate is not counted as free for it."""
    plan = checked_fleet(eight_gpus(sick=1), [Workload("w", (gpus(4),), replicas=2)], release=RELEASE, first_fit=False)
    assert plan.placed == {"w": 1}
    assert "3 devices for request gpu are left free" in plan.shortfalls[0].message


def test_all_or_none_counts_what_all_replicas_take():
    """With the fewest nodes for all replicas, what they take together is held against what is free."""
    plan = checked_fleet(
        eight_gpus(), [Workload("w", (gpus(4),), replicas=3)], release=RELEASE, first_fit=False, objective="nodes"
    )
    assert not plan.pods
    assert "3 replicas of w take 12 devices for request gpu, 8 are free" in plan.shortfalls[0].message


def test_one_replica_and_one_device_are_not_several():
    """Each number has its noun and its verb."""
    plan = checked_fleet(eight_gpus(sick=7), [Workload("w", (gpus(2),), replicas=1)], release=RELEASE, first_fit=False)
    assert plan.shortfalls[0].message == (
        "1 replica of w has no place: 1 device for request gpu is left free, one replica takes 2"
    )


def test_a_device_that_several_nodes_see_is_one():
    """Three GPUs of a pool that all nodes see are three, however many nodes there are."""
    spec = a_slice(GPU, *map(gpu, range(3))).spec
    far = structs.replace(spec, pool=structs.replace(spec.pool, name="far"), node_name=None, all_nodes=True)
    nodes = tuple(Node(metadata=ObjectMeta(name=name)) for name in "ab")
    fabric = ResourceSlice(metadata=ObjectMeta(name="far"), spec=far)
    plan = checked_fleet(
        Cluster(slices=(fabric,), nodes=nodes, classes=classes(GPU)),
        [Workload("w", (gpus(4),), replicas=1)],
        release=RELEASE,
        first_fit=False,
    )
    (reason,) = plan.shortfalls
    assert "3 devices for request gpu are left free, one replica takes 4" in reason.message


def test_a_class_that_is_not_there_is_reported():
    """Where nothing in the cluster matches a request, freeing devices would not help, and is not advised."""
    claim = ClaimSketch("c", (request("gpu", GPU), request("nic", "none.example")))
    (reason,) = checked_fleet(
        eight_gpus(), [Workload("w", (claim,), replicas=2)], release=RELEASE, first_fit=False
    ).shortfalls
    assert "no device of the cluster matches request nic" in reason.message
    assert "class" in reason.advice
