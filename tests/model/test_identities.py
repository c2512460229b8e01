"""Identities, versions and releases."""

import pytest

from dra_lab.errors import InputError
from dra_lab.model.device import Device, DeviceAttribute
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import semver_key
from dra_lab.model.release import KubernetesRelease


def test_a_device_id_prints_as_driver_pool_device_and_reads_back():
    """A pool name may contain slashes; driver and device never do."""
    device = DeviceID("gpu.example.com", "rack/node-1", "gpu-0")
    assert DeviceID.parse(str(device)) == device


def test_precedence_ignores_build_metadata():
    assert semver_key("1.0.0") == semver_key("1.0.0+x")
    assert semver_key("1.0.0-rc.1") < semver_key("1.0.0-rc.2") < semver_key("1.0.0-rc.x") < semver_key("1.0.0")


def test_lookup_prefers_the_exact_key_and_falls_back_to_the_drivers_bare_key():
    """`domain/name` finds the exact key first, then the bare key when the domain is the driver's."""
    device = Device(name="d", attributes={"numa": DeviceAttribute(int_=1), "a.com/numa": DeviceAttribute(int_=2)})
    assert device.lookup("a.com/numa", "a.com").value == 2
    assert device.lookup("b.com/numa", "b.com").value == 1
    assert device.lookup("b.com/numa", "a.com") is None


def test_gates_follow_the_release_unless_overridden():
    """DRAConsumableCapacity is off before 1.36, on from 1.36, and an override wins."""
    assert not KubernetesRelease("1.35").enabled("DRAConsumableCapacity")
    assert KubernetesRelease("1.36").enabled("DRAConsumableCapacity")
    assert not KubernetesRelease("1.37", {"DRAConsumableCapacity": False}).enabled("DRAConsumableCapacity")


@pytest.mark.parametrize("make", [lambda: KubernetesRelease("1.12"), lambda: KubernetesRelease("1.36", {"X": True})])
def test_unknown_releases_and_gates_are_refused(make):
    with pytest.raises(InputError, match=r"known|use one of"):
        make()
