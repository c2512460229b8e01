"""check_manifests: the answer of `dra-lab check` for manifests and a cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from dra_lab.authoring.classes import with_documented_classes
from dra_lab.authoring.read_back import sketch_of
from dra_lab.checks.documents import check_text
from dra_lab.errors import CelError, DraLabError, SketchError
from dra_lab.findings import Finding, Origin, Severity, sort_findings
from dra_lab.gitops.fits import Question, answer_question, plan_together, together_findings
from dra_lab.gitops.folder import Manifests
from dra_lab.gitops.matches import check_matches
from dra_lab.gitops.pods import PodTemplate, pod_templates
from dra_lab.gitops.references import CLAIM, Claims, check_references, claim_of, written_claims
from dra_lab.gitops.review import Review, Reviewed
from dra_lab.manifests.documents import decode_object, hub_document, is_read
from dra_lab.model.claims import DeviceClass, ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch


def check_manifests(
    cluster: Cluster,
    manifests: Manifests,
    *,
    release: KubernetesRelease | None = None,
    now: bool = False,
    time_limit: float = 60.0,
    progress: Callable[[str], None] | None = None,
    cancel: threading.Event | None = None,
) -> Review:
    """Return whether manifests are valid, what their selectors find, whether and how often they fit, and how aligned.

    Devices in use do not count unless `now` is set, so that the answer depends neither on the day of a snapshot nor on
    the replicas that already run. DeviceClasses among the manifests come before the cluster's of the same name.
    `release` is the cluster's default where None. `time_limit` in seconds bounds all planning together; what is then
    open is told as not decided. Raises Cancelled once `cancel` is set.
    """
    target = release or KubernetesRelease(cluster.default_release)
    read = _with_classes(cluster if now else replace(cluster, claims=(), claims_known=True), manifests)
    work = _Work(manifests, read, with_documented_classes(read), target, time.monotonic() + time_limit, cancel)
    findings = [*manifests.findings, *_api_findings(manifests, target), *_snapshot_findings(cluster, now=now)]
    claims = written_claims(manifests)
    held = frozenset((c.metadata.namespace, c.metadata.name) for c in cluster.claims)
    pods = [pod for document in manifests.documents for pod in pod_templates(document) if pod.claims]
    for claim in claims.values():
        findings += check_matches(claim, work.complete, read, target)
    for pod in pods:
        findings += check_references(pod, claims, held)
    questions = [*_questions(work, pods, claims)]
    reviewed: list[Reviewed] = []
    for question in questions:
        if progress is not None:
            progress(question.subject)
        answered, more = answer_question(question, read, target, work.left(), cancel)
        reviewed.append(answered)
        findings += more
    findings += work.findings
    together = plan_together(questions, read, target, work.left(), cancel) if len(questions) > 1 else None
    findings += together_findings(together) if together is not None else ()
    if not questions and not claims:
        note = "there is no ResourceClaim, ResourceClaimTemplate or pod with claims in what was given"
        findings.append(Finding("nothing-to-check", Severity.WARNING, "", note, "Give the rendered manifests."))
    return Review(
        cluster.name,
        str(target),
        cluster.read_at,
        now,
        tuple(reviewed),
        together,
        sort_findings(findings),
        tuple(manifests.texts),
    )


@dataclass
class _Work:
    """What stays the same for all questions."""

    manifests: Manifests
    read: Cluster
    complete: Cluster
    release: KubernetesRelease
    deadline: float
    cancel: threading.Event | None
    findings: list[Finding] = field(default_factory=list)

    def left(self) -> float:
        """Return the seconds that are left."""
        return max(0.0, self.deadline - time.monotonic())


def _api_findings(manifests: Manifests, release: KubernetesRelease) -> Iterator[Finding]:
    for name, text in manifests.texts.items():
        try:
            yield from check_text(text, name, release)
        except DraLabError:
            continue  # told when the file was read


def _snapshot_findings(cluster: Cluster, *, now: bool) -> Iterator[Finding]:
    """Yield what was noticed when the cluster was read; what is said of devices in use only where they count."""
    for finding in cluster.findings:
        if now or not finding.rule.startswith("claims-"):
            # an error in somebody's slice does not make these manifests wrong
            severity = Severity.WARNING if finding.severity is Severity.ERROR else finding.severity
            yield replace(finding, severity=severity)


def _with_classes(cluster: Cluster, manifests: Manifests) -> Cluster:
    written: dict[str, DeviceClass] = {}
    for document in manifests.documents:
        if document.kind == "DeviceClass" and is_read("DeviceClass", document.value.get("apiVersion")):
            try:
                value = hub_document(dict(document.value), "DeviceClass")
                written[document.name] = decode_object(value, DeviceClass, document.origin)
            except DraLabError:
                continue  # the API's validation says it
    if not written:
        return cluster
    kept = tuple(item for item in cluster.classes if item.name not in written)
    return replace(cluster, classes=(*kept, *written.values()))


def _questions(work: _Work, pods: list[PodTemplate], claims: Claims) -> Iterator[Question]:
    """Yield what is asked of the planner: each workload, then each claim that no workload uses."""
    used: set[int] = set()
    for pod in pods:
        entries = [(entry, claim_of(pod, entry, claims)) for entry in pod.claims]
        used.update(id(claim) for _, claim in entries if claim is not None)
        if any(claim is None for _, claim in entries):
            continue
        sketches: dict[str, ClaimSketch] = {}
        shared: list[str] = []
        for entry, claim in entries:
            if claim is None:
                continue
            sketch = _sketch(work, claim.document.at(claim.path), claim.spec, entry.name)
            if sketch is not None:
                sketches[entry.name] = sketch
            if claim.document.kind == CLAIM:
                shared.append(entry.name)
        if len(sketches) == len(pod.claims):
            yield Question(
                pod.subject,
                pod.document.at(pod.path),
                sketches,
                pod.replicas,
                frozenset(shared),
                pod.spec,
                pod.per_node,
            )
    for claim in claims.values():
        if id(claim) not in used:
            subject = f"{claim.document.kind}/{claim.document.name}"
            sketch = _sketch(work, claim.document.at(claim.path), claim.spec, claim.document.name)
            if sketch is not None:
                yield Question(subject, claim.document.at(""), {claim.document.name: sketch})


def _sketch(work: _Work, place: Origin, spec: ResourceClaimSpec, name: str) -> ClaimSketch | None:
    try:
        return sketch_of(spec, name)
    except (SketchError, CelError) as error:
        work.findings.append(
            Finding("claim-not-planned", Severity.ERROR, name, error.message, "Correct it first.", place)
        )
        return None
