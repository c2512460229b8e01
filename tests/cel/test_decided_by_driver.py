"""Where the driver alone decides, `Matching.stage_of_all` says for all its devices what `match` says for each."""

from __future__ import annotations

import pytest

from dra_lab.cel.matching import Matching
from dra_lab.model.claims import (
    CELDeviceSelector,
    DeviceClass,
    DeviceClassSpec,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, asks

FIRST = ("device.driver == 'a'", "'a' == device.driver", "device.driver != 'a'", "true", "device.driver == '' ")
REST = (
    "",
    " && device.attributes['a'].x == 1",
    " || device.attributes['a'].x == 1",
    " && 1 / 0 == 1",
    " && true && true",
)
DEVICES = (Device(name="none"), Device(name="one", attributes={"x": DeviceAttribute(int_=1)}))


def ask_with(*own: str) -> Ask:
    """Return a request of the class with selectors of its own."""
    selectors = tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in own)
    return asks(DeviceRequest(name="r", exactly=ExactDeviceRequest(device_class_name="c", selectors=selectors)))[0]


def matching(selector: str) -> Matching:
    """Return the selectors of a cluster with one class."""
    spec = DeviceClassSpec(selectors=(DeviceSelector(cel=CELDeviceSelector(expression=selector)),))
    return Matching(
        Cluster(classes=(DeviceClass(metadata=ObjectMeta(name="c"), spec=spec),)), KubernetesRelease("1.36")
    )


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("rest", REST)
@pytest.mark.parametrize("own", [(), ("device.driver == 'b'",), ("1 / 0 == 1",)])
def test_the_driver_decides_as_each_device_does(first: str, rest: str, own: tuple[str, ...]) -> None:
    """A decision for a driver as a whole is the decision for each of its devices."""
    found = matching(first + rest)
    ask = ask_with(*own)
    for driver in ("a", "b"):
        stage = found.stage_of_all(ask, driver)
        stages = {found.match(ask, driver, device).stage for device in DEVICES}
        assert not stage or stages == {stage}, driver


def test_another_driver_is_refused_without_a_look_at_its_devices() -> None:
    """A selector that begins with the driver's name refuses all devices of another driver at once."""
    found = matching("device.driver == 'a' && device.attributes['a'].x == 1")
    assert found.stage_of_all(ask_with(), "b") == "class"
    assert found.stage_of_all(ask_with(), "a") == ""


def test_the_driver_alone_matches() -> None:
    """A selector that reads nothing but the driver matches all its devices at once."""
    assert matching("device.driver == 'a'").stage_of_all(ask_with(), "a") == "match"
