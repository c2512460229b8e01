"""The outcome of every object that was given: valid and fits, does not, or not checked, with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.extended import unserved_resources, unserved_words
from dra_lab.gitops.folder import NOT_RENDERED, TEMPLATE_RULE, UNREADABLE, Document, Manifests
from dra_lab.gitops.matches import SELECTOR_FAILS
from dra_lab.gitops.object_pods import PodTemplate, pod_templates
from dra_lab.gitops.references import CLAIM, TEMPLATE, Claims, claim_of
from dra_lab.gitops.review import Checked, Fit, Reviewed, worst
from dra_lab.manifests.device_asks import asks_outside
from dra_lab.manifests.versions import GROUP
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.pinning.pod_start import unmet

RECORDS = "dra-lab/"
"""Start of the `apiVersion` of our own files, which are no Kubernetes objects."""

_FitSentence = tuple[Fit, str]


@dataclass(frozen=True)
class AnsweredPod:
    """What a check found out before the outcomes: the answers to its questions, and every finding.

    `short` are the workloads of which not every replica fits at once with the other workloads.
    """

    claims: Claims
    reviewed: Sequence[Reviewed]
    findings: Sequence[Finding]
    cluster: Cluster
    release: KubernetesRelease
    short: frozenset[str] = frozenset()


def checked_objects(manifests: Manifests, answered: AnsweredPod) -> tuple[tuple[Checked, ...], int]:
    """Return the objects that ask for devices or are not valid, with their outcomes, and how many others there are.

    A ResourceClaimTemplate or ResourceClaim that workloads use fits if one pod of one of them fits. An object with an
    error does not fit. A pod is not checked if one of its claims is not given, or if it also asks for an extended
    resource that no DeviceClass serves. A document that cannot be read counts as an object.
    """
    by_place = {item.origin: item for item in answered.reviewed}
    users = _users(manifests, answered.claims, by_place)
    errors: dict[tuple[str, int, str], str] = {}
    for finding in answered.findings:
        if finding.severity is Severity.ERROR and finding.origin is not None:
            errors.setdefault(_key(finding.origin), finding.message)
    unrendered = {_key(f.origin) for f in answered.findings if f.rule == TEMPLATE_RULE and f.origin is not None}
    objects, others = [*_unreadable(manifests)], 0
    for document in manifests.documents:
        if not _is_object(document):
            continue
        sentences = [*_fit_sentences(document, answered, by_place, users)]
        error = errors.get(_key(document.at("")), errors.get((document.origin.source, document.origin.document, "")))
        if error is not None:
            sentences.insert(0, (Fit.DOES_NOT_FIT, error))
        if _key(document.at("")) in unrendered:
            sentences.insert(0, (Fit.NOT_CHECKED, NOT_RENDERED))
        if not sentences:
            others += 1
            continue
        outcome = worst(fit for fit, _ in sentences)
        reason = "" if outcome is Fit.FITS else next(why for fit, why in sentences if fit is outcome)
        objects.append(Checked(f"{document.kind}/{document.name}", outcome, reason, document.at("")))
    return tuple(objects), others


def _key(origin: Origin) -> tuple[str, int, str]:
    return origin.source, origin.document, origin.object


def _is_object(document: Document) -> bool:
    version = document.value.get("apiVersion")
    ours = isinstance(version, str) and version.startswith(RECORDS)
    return not ours and bool(document.kind or version)


def _unreadable(manifests: Manifests) -> Iterator[Checked]:
    for finding in manifests.findings:
        if finding.rule in UNREADABLE:
            outcome = Fit.DOES_NOT_FIT if finding.severity is Severity.ERROR else Fit.NOT_CHECKED
            place = finding.origin or Origin(finding.subject)
            number = f", document {place.document}" if place.document else ""
            yield Checked(f"{finding.subject}{number}", outcome, f"{finding.message}. {finding.advice}", place)


def _users(
    manifests: Manifests, claims: Claims, by_place: Mapping[Origin, Reviewed]
) -> dict[tuple[str, str, str], list[Reviewed]]:
    """Return the answers for the workloads that use each claim or template."""
    found: dict[tuple[str, str, str], list[Reviewed]] = {}
    for document in manifests.documents:
        for pod in pod_templates(document):
            item = by_place.get(document.at(pod.path))
            for entry in pod.claims if item is not None else ():
                claim = claim_of(pod, entry, claims)
                if claim is not None and item is not None:
                    used = claim.document
                    found.setdefault((used.kind, used.namespace, used.name), []).append(item)
    return found


def without_unmet(manifests: Manifests, claims: Claims, reviewed: Sequence[Reviewed], findings: list[Finding]) -> None:
    """Make a selector that fails a warning if every workload of its claim fits: their pods never meet such a device."""
    by_place = {item.origin: item for item in reviewed}
    users = {f"{kind}/{name}": used for (kind, _, name), used in _users(manifests, claims, by_place).items()}
    for index, finding in enumerate(findings):
        used = users.get(finding.origin.object, ()) if finding.rule == SELECTOR_FAILS and finding.origin else ()
        if used and all(item.fit is Fit.FITS for item in used):
            findings[index] = unmet(finding)


def _fit_sentences(
    document: Document,
    answered: AnsweredPod,
    by_place: Mapping[Origin, Reviewed],
    users: Mapping[tuple[str, str, str], Sequence[Reviewed]],
) -> Iterator[_FitSentence]:
    if document.kind in (CLAIM, TEMPLATE):
        alone = by_place.get(document.at(""))
        used = users.get((document.kind, document.namespace, document.name), ())
        yield _of_claim(document, alone, used)
        return
    for path, _ in islice(asks_outside(document.value), 1):
        yield (
            Fit.NOT_CHECKED,
            f"it requests devices at {path}, outside a pod template, so dra-lab does not know its pods",
        )
    for pod in pod_templates(document):
        yield from _of_pod(pod, answered, by_place)


def _of_claim(document: Document, alone: Reviewed | None, used: Sequence[Reviewed]) -> _FitSentence:
    if alone is not None:
        return alone.fit, alone.sentence
    if any(item.fit is Fit.FITS or item.times for item in used):
        return Fit.FITS, ""
    if used:
        outcome = worst(item.fit for item in used)
        return outcome, next(item.sentence for item in used if item.fit is outcome)
    group = document.value.get("apiVersion")
    return Fit.NOT_CHECKED, f"it cannot be read as a {document.kind} of {group or GROUP}"


def _of_pod(pod: PodTemplate, answered: AnsweredPod, by_place: Mapping[Origin, Reviewed]) -> Iterator[_FitSentence]:
    item = by_place.get(pod.document.at(pod.path))
    if item is not None:
        if item.subject in answered.short:
            yield Fit.DOES_NOT_FIT, "it fits alone, but not at once with the other workloads"
        yield item.fit, item.sentence
        return
    if pod.claims:
        yield Fit.NOT_CHECKED, _why_not(pod, answered.findings)
    unserved = unserved_resources(pod, answered.cluster, answered.release)
    if unserved:
        yield Fit.NOT_CHECKED, unserved_words(unserved, answered.release)


def _why_not(pod: PodTemplate, findings: Sequence[Finding]) -> str:
    places = {pod.document.at(entry.path) for entry in pod.claims}
    missing = [f for f in findings if f.rule == "claim-not-given" and f.origin in places]
    return "; ".join(finding.message for finding in missing) or "dra-lab cannot plan its claims"
