"""The outcome of a check: of every object, of every workload, and of all together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import islice

from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.document_findings import CLASS_TWICE, SELECTOR_FAILS
from dra_lab.gitops.extended_resources import unserved_resources, unserved_words
from dra_lab.gitops.folder import NOT_RENDERED, TEMPLATE_RULE, UNREADABLE, Document, Manifests
from dra_lab.gitops.object_pods import PodTemplate
from dra_lab.gitops.references import CLAIM, TEMPLATE, WrittenObjects, every_claim
from dra_lab.manifests.device_asks import asks_outside
from dra_lab.manifests.versions import GROUP
from dra_lab.model.plan import Plan
from dra_lab.pinning.pod_start import unmet


class FitState(StrEnum):
    """The outcome of a check: it is valid and fits, it does not, a search stopped before its end, or not checked."""

    FITS = "fits"
    DOES_NOT_FIT = "does-not-fit"
    NOT_DECIDED = "stopped"
    NOT_CHECKED = "not-checked"

    @property
    def is_open(self) -> bool:
        """Say whether it is neither known to fit nor known not to fit: reports count it as not checked."""
        return self in (FitState.NOT_DECIDED, FitState.NOT_CHECKED)


OUTCOME_WORDS = {
    FitState.FITS: "fits",
    FitState.DOES_NOT_FIT: "does not fit",
    FitState.NOT_DECIDED: "not decided",
    FitState.NOT_CHECKED: "not checked",
}


def worst(outcomes: Iterable[FitState]) -> FitState:
    """Return the outcome of several things together: one that does not fit decides, then one that is open."""
    found = set(outcomes)
    order = (FitState.DOES_NOT_FIT, FitState.NOT_CHECKED, FitState.NOT_DECIDED)
    return next((outcome for outcome in order if outcome in found), FitState.FITS)


@dataclass(frozen=True)
class Reviewed:
    """The answer for the pods of one workload, for a claim that no workload uses, or for any other object.

    `wanted` is the number of requested replicas. `times` is how many fit, None if that is not known. `proven` says that
    no more fit, and `capped` that counting ended at a number that is not a bound (`fleet.MOST_COUNTED`). `plan` is the
    best allocation of one replica with what kube-scheduler would take, or the reasons; `sentence` says it all to a
    person.
    """

    subject: str
    origin: Origin
    fit: FitState
    sentence: str
    wanted: int = 1
    times: int | None = None
    proven: bool = False
    nodes: tuple[str, ...] = ()
    plan: Plan | None = None
    capped: bool = False


@dataclass(frozen=True)
class Review:
    """The answer of `dra-lab check`.

    `objects` are the objects that ask for devices, or are not valid, each with its outcome; the sentence of one that
    fits is "". `others` counts the valid objects that ask for no devices, which are nothing to check. `together` is the
    plan of all workloads at once, if there are several. `in_use` says whether devices in use were counted, and `unread`
    what is not known about them (`free_words.unread_words`). `findings` are sorted, errors first.
    """

    cluster: str
    release: str
    read_at: str = ""
    in_use: bool = False
    reviewed: tuple[Reviewed, ...] = ()
    together: Plan | None = None
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
    unread: str = ""
    objects: tuple[Reviewed, ...] = ()
    others: int = 0

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Return the findings that make the manifests invalid."""
        return tuple(finding for finding in self.findings if finding.severity is Severity.ERROR)

    @property
    def outcome(self) -> FitState:
        """Return the outcome of everything together; no object at all is not checked."""
        if self.errors:
            return FitState.DOES_NOT_FIT
        if not self.objects and not self.others:
            return FitState.NOT_CHECKED
        return worst([item.fit for item in (*self.objects, *self.reviewed)])

    @property
    def valid(self) -> bool:
        """Say whether nothing is wrong and everything that asks for devices fits."""
        return self.outcome is FitState.FITS

    def count(self, *outcomes: FitState) -> int:
        """Return how many objects have one of these outcomes."""
        return sum(1 for item in self.objects if item.fit in outcomes)


RECORDS = "dra-lab/"
"""Start of the `apiVersion` of our own files, which are no Kubernetes objects."""

_REASONS = {
    TEMPLATE_RULE: NOT_RENDERED,
    CLASS_TWICE: "another DeviceClass of its name is used in its place",
}
"""Why the object of a finding is not checked, by the finding's rule."""

_FitSentence = tuple[FitState, str]
_Place = tuple[str, int, str]


