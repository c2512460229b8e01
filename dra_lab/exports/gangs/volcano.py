"""A gang for Volcano 1.15: a Job with tasks, and HyperNodes from a hierarchy.

Sources: volcano-sh/volcano v1.15.1, `pkg/webhooks/admission/jobs/validate/admit_job.go`,
`docs/user-guide/how_to_use_network_topology_aware_scheduling.md`, its issue 5189 (names of tiers in partitions).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dra_lab.exports.gangs.gang_parts import Cannot, GangParts, Object, Places
from dra_lab.exports.gangs.level_keys import is_host, pin_affinity
from dra_lab.exports.workload import mapping_in, pod_metadata
from dra_lab.findings import Finding, Severity
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.workload import HOST, PodGroup
from dra_lab.sketch.claim_objects import labels
from dra_lab.sketch.object_names import ObjectNames, object_name
from dra_lab.topology.presets import HOSTNAME

JOB = "batch.volcano.sh/v1alpha1"
HYPER_NODE = "topology.volcano.sh/v1alpha1"
POD_GROUP = "scheduling.volcano.sh/v1beta1"
SCHEDULER = "volcano"
DEFAULT_QUEUE = "default"
_GROUP_NAME = "scheduling.k8s.io/group-name"
_TIER = re.compile(r"HyperNode tier (\d+)")


def objects(parts: GangParts) -> dict[str, list[Object]]:
    """Return the objects of a gang by file."""
    found = {"volcano-job.yaml": [_job_of(parts, copy) for copy in range(len(parts.copies))]}
    if hyper_nodes := _hyper_nodes(parts):
        found["hypernodes.yaml"] = hyper_nodes
    return found


def _tier_of(parts: GangParts, level: str) -> int | None:
    """Return the tier of a level: that of the cluster's HyperNodes, else counted from 1 at the innermost level."""
    if not level:
        return None
    tree = parts.hierarchy
    if _existing(parts):
        found = None if is_host(level) or tree is None else _TIER.match(tree.levels[tree.level_index(level)].source)
        return int(found[1]) if found else None
    if is_host(level):
        return 1 if _nodes(parts) else None
    assert tree is not None
    return len(tree.levels) - tree.level_index(level) + _hosts(parts)


def _existing(parts: GangParts) -> bool:
    """Say whether the hierarchy was read from HyperNodes, which the cluster then has."""
    return parts.hierarchy is not None and any(_TIER.match(level.source) for level in parts.hierarchy.levels)


def _partition(group: PodGroup, parts: GangParts) -> tuple[int, str] | None:
    """Return the size and level of the partitions of a task: its coarsest slices, else its own required level."""
    if group.slices:
        return group.slices[0]
    return (group.count, group.level) if group.level and len(parts.groups) > 1 else None


