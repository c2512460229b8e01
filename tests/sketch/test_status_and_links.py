"""Figures of requests and links while they are being drawn."""

from __future__ import annotations

import pytest
from checked_plans import checked_plan
from small_claims import alternative, one_of, request
from small_nodes import NUMA, ROOT, a_slice, attribute, cluster, device, gpu, nic

from dra_lab import ClaimSketch, How, KubernetesRelease, Link
from dra_lab.model.device import DeviceAttribute
from dra_lab.sketch.links import attribute_for, link_options
from dra_lab.sketch.request_status import request_status

R136 = KubernetesRelease("1.36")
R137_LISTS = KubernetesRelease("1.37", {"DRAListTypeAttributes": True})
GPU, NIC = "gpu.nvidia.com", "dranet"
RDMA = 'device.attributes["dra.net"].rdma == true'
PLAIN_NIC = device("eth0", {"dra.net/ifName": "eth0"})


def status(on, *requests):
    return request_status(on, ClaimSketch(requests=requests), R136)


def two_kinds(*nics):
    return cluster(a_slice(GPU, gpu(0, "pci0000:00")), a_slice("dra.net", *nics))


def sketch(*ends, where="pcieRoot"):
    requests = (request("gpu", GPU), request("nic", NIC))
    return ClaimSketch(requests=requests, links=(Link(name="l", requests=ends or ("gpu", "nic"), where=where),))


def chosen(on, where, release=R136, ends=()):
    drawn = sketch(*ends, where=where)
    return attribute_for(on, drawn, drawn.links[0], release)


def option(on, where, *ends):
    drawn = sketch(*ends)
    return next(o for o in link_options(on, drawn, drawn.links[0], R136) if o.where == where)


def test_the_text_counts_matches_and_those_that_lack_the_attribute():
    guarded = 'has(device.attributes["dra.net"].rdma) && device.attributes["dra.net"].rdma == true'
    found = status(two_kinds(nic("a"), nic("b"), PLAIN_NIC), request("nic", NIC, 1, guarded))["nic"]
    assert found.text == "2 of 3 match; 1 lacks dra.net/rdma"
    assert (len(found.matching), found.total, found.free, found.kind, found.error) == (2, 3, 2, "nic", "")


def test_devices_of_one_model_have_its_name():
    """The box of a request shows it; devices of several models have none."""
    one = {"dra.net/pciDevice": "ConnectX-7"}
    nics = [device("a", one), device("b", one), device("c", {"dra.net/pciDevice": "ConnectX-6"})]
    assert status(two_kinds(*nics[:2]), request("nic", NIC))["nic"].model == "ConnectX-7"
    assert status(two_kinds(*nics), request("nic", NIC))["nic"].model == ""


def test_a_selector_that_fails_on_a_device_says_where_and_what_it_costs():
    found = status(two_kinds(nic("a"), PLAIN_NIC), request("nic", NIC, 1, RDMA))["nic"]
    assert "dra.net/n1/eth0" in found.error
    assert "gives up the pod" in found.error


def test_a_selector_that_does_not_compile_is_an_error_and_not_an_exception():
    found = status(two_kinds(nic("a")), request("nic", NIC, 1, "device.nonsense =="))["nic"]
    assert found.error
    assert found.matching == ()


def test_a_class_that_is_not_there_names_those_that_are():
    found = status(two_kinds(nic("a")), request("nic", "nowhere"))["nic"]
    assert "there is no DeviceClass 'nowhere'" in found.error


def test_alternatives_count_together():
    either = one_of("any", alternative("gpu", GPU, 1), alternative("nic", NIC, 1))
    found = status(two_kinds(nic("a")), either)["any"]
    assert len(found.matching) == 2
    assert "several kinds" in found.text


def test_attributes_are_those_that_every_matching_device_publishes():
    found = status(two_kinds(nic("a", "pci0000:00"), nic("b")), request("nic", NIC))["nic"]
    assert ROOT not in found.attributes
    assert "dra.net/rdma" in found.attributes


def test_a_level_is_written_with_the_standard_attribute_where_all_publish_it():
    assert chosen(two_kinds(nic("a", "pci0000:00")), "pcieRoot").name == ROOT


