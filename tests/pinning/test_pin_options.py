"""A pin changes what it says and nothing else of a drawing."""

from __future__ import annotations

from msgspec.structs import replace

from dra_lab.model.claims import (
    CapacityRequirements,
    DeviceDerivedAttribute,
    DeviceRequest,
    DeviceSubRequest,
    DeviceToleration,
    ExactDeviceRequest,
)
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.pinning.claim_edits import with_alternatives, with_link, with_one_alternative
from dra_lab.pinning.place_splits import SplitPart, with_parts

PLACES = {"gpu": (("", "true"), ("", "false"))}
SPLIT = {"gpu": (SplitPart(1, (0,), "true"), SplitPart(1, (1,), "false"))}


def test_alternatives_by_place_ask_for_what_the_request_asks_for():
    wanted = ExactDeviceRequest(
        "gpu",
        count=2,
        tolerations=(DeviceToleration(key="bad", operator="Exists"),),
        capacity=CapacityRequirements(requests={"memory": "4Gi"}),
        derived_attributes=(DeviceDerivedAttribute(name="derived/place", expression="1"),),
    )
    sketch = ClaimSketch(requests=(DeviceRequest(name="gpu", exactly=wanted),))
    (request,) = with_alternatives(sketch, texts=PLACES)[0].requests
    assert [sub.selectors[-1].cel.expression for sub in request.first_available] == ["true", "false"]
    for sub in request.first_available:
        fields = {name: getattr(sub, name) for name in sub.__struct_fields__ if name not in ("name", "selectors")}
        assert fields == {name: getattr(wanted, name) for name in fields}


def test_an_alternative_that_goes_takes_its_ends_of_links_with_it():
    """A link between two requests of which one is left says nothing any more; of a group the rest stays tied."""
    subs = tuple(DeviceSubRequest(name=name, device_class_name="gpu", count=1) for name in ("new", "old"))
    plain = DeviceRequest(name="nic", exactly=ExactDeviceRequest("nic", count=2))
    pair = Link(name="pair", requests=("gpu/new", "nic"), how=How.PAIRWISE)
    group = replace(pair, name="group", how=How.TOGETHER)
    sketch = ClaimSketch(requests=(DeviceRequest(name="gpu", first_available=subs), plain), links=(pair, group))
    kept, _ = with_one_alternative(sketch, name="gpu", kept="old")
    assert [sub.name for sub in kept.requests[0].first_available] == ["old"]
    assert [(link.name, link.requests) for link in kept.links] == [("group", ("nic",))]
    assert with_one_alternative(sketch, name="gpu", kept="new")[0].links == sketch.links


def test_a_request_with_alternatives_by_place_is_not_split_as_well():
    """Both pins replace a request, so the second one changes nothing."""
    wanted = DeviceRequest(name="gpu", exactly=ExactDeviceRequest("gpu", count=2))
    placed, _ = with_alternatives(ClaimSketch(requests=(wanted,)), texts=PLACES)
    assert with_parts(placed, split=SPLIT) is None


def test_a_link_whose_end_is_split_is_not_added():
    """A link names requests of the drawing, and a split has parts in place of its end."""
    wanted = tuple(DeviceRequest(name=name, exactly=ExactDeviceRequest(name, count=2)) for name in ("gpu", "nic"))
    parts, _ = with_parts(ClaimSketch(requests=wanted), split=SPLIT)
    assert with_link(parts, link=Link(name="pin", requests=("gpu", "nic"), how=How.PAIRWISE)) is None