def _least_of(group: PodGroup, parts: GangParts) -> int:
    found = _partition(group, parts)
    return group.least if found is None else -(-group.least // found[0]) * found[0]


def _hosts(parts: GangParts) -> bool:
    return any(map(is_host, parts.required_levels))


def _nodes(parts: GangParts) -> tuple[str, ...]:
    found = (node for domain in (parts.hierarchy.domains if parts.hierarchy else ()) for node in domain.nodes)
    return tuple(dict.fromkeys(found)) or tuple(parts.cluster.node_names)


def _job_of(parts: GangParts, copy: int) -> Object:
    tasks = [_task(parts, copy, group) for group in parts.groups]
    spec: Object = {
        "schedulerName": SCHEDULER,
        "queue": parts.queue or DEFAULT_QUEUE,
        "minAvailable": sum(_least_of(group, parts) for group in parts.groups),
    }
    if parts.priority_class:
        spec["priorityClassName"] = parts.priority_class
    tier = _tier_of(parts, parts.required)
    if tier is not None:
        spec["networkTopology"] = {"mode": "hard", "highestTierAllowed": tier}
    elif any(parts.preferred_of(group) for group in parts.groups) and not parts.required:
        spec["networkTopology"] = {"mode": "soft"}
    metadata = parts.metadata(parts.copies[copy])
    return {"apiVersion": JOB, "kind": "Job", "metadata": metadata, "spec": {**spec, "tasks": tasks}}


def _task(parts: GangParts, copy: int, group: PodGroup) -> Object:
    least = _least_of(group, parts)
    found: Object = {"name": group.name, "replicas": group.count, "minAvailable": least}
    cut = _partition(group, parts)
    tier = _tier_of(parts, cut[1]) if cut else None
    if cut and tier is not None:
        size = cut[0]
        found["partitionPolicy"] = {
            "totalPartitions": group.count // size,
            "partitionSize": size,
            "minPartitions": least // size,
            "networkTopology": {"mode": "hard", "highestTierAllowed": tier},
        }
    return {**found, "template": parts.pod_template(copy, group, spec={"schedulerName": SCHEDULER})}


def _hyper_nodes(parts: GangParts) -> list[Object]:
    """Return HyperNodes for the domains of the hierarchy, inner tiers first."""
    tree = parts.hierarchy
    if _existing(parts) or not (tree or _hosts(parts)):
        return []
    names, below = ObjectNames(), {}
    found: list[Object] = []
    domains = tree.domains if tree else ()
    prefix = object_name(tree.name if tree else "nodes")
    for domain in domains:
        below[domain.path] = names.one(object_name(f"{prefix}-{'-'.join(domain.path)}"))
    hosts = {node: names.one(object_name(f"{prefix}-host-{node}")) for node in _nodes(parts)} if _hosts(parts) else {}
    for node, name in hosts.items():
        found.append(_hyper_node(name, 1, HOST, [_node(node)]))
    for domain in sorted(domains, key=lambda one: -one.level):
        assert tree is not None
        level = tree.levels[domain.level]
        members = [_inner(below[one.path]) for one in domains if one.parent == domain.path]
        inside = {node for one in domains if one.parent == domain.path for node in one.nodes}
        rest = [node for node in domain.nodes if node not in inside]
        if members or hosts:
            members += [_inner(hosts[node]) if hosts else _node(node) for node in rest]
        else:
            wanted = {str(one["key"]): str(one["values"][0]) for one in pin_affinity(tree, domain.path)}
            by_label = {"type": "Node", "selector": {"labelMatch": {"matchLabels": wanted}}}
            members = [_node(node) for node in rest] if HOSTNAME in wanted else [by_label]
        tier = _tier_of(parts, level.name)
        assert tier is not None
        found.append(_hyper_node(below[domain.path], tier, level.name, members))
    return found


def _hyper_node(name: str, tier: int, tier_name: str, members: list[Object]) -> Object:
    metadata = {"name": name, "labels": labels(name, "topology")}
    spec = {"tier": tier, "tierName": tier_name, "members": members}
    return {"apiVersion": HYPER_NODE, "kind": "HyperNode", "metadata": metadata, "spec": spec}


def _node(name: str) -> Object:
    return {"type": "Node", "selector": {"exactMatch": {"name": name}}}


def _inner(name: str) -> Object:
    return {"type": "HyperNode", "selector": {"exactMatch": {"name": name}}}


def edit(value: Any, parts: GangParts, places: Places) -> None:
    """Write the fields of Volcano into a person's own workload."""
    if value.get("apiVersion") == JOB:
        own = _job_of(parts, 0)["spec"]
        value["spec"].pop("networkTopology", None)
        value["spec"].update({name: field for name, field in own.items() if name != "tasks"})
        for (field, _), task in zip(places, own["tasks"], strict=False):
            mine = value_at(value, field.path.removesuffix(".template.spec"))
            mine.pop("partitionPolicy", None)
            mine.update({key: task[key] for key in ("minAvailable", "partitionPolicy") if key in task})
        return
    for field, _ in places:
        mapping_in(pod_metadata(value, field), "annotations")[_GROUP_NAME] = parts.copies[0]
        value_at(value, field.path)["schedulerName"] = SCHEDULER


def own_group(parts: GangParts) -> Object:
    """Return the PodGroup that the pods of a person's own workload name."""
    own = _job_of(parts, 0)["spec"]
    spec = {"minMember": parts.gang.least, "queue": own["queue"]}
    spec |= {key: own[key] for key in ("priorityClassName", "networkTopology") if key in own}
    return {"apiVersion": POD_GROUP, "kind": "PodGroup", "metadata": parts.metadata(parts.copies[0]), "spec": spec}


def cannot(parts: GangParts) -> Iterator[Cannot]:
    """Yield what Volcano cannot express of a gang, most important first."""
    for level in parts.required_levels:
        if _tier_of(parts, level) is None:
            yield Cannot(f"No HyperNode is of the level {level}, so Volcano cannot require it.", (level,))
    soft = any(parts.preferred_of(group) for group in parts.groups)
    if soft and parts.required:
        yield Cannot("Volcano's network topology is hard or soft, so the preferred level is left out.")
    elif soft:
        yield Cannot("Volcano's soft mode prefers close nodes and names no level.")
    for group in parts.groups:
        layers, own = group.slices, group.level
        if len(layers) > 1:
            finer = " and ".join(level for _, level in layers[1:])
            text = f"Volcano cuts a task into one layer of partitions, so the slices in {finer} are left out."
            yield Cannot(text, tuple(level for _, level in layers[1:]))
        if layers and own and len(parts.groups) > 1:
            text = f"Volcano has one level for the partitions of a task, so {own} of {group.name} is left out."
            yield Cannot(text, (own,))
        cut = _partition(group, parts)
        if cut is not None and group.least % cut[0]:
            yield Cannot(
                f"A level of one task is a partition, which is placed as a whole: {group.name} starts all "
                f"{group.count} pods or none, not {group.least} at least."
            )


def findings(parts: GangParts) -> Iterator[Finding]:
    """Yield what Volcano refuses of the files, and what it needs before they are applied."""
    name = parts.gang.name
    queue = parts.queue or "default"
    yield Finding("volcano-queue", Severity.NOTE, name, f"the Queue {queue} must exist and be open", "Create it first.")
    if parts.gang.least < parts.gang.size:
        message = f"Volcano starts {parts.gang.least} pods; the other {parts.gang.size - parts.gang.least} may wait"
        advice = "They need room in the same domain. Require all pods if the job cannot run with fewer."
        yield Finding("volcano-minimum", Severity.WARNING, name, message, advice)
    if parts.requests:
        message = "Volcano ignores claims unless DRA is enabled in its scheduler"
        advice = (
            "Start it with --feature-gates=DynamicResourceAllocation=true and set "
            "predicate.DynamicResourceAllocationEnable of the predicates plugin."
        )
        yield Finding("volcano-dra", Severity.WARNING, name, message, advice)
    if any(request.first_available for _, request in parts.requests):
        message = "Volcano reads a list of alternatives (firstAvailable) only with its gate DRAPrioritizedList"
        yield Finding("volcano-alternatives", Severity.WARNING, name, message, "Add the gate to its --feature-gates.")
    for claim in parts.gang.every_shared_claim:
        message = "that Volcano places a gang with a shared claim is not proven"
        yield Finding("volcano-shared-claim", Severity.WARNING, claim.name, message, "Try it on a test cluster.")
    if parts.wanted_levels:
        message = "Volcano ignores networkTopology unless its scheduler has the plugin network-topology-aware"
        yield Finding("volcano-plugin", Severity.WARNING, name, message, "Enable the plugin.")
        if not _existing(parts):
            message = "the tiers are those of hypernodes.yaml; other HyperNodes in the cluster have other tiers"
            yield Finding(
                "volcano-tiers", Severity.NOTE, name, message, "Remove them first, or export for a hierarchy of them."
            )
