"""What a file asks for: one claim, or a pod (or workload) with all its claims, planned together."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import Any

from dra_lab.checks.document_checks import check_text
from dra_lab.errors import Cancelled, CelError, InputError, ManifestError, SketchError, SourceError
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.document_findings import claim_subjects
from dra_lab.gitops.extended_resources import (
    EXTENDED,
    amount_findings,
    extended_spec,
    missing_class_findings,
    plugin_findings,
    plugin_nodes,
    stale_class_findings,
    unserved_findings,
    unserved_resources,
)
from dra_lab.gitops.folder import Manifests, read_manifests
from dra_lab.gitops.object_pods import PodTemplate, namespace_of, pod_named, subjects_of, template_of
from dra_lab.gitops.pending import WaitingPod
from dra_lab.gitops.references import CLAIM, TEMPLATE, WrittenClaim, WrittenObjects, check_references, every_claim
from dra_lab.model.claims import ResourceClaim, ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.pinning.node_search import start_findings
from dra_lab.planner.allowed_nodes import allowed_nodes
from dra_lab.planner.node_tests import admitted_nodes, node_tests, only_nodes, why_no_node
from dra_lab.planner.pod_claims import PodClaims
from dra_lab.sketch.read_back import sketch_of


@dataclass(frozen=True)
class WrittenWorkload:
    """One workload to be planned: the claims of a pod by their name in the pod, how many pods, where they may go.

    `cluster` has the DeviceClasses of the files. `named` are the claims that all pods share (`resourceClaimName`), each
    with the namespace and name of the ResourceClaim: they are allocated once. `spec` is the pod's spec as written,
    empty for a claim that no pod uses. `without` are nodes on which a device plugin serves it. `unserved` are extended
    resources that no DeviceClass serves. `allocated` are claims of the pod that the cluster has, with the devices that
    they hold. `copies` are the places of the same question in other files, and `told_apart` says that another workload
    has the same name. `findings` are those of its file.
    """

    subject: str
    origin: Origin
    claims: Mapping[str, ClaimSketch]
    cluster: Cluster
    release: KubernetesRelease
    replicas: int = 1
    named: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    spec: Mapping[str, Any] = field(default_factory=dict)
    per_node: bool = False
    without: frozenset[str] = frozenset()
    unserved: tuple[str, ...] = ()
    allocated: tuple[ResourceClaim, ...] = ()
    copies: tuple[Origin, ...] = ()
    told_apart: bool = False
    findings: tuple[Finding, ...] = ()

    @property
    def places(self) -> tuple[Origin, ...]:
        """Return every place of the question."""
        return self.origin, *self.copies

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes on which its devices would be claimed."""
        admitted = admitted_nodes(self.cluster, self.spec, per_node=self.per_node)
        pod = PodClaims(self.claims, allocated=self.allocated, nodes=frozenset(admitted))
        allowed = pod.allowed(self.cluster)
        return tuple(n for n in admitted if n not in self.without and (allowed is None or n in allowed))

    @property
    def admitted(self) -> frozenset[str] | None:
        """Return the same nodes; None for all that are not cordoned, as for claims without a pod."""
        nodes = frozenset(self.nodes) if self.spec else None
        return None if nodes == self.cluster.open_nodes else nodes

    @property
    def why_nowhere(self) -> str:
        """Return why no node admits it."""
        why = why_no_node(self.cluster, [*node_tests(self.cluster, self.spec, per_node=self.per_node)])
        return why or self._not_allowed or "no node admits the pod"

    @property
    def _not_allowed(self) -> str:
        return allowed_nodes(self.cluster, self.spec, self.allocated, "", self.release).why

    @property
    def wanted(self) -> int:
        """Return how many times its devices are needed: once where every claim is shared."""
        return 1 if len(self.named) == len(self.claims) else self.replicas

    @property
    def workload(self) -> Workload:
        """Return it as the planner's workload."""
        return Workload(self.subject, tuple(self.claims.values()), replicas=self.wanted)

    @property
    def planned(self) -> PodClaims:
        """Return one pod of it, as `planner.make_plan` takes it."""
        why = self._not_allowed if self.spec and not self.nodes else ""
        return PodClaims(self.claims, allocated=self.allocated, nodes=self.admitted, why_nowhere=why)

    def search(self, plan: Plan, *, time_limit: float, cancel: threading.Event | None = None) -> tuple[Finding, ...]:
        """Return what kube-scheduler's search for the claims of a plan that fits does, on every node that it may use.

        A search that is cancelled, or needs a rule that our copy of kube-scheduler does not know, is open.
        """
        if not plan.fits or not self.claims:
            return ()
        allowed = self.planned.allowed(self.cluster)
        on = self.cluster if allowed is None else only_nodes(self.cluster, sorted(allowed))
        claims = tuple(self.claims.values())
        limits: dict[str, Any] = {"time_limit": time_limit, "cancel": cancel}
        try:
            return start_findings(claims, on, self.release, self.subject, written=True, **limits)
        except Cancelled as error:
            message = f"whether kube-scheduler finds an allocation is not known: {error.message}"
            return (Finding("manifest-not-replayed", Severity.WARNING, self.subject, message),)


