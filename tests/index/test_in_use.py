"""Devices in use: holders, what is left of shares and counters, health, and claims without a pod."""

from __future__ import annotations

import pytest
from msgspec import structs
from small_holders import a_claim, a_pod, held_by, result
from small_nodes import a_slice, cluster, device
from small_plans import GPU

from dra_lab.checks.cluster_checks import check_cluster
from dra_lab.index.device_health import device_health
from dra_lab.index.in_use import counters_in_use, devices_in_use
from dra_lab.model.device import Counter, DeviceCapacity, DeviceCounterConsumption, DeviceTaint
from dra_lab.model.names import DeviceID
from dra_lab.model.slices import CounterSet, ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.pictures.device_states import device_states
from dra_lab.pictures.hardware import hardware_svg
from dra_lab.sources import load_cluster
from dra_lab.words.in_use_frames import AUDIT_COLUMNS, audit_frame, counters_frame, in_use_frame

SHARED = device("gpu-0", capacity={"memory": DeviceCapacity(value="80Gi")}, allow_multiple_allocations=True)


def rules(found):
    """The rules of a cluster's findings."""
    return [finding.rule for finding in check_cluster(found)]


def test_a_held_device_names_its_claims_its_pods_and_its_node():
    """One row a device, with who holds it and for whom."""
    held = a_claim(result(), pods=("job-0", "job-1"))
    [row] = devices_in_use(cluster(a_slice(GPU, device("gpu-0")), claims=(held,)))
    assert (row.device, row.node, row.claims) == (DeviceID(GPU, "n1", "gpu-0"), "n1", ("team/c",))
    assert (row.consumers, row.shared, row.published) == (("job-0", "job-1"), False, True)


def test_what_is_left_of_a_shared_device_is_its_capacity_less_the_shares():
    """Shares of several claims are added up, by capacity key."""
    claims = tuple(
        a_claim(result(share_id=f"s{n}", consumed_capacity={"memory": "30Gi"}), name=f"c{n}") for n in range(2)
    )
    shared = cluster(a_slice(GPU, SHARED), claims=claims)
    [row] = devices_in_use(shared)
    assert (row.claims, row.capacity["memory"].left) == (("team/c0", "team/c1"), 20 * 2**30)
    assert list(in_use_frame(shared)["left"]) == ["memory: 20Gi of 80Gi"]
    assert "20Gi of 80Gi memory left" in device_states(shared, "n1")[row.device].why[0]


def test_a_claim_with_admin_access_watches_and_does_not_hold():
    """Its device is free for others."""
    watching = a_claim(result(admin_access=True), name="monitor")
    [row] = devices_in_use(cluster(a_slice(GPU, device("gpu-0")), claims=(watching,)))
    assert (row.claims, row.admin) == ((), ("team/monitor",))


def test_counters_tell_what_the_devices_in_use_draw():
    """Each device draws once, however many claims share it; more than there is becomes a finding."""
    use = DeviceCounterConsumption(counter_set="set", counters={"slices": Counter(value="4")})
    parts = tuple(device(f"part-{n}", consumes_counters=(use,)) for n in range(3))
    pool = ResourcePool(name="n1", generation=1, resource_slice_count=1)
    sets = (CounterSet(name="set", counters={"slices": Counter(value="7")}),)
    spec = ResourceSliceSpec(driver=GPU, pool=pool, node_name="n1", devices=parts, shared_counters=sets)
    published = ResourceSlice(metadata=a_slice(GPU).metadata, spec=spec)
    one = cluster(published, claims=(a_claim(result("part-0")),))
    assert [(use.counter, use.amount.left) for use in counters_in_use(one)] == [("slices", 3)]
    two = cluster(published, claims=(a_claim(result("part-0"), result("part-1")),))
    assert counters_frame(two).values.tolist() == [[GPU, "n1", "set", "slices", "7", "8", "-1"]]
    assert "counter-overdrawn" in rules(two)
    assert "counter-overdrawn" not in rules(one)


def test_a_claim_reserved_for_no_pod_is_reported():
    """It holds its devices all the same."""
    assert "claim-unreserved" in rules(held_by(a_claim(result())))
    assert "claim-unreserved" not in rules(held_by(a_claim(result(), pods=("p",))))


@pytest.mark.parametrize(("there", "expected"), [("p", False), ("other", True)])
def test_a_claim_of_pods_that_are_gone_is_reported_where_pods_were_read(there, expected):
    """Without any pod of the namespace nothing is known of them."""
    claim = a_claim(result(), pods=("p",))
    found = rules(held_by(claim, pods=(a_pod(there),)))
    assert ("claim-of-gone-pods" in found) is expected
    assert "claim-of-gone-pods" not in rules(held_by(claim))


def test_admin_access_holds_nothing():
    """No pod waits for the devices of a claim that only watches them."""
    claim = a_claim(result(admin_access=True), pods=("gone",))
    assert {"claim-unreserved", "claim-of-gone-pods"}.isdisjoint(rules(held_by(claim, pods=(a_pod("p"),))))


