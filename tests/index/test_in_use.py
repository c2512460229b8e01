"""Devices in use: holders, what is left of shares and counters, health, and claims without a pod."""

from __future__ import annotations

import collections

import pytest
from msgspec import structs
from msgspec.structs import replace
from small_holders import a_claim, a_pod, held_by, result
from small_nodes import a_slice, cluster, device
from small_plans import GPU

import dra_lab
from dra_lab import Cluster, check
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.device import Counter, DeviceCapacity, DeviceCounterConsumption, DeviceTaint
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.slices import CounterSet
from dra_lab.pictures.charts.amounts import node_amounts
from dra_lab.pictures.device_states import State, device_states
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.sketch.kind_counts import kind_counts
from dra_lab.words.frames import audit_frame, counters_frame, in_use_frame


def rules(found) -> set[str]:
    return {finding.rule for finding in check(found)}


def row(found, **fields):
    """The columns of these names of the only device in use."""
    [only] = in_use_frame(found).to_dict("records")
    return {name: only[name] for name in fields}


HOLDERS = {
    "two pods": (
        (a_claim(result(), pods=("job-0", "job-1")),),
        {"node": "n1", "claims": "team/c", "reserved_for": "job-0, job-1", "shared": False, "published": True},
    ),
    "a claim that only watches": (
        (a_claim(result(admin_access=True), name="monitor"),),
        {"claims": "", "admin": "team/monitor"},
    ),
    "shares of two claims": (
        tuple(a_claim(result(share_id=f"s{n}", consumed_capacity={"memory": "30Gi"}), name=f"c{n}") for n in range(2)),
        {"claims": "team/c0, team/c1", "left": "memory: 20Gi of 80Gi"},
    ),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_a_device_in_use_names_who_holds_it(name):
    claims, expected = HOLDERS[name]
    shared = {"capacity": {"memory": DeviceCapacity(value="80Gi")}, "allow_multiple_allocations": "shares" in name}
    assert row(cluster(a_slice(GPU, device("gpu-0", **shared)), claims=claims), **expected) == expected


def test_counters_tell_what_the_devices_in_use_draw():
    use = DeviceCounterConsumption(counter_set="set", counters={"slices": Counter(value="4")})
    made = a_slice(GPU, *(device(f"part-{n}", consumes_counters=(use,)) for n in range(3)))
    sets = (CounterSet(name="set", counters={"slices": Counter(value="7")}),)
    published = structs.replace(made, spec=structs.replace(made.spec, shared_counters=sets))
    one = cluster(published, claims=(a_claim(result("part-0")),))
    two = cluster(published, claims=(a_claim(result("part-0"), result("part-1")),))
    found = [counters_frame(world).values.tolist() for world in (one, two)]
    assert found == [[[GPU, "n1", "set", "slices", "7", used, left]] for used, left in (("4", "3"), ("8", "-1"))]
    assert ["counter-overdrawn" in rules(world) for world in (one, two)] == [False, True]


WITHOUT_PODS = {
    "no pod": ((), (), {"claim-unreserved"}),
    "a pod that was not read": (("p",), (), set()),
    "a pod that is there": (("p",), ("p",), set()),
    "a pod that is gone": (("p",), ("other",), {"claim-of-gone-pods"}),
}


@pytest.mark.parametrize("name", WITHOUT_PODS)
def test_a_claim_that_no_pod_uses_is_reported(name):
    """It holds its devices all the same; without any pod of the namespace nothing is known of its pods."""
    reserved, there, expected = WITHOUT_PODS[name]
    found = held_by(a_claim(result(), pods=reserved), pods=tuple(map(a_pod, there)))
    assert {rule for rule in rules(found) if rule.startswith("claim-")} == expected


def test_admin_access_holds_nothing():
    claim = a_claim(result(admin_access=True), pods=("gone",))
    assert {"claim-unreserved", "claim-of-gone-pods"}.isdisjoint(rules(held_by(claim, pods=(a_pod("p"),))))


def test_a_deleted_claim_that_still_holds_devices_is_reported_as_such():
    """It cannot be deleted again, because a finalizer keeps it."""
    claim = a_claim(result())
    deleted = structs.replace(claim.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    found = rules(held_by(structs.replace(claim, metadata=deleted)))
    assert ("claim-not-let-go" in found, "claim-unreserved" in found) == (True, False)


def health(*pods, claim=None) -> dict[str, str]:
    """The health that the table has of each device."""
    frame = in_use_frame(held_by(claim or a_claim(result(), result("gpu-1"), pods=("p",)), pods=pods))
    return {name.rpartition("/")[2]: value for name, value in zip(frame["device"], frame["health"], strict=True)}


HEALTH = [
    ("gpu.nvidia.com/n1/gpu-0", "claim:devices/r", "Unhealthy"),
    ("k8s.gpu.nvidia.com/claim=0af3-gpu-0", "claim:devices/r", "Unhealthy"),
    ("k8s.gpu.nvidia.com/claim=0af3-gpu-0", "claim:devices", "Unhealthy"),
    ("k8s.gpu.nvidia.com/claim=0af3-gpu-00", "claim:devices/r", ""),
    ("k8s.gpu.nvidia.com/claim=x", "claim:devices/r", ""),
    ("k8s.gpu.nvidia.com/claim=0af3-gpu-0", "claim:devices/other", ""),
    ("k8s.gpu.nvidia.com/claim=0af3-gpu-0", "nvidia.com/gpu", ""),
]


@pytest.mark.parametrize(("resource", "name", "expected"), HEALTH)
def test_health_is_reported_of_the_device_that_kubelet_means(resource, name, expected):
    """The name is a CDI name or driver/pool/device; what fits no device or several says nothing of any."""
    found = health(a_pod("p", health=(name, resource, "Unhealthy")))
    assert (found["gpu-0"], found["gpu-1"]) == (expected, "")


def test_a_single_device_of_a_request_needs_no_name():
    odd = a_pod("p", health=("claim:devices/r", "vendor.com/class=odd", "Unknown"))
    assert health(odd, claim=a_claim(result(), pods=("p",))) == {"gpu-0": "Unknown"}


@pytest.mark.parametrize("said", [("Healthy", "Unhealthy"), ("Unhealthy", "Unknown"), ("Unhealthy", "Healthy")])
def test_the_worst_that_pods_say_of_a_device_counts(said):
    """Unhealthy is worse than unknown, and unknown worse than healthy, whichever pod is read first."""
    named = zip("pq", said, strict=True)
    pods = [a_pod(name, health=("claim:devices/r", "gpu.nvidia.com/n1/gpu-0", one)) for name, one in named]
    assert health(*pods, claim=a_claim(result(), pods=("p", "q"))) == {"gpu-0": "Unhealthy"}


def test_a_pod_that_ended_says_nothing_of_its_devices():
    """The claim is not reserved for it any more, so its status is out of date."""
    ended = a_pod("p", health=("claim:devices/r", "gpu.nvidia.com/n1/gpu-0", "Unhealthy"))
    assert health(ended, claim=a_claim(result(), pods=("next",))) == {"gpu-0": ""}


@pytest.mark.parametrize(("state", "signs"), [("Unhealthy", 2), ("Healthy", 0)])
def test_an_unhealthy_device_is_reported_and_seen(state, signs):
    pods = (a_pod("p", health=("claim:devices/r", "gpu.nvidia.com/n1/gpu-0", state)),)
    found = held_by(a_claim(result(), pods=("p",)), pods=pods)
    reported = [finding.message for finding in check(found) if finding.rule == "device-unhealthy"]
    assert ["team/p" in message for message in reported] == [True] * (signs // 2)
    assert hardware_svg(found, "n1").count(">unhealthy</text>") == signs


def test_a_taint_of_a_held_device_is_in_the_table():
    taints = (DeviceTaint(key="a", effect="NoSchedule"), DeviceTaint(key="b", effect="None"))
    found = cluster(a_slice(GPU, device("gpu-0", taints=taints)), claims=(a_claim(result()),))
    assert row(found, taints="") == {"taints": "a:NoSchedule"}


def test_tables_of_an_idle_cluster_are_empty_with_their_columns():
    idle = cluster(a_slice(GPU, device("gpu-0")))
    assert (len(in_use_frame(idle)), "advice" in audit_frame(idle).columns) == (0, True)


def test_a_partition_in_use_blocks_eight_others_everywhere():
    mig = dra_lab.load_cluster("sample:mig")
    node = mig.node_names[0]
    states = collections.Counter(state.state for state in device_states(mig, node).values())
    assert (states[State.IN_USE], states[State.BLOCKED]) == (1, 8)
    assert (dra_lab.frame(mig)["state"] == "free").sum() == 41
    assert kind_counts(mig, KubernetesRelease("1.36"))["gpu"].possible == 41


def test_a_partition_is_a_part_of_its_gpu():
    """Two of seven slices are in use: two sevenths of a GPU, though it takes two pieces of memory whole."""
    (amounts,) = node_amounts(dra_lab.load_cluster("sample:mig"))
    assert (amounts.in_use, amounts.total) == (pytest.approx(2 / 7), pytest.approx(2))


@pytest.mark.parametrize(("release", "seen"), [("1.36", True), ("1.37", False)])
def test_an_incomplete_pool_of_another_node_with_counters_is_seen_until_1_37(release, seen):
    """In 1.36 every node sees the counters of all others, so a request for all devices gives up (semantics 3.2.3)."""
    sample = dra_lab.load_cluster("sample:mig")
    slices = []
    for node in ("a", "b"):
        for slice_ in sample.slices:
            spec = replace(slice_.spec, node_name=node, pool=replace(slice_.spec.pool, name=node))
            if node == "b" or spec.shared_counters is not None:  # the pool of `a` has its counters and no devices
                metadata = replace(slice_.metadata, name=f"{node}-{slice_.metadata.name}")
                slices.append(replace(slice_, metadata=metadata, spec=spec))
    every = ExactDeviceRequest(device_class_name="mig.nvidia.com", allocation_mode="All")
    sketch = dra_lab.ClaimSketch(requests=(DeviceRequest(name="all", exactly=every),))
    plan = dra_lab.make_plan(Cluster(slices=tuple(slices), classes=sample.classes), sketch, node="b", release=release)
    assert ["gpu.nvidia.com/a is not complete" in short.message for short in plan.shortfalls] == [seen]