def questions_of(
    objects: WrittenObjects, pods: Sequence[PodTemplate], findings: list[Finding]
) -> list[WrittenWorkload]:
    """Return the questions about pods; what keeps a claim from being planned is added to `findings`.

    A claim or template that is not among the manifests may be one that the cluster has. A workload that names any other
    claim is not asked for, as its reference has a finding; its other claims are asked for by themselves. A workload
    that several files have, with the same claims, is asked for once.
    """
    questions, used = [], set()
    copies = _copies(objects, pods)
    first = [pod for pod in pods if id(pod) in copies]
    for pod, subject in zip(first, subjects_of(first), strict=True):
        question = question_of(objects, pod, subject, findings)
        if question is None:
            continue
        used |= {id(claim) for claim in objects.claims_of(pod)}
        places = tuple(copy.document.at(copy.path) for copy in copies[id(pod)])
        apart = any(one.key == pod.key and one.document is not pod.document for one in first)
        questions.append(replace(question, copies=places, told_apart=apart))
    unused = [claim for claim in every_claim(objects.claims) if id(claim) not in used]
    for claim, subject in zip(unused, claim_subjects(unused), strict=True):
        document = claim.document
        sketch = _sketch(findings, document.at(claim.path), claim.spec, document.name)
        if sketch is not None:
            also, on = tuple(copy.at("") for copy in claim.copies), (objects.cluster, objects.release)
            questions.append(WrittenWorkload(subject, document.at(""), {document.name: sketch}, *on, copies=also))
    return questions


def _copies(objects: WrittenObjects, pods: Sequence[PodTemplate]) -> Mapping[int, list[PodTemplate]]:
    """Return for each pod template, by its `id`, the later ones that are the same and have the same claims."""
    found: dict[int, list[PodTemplate]] = {}
    alike: dict[tuple[Any, ...], list[PodTemplate]] = {}
    for pod in pods:
        group = alike.setdefault((pod.key, pod.path, *map(id, objects.claims_of(pod))), [])
        same = next((one for one in group if one.document.value == pod.document.value), None)
        if same is None:
            group.append(pod)
            found[id(pod)] = []
        else:
            found[id(same)].append(pod)
    return found


def question_of(
    objects: WrittenObjects, pod: PodTemplate, subject: str, findings: list[Finding] | None = None
) -> WrittenWorkload | None:
    """Return what a pod asks for; None if one of its claims is nowhere.

    Without `findings`, a claim that cannot be planned is raised. With them it is added to them, and the return value is
    None, also for a pod that asks for nothing; claims of the files come before those of the cluster that hold devices.
    """
    asked, allocated = objects.asked(pod, written_first=findings is not None)
    sketches: dict[str, ClaimSketch | None] = {}
    named: dict[str, tuple[str, str]] = {}
    for entry, claim in asked.items():
        if claim is None:
            return None
        place = claim.document.at(claim.path) if isinstance(claim, WrittenClaim) else pod.document.at(entry.path)
        sketches[entry.name] = _sketch(findings, place, claim.spec, entry.name)
        if entry.claim:
            named[entry.name] = (pod.document.namespace, entry.claim)
    cluster, release, place = objects.cluster, objects.release, pod.document.at(pod.path)
    extended, without = extended_spec(pod, cluster, release), frozenset[str]()
    if extended is not None:
        sketches[EXTENDED] = _sketch(findings, place, extended, EXTENDED)
        without = plugin_nodes(pod, cluster)
        if findings is not None:
            findings += plugin_findings(pod, sorted(without))
            findings += missing_class_findings(pod, extended, cluster)
            findings += stale_class_findings(pod, extended, cluster, release)
    known = {name: sketch for name, sketch in sketches.items() if sketch is not None}
    if len(known) < len(sketches) or not (known or allocated or findings is None):
        return None
    return WrittenWorkload(
        subject,
        place,
        known,
        cluster,
        release,
        pod.pods,
        named,
        pod.spec,
        pod.per_node,
        without,
        unserved_resources(pod, cluster, release),
        tuple(allocated),
    )


def _sketch(findings: list[Finding] | None, place: Origin, spec: ResourceClaimSpec, name: str) -> ClaimSketch | None:
    try:
        return sketch_of(spec, name)
    except (SketchError, CelError) as error:
        if findings is None:
            raise
        advice = "Correct it first."
        findings.append(Finding("claim-not-planned", Severity.ERROR, name, error.message, advice, place))
        return None


_SOME = 6


def read_pod(
    source: str | Path, cluster: Cluster, release: KubernetesRelease, *, pod: str = ""
) -> WrittenWorkload | None:
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


def read_cluster_pod(cluster: Cluster, name: str, release: KubernetesRelease) -> WrittenWorkload:
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
) -> tuple[tuple[PodTemplate, WrittenWorkload | None], ...]:
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


def _without_pod(objects: WrittenObjects) -> WrittenWorkload:
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
    return WrittenWorkload("", Origin(), sketches, objects.cluster, objects.release, findings=findings)


def _of_pod(objects: WrittenObjects, pod: PodTemplate, subject: str) -> WrittenWorkload:
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
