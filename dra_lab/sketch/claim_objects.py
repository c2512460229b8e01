"""The target of manifests, and the objects of an export: claim or template, classes, an example of a workload."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.checks.rules import check_label
from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.manifests.documents import encode
from dra_lab.manifests.versions import downgrade
from dra_lab.model.claims import (
    DeviceClass,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
)
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.sketch.compile import CompiledClaim
from dra_lab.sketch.object_names import object_name

API_VERSIONS = ("v1", "v1beta2", "v1beta1")
"""Versions of `resource.k8s.io` that claims are written in; 1.34 to 1.37 know all three (docs/semantics.md 1.1)."""

KINDS = {"template": "ResourceClaimTemplate", "claim": "ResourceClaim"}
MEANING = {
    "template": "each pod gets its own devices until the pod is deleted",
    "claim": "all pods that name it share the same devices, and so the node, until the claim is deleted",
}
"""What pods get of a template and of a claim (docs/semantics.md 1.14, 1.15)."""

KIND_HELP = "; ".join(f"{kind}: {meaning}" for kind, meaning in MEANING.items())
"""The difference in one sentence, wherever one chooses."""

ADMIN_LABEL = "resource.kubernetes.io/admin-access"
MOST_CONSUMERS = 256
"""Most entries of `status.reservedFor`: pods that share a claim (docs/semantics.md 1.14)."""


class Target(Struct, frozen=True):
    """What is written for.

    `kind` is `template` (a ResourceClaimTemplate: each pod its own devices) or `claim` (a ResourceClaim that pods
    share). If `namespace` is "", the person who applies the files chooses it. An alpha feature is used only where
    `release` has its gate on: `KubernetesRelease("1.37", {"DRADerivedAttributes": True})`. Raises InputError for
    another version or kind.
    """

    release: KubernetesRelease
    api_version: str = "v1"
    kind: str = "template"
    namespace: str = ""

    def __post_init__(self) -> None:
        """Refuse what is not known, by name."""
        if self.api_version not in API_VERSIONS:
            known = ", ".join(API_VERSIONS)
            raise InputError(f"resource.k8s.io/{self.api_version} is not supported; use one of {known}")
        if self.kind not in KINDS:
            raise InputError(f"kind {self.kind!r} is not supported; use template or claim ({KIND_HELP})")
        for error in check_label(self.namespace, "") if self.namespace else ():
            raise InputError(f"the namespace {error.message}")


def target_findings(sketch: ClaimSketch, target: Target) -> Iterator[Finding]:
    """Yield what a person must know of a target: sharing, the namespace's label, versions on their way out."""
    name = sketch.name
    if target.kind == "claim":
        message = (
            "pods share a ResourceClaim. Every pod that names it gets the same devices, so all of them run "
            f"on one node, and at most {MOST_CONSUMERS} pods can use it"
        )
        advice = "If each pod needs its own devices, write a template (--kind template)."
        yield Finding("shared-claim", Severity.NOTE, name, message, advice)
    admin = [ask.reference for request in sketch.requests for ask in asks(request) if ask.admin_access]
    if admin and target.release.enabled("DRAAdminAccess"):
        where = target.namespace or "NAMESPACE"
        message = f"{', '.join(admin)}: the API server accepts adminAccess only in a namespace with a label for it"
        advice = f"kubectl label namespace {where} {ADMIN_LABEL}=true"
        yield Finding("admin-namespace", Severity.WARNING, name, message, advice)
    if target.api_version != "v1":
        message = f"resource.k8s.io/{target.api_version} is used; every release from 1.34 on has v1 as well"
        advice = "Use v1 unless another of your tools knows only the older version."
        yield Finding("api-version-old", Severity.NOTE, name, message, advice)


MANAGED_BY = "dra-lab"
POD_CLAIM = "devices"
"""Name of the entry in a pod's `spec.resourceClaims`."""

POD_IMAGE = "busybox:1.37"
EXAMPLES = ("pod", "deployment", "statefulset", "job", "none")
"""The kinds of examples that show how the claim is used."""

Affinity = tuple[dict[str, Any], ...]
"""Requirements on a node (`matchExpressions[]`), all of which must hold."""


def claim_object(compiled: CompiledClaim, name: str, target: Target) -> ResourceClaimTemplate | ResourceClaim:
    """Return the template or claim of a compiled drawing, under `object_name` of the name, with labels."""
    own = object_name(name)
    metadata = ObjectMeta(name=own, namespace=target.namespace, labels=labels(own, "devices"))
    if target.kind == "claim":
        return ResourceClaim(metadata=metadata, spec=compiled.spec)
    inner = ResourceClaimTemplateSpec(metadata=ObjectMeta(labels=labels(own, "devices")), spec=compiled.spec)
    return ResourceClaimTemplate(metadata=metadata, spec=inner)


def plain(item: ResourceClaimTemplate | ResourceClaim | DeviceClass, target: Target) -> dict[str, Any]:
    """Return an object as plain values in the target's version, with the defaults that the API server would add."""
    document = encode(item)
    if not isinstance(item, DeviceClass):
        spec = document["spec"]["spec"] if isinstance(item, ResourceClaimTemplate) else document["spec"]
        for request in spec.get("devices", {}).get("requests", ()):
            for part in (request.get("exactly"), *request.get("firstAvailable", ())):
                if part and part.get("tolerations"):
                    part["tolerations"] = [_toleration(toleration) for toleration in part["tolerations"]]
    if target.api_version == "v1":
        return document
    older = downgrade(document, target.api_version)
    if target.api_version == "v1beta1" and not isinstance(item, DeviceClass):
        spec = older["spec"]["spec"] if isinstance(item, ResourceClaimTemplate) else older["spec"]
        if spec.get("devices", {}).get("requests"):
            spec["devices"]["requests"] = [_flat(request) for request in spec["devices"]["requests"]]
    return older


