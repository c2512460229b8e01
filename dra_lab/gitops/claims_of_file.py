"""What a file asks for: one claim, or a pod (or workload) with all its claims, planned together."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

from dra_lab.checks.document_checks import check_text
from dra_lab.errors import Cancelled, InputError, ManifestError, SourceError
from dra_lab.findings import Finding, Severity
from dra_lab.gitops.extended_resources import (
    EXTENDED,
    amount_findings,
    asking_pods,
    extended_spec,
    plugin_findings,
    plugin_nodes,
    unserved_findings,
)
from dra_lab.gitops.folder import Manifests, read_manifests, with_classes
from dra_lab.gitops.object_pods import PodTemplate, namespace_of, pod_templates, subjects_of
from dra_lab.gitops.pending import WaitingPod, pod_named, template_of
from dra_lab.gitops.questions import Question
from dra_lab.gitops.references import (
    CLAIM,
    TEMPLATE,
    Claims,
    WrittenClaim,
    asked_claims,
    check_references,
    every_claim,
    held_claims,
    written_claims,
)
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.plan import Plan
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.pinning.node_search import start_findings
from dra_lab.planner.allowed_nodes import allowed_nodes
from dra_lab.planner.node_tests import only_nodes
from dra_lab.planner.pod_claims import PodClaims
from dra_lab.sketch.read_back import sketch_of

_SOME = 6


@dataclass(frozen=True)
class ReadPod:
    """A pod as it was asked for: its claims by their name in the pod, in the pod's order.

    `subject` names the workload (`subjects_of`), "" for claims without one. `allocated` are claims of the pod that the
    cluster has and that hold devices already. `nodes` are those that the pod's own spec admits, None for all.
    `replicas` is how many pods its workload runs. `shared` are the ResourceClaims that all of them share, which are
    allocated once, and `named` are these by namespace and name. `cluster` has the DeviceClasses of the file. `spec` is
    that of the pod as written, and `without` are nodes on which a device plugin serves it. `why_nowhere` says why no
    node admits it.
    """

    subject: str
    claims: Mapping[str, ClaimSketch]
    cluster: Cluster
    allocated: tuple[ResourceClaim, ...] = ()
    nodes: frozenset[str] | None = None
    replicas: int = 1
    findings: tuple[Finding, ...] = field(default=())
    shared: frozenset[str] = frozenset()
    named: frozenset[tuple[str, str]] = frozenset()
    spec: Mapping[str, Any] = field(default_factory=dict)
    without: frozenset[str] = frozenset()
    why_nowhere: str = ""

    @property
    def planned(self) -> PodClaims:
        """Return it as `planner.make_plan` takes it."""
        return PodClaims(self.claims, allocated=self.allocated, nodes=self.nodes, why_nowhere=self.why_nowhere)

    def search(
        self, plan: Plan, release: KubernetesRelease, *, time_limit: float, cancel: threading.Event | None = None
    ) -> tuple[Finding, ...]:
        """Return what kube-scheduler's search for the claims of a plan that fits does, on every node that it may use.

        A search that is cancelled, or needs a rule that our copy of kube-scheduler does not know, is open.
        """
        if not plan.fits or not self.claims:
            return ()
        allowed = self.planned.allowed(self.cluster)
        on = self.cluster if allowed is None else only_nodes(self.cluster, sorted(allowed))
        claims = tuple(self.claims.values())
        try:
            return start_findings(claims, on, release, self.subject, written=True, time_limit=time_limit, cancel=cancel)
        except Cancelled as error:
            message = f"whether kube-scheduler finds an allocation is not known: {error.message}"
            return (Finding("manifest-not-replayed", Severity.WARNING, self.subject, message),)


def read_pod(source: str | Path, cluster: Cluster, release: KubernetesRelease, *, pod: str = "") -> ReadPod | None:
    """Return the pod that a file or folder asks for, None where it holds one claim or drawing alone.

    A Pod, Deployment or any other object with a pod template stands with its ResourceClaimTemplates in the file or
    folder; a ResourceClaim may also be in the cluster. Several claims without a pod count as those of one pod, and a
    Finding says so. Raises SourceError for what cannot be read, ManifestError with file and line for what the API
    server would refuse, InputError for a claim that is nowhere, and for several workloads unless `pod` names one of
    them.
    """
    if not Path(source).exists():
        return None
    file = _File.read(read_manifests([source]), cluster, release)
    claims = [*every_claim(file.claims)]
    if not file.asking:
        _raise([finding for pod in file.pods for finding in amount_findings(pod)])
        if Path(source).is_file() and (len(claims) < 2 or not file.has_all_claims):
            return None
    file.refuse()
    if file.asking:
        return _of_pod(*_chosen(source, file.asking, pod), file.claims, file.cluster, release)
    if not claims:
        raise SourceError(f"the folder {str(source)!r} contains no claim and no pod with claims")
    return _without_pod(claims, file.cluster)


def read_cluster_pod(cluster: Cluster, name: str, release: KubernetesRelease) -> ReadPod:
    """Return a pod of the cluster with its claims. Raises InputError for an unknown pod, SourceError for its claims."""
    pod = template_of(pod_named(cluster, name), cluster)
    return _of_pod(pod, pod.subject, {}, cluster, release)


def waiting_pod(
    source: str | Path, cluster: Cluster, release: KubernetesRelease, *, pod: str = ""
) -> WaitingPod | None:
    """Return the pod that a file or folder asks for as one that may be pending, None for one without a pod.

    Raises as `read_pod`, apart from claims and templates that are nowhere.
    """
    if not Path(source).exists():
        return None
    file = _File.read(read_manifests([source]), cluster, release)
    if not file.asking:
        return None
    file.refuse()
    return WaitingPod(_chosen(source, file.asking, pod)[0], file.claims, file.cluster, release)


def pods_with_claims(
    manifests: Manifests, cluster: Cluster, release: KubernetesRelease
) -> tuple[tuple[PodTemplate, ReadPod | None], ...]:
    """Return every pod template of manifests with what its pods ask for, None if they request no devices.

    Raises as `read_pod`.
    """
    file = _File.read(manifests, cluster, release)
    file.refuse()
    asking = {id(pod) for pod in file.asking}
    return tuple(
        (pod, _of_pod(pod, subject, file.claims, file.cluster, release) if id(pod) in asking else None)
        for pod, subject in zip(file.pods, subjects_of(file.pods), strict=True)
    )


@dataclass(frozen=True)
class _File:
    """The pod templates and claims of a file or folder, and the cluster with its DeviceClasses.

    `asking` are the templates that request devices.
    """

    manifests: Manifests
    cluster: Cluster
    release: KubernetesRelease
    claims: Claims
    pods: tuple[PodTemplate, ...]
    asking: tuple[PodTemplate, ...]

    @classmethod
    def read(cls, manifests: Manifests, cluster: Cluster, release: KubernetesRelease) -> _File:
        """Return what manifests contain."""
        cluster = with_classes(cluster, manifests)
        pods = tuple(pod for document in manifests.documents for pod in pod_templates(document))
        asking = tuple(asking_pods(pods, cluster, release))
        return cls(manifests, cluster, release, written_claims(manifests), pods, asking)

    @property
    def has_all_claims(self) -> bool:
        """Say whether every claim and template of the documents could be read."""
        kinds = [document.kind for document in self.manifests.documents]
        read = sum(len(claim.documents) for claim in every_claim(self.claims))
        return read == kinds.count(CLAIM) + kinds.count(TEMPLATE)

    def refuse(self) -> None:
        """Raise what is wrong with the documents, as far as it is an error."""
        found = list(self.manifests.findings)
        for name, text in self.manifests.texts.items():
            found += check_text(text, name, self.release, broken=lambda _: None)
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


def _without_pod(claims: Sequence[WrittenClaim], cluster: Cluster) -> ReadPod:
    sketches: dict[str, ClaimSketch] = {}
    for claim in claims:
        name = claim.document.name or "claim"
        if name in sketches:
            raise InputError(f"two claims are called {name!r}; add the pod that says which one it uses")
        sketches[name] = sketch_of(claim.spec, name)
    if len(sketches) == 1:
        return ReadPod("", sketches, cluster)
    finding = Finding(
        "claims-as-one-pod",
        Severity.NOTE,
        ", ".join(sketches),
        "no pod with these claims was given, so dra-lab plans them as the claims of one pod, in this order",
        "Give the pod as well, or one claim at a time.",
    )
    return ReadPod("", sketches, cluster, findings=(finding,))


def _of_pod(pod: PodTemplate, subject: str, claims: Claims, cluster: Cluster, release: KubernetesRelease) -> ReadPod:
    held, namespace = held_claims(cluster), namespace_of(pod)
    findings = list(check_references(pod, claims, held))
    _raise([*findings, *amount_findings(pod)])
    asked, allocated = asked_claims(pod, claims, held)
    sketches: dict[str, ClaimSketch] = {}
    for entry, claim in asked.items():
        if claim is None:
            missing = next(f for f in findings if f.rule == "claim-not-given")
            raise SourceError(f"{missing.message}. {missing.advice}", origin=missing.origin)
        sketches[entry.name] = sketch_of(claim.spec, entry.name)
    extended, without = extended_spec(pod, cluster, release), frozenset[str]()
    if extended is not None:
        sketches[EXTENDED] = sketch_of(extended, EXTENDED)
        without = plugin_nodes(pod, cluster)
        findings += plugin_findings(pod, sorted(without))
    findings += unserved_findings(pod, cluster, release, subject)
    question = Question(
        subject, pod.document.at(pod.path), sketches, spec=pod.spec, without=without, allocated=tuple(allocated)
    )
    admitted = frozenset(question.nodes(cluster))
    nodes = None if admitted == cluster.open_nodes else admitted
    nowhere = "" if admitted else allowed_nodes(cluster, pod.spec, allocated, "", release).why
    return ReadPod(
        subject,
        sketches,
        cluster,
        tuple(allocated),
        nodes,
        pod.replicas,
        tuple(findings),
        frozenset(entry.name for entry in pod.claims if entry.claim),
        frozenset((namespace, entry.claim) for entry in pod.claims if entry.claim),
        spec=pod.spec,
        without=without,
        why_nowhere=nowhere,
    )
