"""What is asked of the planner for a set of manifests: each workload, then each claim that no workload uses."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.authoring.read_back import sketch_of
from dra_lab.errors import CelError, SketchError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.extended import EXTENDED, extended_spec, plugin_findings, plugin_nodes
from dra_lab.gitops.fits import Question
from dra_lab.gitops.pods import PodTemplate
from dra_lab.gitops.references import CLAIM, Claims, claim_of, distinct_entries
from dra_lab.model.claims import ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch


def questions_of(
    pods: Sequence[PodTemplate],
    claims: Claims,
    cluster: Cluster,
    release: KubernetesRelease,
    findings: list[Finding],
) -> list[Question]:
    """Return the questions; what keeps a claim from being planned is added to `findings`.

    A workload that names a claim which is not among the manifests is not asked for: that was told with its references.
    """
    asked, used = [], set()
    for pod in pods:
        used |= {id(claim) for entry in pod.claims if (claim := claim_of(pod, entry, claims)) is not None}
        question = _of_pod(pod, claims, cluster, release, findings)
        if question is not None:
            asked.append(question)
    for claim in claims.values():
        if id(claim) not in used:
            document = claim.document
            sketch = _sketch(findings, document.at(claim.path), claim.spec, document.name)
            if sketch is not None:
                asked.append(Question(f"{document.kind}/{document.name}", document.at(""), {document.name: sketch}))
    return asked


def _of_pod(
    pod: PodTemplate, claims: Claims, cluster: Cluster, release: KubernetesRelease, findings: list[Finding]
) -> Question | None:
    sketches: dict[str, ClaimSketch | None] = {}
    named: dict[str, tuple[str, str]] = {}
    for entry in distinct_entries(pod):
        claim = claim_of(pod, entry, claims)
        if claim is None:
            return None
        sketches[entry.name] = _sketch(findings, claim.document.at(claim.path), claim.spec, entry.name)
        if claim.document.kind == CLAIM:
            named[entry.name] = (claim.document.namespace, claim.document.name)
    place = pod.document.at(pod.path)
    extended, without = extended_spec(pod, cluster, release), frozenset[str]()
    if extended is not None:
        sketches[EXTENDED] = _sketch(findings, place, extended, EXTENDED)
        without = plugin_nodes(pod, cluster)
        findings += plugin_findings(pod, sorted(without))
    known = {name: sketch for name, sketch in sketches.items() if sketch is not None}
    if not known or len(known) < len(sketches):
        return None
    return Question(pod.subject, place, known, pod.replicas, named, pod.spec, pod.per_node, without)


def _sketch(findings: list[Finding], place: Origin, spec: ResourceClaimSpec, name: str) -> ClaimSketch | None:
    try:
        return sketch_of(spec, name)
    except (SketchError, CelError) as error:
        advice = "Correct it first."
        findings.append(Finding("claim-not-planned", Severity.ERROR, name, error.message, advice, place))
        return None
