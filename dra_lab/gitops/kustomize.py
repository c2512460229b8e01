"""What kustomize does to names: it changes those of claims and templates, and not what refers to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dra_lab.findings import Finding, Severity
from dra_lab.gitops.folder import Manifests

KIND = "Kustomization"
_KINDS = ("ResourceClaimTemplate", "ResourceClaim", "DeviceClass")
_RENAMES = ("namePrefix", "nameSuffix")
ADVICE = (
    "Tell kustomize, in a file that `configurations` names: nameReference of kind ResourceClaimTemplate, fieldSpecs "
    "path spec/template/spec/resourceClaims/resourceClaimTemplateName (Deployment, StatefulSet, Job)."
)
"""The built-in name references of kustomize have no kind of resource.k8s.io (api/internal/konfig, namereference.go)."""


def renamed_findings(manifests: Manifests) -> Iterator[Finding]:
    """Yield a warning for each kustomization that changes names while claims, templates or classes are among the files.

    The files are checked as they are: what kustomize makes of them is not known; a finding says how to check it.
    """
    if not any(document.kind in _KINDS for document in manifests.documents):
        return
    for document in manifests.documents:
        version = str(document.value.get("apiVersion", ""))
        unnamed = not document.kind and document.origin.source.rpartition("/")[2].startswith("kustomization.")
        ours = document.kind == KIND and version.startswith("kustomize.config.k8s.io/")
        used = [key for key in _RENAMES if document.value.get(key)]
        if not (ours or unnamed) or not used or document.value.get("configurations"):
            continue
        message = (
            f"{' and '.join(used)}: kustomize renames templates, claims and classes, but not the references "
            "to them; dra-lab checks the files as they are"
        )
        check = "Check its output as well: kubectl kustomize DIR | dra-lab check CLUSTER -"
        place = document.at(used[0])
        yield Finding("kustomize-names", Severity.WARNING, KIND, message, f"{ADVICE} {check}", place)


def likely_renamed(name: str, others: Iterable[str]) -> str:
    """Return the one of other names that is a name with a prefix or a suffix, "" where there is none."""
    return next(
        (other for other in sorted(others) if other != name and (other.startswith(name) or other.endswith(name))), ""
    )
