"""The planner refuses an unknown feature by its API name, unless the feature is on devices that do not matter."""

from __future__ import annotations

import random

import pytest
import sharing_nodes
from random_clusters import random_cluster
from random_devices import GPU, selector
from sharing_nodes import counted, node, planned
from small_nodes import ROOT, a_slice, device

from dra_lab import Cluster, How, KubernetesRelease, Link
from dra_lab.errors import CelCompileError, SketchError, UnsupportedFeature
from dra_lab.model.claims import (
    CapacityRequirements,
    DeviceDerivedAttribute,
    DeviceRequest,
    DeviceSubRequest,
)
from dra_lab.model.device import (
    Counter,
    Device,
    DeviceAttribute,
    DeviceCounterConsumption,
)
from dra_lab.model.plan import PlanStatus

RELEASE = KubernetesRelease("1.36")


PLAIN = device("plain", {"gpu.nvidia.com/type": "gpu", ROOT: "pci0000:10"})
GROUPED = Device(
    name="part",
    consumes_counters=(DeviceCounterConsumption("set", {"memory": Counter(value=1)}, compatibility_groups=("a",)),),
)


def node_with(extra: Device) -> Cluster:
    """Return a node with one plain GPU and another device."""
    return node(a_slice(GPU, PLAIN, extra))


def ask(name: str = "gpu", **more) -> DeviceRequest:
    return sharing_nodes.ask(name, **more)


def test_compatibility_groups():
    """Devices with compatibilityGroups are refused with their gate on; with it off, 1.37 does not use them."""
    found = node(*counted(PLAIN, GROUPED, memory=8))
    with pytest.raises(UnsupportedFeature) as caught:
        planned(found, ask(), release=KubernetesRelease("1.37", {"DRADeviceCompatibilityGroups": True}))
    assert caught.value.feature == "compatibilityGroups"
    assert "part" in str(caught.value)
    assert not planned(found, ask(count=2), release=KubernetesRelease("1.37")).fits
    assert planned(found, ask(count=2)).fits


def test_compatibility_groups_of_others():
    """A selector that leaves such devices out makes the claim plannable."""
    gate = KubernetesRelease("1.37", {"DRADeviceCompatibilityGroups": True})
    plain = ask(selectors=(selector('"type" in device.attributes["gpu.nvidia.com"]'),))
    assert planned(node(*counted(PLAIN, GROUPED, memory=8)), plain, release=gate).fits


def test_node_allocatable_resources():
    """Devices that take of the node's own resources are refused where the gate is on."""
    taking = Device(name="taking", node_allocatable_resource_mappings={"cpu": {}})
    assert planned(node_with(taking), ask()).fits
    with pytest.raises(UnsupportedFeature) as caught:
        planned(node_with(taking), ask(), release=KubernetesRelease("1.36", {"DRANodeAllocatableResources": True}))
    assert caught.value.feature == "nodeAllocatableResources"


def test_derived_attributes():
    """A request with derivedAttributes is refused, in alternatives as well."""
    derived = (DeviceDerivedAttribute(name="a.example/b", expression="1"),)
    sub = DeviceSubRequest(name="one", device_class_name=GPU, derived_attributes=derived)
    for request in (ask(derived_attributes=derived), DeviceRequest(name="r", first_available=(sub,))):
        with pytest.raises(UnsupportedFeature) as caught:
            planned(node_with(Device(name="b")), request)
        assert caught.value.feature == "derivedAttributes"


def test_lists_in_pairs():
    """A list is refused where a pairwise link names the attribute and the gate is on, and harmless elsewhere."""
    listed = Device(name="listed", attributes={ROOT: DeviceAttribute(strings=("pci0000:10", "pci0000:20"))})
    found = node_with(listed)
    pair = Link(name="l", requests=("gpu", "other"), where="pcieRoot", how=How.PAIRWISE)
    gate, off = (KubernetesRelease("1.37", {"DRAListTypeAttributes": on}) for on in (True, False))
    assert planned(found, ask(), ask("other"), release=gate).fits
    assert not planned(found, ask(), ask("other"), links=(pair,), release=off).fits
    with pytest.raises(UnsupportedFeature) as caught:
        planned(found, ask(), ask("other"), links=(pair,), release=gate)
    assert caught.value.feature == "listTypeAttributes"


def test_ring_of_pairs():
    """Pairwise links in a ring are refused with the links' names."""
    requests = (ask("a"), ask("b"), ask("c"))
    links = tuple(
        Link(name=f"{x}{y}", requests=(x, y), how=How.PAIRWISE) for x, y in (("a", "b"), ("b", "c"), ("c", "a"))
    )
    with pytest.raises(UnsupportedFeature, match="ring"):
        planned(node_with(Device(name="b")), *requests, links=links)
    planned(node_with(Device(name="b")), *requests, links=links[:2])


def test_broken_selector():
    """A selector of the drawing that does not compile is an error with the selector's text."""
    with pytest.raises(CelCompileError):
        planned(node_with(Device(name="b")), ask(selectors=(selector("device.attributes["),)))


def test_costly_selector():
    """A selector whose estimated cost is above the API server's limit is refused, with the cost."""
    text = "a + b + c + d + e + f > 0"
    for name in "fedcba":
        text = f"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10].all({name}, {text})"
    with pytest.raises(CelCompileError, match="may cost"):
        planned(node_with(Device(name="b")), ask(selectors=(selector(text),)))


def test_failing_selector_is_reported():
    """A selector that fails on a device is an error finding with the device and a guarded form; the rest is planned."""
    text = 'device.attributes["gpu.nvidia.com"].type == "gpu"'
    found = planned(node_with(Device(name="bare")), ask(selectors=(selector(text),)))
    assert found.fits
    finding = found.findings[0]
    assert finding.rule == "selector-run-time-error"
    assert "bare" in finding.message
    assert finding.advice == f'Guard it: has(device.attributes["gpu.nvidia.com"].type) && ({text})'


def test_inconsistent_drawing():
    """A drawing that contradicts itself is refused before anything is looked at."""
    with pytest.raises(SketchError):
        planned(random_cluster(random.Random(1)), ask(), links=(Link(name="l", requests=("nobody",)),))


def test_old_release():
    """Capacity asked of a release without consumable capacity does not fit, and the gate is named."""
    request = ask(capacity=CapacityRequirements(requests={"memory": "1"}))
    found = planned(node_with(Device(name="b")), request, release=KubernetesRelease("1.35"))
    assert found.status is PlanStatus.INFEASIBLE
    assert "DRAConsumableCapacity" in found.shortfalls[0].message


def test_changes_that_need_such_a_rule_are_left_open_and_say_so():
    """A claim without them is planned; what they would do for it without its selector is not known, and not claimed."""
    release = KubernetesRelease("1.37", {"DRADeviceCompatibilityGroups": True})
    plain = (selector('device.attributes["gpu.nvidia.com"].?type.orValue("") == "gpu"'),)
    found = planned(node(*counted(PLAIN, GROUPED, memory=8)), ask(count=2, selectors=plain), release=release)
    assert found.status is PlanStatus.INFEASIBLE
    (change,) = (change for change in found.reasons.relaxations if change.kind == "selector")
    assert (change.fitting, change.unknown) == (None, "compatibilityGroups")
    assert not any(conflict.minimal for conflict in found.reasons.conflicts)
