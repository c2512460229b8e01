"""A gang for Kueue 0.20: a Job or JobSet with annotations, and what Kueue cannot express or refuses.

Sources: kubernetes-sigs/kueue v0.19.2, `pkg/controller/jobframework/tas_validation.go` (annotations),
`pkg/controller/jobs/job/job_controller.go` (partial admission), `apis/config/v1beta2/configuration_types.go`.
Slices in groups and the check of devices are those of v0.20, `tas_validation.go` and dynamic_resource_allocation.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dra_lab.exports.gangs.gang_parts import Cannot, GangParts, Object, Places, job
from dra_lab.exports.gangs.level_keys import CHANNEL_CLASS, is_host, topology_of
from dra_lab.exports.workload import mapping_in, pod_metadata, replace_annotations
from dra_lab.findings import Finding, Severity
from dra_lab.model.queues import DEVICE_CHECK, SLICED_GROUPS, kueue_gate
from dra_lab.model.sketch import asks
from dra_lab.model.topologies import Topology
from dra_lab.model.workload import PodGroup
from dra_lab.scheduler.kueue.counted import is_free, refused_claims, unmapped_classes
from dra_lab.sketch.object_names import object_name

CONFIGURATION = "config.kueue.x-k8s.io/v1beta2"
JOB_SET = "jobset.x-k8s.io/v1alpha2"
PREFIX = "kueue.x-k8s.io/"
QUEUE = f"{PREFIX}queue-name"
REQUIRED = f"{PREFIX}podset-required-topology"
PREFERRED = f"{PREFIX}podset-preferred-topology"
SLICE = f"{PREFIX}podset-slice-required-topology"
SLICE_SIZE = f"{PREFIX}podset-slice-size"
SLICES = f"{PREFIX}podset-slice-required-topology-constraints"
GROUP = f"{PREFIX}podset-group-name"
LEAST = f"{PREFIX}job-min-parallelism"
MOST_LAYERS = 3
OWN = "Kueue Topology "
_LEVELS = (REQUIRED, PREFERRED, SLICE, SLICE_SIZE, SLICES, GROUP, f"{PREFIX}podset-unconstrained-topology")
"""The annotations of a person's own pods that those of the gang replace."""

MOST_KEY = 63
"""Longest label key that Kueue's Workload can name, although a Topology may have one of 316 characters."""


def objects(parts: GangParts) -> dict[str, list[Object]]:
    """Return the objects of a gang by file."""
    several = len(parts.groups) > 1
    made = [_job_set(parts, copy) if several else _job(parts, copy) for copy in range(len(parts.copies))]
    found = {"jobset.yaml" if several else "job.yaml": made}
    if device_classes(parts):
        rows = [{"name": resource_of(name), "deviceClassNames": [name]} for name in device_classes(parts)]
        head = {"apiVersion": CONFIGURATION, "kind": "Configuration"}
        found["kueue-configuration.yaml"] = [{**head, "resources": {"deviceClassMappings": rows}}]
    return found


def _leads(parts: GangParts) -> bool:
    """Say whether Kueue can put all groups into one domain: two groups, one of them a single pod."""
    if len(parts.groups) != 2 or min(group.count for group in parts.groups) > 1:
        return False
    whole = _level(parts, parts.gang.level, parts.gang.prefer_level)
    slices = kueue_gate(parts.cluster.queues, SLICED_GROUPS) or not any(group.slices for group in parts.groups)
    return bool(whole) and slices and all(_level_of(parts, group) == whole for group in parts.groups)


def device_classes(parts: GangParts) -> tuple[str, ...]:
    """Return the DeviceClasses of all claims that Kueue counts, sorted."""
    named = {ask.device_class_name for _, request in parts.requests if not is_free(request) for ask in asks(request)}
    return tuple(sorted(named | ({CHANNEL_CLASS} if parts.channels else set())))


def resource_of(device_class: str) -> str:
    """Return the name under which a ClusterQueue counts the devices of a class."""
    return f"{device_class}/devices" if len(device_class) <= 244 else object_name(device_class)


def _level(parts: GangParts, required: str, preferred: str) -> dict[str, str]:
    """Return the annotation of the required level, else that of the preferred level: Kueue takes one of them."""
    if label := parts.label(required):
        return {REQUIRED: label}
    label = parts.label(preferred)
    return {PREFERRED: label} if label and not required else {}


def _level_of(parts: GangParts, group: PodGroup) -> dict[str, str]:
    return _level(parts, parts.required_of(group), parts.preferred_of(group))


def _annotations(parts: GangParts, group: PodGroup) -> dict[str, str]:
    found = _level_of(parts, group)
    layers = [(size, label) for size, level in group.slices if (label := parts.label(level))]
    if len(layers) == 1:
        found |= {SLICE: layers[0][1], SLICE_SIZE: str(layers[0][0])}
    elif layers:
        rows = [{"topology": label, "size": size} for size, label in layers[-MOST_LAYERS:]]
        found[SLICES] = json.dumps(rows, separators=(",", ":"))
    if _leads(parts):
        found[GROUP] = f"gang-{parts.name}"  # it must not be a number
    return found


def _queue(parts: GangParts) -> dict[str, str]:
    return {QUEUE: parts.queue} if parts.queue else {}


def _job(parts: GangParts, copy: int) -> Object:
    (group,) = parts.groups
    template = parts.pod_template(copy, group, annotations=_annotations(parts, group))
    return job(parts, parts.copies[copy], group.count, template, labels=_queue(parts), annotations=_minimum(group))


