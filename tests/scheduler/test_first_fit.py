"""Single rules of kube-scheduler's search on one node."""

from __future__ import annotations

import threading

import pytest
from msgspec.structs import replace
from small_claims import CLASSES, a_claim, alternative, holding, one_of, request, taken
from small_nodes import NUMA, ROOT, a_slice, attribute, cluster, device, gpu, nic

from dra_lab.errors import Cancelled, InputError
from dra_lab.model.claims import DeviceConstraint, DeviceToleration
from dra_lab.model.device import (
    Counter,
    Device,
    DeviceAttribute,
    DeviceCounterConsumption,
    DeviceTaint,
)
from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.slices import (
    CounterSet,
    DeviceTaintRule,
    DeviceTaintRuleSpec,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from dra_lab.scheduler.first_fit import first_fit

NOW = KubernetesRelease("1.36.2")
NEXT = KubernetesRelease("1.37.0")
GPUS = "gpu.nvidia.com"


def run(slices, *claims, release=NOW, held=(), rules=(), **options):
    """Run first fit on node n1."""
    some = cluster(*slices, classes=CLASSES, claims=tuple(held), taint_rules=tuple(rules))
    return first_fit(some, "n1", claims, release, **options)


def gpus(*roots: str) -> ResourceSlice:
    """Make a slice of GPUs at roots."""
    return a_slice(GPUS, *(gpu(index, root) for index, root in enumerate(roots)))


def match(*requests: str, on: str = ROOT) -> DeviceConstraint:
    """Make a matchAttribute constraint."""
    return DeviceConstraint(requests=requests, match_attribute=on)


def pool(name: str, *devices, driver: str = GPUS, count: int = 1) -> ResourceSlice:
    """Make a slice of node n1 in a pool of another name."""
    spec = ResourceSliceSpec(
        driver=driver, pool=ResourcePool(name=name, resource_slice_count=count), node_name="n1", devices=devices
    )
    return ResourceSlice(metadata=a_slice(driver, node=name).metadata, spec=spec)


def test_pools_are_tried_in_byte_order_of_their_names():
    """Pool p10 comes before pool p2 (docs/semantics.md 3.3.6)."""
    verdict = run([pool("p2", device("second")), pool("p10", device("first"))], a_claim(request("r")))
    assert taken(verdict) == [("r", "first")]


def test_the_first_solution_is_taken_after_backtracking():
    """The first GPU has no NIC on its root, so the second GPU is taken."""
    nics = a_slice("dra.net", nic("nic-0", "b"))
    claim = a_claim(request("gpu"), request("nic", "nic"), constraints=[match("gpu", "nic")])
    assert taken(run([gpus("a", "b"), nics], claim)) == [("gpu", "gpu-1"), ("nic", "nic-0")]


def test_a_selector_that_fails_behind_the_device_taken_is_never_evaluated():
    """Selectors are evaluated lazily: success although the second device lacks the attribute.

    Rule: docs/semantics.md 3.5.18.
    """
    slices = [a_slice(GPUS, device("gpu-0", {"x": 1}), device("gpu-1"))]
    assert taken(run(slices, a_claim(request("r", "gpu", 1, f'device.attributes["{GPUS}"].x == 1'))))


def test_a_selector_that_fails_on_a_candidate_gives_up_the_pod():
    """A CEL error on an evaluated device is an error and not a "no" (docs/semantics.md 3.5.3)."""
    slices = [a_slice(GPUS, device("gpu-0"), device("gpu-1", {"x": 1}))]
    verdict = run(slices, a_claim(request("r", "gpu", 1, f'device.attributes["{GPUS}"].x == 1')))
    assert verdict.status is FirstFitStatus.ERROR
    assert f"{GPUS}/n1/gpu-0" in verdict.message


def test_a_device_in_use_is_not_evaluated():
    """The in-use test comes before the selectors (docs/semantics.md 3.5.1)."""
    slices = [a_slice(GPUS, device("gpu-0"), device("gpu-1", {"x": 1}))]
    claim = a_claim(request("r", "gpu", 1, f'device.attributes["{GPUS}"].x == 1'))
    assert taken(run(slices, claim, held=[holding(f"{GPUS}/n1/gpu-0")])) == [("r", "gpu-1")]


def test_ignore_allocated_sees_an_idle_node():
    """With `ignore_allocated` a device in use is taken."""
    held = [holding(f"{GPUS}/n1/gpu-0")]
    claim = a_claim(request("r"))
    assert run([gpus("a")], claim, held=held).status is FirstFitStatus.NONE
    assert taken(run([gpus("a")], claim, held=held, ignore_allocated=True)) == [("r", "gpu-0")]


def test_admin_access_takes_a_device_in_use():
    """Admin access looks only at what the same claim took in this attempt (docs/semantics.md 3.5.1)."""
    claim = a_claim(request("r", admin_access=True))
    verdict = run([gpus("a")], claim, held=[holding(f"{GPUS}/n1/gpu-0")])
    assert taken(verdict) == [("r", "gpu-0")]


def test_two_claims_of_a_pod_do_not_share_a_device():
    """The devices of the first claim are in use for the second."""
    verdict = run([gpus("a", "b")], a_claim(request("r"), name="one"), a_claim(request("r"), name="two"))
    assert taken(verdict) == [("r", "gpu-0"), ("r", "gpu-1")]


def test_all_takes_every_matching_device():
    """All is the list of devices that the selectors match."""
    claim = a_claim(request("r", everything=True))
    assert [name for _, name in taken(run([gpus("a", "b"), a_slice("dra.net", nic("nic-0"))], claim))] == [
        "gpu-0",
        "gpu-1",
    ]


def test_all_of_nothing_does_not_fit():
    """All with no matching device is a "no" (docs/semantics.md 3.6.4)."""
    assert run([gpus("a")], a_claim(request("r", "nic", everything=True))).status is FirstFitStatus.NONE


def test_all_gives_up_the_pod_for_an_incomplete_pool_of_another_driver():
    """The completeness of every pool is checked before selectors (docs/semantics.md 3.6.9)."""
    verdict = run([gpus("a"), a_slice("dra.net", nic("nic-0"), count=2)], a_claim(request("r", everything=True)))
    assert verdict.status is FirstFitStatus.ERROR
    assert "dra.net/n1" in verdict.message


def test_all_gives_up_the_pod_when_a_constraint_is_violated():
    """Even with an alternative that would fit (docs/semantics.md 3.6.3)."""
    either = one_of("r", alternative("all", everything=True), alternative("one", count=1))
    verdict = run([gpus("a", "b")], a_claim(either, constraints=[match("r")]))
    assert verdict.status is FirstFitStatus.ERROR


def test_a_count_skips_an_incomplete_pool():
    """ExactCount sees no devices of an incomplete pool (docs/semantics.md 3.2.15)."""
    assert run([a_slice(GPUS, gpu(0), count=2)], a_claim(request("r"))).status is FirstFitStatus.NONE


def test_an_invalid_pool_is_named_when_nothing_fits():
    """A device name that is there twice makes the pool invalid (docs/semantics.md 3.2.12)."""
    verdict = run([a_slice(GPUS, gpu(0), gpu(0))], a_claim(request("r")))
    assert verdict.status is FirstFitStatus.NONE
    assert "invalid resource pools" in verdict.message


@pytest.mark.parametrize(("first", "second", "fits"), [(1, 1, True), (1, "1", False), (1, 2, False)])
def test_match_compares_type_and_value(first, second, fits):
    """An int and a string never match (docs/semantics.md 3.9.8)."""
    slices = [a_slice(GPUS, device("gpu-0", {NUMA: first}), device("gpu-1", {NUMA: second}))]
    verdict = run(slices, a_claim(request("r", count=2), constraints=[match("r", on=NUMA)]))
    assert (verdict.status is FirstFitStatus.ALLOCATED) is fits


def test_match_refuses_a_single_device_without_the_attribute():
    """A missing attribute never matches, even alone (docs/semantics.md 3.9.5)."""
    assert run([gpus("")], a_claim(request("r"), constraints=[match("r")])).status is FirstFitStatus.NONE


def test_a_bare_key_belongs_to_the_domain_of_its_driver():
    """`numa` of the driver is `driver/numa` in a constraint, and of no other domain (cases 10, 11)."""
    slices = [a_slice(GPUS, device("gpu-0", {"numa": 0}))]
    assert taken(run(slices, a_claim(request("r"), constraints=[match("r", on=f"{GPUS}/numa")])))
    assert run(slices, a_claim(request("r"), constraints=[match("r", on="b.com/numa")])).allocations is None


def test_distinct_remembers_the_latest_device_only_up_to_1_36():
    """Values 1, 2, 1 pass in 1.36 (a defect) and not in 1.37 (docs/semantics.md 3.9.18)."""
    slices = [a_slice(GPUS, *(device(f"gpu-{index}", {NUMA: numa}) for index, numa in enumerate((1, 2, 1))))]
    claim = a_claim(request("r", count=3), constraints=[DeviceConstraint(distinct_attribute=NUMA)])
    assert run(slices, claim).status is FirstFitStatus.ALLOCATED
    assert run(slices, claim, release=NEXT).status is FirstFitStatus.NONE


def test_only_the_recorded_release_is_recorded():
    """Verdicts of other releases come from documentation and say so."""
    assert run([gpus("a")], a_claim(request("r"))).recorded
    assert not run([gpus("a")], a_claim(request("r")), release=NEXT).recorded


def test_list_attributes_reach_the_allocator_only_from_1_37():
    """With the gate on, 1.36 still refuses the second list; 1.37 intersects.

    Rules: docs/semantics.md 3.9.12, 3.9.11.
    """
    lists = [DeviceAttribute(ints=(0, 1)), DeviceAttribute(ints=(1, 2))]
    parts = [Device(name=f"gpu-{index}", attributes={NUMA: a}) for index, a in enumerate(lists)]
    claim = a_claim(request("r", "any", 2), constraints=[match("r", on=NUMA)])
    gate = {"DRAListTypeAttributes": True}
    old = run([a_slice(GPUS, *parts)], claim, release=KubernetesRelease("1.36", gate))
    new = run([a_slice(GPUS, *parts)], claim, release=KubernetesRelease("1.37", gate))
    assert (old.status, new.status) == (FirstFitStatus.NONE, FirstFitStatus.ALLOCATED)


def test_a_later_alternative_leaves_devices_to_a_later_request():
    """Two GPUs, alternatives of two and one, and another request of one: the second alternative.

    Rule: docs/semantics.md 3.7.1.
    """
    either = one_of("a", alternative("two", count=2), alternative("one", count=1))
    assert taken(run([gpus("a", "b")], a_claim(either, request("b")))) == [("a/one", "gpu-0"), ("b", "gpu-1")]


def test_an_alternative_above_32_devices_is_passed_over():
    """Alternatives of 500 and 1 give the second (docs/semantics.md 3.7.6)."""
    either = one_of("a", alternative("x", count=500), alternative("y", count=1))
    assert taken(run([gpus("a")], a_claim(either))) == [("a/y", "gpu-0")]


def test_more_than_32_devices_give_up_the_pod():
    """The API server accepts count 33, the scheduler does not (docs/semantics.md 3.4.9)."""
    verdict = run([gpus("a")], a_claim(request("r", count=33)))
    assert verdict.status is FirstFitStatus.ERROR
    assert "32" in verdict.message


def test_a_preference_written_as_alternatives_tries_every_aligned_pair_first():
    """`gpu/aligned` with the NIC on its root is found behind GPUs that have none; else `gpu/any` is taken."""
    soft = one_of("gpu", alternative("aligned"), alternative("any"))
    claim = a_claim(soft, request("nic", "nic"), constraints=[match("gpu/aligned", "nic")])
    nics = a_slice("dra.net", nic("nic-0", "b"))
    assert taken(run([gpus("a", "b"), nics], claim))[0] == ("gpu/aligned", "gpu-1")
    assert taken(run([gpus("a", "c"), nics], claim))[0] == ("gpu/any", "gpu-0")


@pytest.mark.parametrize(("effect", "fits"), [("NoSchedule", False), ("NoExecute", False), ("None", True)])
def test_a_taint_keeps_claims_away(effect, fits):
    """NoSchedule and NoExecute block, other effects do not (docs/semantics.md 1.9)."""
    slices = [a_slice(GPUS, device("gpu-0", taints=(DeviceTaint(key="k", effect=effect),)))]
    assert (run(slices, a_claim(request("r"))).allocations is not None) is fits


def test_a_toleration_lets_a_claim_in_and_stands_in_the_result():
    """A matching toleration counts, and is copied with its operator."""
    slices = [a_slice(GPUS, device("gpu-0", taints=(DeviceTaint(key="k", value="v", effect="NoSchedule"),)))]
    claim = a_claim(request("r", tolerations=(DeviceToleration(key="k", value="v"),)))
    allocations = run(slices, claim).allocations
    assert allocations is not None
    assert allocations[0].devices.results[0].tolerations == ({"key": "k", "operator": "Equal", "value": "v"},)


def test_taint_rules_count_from_1_37():
    """The gate DRADeviceTaintRules is off in 1.36 and on in 1.37."""
    taint = DeviceTaint(key="k", effect="NoSchedule")
    rule = DeviceTaintRule(metadata=a_slice(GPUS).metadata, spec=DeviceTaintRuleSpec(taint=taint))
    claim = a_claim(request("r"))
    assert run([gpus("a")], claim, rules=[rule]).allocations is not None
    assert run([gpus("a")], claim, rules=[rule], release=NEXT).allocations is None


def test_a_stopped_search_is_never_a_no():
    """At the step limit the verdict is STOPPED and tells the steps."""
    claim = a_claim(request("a", count=6), request("b", "nic"), constraints=[match()])
    slices = [gpus(*"aaaaaaaaaaaa"), a_slice("dra.net", nic("nic-0", "b"))]
    verdict = run(slices, claim, step_limit=50)
    assert verdict.status is FirstFitStatus.STOPPED
    assert verdict.steps == 50
    assert "50 steps" in verdict.message


def test_a_cancelled_search_ends():
    """Once the event is set the search raises Cancelled."""
    claim = a_claim(request("a", count=6), request("b", "nic"), constraints=[match()])
    slices = [gpus(*"a" * 24), a_slice("dra.net", nic("nic-0", "b"))]
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(Cancelled):
        run(slices, claim, cancel=cancel)


def test_an_unknown_node_is_refused_with_what_there_is():
    """The message names nodes that exist."""
    with pytest.raises(InputError, match="n1"):
        first_fit(cluster(gpus("a"), classes=CLASSES), "elsewhere", [], NOW)


def test_a_missing_class_is_an_error_that_names_it():
    """Without its DeviceClass the pod waits."""
    assert "'tpu'" in run([gpus("a")], a_claim(request("r", "tpu"))).message


def test_depth_of_the_search_is_not_limited_by_python():
    """Forty claims of 32 shares each are placed although that is more than Python's recursion allows."""
    many = a_slice(GPUS, *(device(f"gpu-{index:02}", allow_multiple_allocations=True) for index in range(32)))
    verdict = run([many], *(a_claim(request("r", count=32), name=f"c{index}") for index in range(40)))
    assert len(taken(verdict)) == 1280


def test_binding_conditions_come_last():
    """A pool with a device that has binding conditions is tried after all others (docs/semantics.md 3.3.2)."""
    conditions = {"binding_conditions": ("ready",), "binding_failure_conditions": ("failed",)}
    slices = [pool("a", device("late", **conditions)), pool("b", device("early"))]
    assert taken(run(slices, a_claim(request("r")))) == [("r", "early")]


def test_binding_conditions_of_a_device_for_another_node_count():
    """A pool comes last for any device with binding conditions in a slice that is read (docs/semantics.md 3.3.2)."""
    late = device("other", node_name="n2", binding_conditions=("ready",), binding_failure_conditions=("failed",))
    spec = ResourceSliceSpec(
        driver=GPUS,
        pool=ResourcePool(name="a", resource_slice_count=1),
        per_device_node_selection=True,
        devices=(late, device("late", node_name="n1")),
    )
    shared = ResourceSlice(metadata=a_slice(GPUS, node="a").metadata, spec=spec)
    assert taken(run([shared, pool("b", device("early"))], a_claim(request("r")))) == [("r", "early")]


def test_counters_are_not_read_with_their_gate_off():
    """Without DRAPartitionableDevices a pool with a broken counter serves its other devices (3.2.12)."""
    use = DeviceCounterConsumption(counter_set="nowhere", counters={"x": Counter(value="1")})
    slices = [pool("a", device("plain"), device("part", consumes_counters=(use,)))]
    off = KubernetesRelease("1.36", {"DRAPartitionableDevices": False})
    assert [run(slices, a_claim(request("r")), release=one).status.value for one in (NOW, off)] == ["none", "allocated"]


def test_a_share_of_nothing_counts_as_shared_once_it_was_tried():
    """Up to 1.36 a shareable device without capacity is not asked for counters again (docs/semantics.md 3.10.9)."""
    use = DeviceCounterConsumption(counter_set="set", counters={"memory": Counter(value="5")})
    devices = (device("gpu-0", consumes_counters=(use,), allow_multiple_allocations=True),)
    counters = CounterSet(name="set", counters={"memory": Counter(value="7")})
    spec = ResourceSliceSpec(driver=GPUS, pool=ResourcePool(name="n1", resource_slice_count=2), node_name="n1")
    slices = [
        ResourceSlice(metadata=a_slice(GPUS, node="a").metadata, spec=replace(spec, devices=devices)),
        ResourceSlice(metadata=a_slice(GPUS, node="b").metadata, spec=replace(spec, shared_counters=(counters,))),
    ]
    claim = a_claim(one_of("r", alternative("two", count=2), alternative("one")))
    assert taken(run(slices, claim)) == [("r/one", "gpu-0")]


def test_attribute_helper_keeps_bool_apart_from_int():
    """True and 1 are different values of different types for a constraint."""
    slices = [a_slice(GPUS, device("gpu-0", {"a.b/x": True}), device("gpu-1", {"a.b/x": 1}))]
    assert attribute(True) != attribute(1)
    assert run(slices, a_claim(request("r", count=2), constraints=[match("r", on="a.b/x")])).allocations is None
