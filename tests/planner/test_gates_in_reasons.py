"""A verdict that depends on a feature gate names the gate, the release in which it is off, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from sharing_nodes import amounts, ask, counted, node, part, planned
from small_nodes import a_slice, device

from dra_lab import Cluster, KubernetesRelease, check
from dra_lab.model.claims import DeviceRequest, DeviceSubRequest
from dra_lab.model.device import DeviceCapacity, DeviceTaint

GPU = "gpu.nvidia.com"
R134 = KubernetesRelease("1.34")
CONDITIONS = {"binding_conditions": ("x.example.com/r",), "binding_failure_conditions": ("x.example.com/f",)}
ALTERNATIVES = DeviceRequest("gpu", first_available=(DeviceSubRequest("a", "gpu.nvidia.com"),))


@dataclass(frozen=True)
class Case:
    """A claim that does not fit because a gate is off, and what the reason calls the gate's subject."""

    gate: str
    on: Cluster
    requests: tuple[DeviceRequest, ...]
    subject: str
    release: KubernetesRelease = R134


PLAIN = node(a_slice(GPU, device("g")))
SHAREABLE = node(a_slice(GPU, device("g", allow_multiple_allocations=True)))
AMOUNTS = node(a_slice(GPU, device("g", capacity={"memory": DeviceCapacity(value=8)})))
PARTS = node(*counted(part("p", memory=1), memory=4))
CASES = {
    "capacity": Case("DRAConsumableCapacity", AMOUNTS, (ask("a", capacity=amounts(memory=1)),), "capacity"),
    "sharing": Case("DRAConsumableCapacity", SHAREABLE, (ask("a"), ask("b")), "sharing a device"),
    "partitions": Case("DRAPartitionableDevices", PARTS, (ask("a"),), "a partition"),
    "conditions": Case(
        "DRADeviceBindingConditions", node(a_slice(GPU, device("g", **CONDITIONS))), (ask("a"),), "using 1 device more"
    ),
    "alternatives": Case(
        "DRAPrioritizedList",
        PLAIN,
        (ALTERNATIVES,),
        "firstAvailable",
        KubernetesRelease("1.34", {"DRAPrioritizedList": False}),
    ),
    "admin access": Case(
        "DRAAdminAccess",
        PLAIN,
        (ask("a", admin_access=True),),
        "adminAccess",
        KubernetesRelease("1.34", {"DRAAdminAccess": False}),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_reason_names_the_gate_and_turning_it_on_helps(name):
    """The advice is the option that turns it on, and then the claim fits."""
    case = CASES[name]
    plan = planned(case.on, *case.requests, release=case.release)
    [reason] = plan.shortfalls
    assert not plan.fits
    assert f"{case.subject} needs the feature gate {case.gate}, which is off in 1.34".lower() in reason.message.lower()
    assert f"--feature-gates {case.gate}=true" in reason.advice
    assert planned(case.on, *case.requests, release=KubernetesRelease("1.34", {case.gate: True})).fits


@pytest.mark.parametrize(("server", "ignored"), [("v1.34.1", True), ("v1.36.3", False)])
def test_a_taint_that_a_gate_ignores_is_reported_as_ignored(server, ignored):
    """Without DRADeviceTaints no toleration is needed."""
    tainted = node(a_slice(GPU, device("g", taints=(DeviceTaint(key="k", effect="NoSchedule"),))))
    found = check(tainted.with_objects(server_version=server))
    [advice] = [one.advice for one in found if one.rule == "device-tainted"]
    assert ("DRADeviceTaints, which is off in 1.34" in advice) == ignored
