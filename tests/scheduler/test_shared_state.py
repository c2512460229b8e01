"""Capacity, counters and configuration, where other releases and gates differ from the recorded one."""

from __future__ import annotations

import pytest
from small_claims import CLASSES, a_claim, holding, request, taken
from small_nodes import a_slice, cluster, device

from dra_lab import KubernetesRelease
from dra_lab.errors import UnsupportedFeature
from dra_lab.model.claims import DeviceClaimConfiguration, DeviceDerivedAttribute, OpaqueDeviceConfiguration
from dra_lab.model.device import (
    CapacityRequestPolicy,
    Counter,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
)
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.slices import CounterSet, ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.scheduler.first_fit import first_fit

NOW = KubernetesRelease("1.36.2")
NEXT = KubernetesRelease("1.37.0")
GPUS = "gpu.nvidia.com"


def run(slices, *claims, release=NOW, held=(), nodes=(), **options):
    """Run first fit on node n1."""
    some = cluster(*slices, classes=CLASSES, claims=tuple(held), nodes=tuple(nodes))
    return first_fit(some, "n1", claims, release, **options)


def shareable(name: str = "gpu-0", value: str = "10", policy: CapacityRequestPolicy | None = None, **fields):
    """Make a shareable device with one capacity."""
    capacity = {"memory": DeviceCapacity(value=value, request_policy=policy)}
    return device(name, allow_multiple_allocations=True, capacity=capacity, **fields)


def test_all_drops_devices_without_enough_left_up_to_1_36():
    """1.36 takes the others; 1.37 says that not all can be had (docs/semantics.md 3.6.5)."""
    slices = [a_slice(GPUS, shareable("full"), shareable("free"))]
    held = [holding(f"{GPUS}/n1/full", share_id="s", consumed_capacity={"memory": "8"})]
    claim = a_claim(request("r", everything=True, capacity={"memory": "4"}))
    assert taken(run(slices, claim, held=held)) == [("r", "free")]
    assert run(slices, claim, held=held, release=NEXT).status is FirstFitStatus.NONE


def counted(name: str, amount: str, **fields):
    """Make a device that consumes a counter."""
    use = DeviceCounterConsumption(counter_set="card", counters={"slices": Counter(value=amount)})
    return device(name, consumes_counters=(use,), **fields)


def card(*devices, have: str = "7"):
    """Make a pool with one counter: a slice of devices and a slice of counters."""
    pool = ResourcePool(name="n1", generation=1, resource_slice_count=2)
    counters = (CounterSet(name="card", counters={"slices": Counter(value=have)}),)
    parts = {"a": {"devices": devices}, "b": {"shared_counters": counters}}
    return [
        ResourceSlice(
            metadata=ObjectMeta(name=name), spec=ResourceSliceSpec(driver=GPUS, pool=pool, node_name="n1", **part)
        )
        for name, part in parts.items()
    ]


def test_counters_of_a_rejected_candidate_stay_booked_up_to_1_36_2():
    """A tainted partition books its counters before the taint rejects it; 1.36.3 gives them back.

    Rule: docs/semantics.md 3.10.8.
    """
    taint = (DeviceTaint(key="k", effect="NoSchedule"),)
    slices = card(counted("p0", "4", taints=taint), counted("p1", "4"))
    claim = a_claim(request("r"))
    assert run(slices, claim).status is FirstFitStatus.NONE
    assert taken(run(slices, claim, release=NEXT)) == [("r", "p1")]


def test_devices_with_compatibility_groups_are_passed_over_while_their_gate_is_off():
    """1.37 skips them with the gate off; with the gate on the rule is refused by its name."""
    use = DeviceCounterConsumption(
        counter_set="card", counters={"slices": Counter(value="1")}, compatibility_groups=("x",)
    )
    slices = card(device("grouped", consumes_counters=(use,)), device("plain"))
    claim = a_claim(request("r"))
    assert taken(run(slices, claim, release=NEXT)) == [("r", "plain")]
    with pytest.raises(UnsupportedFeature, match="compatibilityGroups"):
        run(slices, claim, release=KubernetesRelease("1.37", {"DRADeviceCompatibilityGroups": True}))


def test_derived_attributes_are_refused_by_name_when_their_gate_is_on():
    """An unknown rule is never answered wrongly."""
    claim = a_claim(request("r", derived_attributes=(DeviceDerivedAttribute(name="a/b", expression="1"),)))
    with pytest.raises(UnsupportedFeature, match="derivedAttributes"):
        run([a_slice(GPUS, device("d"))], claim, release=KubernetesRelease("1.37", {"DRADerivedAttributes": True}))


def opaque(*requests: str) -> DeviceClaimConfiguration:
    """Make a configuration for requests."""
    parameters = OpaqueDeviceConfiguration(driver=GPUS, parameters={"a": 1})
    return DeviceClaimConfiguration(requests=requests, opaque=parameters)


@pytest.mark.parametrize(("release", "requests"), [(NOW, [["a", "b"], ["a", "b"]]), (NEXT, [None])])
def test_a_configuration_for_two_requests_is_repeated_up_to_1_36(release, requests):
    """1.36 appends it once a request; 1.37 once, without names where it covers all (docs/semantics.md 3.16.3)."""
    claim = a_claim(request("a"), request("b"), config=[opaque("a", "b")])
    allocations = run([a_slice(GPUS, device("gpu-0"), device("gpu-1"))], claim, release=release).allocations
    assert allocations is not None
    assert [entry.get("requests") for entry in allocations[0].devices.config] == requests
