"""A gang for Volcano 1.15: a Job with tasks, and HyperNodes from a hierarchy.

Sources: volcano-sh/volcano v1.15.1, `pkg/webhooks/admission/jobs/validate/admit_job.go`,
`docs/user-guide/how_to_use_network_topology_aware_scheduling.md`, its issue 5189 (names of tiers in partitions).
"""

from __future__ import annotations

import re

from dra_lab.exports.gangs.gang_parts import GangParts, GroupParts, Object, required_levels
from dra_lab.exports.gangs.level_keys import is_host, pin_affinity
from dra_lab.model.hierarchy import Domain
from dra_lab.model.workload import HOST
from dra_lab.sketch.claim_objects import labels
from dra_lab.sketch.object_names import ObjectNames, object_name
from dra_lab.topology.presets import HOSTNAME

JOB = "batch.volcano.sh/v1alpha1"
HYPER_NODE = "topology.volcano.sh/v1alpha1"
SCHEDULER = "volcano"
DEFAULT_QUEUE = "default"
_TIER = re.compile(r"HyperNode tier (\d+)")


def volcano_objects(parts: GangParts) -> dict[str, list[Object]]:
    """Return the objects of a gang by file."""
    found = {"volcano-job.yaml": [job_of(parts, copy) for copy in range(len(parts.copies))]}
    if hyper_nodes := _hyper_nodes(parts):
        found["hypernodes.yaml"] = hyper_nodes
    return found


def tier_of(parts: GangParts, level: str) -> int | None:
    """Return the tier of a level: that of the cluster's HyperNodes, else counted from 1 at the innermost level."""
    if not level:
        return None
    tree = parts.hierarchy
    if existing(parts):
        found = None if is_host(level) or tree is None else _TIER.match(tree.levels[tree.level_index(level)].source)
        return int(found[1]) if found else None
    if is_host(level):
        return 1 if _nodes(parts) else None
    assert tree is not None
    return len(tree.levels) - tree.level_index(level) + _hosts(parts)


def existing(parts: GangParts) -> bool:
    """Say whether the hierarchy was read from HyperNodes, which the cluster then has."""
    return parts.hierarchy is not None and any(_TIER.match(level.source) for level in parts.hierarchy.levels)


def partition(group: GroupParts, parts: GangParts) -> tuple[int, str] | None:
    """Return the size and level of the partitions of a task: its coarsest slices, else its own required level."""
    if group.slices:
        return group.slices[0]
    return (group.pods, group.own) if group.own and len(parts.groups) > 1 else None


def least_of(group: GroupParts, parts: GangParts) -> int:
    """Return the least pods of a task: whole partitions."""
    found = partition(group, parts)
    return group.least if found is None else -(-group.least // found[0]) * found[0]


def _hosts(parts: GangParts) -> bool:
    """Say whether a HyperNode for each node is needed."""
    return any(map(is_host, required_levels(parts)))


def _nodes(parts: GangParts) -> tuple[str, ...]:
    """Return the nodes of the hierarchy, else those of the cluster."""
    found = (node for domain in (parts.hierarchy.domains if parts.hierarchy else ()) for node in domain.nodes)
    return tuple(dict.fromkeys(found)) or tuple(parts.cluster.node_names)


def job_of(parts: GangParts, copy: int) -> Object:
    """Return the Job of one copy of a gang."""
    tasks = [_task(parts, copy, group) for group in parts.groups]
    spec: Object = {
        "schedulerName": SCHEDULER,
        "queue": parts.queue or DEFAULT_QUEUE,
        "minAvailable": sum(least_of(group, parts) for group in parts.groups),
    }
    if parts.priority_class:
        spec["priorityClassName"] = parts.priority_class
    tier = tier_of(parts, parts.required)
    if tier is not None:
        spec["networkTopology"] = {"mode": "hard", "highestTierAllowed": tier}
    elif any(group.preferred for group in parts.groups) and not parts.required:
        spec["networkTopology"] = {"mode": "soft"}
    metadata = parts.metadata(parts.copies[copy])
    return {"apiVersion": JOB, "kind": "Job", "metadata": metadata, "spec": {**spec, "tasks": tasks}}


def _task(parts: GangParts, copy: int, group: GroupParts) -> Object:
    least = least_of(group, parts)
    found: Object = {"name": group.name, "replicas": group.pods, "minAvailable": least}
    cut = partition(group, parts)
    tier = tier_of(parts, cut[1]) if cut else None
    if cut and tier is not None:
        size = cut[0]
        found["partitionPolicy"] = {
            "totalPartitions": group.pods // size,
            "partitionSize": size,
            "minPartitions": least // size,
            "networkTopology": {"mode": "hard", "highestTierAllowed": tier},
        }
    return {**found, "template": parts.pod_template(copy, group, spec={"schedulerName": SCHEDULER})}


def _hyper_nodes(parts: GangParts) -> list[Object]:
    """Return HyperNodes for the domains of the hierarchy, inner tiers first."""
    tree = parts.hierarchy
    if existing(parts) or not (tree or _hosts(parts)):
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
            members = _by_label(parts, domain) or [_node(node) for node in rest]
        tier = tier_of(parts, level.name)
        assert tier is not None
        found.append(_hyper_node(below[domain.path], tier, level.name, members))
    return found


def _by_label(parts: GangParts, domain: Domain) -> list[Object]:
    """Return the member that selects the nodes of a domain by labels, or nothing if no labels do."""
    wanted = pin_affinity(parts.hierarchy, domain.path)
    if any(one["key"] == HOSTNAME for one in wanted):
        return []
    matched = {str(one["key"]): str(one["values"][0]) for one in wanted}
    return [{"type": "Node", "selector": {"labelMatch": {"matchLabels": matched}}}]


def _hyper_node(name: str, tier: int, tier_name: str, members: list[Object]) -> Object:
    metadata = {"name": name, "labels": labels(name, "topology")}
    spec = {"tier": tier, "tierName": tier_name, "members": members}
    return {"apiVersion": HYPER_NODE, "kind": "HyperNode", "metadata": metadata, "spec": spec}


def _node(name: str) -> Object:
    return {"type": "Node", "selector": {"exactMatch": {"name": name}}}


def _inner(name: str) -> Object:
    return {"type": "HyperNode", "selector": {"exactMatch": {"name": name}}}
