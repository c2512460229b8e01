"""Every data file against a slice of its driver: classes compile and match, the palette offers, places are found."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from checked_plans import checked_plan

from dra_lab.cel.selector import admit_selector
from dra_lab.checks.cluster_checks import check_pools
from dra_lab.checks.refused import check_refused_slices
from dra_lab.drivers.kinds import device_kind, device_label, published
from dra_lab.drivers.profiles import known_drivers, profile
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import AttributeValue, Device
from dra_lab.model.driver_profile import KINDS
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, Link
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.sketch.links import link_options
from dra_lab.sketch.palette import palette, request_of

RELEASE = KubernetesRelease("1.36")
FILE = Path(__file__).parent / "documented_slices.yaml"
NO_PLACE = {
    "ascend.project-hami.io",
    "compute-domain.nvidia.com",
    "gpu.example.com",
    "npu.furiosa.ai",
    "qat.intel.com",
    "tpu.google.com",
}


@cache
def documented() -> dict[str, tuple[Device, ...]]:
    raw: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return {driver: msgspec.convert(devices, tuple[Device, ...]) for driver, devices in raw.items()}


def cluster(*drivers: str) -> Cluster:
    pool = ResourcePool(name="n1", generation=1, resource_slice_count=1)
    slices = (
        ResourceSlice(
            metadata=ObjectMeta(name=f"n1-{driver}"),
            spec=ResourceSliceSpec(driver=driver, pool=pool, node_name="n1", devices=documented()[driver]),
        )
        for driver in drivers
    )
    return Cluster(slices=tuple(slices), name="documented")


def lookup(driver: str, device: Device):
    def read(name: str) -> AttributeValue | None:
        attribute = device.lookup(name, driver)
        return None if attribute is None else attribute.value

    return read


def test_every_driver_has_a_slice():
    """Each data file has a test slice, and each slice a data file."""
    assert set(documented()) == set(known_drivers())


@pytest.mark.parametrize("driver", known_drivers())
def test_slices_are_valid(driver):
    """The API server would take the slice."""
    assert [*check_pools(cluster(driver)), *check_refused_slices(cluster(driver))] == []


@pytest.mark.parametrize("driver", known_drivers())
def test_classes_compile_and_match(driver):
    """Each selector of each documented class compiles, and the class matches at least one device."""
    for documented_class in profile(driver, {}).classes:
        selectors = [admit_selector(text) for text in documented_class.selectors]
        matching = [d for d in documented()[driver] if all(s.matches(driver, d) for s in selectors)]
        assert matching, documented_class.name


@pytest.mark.parametrize("driver", known_drivers())
def test_offers_apply_and_never_fail(driver):
    """Each palette entry is meant for a device of the slice, and its selectors fail on none of them."""
    for offer in profile(driver, {}).offers:
        meant = [
            device
            for device in documented()[driver]
            if offer.applies(
                lookup(driver, device), tuple(device.capacity), shareable=bool(device.allow_multiple_allocations)
            )
        ]
        assert meant, offer.key
        selectors = [admit_selector(text) for text in offer.selectors]
        answers = {device.name: all(s.matches(driver, device) for s in selectors) for device in documented()[driver]}
        assert all(answers[device.name] for device in meant)


@pytest.mark.parametrize("driver", known_drivers())
def test_devices_have_kind_and_label(driver):
    """Every device has a kind, and a label without a placeholder left."""
    for device in documented()[driver]:
        assert device_kind(profile(driver, {}), lookup(driver, device)) in KINDS
        assert "{" not in device_label(profile(driver, {}), lookup(driver, device))


@pytest.mark.parametrize("driver", known_drivers())
def test_topology_attributes_are_published(driver):
    """Each level that a data file names is published by a device of the slice, or documented as unknown there."""
    known = profile(driver, {})
    levels = [level for level, names in known.topology.items() if names]
    found = [
        level
        for level in levels
        if any(published(known, level, lookup(driver, device)) is not None for device in documented()[driver])
    ]
    assert bool(levels) == (driver not in NO_PLACE)
    if driver != "sriovnetwork.k8snetworkplumbingwg.io":  # its slice shows -1 and "", which stand for "not known"
        assert found or not levels


@pytest.mark.parametrize("driver", known_drivers())
def test_every_entry_of_the_palette_can_be_planned(driver):
    """A claim for one device of each, in a cluster that has no class, is placed and says which class is missing."""
    world = cluster(driver)
    entries = palette(world, RELEASE)
    assert bool(entries) == bool(profile(driver, {}).offers)
    for entry in entries:
        one = dataclasses.replace(entry, default_count=1)
        plan = checked_plan(world, ClaimSketch(requests=(request_of(one, "one"),)), release=RELEASE)
        assert (plan.fits, len(plan.placements)) == (True, 1), entry.key
        assert {finding.rule for finding in plan.findings} == {"class-not-in-cluster"}


def unknown() -> ResourceSlice:
    pool = ResourcePool(name="n1", generation=1, resource_slice_count=1)
    spec = ResourceSliceSpec(driver="fpga.example.org", pool=pool, node_name="n1", devices=documented()["dra.nvme"])
    return ResourceSlice(metadata=ObjectMeta(name="s"), spec=spec)


def request(name: str, device_class: str) -> DeviceRequest:
    return DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=device_class))


def test_an_unknown_driver_is_in_the_palette_under_its_name():
    """Devices that no data file knows are offered under their driver's name."""
    entries = palette(Cluster(slices=(unknown(),), name="new"), RELEASE)
    assert [(entry.driver, entry.device_class) for entry in entries] == [("fpga.example.org", "fpga.example.org")]


def test_an_unknown_driver_is_planned_without_a_documented_class():
    """The plan fits, and its finding names the class that is made up for the driver."""
    world = Cluster(slices=(unknown(),), name="new")
    plan = checked_plan(world, ClaimSketch(requests=(request("fpga", "fpga.example.org"),)))
    assert plan.fits
    (finding,) = (finding for finding in plan.findings if finding.rule == "class-not-in-cluster")
    assert ("documented one" in str(finding), "all devices of its driver" in finding.message) == (False, True)


def test_an_unknown_driver_is_linked_by_what_it_shares():
    """A GPU and a device of an unknown driver can be tied by the standard attributes that both publish."""
    sketch = ClaimSketch(
        requests=(request("gpu", "gpu.nvidia.com"), request("fpga", "fpga.example.org")),
        links=(Link(name="near", requests=("gpu", "fpga")),),
    )
    world = Cluster(slices=(*cluster("gpu.nvidia.com").slices, unknown()))
    options = link_options(world, sketch, sketch.links[0], RELEASE)
    assert {option.where for option in options if option.enabled} >= {"pcieRoot", "numaNode"}
