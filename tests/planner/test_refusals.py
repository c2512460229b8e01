"""The planner refuses an unknown feature by its API name, unless the feature is on devices that do not matter."""

from __future__ import annotations

import random
from dataclasses import replace as changed

import pytest
from checked_plans import checked_plan
from msgspec.structs import replace
from random_clusters import random_cluster
from random_devices import CPU, GPU, NIC, device_class, selector
from small_nodes import a_slice, cluster, device

from dra_lab import ClaimSketch, Cluster, How, KubernetesRelease, Link
from dra_lab.errors import CelCompileError, SketchError, UnsupportedFeature
from dra_lab.model.claims import (
    CapacityRequirements,
    DeviceDerivedAttribute,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
)
from dra_lab.model.device import (
    Counter,
    Device,
    DeviceAttribute,
    DeviceCounterConsumption,
)
from dra_lab.model.plan import PlanStatus
from dra_lab.model.slices import CounterSet

RELEASE = KubernetesRelease("1.36")
ROOT = "resource.kubernetes.io/pcieRoot"


def node_with(extra: Device, driver: str = GPU) -> Cluster:
    """Return a node with one plain GPU and another device."""
    plain = device("plain", {"gpu.nvidia.com/type": "gpu", ROOT: "pci0000:10"})
    own = (plain, extra) if driver == GPU else (plain,)
    slices = [a_slice(GPU, *own)]
    if driver != GPU:
        slices.append(a_slice(driver, extra))
    return cluster(*slices, classes=(device_class(GPU), device_class(NIC), device_class(CPU)))


def ask(name: str = "gpu", driver: str = GPU, **more) -> DeviceRequest:
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=driver, **{"count": 1, **more}))


def plan(found: Cluster, *requests: DeviceRequest, links: tuple[Link, ...] = (), release: KubernetesRelease = RELEASE):
    return checked_plan(found, ClaimSketch(requests=requests, links=links), release=release)


COUNTED = Device(
    name="part",
    consumes_counters=(DeviceCounterConsumption(counter_set="set", counters={"memory": Counter(value="1")}),),
)


def with_counters(part: Device = COUNTED) -> Cluster:
    found = node_with(part)
    owner = found.slices[0]
    two = replace(owner, spec=replace(owner.spec, pool=replace(owner.spec.pool, resource_slice_count=2)))
    counters = replace(
        two,
        metadata=replace(two.metadata, name="counters"),
        spec=replace(
            two.spec,
            devices=None,
            shared_counters=(CounterSet(name="set", counters={"memory": Counter(value="8")}),),
        ),
    )
    return changed(found, slices=(two, counters))


def test_compatibility_groups():
    """Devices with compatibilityGroups are refused with their gate on; with it off, 1.37 does not use them."""
    grouped = replace(COUNTED, consumes_counters=(replace(COUNTED.consumes_counters[0], compatibility_groups=("a",)),))
    found = with_counters(grouped)
    with pytest.raises(UnsupportedFeature) as caught:
        plan(found, ask(), release=KubernetesRelease("1.37", {"DRADeviceCompatibilityGroups": True}))
    assert caught.value.feature == "compatibilityGroups"
    assert "part" in str(caught.value)
    assert not plan(found, ask(count=2), release=KubernetesRelease("1.37")).fits
    assert plan(found, ask(count=2)).fits


def test_compatibility_groups_of_others():
    """A selector that leaves such devices out makes the claim plannable."""
    grouped = replace(COUNTED, consumes_counters=(replace(COUNTED.consumes_counters[0], compatibility_groups=("a",)),))
    gate = KubernetesRelease("1.37", {"DRADeviceCompatibilityGroups": True})
    plain = ask(selectors=(selector('"type" in device.attributes["gpu.nvidia.com"]'),))
    assert plan(with_counters(grouped), plain, release=gate).fits


def test_node_allocatable_resources():
    """Devices that take of the node's own resources are refused where the gate is on."""
    taking = Device(name="taking", node_allocatable_resource_mappings={"cpu": {}})
    assert plan(node_with(taking), ask()).fits
    with pytest.raises(UnsupportedFeature) as caught:
        plan(node_with(taking), ask(), release=KubernetesRelease("1.36", {"DRANodeAllocatableResources": True}))
    assert caught.value.feature == "nodeAllocatableResources"


def test_derived_attributes():
    """A request with derivedAttributes is refused, in alternatives as well."""
    derived = (DeviceDerivedAttribute(name="a.example/b", expression="1"),)
    sub = DeviceSubRequest(name="one", device_class_name=GPU, derived_attributes=derived)
    for request in (ask(derived_attributes=derived), DeviceRequest(name="r", first_available=(sub,))):
        with pytest.raises(UnsupportedFeature) as caught:
            plan(node_with(Device(name="b")), request)
        assert caught.value.feature == "derivedAttributes"


