"""Objects of Kueue as `kubectl get -o json` gives them, and gangs whose pods request GPUs."""

from __future__ import annotations

import json

from dra_lab import PodGroup, Workload
from dra_lab.manifests.documents import decode_documents
from dra_lab.model.claims import DeviceClass
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins
from dra_lab.model.nodes import Node
from dra_lab.model.queues import QueueObject
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.slices import ResourceSlice
from dra_lab.model.topologies import TopologyObject

KUEUE = "kueue.x-k8s.io"
RELEASE = KubernetesRelease("1.36")
SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.example.com",
        "nodeName": "node-1",
        "pool": {"name": "node-1", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "gpu-0"}],
    },
}
CLASS = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu.example.com"},
    "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
}
FIELDS = {
    "slices": ResourceSlice,
    "classes": DeviceClass,
    "nodes": Node,
    "topologies": TopologyObject,
    "queues": QueueObject,
}


def groups(quotas, flavor="h100"):
    """One resource group: quotas by resource, each (nominal, borrowing limit, lending limit)."""
    rows = []
    for name, limits in quotas.items():
        nominal, borrow, lend = (limits, None, None) if isinstance(limits, int | str) else limits
        row = {"name": name, "nominalQuota": nominal, "borrowingLimit": borrow, "lendingLimit": lend}
        rows.append({key: value for key, value in row.items() if value is not None})
    return [{"coveredResources": list(quotas), "flavors": [{"name": flavor, "resources": rows}]}]


def cluster_queue(name, quotas, *, cohort="", usage=None, flavor="h100", version="v1beta2", **spec):
    """A ClusterQueue of one flavor; `usage` is its reservation by resource."""
    spec = {"namespaceSelector": {}, "resourceGroups": groups(quotas, flavor), **spec}
    if cohort:
        spec["cohort" if version == "v1beta1" else "cohortName"] = cohort
    found = {"apiVersion": f"{KUEUE}/{version}", "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}
    if usage is not None:
        rows = [{"name": one, "total": amount, "borrowed": 0} for one, amount in usage.items()]
        found["status"] = {"flavorsReservation": [{"name": flavor, "resources": rows}], "pendingWorkloads": 0}
    return found


def cohort(name, quotas=None, parent=""):
    """A Cohort with quota of its own."""
    spec = {"resourceGroups": groups(quotas)} if quotas else {}
    if parent:
        spec["parentName"] = parent
    return {"apiVersion": f"{KUEUE}/v1beta2", "kind": "Cohort", "metadata": {"name": name}, "spec": spec}


def local_queue(name, queue, namespace="team-a", **spec):
    """A LocalQueue."""
    metadata = {"name": name, "namespace": namespace}
    spec = {"clusterQueue": queue, **spec}
    return {"apiVersion": f"{KUEUE}/v1beta2", "kind": "LocalQueue", "metadata": metadata, "spec": spec}


def workload(name, queue, usage, *, finished=False, flavor="h100"):
    """A Workload that holds quota, with the pod template that no capture may keep."""
    sets = [{"name": "main", "count": 1, "flavors": dict.fromkeys(usage, flavor), "resourceUsage": usage}]
    done = [{"type": "Finished", "status": "True", "reason": "Succeeded", "message": "acme-secret"}]
    status = {"admission": {"clusterQueue": queue, "podSetAssignments": sets}, "conditions": done if finished else []}
    template = {"spec": {"containers": [{"name": "x", "env": [{"name": "TOKEN", "value": "acme-secret"}]}]}}
    spec = {"podSets": [{"name": "main", "count": 1, "template": template}], "queueName": "acme-local"}
    metadata = {"name": name, "namespace": "team-a"}
    return {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "Workload",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def configuration(mappings, **resources):
    """Kueue's Configuration; `mappings` gives the DeviceClasses by resource."""
    rows = [{"name": name, "deviceClassNames": list(classes)} for name, classes in mappings.items()]
    body = {"deviceClassMappings": rows, **resources}
    return {
        "apiVersion": f"config.{KUEUE}/v1beta2",
        "kind": "Configuration",
        "webhook": {"port": 9443},
        "resources": body,
    }


def config_map(text, name="kueue-manager-config"):
    """The ConfigMap from which Kueue's manager reads."""
    metadata = {"name": name, "namespace": "kueue-system"}
    data = {"controller_manager_config.yaml": text, "other": "acme-secret"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def flavor(name="h100", *, topology="", labels=None, **spec):
    """A ResourceFlavor."""
    spec = {"nodeLabels": labels or {}, **({"topologyName": topology} if topology else {}), **spec}
    return {"apiVersion": f"{KUEUE}/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": name}, "spec": spec}


MAPPED = configuration({"gpu": ["gpu.example.com"]})


def read(*documents, findings=()):
    """A cluster with these objects."""
    text = json.dumps({"kind": "List", "items": list(documents)}, default=str)
    objects = [item for item, _ in decode_documents(text).objects]
    fields = {field: tuple(one for one in objects if isinstance(one, kind)) for field, kind in FIELDS.items()}
    return Cluster(**fields, findings=tuple(findings))


def request(name="gpu", count=1, cls="gpu.example.com", **more):
    """A request of a claim."""
    return {"name": name, "exactly": {"deviceClassName": cls, "allocationMode": "ExactCount", "count": count, **more}}


def gang(pods, *requests, **fields):
    """A gang of one group; each pod has one claim with these requests, one GPU by default."""
    claim = from_builtins({"name": "claim", "requests": list(requests) or [request()]}, ClaimSketch)
    return Workload("train", [PodGroup("worker", claim, count=pods)], **fields)