@dataclass(frozen=True)
class ObjectOutcomes:
    """From the answer to the question of each place to the outcome of every object.

    `short` are the workloads of which not every replica fits at once with the other workloads.
    """

    written: WrittenObjects
    by_place: Mapping[Origin, Reviewed]
    short: frozenset[str] = frozenset()

    @cached_property
    def users(self) -> Mapping[_Place, Sequence[Reviewed]]:
        """Return the answers for the workloads that use each claim or template, by the places of it and its copies."""
        found: dict[_Place, list[Reviewed]] = {}
        for pod in self.written.pods:
            item = self.by_place.get(pod.document.at(pod.path))
            if item is not None:
                for used in (one for claim in self.written.claims_of(pod) for one in claim.documents):
                    found.setdefault(used.at("").key, []).append(item)
        return found

    def with_unmet(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return findings, a selector that fails as a warning if every workload of its claim fits.

        The pods of these workloads never meet such a device.
        """
        found = []
        for finding in findings:
            used = self.users.get(finding.origin.key, ()) if finding.rule == SELECTOR_FAILS and finding.origin else ()
            fits = used and all(item.fit is FitState.FITS for item in used)
            found.append(unmet(finding) if fits else finding)
        return found

    def objects(self, findings: Sequence[Finding]) -> tuple[tuple[Reviewed, ...], int]:
        """Return the objects that ask for devices or are not valid, with their outcomes, and how many others exist.

        A ResourceClaimTemplate or ResourceClaim that workloads use fits if one pod of one of them fits. An object with
        an error does not fit. A pod is not checked if one of its claims is not given, or if it also asks for an
        extended resource that no DeviceClass serves. A document that cannot be read counts as an object.
        """
        errors: dict[_Place, str] = {}
        for finding in findings:
            if finding.severity is Severity.ERROR and finding.origin is not None:
                errors.setdefault(finding.origin.key, finding.message)
        claims = every_claim(self.written.claims)
        unchecked = {f.origin.key: _REASONS[f.rule] for f in findings if f.rule in _REASONS and f.origin}
        first = {copy.at("").key: one.document.at("").key for one in claims for copy in one.copies}
        objects, others = [*_unreadable(self.written.manifests)], 0
        for document in filter(_is_object, self.written.manifests.documents):
            key = document.at("").key
            keys = dict.fromkeys((key, first.get(key, key)))
            whole = document.origin.source, document.origin.document, ""
            sentences = [(FitState.NOT_CHECKED, unchecked[one]) for one in keys if one in unchecked]
            sentences += [(FitState.DOES_NOT_FIT, errors[one]) for one in (*keys, whole) if one in errors][:1]
            sentences += self._of_document(document, findings)
            if not sentences:
                others += 1
                continue
            outcome = worst(fit for fit, _ in sentences)
            reason = "" if outcome is FitState.FITS else next(why for fit, why in sentences if fit is outcome)
            objects.append(Reviewed(f"{document.kind}/{document.name}", document.at(""), outcome, reason))
        return tuple(objects), others

    def _of_document(self, document: Document, findings: Sequence[Finding]) -> Iterator[_FitSentence]:
        if document.kind in (CLAIM, TEMPLATE):
            yield self._of_claim(document)
            return
        for path, _ in islice(asks_outside(document.value), 1):
            why = f"it requests devices at {path}, outside a pod template, so dra-lab does not know its pods"
            yield FitState.NOT_CHECKED, why
        for pod in self.written.pods:
            if pod.document is document:
                yield from self._of_pod(pod, findings)

    def _of_claim(self, document: Document) -> _FitSentence:
        alone, used = self.by_place.get(document.at("")), self.users.get(document.at("").key, ())
        if alone is not None:
            return alone.fit, alone.sentence
        if any(item.fit is FitState.FITS or item.times for item in used):
            return FitState.FITS, ""
        if used:
            outcome = worst(item.fit for item in used)
            return outcome, next(item.sentence for item in used if item.fit is outcome)
        group = document.value.get("apiVersion")
        return FitState.NOT_CHECKED, f"it cannot be read as a {document.kind} of {group or GROUP}"

    def _of_pod(self, pod: PodTemplate, findings: Sequence[Finding]) -> Iterator[_FitSentence]:
        item = self.by_place.get(pod.document.at(pod.path))
        if item is not None:
            if item.subject in self.short:
                yield FitState.DOES_NOT_FIT, "it fits alone, but not at once with the other workloads"
            yield item.fit, item.sentence
            return
        if pod.claims:
            places = {pod.document.at(entry.path) for entry in pod.claims}
            missing = [f.message for f in findings if f.rule == "claim-not-given" and f.origin in places]
            yield FitState.NOT_CHECKED, "; ".join(missing) or "dra-lab cannot plan its claims"
        release = self.written.release
        if unserved := unserved_resources(pod, self.written.cluster, release):
            yield FitState.NOT_CHECKED, unserved_words(unserved, release)


def _is_object(document: Document) -> bool:
    version = document.value.get("apiVersion")
    ours = isinstance(version, str) and version.startswith(RECORDS)
    return not ours and bool(document.kind or version)


def _unreadable(manifests: Manifests) -> Iterator[Reviewed]:
    for finding in manifests.findings:
        if finding.rule in UNREADABLE:
            outcome = FitState.DOES_NOT_FIT if finding.severity is Severity.ERROR else FitState.NOT_CHECKED
            place = finding.origin or Origin(finding.subject)
            number = f", document {place.document}" if place.document else ""
            yield Reviewed(f"{finding.subject}{number}", place, outcome, f"{finding.message}. {finding.advice}")
