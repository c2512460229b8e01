"""The selectors of a class first, then those of the request; what stops a device and why."""

from __future__ import annotations

import pytest

from dra_lab.cel.matching import Matching
from dra_lab.model.claims import CELDeviceSelector, DeviceClass, DeviceClassSpec, DeviceSelector
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec

GPU_CLASS = DeviceClass(
    metadata=ObjectMeta(name="gpu"),
    spec=DeviceClassSpec(selectors=(DeviceSelector(cel=CELDeviceSelector(expression='device.driver == "d"')),)),
)
DEVICE = Device(name="gpu-0", attributes={"model": DeviceAttribute(string="H100")})
LISTED = Device(name="gpu-1", attributes={"cpus": DeviceAttribute(ints=(1,))})


def ask(*selectors, device_class="gpu"):
    return Ask("request", 0, device_class, selectors, False, 1, (), {}, False)


def matching(release="1.36", devices=(), **gates):
    pool = ResourcePool(name="p", generation=1, resource_slice_count=1)
    slice_ = ResourceSlice(
        metadata=ObjectMeta(name="s"),
        spec=ResourceSliceSpec(driver="d", pool=pool, node_name="n", devices=tuple(devices)),
    )
    return Matching(Cluster(classes=(GPU_CLASS,), slices=(slice_,)), KubernetesRelease(release, gates))


@pytest.mark.parametrize(
    ("selectors", "driver", "stage"),
    [
        ((), "d", "match"),
        (('device.attributes["d"].model == "H100"',), "d", "match"),
        (('device.attributes["d"].model == "A100"',), "d", "selector"),
        (('device.attributes["d"].model == "H100"',), "other", "class"),
        (("device.attributes['d'].nosuch == 1",), "d", "error"),
        (("false", "device.attributes['d'].nosuch == 1"), "d", "selector"),
        (("true ==",), "d", "error"),
        (("",), "d", "error"),
    ],
)
def test_a_device_stops_at_the_first_selector_that_refuses_or_fails(selectors, driver, stage):
    """Class selectors guard those of the request, and an earlier one guards a later one (docs/semantics.md 4.2)."""
    match = matching().match(ask(*selectors), driver, DEVICE)
    assert match.stage == stage
    assert bool(match) is (stage == "match")
    if stage == "error":
        assert "request 'request'" in match.error


def test_an_unknown_class_is_named_with_the_classes_that_there_are():
    """A request for a missing class is answered by stage "no-class" and what to choose instead."""
    match = matching().match(ask(device_class="nope"), "d", DEVICE)
    assert match.stage == "no-class"
    assert "'nope'" in match.error
    assert "gpu" in match.error


def test_a_refusal_carries_the_expression_that_decided():
    """`expression` is the text of the selector that said no."""
    assert matching().match(ask("false"), "d", DEVICE).expression == "false"


def test_a_list_on_one_device_fails_selectors_on_it_alone_before_1_37():
    """1.36 without the gate: an error on the device with the list, none on its neighbour."""
    found = matching(devices=(DEVICE, LISTED))
    assert found.match(ask(), "d", LISTED).stage == "error"
    assert found.match(ask(), "d", DEVICE).stage == "match"


def test_lists_are_known_with_the_gate_and_from_1_37_on():
    """#139395: stored selectors of 1.37 see lists whatever the gate says."""
    assert not KubernetesRelease("1.36").reads_lists
    assert KubernetesRelease("1.36", {"DRAListTypeAttributes": True}).reads_lists
    assert KubernetesRelease("1.37").reads_lists
    assert matching("1.37", devices=(LISTED,)).match(ask(), "d", LISTED).stage == "match"
