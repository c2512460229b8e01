"""What is derived from a cluster is kept for the next snapshot as far as nothing changed that it depends on."""

import pickle

import pytest
from msgspec.structs import replace

from dra_lab.index.pools import gather_pools
from dra_lab.model.device import DeviceTaint
from dra_lab.model.memo import (
    once_per_claims,
    once_per_devices,
    once_per_hardware,
    once_per_labels,
    once_per_rules,
    once_per_slice,
    once_per_snapshot,
)
from dra_lab.model.nodes import NodeSpec, ObjectMeta
from dra_lab.model.slices import DeviceTaintRule, DeviceTaintRuleSpec
from dra_lab.sources import load_cluster, sample_path

ONCE = {
    "devices": once_per_devices,
    "hardware": once_per_hardware,
    "labels": once_per_labels,
    "rules": once_per_rules,
    "claims": once_per_claims,
    "snapshot": once_per_snapshot,
}


def cordoned(cluster):
    """A node as kubectl cordon leaves it."""
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    node = replace(cluster.nodes[0], spec=NodeSpec(unschedulable=True, taints=(taint,)))
    return {"nodes": (node, *cluster.nodes[1:])}


def labelled(cluster):
    """A node with another label."""
    node = cluster.nodes[0]
    labels = {**node.metadata.labels, "rack": "7"}
    return {"nodes": (replace(node, metadata=replace(node.metadata, labels=labels)), *cluster.nodes[1:])}


def published_again(cluster):
    """A slice with the next generation of its pool."""
    old = cluster.slices[0]
    pool = replace(old.spec.pool, generation=old.spec.pool.generation + 1)
    return {"slices": (replace(old, spec=replace(old.spec, pool=pool)), *cluster.slices[1:])}


def ruled(cluster):
    """One more DeviceTaintRule."""
    spec = DeviceTaintRuleSpec(DeviceTaint(key="k", effect="NoSchedule"))
    return {"taint_rules": (*cluster.taint_rules, DeviceTaintRule(metadata=ObjectMeta(name="rule"), spec=spec))}


CHANGES = {
    "a claim goes": (lambda cluster: {"claims": cluster.claims[1:]}, {"rules", "devices", "hardware", "labels"}),
    "a pod goes": (lambda cluster: {"pods": cluster.pods[1:]}, {"rules", "devices", "hardware", "labels", "claims"}),
    "a node is cordoned": (cordoned, {"rules", "devices", "hardware", "labels", "claims"}),
    "a node gets a label": (labelled, {"rules", "devices", "hardware", "claims"}),
    "a node goes": (lambda cluster: {"nodes": cluster.nodes[1:]}, {"rules", "claims"}),
    "a slice is published again": (published_again, {"rules", "claims"}),
    "a class goes": (lambda cluster: {"classes": cluster.classes[1:]}, {"devices", "claims"}),
    "a taint rule comes": (ruled, {"devices", "claims"}),
    "a topology file is read": (lambda _: {"overlays": {}}, {"rules", "claims"}),
}


@pytest.mark.parametrize("change", CHANGES)
def test_values_are_kept_while_the_fields_that_they_may_read_stay(change):
    """Each of these kinds for itself."""
    before = load_cluster(sample_path("eks-p4d"))
    make, kept = CHANGES[change]
    after = before.with_objects(**make(before))
    values = {kind: once(lambda _cluster: object()) for kind, once in ONCE.items()}
    assert {kind for kind, value in values.items() if value(before) is value(after)} == kept


def test_labels_place_devices_where_slices_select_nodes():
    """With a slice for all nodes what is derived from devices is not kept when a node gets a label."""
    cluster = load_cluster(sample_path("eks-p4d"))
    far = replace(cluster.slices[0], spec=replace(cluster.slices[0].spec, node_name=None, all_nodes=True))
    before = cluster.with_objects(slices=(far, *cluster.slices[1:]))
    after = before.with_objects(**labelled(before))
    assert after.memo.devices is not before.memo.devices


@pytest.mark.parametrize("once", ONCE.values(), ids=ONCE)
def test_a_value_is_derived_once_for_each_question(once):
    """A None too."""
    calls = []
    derived = once(lambda _cluster, *key: calls.append(key))
    cluster = load_cluster(sample_path("eks-p4d"))
    for key in ((), (1,), (2,), (1,)):
        derived(cluster, *key)
    assert calls == [(), (1,), (2,)]


def test_a_value_of_a_slice_is_kept_while_the_slice_stays():
    """Values of the other slices are kept when one is published again."""
    before = load_cluster(sample_path("eks-p4d"))
    derived = once_per_slice(lambda _cluster, _slice: object())
    values = [derived(before, item) for item in before.slices]
    after = before.with_objects(**published_again(before))
    assert [derived(after, item) for item in after.slices][1:] == values[1:]


def test_a_value_of_a_slice_is_derived_again_when_it_is_published_again():
    """An equal slice counts as another one."""
    before = load_cluster(sample_path("eks-p4d"))
    derived = once_per_slice(lambda _cluster, _slice: object())
    value = derived(before, before.slices[0])
    after = before.with_objects(slices=(replace(before.slices[0]), *before.slices[1:]))
    assert derived(after, after.slices[0]) is not value


def test_values_of_slices_that_are_gone_are_not_kept():
    """A cluster that is followed for days does not grow."""
    before = load_cluster(sample_path("eks-p4d"))
    derived = once_per_slice(lambda _cluster, _slice: object())
    for item in before.slices:
        derived(before, item)
    after = before.with_objects(slices=before.slices[1:])
    assert sum(map(len, after.memo.slices.values())) == len(before.slices) - 1


def test_nodes_are_those_of_the_snapshot_while_hardware_is_kept():
    """A lookup returns the node as it is now."""
    before = load_cluster(sample_path("eks-p4d"))
    name = before.nodes[0].name
    _ = before.node_by_name
    after = before.with_objects(**cordoned(before))
    assert after.node_by_name[name] is after.nodes[0]


def test_a_cluster_travels_without_what_is_derived_from_it():
    """For a large cluster, that is a hundred times as much."""
    cluster = load_cluster(sample_path("eks-p4d"))
    alone = len(pickle.dumps(cluster))
    gather_pools(cluster, cluster.node_names[0])
    assert (len(pickle.dumps(cluster)), pickle.loads(pickle.dumps(cluster))) == (alone, cluster)
