"""check_manifests: the answer of `dra-lab check` for manifests and a cluster."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

from dra_lab.checks.document_checks import check_text
from dra_lab.errors import DraLabError
from dra_lab.exports.gangs.scheduler_fields import scheduler_fields
from dra_lab.findings import Finding, Severity, sort_findings
from dra_lab.gitops.corrections import with_corrections
from dra_lab.gitops.document_findings import (
    check_matches,
    renamed_findings,
    repeated_findings,
    with_rendered_claims,
    without_templates,
)
from dra_lab.gitops.exported import exported_outcomes
from dra_lab.gitops.extended_resources import amount_findings
from dra_lab.gitops.folder import Manifests, shows_lists
from dra_lab.gitops.object_pods import count_findings
from dra_lab.gitops.questions import questions_of
from dra_lab.gitops.references import HeldClaims, WrittenObjects, check_references, every_claim, template_makers
from dra_lab.gitops.review import ObjectOutcomes, Review
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
