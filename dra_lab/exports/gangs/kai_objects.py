"""A gang for KAI 0.17: a PodGroup with subgroups, a Topology, and Jobs whose pods name both.

Sources: kai-scheduler/KAI-Scheduler v0.17.0, `pkg/apis/scheduling/v2alpha2/podgroup_webhook.go`,
`docs/topology/multilevel.md`, `docs/batch/README.md` (a PodGroup of one's own).
"""

from __future__ import annotations

from msgspec import Struct

from dra_lab.exports.gangs.gang_parts import GangParts, GroupParts, Object, job, wanted_levels
from dra_lab.exports.gangs.level_keys import level_labels, topology_of
from dra_lab.sketch.claim_objects import labels
from dra_lab.sketch.object_names import object_name

POD_GROUP = "scheduling.run.ai/v2alpha2"
TOPOLOGY = "kai.scheduler/v1alpha1"
SCHEDULER = "kai-scheduler"
QUEUE = "kai.scheduler/queue"
SUBGROUP = "kai.scheduler/subgroup-name"
OWN_GROUP = "kai.scheduler/skip-podgrouper"
POD_GROUP_NAME = "pod-group-name"
_OWN = "KAI Topology "


class _Leaf(Struct, frozen=True):
    """Pods of one Job, and the subgroup that they belong to ("" if the PodGroup has none)."""

    group: GroupParts
    subgroup: str
    pods: int


def kai_objects(parts: GangParts) -> dict[str, list[Object]]:
    """Return the objects of a gang by file."""
    subgroups, leaves = _tree(parts)
    found = {"podgroup.yaml": [_pod_group(parts, name, subgroups) for name in parts.copies]}
    if level_named(parts) and not topology_of(parts.hierarchy, _OWN):
        found["kai-topology.yaml"] = [_topology(parts)]
    copies = range(len(parts.copies))
    found["job.yaml"] = [_job(parts, copy, leaf) for copy in copies for leaf in leaves]
    return found


def level_named(parts: GangParts) -> bool:
    """Say whether the gang, a group or a slice names a level that has a label."""
    return any(parts.label(level) for level in wanted_levels(parts))


def _tree(parts: GangParts) -> tuple[list[Object], list[_Leaf]]:
    """Return the subgroups of a gang, and which pods belong to which."""
    subgroups: list[Object] = []
    leaves: list[_Leaf] = []
    if not _several(parts):
        (group,) = parts.groups
        return [], [_Leaf(group, "", group.pods)]
    for group in parts.groups:
        own = _constraint(parts, group.own, group.group.prefer_level)
        _cut(parts, group, group.name, "", group.pods, group.least, group.slices, own, subgroups, leaves)
    return subgroups, leaves


def _several(parts: GangParts) -> bool:
    """Say whether one list of pods with one constraint does not suffice."""
    if len(parts.groups) > 1 or parts.groups[0].slices:
        return True
    one = parts.groups[0]
    return bool(one.own or one.group.prefer_level) and bool(parts.gang.level or parts.gang.prefer_level)


def _cut(
    parts: GangParts,
    group: GroupParts,
    name: str,
    parent: str,
    pods: int,
    least: int,
    slices: tuple[tuple[int, str], ...],
    constraint: Object,
    subgroups: list[Object],
    leaves: list[_Leaf],
) -> None:
    """Append the subgroup of some pods, and those of their slices below it."""
    head: Object = {"name": name} | ({"parent": parent} if parent else {})
    if not slices:
        subgroups.append({**head, "minMember": least, **constraint})
        leaves.append(_Leaf(group, name, pods))
        return
    (size, level), *finer = slices
    subgroups.append({**head, "minSubGroup": least // size, **constraint})
    below = _constraint(parts, level, "")
    for number in range(pods // size):
        _cut(parts, group, f"{name}-{number}", name, size, size, tuple(finer), below, subgroups, leaves)


def _constraint(parts: GangParts, required: str, preferred: str) -> Object:
    found: Object = {"topology": topology_name(parts)}
    if label := parts.label(required):
        found["requiredTopologyLevel"] = label
    if label := parts.label(preferred):
        found["preferredTopologyLevel"] = label
    return {"topologyConstraint": found} if len(found) > 1 else {}


def _pod_group(parts: GangParts, name: str, subgroups: list[Object]) -> Object:
    gang, one = parts.gang, parts.groups[0]
    spec: Object = {"queue": parts.queue} if parts.queue else {}
    if parts.priority_class:
        spec["priorityClassName"] = parts.priority_class
    if subgroups:
        spec["minSubGroup"] = len(parts.groups)
        spec |= _constraint(parts, gang.level, gang.prefer_level)
        spec["subGroups"] = subgroups
    else:
        spec["minMember"] = gang.least
        spec |= _constraint(parts, one.required, one.preferred)
    return {"apiVersion": POD_GROUP, "kind": "PodGroup", "metadata": parts.metadata(name), "spec": spec}


def _job(parts: GangParts, copy: int, leaf: _Leaf) -> Object:
    queue = {QUEUE: parts.queue} if parts.queue else {}
    template = parts.pod_template(
        copy,
        leaf.group,
        labels_={**queue, **({SUBGROUP: leaf.subgroup} if leaf.subgroup else {})},
        annotations={POD_GROUP_NAME: parts.copies[copy]},
        spec={"schedulerName": SCHEDULER},
    )
    name = f"{parts.copies[copy]}-{leaf.subgroup or leaf.group.name}"
    return job(parts, name, leaf.pods, template, labels=queue, annotations={OWN_GROUP: "true"})


def topology_name(parts: GangParts) -> str:
    """Return the name of the Topology object of the gang's levels."""
    return topology_of(parts.hierarchy, _OWN) or object_name(parts.hierarchy.name if parts.hierarchy else "nodes")


def _topology(parts: GangParts) -> Object:
    name = topology_name(parts)
    levels = [{"nodeLabel": label} for label in level_labels(parts.hierarchy)]
    metadata = {"name": name, "labels": labels(name, "topology")}
    return {"apiVersion": TOPOLOGY, "kind": "Topology", "metadata": metadata, "spec": {"levels": levels}}
