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
from dra_lab.gitops.references import CLAIM, TEMPLATE, Claims, claim_of, every_claim
from dra_lab.gitops.repeated import CLASS_TWICE
from dra_lab.gitops.review import Checked, FitState, Reviewed, worst
from dra_lab.manifests.device_asks import asks_outside
from dra_lab.manifests.versions import GROUP
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.pinning.pod_start import unmet

RECORDS = "dra-lab/"
"""Start of the `apiVersion` of our own files, which are no Kubernetes objects."""

_REASONS = {
    TEMPLATE_RULE: NOT_RENDERED,
    CLASS_TWICE: "another DeviceClass of its name is used in its place",
}
"""Why the object of a finding is not checked, by the finding's rule."""

_FitSentence = tuple[FitState, str]


@dataclass(frozen=True)
class AnsweredPod:
    """What a check found out before the outcomes: the answer to the question of each place, and every finding.

    `short` are the workloads of which not every replica fits at once with the other workloads.
    """

    claims: Claims
    by_place: Mapping[Origin, Reviewed]
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
    users = _users(manifests, answered.claims, answered.by_place)
    errors: dict[tuple[str, int, str], str] = {}
    for finding in answered.findings:
        if finding.severity is Severity.ERROR and finding.origin is not None:
            errors.setdefault(finding.origin.key, finding.message)
    first = {copy.at("").key: one.document.at("").key for one in every_claim(answered.claims) for copy in one.copies}
    unchecked = {f.origin.key: _REASONS[f.rule] for f in answered.findings if f.rule in _REASONS and f.origin}
    objects, others = [*_unreadable(manifests)], 0
    for document in manifests.documents:
        if not _is_object(document):
            continue
        key = document.at("").key
        sentences = [*_fit_sentences(document, answered, users)]
        whole = document.origin.source, document.origin.document, ""
        error = next((errors[one] for one in (key, first.get(key, key), whole) if one in errors), None)
        if error is not None:
            sentences.insert(0, (FitState.DOES_NOT_FIT, error))
        sentences[:0] = [
            (FitState.NOT_CHECKED, unchecked[one]) for one in {key, first.get(key, key)} if one in unchecked
        ]
        if not sentences:
            others += 1
            continue
        outcome = worst(fit for fit, _ in sentences)
        reason = "" if outcome is FitState.FITS else next(why for fit, why in sentences if fit is outcome)
        objects.append(Checked(f"{document.kind}/{document.name}", outcome, reason, document.at("")))
    return tuple(objects), others


def _is_object(document: Document) -> bool:
    version = document.value.get("apiVersion")
    ours = isinstance(version, str) and version.startswith(RECORDS)
    return not ours and bool(document.kind or version)


def _unreadable(manifests: Manifests) -> Iterator[Checked]:
    for finding in manifests.findings:
        if finding.rule in UNREADABLE:
            outcome = FitState.DOES_NOT_FIT if finding.severity is Severity.ERROR else FitState.NOT_CHECKED
            place = finding.origin or Origin(finding.subject)
            number = f", document {place.document}" if place.document else ""
            yield Checked(f"{finding.subject}{number}", outcome, f"{finding.message}. {finding.advice}", place)


def _users(
    manifests: Manifests, claims: Claims, by_place: Mapping[Origin, Reviewed]
) -> dict[tuple[str, int, str], list[Reviewed]]:
    """Return the answers for the workloads that use each claim or template, by the places of it and its copies."""
    found: dict[tuple[str, int, str], list[Reviewed]] = {}
    for document in manifests.documents:
        for pod in pod_templates(document):
            item = by_place.get(document.at(pod.path))
            if item is None:
                continue
            for entry in pod.claims:
                claim = claim_of(pod, entry, claims)
                for used in claim.documents if claim is not None else ():
                    found.setdefault(used.at("").key, []).append(item)
    return found


def without_unmet(
    manifests: Manifests, claims: Claims, by_place: Mapping[Origin, Reviewed], findings: list[Finding]
) -> None:
    """Make a selector that fails a warning if every workload of its claim fits: their pods never meet such a device."""
    users = _users(manifests, claims, by_place)
    for index, finding in enumerate(findings):
        used = users.get(finding.origin.key, ()) if finding.rule == SELECTOR_FAILS and finding.origin else ()
        if used and all(item.fit is FitState.FITS for item in used):
            findings[index] = unmet(finding)


def _fit_sentences(
    document: Document,
    answered: AnsweredPod,
    users: Mapping[tuple[str, int, str], Sequence[Reviewed]],
) -> Iterator[_FitSentence]:
    if document.kind in (CLAIM, TEMPLATE):
        alone = answered.by_place.get(document.at(""))
        yield _of_claim(document, alone, users.get(document.at("").key, ()))
        return
    for path, _ in islice(asks_outside(document.value), 1):
        yield (
            FitState.NOT_CHECKED,
            f"it requests devices at {path}, outside a pod template, so dra-lab does not know its pods",
        )
    for pod in pod_templates(document):
        yield from _of_pod(pod, answered)


def _of_claim(document: Document, alone: Reviewed | None, used: Sequence[Reviewed]) -> _FitSentence:
    if alone is not None:
        return alone.fit, alone.sentence
    if any(item.fit is FitState.FITS or item.times for item in used):
        return FitState.FITS, ""
    if used:
        outcome = worst(item.fit for item in used)
        return outcome, next(item.sentence for item in used if item.fit is outcome)
    group = document.value.get("apiVersion")
    return FitState.NOT_CHECKED, f"it cannot be read as a {document.kind} of {group or GROUP}"


def _of_pod(pod: PodTemplate, answered: AnsweredPod) -> Iterator[_FitSentence]:
    item = answered.by_place.get(pod.document.at(pod.path))
    if item is not None:
        if item.subject in answered.short:
            yield FitState.DOES_NOT_FIT, "it fits alone, but not at once with the other workloads"
        yield item.fit, item.sentence
        return
    if pod.claims:
        yield FitState.NOT_CHECKED, _why_not(pod, answered.findings)
    unserved = unserved_resources(pod, answered.cluster, answered.release)
    if unserved:
        yield FitState.NOT_CHECKED, unserved_words(unserved, answered.release)


def _why_not(pod: PodTemplate, findings: Sequence[Finding]) -> str:
    places = {pod.document.at(entry.path) for entry in pod.claims}
    missing = [f for f in findings if f.rule == "claim-not-given" and f.origin in places]
    return "; ".join(finding.message for finding in missing) or "dra-lab cannot plan its claims"
