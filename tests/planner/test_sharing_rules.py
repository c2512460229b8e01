"""Single rules of sharing on nodes made for them, and the samples that teach them: counters, shares, lists, admin."""

from __future__ import annotations

from dataclasses import replace as changed

from exhaustive_plans import CPU, GPU, NIC, device_class, selector
from exhaustive_sharing import CORES
from msgspec.structs import replace
from small_nodes import a_slice, cluster
from small_plans import held

from dra_lab.checks.plans import check_plan
from dra_lab.model.claims import ALL, CapacityRequirements, DeviceRequest, ExactDeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Counter,
    Device,
    DeviceAttribute,
    DeviceCapacity,
    DeviceCounterConsumption,
)
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import FirstFitStatus, Plan, PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.slices import CounterSet, ResourceSlice
from dra_lab.planner import make_plan
from dra_lab.sources import load_cluster

RELEASE = KubernetesRelease("1.36")
LISTS = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})
CLASSES = tuple(map(device_class, (GPU, NIC, CPU)))
MIG = "device.attributes['gpu.nvidia.com'].profile == '{}'"
TAG = "x.example/tag"


def ask(name: str, driver: str = GPU, count: int = 1, profile: str = "", **more) -> DeviceRequest:
    selectors = (selector(MIG.format(profile)),) if profile else ()
    exactly = ExactDeviceRequest(device_class_name=driver, count=count, selectors=selectors, **more)
    return DeviceRequest(name=name, exactly=exactly)


def amounts(**requests: int | str) -> CapacityRequirements:
    return CapacityRequirements(requests=requests)


def planned(
    found: Cluster, *requests: DeviceRequest, links: tuple[Link, ...] = (), node: str = "", release=RELEASE
) -> Plan:
    plan = make_plan(found, ClaimSketch(requests=requests, links=links), release=release, node=node)
    assert check_plan(found, plan, release) == ()
    return plan


def names(plan: Plan) -> list[str]:
    return [placement.device.device for placement in plan.placements]


def counted(*devices: Device, driver: str = GPU, **counters: int | str) -> tuple[ResourceSlice, ...]:
    """Make a pool of two slices: devices, and one set of counters."""
    own = a_slice(driver, *devices, count=2)
    declared = (CounterSet(name="set", counters={name: Counter(value=value) for name, value in counters.items()}),)
    spec = replace(own.spec, devices=None, shared_counters=declared)
    return own, replace(own, metadata=replace(own.metadata, name=f"{driver}-counters"), spec=spec)


def part(name: str, *, shareable: bool = False, **counters: int | str) -> Device:
    drawn = DeviceCounterConsumption(counter_set="set", counters={k: Counter(value=v) for k, v in counters.items()})
    attributes = {"type": DeviceAttribute(string="gpu")}
    return Device(
        name=name,
        attributes=attributes,
        consumes_counters=(drawn,) if counters else (),
        allow_multiple_allocations=shareable or None,
    )


def node(*slices: ResourceSlice, **fields) -> Cluster:
    return cluster(*slices, classes=CLASSES, **fields)


# ---------------------------------------------------------------- the samples


def test_two_halves_of_one_gpu():
    """On sample:mig two 3g.20gb fit; with the half that is in use, they stand on the other GPU, at its two places."""
    plan = planned(load_cluster("sample:mig"), ask("half", "mig.nvidia.com", 2, "3g.20gb"))
    assert plan.status is PlanStatus.OPTIMAL
    assert names(plan) == ["gpu-1-mig-3g20gb-9-0", "gpu-1-mig-3g20gb-9-4"]


def test_three_halves_and_no_more():
    """On sample:mig a GPU of which 2g is in use still gives one 3g.20gb; a fourth half is one too many."""
    found = load_cluster("sample:mig")
    plan = planned(found, ask("half", "mig.nvidia.com", 3, "3g.20gb"))
    assert "gpu-0-mig-3g20gb-9-4" in names(plan)
    plan = planned(found, ask("half", "mig.nvidia.com", 4, "3g.20gb"))
    assert not plan.fits
    assert plan.shortfalls[0].available == 3


