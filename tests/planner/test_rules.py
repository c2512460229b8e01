"""Single rules of the planner on nodes made for them: shares, All, limits, splitting, names, large counts."""

from __future__ import annotations

from dataclasses import replace as changed

import pytest
import sharing_nodes
from checked_plans import broken_rules
from msgspec.structs import replace
from random_devices import CPU, GPU, NIC
from sharing_nodes import CLASSES, RELEASE, amounts, planned
from small_nodes import NUMA, a_slice, cluster, device, gpu, nic

from dra_lab import Cluster, How, KubernetesRelease, Link
from dra_lab.model.claims import ALL, DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity, DeviceTaint
from dra_lab.model.plan import PlanStatus


def node(**drivers: list[Device]) -> Cluster:
    names = {"gpus": GPU, "nics": NIC, "cpus": CPU}
    return cluster(*(a_slice(names[kind], *devices) for kind, devices in drivers.items()), classes=CLASSES)


PAIRS = Link(name="l", requests=("g", "n"), how=How.PAIRWISE)


def cpus(name: str, amount: int = 16, numa: int = 0) -> Device:
    capacity = {"dra.cpu/cpu": DeviceCapacity(value=amount)}
    return device(name, {NUMA: numa}, capacity=capacity, allow_multiple_allocations=True)


def ask(name: str, driver: str, count: int = 1, cpu: int = 0) -> DeviceRequest:
    return sharing_nodes.ask(name, driver, count, **({"capacity": amounts(**{"dra.cpu/cpu": cpu})} if cpu else {}))


def test_two_shares_of_one_device():
    """Two requests share a device within its capacity, with one NUMA node; a third does not fit."""
    found = node(cpus=[cpus("c0")])
    plan = planned(found, ask("a", CPU, cpu=8), ask("b", CPU, cpu=8))
    assert [p.consumed for p in plan.placements] == [{"dra.cpu/cpu": "8"}] * 2
    assert plan.goal("numa").value == 1
    assert not planned(found, ask("a", CPU, cpu=8), ask("b", CPU, cpu=8), ask("c", CPU, cpu=1)).fits


def test_shares_of_odd_sizes_are_exact():
    """Capacity is counted exactly, however large and uneven the amounts are."""
    found = node(cpus=[cpus("c0", 3 * 10**15)])
    third = 10**15
    assert planned(found, *(ask(n, CPU, cpu=third) for n in "abc")).fits
    assert not planned(found, ask("a", CPU, cpu=third), ask("b", CPU, cpu=third), ask("c", CPU, cpu=third + 1)).fits


def test_two_devices_of_one_request_differ():
    """A request for two shareable devices takes two different ones."""
    assert not planned(node(cpus=[cpus("c0")]), ask("a", CPU, 2, cpu=2)).fits
    plan = planned(node(cpus=[cpus("c0"), cpus("c1")]), ask("a", CPU, 2, cpu=2))
    assert {p.device.device for p in plan.placements} == {"c0", "c1"}


def test_whole_device_when_nothing_is_asked():
    """Without a capacity request a shareable device is taken whole."""
    found = node(cpus=[cpus("c0")])
    assert planned(found, ask("a", CPU)).placements[0].consumed == {"dra.cpu/cpu": "16"}
    assert not planned(found, ask("a", CPU), ask("b", CPU, cpu=1)).fits


def test_split_over_numa_nodes():
    """CPUs of more than one NUMA node are taken from two devices, under the name of the drawing's request."""
    plan = planned(node(cpus=[cpus("c0"), cpus("c1", numa=1)]), ask("cpu", CPU, cpu=24))
    assert [p.request for p in plan.placements] == ["cpu", "cpu"]
    assert plan.goal("numa").value == 2


EVERY = DeviceRequest(name="g", exactly=ExactDeviceRequest(device_class_name=GPU, allocation_mode=ALL))


def test_all_takes_every_device():
    """All takes every matching device, and fails when one of them is tainted."""
    devices = [gpu(0), gpu(1), gpu(2)]
    assert len(planned(node(gpus=devices), EVERY).placements) == 3
    tainted = replace(gpu(3), taints=(DeviceTaint(key="x", effect="NoSchedule"),))
    plan = planned(node(gpus=[*devices, tainted]), EVERY)
    assert not plan.fits
    assert (plan.shortfalls[0].rule, "x:NoSchedule" in plan.shortfalls[0].message) == ("taint", True)


def test_a_plan_for_all_needs_every_pool_and_answer():
    """A request for all devices is checked against incomplete pools and failing selectors."""
    found = node(gpus=[gpu(0)])
    plan = planned(found, EVERY)
    lost = changed(found, slices=(*found.slices, a_slice("lost.example", device("d"), count=2)))
    assert "plan-all" in " ".join(broken_rules(lost, plan, RELEASE))
    listed = replace(device("list"), attributes={"a": DeviceAttribute(strings=("x", "y"))})
    failing = changed(found, slices=(*found.slices, a_slice("list.example", listed)))
    unlisted = KubernetesRelease("1.36", {"DRAListTypeAttributes": False})
    assert "plan-all" in " ".join(broken_rules(failing, plan, unlisted))


