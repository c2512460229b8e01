"""A gang for KAI 0.17: a PodGroup with subgroups, a Topology, and Jobs whose pods name both.

Sources: kai-scheduler/KAI-Scheduler v0.17.0, `pkg/apis/scheduling/v2alpha2/podgroup_webhook.go`,
`docs/topology/multilevel.md`, `docs/batch/README.md` (a PodGroup of one's own).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from dra_lab.exports.gangs.gang_parts import Cannot, GangParts, Object, Places, job
from dra_lab.exports.gangs.level_keys import topology_of
from dra_lab.exports.workload import mapping_in, pod_metadata, replace_annotations
from dra_lab.findings import Finding, Severity
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.workload import PodGroup
from dra_lab.sketch.claim_objects import labels
from dra_lab.topology.presets import HOSTNAME

POD_GROUP = "scheduling.run.ai/v2alpha2"
TOPOLOGY = "kai.scheduler/v1alpha1"
SCHEDULER = "kai-scheduler"
QUEUE = "kai.scheduler/queue"
SUBGROUP = "kai.scheduler/subgroup-name"
OWN_GROUP = "kai.scheduler/skip-podgrouper"
POD_GROUP_NAME = "pod-group-name"
_OWN = "KAI Topology "
_TOPOLOGY = "kai.scheduler/topology"
_LEVELS = (_TOPOLOGY, f"{_TOPOLOGY}-required-placement", f"{_TOPOLOGY}-preferred-placement")
_LEAST = "kai.scheduler/batch-min-member"
_PREEMPTED_BELOW = 100

Slices = Sequence[tuple[int, str]]


class _Leaf(Struct, frozen=True):
    """Pods of one Job, and the subgroup that they belong to ("" if the PodGroup has none)."""

    group: PodGroup
    subgroup: str
    pods: int


def objects(parts: GangParts) -> dict[str, list[Object]]:
    """Return the objects of a gang by file."""
    subgroups, leaves = _tree(parts)
    found = {"podgroup.yaml": [_pod_group(parts, name, subgroups) for name in parts.copies]}
    if any(map(parts.label, parts.wanted_levels)) and not topology_of(parts.hierarchy, _OWN):
        named = (parts.label(level.name) for level in (parts.hierarchy.levels if parts.hierarchy else ()))
        name, every = parts.topology_name(_OWN), dict.fromkeys((*filter(None, named), HOSTNAME))
        levels = [{"nodeLabel": label} for label in every]
        metadata = {"name": name, "labels": labels(name, "topology")}
        topology = {"apiVersion": TOPOLOGY, "kind": "Topology", "metadata": metadata, "spec": {"levels": levels}}
        found["kai-topology.yaml"] = [topology]
    copies = range(len(parts.copies))
    found["job.yaml"] = [_job(parts, copy, leaf) for copy in copies for leaf in leaves]
    return found


def _tree(parts: GangParts) -> tuple[list[Object], list[_Leaf]]:
    """Return the subgroups of a PodGroup and its Jobs: slices are subgroups of the subgroup of their group."""
    subgroups, leaves = list[Object](), list[_Leaf]()

    def cut(group: PodGroup, head: Object, pods: int, least: int, slices: Slices, constraint: Object) -> None:
        if not slices:
            subgroups.append({**head, "minMember": least, **constraint})
            leaves.append(_Leaf(group, head["name"], pods))
            return
        (size, level), *finer = slices
        subgroups.append({**head, "minSubGroup": least // size, **constraint})
        below = _constraint(parts, level, "")
        for number in range(pods // size):
            inner = {"name": f"{head['name']}-{number}", "parent": head["name"]}
            cut(group, inner, size, size, finer, below)

    one = parts.groups[0]
    levels = (one.level or one.prefer_level) and (parts.gang.level or parts.gang.prefer_level)
    if len(parts.groups) == 1 and not one.slices and not levels:
        return [], [_Leaf(one, "", one.count)]
    for group in parts.groups:
        own = _constraint(parts, group.level, group.prefer_level)
        cut(group, {"name": group.name}, group.count, group.least, group.slices, own)
    return subgroups, leaves


def _constraint(parts: GangParts, required: str, preferred: str) -> Object:
    found: Object = {"topology": parts.topology_name(_OWN)}
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
        spec |= _constraint(parts, parts.required_of(one), parts.preferred_of(one))
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


def edit(value: Any, parts: GangParts, places: Places) -> None:
    """Write the fields of KAI into a person's own workload."""
    metadata, gang = mapping_in(value, "metadata"), parts.gang
    one = parts.groups[0]
    preferred = gang.prefer_level if len(parts.groups) > 1 else parts.preferred_of(one)
    named = [(key, parts.label(level)) for key, level in zip(_LEVELS[1:], (parts.required, preferred), strict=True)]
    wanted = {key: label for key, label in named if label}
    if wanted:
        wanted = {_TOPOLOGY: parts.topology_name(_OWN), **wanted}
    if value.get("kind") == "Job" and gang.size > 1:
        wanted[_LEAST] = str(gang.least)
    replace_annotations(metadata, (*_LEVELS, _LEAST), wanted)
    if parts.queue:
        mapping_in(metadata, "labels")[QUEUE] = parts.queue
    for field, _ in places:
        if parts.queue:
            mapping_in(pod_metadata(value, field), "labels")[QUEUE] = parts.queue
        value_at(value, field.path)["schedulerName"] = SCHEDULER


def cannot(parts: GangParts) -> Iterator[Cannot]:
    """Yield what KAI cannot express of a gang, most important first."""
    yield from parts.without_label("KAI")
    if parts.gang.every_shared_claim:
        yield Cannot("KAI does not support claims that several pods share.")


def findings(parts: GangParts) -> Iterator[Finding]:
    """Yield what KAI refuses of the files, and what it needs before they are applied."""
    name = parts.gang.name
    if not parts.queue:
        message = "KAI does not schedule a PodGroup without a queue"
        yield Finding("kai-queue-missing", Severity.ERROR, name, message, "Name a Queue of KAI.")
    for claim in parts.gang.every_shared_claim:
        message = "KAI does not support claims that several pods share"
        yield Finding("kai-shared-claim", Severity.ERROR, claim.name, message, "Choose another scheduler.")
    for claim_name, request in parts.requests:
        if request.first_available:
            message = "KAI does not support a list of alternatives (firstAvailable)"
            subject = f"{claim_name}, request {request.name}"
            yield Finding("kai-alternatives", Severity.ERROR, subject, message, "Request one kind of device.")
    if parts.gang.priority >= _PREEMPTED_BELOW:
        message = f"KAI never preempts a PodGroup of priority {_PREEMPTED_BELOW} or more"
        yield Finding("kai-not-preempted", Severity.NOTE, name, message, "Use a lower priority if it may be preempted.")
    if parts.requests and parts.wanted_levels and not parts.pinned:
        message = "KAI looks for a domain with enough GPUs and tries other devices node by node, without going back"
        yield Finding("kai-devices-not-counted", Severity.NOTE, name, message, "Pin a planned domain.")
