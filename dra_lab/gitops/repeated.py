"""Objects of one kind and name in several places: each is told apart, and a Finding names the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dra_lab.findings import Finding, Severity
from dra_lab.gitops.folder import Document, Manifests
from dra_lab.gitops.object_pods import PodTemplate, files_of
from dra_lab.gitops.references import Claims, WrittenClaim, every_claim

CLASS = "DeviceClass"
CLASS_TWICE = "class-twice"


def claim_subjects(claims: Sequence[WrittenClaim]) -> list[str]:
    """Return what each of several claims is called: `Kind/name`, with its file where others have that name."""
    named = [(f"{one.document.kind}/{one.document.name}", one.document) for one in claims]
    return [f"{name}{file}" for (name, _), file in zip(named, files_of(named), strict=True)]


def repeated_findings(manifests: Manifests, claims: Claims, pods: Sequence[PodTemplate]) -> Iterator[Finding]:
    """Yield a finding for each object that differs from an earlier one of its kind, namespace and name.

    Looked at are claims, templates, DeviceClasses and workloads that ask for devices. In one file it is an error:
    kubectl applies both, and one replaces the other. A cluster has one DeviceClass of a name, so the others are not
    checked.
    """
    classes = [document for document in manifests.documents if document.kind == CLASS]
    asking = [claim.document for claim in every_claim(claims)] + [pod.document for pod in pods] + classes
    groups: dict[tuple[str, str, str], list[Document]] = {}
    for document in asking:
        group = groups.setdefault((document.kind, document.namespace, document.name), [])
        if _has_name(document) and not any(document.value == one.value for one in group):
            group.append(document)
    for (kind, _, _), group in groups.items():
        if kind == CLASS:
            yield from (_class(document, group[-1]) for document in group[:-1])
        else:
            yield from (_object(document, group[:number]) for number, document in enumerate(group) if number)


def _has_name(document: Document) -> bool:
    metadata = document.value.get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("name"))


def _class(document: Document, used: Document) -> Finding:
    place = document.at("")
    message = f"it is not checked: dra-lab uses the {place.object} of {used.origin.source}, which differs"
    advice = "A cluster has one DeviceClass of a name. Check each with the files of its own cluster."
    return Finding(CLASS_TWICE, Severity.WARNING, place.object, message, advice, place)


def _object(document: Document, earlier: Sequence[Document]) -> Finding:
    place = document.at("")
    same = next((one for one in earlier if one.origin.source == document.origin.source), None)
    other = same or earlier[-1]
    where = f"line {other.at('').line} of this file" if same is not None else other.origin.source
    message = f"{place.object} is also in {where}, with other content"
    if same is not None:
        advice = (
            "kubectl applies both, and the later one replaces the earlier one or is refused. Remove one, or rename it."
        )
        return Finding("manifest-twice", Severity.ERROR, place.object, message, advice, place)
    advice = "Each is checked with the objects of its own folder. Apply one of them, or rename one."
    return Finding("manifest-twice", Severity.WARNING, place.object, message, advice, place)
