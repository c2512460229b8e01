"""Two GPUs that differ in one thing: a request that asks for it gets the right one."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from small_nodes import a_slice, attribute, cluster, gpu

from dra_lab import ClaimSketch, make_plan
from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector, ExactDeviceRequest
from dra_lab.model.device import DeviceCapacity, DeviceTaint
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import asks
from dra_lab.sketch.cluster_candidates import candidates

TAINT = DeviceTaint(key="k", effect="NoSchedule")
OWN = 'device.attributes["gpu.nvidia.com"]'
LARGE = 'device.capacity["gpu.nvidia.com"].memory == quantity("80Gi")'
DIFFER = {
    "an identifier": ({"attributes": "a"}, {"attributes": "b"}, f'{OWN}.uuid == "b"'),
    "a type": ({"attributes": "7"}, {"attributes": 7}, f"{OWN}.uuid == 7"),
    "capacity": (
        {"capacity": "40Gi"},
        {"capacity": "80Gi"},
        'device.capacity["gpu.nvidia.com"].memory == quantity("80Gi")',
    ),
    "sharing": ({}, {"allow_multiple_allocations": True}, "device.allowMultipleAllocations"),
    "a taint": ({"taints": (TAINT,)}, {}, "true"),
}


def different(number: int, fields):
    """Return a GPU with other fields, given in short."""
    made = gpu(number)
    if "attributes" in fields:
        fields = {"attributes": {**made.attributes, "uuid": attribute(fields["attributes"])}}
    if "capacity" in fields:
        fields = {"capacity": {"memory": DeviceCapacity(value=fields["capacity"])}}
    return replace(made, **fields)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("what", DIFFER)
def test_the_device_that_is_asked_for_is_taken(what, order):
    first, second, expression = DIFFER[what]
    devices = [different(0, first), different(1, second)][::order]
    selector = DeviceSelector(cel=CELDeviceSelector(expression=expression))
    exactly = ExactDeviceRequest(device_class_name="gpu.nvidia.com", selectors=(selector,))
    request = DeviceRequest(name="r", exactly=exactly)
    world = cluster(a_slice("gpu.nvidia.com", *devices))
    plan = make_plan(world, ClaimSketch(requests=(request,)), release="1.36")
    assert [placed.device.device for placed in plan.placements] == ["gpu-1"]
    found = candidates(world, asks(request)[0], KubernetesRelease("1.36"))
    assert {one.id.device for one in found.devices} == ({"gpu-0", "gpu-1"} if what == "a taint" else {"gpu-1"})
