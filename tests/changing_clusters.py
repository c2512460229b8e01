"""Changes of a cluster by drivers and people while it is followed: slices, labels, nodes and claims."""

from __future__ import annotations

import dataclasses
import random

from msgspec.structs import replace
from random_clusters import RULES, random_fleet

from dra_lab.model.cluster import Cluster
from dra_lab.model.device import DeviceAttribute, DeviceTaint
from dra_lab.model.names import DeviceID
from dra_lab.model.slices import ResourceSlice


def anew(cluster: Cluster) -> Cluster:
    """Return the same cluster as if it were read for the first time."""
    return dataclasses.replace(cluster)


def changes(rng: random.Random, cluster: Cluster) -> dict[str, tuple]:
    """Return the fields that a random change leaves different: mostly one slice, label, node or claim."""
    kinds = [republished, republished, republished, gone, moved, left, joined, released, gone_rule]
    return rng.choice(kinds)(rng, cluster)


def republished(rng, cluster):
    """One slice is published again: a device less, renamed, elsewhere, tainted, or all as it was."""
    at = rng.randrange(len(cluster.slices))
    found = cluster.slices[at]
    spec, devices = found.spec, list(found.spec.devices or ())
    if devices:
        some = rng.randrange(len(devices))
        own = devices[some]
        devices[some] = rng.choice(
            [
                replace(own, name=f"{own.name}-x"),
                replace(own, attributes={**own.attributes, "resource.kubernetes.io/numaNode": DeviceAttribute(int_=7)}),
                replace(own, taints=(DeviceTaint(key="k", effect="NoSchedule"),)),
                replace(own, attributes={**own.attributes, "tags": DeviceAttribute(strings=("a", "b"))}),
                replace(own),
            ]
        )
        if rng.random() < 0.3:
            del devices[some]
        spec = replace(spec, devices=tuple(devices) or None)
    if rng.random() < 0.3:
        spec = replace(spec, pool=replace(spec.pool, generation=spec.pool.generation + 1))
    made = replace(found, spec=spec)
    return {"slices": (*cluster.slices[:at], made, *cluster.slices[at + 1 :])}


def gone(rng, cluster):
    """One slice is there no more."""
    at = rng.randrange(len(cluster.slices))
    return {"slices": (*cluster.slices[:at], *cluster.slices[at + 1 :])} if len(cluster.slices) > 1 else {}


def moved(rng, cluster):
    """One node is in another zone, or all nodes are read again."""
    at = rng.randrange(len(cluster.nodes))
    node = cluster.nodes[at]
    labels = {**node.metadata.labels, "zone": rng.choice("ab")}
    changed = replace(node, metadata=replace(node.metadata, labels=labels))
    return {"nodes": (*cluster.nodes[:at], changed, *cluster.nodes[at + 1 :])}


def left(rng, cluster):
    """One node leaves with its slices; the others stay."""
    if len(cluster.nodes) < 3:
        return {}
    name = rng.choice(cluster.nodes).name
    stay = tuple(node for node in cluster.nodes if node.name != name)
    return {"nodes": stay, "slices": tuple(s for s in cluster.slices if s.spec.node_name != name)}


def joined(rng, cluster):
    """A node joins that has what another one has; its own slices may come later."""
    like = rng.choice(cluster.nodes)
    name = f"{like.name}-{rng.randrange(1000)}"
    labels = {**like.metadata.labels, "kubernetes.io/hostname": name}
    node = replace(like, metadata=replace(like.metadata, name=name, labels=labels))
    slices = tuple(_like(found, like.name, name) for found in cluster.slices_by_node.get(like.name, ()))
    return {"nodes": (*cluster.nodes, node), **({"slices": (*cluster.slices, *slices)} if rng.random() < 0.7 else {})}


def _like(found: ResourceSlice, old: str, new: str) -> ResourceSlice:
    pool = replace(found.spec.pool, name=found.spec.pool.name.replace(old, new))
    metadata = replace(found.metadata, name=found.metadata.name.replace(old, new))
    return replace(found, metadata=metadata, spec=replace(found.spec, node_name=new, pool=pool))


def released(rng, cluster):
    """A claim goes."""
    at = rng.randrange(len(cluster.claims)) if cluster.claims else 0
    return {"claims": (*cluster.claims[:at], *cluster.claims[at + 1 :])} if cluster.claims else {}


def gone_rule(rng, cluster):
    """The DeviceTaintRules go, or come back in another order."""
    rules = list(cluster.taint_rules)
    rng.shuffle(rules)
    return {"taint_rules": tuple(rules[: rng.randint(0, len(rules))])}


def a_world(rng: random.Random) -> Cluster:
    """Return a cluster to begin with, of several nodes; half of them without pools that several nodes see."""
    cluster = random_fleet(rng, rng.randint(4, 7), RULES)
    if rng.random() < 0.5:
        cluster = Cluster(
            tuple(s for s in cluster.slices if s.spec.node_name),
            cluster.classes,
            cluster.nodes,
            cluster.claims,
            cluster.taint_rules,
            name=cluster.name,
        )
    return cluster


def devices_of(cluster: Cluster) -> set[DeviceID]:
    """Return all devices that are published."""
    pools = ((s.spec.driver, s.spec.pool.name, s.spec.devices or ()) for s in cluster.slices)
    return {DeviceID(driver, pool, device.name) for driver, pool, devices in pools for device in devices}
