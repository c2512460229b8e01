"""Single rules of the planner that random cases do not draw: splitting, gates, profiles, names, exact amounts."""

from __future__ import annotations

from dataclasses import replace as changed

import pytest
from msgspec.structs import replace
from random_devices import CORES, CPU, GPU, NIC, NUMA
from sharing_nodes import RELEASE, amounts, ask, counted, names, node, part, planned
from small_nodes import a_slice, device, gpu, nic
from small_plans import held

from dra_lab import Cluster, How, KubernetesRelease, Link, load_cluster
from dra_lab.model.claims import ALL
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity, DeviceTaint
from dra_lab.model.driver_profile import DriverProfile
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.plan import Plan, PlanStatus

LISTS = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})
TAG = "x.example/tag"


def cpus(name: str, amount: int = 16, numa: int = 0) -> Device:
    return device(name, {NUMA: numa}, capacity={CORES: DeviceCapacity(value=amount)}, allow_multiple_allocations=True)


def cores(name: str, amount: int):
    return ask(name, CPU, capacity=amounts(cores=amount))


def test_capacity_is_counted_exactly():
    """Shares of large and uneven sizes are summed without rounding."""
    found, third = node(a_slice(CPU, cpus("c0", 3 * 10**15))), 10**15
    assert planned(found, *(cores(name, third) for name in "abc")).fits
    assert not planned(found, cores("a", third), cores("b", third), cores("c", third + 1)).fits


def test_a_share_larger_than_a_device_is_split_over_numa_nodes():
    """CPUs are taken from two devices, under the name of the drawing's request."""
    plan = planned(node(a_slice(CPU, cpus("c0"), cpus("c1", numa=1))), cores("cpu", 24))
    assert [placement.request for placement in plan.placements] == ["cpu", "cpu"]
    assert plan.goal("numa").value == 2


def test_all_fails_when_one_device_is_tainted():
    """The reason is the taint."""
    tainted = replace(gpu(3), taints=(DeviceTaint(key="x", effect="NoSchedule"),))
    plan = planned(node(a_slice(GPU, gpu(0), tainted)), ask("g", count=0, allocation_mode=ALL))
    assert not plan.fits
    assert (plan.shortfalls[0].rule, "x:NoSchedule" in plan.shortfalls[0].message) == ("taint", True)


@pytest.mark.parametrize(("counts", "fits"), [((32,), True), ((33,), False), ((17, 16), False)])
def test_a_claim_holds_32_devices(counts, fits):
    """The reason for one more is the limit, not a lack of devices, whether one request or two exceed it."""
    found = node(a_slice(GPU, *map(gpu, range(40))))
    plan = planned(found, *(ask(f"r{number}", count=count) for number, count in enumerate(counts)))
    assert plan.fits is fits
    assert fits or (plan.status, plan.shortfalls[0].rule) == (PlanStatus.INFEASIBLE, "limit")


def test_names_that_look_alike_are_different():
    """Names and roots that differ only in signs (`a-b`, `a_b`) stay apart."""
    found = node(
        a_slice(GPU, gpu(0, "pci-0"), gpu(1, "pci_0")), a_slice(NIC, nic("nic-0", "pci-0"), nic("nic_0", "pci_0"))
    )
    pairs = Link(name="l", requests=("g", "n"), how=How.PAIRWISE)
    plan = planned(found, ask("g", GPU, 2), ask("n", NIC, 2), links=(pairs,))
    assert plan.goal("unpaired").value == 0
    assert len(set(names(plan))) == 4


# ---------------------------------------------------------------- counters


def test_a_partition_and_the_whole_gpu_draw_on_one_gpu():
    """On sample:mig a 7g.40gb fits neither beside a 1g.5gb of its GPU nor on the GPU of which 2g is in use."""
    found = load_cluster("sample:mig")
    whole, small = ask("whole", "mig.nvidia.com", 1, "7g.40gb"), ask("small", "mig.nvidia.com", 1, "1g.5gb")
    two = ask("whole", "mig.nvidia.com", 2, "7g.40gb")
    root = Link(name="one-gpu", requests=("whole", "small"), where="pcieRoot")
    assert names(planned(found, whole, small))[0] == "gpu-1-mig-7g40gb-0-0"
    assert not planned(found, whole, small, links=(root,)).fits
    assert planned(found, two).shortfalls[0].rule == "in-use"
    idle = changed(found, claims=())
    assert planned(idle, two).fits
    assert planned(idle, two, small).shortfalls[0].rule == "counters"


def test_overdrawn_counter_bars_the_pool():
    """One counter below zero bars all devices of the pool that draw on counters, and no others.

    Rule: docs/semantics.md 3.10.4.
    """
    devices = (part("held", fast=2), part("a", slow=1), part("plain"))
    found = node(*counted(*devices, fast=1, slow=4), claims=(held(DeviceID(GPU, "n1", "held")),))
    assert names(planned(found, ask("x"))) == ["plain"]
    assert not planned(found, ask("x", count=2)).fits


