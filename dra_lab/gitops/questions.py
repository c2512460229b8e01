"""What is asked of the planner for a set of manifests: each workload, then each claim that no workload uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dra_lab.errors import CelError, SketchError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.document_findings import claim_subjects
from dra_lab.gitops.extended_resources import (
    EXTENDED,
    extended_spec,
    missing_class_findings,
    plugin_findings,
    plugin_nodes,
    unserved_resources,
)
from dra_lab.gitops.object_pods import PodTemplate, subjects_of
from dra_lab.gitops.references import (
    CLAIM,
    Claims,
    HeldClaims,
    WrittenClaim,
    claim_of,
    distinct_entries,
    every_claim,
)
from dra_lab.gitops.workload_fit import Question
from dra_lab.model.claims import ResourceClaim, ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.sketch.read_back import sketch_of


def questions_of(
    pods: Sequence[PodTemplate],
    claims: Claims,
    cluster: Cluster,
    release: KubernetesRelease,
    findings: list[Finding],
    held: HeldClaims,
) -> list[Question]:
    """Return the questions; what keeps a claim from being planned is added to `findings`.

    A claim or template that is not among the manifests may be one that the cluster has (`held`). A workload that names
    any other claim is not asked for, as its reference has a finding; its other claims are asked for by themselves. A
    workload that several files have, with the same claims, is asked for once.
    """
    questions, used = [], set()
    copies = _copies(pods, claims)
    first = [pod for pod in pods if id(pod) not in {id(copy) for some in copies.values() for copy in some}]
    for pod, subject in zip(first, subjects_of(first), strict=True):
        question = _of_pod(pod, claims, cluster, release, findings, held)
        if question is None:
            continue
        used |= {id(claim) for claim in _named(pod, claims)}
        places = tuple(copy.document.at(copy.path) for copy in copies[id(pod)])
        apart = any(one.key == pod.key and one.document is not pod.document for one in first)
        questions.append(replace(question, subject=subject, copies=places, told_apart=apart))
    unused = [claim for claim in every_claim(claims) if id(claim) not in used]
    for claim, subject in zip(unused, claim_subjects(unused), strict=True):
        document = claim.document
        sketch = _sketch(findings, document.at(claim.path), claim.spec, document.name)
        if sketch is not None:
            also = tuple(copy.at("") for copy in claim.copies)
            questions.append(Question(subject, document.at(""), {document.name: sketch}, copies=also))
    return questions


def _named(pod: PodTemplate, claims: Claims) -> list[WrittenClaim]:
    """Return the claims and templates of the files that a pod names."""
    return [claim for entry in pod.claims if (claim := claim_of(pod, entry, claims)) is not None]


def _copies(pods: Sequence[PodTemplate], claims: Claims) -> Mapping[int, list[PodTemplate]]:
    """Return for each pod template, by its `id`, the later ones that are the same and have the same claims."""
    found: dict[int, list[PodTemplate]] = {}
    alike: dict[tuple[Any, ...], list[PodTemplate]] = {}
    for pod in pods:
        group = alike.setdefault((pod.key, pod.path, *(id(claim) for claim in _named(pod, claims))), [])
        same = next((one for one in group if one.document.value == pod.document.value), None)
        if same is None:
            group.append(pod)
            found[id(pod)] = []
        else:
            found[id(same)].append(pod)
    return found


def _of_pod(
    pod: PodTemplate,
    claims: Claims,
    cluster: Cluster,
    release: KubernetesRelease,
    findings: list[Finding],
    held: HeldClaims,
) -> Question | None:
    sketches: dict[str, ClaimSketch | None] = {}
    named: dict[str, tuple[str, str]] = {}
    allocated: list[ResourceClaim] = []
    for entry in distinct_entries(pod):
        claim = claim_of(pod, entry, claims)
        if claim is None:
            there = held.of(pod, entry)
            if there is None:
                return None
            if there.status.allocation is not None:
                allocated.append(there)
            else:
                sketches[entry.name] = _sketch(findings, pod.document.at(entry.path), there.spec, entry.name)
                if entry.claim:
                    named[entry.name] = (pod.document.namespace, entry.claim)
            continue
        sketches[entry.name] = _sketch(findings, claim.document.at(claim.path), claim.spec, entry.name)
        if claim.document.kind == CLAIM:
            named[entry.name] = (claim.document.namespace, claim.document.name)
    place = pod.document.at(pod.path)
    extended, without = extended_spec(pod, cluster, release), frozenset[str]()
    if extended is not None:
        sketches[EXTENDED] = _sketch(findings, place, extended, EXTENDED)
        without = plugin_nodes(pod, cluster)
        findings += plugin_findings(pod, sorted(without))
        findings += missing_class_findings(pod, extended, cluster)
    known = {name: sketch for name, sketch in sketches.items() if sketch is not None}
    if len(known) < len(sketches) or not (known or allocated):
        return None
    unserved = unserved_resources(pod, cluster, release)
    return Question(
        pod.subject, place, known, pod.replicas, named, pod.spec, pod.per_node, without, unserved, tuple(allocated)
    )


def _sketch(findings: list[Finding], place: Origin, spec: ResourceClaimSpec, name: str) -> ClaimSketch | None:
    try:
        return sketch_of(spec, name)
    except (SketchError, CelError) as error:
        advice = "Correct it first."
        findings.append(Finding("claim-not-planned", Severity.ERROR, name, error.message, advice, place))
        return None