def test_a_level_is_written_with_another_common_name_where_that_covers_more_devices():
    """GPUs of an older driver and NICs share no NUMA name; CPUs and NICs share dra.net/numaNode."""
    cpus = device("numa0", {NUMA: 0, "dra.net/numaNode": 0})
    on = cluster(a_slice("dra.cpu", cpus), a_slice("dra.net", nic("a", "pci0000:00", 0)))
    drawn = ClaimSketch(
        requests=(request("cpu", "dra.cpu"), request("nic", NIC)),
        links=(Link(name="l", requests=("cpu", "nic"), where="numaNode"),),
    )
    assert attribute_for(on, drawn, drawn.links[0], R136).name == "dra.net/numaNode"


def test_names_with_values_of_different_types_are_no_choice():
    """Int 1 and string "1" never match (docs/semantics.md 3.9.8)."""
    other = device("a", {ROOT: 5})
    assert chosen(two_kinds(other), "pcieRoot").name == ""


def test_devices_that_lack_the_attribute_are_counted():
    assert chosen(two_kinds(nic("a", "pci0000:00"), nic("b")), "pcieRoot").lacking == {"nic": 1}


def test_a_list_counts_only_with_its_gate_and_never_before_1_37():
    """The scheduler of 1.36 never passes the gate on (docs/semantics.md 3.9.12)."""
    listed = device("a", {})
    listed = type(listed)(name="a", attributes={ROOT: DeviceAttribute(strings=("pci0000:00",))})
    on = two_kinds(listed)
    assert chosen(on, "pcieRoot", KubernetesRelease("1.36", {"DRAListTypeAttributes": True})).name == ""
    assert chosen(on, "pcieRoot", R137_LISTS).name == ROOT


def test_a_value_that_stands_for_not_known_is_no_place():
    """The SR-IOV driver publishes -1 and "" where sysfs says nothing."""
    on = cluster(a_slice(GPU, gpu(0, "")), a_slice("dra.net", device("a", {ROOT: ""})))
    assert not option(on, "pcieRoot", "nic").enabled


@pytest.mark.parametrize("how", How)
def test_a_socket_that_numa_nodes_tell_can_be_chosen_where_the_planner_keeps_it(how):
    """What is on one NUMA node is in one socket; two unknown sockets are never known to differ."""
    on = cluster(a_slice(GPU, gpu(0, "r0", **{NUMA: 0})), a_slice("dra.net", nic("a", "r0", 0)))
    drawn = ClaimSketch(requests=sketch().requests, links=(Link("l", ("gpu", "nic"), "socket", how),))
    found = next(o for o in link_options(on, drawn, drawn.links[0], R136) if o.where == "socket")
    assert found.enabled == checked_plan(on, drawn, release=R136).fits == (how is not How.APART)


def test_an_option_names_the_side_that_lacks_it():
    found = option(two_kinds(nic("a", "pci0000:00", 0)), "dra.net/numaNode")
    assert (found.enabled, found.reason) == (False, "gpu publishes no dra.net/numaNode")


def test_a_level_that_is_only_derived_can_be_planned_but_not_written():
    found = option(two_kinds(nic("a", "pci0000:00", 0)), "numaNode")
    assert (found.enabled, found.writable) == (True, False)
    assert found.reason == "Kubernetes cannot express this: gpu publishes no NUMA node (nic: dra.net/numaNode)"


def test_options_begin_with_the_levels_from_near_to_far_and_end_with_what_is_greyed():
    drawn = sketch()
    options = link_options(two_kinds(nic("a", "pci0000:00")), drawn, drawn.links[0], R136)
    assert [o.where for o in options[:4]] == ["switch", "pcieRoot", "numaNode", "socket"]
    enabled = [o.enabled for o in options[4:]]
    assert enabled == sorted(enabled, reverse=True)


def test_an_end_that_matches_nothing_is_the_reason():
    drawn = ClaimSketch(
        requests=(request("gpu", GPU), request("nic", NIC, 1, "false")),
        links=(Link(name="l", requests=("gpu", "nic")),),
    )
    found = link_options(two_kinds(nic("a", "pci0000:00")), drawn, drawn.links[0], R136)[1]
    assert (found.enabled, found.reason) == (False, "no device matches nic")


def test_an_attribute_that_a_person_named_is_taken_as_it_is():
    on = two_kinds(nic("a"))
    assert chosen(on, "x.example/rack").name == "x.example/rack"
    assert attribute("v").string == "v"
