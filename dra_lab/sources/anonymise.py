"""A cluster under pseudonyms, which hide its owner and leave its plans unchanged."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from msgspec import structs

from dra_lab.index.hyper_node_members import with_exact_members
from dra_lab.model.allocation import DeviceRequestAllocationResult, ResourceClaimConsumerReference
from dra_lab.model.claims import DeviceClass, DeviceSelector, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import full_name
from dra_lab.model.nodes import Node, NodeSystemInfo, ObjectMeta
from dra_lab.model.slices import DeviceTaintRule
from dra_lab.model.topologies import HyperNode, Member, NameMatch, ResourceFlavor, TopologyObject
from dra_lab.sources.anonymise_cel import replace_in_cel
from dra_lab.sources.anonymise_devices import Replacing, device_names
from dra_lab.sources.anonymise_known import keeps_key, level_in
from dra_lab.sources.anonymise_names import AnonymousNames
from dra_lab.sources.anonymise_pods import replace_pod
from dra_lab.sources.anonymise_queues import replace_queue
from dra_lab.sources.snapshots_kept import portable
from dra_lab.sources.snapshots_places import renamed_places

_RELEASE = re.compile(r"v?\d+(?:\.\d+){0,2}")
"""The part of a kubelet's version that is Kubernetes' own, without what its builder adds (`v1.36.2-acme.3`)."""


@dataclass(frozen=True)
class Anonymised:
    """A cluster under pseudonyms, and the pseudonym of everything that was replaced, by kind and original.

    A device's original is `driver/name`; all others are the texts themselves. `left_out` counts what is in neither.
    """

    cluster: Cluster
    mapping: Mapping[str, Mapping[str, str]]
    left_out: Mapping[str, int]

    @property
    def counts(self) -> dict[str, int]:
        """Return how many different texts of each kind were replaced."""
        return {kind: len(table) for kind, table in sorted(self.mapping.items())}


def anonymise(cluster: Cluster) -> Anonymised:
    """Return a cluster whose names and identifiers are pseudonyms, the same for equal texts and in the same order.

    It replaces names of nodes, hosts, pools, slices, namespaces, claims, pods, containers, taint rules, topologies and
    queues, and the names that pods give to their claims. It replaces UIDs, UUIDs, serials, MACs, GUIDs, IP addresses
    and instance ids everywhere. It replaces values of attributes and labels, except models, modes, versions and places
    inside a machine. It replaces keys of labels that few clusters have, and what a builder added to the kubelet's
    version. It replaces types of conditions, and what follows the three numbers of a version. Kept: names of drivers,
    classes, attributes, capacities, counters and requests, PCI addresses, quantities. Selectors are rewritten in the
    same way. Only what `snapshots_kept` keeps is in the result.
    """
    kept, left_out = portable(_without_patterns(cluster))
    names = AnonymousNames(_protected(kept))
    replacing = Replacing(names)
    _replace_all(kept, replacing)  # collects
    device_names(kept.slices, names)
    names.assign(_pools_by_driver(kept))
    replacing.devices = device_names(kept.slices, names)
    mapping = dict(names.tables)
    renamed = {
        f"{driver}/{old}": new
        for driver, table in replacing.devices.items()
        for old, new in table.items()
        if old != new
    }
    if renamed:
        mapping["device"] = renamed
    hidden = _replace_all(kept, replacing)
    node = partial(replacing.names.of, "node")
    hidden = replace(hidden, file_places=renamed_places(cluster.file_places, node, replacing.device_name))
    return Anonymised(hidden, {kind: table for kind, table in mapping.items() if table}, left_out)


def mapping_text(hidden: Anonymised) -> str:
    """Return the pseudonyms as JSON, `{kind: {original: pseudonym}}`, only for the person who captured the cluster."""
    return json.dumps(hidden.mapping, indent=1, ensure_ascii=False) + "\n"


def _protected(cluster: Cluster) -> set[str]:
    """Return the texts that are never taken for a name: drivers, classes, names of attributes and capacities."""
    found = {*cluster.drivers, *cluster.class_by_name, "resource.kubernetes.io"}
    found |= {str(c.spec.extended_resource_name) for c in cluster.classes if c.spec.extended_resource_name}
    for item in cluster.slices:
        for device in item.spec.devices or ():
            for key in (*device.attributes, *device.capacity):
                domain, _, identifier = full_name(key, item.spec.driver).rpartition("/")
                found.update((key, domain, identifier))
    return found


def _pools_by_driver(cluster: Cluster) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for item in cluster.slices:
        found[item.spec.driver].add(item.spec.pool.name)
    return found


def _replace_all(cluster: Cluster, replacing: Replacing) -> Cluster:
    return replace(
        cluster,
        slices=tuple(replacing.slice(item) for item in cluster.slices),
        classes=tuple(_class(item, replacing) for item in cluster.classes),
        nodes=tuple(_node(item, replacing) for item in cluster.nodes),
        claims=tuple(_claim(item, replacing) for item in cluster.claims),
        taint_rules=tuple(_rule(item, replacing) for item in cluster.taint_rules),
        pods=tuple(replace_pod(item, replacing) for item in cluster.pods),
        topologies=tuple(_topology(item, replacing) for item in cluster.topologies),
        queues=tuple(replace_queue(item, replacing) for item in cluster.queues),
        findings=cluster.findings,
    )


def _class(item: DeviceClass, replacing: Replacing) -> DeviceClass:
    spec = structs.replace(item.spec, selectors=_selectors(item.spec.selectors, replacing))
    return structs.replace(item, metadata=ObjectMeta(name=item.name), spec=spec)


def _node(item: Node, replacing: Replacing) -> Node:
    labels = {replacing.label_key(k): replacing.label_value(k, v) for k, v in item.metadata.labels.items()}
    taints = tuple(_node_taint(taint, replacing) for taint in item.spec.taints)
    metadata = ObjectMeta(name=replacing.names.of("node", item.name), labels=labels)
    built = _RELEASE.match(item.status.node_info.kubelet_version)
    status = structs.replace(
        item.status,
        node_info=NodeSystemInfo(kubelet_version=built[0] if built else ""),
        allocatable={replacing.resource(key): value for key, value in item.status.allocatable.items()},
        capacity={replacing.resource(key): value for key, value in item.status.capacity.items()},
    )
    return structs.replace(item, metadata=metadata, spec=structs.replace(item.spec, taints=taints), status=status)


def _node_taint(taint: Mapping[str, object], replacing: Replacing) -> dict[str, object]:
    key, value = str(taint.get("key") or ""), str(taint.get("value") or "")
    new: dict[str, object] = {**taint, "key": replacing.label_key(key)} if key else {**taint}
    return {**new, "value": replacing.label_value(key, value)} if value else new


def _claim(item: ResourceClaim, replacing: Replacing) -> ResourceClaim:
    devices, status = item.spec.devices, item.status
    requests = tuple(
        structs.replace(
            request,
            exactly=_ask(request.exactly, replacing) if request.exactly else None,
            first_available=tuple(_ask(part, replacing) for part in request.first_available),
        )
        for request in devices.requests
    )
    allocation = status.allocation
    if allocation is not None:
        results = tuple(_result(result, replacing) for result in allocation.devices.results)
        allocation = structs.replace(
            allocation,
            devices=structs.replace(allocation.devices, results=results),
            node_selector=replacing.node_selector(allocation.node_selector),
            allocation_timestamp=None,
        )
    status = structs.replace(
        status,
        allocation=allocation,
        reserved_for=tuple(_consumer(one, replacing) for one in status.reserved_for),
        devices=tuple(_device_status(one, replacing) for one in status.devices),
    )
    spec = structs.replace(item.spec, devices=structs.replace(devices, requests=requests))
    return structs.replace(item, metadata=_meta(item.metadata, "claim", replacing), spec=spec, status=status)


def _meta(meta: ObjectMeta, kind: str, replacing: Replacing) -> ObjectMeta:
    names = replacing.names
    gone = meta.deletion_timestamp and "2000-01-01T00:00:00Z"  # that it is being deleted matters, not when
    namespace = names.of("namespace", meta.namespace)
    return ObjectMeta(
        name=names.of(kind, meta.name), namespace=namespace, uid=uid_of(meta.uid, names), deletion_timestamp=gone
    )


def uid_of(uid: str, names: AnonymousNames) -> str:
    """Return the pseudonym of a UID; the same one that it has inside other texts."""
    return names.of("uid", uid.lower())


def _ask(part: Any, replacing: Replacing) -> Any:
    literal = replacing.names.literal
    derived = tuple(
        structs.replace(one, expression=replace_in_cel(one.expression, literal)) for one in part.derived_attributes
    )
    tolerations = tuple(
        structs.replace(one, key=replacing.label_key(one.key), value=replacing.free_text(one.value))
        for one in part.tolerations
    )
    selectors = _selectors(part.selectors, replacing)
    return structs.replace(part, selectors=selectors, tolerations=tolerations, derived_attributes=derived)


def _selectors(selectors: tuple[DeviceSelector, ...], replacing: Replacing) -> tuple[DeviceSelector, ...]:
    return tuple(
        structs.replace(
            selector,
            cel=selector.cel
            and structs.replace(
                selector.cel, expression=replace_in_cel(selector.cel.expression, replacing.names.literal)
            ),
        )
        for selector in selectors
    )


def _result(result: DeviceRequestAllocationResult, replacing: Replacing) -> DeviceRequestAllocationResult:
    tolerations = tuple(_toleration(one, replacing) for one in result.tolerations)
    return structs.replace(
        result,
        pool=replacing.names.of("pool", result.pool),
        device=replacing.device_name(result.driver, result.device),
        share_id=uid_of(result.share_id, replacing.names) if result.share_id else result.share_id,
        tolerations=tolerations,
        binding_conditions=tuple(map(replacing.condition, result.binding_conditions)),
        binding_failure_conditions=tuple(map(replacing.condition, result.binding_failure_conditions)),
    )


def _toleration(one: Mapping[str, object], replacing: Replacing) -> dict[str, object]:
    new = dict(one)
    if "key" in one:
        new["key"] = replacing.label_key(str(one["key"]))
    if one.get("value"):
        new["value"] = replacing.free_text(str(one["value"]))
    return new


def _consumer(consumer: ResourceClaimConsumerReference, replacing: Replacing) -> ResourceClaimConsumerReference:
    kind = "pod" if consumer.resource in ("pods", "") else "consumer"
    name, uid = replacing.names.of(kind, consumer.name), uid_of(consumer.uid, replacing.names)
    group, resource = consumer.api_group, consumer.resource
    if group and not keeps_key(f"{group}/x"):
        group, resource = f"{replacing.names.of('label', group)}.example", "consumers"
    return structs.replace(consumer, name=name, uid=uid, api_group=group, resource=resource)


def _device_status(entry: Mapping[str, object], replacing: Replacing) -> dict[str, object]:
    new = {key: value for key, value in entry.items() if key in ("driver", "pool", "device", "shareID", "conditions")}
    driver = str(entry.get("driver", ""))
    new["pool"] = replacing.names.of("pool", str(entry.get("pool", "")))
    new["device"] = replacing.device_name(driver, str(entry.get("device", "")))
    if "shareID" in new:
        new["shareID"] = uid_of(str(new["shareID"]), replacing.names)
    conditions = new.get("conditions")
    if isinstance(conditions, list | tuple):
        new["conditions"] = [
            {"type": replacing.condition(str(one.get("type", ""))), "status": str(one.get("status", ""))}
            for one in conditions
        ]
    return new


def _rule(item: DeviceTaintRule, replacing: Replacing) -> DeviceTaintRule:
    names, wanted = replacing.names, item.spec.device_selector
    if wanted is not None:
        wanted = structs.replace(
            wanted,
            pool=wanted.pool and names.of("pool", wanted.pool),
            device=wanted.device and replacing.device_name(wanted.driver or "", wanted.device),
        )
    spec = structs.replace(item.spec, taint=replacing.taint(item.spec.taint), device_selector=wanted)
    return structs.replace(item, metadata=ObjectMeta(name=names.of("rule", item.metadata.name)), spec=spec)


def _topology(item: TopologyObject, replacing: Replacing) -> TopologyObject:
    names = replacing.names
    if isinstance(item, HyperNode):
        tier = level_in(item.spec.tier_name) or names.of("tier", item.spec.tier_name)
        members = tuple(_member(member, replacing) for member in item.spec.members)
        hyper = structs.replace(item.spec, tier_name=tier, members=members)
        return structs.replace(item, metadata=ObjectMeta(name=names.of("hypernode", item.name)), spec=hyper)
    if isinstance(item, ResourceFlavor):
        labels = {replacing.label_key(k): replacing.label_value(k, v) for k, v in item.spec.node_labels.items()}
        flavor = structs.replace(
            item.spec,
            node_labels=labels,
            node_taints=tuple(_node_taint(one, replacing) for one in item.spec.node_taints),
            tolerations=tuple(_node_taint(one, replacing) for one in item.spec.tolerations),
            topology_name=names.of("topology", item.spec.topology_name),
        )
        return structs.replace(item, metadata=ObjectMeta(name=names.of("flavor", item.name)), spec=flavor)
    levels = tuple(
        structs.replace(one, node_label=replacing.label_key(one.node_label), alias=level_in(one.alias))
        for one in item.spec.levels
    )
    spec = structs.replace(item.spec, levels=levels)
    return structs.replace(item, metadata=ObjectMeta(name=names.of("topology", item.name)), spec=spec)


def _member(member: Member, replacing: Replacing) -> Member:
    exact = member.selector.exact_match
    if exact is None:
        return member
    kind = "node" if member.type == "Node" else "hypernode"
    selector = structs.replace(member.selector, exact_match=NameMatch(name=replacing.names.of(kind, exact.name)))
    return structs.replace(member, selector=selector)


def _without_patterns(cluster: Cluster) -> Cluster:
    """Return a cluster whose HyperNodes name their members, since a pattern does not match pseudonyms."""
    hyper_nodes = [item.name for item in cluster.topologies if isinstance(item, HyperNode)]
    topologies = tuple(
        with_exact_members(item, cluster.node_by_name, hyper_nodes) if isinstance(item, HyperNode) else item
        for item in cluster.topologies
    )
    return replace(cluster, topologies=topologies)