def test_whole_gpu_beside_a_part():
    """On sample:mig a 7g.40gb does not fit beside a 1g.5gb of the same GPU, nor on the GPU of which 2g is in use."""
    found = load_cluster("sample:mig")
    whole, small = ask("whole", "mig.nvidia.com", 1, "7g.40gb"), ask("small", "mig.nvidia.com", 1, "1g.5gb")
    plan = planned(found, whole, small)
    assert names(plan)[0] == "gpu-1-mig-7g40gb-0-0"
    assert names(plan)[1].startswith("gpu-0-")
    root = Link(name="one-gpu", requests=("whole", "small"), where="pcieRoot")
    plan = planned(found, whole, small, links=(root,))
    assert not plan.fits
    two = planned(found, ask("whole", "mig.nvidia.com", 2, "7g.40gb"))
    assert (two.fits, two.shortfalls[0].rule) == (False, "in-use")
    idle = changed(found, claims=())
    assert planned(idle, ask("whole", "mig.nvidia.com", 2, "7g.40gb")).fits
    crowded = planned(idle, ask("whole", "mig.nvidia.com", 2, "7g.40gb"), small)
    assert (crowded.fits, crowded.shortfalls[0].rule) == (False, "counters")


def test_shares_add_up():
    """On sample:shared-gpu requests share a GPU as long as cores and memory last, each consuming what it asks for."""
    found = load_cluster("sample:shared-gpu")
    hami = "hami-core-gpu.project-hami.io"
    halves = [ask(f"r{n}", hami, capacity=amounts(cores=40, memory="8Gi")) for n in range(3)]
    plan = planned(found, *halves[:2])
    assert set(names(plan)) == {"hami-gpu-1"}
    assert [p.consumed for p in plan.placements] == [{"cores": "40", "memory": "8Gi"}] * 2
    assert not planned(found, *halves).fits  # 80 of 100 cores are used, 20 are left there and 20 on the other GPU
    rest = ask("rest", hami, capacity=amounts(cores=20, memory="2Gi"))
    assert sorted(names(planned(found, *halves[:2], rest, replace(rest, name="rest-2")))) == [
        "hami-gpu-0",
        "hami-gpu-1",
        "hami-gpu-1",
        "hami-gpu-1",
    ]


def test_shares_are_counted():
    """On sample:shared-gpu a GPU of four shares has two left beside two claims; amounts are rounded up to 1Mi."""
    found = load_cluster("sample:shared-gpu")
    small = [ask(f"r{n}", GPU, capacity=amounts(memory="1")) for n in range(7)]
    plan = planned(found, *small[:6], node="gpu-shares")
    assert [p.consumed["memory"] for p in plan.placements] == ["1Mi"] * 6
    assert sorted(names(plan)) == ["gpu-0"] * 2 + ["gpu-1"] * 4
    assert not planned(found, *small, node="gpu-shares").fits


# ---------------------------------------------------------------- counters


def test_device_with_shares_pays_counters_once():
    """Two requests that share a partition draw its counters once."""
    found = node(*counted(part("a", shareable=True, memory=5), part("b", memory=3), memory=8))
    plan = planned(found, ask("x"), ask("y"), ask("z"))
    assert sorted(names(plan)) in (["a", "a", "a"], ["a", "a", "b"])
    only = planned(found, ask("two", count=2), ask("more"))
    assert sorted(names(only)) == ["a", "a", "b"]


def test_device_whose_shares_are_held_has_paid():
    """A shareable partition of which a claim holds a share draws nothing more."""
    claim = held(DeviceID(GPU, "n1", "a"), share="00000000-0000-0000-0000-000000000001")
    found = node(*counted(part("a", shareable=True, memory=5), part("b", memory=5), memory=5), claims=(claim,))
    assert names(planned(found, ask("x"))) == ["a"]
    assert not planned(found, ask("x", count=2)).fits


