"""Fields and annotations of other schedulers in manifests that do not exist, or no longer, with the right ones.

The lists are those of the schemas of Kueue 0.20, KAI 0.17.0, Volcano 1.15.1 and Grove 0.1.0-alpha.12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from dra_lab.exports.gangs.pod_group import POD_GROUPS, not_by_default
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.pod_templates import matches, pod_fields
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.quantity import unsigned_number
from dra_lab.model.queues import KUEUE_VERSION
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.topologies import KUEUE

_TOPOLOGY = ("mode", "highestTierAllowed", "highestTierName")
_KAI_TOPOLOGY = ("topology", "requiredTopologyLevel", "preferredTopologyLevel")

FIELDS: Mapping[tuple[str, str], Mapping[str, tuple[str, ...]]] = {
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"): {
        "spec": (
            "admissionChecksStrategy", "admissionScope", "cohortName", "concurrentAdmissionPolicy", "fairSharing",
            "flavorFungibility", "namespaceSelector", "preemption", "queueingStrategy", "resourceGroups", "stopPolicy",
        ),
        "spec.resourceGroups[*]": ("coveredResources", "flavors"),
        "spec.resourceGroups[*].flavors[*]": ("name", "resources"),
        "spec.resourceGroups[*].flavors[*].resources[*]": ("name", "nominalQuota", "borrowingLimit", "lendingLimit"),
    },
    ("kueue.x-k8s.io/v1beta2", "Topology"): {"spec": ("levels",), "spec.levels[*]": ("nodeLabel",)},
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"): {"spec": ("nodeLabels", "nodeTaints", "tolerations", "topologyName")},
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"): {"spec": ("clusterQueue", "fairSharing", "stopPolicy")},
    ("kai.scheduler/v1alpha1", "Topology"): {"spec": ("levels",), "spec.levels[*]": ("nodeLabel", "alias")},
    ("scheduling.run.ai/v2alpha2", "PodGroup"): {
        "spec": (
            "markUnschedulable", "minMember", "minSubGroup", "preemptibility", "preemptionDelay", "priorityClassName",
            "queue", "schedulingBackoff", "stalenessGracePeriod", "subGroups", "topologyConstraint",
        ),
        "spec.topologyConstraint": _KAI_TOPOLOGY,
        "spec.subGroups[*]": ("name", "parent", "minMember", "minSubGroup", "topologyConstraint"),
        "spec.subGroups[*].topologyConstraint": _KAI_TOPOLOGY,
    },
    ("batch.volcano.sh/v1alpha1", "Job"): {
        "spec": (
            "maxRetry", "minAvailable", "minSuccess", "networkTopology", "plugins", "policies", "priorityClassName",
            "queue", "runningEstimate", "schedulerName", "tasks", "ttlSecondsAfterFinished", "volumes",
        ),
        "spec.networkTopology": _TOPOLOGY,
        "spec.tasks[*]": (
            "dependsOn", "maxRetry", "minAvailable", "name", "partitionPolicy", "policies", "replicas", "template",
            "topologyPolicy",
        ),
        "spec.tasks[*].partitionPolicy": ("minPartitions", "networkTopology", "partitionSize", "totalPartitions"),
        "spec.tasks[*].partitionPolicy.networkTopology": _TOPOLOGY,
    },
    ("topology.volcano.sh/v1alpha1", "HyperNode"): {
        "spec": ("members", "tier", "tierName"),
        "spec.members[*]": ("selector", "type"),
        "spec.members[*].selector": ("exactMatch", "labelMatch", "regexMatch"),
    },
}  # fmt: skip
"""The fields of objects at the paths where articles and older versions have others."""

RENAMED: Mapping[tuple[str, str], str] = {
    ("ClusterQueue", "cohort"): "cohortName",
    ("Job", "topologyPolicy"): "networkTopology",
    ("Job", "minMember"): "minAvailable",
    ("PodGroup", "minAvailable"): "minMember",
}
"""What is called otherwise: (kind, wrong field) to the right one, where the two are not alike."""

OLDER: Mapping[tuple[str, str], str] = {
    ("kueue.x-k8s.io/v1beta1", ""): "kueue.x-k8s.io/v1beta2",
    ("kueue.x-k8s.io/v1alpha1", "Topology"): "kueue.x-k8s.io/v1beta2",
    ("scheduling.k8s.io/v1alpha1", "Workload"): "scheduling.k8s.io/v1alpha2 of Kubernetes 1.36",
    ("grove.io/v1alpha1", "ClusterTopology"): "kind ClusterTopologyBinding",
}
"""Versions and kinds that newer ones replace; "" is every kind."""

ANNOTATIONS = (
    *(
        f"kueue.x-k8s.io/podset-{name}"
        for name in (
            "required-topology", "preferred-topology", "unconstrained-topology", "slice-required-topology",
            "slice-size", "slice-required-topology-constraints", "group-name", "topology-spreading",
        )
    ),
    *(f"kai.scheduler/topology{name}" for name in ("", "-required-placement", "-preferred-placement")),
    "volcano.sh/network-topology-mode",
    "volcano.sh/network-topology-highest-tier",
    "volcano.sh/network-topology-source",
)  # fmt: skip
"""The annotations about levels; schedulers ignore others that look like them."""

At = Callable[[str], Origin]
_LIKE = ("kueue.x-k8s.io/podset", "kai.scheduler/topology", "volcano.sh/network-topology")
_UPSTREAM = "scheduling.k8s.io/"
_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


def scheduler_fields(document: Mapping[str, Any], at: At, release: KubernetesRelease) -> tuple[Finding, ...]:
    """Return a Finding for each field, annotation or version of scheduling that is called otherwise or is not served.

    `at` returns the place of a path of the object, for the messages. They are in the order of the document's fields; ()
    for objects of other APIs. `release` has its own versions of PodGroup.
    """
    found = (*_versions(document, at), *_fields(document, at), *_annotations(document, at))
    return (*found, *_pod_groups(document, at, release))


def _pod_groups(document: Mapping[str, Any], at: At, release: KubernetesRelease) -> Iterator[Finding]:
    version, where = str(document.get("apiVersion")), at("apiVersion")
    if document.get("kind") != "PodGroup" or not version.startswith(_UPSTREAM):
        return
    served = POD_GROUPS.get(release.minor, ())
    if version in served:
        yield not_by_default(version, where.object, where)
        return
    message = f"Kubernetes {release.version} has no PodGroup of {version}"
    advice = f"Write it as {served[0]}." if served else f"Use release {' or '.join(POD_GROUPS)}, or another scheduler."
    yield Finding("pod-group-version", _ERROR, where.object, message, advice, where)


def _versions(document: Mapping[str, Any], at: At) -> Iterator[Finding]:
    version, kind = str(document.get("apiVersion")), str(document.get("kind"))
    newer = OLDER.get((version, kind)) or OLDER.get((version, ""))
    if newer:
        gone = f"; {KUEUE_VERSION} does not serve it" if version.startswith(f"{KUEUE}/") else ""
        message = f"{kind} of {version} is replaced by {newer}{gone}"
        where = at("apiVersion")
        spec = document.get("spec")
        known = [(wrong, right) for (of, wrong), right in RENAMED.items() if of == kind]
        others = [(wrong, right) for wrong, right in known if isinstance(spec, Mapping) and wrong in spec]
        renamed = "".join(f" There, {name} is called {right}." for name, right in others)
        advice = f"Write it as {newer}.{renamed}"
        yield Finding("scheduler-version-old", _WARNING, where.object, message, advice, where)


def _fields(document: Mapping[str, Any], at: At) -> Iterator[Finding]:
    version, kind = str(document.get("apiVersion")), str(document.get("kind"))
    for path, known in FIELDS.get((version, kind), {}).items():
        for place, value in matches(document, path):
            for name in value if isinstance(value, Mapping) else ():
                if name in known:
                    continue
                right = RENAMED.get((kind, name)) or next(iter(get_close_matches(str(name), known, 1, 0.75)), "")
                message = f"{kind} of {version} has no field {name}"
                advice = f"Did you mean {right}?" if right else f"It has: {', '.join(known)}."
                where = at(f"{place}.{name}")
                yield Finding("scheduler-field-unknown", _ERROR, where.object, message, advice, where)
    if (version, kind) == ("batch.volcano.sh/v1alpha1", "Job"):
        for place, policy in matches(document, "spec.tasks[*].topologyPolicy"):
            if policy not in (None, "", "none"):
                message = "topologyPolicy is about the NUMA nodes of one server and keeps no pods together"
                advice = "For racks and blocks, did you mean networkTopology or partitionPolicy?"
                where = at(place)
                yield Finding("scheduler-field-other", _WARNING, where.object, message, advice, where)
    if version.startswith("grove.io/"):
        for path in _pack_domains(document, "", 0):
            message = "Grove refuses packDomain in new objects"
            advice = "Did you mean pack.required, or pack.preferred?"
            where = at(path)
            yield Finding("scheduler-field-unknown", _ERROR, where.object, message, advice, where)


def _annotations(document: Mapping[str, Any], at: At) -> Iterator[Finding]:
    paths = ["metadata", *(f"{field.template}.metadata" for field in pod_fields(document))]
    for path in dict.fromkeys(paths):
        found = value_at(document, f"{path}.annotations")
        for name in found if isinstance(found, Mapping) else ():
            if str(name).startswith(_LIKE) and name not in ANNOTATIONS:
                similar = next(iter(get_close_matches(str(name), ANNOTATIONS, 1, 0.75)), "")
                message = f"no scheduler reads the annotation {name}"
                advice = f"Did you mean {similar}?" if similar else "Remove it."
                where = at(f"{path}.annotations")
                yield Finding("scheduler-annotation", _ERROR, where.object, message, advice, where)
        yield from _kueue_values(found if isinstance(found, Mapping) else {}, at(f"{path}.annotations"))


def _kueue_values(texts: Mapping[str, Any], where: Origin) -> Iterator[Finding]:
    """Yield what Kueue 0.20 refuses in the values of its annotations, and what it ignores by default.

    Source: kubernetes-sigs/kueue v0.20, pkg/controller/jobframework/tas_validation.go.
    """
    size = texts.get("kueue.x-k8s.io/podset-slice-size")
    if size is not None and not unsigned_number(str(size)):
        message = f"Kueue refuses a podset-slice-size of {size}"
        yield Finding("scheduler-annotation-value", _ERROR, where.object, message, "Write a number, 1 or more.", where)
    if "kueue.x-k8s.io/podset-topology-spreading" in texts:
        message = "Kueue spreads groups of pods only with its gate TASTopologySpreading, which is alpha and off"
        advice = "dra-lab plans without it; with the gate, Kueue may choose another domain."
        yield Finding("scheduler-annotation-alpha", _NOTE, where.object, message, advice, where)


def _pack_domains(value: Any, path: str, depth: int) -> Iterator[str]:
    if depth > 24:
        return
    if isinstance(value, Mapping):
        for name, item in value.items():
            here = f"{path}.{name}" if path else str(name)
            if name == "packDomain":
                yield here
            yield from _pack_domains(item, here, depth + 1)
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _pack_domains(item, f"{path}[{at}]", depth + 1)
