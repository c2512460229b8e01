"""What is derived once for a kind of devices is what is derived for each of its devices."""

import random

import pytest
from changing_clusters import a_world
from msgspec.structs import replace
from random_clusters import RULES, random_sketch
from random_pods import a_release

from dra_lab.cel.matching import ERROR, MATCH, SELECTOR, Matching
from dra_lab.index.catalogue import catalogue, count_kinds
from dra_lab.index.device_kinds import DeviceKinds, keys_read, type_of
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.index.node_index import node_index
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.device import Device, DeviceAttribute, DeviceTaint
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.sketch import asks
from dra_lab.scheduler.identical_nodes import NodeStates
from dra_lab.sketch.cluster_candidates import candidates
from dra_lab.sketch.compile import compile_claim

WORLDS = range(40)
DRIVER = "gpu.nvidia.com"


def drawn(seed):
    """A random cluster with the documented classes, a release, and a random claim."""
    rng = random.Random(f"kinds {seed}")
    cluster, release = with_documented_classes(a_world(rng)), a_release(rng)
    return cluster, release, replace(random_sketch(rng, RULES, cluster), name="claim")


def asks_of(sketch):
    """All ways to serve a request."""
    return [ask for request in sketch.requests for ask in asks(request)]


@pytest.mark.parametrize("seed", WORLDS)
def test_devices_of_a_kind_publish_the_same(seed):
    """The same values of the attributes that are read, and the same types of all."""
    cluster, _, _ = drawn(seed)
    for item in catalogue(cluster).devices:
        ours, theirs = item.device.attributes, item.kind.example.attributes
        assert {name: type_of(value) for name, value in ours.items()} == {n: type_of(v) for n, v in theirs.items()}
        assert all(ours.get(key) == theirs.get(key) for key in keys_read(item.driver))
        assert (item.device.capacity, item.device.taints) == (item.kind.example.capacity, item.kind.example.taints)


@pytest.mark.parametrize("seed", WORLDS)
def test_a_request_means_the_devices_that_match_one_by_one(seed):
    """In their order, with the messages of selectors that fail."""
    cluster, release, sketch = drawn(seed)
    known = catalogue(cluster)
    for ask in asks_of(sketch):
        found, matching = candidates(cluster, ask, release), Matching(cluster, release)
        match_of = [(item, matching.match(ask, item.driver, item.device)) for item in known.devices]
        devices = tuple(item for item, match in match_of if match.stage == MATCH)
        in_class = tuple(item for item, match in match_of if match.stage in (MATCH, SELECTOR, ERROR))
        assert (found.devices, found.in_class if not found.error else in_class) == (devices, in_class)
        assert found.error or found.failed == {i.id: match.error for i, match in match_of if match.stage == ERROR}
        assert found.shapes == known.count(count_kinds(devices))


@pytest.mark.parametrize("seed", WORLDS)
def test_the_node_index_has_the_stages_of_devices_one_by_one(seed):
    """On every node, also where another node has the same kinds of devices."""
    cluster, release, sketch = drawn(seed)
    index, matching = node_index(cluster, release), Matching(cluster, release)
    for ask in asks_of(sketch):
        for name in cluster.node_names:
            devices = index.view(name).devices
            expected = tuple(matching.match(ask, item.driver, item.device).stage for item in devices)
            assert index.stages(ask, name) == expected


@pytest.mark.parametrize("seed", WORLDS)
def test_node_states_by_kind_are_those_of_devices_one_by_one(seed, monkeypatch):
    """The groups of nodes are the same."""
    cluster, release, sketch = drawn(seed)
    spec = compile_claim(sketch, cluster, release).spec
    claim = ResourceClaim(metadata=ObjectMeta(name="claim"), spec=spec)
    by_kind = NodeStates(cluster, release).groups([claim])
    monkeypatch.setattr(NodeStates, "_by_kind", lambda *_: None)
    assert by_kind == NodeStates(cluster, release).groups([claim])


CHANGES = {
    "a value that identifies a device": ({"uuid": DeviceAttribute(string="GPU-2")}, {}, True),
    "a value that is read": ({"productName": DeviceAttribute(string="H200")}, {}, False),
    "a type": ({"uuid": DeviceAttribute(int_=7)}, {}, False),
    "a value that says nothing": ({"uuid": DeviceAttribute(string=" ")}, {}, False),
    "one more attribute": ({"other": DeviceAttribute(string="x")}, {}, False),
    "a taint": ({}, {"taints": (DeviceTaint(key="k", effect="NoSchedule"),)}, False),
    "that it can be shared": ({}, {"allow_multiple_allocations": True}, False),
    "its name": ({}, {"name": "gpu-1"}, True),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_kind_is_distinguished_by_what_something_is_derived_from(change):
    """By nothing else, so that there are few."""
    attributes, fields, same = CHANGES[change]
    plain = {"uuid": DeviceAttribute(string="GPU-1"), "productName": DeviceAttribute(string="H100")}
    one = Device(name="gpu-0", attributes=plain)
    other = Device(**{"name": "gpu-0", "attributes": {**plain, **attributes}, **fields})
    first, second = DeviceKinds().of(DRIVER, (one, other))
    assert (first is second, first == second) == (same, same)
