"""How many more fit of claims that ask for all devices of a kind of which there is none."""

from __future__ import annotations

from msgspec.structs import replace
from random_devices import CPU, GPU, TAG, text
from sharing_nodes import RELEASE, ask, node
from small_nodes import a_slice, gpu

from dra_lab.model.claims import ALL, DeviceRequest, ExactDeviceRequest
from dra_lab.model.fleet import Workload
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.planner.fleet import how_many_more


def test_all_of_none_is_no_room_and_no_number_of_the_machine():
    """A link to a request that takes no device bounds nothing: it is 0, proven, and not what a division by 0 leaves."""
    gpus = a_slice(GPU, *(replace(gpu(n), attributes={TAG: text("a")}) for n in range(2)))
    every = DeviceRequest("c", ExactDeviceRequest(device_class_name=CPU, allocation_mode=ALL))
    tied = Link("tied", ("g", "c"), where=TAG, how=How.TOGETHER)
    workload = Workload("w", (ClaimSketch("w", (ask("g"), every), (tied,)),))
    headroom = how_many_more(node(gpus), workload, release=RELEASE)
    assert (headroom.count, headroom.bound) == (0, 0)