def _flat(request: dict[str, Any]) -> dict[str, Any]:
    """Write the class of a v1beta1 request with alternatives: the server stores it empty, and a tool would compare."""
    if "firstAvailable" not in request:
        return request
    return {"name": request["name"], "deviceClassName": "", **request}


def labels(name: str, component: str) -> dict[str, str]:
    """Return the labels of every object that is written; no version, date or digest, so that they never change."""
    return {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/component": component,
        "app.kubernetes.io/managed-by": MANAGED_BY,
    }


def labelled_class(device_class: DeviceClass) -> DeviceClass:
    """Return a class as it is exported.

    Without extendedResourceName: the claim does not need it, and it would change how other pods get their devices.
    """
    return replace(
        device_class,
        metadata=replace(device_class.metadata, labels=labels(object_name(device_class.name), "device-class")),
        spec=replace(device_class.spec, extended_resource_name=None),
    )


def pod_claim(claim: ResourceClaimTemplate | ResourceClaim, name: str = POD_CLAIM) -> dict[str, str]:
    """Return the entry of `spec.resourceClaims` with which a pod uses a claim or template, under a name."""
    template = isinstance(claim, ResourceClaimTemplate)
    reference = "resourceClaimTemplateName" if template else "resourceClaimName"
    return {"name": name, reference: claim.metadata.name}


def node_affinity(affinity: Affinity) -> dict[str, Any]:
    """Return `spec.affinity` of a pod that runs only where all requirements hold."""
    required = {"nodeSelectorTerms": [{"matchExpressions": [dict(requirement) for requirement in affinity]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def example(
    claim: ResourceClaimTemplate | ResourceClaim,
    kind: str = "pod",
    affinity: Affinity = (),
    *,
    more: Sequence[ResourceClaimTemplate | ResourceClaim] = (),
    replicas: int = 1,
    name: str = "",
    entries: Sequence[str] = (),
) -> dict[str, Any]:
    """Return a workload with one container that gets all devices of a claim, as plain values in the API's order.

    `kind` is one of EXAMPLES but `none`. `more` are further claims of the pod, and `entries` the names of all of them
    in the pod. A single pod has no `replicas`. It is called after `name`, else after the claim. Raises InputError for
    another kind.
    """
    name = name or claim.metadata.name
    own = object_name(f"{name[:55]}-example")
    metadata: dict[str, Any] = {"name": own}
    if claim.metadata.namespace:
        metadata["namespace"] = claim.metadata.namespace
    metadata["labels"] = labels(name, "pod" if kind == "pod" else "workload")
    lasting = kind in ("deployment", "statefulset")
    used = pod_claims((claim, *more), entries)
    spec = pod_spec(used, affinity, "Always" if lasting else "Never")
    if kind == "pod":
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    selector = {"app.kubernetes.io/name": name, "app.kubernetes.io/component": "workload"}
    template = {"metadata": {"labels": labels(name, "workload")}, "spec": spec}
    match kind:
        case "deployment":
            body: dict[str, Any] = {"replicas": replicas, "selector": {"matchLabels": selector}, "template": template}
            return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": body}
        case "statefulset":
            body = {
                "replicas": replicas,
                "selector": {"matchLabels": selector},
                "serviceName": own,
                "template": template,
            }
            return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata, "spec": body}
        case "job":
            body = {"parallelism": replicas, "completions": replicas, "template": template}
            return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": body}
    raise InputError(f"there is no example of kind {kind!r}; use one of {', '.join(EXAMPLES)}")


def pod_claims(
    claims: Sequence[ResourceClaimTemplate | ResourceClaim], names: Sequence[str] = ()
) -> list[dict[str, str]]:
    """Return `spec.resourceClaims` of a pod with these claims, under their names; a single one needs none."""
    return [pod_claim(claim, name) for claim, name in zip(claims, names or (POD_CLAIM,), strict=True)]


def pod_spec(
    entries: list[dict[str, str]], affinity: Affinity, restart_policy: str, *, priority_class: str = ""
) -> dict[str, Any]:
    """Return the spec of a pod with one container that gets the devices of all claims."""
    container = {
        "name": "main",
        "image": POD_IMAGE,
        "command": ["sleep", "infinity"],
        "resources": {"claims": [{"name": entry["name"]} for entry in entries]},
    }
    spec: dict[str, Any] = {"containers": [container], "resourceClaims": entries}
    if affinity:
        spec["affinity"] = node_affinity(affinity)
    if priority_class:
        spec["priorityClassName"] = priority_class
    return {**spec, "restartPolicy": restart_policy}


def _toleration(plain_toleration: dict[str, Any]) -> dict[str, Any]:
    order = ("key", "operator", "value", "effect", "tolerationSeconds")
    full = {"operator": "Equal", **plain_toleration}
    return {key: full[key] for key in order if key in full}
