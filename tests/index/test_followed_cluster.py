"""A cluster that changed answers as one that is read afresh, whatever was derived before the change."""

from __future__ import annotations

import dataclasses
import pickle

import pytest
from msgspec.structs import replace

import dra_lab
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import DeviceTaint
from dra_lab.model.nodes import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, NodeSpec, ObjectMeta
from dra_lab.model.slices import DeviceTaintRule, DeviceTaintRuleSpec


def with_node(cluster: Cluster, **fields):
    return {"nodes": (replace(cluster.nodes[0], **fields), *cluster.nodes[1:])}


def cordoned(cluster: Cluster):
    """A node as `kubectl cordon` leaves it."""
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    return with_node(cluster, spec=NodeSpec(unschedulable=True, taints=(taint,)))


def labelled(cluster: Cluster):
    """A node with another zone."""
    metadata = cluster.nodes[0].metadata
    return with_node(
        cluster, metadata=replace(metadata, labels={**metadata.labels, "topology.kubernetes.io/zone": "other"})
    )


def published_again(cluster: Cluster):
    """A slice with one device less, in the next generation of its pool."""
    old = cluster.slices[0]
    pool = replace(old.spec.pool, generation=old.spec.pool.generation + 1)
    return {
        "slices": (replace(old, spec=replace(old.spec, pool=pool, devices=old.spec.devices[1:])), *cluster.slices[1:])
    }


def ruled(cluster: Cluster):
    """One more DeviceTaintRule, for every device."""
    spec = DeviceTaintRuleSpec(DeviceTaint(key="k", effect="NoSchedule"))
    return {"taint_rules": (*cluster.taint_rules, DeviceTaintRule(metadata=ObjectMeta(name="rule"), spec=spec))}


CHANGES = {
    "a claim goes": lambda cluster: {"claims": cluster.claims[1:]},
    "a pod goes": lambda cluster: {"pods": cluster.pods[1:]},
    "a node is cordoned": cordoned,
    "a node gets a label": labelled,
    "a node goes": lambda cluster: {"nodes": cluster.nodes[1:]},
    "a slice is published again": published_again,
    "a class goes": lambda cluster: {"classes": cluster.classes[1:]},
    "a taint rule comes": ruled,
}


def answers(cluster: Cluster) -> tuple[object, ...]:
    """Return what is shown of a cluster, and the plan of a claim on it."""
    plan = dra_lab.make_plan(cluster, dra_lab.read_sketch("sample:eks-p4d/gpu-nic-pairs"), release="1.37")
    devices = dra_lab.frame(cluster).to_dict("list")
    return (
        devices,
        [str(finding) for finding in dra_lab.check(cluster)],
        dra_lab.hierarchies(cluster),
        (plan.status, plan.node, plan.fitting_nodes, plan.placements, plan.goals),
    )


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_cluster_answers_as_one_that_is_read_afresh(change):
    before = dra_lab.load_cluster("sample:eks-p4d")
    first = answers(before)
    fields = CHANGES[change](before)
    fresh = dataclasses.replace(pickle.loads(pickle.dumps(before)), **fields)
    assert answers(before.with_objects(**fields)) == answers(fresh)
    assert answers(before) == first


def test_a_label_moves_devices_whose_slice_selects_nodes():
    cluster = dra_lab.load_cluster("sample:eks-p4d")
    zone = cluster.nodes[0].metadata.labels["topology.kubernetes.io/zone"]
    wanted = NodeSelectorRequirement(key="topology.kubernetes.io/zone", operator="In", values=(zone,))
    term = NodeSelectorTerm(match_expressions=(wanted,))
    spec = replace(cluster.slices[0].spec, node_name=None, node_selector=NodeSelector(node_selector_terms=(term,)))
    before = cluster.with_objects(slices=(replace(cluster.slices[0], spec=spec), *cluster.slices[1:]))
    after = before.with_objects(**labelled(before))
    node = before.nodes[0].name
    shown = [dra_lab.frame(world).groupby("node")["device"].get_group(node) for world in (before, after)]
    assert [names.str.startswith(f"{spec.driver}/").any() for names in shown] == [True, False]