def test_overdrawn_counter_bars_the_pool():
    """One counter below zero bars all devices of the pool that draw on counters, and no others (rule 58)."""
    devices = (part("held", fast=2), part("a", slow=1), part("plain"))
    claim = held(DeviceID(GPU, "n1", "held"))
    found = node(*counted(*devices, fast=1, slow=4), claims=(claim,))
    assert names(planned(found, ask("x"))) == ["plain"]
    assert not planned(found, ask("x", count=2)).fits


def test_devices_that_are_gone_draw_nothing():
    """A held device that is no longer published has no counters (rule 56)."""
    claim = held(DeviceID(GPU, "n1", "gone"))
    assert planned(node(*counted(part("a", memory=5), memory=5), claims=(claim,)), ask("x")).fits


def test_pools_of_two_drivers_are_apart():
    """Two drivers with pools of one name have counters of their own (rule 62)."""
    slices = (*counted(part("a", memory=5), memory=5), *counted(part("b", memory=5), driver=NIC, memory=5))
    assert planned(node(*slices), ask("x"), ask("y", NIC)).fits


def test_large_counters_are_exact():
    """Counters are counted exactly, however large and uneven the amounts are."""
    third = 10**15 + 1
    found = node(*counted(*(part(n, memory=third) for n in "ab"), part("c", memory=third + 2), memory=3 * third + 1))
    assert not planned(found, ask("x", count=3)).fits
    found = node(*counted(*(part(n, memory=third) for n in "ab"), part("c", memory=third + 1), memory=3 * third + 1))
    assert planned(found, ask("x", count=3)).fits


def test_all_needs_counters_for_all():
    """All takes every matching device, so that their counters must last for all of them."""
    parts = (part("a", memory=3), part("b", memory=3))
    everything = DeviceRequest(name="x", exactly=ExactDeviceRequest(device_class_name=GPU, allocation_mode=ALL))
    assert planned(node(*counted(*parts, memory=6)), everything).fits
    assert not planned(node(*counted(*parts, memory=5)), everything).fits


def test_partitions_without_their_gate():
    """With DRAPartitionableDevices off nothing draws on counters, and pools with counters are not complete."""
    found = node(*counted(part("a", memory=3), memory=6))
    assert not planned(found, ask("x"), release=KubernetesRelease("1.35")).fits


# ---------------------------------------------------------------- request policies


def ruled(policy: CapacityRequestPolicy | None, value: int = 10, *, shareable: bool = True) -> Cluster:
    capacity = {CORES: DeviceCapacity(value=value, request_policy=policy)}
    return node(a_slice(CPU, Device(name="c", capacity=capacity, allow_multiple_allocations=shareable or None)))


def consumed(found: Cluster, asked: int | None) -> str:
    capacity = None if asked is None else amounts(cores=asked)
    plan = planned(found, ask("x", CPU, capacity=capacity))
    return plan.placements[0].consumed[CORES] if plan.fits else ""


def test_steps_round_up():
    """A request is rounded up to the least amount that its validRange allows; above the largest it is refused."""
    found = ruled(CapacityRequestPolicy(default=1, valid_range=CapacityRequestPolicyRange(min=1, step=2, max=5)))
    assert [consumed(found, n) for n in (None, 0, 3, 4, 6)] == ["1", "1", "3", "5", ""]


def test_valid_values_round_up():
    """A request is rounded up to the next valid value; above the last it is refused."""
    found = ruled(CapacityRequestPolicy(default=4, valid_values=(2, 4, 8)))
    assert [consumed(found, n) for n in (None, 1, 5, 9)] == ["4", "2", "8", ""]


def test_rounded_shares_add_up():
    """What adds up is what is consumed after rounding, not what is asked for."""
    found = ruled(CapacityRequestPolicy(default=4, valid_values=(4,)))
    three = [ask(n, CPU, capacity=amounts(cores=1)) for n in "abc"]
    assert planned(found, *three[:2]).fits
    assert not planned(found, *three).fits


