"""ProvisioningRequests for gangs that need new nodes: all-or-nothing requests to Cluster Autoscaler.

Source: the schema of `autoscaling.x-k8s.io/v1` in kubernetes/autoscaler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dra_lab.errors import InputError, did_you_mean
from dra_lab.exports.gangs.gang_parts import GangParts, Object, gang_parts, priority_class
from dra_lab.exports.manifests import ManifestFiles
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.manifests.yaml_text import dump_all
from dra_lab.model.node_type import AddedNodes
from dra_lab.model.plan import PlanStatus
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workload import Workload
from dra_lab.sketch.claim_objects import Target

VERSION = "autoscaling.x-k8s.io/v1"
CLASSES = ("best-effort-atomic-scale-up", "check-capacity")
"""The classes that Cluster Autoscaler itself knows; those of cloud providers have a name with a dot."""

CONSUME = "autoscaling.x-k8s.io/consume-provisioning-request"
CLASS_OF = "autoscaling.x-k8s.io/provisioning-class-name"
MOST_POD_SETS = 32
_KIND = f"ProvisioningRequest {VERSION}"


def provisioning_request(
    added: AddedNodes,
    *,
    mode: str = CLASSES[0],
) -> ManifestFiles:
    """Return a ProvisioningRequest for each gang and workload; the same answer gives the same bytes every time.

    `mode` is one of CLASSES ("best-effort-atomic-scale-up": add all nodes or none; "check-capacity": only say whether
    there is room), or the full name of a class of a cloud provider. Raises InputError for an unknown class, if nothing
    has to be added, and for a gang with more groups than a request may have.
    """
    if "." not in mode and mode not in CLASSES:
        similar = did_you_mean(mode, CLASSES)
        raise InputError(f"class {mode!r} is not known{similar}; use {', '.join(CLASSES)}, or a full name with a dot")
    chosen = f"{mode}.autoscaling.x-k8s.io" if mode in CLASSES else mode
    if not added.added:
        raise InputError("nothing has to be added, so there is nothing to request")
    release = KubernetesRelease(added.release)
    documents: dict[str, str] = {}
    findings: list[Finding] = []
    # those that fit without new nodes have a request too: which they are is the autoscaler's to find out
    ordinary = (Workload(one.name, one.claims, count=one.replicas) for one in added.workloads)
    for gang in (*added.wanted, *ordinary):
        groups = tuple(replace(group, level="", prefer_level="", slices=()) for group in gang.pods)
        apart = replace(gang, pods=groups, level="", prefer_level="", hierarchy="")
        parts = gang_parts(apart, None, Target(release), cluster=added.cluster, pins=[()] * gang.replicas)
        head = f"# Gang {parts.name}: {_KIND} for Cluster Autoscaler and Kubernetes {release}, drawn with dra-lab.\n"
        made = {f"provisioningrequest-{parts.name}.yaml": [*_objects(parts, chosen)]}
        if parts.priority_class:
            made = {f"priorityclass-{parts.priority_class}.yaml": [priority_class(parts)], **made}
        documents |= {**parts.texts, **{file: head + dump_all(items) for file, items in made.items()}}
        findings += [one for one in parts.findings if one not in findings]
    cannot = ["A ProvisioningRequest names no node type and no number of nodes; Cluster Autoscaler chooses both."]
    if any(gang.level for gang in added.wanted):
        cannot.append("A ProvisioningRequest cannot say that the pods of a gang need one rack or another domain.")
    if any(one.new for one in added.added):
        cannot.append("A ProvisioningRequest cannot ask for a new rack or another new domain.")
    every = sort_findings([*findings, *_findings(added)])
    return ManifestFiles(documents, findings=every, not_expressed=tuple(cannot))


def _objects(parts: GangParts, chosen: str) -> Iterator[Object]:
    if len(parts.groups) > MOST_POD_SETS:
        raise InputError(
            f"gang {parts.gang.name!r} has {len(parts.groups)} groups; a request has {MOST_POD_SETS} at most"
        )
    for copy, name in enumerate(parts.copies):
        sets = []
        for group in parts.groups:
            template = f"{name}-{group.name}"
            body = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": parts.metadata(template)}
            yield {**body, "template": parts.pod_template(copy, group)}
            sets.append({"count": group.count, "podTemplateRef": {"name": template}})
        spec: Object = {"provisioningClassName": chosen, "podSets": sets}
        yield {"apiVersion": VERSION, "kind": "ProvisioningRequest", "metadata": parts.metadata(name), "spec": spec}


def _findings(added: AddedNodes) -> Iterator[Finding]:
    message = "no source proves that Cluster Autoscaler counts the claims of a PodTemplate in a ProvisioningRequest"
    advice = "Try it with check-capacity first, and compare the nodes that it adds with this answer."
    yield Finding("provisioning-request-claims", Severity.WARNING, _KIND, message, advice)
    message = f"pods use the request only with the annotations {CONSUME} and {CLASS_OF}"
    yield Finding("provisioning-request-pods", Severity.NOTE, _KIND, message, "Add both to the pods of the gang.")
    if added.status is not PlanStatus.OPTIMAL:
        message = "fewer nodes may be enough, because the answer is not proven"
        yield Finding("provisioning-request-not-proven", Severity.NOTE, _KIND, message, "Plan again with more time.")
