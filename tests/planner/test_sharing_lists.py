"""Lists of values, admin access and binding conditions, what check_plan finds broken, which sharing nodes are equal."""

from __future__ import annotations

from dataclasses import replace as changed

from checked_plans import broken_rules
from msgspec.structs import replace
from sharing_nodes import CPU, GPU, RELEASE, amounts, ask, counted, names, node, part, planned, ruled
from small_nodes import a_slice
from small_plans import held

from dra_lab import Cluster, How, KubernetesRelease, Link
from dra_lab.model.claims import ALL, DeviceRequest, ExactDeviceRequest
from dra_lab.model.device import (
    CapacityRequestPolicy,
    Device,
    DeviceAttribute,
)
from dra_lab.model.driver_profile import DriverProfile
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.plan import Plan
from dra_lab.model.slices import ResourceSlice

LISTS = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})
TAG = "x.example/tag"


# ---------------------------------------------------------------- lists


def tagged(*values: tuple[str, ...] | str) -> Cluster:
    attributes = [DeviceAttribute(string=v) if isinstance(v, str) else DeviceAttribute(strings=v) for v in values]
    return node(a_slice(GPU, *(Device(name=f"g{n}", attributes={TAG: a}) for n, a in enumerate(attributes))))


def linked(found: Cluster, count: int, how: How, release: KubernetesRelease = LISTS) -> Plan:
    link = Link(name="l", requests=("x",), where=TAG, how=how)
    return planned(found, ask("x", count=count), links=(link,), release=release)


def test_lists_need_one_common_value():
    """Lists stay together when one value is in all of them; pair by pair is not enough (docs/semantics.md 3.9.11)."""
    assert linked(tagged(("a", "b"), ("b", "c"), "b"), 3, How.TOGETHER).fits
    assert not linked(tagged(("a", "b"), ("b", "c"), ("c", "a")), 3, How.TOGETHER).fits
    assert linked(tagged(("a", "b"), ("b", "c"), ("c", "a")), 2, How.TOGETHER).fits


def test_lists_apart_share_no_value():
    """Lists are apart when no two of them have a value in common (docs/semantics.md 3.9.17)."""
    assert linked(tagged(("a", "b"), ("c",), "d"), 3, How.APART).fits
    assert not linked(tagged(("a", "b"), ("b", "c")), 2, How.APART).fits


def test_lists_of_a_level_are_those_that_the_profile_names():
    """A profile of one's own says which attribute is the NUMA node, also where it is a list."""
    lists = [DeviceAttribute(ints=(0, 1)), DeviceAttribute(ints=(1, 2))]
    found = node(a_slice(GPU, *(Device(name=f"g{n}", attributes={TAG: a}) for n, a in enumerate(lists))))
    own = DriverProfile(GPU, topology={"numaNode": (TAG,)})
    link = Link(name="l", requests=("x",), where="numaNode", how=How.TOGETHER)
    for profiles, fits in (({}, False), ({GPU: own}, True)):
        plan = planned(changed(found, profiles=profiles), ask("x", count=2), links=(link,), release=LISTS)
        assert plan.fits is fits


def test_text_and_version_differ():
    """A text and a version that read alike are two values (docs/semantics.md 3.9.8)."""
    own = [DeviceAttribute(string="1.0.0"), DeviceAttribute(version="1.0.0")]
    found = node(a_slice(GPU, *(Device(name=f"g{n}", attributes={TAG: a}) for n, a in enumerate(own))))
    assert not linked(found, 2, How.TOGETHER).fits
    assert linked(found, 2, How.APART).fits


def test_list_without_the_gate():
    """Without the gate a list equals nothing: one device alone keeps the link, two never do.

    Rule: docs/semantics.md 3.9.10.
    """
    found = tagged(("a",), ("a",))
    found = changed(found, classes=tuple(replace(c, spec=replace(c.spec, selectors=())) for c in found.classes))
    off = KubernetesRelease("1.36", {"DRAListTypeAttributes": False})
    assert linked(found, 1, How.TOGETHER, off).fits
    assert not linked(found, 2, How.TOGETHER, off).fits
    assert not linked(found, 2, How.APART, RELEASE).fits


def test_lists_where_kube_scheduler_forgets_them():
    """1.36 accepts lists and does not compare them: the plan fits and says that kube-scheduler fails.

    Rule: docs/semantics.md 3.9.12.
    """
    plan = linked(tagged(("a", "b"), ("b",)), 2, How.TOGETHER, KubernetesRelease("1.36", dict(LISTS.gates)))
    assert plan.fits
    assert plan.first_fit is not None
    assert plan.first_fit.status is not FirstFitStatus.ALLOCATED
    assert any(finding.rule == "first-fit-fails" for finding in plan.findings)


# ---------------------------------------------------------------- admin access, binding conditions


def test_a_share_is_the_whole_device_without_the_gate():
    """Without DRAConsumableCapacity a device that a claim holds a share of is in use."""
    shared = Device(name="a", allow_multiple_allocations=True)
    found = node(a_slice(GPU, shared, Device(name="b")), claims=(held(DeviceID(GPU, "n1", "a"), share="s"),))
    plan = planned(found, ask("x"), release=KubernetesRelease("1.36", {"DRAConsumableCapacity": False}))
    assert names(plan) == ["b"]