def _minimum(group: PodGroup) -> dict[str, str]:
    return {LEAST: str(group.least)} if 0 < group.least < group.count and not group.slices else {}


def _job_set(parts: GangParts, copy: int) -> Object:
    jobs = []
    for group in parts.groups:
        template = parts.pod_template(copy, group, annotations=_annotations(parts, group))
        body = {"parallelism": group.count, "completions": group.count, "backoffLimit": 0, "template": template}
        jobs.append({"name": group.name, "replicas": 1, "template": {"spec": body}})
    metadata = parts.metadata(parts.copies[copy], labels=_queue(parts))
    return {"apiVersion": JOB_SET, "kind": "JobSet", "metadata": metadata, "spec": {"replicatedJobs": jobs}}


def edit(value: Any, parts: GangParts, places: Places) -> None:
    """Write the fields of Kueue into a person's own workload."""
    metadata = mapping_in(value, "metadata")
    if parts.queue:
        mapping_in(metadata, "labels")[QUEUE] = parts.queue
    if value.get("kind") == "Job" and (least := _minimum(parts.groups[0])):
        mapping_in(metadata, "annotations").update(least)
    for field, group in places:
        replace_annotations(pod_metadata(value, field), _LEVELS, _annotations(parts, group))


def cannot(parts: GangParts) -> Iterator[Cannot]:
    """Yield what Kueue cannot express of a gang, most important first."""
    yield from parts.without_label("Kueue")
    if len(parts.groups) > 1 and parts.gang.level and not _leads(parts):
        kept = "The pinned domain does." if parts.pinned else "They may get several."
        text = (
            f"Kueue puts each group into one {parts.gang.level}, and only a leader with one other group into the same "
            f"one. {kept}"
        )
        yield Cannot(text, (parts.gang.level,))
    for group in parts.groups:
        if parts.required_of(group) and parts.preferred_of(group):
            left = f"{parts.preferred_of(group)} of {group.name} is left out"
            yield Cannot(f"Kueue takes a required or a preferred level, so {left}.")
        if len(group.slices) > MOST_LAYERS:
            text = f"Kueue takes {MOST_LAYERS} layers of slices, so the coarsest of {group.name} are left out."
            yield Cannot(text, tuple(level for _, level in group.slices[:-MOST_LAYERS]))
        if group.least < group.count:
            if len(parts.groups) == 1 and not group.slices and group.least:
                text = (
                    f"Kueue decides once between {group.least} and {group.count} pods of {group.name} at a time. "
                    "It adds none later, and the Job still completes all of them."
                )
            else:
                text = f"Kueue starts all {group.count} pods of {group.name} or none, not {group.least} at least."
            yield Cannot(text)


def findings(parts: GangParts) -> Iterator[Finding]:
    """Yield what Kueue refuses of the files, and what it needs before they are applied."""
    name = parts.gang.name
    if not parts.queue:
        message = f"without the label {QUEUE} Kueue does not manage the Job, and its pods start at once"
        yield Finding("kueue-queue-missing", Severity.ERROR, name, message, "Name a LocalQueue.")
    yield from refused_claims(parts.cluster, parts.gang, parts.requests, parts.target.release)
    for level in parts.wanted_levels:
        if len(key := parts.label(level)) > MOST_KEY:
            message = f"the label {key} has {len(key)} characters; a Topology may name it, and a Workload may not"
            advice = f"Kueue refuses this gang. Use a label of at most {MOST_KEY} characters for the level {level}."
            yield Finding("kueue-key-too-long", Severity.ERROR, name, message, advice)
    if classes := device_classes(parts):
        topology = topology_of(parts.hierarchy, OWN)
        # a Topology that ends with the host name lets Kueue choose nodes too, as one that is not there yet
        own = [one for one in parts.cluster.topologies if isinstance(one, Topology) and one.name == topology]
        if unmapped := unmapped_classes(parts.cluster, classes):
            message = f"Kueue refuses the gang unless its Configuration maps every DeviceClass: {', '.join(unmapped)}"
            advice = (
                "Merge kueue-configuration.yaml into it, cover the resources in the ClusterQueue and restart Kueue."
            )
            yield Finding("kueue-class-mapping", Severity.WARNING, name, message, advice)
        if parts.wanted_levels and kueue_gate(parts.cluster.queues, DEVICE_CHECK):
            message = f"with {DEVICE_CHECK} Kueue asks for the devices of one pod on a node, so others may wait there"
            advice = (
                "Request CPUs and memory in the containers, so that no more pods fit on a node than it has devices."
            )
            yield Finding("kueue-devices-not-counted", Severity.NOTE, name, message, advice)
        elif parts.wanted_levels and not parts.pinned:
            message = "Kueue chooses domains by node resources and does not count devices, so the gang may wait there"
            advice = f"Pin a planned domain. The alpha gate {DEVICE_CHECK} of 0.20 checks them for one pod."
            yield Finding("kueue-devices-not-counted", Severity.WARNING, name, message, advice)
        elif parts.wanted_levels and (not own or any(is_host(one.labels[-1]) for one in own if one.labels)):
            message = "Kueue chooses the nodes of the pinned domain without counting devices, so pods may wait on some"
            advice = "Request CPUs and memory in the containers, so that Kueue leaves out busy nodes."
            yield Finding("kueue-devices-not-counted", Severity.NOTE, name, message, advice)