def test_lists_in_pairs():
    """A list is refused where a pairwise link names the attribute and the gate is on, and harmless elsewhere."""
    listed = Device(name="listed", attributes={ROOT: DeviceAttribute(strings=("pci0000:10", "pci0000:20"))})
    found = node_with(listed)
    pair = Link(name="l", requests=("gpu", "other"), where="pcieRoot", how=How.PAIRWISE)
    gate, off = (KubernetesRelease("1.37", {"DRAListTypeAttributes": on}) for on in (True, False))
    assert plan(found, ask(), ask("other"), release=gate).fits
    assert not plan(found, ask(), ask("other"), links=(pair,), release=off).fits
    with pytest.raises(UnsupportedFeature) as caught:
        plan(found, ask(), ask("other"), links=(pair,), release=gate)
    assert caught.value.feature == "listTypeAttributes"


def test_ring_of_pairs():
    """Pairwise links in a ring are refused with the links' names."""
    requests = (ask("a"), ask("b"), ask("c"))
    links = tuple(
        Link(name=f"{x}{y}", requests=(x, y), how=How.PAIRWISE) for x, y in (("a", "b"), ("b", "c"), ("c", "a"))
    )
    with pytest.raises(UnsupportedFeature, match="ring"):
        plan(node_with(Device(name="b")), *requests, links=links)
    plan(node_with(Device(name="b")), *requests, links=links[:2])


def test_broken_selector():
    """A selector of the drawing that does not compile is an error with the selector's text."""
    with pytest.raises(CelCompileError):
        plan(node_with(Device(name="b")), ask(selectors=(selector("device.attributes["),)))


def test_costly_selector():
    """A selector whose estimated cost is above the API server's limit is refused, with the cost."""
    text = "a + b + c + d + e + f > 0"
    for name in "fedcba":
        text = f"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all({name}, {text})"
    with pytest.raises(CelCompileError, match="may cost"):
        plan(node_with(Device(name="b")), ask(selectors=(selector(text),)))


def test_failing_selector_is_reported():
    """A selector that fails on a device is an error finding with the device and a guarded form; the rest is planned."""
    text = 'device.attributes["gpu.nvidia.com"].type == "gpu"'
    found = plan(node_with(Device(name="bare")), ask(selectors=(selector(text),)))
    assert found.fits
    finding = found.findings[0]
    assert finding.rule == "selector-run-time-error"
    assert "bare" in finding.message
    assert finding.advice == f'Guard it: has(device.attributes["gpu.nvidia.com"].type) && ({text})'


def test_inconsistent_drawing():
    """A drawing that contradicts itself is refused before anything is looked at."""
    with pytest.raises(SketchError):
        plan(random_cluster(random.Random(1)), ask(), links=(Link(name="l", requests=("nobody",)),))


def test_class_missing():
    """A missing class makes the claim unservable with a reason, and raises no error."""
    found = plan(node_with(Device(name="b")), ask(driver="nobody.example"))
    assert found.status is PlanStatus.INFEASIBLE
    assert found.shortfalls[0].rule == "class"


def test_old_release():
    """Capacity asked of a release without consumable capacity does not fit, and the gate is named."""
    request = ask(capacity=CapacityRequirements(requests={"memory": "1"}))
    found = plan(node_with(Device(name="b")), request, release=KubernetesRelease("1.35"))
    assert found.status is PlanStatus.INFEASIBLE
    assert "DRAConsumableCapacity" in found.shortfalls[0].message


def test_changes_that_need_such_a_rule_are_left_open_and_say_so():
    """A claim without them is planned; what they would do for it without its selector is not known, and not claimed."""
    grouped = replace(COUNTED, consumes_counters=(replace(COUNTED.consumes_counters[0], compatibility_groups=("a",)),))
    release = KubernetesRelease("1.37", {"DRADeviceCompatibilityGroups": True})
    plain = (selector('device.attributes["gpu.nvidia.com"].?type.orValue("") == "gpu"'),)
    found = plan(with_counters(grouped), ask(count=2, selectors=plain), release=release)
    assert found.status is PlanStatus.INFEASIBLE
    (change,) = (change for change in found.reasons.relaxations if change.kind == "selector")
    assert (change.fitting, change.unknown) == (None, "compatibilityGroups")
    assert not any(conflict.minimal for conflict in found.reasons.conflicts)
