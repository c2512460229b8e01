"""The answer of `dra-lab check` for manifests and a cluster, and for folders that `export` wrote."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from dra_lab.checks.document_checks import check_text
from dra_lab.errors import DraLabError
from dra_lab.exports.gangs.scheduler_fields import scheduler_fields
from dra_lab.exports.simulation import exit_status
from dra_lab.exports.written_files import RECORD, RECORD_VERSION, digest
from dra_lab.findings import Finding, Origin, Severity, sort_findings
from dra_lab.gitops.claims_of_file import questions_of
from dra_lab.gitops.corrections import with_corrections
from dra_lab.gitops.document_findings import (
    check_matches,
    renamed_findings,
    repeated_findings,
    with_rendered_claims,
    without_templates,
)
from dra_lab.gitops.extended_resources import amount_findings
from dra_lab.gitops.folder import Manifests, shows_lists
from dra_lab.gitops.object_pods import count_findings
from dra_lab.gitops.references import HeldClaims, WrittenObjects, check_references, every_claim, template_makers
from dra_lab.gitops.review import FitState, ObjectOutcomes, Review, Reviewed
from dra_lab.gitops.workload_fit import WorkloadFit, short_of, together_findings, with_together
from dra_lab.manifests.versions import GROUP, KIND_VERSIONS, removed, short_version, text_of
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease, release_of
from dra_lab.model.what_if import when_idle
from dra_lab.sketch.kind_counts import unread_words

_NOT_PLANNED = frozenset(("ResourcePoolStatusRequest",))
"""Kinds of the API that nothing here looks at."""

_NOTHING = Finding(
    "nothing-to-check",
    Severity.WARNING,
    "",
    "no object in the files requests devices",
    "Give the rendered manifests with ResourceClaims, ResourceClaimTemplates or pods that request devices.",
)


def check_manifests(
    cluster: Cluster,
    manifests: Manifests,
    *,
    release: KubernetesRelease | None = None,
    now: bool = False,
    allow_worse: bool = False,
    time_limit: float = 60.0,
) -> Review:
    """Return whether manifests are valid, what their selectors find, whether and how often they fit, and how aligned.

    Devices in use do not count unless `now` is set, so that the answer depends neither on the day of a snapshot nor on
    the replicas that already run. DeviceClasses among the manifests come before the cluster's of the same name.
    `release` is the cluster's default where None; a slice of the cluster or among the manifests that shows a list
    proves the gate of lists. For a folder that `export` wrote, the answer is also what `export` answered; `allow_worse`
    accepts replicas that are not allocated as planned. `time_limit` in seconds bounds all planning together; what is
    then open is not decided.
    """
    target = release_of(cluster.target_release(release), "", lists=shows_lists(manifests))
    idle = cluster if now else when_idle(cluster).with_objects(name=cluster.name)
    objects = WrittenObjects.read(manifests, idle, target, HeldClaims(cluster, idle=not now))
    read = objects.cluster
    deadline = time.monotonic() + time_limit
    findings = [*manifests.findings, *_api_findings(manifests, target), *_snapshot_findings(cluster, now=now)]
    findings += [*_version_findings(manifests), *renamed_findings(manifests)]
    findings += [f for document in manifests.documents for f in scheduler_fields(document.value, document.at, target)]
    findings += [f for claim in every_claim(objects.claims) for f in check_matches(claim, read, target)]
    findings += [f for pod in objects.asking for f in count_findings(pod)]
    findings += repeated_findings(objects)
    findings += [f for pod in objects.pods for f in amount_findings(pod)]
    makers = template_makers(manifests)
    findings += [f for pod in objects.asking for f in check_references(objects, pod, makers)]
    findings = without_templates(manifests, with_corrections(findings, manifests, read, target))
    questions = questions_of(with_rendered_claims(objects, findings), objects.asking, findings)
    findings = list(_classes_once(findings))
    fit = WorkloadFit(read, target, deadline)
    reviewed, more = fit.answers(questions)
    findings += more
    together = fit.together(questions)
    if together is not None:
        findings += together_findings(together)
        reviewed = with_together(reviewed, together)
    places = {at: item for question, item in zip(questions, reviewed, strict=True) for at in question.places}
    outcomes = ObjectOutcomes(objects, places, short_of(together))
    findings = outcomes.with_unmet(findings)
    checked, others = outcomes.objects(findings)
    records, of_records = exported_outcomes(manifests, cluster, allow_worse=allow_worse)
    if not checked and not records:
        findings.append(_NOTHING)
    return Review(
        cluster.name,
        str(target),
        cluster.read_at,
        now,
        tuple(reviewed),
        together,
        sort_findings((*findings, *of_records)),
        tuple(manifests.texts),
        unread_words(read),
        (*checked, *records),
        others,
    )


def _classes_once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings, and of those about a class that the cluster lacks the first: it is one fact of the cluster."""
    subjects: set[str] = set()
    for finding in findings:
        if finding.rule != "class-not-in-cluster" or finding.subject not in subjects:
            yield finding
        if finding.rule == "class-not-in-cluster":
            subjects.add(finding.subject)