def test_devices_that_are_gone_draw_nothing():
    """A held device that is no longer published has no counters (docs/semantics.md 3.10.2)."""
    claim = held(DeviceID(GPU, "n1", "gone"))
    assert planned(node(*counted(part("a", memory=5), memory=5), claims=(claim,)), ask("x")).fits


def test_pools_of_two_drivers_are_apart():
    """Two drivers with pools of one name have counters of their own (docs/semantics.md 3.10.8)."""
    slices = (*counted(part("a", memory=5), memory=5), *counted(part("b", memory=5), driver=NIC, memory=5))
    assert planned(node(*slices), ask("x"), ask("y", NIC)).fits


# ---------------------------------------------------------------- lists


def tagged(*values: DeviceAttribute) -> Cluster:
    return node(a_slice(GPU, *(Device(name=f"g{n}", attributes={TAG: value}) for n, value in enumerate(values))))


def listed(*values: str) -> DeviceAttribute:
    return DeviceAttribute(strings=values)


def linked(found: Cluster, count: int, how: How, release: KubernetesRelease = LISTS) -> Plan:
    return planned(found, ask("x", count=count), links=(Link("l", ("x",), TAG, how),), release=release)


def test_lists_of_a_level_are_those_that_the_profile_names():
    """A profile of one's own says which attribute is the NUMA node, also where it is a list."""
    found = tagged(DeviceAttribute(ints=(0, 1)), DeviceAttribute(ints=(1, 2)))
    own = DriverProfile(GPU, topology={"numaNode": (TAG,)})
    link = Link(name="l", requests=("x",), where="numaNode", how=How.TOGETHER)
    for profiles, fits in (({}, False), ({GPU: own}, True)):
        plan = planned(changed(found, profiles=profiles), ask("x", count=2), links=(link,), release=LISTS)
        assert plan.fits is fits


def test_text_and_version_differ():
    """A text and a version that read alike are two values (docs/semantics.md 3.9.8)."""
    found = tagged(DeviceAttribute(string="1.0.0"), DeviceAttribute(version="1.0.0"))
    assert not linked(found, 2, How.TOGETHER).fits
    assert linked(found, 2, How.APART).fits


def test_list_without_the_gate():
    """Without the gate a list equals nothing: one device alone keeps the link, two never do.

    Rule: docs/semantics.md 3.9.10.
    """
    found = tagged(listed("a"), listed("a"))
    found = changed(found, classes=tuple(replace(c, spec=replace(c.spec, selectors=())) for c in found.classes))
    off = KubernetesRelease("1.36", {"DRAListTypeAttributes": False})
    assert linked(found, 1, How.TOGETHER, off).fits
    assert not linked(found, 2, How.TOGETHER, off).fits
    assert not linked(found, 2, How.APART, RELEASE).fits


def test_lists_where_kube_scheduler_forgets_them():
    """1.36 accepts lists and does not compare them: the plan fits and says that kube-scheduler fails.

    Rule: docs/semantics.md 3.9.12.
    """
    found = tagged(listed("a", "b"), listed("b"))
    plan = linked(found, 2, How.TOGETHER, KubernetesRelease("1.36", dict(LISTS.gates)))
    assert plan.fits
    assert plan.first_fit.status is not FirstFitStatus.ALLOCATED
    assert any(finding.rule == "first-fit-fails" for finding in plan.findings)


# ---------------------------------------------------------------- gates


def test_a_share_is_the_whole_device_without_the_gate():
    """Without DRAConsumableCapacity a device that a claim holds a share of is in use."""
    shared = Device(name="a", allow_multiple_allocations=True)
    found = node(a_slice(GPU, shared, Device(name="b")), claims=(held(DeviceID(GPU, "n1", "a"), share="s"),))
    plan = planned(found, ask("x"), release=KubernetesRelease("1.36", {"DRAConsumableCapacity": False}))
    assert names(plan) == ["b"]


def test_binding_conditions_are_a_note():
    """Devices with binding conditions are planned, and a note names them; with the gate off they are not there."""
    bound = Device(name="bound", binding_conditions=("ready",), binding_failure_conditions=("failed",))
    found = node(a_slice(GPU, Device(name="plain"), bound))
    plan = planned(found, ask("x", count=2))
    (note,) = [finding for finding in plan.findings if finding.rule == "binding-conditions"]
    assert "bound" in note.subject
    assert "ready" in note.message
    off = KubernetesRelease("1.36", {"DRADeviceBindingConditions": False})
    assert not planned(found, ask("x", count=2), release=off).fits
