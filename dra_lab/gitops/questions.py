"""What is asked of the planner for a set of manifests: each workload, then each claim that no workload uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    stale_class_findings,
    unserved_resources,
)
from dra_lab.gitops.object_pods import PodTemplate, subjects_of
from dra_lab.gitops.references import (
    Claims,
    HeldClaims,
    WrittenClaim,
    asked_claims,
    claim_of,
    every_claim,
)
from dra_lab.model.claims import ResourceClaim, ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.planner.allowed_nodes import allowed_nodes
from dra_lab.planner.node_tests import admitted_nodes, node_tests, why_no_node
from dra_lab.planner.pod_claims import PodClaims
from dra_lab.sketch.read_back import sketch_of


@dataclass(frozen=True)
class Question:
    """One workload to be planned: the claims of a pod by their name in the pod, how many pods, where they may go.

    `named` are the claims that all pods share (`resourceClaimName`), each with the namespace and name of the
    ResourceClaim: they are allocated once. `spec` is the pod's spec as written, empty for a claim that no pod uses.
    `without` are nodes on which a device plugin serves it. `unserved` are extended resources that no DeviceClass
    serves. `allocated` are claims of the pod that the cluster has, with the devices that they hold. `copies` are the
    places of the same question in other files, and `told_apart` says that another workload has the same name.
    """

    subject: str
    origin: Origin
    claims: Mapping[str, ClaimSketch]
    replicas: int = 1
    named: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    per_node: bool = False
    without: frozenset[str] = frozenset()
    unserved: tuple[str, ...] = ()
    allocated: tuple[ResourceClaim, ...] = ()
    copies: tuple[Origin, ...] = ()
    told_apart: bool = False

    @property
    def places(self) -> tuple[Origin, ...]:
        """Return every place of the question."""
        return self.origin, *self.copies

    def nodes(self, cluster: Cluster) -> tuple[str, ...]:
        """Return the nodes on which its devices would be claimed."""
        admitted = admitted_nodes(cluster, self.spec, per_node=self.per_node)
        allowed = PodClaims(self.claims, allocated=self.allocated, nodes=frozenset(admitted)).allowed(cluster)
        return tuple(n for n in admitted if n not in self.without and (allowed is None or n in allowed))

    def why_nowhere(self, cluster: Cluster, release: KubernetesRelease) -> str:
        """Return why no node admits it."""
        why = why_no_node(cluster, [*node_tests(cluster, self.spec, per_node=self.per_node)])
        return why or allowed_nodes(cluster, self.spec, self.allocated, "", release).why or "no node admits the pod"

    @property
    def wanted(self) -> int:
        """Return how many times its devices are needed: once where every claim is shared."""
        return 1 if len(self.named) == len(self.claims) else self.replicas

    @property
    def workload(self) -> Workload:
        """Return it as the planner's workload."""
        return Workload(self.subject, tuple(self.claims.values()), replicas=self.wanted)


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
    asked, allocated = asked_claims(pod, claims, held, written_first=True)
    sketches: dict[str, ClaimSketch | None] = {}
    named: dict[str, tuple[str, str]] = {}
    for entry, claim in asked.items():
        if claim is None:
            return None
        place = claim.document.at(claim.path) if isinstance(claim, WrittenClaim) else pod.document.at(entry.path)
        sketches[entry.name] = _sketch(findings, place, claim.spec, entry.name)
        if entry.claim:
            named[entry.name] = (pod.document.namespace, entry.claim)
    place = pod.document.at(pod.path)
    extended, without = extended_spec(pod, cluster, release), frozenset[str]()
    if extended is not None:
        sketches[EXTENDED] = _sketch(findings, place, extended, EXTENDED)
        without = plugin_nodes(pod, cluster)
        findings += plugin_findings(pod, sorted(without))
        findings += missing_class_findings(pod, extended, cluster)
        findings += stale_class_findings(pod, extended, cluster, release)
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