def _api_findings(manifests: Manifests, release: KubernetesRelease) -> Iterator[Finding]:
    for name, text in manifests.texts.items():
        try:
            yield from check_text(text, name, release, broken=lambda _: None)
        except DraLabError:
            continue  # reported when the file was read


def _version_findings(manifests: Manifests) -> Iterator[Finding]:
    """Yield objects of DRA in a version, or of a kind, that the API does not have; kubectl refuses them."""
    for document in manifests.documents:
        kind, version = document.kind, text_of(document.value.get("apiVersion"))
        ours = version.startswith(f"{GROUP}/") or (not version and kind in KIND_VERSIONS)
        if not ours or short_version(version, kind) or kind in _NOT_PLANNED or removed(version, kind):
            continue
        known = KIND_VERSIONS.get(kind, ())
        message = f"{kind or 'an object without `kind`'} in apiVersion {version!r} is not known"
        advice = f"Write it as {GROUP}/{known[0]}." if known else f"The kinds are: {', '.join(sorted(KIND_VERSIONS))}."
        place = document.at("")
        yield Finding("version-unknown", Severity.ERROR, place.object, message, advice, place)


def _snapshot_findings(cluster: Cluster, *, now: bool) -> Iterator[Finding]:
    """Yield the findings of reading the cluster. Those about devices in use come only if these devices count."""
    for finding in cluster.findings:
        if now or not finding.rule.startswith("claims-"):
            # an error in a slice of the cluster does not make these manifests wrong
            severity = Severity.WARNING if finding.severity is Severity.ERROR else finding.severity
            yield replace(finding, severity=severity)


# --------------------------------------------------------------------- exported folders

_OUTCOMES = tuple(outcome.value for outcome in FitState)
_NOT_AS_PLANNED = "kube-scheduler does not allocate every replica as planned"
_AGAIN = "Export again for this cluster."
_ACCEPT = "--allow-worse accepts it."


def exported_outcomes(
    manifests: Manifests, cluster: Cluster, *, allow_worse: bool
) -> tuple[tuple[Reviewed, ...], tuple[Finding, ...]]:
    """Return the answer of `export` for each exported folder among the manifests, and its findings.

    It does not fit if not all replicas were placed, or if kube-scheduler does not allocate one as planned;
    `allow_worse` accepts the second. A folder in which a person edited a file has no recorded answer any more.
    """
    objects: list[Reviewed] = []
    findings: list[Finding] = []
    for document in manifests.documents:
        record, place = document.value, document.at("")
        ours = Path(place.source).name == RECORD and record.get("apiVersion") == RECORD_VERSION
        answer = record.get("answer")
        if not ours or not _is_answer(answer):
            continue
        subject = f"export/{record.get('name') or Path(place.source).parent.name}"
        place = replace(place, object=subject)
        written, folder = record.get("files"), Path(place.source).parent
        known = written if isinstance(written, Mapping) else {}
        texts = {name: manifests.texts.get(str(folder / str(name))) for name in known}
        edited = [str(name) for name, text in texts.items() if text is not None and digest(text) != known[name]]
        if edited:
            message = f"{', '.join(edited)} changed since the export, so its record in {RECORD} is no longer valid"
            findings.append(Finding("export-edited", Severity.NOTE, subject, message, "Export again.", place))
            continue
        outcome, own = _answer(record, answer, subject, place, allow_worse=allow_worse)
        objects.append(Reviewed(subject, place, outcome, "" if outcome is FitState.FITS else own[0].message))
        findings += [*own, *_other_cluster(record, subject, place, cluster)]
    return tuple(objects), tuple(findings)


