"""Findings about written documents: unmatched selectors, renamed and repeated objects, and values of templates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as changed

from dra_lab.cel.selector import unknown_in
from dra_lab.errors import CelError
from dra_lab.findings import Finding, Rule, Severity
from dra_lab.gitops.folder import NOT_RENDERED, TEMPLATE_RULE, Document, Manifests
from dra_lab.gitops.object_pods import files_of
from dra_lab.gitops.references import KUSTOMIZE, WrittenClaim, WrittenObjects, every_claim
from dra_lab.index.not_read import not_read
from dra_lab.manifests.file_text import RENDER, has_variables
from dra_lab.manifests.yaml_text import steps
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, asks
from dra_lab.sketch.cluster_candidates import candidates
from dra_lab.sketch.compile import class_findings

SELECTOR_FAILS: Rule = "selector-fails"


def check_matches(claim: WrittenClaim, cluster: Cluster, release: KubernetesRelease) -> Iterator[Finding]:
    """Yield what the classes and selectors of a claim do not find.

    A class or selector that leaves no device is an error, in an alternative a warning: the other alternatives may do.
    Nothing is said to be missing that could not be read.
    """
    sketch = ClaimSketch(requests=claim.spec.devices.requests)
    written = []
    for number, request in enumerate(sketch.requests):
        for index, ask in enumerate(asks(request)):
            step = "exactly" if request.exactly is not None else f"firstAvailable[{index}]"
            written.append((ask, f"{claim.path}.devices.requests[{number}].{step}"))
    unread = not_read(cluster, (sketch,)) is not None
    for finding in () if unread else class_findings(sketch, cluster, done="is checked instead"):
        paths = (f"{path}.deviceClassName" for ask, path in written if ask.device_class_name == finding.subject)
        yield replace(finding, origin=claim.document.at(next(paths, claim.path)))
    for ask, path in written:
        for index, text in enumerate(ask.selectors):
            place = claim.document.at(f"{path}.selectors[{index}].cel.expression")
            with suppress(CelError):  # the API's validation says it, with its place
                for why in unknown_in(release, text):
                    yield Finding("selector-release", Severity.ERROR, ask.reference, why, "", place)
        if not unread:
            yield from _ask(claim, ask, path, cluster, release)


def _ask(claim: WrittenClaim, ask: Ask, path: str, cluster: Cluster, release: KubernetesRelease) -> Iterator[Finding]:
    severity = Severity.WARNING if "/" in ask.reference else Severity.ERROR
    found = candidates(cluster, ask, release)
    if found.error:
        return  # the API's validation or the class finding says it
    if found.failed:
        device, why = next(iter(found.failed.items()))
        what = "kube-scheduler gives up the pod when it meets such a device"
        message = f"a selector fails on {device}: {why.rstrip('.')}. {what}"
        advice = "Guard it with has(...) before it reads the attribute, or use the optional form."
        yield Finding(SELECTOR_FAILS, Severity.ERROR, ask.reference, message, advice, claim.document.at(path))
    if not found.in_class:
        message = f"no device of {cluster.name} belongs to the class {ask.device_class_name!r}"
        place = claim.document.at(f"{path}.deviceClassName")
        yield Finding("class-matches-nothing", severity, ask.reference, message, "", place)
    elif not found.devices:
        left = len(found.in_class)
        for index in range(len(ask.selectors)):
            some = candidates(cluster, changed(ask, selectors=ask.selectors[: index + 1]), release)
            if not some.devices:
                message = f"the selector matches none of {left} devices of {cluster.name}"
                place = claim.document.at(f"{path}.selectors[{index}].cel.expression")
                yield Finding("selector-matches-nothing", severity, ask.reference, message, "", place)
                return
            left = len(some.devices)


CLASS = "DeviceClass"
CLASS_TWICE: Rule = "class-twice"


def claim_subjects(claims: Sequence[WrittenClaim]) -> list[str]:
    """Return what each of several claims is called: `Kind/name`, with its file where others have that name."""
    named = [(f"{one.document.kind}/{one.document.name}", one.document) for one in claims]
    return [f"{name}{file}" for (name, _), file in zip(named, files_of(named), strict=True)]


def repeated_findings(objects: WrittenObjects) -> Iterator[Finding]:
    """Yield a finding for each object that differs from an earlier one of its kind, namespace and name.

    Looked at are claims, templates, DeviceClasses and workloads that ask for devices. In one file it is an error:
    kubectl applies both, and one replaces the other. A cluster has one DeviceClass of a name, so the others are not
    checked.
    """
    asking = [claim.document for claim in every_claim(objects.claims)] + [pod.document for pod in objects.asking]
    asking += [document for document in objects.manifests.documents if document.kind == CLASS]
    groups: dict[tuple[str, str, str], list[Document]] = {}
    for document in asking:
        group = groups.setdefault((document.kind, document.namespace, document.name), [])
        metadata = document.value.get("metadata")
        named = isinstance(metadata, dict) and metadata.get("name")
        if named and not any(document.value == one.value for one in group):
            group.append(document)
    for (kind, _, _), group in groups.items():
        if kind == CLASS:
            yield from (_class(document, group[-1]) for document in group[:-1])
        else:
            yield from (_object(document, group[:number]) for number, document in enumerate(group) if number)


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


KIND = "Kustomization"
_KINDS = ("ResourceClaimTemplate", "ResourceClaim", "DeviceClass")
_RENAMES = ("namePrefix", "nameSuffix")


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
        yield Finding("kustomize-names", Severity.WARNING, KIND, message, f"{KUSTOMIZE} {check}", place)


_WHOLE_OBJECT = ("api-undecodable", "version-unknown")


def without_templates(manifests: Manifests, findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings with one warning in place of each error about a value that is still a template's."""
    documents = {d.at("").key: d for d in manifests.documents}
    return [_as_warning(finding, documents) for finding in findings]


def with_rendered_claims(objects: WrittenObjects, findings: Iterable[Finding]) -> WrittenObjects:
    """Return the objects without claims in which a template's value was found: they cannot be planned."""
    left = {f.origin.key for f in findings if f.rule == TEMPLATE_RULE and f.origin is not None}
    claims = objects.claims.items()
    kept = {key: tuple(one for one in some if one.document.at("").key not in left) for key, some in claims}
    return replace(objects, claims=kept)


def _as_warning(finding: Finding, documents: Mapping[tuple[str, int, str], Document]) -> Finding:
    place = finding.origin
    if finding.severity is not Severity.ERROR or place is None:
        return finding
    document = documents.get(place.key)
    if document is None or not _is_template(document, place.path, whole=finding.rule in _WHOLE_OBJECT):
        return finding
    return replace(finding, rule=TEMPLATE_RULE, severity=Severity.WARNING, message=NOT_RENDERED, advice=RENDER)


def _is_template(document: Document, path: str, *, whole: bool) -> bool:
    """Say whether the value at a path contains a template's mark, or any value of the object if `whole`."""
    if not path or whole:
        return whole and any(has_variables(text) for text in _texts(document.value))
    value: Any = document.value
    for step in steps(path):
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            break
    if isinstance(value, Mapping) and not any(isinstance(item, Mapping | list) for item in value.values()):
        return any(has_variables(text) for text in _texts(value))
    return isinstance(value, str) and has_variables(value)


def _texts(value: Any) -> Iterator[str]:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            pending += [*item.keys(), *item.values()]
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, str):
            yield item