def test_admin_access_takes_what_is_held():
    """A request with adminAccess may take a device in use, and no device twice in one claim.

    Rule: docs/semantics.md 3.5.1.
    """
    found = node(a_slice(GPU, Device(name="a")), claims=(held(DeviceID(GPU, "n1", "a")),))
    assert not planned(found, ask("x")).fits
    assert names(planned(found, ask("x", admin_access=True))) == ["a"]
    assert not planned(found, ask("x", admin_access=True), ask("y", admin_access=True)).fits


def test_all_with_admin_access():
    """All with adminAccess takes devices in use as well (docs/semantics.md 3.6.6)."""
    found = node(a_slice(GPU, Device(name="a"), Device(name="b")), claims=(held(DeviceID(GPU, "n1", "a")),))
    exactly = ExactDeviceRequest(device_class_name=GPU, allocation_mode=ALL)
    assert not planned(found, DeviceRequest(name="x", exactly=exactly)).fits
    plan = planned(found, DeviceRequest(name="x", exactly=replace(exactly, admin_access=True)))
    assert names(plan) == ["a", "b"]


def test_admin_access_without_its_gate():
    """With DRAAdminAccess off kube-scheduler gives up a claim that sets the field, whatever its value."""
    release = KubernetesRelease("1.36", {"DRAAdminAccess": False})
    plan = planned(node(a_slice(GPU, Device(name="a"))), ask("x", admin_access=False), release=release)
    assert not plan.fits
    assert "DRAAdminAccess" in plan.shortfalls[0].message


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


# ---------------------------------------------------------------- check_plan finds what is broken


def rules_broken(found: Cluster, plan: Plan, release: KubernetesRelease = RELEASE) -> set[str]:
    return {line.split()[0] for line in broken_rules(found, plan, release)}


def test_check_plan_counts_counters():
    """A plan that was made where counters are plenty is refused where they are not."""
    parts = (part("a", memory=3), part("b", memory=3))
    plan = planned(node(*counted(*parts, memory=6)), ask("x", count=2))
    assert rules_broken(node(*counted(*parts, memory=5)), plan) == {"plan-counters"}


def test_check_plan_rounds_requests():
    """A plan that was made without a request policy is refused where the policy makes its shares too large."""
    plan = planned(ruled(None), ask("x", CPU, capacity=amounts(cores=5)), ask("y", CPU, capacity=amounts(cores=5)))
    broken = rules_broken(ruled(CapacityRequestPolicy(default=6, valid_values=(6,))), plan)
    assert broken == {"plan-capacity"}


def test_check_plan_reads_lists():
    """A plan whose lists have a common value is refused where they have none."""
    plan = linked(tagged(("a", "b"), ("b", "c")), 2, How.TOGETHER)
    assert rules_broken(tagged(("a", "b"), ("c",)), plan, LISTS) == {"plan-link"}


def test_check_plan_knows_who_is_admin():
    """A device in use is refused for a request without adminAccess."""
    free = node(a_slice(GPU, Device(name="a")))
    busy = changed(free, claims=(held(DeviceID(GPU, "n1", "a")),))
    assert rules_broken(busy, planned(free, ask("x"))) == {"plan-in-use"}
    assert rules_broken(busy, planned(free, ask("x", admin_access=True))) == set()


# ---------------------------------------------------------------- which nodes are equal


def on(node_name: str, *slices: ResourceSlice) -> tuple[ResourceSlice, ...]:
    """Move slices to another node."""
    return tuple(
        replace(
            s,
            metadata=replace(s.metadata, name=f"{node_name}-{s.metadata.name}"),
            spec=replace(s.spec, node_name=node_name, pool=replace(s.spec.pool, name=node_name)),
        )
        for s in slices
    )


def test_nodes_that_draw_otherwise_are_not_equal():
    """Two nodes with as many devices and the same counters are told apart by what their devices draw."""
    scarce = on("n1", *counted(part("a", memory=3), part("b", memory=3), part("c", memory=2), memory=4))
    enough = on("n2", *counted(part("a", memory=3), part("b", memory=2), part("c", memory=2), memory=4))
    plan = planned(node(*scarce, *enough), ask("x", count=2))
    assert plan.node == "n2"
    assert {c.nodes: c.fit.value for c in plan.node_classes} == {("n1",): "no", ("n2",): "best"}


def test_nodes_that_differ_in_names_alone_are_equal():
    """Nodes with equal counters and equal devices in use are one class, whatever their names."""
    slices = counted(part("a", memory=3), part("b", memory=2), memory=4)
    claims = tuple(held(DeviceID(GPU, name, "a")) for name in ("n1", "n3"))
    found = node(*on("n1", *slices), *on("n2", *slices), *on("n3", *slices), claims=claims)
    plan = planned(found, ask("x"))
    assert sorted(c.nodes for c in plan.node_classes) == [("n1", "n3"), ("n2",)]
