"""What a file asks for: one claim, or a pod (or workload) with all its claims, planned together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote

from dra_lab.checks.document_checks import check_text
from dra_lab.errors import InputError, ManifestError, SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.extended_resources import amount_findings, plugin_findings, unserved_findings
from dra_lab.gitops.folder import Manifests, read_manifests
from dra_lab.gitops.object_pods import PodTemplate, namespace_of, subjects_of
from dra_lab.gitops.pending import WaitingPod, pod_named, template_of
from dra_lab.gitops.questions import Question, question_of
from dra_lab.gitops.references import CLAIM, TEMPLATE, WrittenObjects, check_references, every_claim
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.sketch.read_back import sketch_of

_SOME = 6


def read_pod(source: str | Path, cluster: Cluster, release: KubernetesRelease, *, pod: str = "") -> Question | None:
    """Return the pod that a file or folder asks for, None where it holds one claim or drawing alone.

    A Pod, Deployment or any other object with a pod template stands with its ResourceClaimTemplates in the file or
    folder; a ResourceClaim may also be in the cluster. Several claims without a pod count as those of one pod, and a
    Finding says so. Raises SourceError for what cannot be read, ManifestError with file and line for what the API
    server would refuse, InputError for a claim that is nowhere, and for several workloads unless `pod` names one of
    them.
    """
    if not Path(source).exists():
        return None
    objects = WrittenObjects.read(read_manifests([source]), cluster, release)
    claims = [*every_claim(objects.claims)]
    if not objects.asking:
        _raise([finding for pod in objects.pods for finding in amount_findings(pod)])
        kinds = [document.kind for document in objects.manifests.documents]
        all_read = sum(len(one.documents) for one in claims) == kinds.count(CLAIM) + kinds.count(TEMPLATE)
        if Path(source).is_file() and (len(claims) < 2 or not all_read):
            return None
    _refuse(objects)
    if objects.asking:
        return _of_pod(objects, *_chosen(source, objects.asking, pod))
    if not claims:
        raise SourceError(f"the folder {str(source)!r} contains no claim and no pod with claims")
    return _without_pod(objects)


def read_cluster_pod(cluster: Cluster, name: str, release: KubernetesRelease) -> Question:
    """Return a pod of the cluster with its claims. Raises InputError for an unknown pod, SourceError for its claims."""
    pod = template_of(pod_named(cluster, name), cluster)
    return _of_pod(WrittenObjects.read(Manifests(), cluster, release), pod, pod.subject)


def waiting_pod(
    source: str | Path, cluster: Cluster, release: KubernetesRelease, *, pod: str = ""
) -> WaitingPod | None:
    """Return the pod that a file or folder asks for as one that may be pending, None for one without a pod.

    Raises as `read_pod`, apart from claims and templates that are nowhere.
    """
    if not Path(source).exists():
        return None
    objects = WrittenObjects.read(read_manifests([source]), cluster, release)
    if not objects.asking:
        return None
    _refuse(objects)
    return WaitingPod(_chosen(source, objects.asking, pod)[0], objects)


def pods_with_claims(
    manifests: Manifests, cluster: Cluster, release: KubernetesRelease
) -> tuple[tuple[PodTemplate, Question | None], ...]:
    """Return every pod template of manifests with what its pods ask for, None if they request no devices.

    Raises as `read_pod`.
    """
    objects = WrittenObjects.read(manifests, cluster, release)
    _refuse(objects)
    asking = {id(pod) for pod in objects.asking}
    return tuple(
        (pod, _of_pod(objects, pod, subject) if id(pod) in asking else None)
        for pod, subject in zip(objects.pods, subjects_of(objects.pods), strict=True)
    )


def _refuse(objects: WrittenObjects) -> None:
    """Raise what is wrong with the documents, as far as it is an error."""
    found = list(objects.manifests.findings)
    for name, text in objects.manifests.texts.items():
        found += check_text(text, name, objects.release, broken=lambda _: None)
    _raise(found)


def _chosen(source: str | Path, pods: Sequence[PodTemplate], wanted: str) -> tuple[PodTemplate, str]:
    """Return the workload of a name, or the only one, and what it is called among all. Raises InputError.

    A name is `name`, `Kind/name`, or what `subjects_of` gives.
    """
    names = [(pod.document.name, pod.subject, subject) for pod, subject in zip(pods, subjects_of(pods), strict=True)]
    found = [number for number, own in enumerate(names) if not wanted or wanted in own]
    if len(found) == 1:
        return pods[found[0]], names[found[0]][-1]
    among = [names[number] for number in found] or names
    labels = [next((name for name in own if sum(name in other for other in among) == 1), own[-1]) for own in among]
    some = ", ".join(labels[:_SOME]) + (" ..." if len(labels) > _SOME else "")
    number = "1 workload" if len(among) == 1 else f"{len(among)} workloads"
    why = f"there is no workload {wanted!r} in {source}, which" if wanted and not found else str(source)
    raise InputError(
        f"{why} contains {number} ({some}); choose one with --pod NAME, for example --pod {quote(labels[0])}"
    )


def _raise(findings: Sequence[Finding]) -> None:
    for finding in findings:
        if finding.severity is Severity.ERROR:
            raise ManifestError(finding.message, origin=finding.origin)


def _without_pod(objects: WrittenObjects) -> Question:
    sketches: dict[str, ClaimSketch] = {}
    for claim in every_claim(objects.claims):
        name = claim.document.name or "claim"
        if name in sketches:
            raise InputError(f"two claims are called {name!r}; add the pod that says which one it uses")
        sketches[name] = sketch_of(claim.spec, name)
    finding = Finding(
        "claims-as-one-pod",
        Severity.NOTE,
        ", ".join(sketches),
        "no pod with these claims was given, so dra-lab plans them as the claims of one pod, in this order",
        "Give the pod as well, or one claim at a time.",
    )
    findings = (finding,) if len(sketches) > 1 else ()
    return Question("", Origin(), sketches, objects.cluster, objects.release, findings=findings)


def _of_pod(objects: WrittenObjects, pod: PodTemplate, subject: str) -> Question:
    findings = list(check_references(objects, pod))
    _raise([*findings, *amount_findings(pod)])
    missing = next((one for one in findings if one.rule == "claim-not-given"), None)
    if missing is not None:
        raise SourceError(f"{missing.message}. {missing.advice}", origin=missing.origin)
    question = question_of(objects, pod, subject)
    assert question is not None  # every claim is there
    findings += plugin_findings(pod, sorted(question.without))
    findings += unserved_findings(pod, objects.cluster, objects.release, subject)
    named = {entry.name: (namespace_of(pod), entry.claim) for entry in pod.claims if entry.claim}
    return replace(question, named=named, per_node=False, findings=tuple(findings))