def test_policy_of_a_dedicated_device_is_a_filter():
    """On a device that is not shared the policy only decides whether it can serve the request (rule 66)."""
    found = ruled(CapacityRequestPolicy(default=4, valid_values=(4,)), shareable=False)
    assert planned(found, ask("x", CPU, capacity=amounts(cores=3))).fits
    assert not planned(found, ask("x", CPU, capacity=amounts(cores=5))).fits


# ---------------------------------------------------------------- lists


def tagged(*values: tuple[str, ...] | str) -> Cluster:
    attributes = [DeviceAttribute(string=v) if isinstance(v, str) else DeviceAttribute(strings=v) for v in values]
    return node(a_slice(GPU, *(Device(name=f"g{n}", attributes={TAG: a}) for n, a in enumerate(attributes))))


def linked(found: Cluster, count: int, how: How, release: KubernetesRelease = LISTS) -> Plan:
    link = Link(name="l", requests=("x",), where=TAG, how=how)
    return planned(found, ask("x", count=count), links=(link,), release=release)


def test_lists_need_one_common_value():
    """Lists stay together when one value is in all of them; pair by pair is not enough (3.9 M7)."""
    assert linked(tagged(("a", "b"), ("b", "c"), "b"), 3, How.TOGETHER).fits
    assert not linked(tagged(("a", "b"), ("b", "c"), ("c", "a")), 3, How.TOGETHER).fits
    assert linked(tagged(("a", "b"), ("b", "c"), ("c", "a")), 2, How.TOGETHER).fits


def test_lists_apart_share_no_value():
    """Lists are apart when no two of them have a value in common (3.9 D4)."""
    assert linked(tagged(("a", "b"), ("c",), "d"), 3, How.APART).fits
    assert not linked(tagged(("a", "b"), ("b", "c")), 2, How.APART).fits


def test_text_and_version_differ():
    """A text and a version that read alike are two values (3.9 M4)."""
    own = [DeviceAttribute(string="1.0.0"), DeviceAttribute(version="1.0.0")]
    found = node(a_slice(GPU, *(Device(name=f"g{n}", attributes={TAG: a}) for n, a in enumerate(own))))
    assert not linked(found, 2, How.TOGETHER).fits
    assert linked(found, 2, How.APART).fits


def test_list_without_the_gate():
    """Without the gate a list equals nothing: one device alone keeps the link, two never do (3.9 M6)."""
    found = tagged(("a",), ("a",))
    found = changed(found, classes=tuple(replace(c, spec=replace(c.spec, selectors=())) for c in found.classes))
    assert linked(found, 1, How.TOGETHER, RELEASE).fits
    assert not linked(found, 2, How.TOGETHER, RELEASE).fits
    assert not linked(found, 2, How.APART, RELEASE).fits


def test_lists_where_kube_scheduler_forgets_them():
    """1.36 accepts lists and does not compare them (3.9 M8): the plan fits and says that kube-scheduler fails."""
    plan = linked(tagged(("a", "b"), ("b",)), 2, How.TOGETHER, KubernetesRelease("1.36", dict(LISTS.gates)))
    assert plan.fits
    assert plan.first_fit is not None
    assert plan.first_fit.status is not FirstFitStatus.ALLOCATED
    assert any(finding.rule == "first-fit-fails" for finding in plan.findings)


# ---------------------------------------------------------------- admin access, binding conditions


def test_admin_access_takes_what_is_held():
    """A request with adminAccess may take a device in use, and no device twice in one claim (3.5 C1)."""
    found = node(a_slice(GPU, Device(name="a")), claims=(held(DeviceID(GPU, "n1", "a")),))
    assert not planned(found, ask("x")).fits
    assert names(planned(found, ask("x", admin_access=True))) == ["a"]
    assert not planned(found, ask("x", admin_access=True), ask("y", admin_access=True)).fits


def test_all_with_admin_access():
    """All with adminAccess takes devices in use as well (rule 32)."""
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
    return {finding.rule for finding in check_plan(found, plan, release)}


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
