"""What makes a drawing inconsistent in itself."""

import msgspec
import pytest

from dra_lab.errors import SketchError
from dra_lab.model.claims import DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.sketch import ClaimSketch, How, Link, asks
from dra_lab.model.sketch_rules import check_sketch

GPU = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.example.com"))
NIC = DeviceRequest(name="nic", exactly=ExactDeviceRequest(device_class_name="nic.example.com"))


def sketch(*links, requests=(GPU, NIC)):
    return ClaimSketch(requests=requests, links=links)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (sketch(requests=(GPU, GPU)), "appears twice"),
        (sketch(requests=(DeviceRequest(name="GPU!"),)), "lower-case"),
        (sketch(requests=(DeviceRequest(name="gpu"),)), "exactly"),
        (sketch(requests=(DeviceRequest(name="g", exactly=ExactDeviceRequest()),)), "no device class"),
        (
            sketch(
                requests=(msgspec.structs.replace(GPU, exactly=ExactDeviceRequest(device_class_name="c", count=-1)),)
            ),
            "at least one",
        ),
        (sketch(Link(name="l", requests=())), "connects no request"),
        (sketch(Link(name="l", requests=("cpu",))), "not a request of the drawing"),
        (sketch(Link(name="l", requests=("gpu", "gpu"))), "twice"),
        (sketch(Link(name="l", requests=("gpu",), where="rack")), "neither a level"),
        (sketch(Link(name="l", requests=("gpu",), how=How.PAIRWISE)), "one request"),
    ],
)
def test_an_inconsistent_drawing_is_refused_with_the_reason(broken, words):
    """Every inconsistency has its own sentence that names the request or link."""
    with pytest.raises(SketchError, match=words):
        check_sketch(broken)


def test_alternatives_are_asked_in_order_with_defaults():
    """An alternative is `request/subrequest`, its rank is its place, an absent count is one."""
    request = DeviceRequest(
        name="gpu",
        first_available=(
            DeviceSubRequest(name="big", device_class_name="a", count=2),
            DeviceSubRequest(name="any", device_class_name="b"),
        ),
    )
    assert [(a.reference, a.rank, a.count) for a in asks(request)] == [("gpu/big", 0, 2), ("gpu/any", 1, 1)]


def test_how_may_be_a_plain_word():
    """The text how="pairwise" means How.PAIRWISE; the error for another word lists the valid ones."""
    assert Link("l", ("a", "b"), how="pairwise").how is How.PAIRWISE
    with pytest.raises(SketchError, match="together, pairwise, apart"):
        Link("l", ("a", "b"), how="pairs")