def test_a_deleted_claim_that_still_holds_devices_is_reported_as_such():
    """It cannot be deleted again, because a finalizer keeps it."""
    claim = a_claim(result())
    deleted = structs.replace(claim.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    found = rules(held_by(structs.replace(claim, metadata=deleted)))
    assert ("claim-not-let-go" in found, "claim-unreserved" in found) == (True, False)


HEALTH = [
    ("gpu.nvidia.com/n1/gpu-0", "claim:devices/r", "Unhealthy"),
    ("k8s.gpu.nvidia.com/claim=0af3-gpu-0", "claim:devices/r", "Unhealthy"),
    ("k8s.gpu.nvidia.com/claim=0af3-gpu-0", "claim:devices", "Unhealthy"),
    ("k8s.gpu.nvidia.com/claim=0af3-gpu-00", "claim:devices/r", None),
    ("k8s.gpu.nvidia.com/claim=x", "claim:devices/r", None),
    ("k8s.gpu.nvidia.com/claim=0af3-gpu-0", "claim:devices/other", None),
    ("k8s.gpu.nvidia.com/claim=0af3-gpu-0", "nvidia.com/gpu", None),
]


@pytest.mark.parametrize(("resource", "name", "health"), HEALTH)
def test_health_is_reported_of_the_device_that_kubelet_means(resource, name, health):
    """The name is a CDI name or driver/pool/device; what fits no device or several says nothing of any."""
    claim = a_claim(result(), result("gpu-1"), pods=("p",))
    found = held_by(claim, pods=(a_pod("p", health=(name, resource, "Unhealthy")),))
    assert device_health(found).get(DeviceID(GPU, "n1", "gpu-0")) == health
    assert DeviceID(GPU, "n1", "gpu-1") not in device_health(found)


def test_a_single_device_of_a_request_needs_no_name():
    """Whatever its identifier says, there is no other device that could be meant."""
    pods = (a_pod("p", health=("claim:devices/r", "vendor.com/class=odd", "Unknown")),)
    assert list(device_health(held_by(a_claim(result(), pods=("p",)), pods=pods)).values()) == ["Unknown"]


def test_a_pod_that_ended_says_nothing_of_its_devices():
    """The claim is not reserved for it any more, and its status is no longer written, so it is out of date."""
    pods = (a_pod("p", health=("claim:devices/r", "gpu.nvidia.com/n1/gpu-0", "Unhealthy")),)
    assert device_health(held_by(a_claim(result(), pods=("next",)), pods=pods)) == {}


def test_an_unhealthy_device_is_reported_and_seen():
    """As a finding with the pods that use it, and in the state of the device."""
    pods = (a_pod("p", health=("claim:devices/r", "gpu.nvidia.com/n1/gpu-0", "Unhealthy")),)
    found = held_by(a_claim(result(), pods=("p",)), pods=pods)
    [reported] = [finding for finding in check_cluster(found) if finding.rule == "device-unhealthy"]
    assert "team/p" in reported.message
    assert "reported unhealthy" in device_states(found, "n1")[DeviceID(GPU, "n1", "gpu-0")].why
    assert list(in_use_frame(found)["health"]) == ["Unhealthy"]


@pytest.mark.parametrize(("health", "signs"), [("Unhealthy", 2), ("Healthy", 0)])
def test_an_unhealthy_device_has_a_sign_that_the_legend_explains(health, signs):
    """A word on the device and in the legend; where no device is unhealthy there is neither."""
    pods = (a_pod("p", health=("claim:devices/r", "gpu.nvidia.com/n1/gpu-0", health)),)
    drawn = hardware_svg(held_by(a_claim(result(), pods=("p",)), pods=pods), "n1")
    assert drawn.count(">unhealthy</text>") == signs


def test_a_taint_of_a_held_device_is_in_the_table():
    """A taint from a rule would be in it too; effects that keep no pod away are left out."""
    taints = (DeviceTaint(key="a", effect="NoSchedule"), DeviceTaint(key="b", effect="None"))
    found = cluster(a_slice(GPU, device("gpu-0", taints=taints)), claims=(a_claim(result()),))
    assert list(in_use_frame(found)["taints"]) == ["a:NoSchedule"]


def test_tables_of_an_idle_cluster_are_empty_with_their_columns():
    """No claim, no row; the columns are there to be named."""
    idle = cluster(a_slice(GPU, device("gpu-0")))
    assert (len(in_use_frame(idle)), list(audit_frame(idle).columns)) == (0, list(AUDIT_COLUMNS))


def test_the_sample_with_trouble_has_a_vanished_device():
    """What the sample's README says of it."""
    frame = audit_frame(load_cluster("sample:trouble"))
    assert list(frame["rule"]) == ["device-vanished"]
