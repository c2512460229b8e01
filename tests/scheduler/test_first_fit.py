"""Single rules of kube-scheduler's search on one node that no recorded verdict of 1.36.2 states."""

from __future__ import annotations

import threading

import pytest
from small_claims import CLASSES, a_claim, holding, request, taken
from small_nodes import NUMA, ROOT, a_slice, cluster, device, gpu, nic

from dra_lab import KubernetesRelease
from dra_lab.errors import Cancelled, InputError
from dra_lab.model.claims import AllocatedDevices, DeviceConstraint
from dra_lab.model.device import (
    Counter,
    Device,
    DeviceAttribute,
    DeviceCounterConsumption,
    DeviceTaint,
)
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.slices import (
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


def run(slices, *claims, release=NOW, held=(), rules=(), in_use=None, **options):
    """Run first fit on node n1."""
    some = cluster(*slices, classes=CLASSES, claims=tuple(held), taint_rules=tuple(rules))
    return first_fit(some, "n1", claims, release, held=in_use, **options)


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


def test_a_selector_that_fails_on_a_candidate_gives_up_the_pod():
    """A CEL error on an evaluated device is an error and not a "no" (docs/semantics.md 3.5.3)."""
    slices = [a_slice(GPUS, device("gpu-0"), device("gpu-1", {"x": 1}))]
    verdict = run(slices, a_claim(request("r", "gpu", 1, f'device.attributes["{GPUS}"].x == 1')))
    assert verdict.status is FirstFitStatus.ERROR
    assert f"{GPUS}/n1/gpu-0" in verdict.message


def test_what_is_in_use_can_be_replaced():
    """With nothing in use, the device of another claim is taken."""
    held = [holding(f"{GPUS}/n1/gpu-0")]
    claim = a_claim(request("r"))
    assert run([gpus("a")], claim, held=held).status is FirstFitStatus.NONE
    assert taken(run([gpus("a")], claim, held=held, in_use=AllocatedDevices())) == [("r", "gpu-0")]


def test_all_gives_up_the_pod_for_an_incomplete_pool_of_another_driver():
    """The completeness of every pool is checked before selectors (docs/semantics.md 3.6.9)."""
    verdict = run([gpus("a"), a_slice("dra.net", nic("nic-0"), count=2)], a_claim(request("r", everything=True)))
    assert verdict.status is FirstFitStatus.ERROR
    assert "dra.net/n1" in verdict.message


def test_an_invalid_pool_is_named_when_nothing_fits():
    """A device name that is there twice makes the pool invalid (docs/semantics.md 3.2.12)."""
    verdict = run([a_slice(GPUS, gpu(0), gpu(0))], a_claim(request("r")))
    assert verdict.status is FirstFitStatus.NONE
    assert "invalid resource pools" in verdict.message


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


def test_more_than_32_devices_give_up_the_pod():
    """The API server accepts count 33, the scheduler does not (docs/semantics.md 3.4.9)."""
    verdict = run([gpus("a")], a_claim(request("r", count=33)))
    assert verdict.status is FirstFitStatus.ERROR
    assert "32" in verdict.message


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


def test_counters_are_not_read_with_their_gate_off():
    """Without DRAPartitionableDevices a pool with a broken counter serves its other devices (3.2.12)."""
    use = DeviceCounterConsumption(counter_set="nowhere", counters={"x": Counter(value="1")})
    slices = [pool("a", device("plain"), device("part", consumes_counters=(use,)))]
    off = KubernetesRelease("1.36", {"DRAPartitionableDevices": False})
    assert [run(slices, a_claim(request("r")), release=one).status.value for one in (NOW, off)] == ["none", "allocated"]
