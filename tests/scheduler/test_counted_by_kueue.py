"""What Kueue counts of a gang: devices, counters of partitions, extended resources that a class serves."""

from __future__ import annotations

import pytest
from kueue_queues import CLASS, MAPPED, RELEASE, SLICE, cluster_queue, configuration, gang, read, request
from msgspec import structs

from dra_lab import PodGroup, Workload
from dra_lab.model.gang_verdicts import Says
from dra_lab.scheduler.kueue.quota_verdict import quota_verdict

SELECTOR = {"cel": {"expression": "true"}}
SOURCE = {"counter": {"name": "memory", "driver": "gpu.example.com", "deviceSelector": SELECTOR}}


def shared(*amounts, source=SOURCE):
    """Parts of a GPU that consume these amounts of memory, and a queue that counts memory."""
    parts = [
        {"name": f"part-{at}", "consumesCounters": [{"counterSet": "set", "counters": {"memory": {"value": amount}}}]}
        for at, amount in enumerate(amounts)
    ]
    mapped = configuration({"gpu": ["gpu.example.com"]})
    mapped["resources"]["deviceClassMappings"][0]["sources"] = [source]
    slices = {**SLICE, "spec": {**SLICE["spec"], "devices": parts}}
    return read(slices, CLASS, cluster_queue("a", {"gpu": "1Ti"}, usage={}), mapped)


def test_a_counter_is_counted_instead_of_devices():
    """The most that a matching device consumes, for each device."""
    [row] = quota_verdict(shared("40", "10"), gang(2, request(count=2)), release=RELEASE).amounts
    assert row.wanted == 160


def test_too_few_devices_with_a_counter_are_not_known():
    """Kueue tries again until there are more."""
    found = quota_verdict(shared("40"), gang(2, request(count=2)), release=RELEASE)
    assert (found.row.says, "Too few devices" in found.row.sentence) == (Says.UNKNOWN, True)


def test_a_capacity_is_not_known():
    """Kueue counts it behind an alpha gate only."""
    source = {"capacity": SOURCE["counter"]}
    assert quota_verdict(shared("40", source=source), gang(1), release=RELEASE).row.says is Says.UNKNOWN


def extended(pods, cls="gpu.example.com"):
    """A gang whose pods request an extended resource that a class serves, two devices each."""
    wanted = gang(pods, request("container-0-request-0", count=2, cls=cls))
    claim = structs.replace(wanted.pods[0].claims[0], name="extended-resources")
    return Workload("train", [PodGroup("worker", claim, count=pods)])


@pytest.mark.parametrize(
    ("mapped", "resource"),
    [({"gpu": ["gpu.example.com"]}, "gpu"), ({"nic": ["nic.example.com"]}, "example.com/gpu")],
)
def test_an_extended_resource_is_counted_by_its_mapping_or_by_itself(mapped, resource):
    """Kueue refuses no class for it that the Configuration lacks."""
    served = {**CLASS, "spec": {**CLASS["spec"], "extendedResourceName": "example.com/gpu"}}
    cluster = read(SLICE, served, cluster_queue("a", {resource: 8}, usage={}), configuration(mapped))
    found = quota_verdict(cluster, extended(4), release=RELEASE)
    assert (found.row.says, [(one.resource, one.wanted) for one in found.amounts]) == (Says.YES, [(resource, 8)])


def test_the_name_that_every_class_has_is_counted_as_it_is():
    """Kueue finds classes by spec.extendedResourceName only."""
    resource = "deviceclass.resource.kubernetes.io/gpu.example.com"
    cluster = read(SLICE, CLASS, cluster_queue("a", {resource: 2}, usage={}), MAPPED)
    found = quota_verdict(cluster, extended(1), release=RELEASE)
    assert [(one.resource, one.wanted) for one in found.amounts] == [(resource, 2)]


def alternatives(*rows, pods=2):
    """A gang whose pods request one of several (count, DeviceClass)."""
    parts = [{"name": f"a{at}", "deviceClassName": cls, "count": count} for at, (count, cls) in enumerate(rows)]
    return gang(pods, {"name": "gpu", "firstAvailable": parts})


GPU, NIC = "gpu.example.com", "nic.example.com"
LIST = "KueueDRAIntegrationPrioritizedList"


@pytest.mark.parametrize(
    ("rows", "mapped", "on", "says", "words"),
    [
        ([(2, GPU), (2, NIC)], {"gpu": [GPU, NIC]}, True, Says.YES, "the gang needs 4"),
        ([(2, GPU), (2, NIC)], {"gpu": [GPU, NIC]}, False, Says.INADMISSIBLE, f"without the gate {LIST}"),
        ([(2, GPU), (1, GPU)], {"gpu": [GPU]}, True, Says.INADMISSIBLE, "request different counts"),
        ([(1, GPU), (1, NIC)], {"gpu": [GPU], "nic": [NIC]}, True, Says.INADMISSIBLE, "counts as different resources"),
        ([(1, GPU), (1, NIC)], {"gpu": [GPU]}, True, Says.INADMISSIBLE, f"no resource to the DeviceClass {NIC}"),
    ],
    ids=["once", "gate", "counts", "resources", "mapping"],
)
def test_alternatives_count_once_if_all_request_the_same(rows, mapped, on, says, words):
    """Kueue 0.20 charges the count that every alternative has, if its gate is on."""
    known = {**configuration(mapped), "featureGates": {LIST: on}}
    found = quota_verdict(
        read(SLICE, CLASS, cluster_queue("a", {"gpu": 8}, usage={}), known), alternatives(*rows), release=RELEASE
    )
    assert (found.row.says, words in found.row.sentence) == (says, True)
    assert f"Kueue 0.20 ({LIST} {'on' if on else 'off'}) is assumed." in found.row.notes


def test_alternatives_that_a_counter_counts_are_refused():
    """Kueue reads counters of exact requests only."""
    known = {**configuration({"gpu": [GPU]}), "featureGates": {LIST: True}}
    known["resources"]["deviceClassMappings"][0]["sources"] = [SOURCE]
    cluster = read(SLICE, CLASS, cluster_queue("a", {"gpu": 8}, usage={}), known)
    found = quota_verdict(cluster, alternatives((1, GPU)), release=RELEASE)
    assert (found.row.says, "by a counter" in found.row.sentence) == (Says.INADMISSIBLE, True)


def test_admin_access_is_not_charged():
    """A monitoring pod takes no device away, whatever its allocation mode."""
    cluster = read(SLICE, CLASS, cluster_queue("a", {"gpu": 1}, usage={}), MAPPED)
    found = quota_verdict(cluster, gang(9, request(adminAccess=True, allocationMode="All", count=0)), release=RELEASE)
    assert (found.row.says, found.amounts) == (Says.YES, ())
