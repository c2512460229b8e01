"""What the inspector of a request shows: counts of each selector, amounts with their rounding, configuration."""

from __future__ import annotations

import pytest

from dra_lab.errors import ManifestError
from dra_lab.model.claims import (
    CapacityRequirements,
    CELDeviceSelector,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
)
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.sources import load_cluster
from dra_lab.widgets.messages import Configure
from dra_lab.widgets.part_rows import config_rows, missing_fields, part_rows
from dra_lab.widgets.typed_configuration import with_config

RELEASE = KubernetesRelease("1.36")


def request_named(name: str, *selectors: str, **amounts: str) -> DeviceRequest:
    exactly = ExactDeviceRequest(
        name,
        selectors=tuple(DeviceSelector(CELDeviceSelector(text)) for text in selectors),
        capacity=CapacityRequirements({key.replace("__", "/"): amount for key, amount in amounts.items()}),
    )
    return DeviceRequest("one", exactly)


def test_each_selector_is_counted_alone_and_free():
    cluster = load_cluster("sample:eks-p4d")
    both = ('device.attributes["dra.net"].rdma == true', "true")
    (row,) = part_rows(cluster, request_named("dranet", *both), RELEASE)
    assert [found.text for found in row.selectors] == ["16 of 28 match, 9 free", "28 of 28 match, 21 free"]


def test_a_selector_that_does_not_compile_is_reported_beside_it():
    cluster = load_cluster("sample:eks-p4d")
    (row,) = part_rows(cluster, request_named("dranet", "device.nonsense"), RELEASE)
    assert "nonsense" in row.selectors[0].error


def test_a_class_is_reported_by_what_it_selects():
    cluster = load_cluster("sample:eks-p4d")
    (row,) = part_rows(cluster, request_named("dranet"), RELEASE)
    assert row.class_words == "selects every device of the driver dra.net"


@pytest.mark.parametrize(
    ("amount", "words"),
    [("16", "16 allocated."), ("9999", "The largest device has"), ("many", "many")],
)
def test_an_amount_says_what_the_driver_makes_of_it(amount, words):
    cluster = load_cluster("sample:dgx-h100")
    (row,) = part_rows(cluster, request_named("dra.cpu", dra__x="", **{"dra.cpu__cpu": amount}), RELEASE)
    found = next(one for one in row.amounts if one.key == "dra.cpu/cpu")
    assert words in found.note


def test_an_older_release_says_which_fields_it_lacks():
    assert "capacity" in missing_fields(KubernetesRelease("1.34"))


def configure(text: str, index: int = 0) -> Configure:
    return Configure(index=index, requests=("gpu",), driver="gpu.nvidia.com", text=text)


def test_typed_parameters_become_an_entry_of_the_configuration():
    drawn = with_config(ClaimSketch(), configure("sharing: {strategy: TimeSlicing}"))
    assert config_rows(drawn)[0].text == "sharing:\n  strategy: TimeSlicing\n"


def test_an_empty_text_removes_the_entry():
    drawn = with_config(ClaimSketch(), configure('{"a": 1}'))
    assert with_config(drawn, configure("")).config == ()


@pytest.mark.parametrize(
    ("text", "words"), [("a: [", "not valid YAML"), ("- 1", "one YAML or JSON object"), ("a", "object")]
)
def test_parameters_that_are_no_object_are_refused(text, words):
    with pytest.raises(ManifestError, match=words):
        with_config(ClaimSketch(), configure(text))
