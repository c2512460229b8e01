"""Queues of Kueue for h100-pod: one team has used its quota, and another lends it eight GPUs."""

from __future__ import annotations

from _generator.objects import CREATED, Object, cluster_object, uid

KUEUE = "kueue.x-k8s.io/v1beta2"
GPU, NIC = "gpu.nvidia.com/devices", "dranet/devices"
COVERED = ("cpu", "memory", GPU, NIC)
CONFIGURATION = f"""apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
resources:
  deviceClassMappings:
  - name: {GPU}
    deviceClassNames: [gpu.nvidia.com]
  - name: {NIC}
    deviceClassNames: [dranet]
"""


def queues() -> list[Object]:
    """Return the Cohort, the queues and the Configuration; `training` uses 31 GPUs and 35 NICs, as the claims do."""
    return [
        cluster_object(KUEUE, "Cohort", "pod", {}),
        _cluster_queue("training", ("896", "8060Gi", "32", "40"), ("248", "1984Gi", "31", "35")),
        _cluster_queue("research", ("448", "4030Gi", "16", "16"), lending=("224", "2015Gi", "8", "8")),
        _cluster_queue("inference", ("2240", "20150Gi", "80", "72"), lending=("0", "0", "0", "0")),
        _local_queue("train", "training"),
        _local_queue("study", "research"),
        _local_queue("serve", "inference"),
        _config_map(),
    ]


def _cluster_queue(
    name: str,
    nominal: tuple[str, ...],
    used: tuple[str, ...] = ("0", "0", "0", "0"),
    lending: tuple[str, ...] | None = None,
) -> Object:
    resources = [{"name": one, "nominalQuota": amount} for one, amount in zip(COVERED, nominal, strict=True)]
    for row, limit in zip(resources, lending or (), strict=False):
        row["lendingLimit"] = limit
    item = cluster_object(
        KUEUE,
        "ClusterQueue",
        name,
        {
            "cohortName": "pod",
            "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
            "queueingStrategy": "BestEffortFIFO",
            "resourceGroups": [
                {"coveredResources": list(COVERED), "flavors": [{"name": "h100", "resources": resources}]}
            ],
            "stopPolicy": "None",
        },
    )
    held = [{"borrowed": "0", "name": one, "total": amount} for one, amount in zip(COVERED, used, strict=True)]
    running = 7 if used[0] != "0" else 0
    active = {
        "lastTransitionTime": CREATED,
        "message": "Can admit new workloads",
        "observedGeneration": 1,
        "reason": "Ready",
        "status": "True",
        "type": "Active",
    }
    status = {
        "admittedWorkloads": running,
        "conditions": [active],
        "flavorsReservation": [{"name": "h100", "resources": held}],
        "flavorsUsage": [{"name": "h100", "resources": held}],
        "pendingWorkloads": 0,
        "reservingWorkloads": running,
    }
    return item | {"status": status}


def _local_queue(name: str, queue: str) -> Object:
    item = cluster_object(KUEUE, "LocalQueue", name, {"clusterQueue": queue, "stopPolicy": "None"})
    return item | {"metadata": item["metadata"] | {"namespace": queue}}


def _config_map() -> Object:
    metadata = {
        "creationTimestamp": CREATED,
        "name": "kueue-manager-config",
        "namespace": "kueue-system",
        "uid": uid("ConfigMap", "kueue-manager-config"),
    }
    data = {"controller_manager_config.yaml": CONFIGURATION}
    return {"apiVersion": "v1", "data": data, "kind": "ConfigMap", "metadata": metadata}