def _is_answer(answer: Any) -> TypeGuard[Mapping[str, Any]]:
    return (
        isinstance(answer, Mapping)
        and answer.get("outcome") in _OUTCOMES
        and answer.get("asPlanned") in (True, False, None)
        and isinstance(answer.get("reasons"), list)
    )


def _answer(
    record: Mapping[str, Any], answer: Mapping[str, Any], subject: str, place: Origin, *, allow_worse: bool
) -> tuple[FitState, tuple[Finding, ...]]:
    """Return the outcome by the rule of `export` (`exit_status`), and a finding for what is not as planned."""
    placed = FitState(answer["outcome"])
    replay = record.get("loop")
    if placed is FitState.DOES_NOT_FIT and isinstance(replay, Mapping) and replay.get("neverStarts"):
        message = f"kube-scheduler starts no pod of this export{_because(answer['reasons'])}"
        return placed, (Finding("export-never-starts", Severity.ERROR, subject, message, _AGAIN, place),)
    if placed is not FitState.FITS:
        severity = Severity.ERROR if placed is FitState.DOES_NOT_FIT else Severity.WARNING
        verb = "placed" if placed is FitState.DOES_NOT_FIT else "placed in its time"
        message = f"with the devices in use at that time, the plan of this export {verb} {_placed(record)}"
        return placed, (Finding("export-not-placed", severity, subject, message, _AGAIN, place),)
    status = exit_status(answer, allow_worse=allow_worse)
    if not status and answer["asPlanned"]:
        return FitState.FITS, ()
    why = _because(answer["reasons"])
    if answer["asPlanned"] is None:
        message = f"whether {_NOT_AS_PLANNED.replace(' does not allocate', ' allocates')} is not known{why}"
        found = Finding("export-not-simulated", Severity.WARNING, subject, message, _ACCEPT, place)
        return FitState.NOT_CHECKED if status else FitState.FITS, (found,)
    severity = Severity.ERROR if status else Severity.WARNING
    pin = "" if "pins" in record else "Export with --pin. "
    advice = f"{pin}{_ACCEPT}" if status else ""
    found = Finding("export-not-as-planned", severity, subject, f"{_NOT_AS_PLANNED}{why}", advice, place)
    return FitState.DOES_NOT_FIT if status else FitState.FITS, (found,)


def _placed(record: Mapping[str, Any]) -> str:
    """Return how many replicas the plan of a record placed, in words."""
    plan = record.get("plan")
    workloads = plan.get("workloads", ()) if isinstance(plan, Mapping) else ()
    return ", ".join(f"{w['placed']} of {w['replicas']} {w['name']}" for w in workloads) or "nothing"


def _because(reasons: Sequence[str] | None) -> str:
    some = [str(reason).rstrip(".") for reason in reasons or ()]
    more = f"; {len(some) - 3} more" if len(some) > 3 else ""
    return f": {'; '.join(some[:3])}{more}" if some else ""


def _other_cluster(record: Mapping[str, Any], subject: str, place: Origin, cluster: Cluster) -> Iterator[Finding]:
    then = (record.get("cluster"), record.get("readAt") or "")
    if then != (cluster.name, cluster.read_at or ""):
        read = f" (read {then[1]})" if then[1] else ""
        message = (
            f"it was exported for {then[0]}{read}, so the result of kube-scheduler's simulation is for that cluster"
        )
        yield Finding("export-other-cluster", Severity.NOTE, subject, message, _AGAIN, place)
