"""What an administrator of Kueue makes once for gangs: Topology, ResourceFlavor, ClusterQueue and LocalQueue."""

from __future__ import annotations

from collections.abc import Mapping

from dra_lab.exports.gangs.compute_domain import CHANNEL_CLASS
from dra_lab.exports.gangs.gang_parts import GangParts, Object
from dra_lab.exports.gangs.kueue import OWN, device_classes, resource_of
from dra_lab.exports.gangs.level_keys import level_labels, topology_of
from dra_lab.findings import Finding, Severity
from dra_lab.model.sketch import asks
from dra_lab.sketch.claim_objects import labels
from dra_lab.sketch.object_names import object_name

KUEUE = "kueue.x-k8s.io/v1beta2"
FLAVOR = Finding(
    "kueue-flavor",
    Severity.NOTE,
    "resourceflavor.yaml",
    "the ResourceFlavor covers every Linux node that has the labels of all levels",
    "Use a label of your node group if other nodes have them too.",
)


def kueue_setup(parts: GangParts) -> dict[str, list[Object]]:
    """Return the objects by file; a Topology that the cluster has is named and not written."""
    name, queue = topology_of(parts.hierarchy, OWN), parts.queue or object_name(parts.gang.name)
    topology = name or object_name(parts.hierarchy.name if parts.hierarchy else "nodes")
    flavor = {"nodeLabels": {"kubernetes.io/os": "linux"}, "topologyName": topology}
    of_queue = {**parts.metadata(queue), "labels": labels(object_name(queue), "queue")}
    local = {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": of_queue, "spec": {"clusterQueue": queue}}
    levels = [{"nodeLabel": label} for label in level_labels(parts.hierarchy)]
    written = {"topology.yaml": [_cluster_object("Topology", topology, {"levels": levels})]}
    return {
        **({} if name else written),
        "resourceflavor.yaml": [_cluster_object("ResourceFlavor", topology, flavor)],
        "clusterqueue.yaml": [_cluster_object("ClusterQueue", queue, _quota(parts, topology))],
        "localqueue.yaml": [local],
    }


def _quota(parts: GangParts, flavor: str) -> Object:
    classes = device_classes(parts)
    quotas = [{"name": resource_of(name), "nominalQuota": _devices(parts, name)} for name in classes]
    covered = {
        "coveredResources": [resource_of(name) for name in classes],
        "flavors": [{"name": flavor, "resources": quotas}],
    }
    return {"namespaceSelector": {}, "resourceGroups": [covered] if classes else []}


def _devices(parts: GangParts, device_class: str) -> int:
    """Return the devices of a class that all copies of the gang use, as Kueue counts them."""
    count = 0
    for group in parts.groups:
        requests = [one for claim in group.claims for one in claim.spec.spec.devices.requests]
        first = [asks(request)[0] for request in requests if asks(request)]
        count += group.pods * sum(ask.count for ask in first if ask.device_class_name == device_class)
        count += group.pods * (group.channel and device_class == CHANNEL_CLASS)
    return count * len(parts.copies)


def _cluster_object(kind: str, name: str, spec: Mapping[str, object]) -> Object:
    metadata = {"name": name, "labels": labels(object_name(name), "queue")}
    return {"apiVersion": KUEUE, "kind": kind, "metadata": metadata, "spec": dict(spec)}
