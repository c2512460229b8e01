"""A gang for Kueue 0.19: a Job or JobSet with annotations, and on request Topology, flavor and queues.

Sources: kubernetes-sigs/kueue v0.19.2, `pkg/controller/jobframework/tas_validation.go` (annotations),
`pkg/controller/jobs/job/job_controller.go` (partial admission), `apis/config/v1beta2/configuration_types.go`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dra_lab.exports.gangs.compute_domain import CHANNEL_CLASS
from dra_lab.exports.gangs.gang_parts import GangParts, GroupParts, Object, job
from dra_lab.exports.gangs.level_keys import is_host, level_labels, topology_of
from dra_lab.model.sketch import asks
from dra_lab.model.topologies import Topology
from dra_lab.sketch.claim_objects import labels
from dra_lab.sketch.object_names import object_name

KUEUE = "kueue.x-k8s.io/v1beta2"
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
_OWN = "Kueue Topology "
_LINUX = {"kubernetes.io/os": "linux"}


def kueue_objects(parts: GangParts, *, objects: bool) -> dict[str, list[Object]]:
    """Return the objects of a gang by file; `objects` adds those that an administrator makes once."""
    several = len(parts.groups) > 1
    made = [_job_set(parts, copy) if several else _job(parts, copy) for copy in range(len(parts.copies))]
    found = {"jobset.yaml" if several else "job.yaml": made}
    if device_classes(parts):
        found["kueue-configuration.yaml"] = [_configuration(parts)]
    if objects:
        if not topology_of(parts.hierarchy, _OWN):
            found["topology.yaml"] = [_topology(parts)]
        found["resourceflavor.yaml"] = [_flavor(parts)]
        found["clusterqueue.yaml"] = [_cluster_queue(parts)]
        found["localqueue.yaml"] = [_local_queue(parts)]
    return found


def leads(parts: GangParts) -> bool:
    """Say whether Kueue can put all groups into one domain: two groups, one of them a single pod, and no slices."""
    if len(parts.groups) != 2 or min(group.pods for group in parts.groups) > 1:
        return False
    whole = _level(parts, parts.gang.level, parts.gang.prefer_level)
    return bool(whole) and all(
        not group.slices and _level(parts, group.required, group.preferred) == whole for group in parts.groups
    )


def device_classes(parts: GangParts) -> tuple[str, ...]:
    """Return the DeviceClasses of all claims, sorted."""
    named = {ask.device_class_name for _, request in parts.requests for ask in asks(request)}
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


def annotations_of(parts: GangParts, group: GroupParts) -> dict[str, str]:
    """Return the annotations of the pods of a group: its levels, slices and pod set group."""
    found = _level(parts, group.required, group.preferred)
    layers = [(size, label) for size, level in group.slices if (label := parts.label(level))]
    if len(layers) == 1:
        found |= {SLICE: layers[0][1], SLICE_SIZE: str(layers[0][0])}
    elif layers:
        rows = [{"topology": label, "size": size} for size, label in layers[-MOST_LAYERS:]]
        found[SLICES] = json.dumps(rows, separators=(",", ":"))
    if leads(parts):
        found[GROUP] = f"gang-{parts.name}"  # it must not be a number
    return found


def _queue(parts: GangParts) -> dict[str, str]:
    return {QUEUE: parts.queue} if parts.queue else {}


def _job(parts: GangParts, copy: int) -> Object:
    (group,) = parts.groups
    least: Mapping[str, str] = {}
    if 0 < group.least < group.pods and not group.slices:
        least = {LEAST: str(group.least)}
    template = parts.pod_template(copy, group, annotations=annotations_of(parts, group))
    return job(parts, parts.copies[copy], group.pods, template, labels=_queue(parts), annotations=least)


def _job_set(parts: GangParts, copy: int) -> Object:
    jobs = []
    for group in parts.groups:
        template = parts.pod_template(copy, group, annotations=annotations_of(parts, group))
        body = {"parallelism": group.pods, "completions": group.pods, "backoffLimit": 0, "template": template}
        jobs.append({"name": group.name, "replicas": 1, "template": {"spec": body}})
    metadata = parts.metadata(parts.copies[copy], labels=_queue(parts))
    return {"apiVersion": JOB_SET, "kind": "JobSet", "metadata": metadata, "spec": {"replicatedJobs": jobs}}


def _configuration(parts: GangParts) -> Object:
    rows = [{"name": resource_of(name), "deviceClassNames": [name]} for name in device_classes(parts)]
    return {"apiVersion": CONFIGURATION, "kind": "Configuration", "resources": {"deviceClassMappings": rows}}


def ends_with_host(parts: GangParts) -> bool:
    """Say whether the last level of the gang's Topology is the host name, so that Kueue chooses nodes too."""
    name = topology_of(parts.hierarchy, _OWN)
    own = [one for one in parts.cluster.topologies if isinstance(one, Topology) and one.name == name]
    return not own or any(is_host(one.labels[-1]) for one in own if one.labels)


def _topology_name(parts: GangParts) -> str:
    return topology_of(parts.hierarchy, _OWN) or object_name(parts.hierarchy.name if parts.hierarchy else "nodes")


def _topology(parts: GangParts) -> Object:
    levels = [{"nodeLabel": label} for label in level_labels(parts.hierarchy)]
    return _cluster_object("Topology", _topology_name(parts), {"levels": levels})


def _flavor(parts: GangParts) -> Object:
    body = {"nodeLabels": dict(_LINUX), "topologyName": _topology_name(parts)}
    return _cluster_object("ResourceFlavor", _topology_name(parts), body)


def _cluster_queue(parts: GangParts) -> Object:
    classes = device_classes(parts)
    quotas = [{"name": resource_of(name), "nominalQuota": _devices(parts, name)} for name in classes]
    flavor = {"name": _topology_name(parts), "resources": quotas}
    groups = [{"coveredResources": [resource_of(name) for name in classes], "flavors": [flavor]}] if classes else []
    return _cluster_object("ClusterQueue", _queue_name(parts), {"namespaceSelector": {}, "resourceGroups": groups})


def _local_queue(parts: GangParts) -> Object:
    name = _queue_name(parts)
    metadata = {**parts.metadata(name), "labels": labels(object_name(name), "queue")}
    return {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": metadata, "spec": {"clusterQueue": name}}


def _queue_name(parts: GangParts) -> str:
    return parts.queue or object_name(parts.gang.name)


def _devices(parts: GangParts, device_class: str) -> int:
    """Return the devices of a class that all copies of the gang use, as Kueue counts them."""
    count = 0
    for group in parts.groups:
        requests = [one for claim in group.claims for one in claim.spec.spec.devices.requests]
        first = [asks(request)[0] for request in requests if asks(request)]
        count += group.pods * sum(ask.count for ask in first if ask.device_class_name == device_class)
        count += group.pods * (group.channel and device_class == CHANNEL_CLASS)
    return count * len(parts.copies)


def _cluster_object(kind: str, name: str, spec: Mapping[str, Any]) -> Object:
    metadata = {"name": name, "labels": labels(object_name(name), "queue")}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, "spec": dict(spec)}
