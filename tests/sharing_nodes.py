"""Nodes whose devices are shared: counters, amounts and their policies; plans on them, which pass check_plan."""

from __future__ import annotations

from checked_plans import checked_plan
from msgspec.structs import replace
from random_devices import CORES, CPU, GPU, NIC, device_class, selector
from small_nodes import a_slice, cluster

from dra_lab.model.claims import CapacityRequirements, DeviceRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import (
    CapacityRequestPolicy,
    Counter,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
)
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link
from dra_lab.model.slices import CounterSet, ResourceSlice

RELEASE = KubernetesRelease("1.36")
CLASSES = tuple(map(device_class, (GPU, NIC, CPU)))
MIG = "device.attributes['gpu.nvidia.com'].profile == '{}'"


def ask(name: str, driver: str = GPU, count: int = 1, profile: str = "", **more) -> DeviceRequest:
    if profile:
        more["selectors"] = (selector(MIG.format(profile)),)
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=driver, count=count, **more))


def amounts(**requests: int | str) -> CapacityRequirements:
    return CapacityRequirements(requests=requests)


def planned(
    found: Cluster, *requests: DeviceRequest, links: tuple[Link, ...] = (), node: str = "", release=RELEASE
) -> Plan:
    return checked_plan(found, ClaimSketch(requests=requests, links=links), release=release, node=node)


def names(plan: Plan) -> list[str]:
    return [placement.device.device for placement in plan.placements]


def counted(*devices: Device, driver: str = GPU, **counters: int | str) -> tuple[ResourceSlice, ...]:
    """Make a pool of two slices: devices, and one set of counters."""
    own = a_slice(driver, *devices, count=2)
    declared = (CounterSet(name="set", counters={name: Counter(value=value) for name, value in counters.items()}),)
    spec = replace(own.spec, devices=None, shared_counters=declared)
    return own, replace(own, metadata=replace(own.metadata, name=f"{driver}-counters"), spec=spec)


def part(name: str, *, shareable: bool = False, **counters: int | str) -> Device:
    drawn = DeviceCounterConsumption(counter_set="set", counters={k: Counter(value=v) for k, v in counters.items()})
    attributes = {"type": DeviceAttribute(string="gpu")}
    return Device(
        name=name,
        attributes=attributes,
        consumes_counters=(drawn,) if counters else (),
        allow_multiple_allocations=shareable or None,
    )


def node(*slices: ResourceSlice, **fields) -> Cluster:
    return cluster(*slices, classes=CLASSES, **fields)


def ruled(policy: CapacityRequestPolicy | None, value: int = 10, *, shareable: bool = True) -> Cluster:
    capacity = {CORES: DeviceCapacity(value=value, request_policy=policy)}
    return node(a_slice(CPU, Device(name="c", capacity=capacity, allow_multiple_allocations=shareable or None)))