def test_alternatives_in_order():
    """The first alternative that can be served is taken, and its rank is the goal's value."""
    subs = (
        DeviceSubRequest(name="many", device_class_name=GPU, count=4),
        DeviceSubRequest(name="few", device_class_name=GPU, count=2),
    )
    request = DeviceRequest(name="g", first_available=subs)
    plan = planned(node(gpus=[gpu(n) for n in range(3)]), request)
    assert [p.request for p in plan.placements] == ["g/few", "g/few"]
    assert plan.goal("alternatives").value == 1


@pytest.mark.parametrize(("count", "fits"), [(32, True), (33, False)])
def test_at_most_32(count, fits):
    """A claim holds 32 devices; one more does not fit, and the reason is the limit, not a lack of devices."""
    plan = planned(node(gpus=[gpu(n) for n in range(40)]), ask("g", GPU, count))
    assert plan.fits is fits
    assert fits or plan.shortfalls[0].rule == "limit"


def test_limit_of_the_whole_claim():
    """Two requests that together exceed 32 devices are reported as the limit."""
    plan = planned(node(gpus=[gpu(n) for n in range(40)]), ask("a", GPU, 20), ask("b", GPU, 20))
    assert (plan.status, plan.shortfalls[0].rule) == (PlanStatus.INFEASIBLE, "limit")


def test_names_that_look_alike():
    """Names that differ only in signs (`a-b`, `a_b`) stay apart."""
    found = node(gpus=[gpu(0, "pci-0"), gpu(1, "pci_0")], nics=[nic("nic-0", "pci-0"), nic("nic_0", "pci_0")])
    plan = planned(found, ask("g", GPU, 2), ask("n", NIC, 2), links=(PAIRS,))
    assert plan.goal("unpaired").value == 0
    assert len({p.device for p in plan.placements}) == 4


def test_equal_devices_are_one_variable():
    """Sixty equal GPUs are one group, so a large count is as quick as a small one."""
    found = node(gpus=[gpu(n, "pci0000:10") for n in range(60)], nics=[nic(f"n{n}", "pci0000:10") for n in range(60)])
    assert planned(found, ask("g", GPU, 8), ask("n", NIC, 24), links=(PAIRS,)).status is PlanStatus.OPTIMAL


def test_three_ends_at_one_place():
    """A pairwise link over three requests takes groups of all three at one place, in whole shares."""
    gpus = [gpu(0, "r0"), gpu(1, "r1")]
    nics = [nic("a", "r0"), nic("b", "r0"), nic("c", "r1"), nic("d", "r1"), nic("e", "r2")]
    link = Link(name="l", requests=("g", "n", "m"), how=How.PAIRWISE)
    plan = planned(node(gpus=gpus, nics=nics), ask("g", GPU, 2), ask("n", NIC, 2), ask("m", NIC, 2), links=(link,))
    assert plan.fits
    assert "e" not in {p.device.device for p in plan.placements}


def test_two_pairings_of_the_same_ends():
    """Two pairwise must-links between the same requests are one pairing: both places have to be shared."""
    gpus = [gpu(0, "r0", **{NUMA: 0}), gpu(1, "r1", **{NUMA: 1})]
    nics = [
        device("a", {"resource.kubernetes.io/pcieRoot": "r0", NUMA: 1}),
        device("b", {"resource.kubernetes.io/pcieRoot": "r1", NUMA: 0}),
    ]
    ends = (ask("g", GPU, 2), ask("n", NIC, 2))
    at_root = Link(name="root", requests=("g", "n"), how=How.PAIRWISE)
    at_numa = Link(name="numa", requests=("g", "n"), where="numaNode", how=How.PAIRWISE)
    assert planned(node(gpus=gpus, nics=nics), *ends, links=(at_root,)).fits
    assert planned(node(gpus=gpus, nics=nics), *ends, links=(at_numa,)).fits
    assert not planned(node(gpus=gpus, nics=nics), *ends, links=(at_root, at_numa)).fits


def test_counts_that_cannot_be_paired():
    """A must-link over 2 and 3 devices does not fit and names counts that work."""
    found = node(gpus=[gpu(n, "r0") for n in range(4)], nics=[nic(f"n{n}", "r0") for n in range(4)])
    plan = planned(found, ask("g", GPU, 2), ask("n", NIC, 3), links=(PAIRS,))
    assert not plan.fits
    assert "pairwise-counts" in {finding.rule for finding in plan.findings}


def test_hostile_names_stay_text():
    """A device with a name made for browsers is planned and named like any other."""
    found = node(gpus=[device("x", {"resource.kubernetes.io/pcieRoot": "<img src=x onerror=alert(1)>"})])
    assert planned(found, ask("g", GPU)).goal("roots").value == 1
