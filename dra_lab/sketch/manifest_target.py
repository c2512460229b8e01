"""The target of manifests: release, version of the API, and whether pods share the claim."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dra_lab.checks.rules import check_label
from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks

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
