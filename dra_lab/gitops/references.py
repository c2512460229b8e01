"""What ties pods to claims: the entries of a pod, the requests of its containers, the objects that they name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import replace as changed
from functools import cached_property
from itertools import chain
from pathlib import PurePath

from msgspec.structs import replace

from dra_lab.errors import DraLabError, ManifestError
from dra_lab.findings import Finding, Rule, Severity
from dra_lab.gitops.extended_resources import extended_spec
from dra_lab.gitops.folder import Document, Manifests, with_classes
from dra_lab.gitops.object_pods import PodClaim, PodTemplate, namespace_of, pod_templates
from dra_lab.manifests.device_asks import containers
from dra_lab.manifests.documents import decode_object, hub_document, is_read
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.claims import ResourceClaim, ResourceClaimSpec, ResourceClaimStatus, ResourceClaimTemplate
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.pod_claims import repeated_claim

TEMPLATE, CLAIM = "ResourceClaimTemplate", "ResourceClaim"
CLAIM_KINDS = {TEMPLATE: ResourceClaimTemplate, CLAIM: ResourceClaim}
KUSTOMIZE = (
    "Tell kustomize, in a file that `configurations` names: nameReference of kind ResourceClaimTemplate, fieldSpecs "
    "path spec/template/spec/resourceClaims/resourceClaimTemplateName (Deployment, StatefulSet, Job)."
)
"""The built-in name references of kustomize have no kind of resource.k8s.io (api/internal/konfig, namereference.go)."""


@dataclass(frozen=True, slots=True)
class WrittenClaim:
    """A claim or template as written: its document, its spec, and the path at which that spec stands.

    `copies` are other documents with exactly the same object.
    """

    document: Document
    spec: ResourceClaimSpec
    path: str
    copies: tuple[Document, ...] = ()

    @property
    def documents(self) -> tuple[Document, ...]:
        """Return every document that has it."""
        return self.document, *self.copies

    @property
    def requests(self) -> tuple[str, ...]:
        """Return the names of the requests, in order."""
        return tuple(request.name for request in self.spec.devices.requests)


Claims = Mapping[tuple[str, str, str], tuple[WrittenClaim, ...]]
"""Claims and templates by (kind, namespace, name): several where files have different objects of one name."""


def every_claim(claims: Claims) -> Iterator[WrittenClaim]:
    """Yield all claims and templates."""
    return chain.from_iterable(claims.values())


def written_claims(manifests: Manifests) -> Claims:
    """Return the claims and templates that can be read; what is wrong with the others, the API's validation tells."""
    found: dict[tuple[str, str, str], tuple[WrittenClaim, ...]] = {}
    for document in manifests.documents:
        kind = document.kind
        if kind not in CLAIM_KINDS or not is_read(kind, document.value.get("apiVersion")):
            continue
        try:
            claim = written_claim(document)
        except DraLabError:
            continue
        key = kind, document.namespace, document.name
        others = found.get(key, ())
        same = next((n for n, other in enumerate(others) if other.document.value == document.value), None)
        if same is None:
            found[key] = (*others, claim)
        else:
            more = changed(others[same], copies=(*others[same].copies, document))
            found[key] = (*others[:same], more, *others[same + 1 :])
    return found


def written_claim(document: Document) -> WrittenClaim:
    """Return a claim or template as written. Raises ManifestError with its line."""
    kind = document.kind
    try:
        item = decode_object(hub_document(dict(document.value), kind), CLAIM_KINDS[kind], document.origin)
    except ManifestError as error:
        place = changed(document.at(error.origin.path if error.origin else ""), object=kind)
        raise ManifestError(error.message, origin=place) from None
    spec, path = (item.spec, "spec") if kind == CLAIM else (item.spec.spec, "spec.spec")
    return WrittenClaim(document, spec, path)


def _distance(pod: Document, other: Document) -> int:
    """Return how many folders above a pod's file another file is: -1 for the same file, many if it is elsewhere."""
    if pod.origin.source == other.origin.source:
        return -1
    own, its = PurePath(pod.origin.source).parent.parts, PurePath(other.origin.source).parent.parts
    return len(own) - len(its) if own[: len(its)] == its else len(own) + 1


def distinct_entries(pod: PodTemplate) -> tuple[PodClaim, ...]:
    """Return the entries of a pod without those that name a ResourceClaim which an earlier one names: it is one."""
    found: dict[tuple[str, str], PodClaim] = {}
    for entry in pod.claims:
        found.setdefault((CLAIM, entry.claim) if entry.claim else (TEMPLATE, entry.name), entry)
    return tuple(found.values())


class HeldClaims:
    """The ResourceClaims and ResourceClaimTemplates of a cluster; `idle` as if no claim were allocated.

    Attributes:
        by_name: The claims by namespace and name.
        templates: The templates by namespace and name.
        templates_known: Whether templates were read.
    """

    def __init__(self, cluster: Cluster, *, idle: bool = False) -> None:
        """Index the objects of the cluster; a namespace that is not written is `default`."""
        claims = (replace(c, status=ResourceClaimStatus()) if idle else c for c in cluster.claims)
        self.by_name = {claim.metadata.key: claim for claim in claims}
        self.templates = {one.metadata.key: one for one in cluster.templates or ()}
        self.templates_known = cluster.templates is not None

    def of(self, pod: PodTemplate, entry: PodClaim) -> ResourceClaim | None:
        """Return the claim that an entry of a pod uses, or would get from its template; None if neither is there."""
        if entry.claim:
            return self.by_name.get((namespace_of(pod), entry.claim))
        made = self.made(pod, entry)
        template = self.templates.get((namespace_of(pod), entry.template))
        if made is not None or template is None:
            return made
        return ResourceClaim(template.metadata, template.spec.spec)

    def made(self, pod: PodTemplate, entry: PodClaim) -> ResourceClaim | None:
        """Return the claim that was made for an entry of a pod from its template, None if there is none.

        The pod's status names it. Without a status, it is the claim that the pod owns and that has the entry's name.
        """
        namespace, document = namespace_of(pod), pod.document
        statuses = value_at(document.value, "status.resourceClaimStatuses")
        for status in statuses if isinstance(statuses, list) else ():
            if isinstance(status, Mapping) and status.get("name") == entry.name and status.get("resourceClaimName"):
                return self.by_name.get((namespace, str(status["resourceClaimName"])))
        start = f"{document.name}-{entry.name}-"
        return next(
            (
                claim
                for (space, _), claim in self._owned.get(document.name, ())
                if space == namespace and (claim.metadata.generate_name or claim.metadata.name).startswith(start)
            ),
            None,
        )

    @cached_property
    def _owned(self) -> Mapping[str, list[tuple[tuple[str, str], ResourceClaim]]]:
        """Return the claims by the name of the pod that owns them."""
        found: dict[str, list[tuple[tuple[str, str], ResourceClaim]]] = {}
        for key, claim in self.by_name.items():
            for owner in claim.metadata.owner_references:
                if owner.get("kind") == "Pod":
                    found.setdefault(str(owner.get("name")), []).append((key, claim))
        return found


@once_per_snapshot
def held_claims(cluster: Cluster) -> HeldClaims:
    """Return the claims and templates of a cluster."""
    return HeldClaims(cluster)


@dataclass(frozen=True)
class WrittenObjects:
    """The pods and claims of manifests, and the claims of the cluster (`held`) that pods may name as well.

    `cluster` has the DeviceClasses of the manifests.
    """

    manifests: Manifests
    cluster: Cluster
    release: KubernetesRelease
    held: HeldClaims
    claims: Claims

    @classmethod
    def read(
        cls, manifests: Manifests, cluster: Cluster, release: KubernetesRelease, held: HeldClaims | None = None
    ) -> WrittenObjects:
        """Return what manifests contain; `held` are by default the claims of the cluster as they are."""
        cluster = with_classes(cluster, manifests)
        return cls(manifests, cluster, release, held or held_claims(cluster), written_claims(manifests))

    @cached_property
    def pods(self) -> tuple[PodTemplate, ...]:
        """Return every pod template."""
        return tuple(pod for document in self.manifests.documents for pod in pod_templates(document))

    @cached_property
    def asking(self) -> tuple[PodTemplate, ...]:
        """Return the pod templates that ask for devices, by claims or by resources that a class serves."""
        return tuple(p for p in self.pods if p.claims or extended_spec(p, self.cluster, self.release) is not None)

    def claim_of(self, pod: PodTemplate, entry: PodClaim) -> WrittenClaim | None:
        """Return the claim or template that an entry of a pod names, in the pod's namespace; None if it is not there.

        It is the nearest of several: in the pod's file, in its folder, in a folder above, or elsewhere.
        """
        kind, name = (TEMPLATE, entry.template) if entry.template else (CLAIM, entry.claim)
        there = self.claims.get((kind, pod.document.namespace, name), ())
        if len(there) < 2:
            return there[0] if there else None
        return min(there, key=lambda claim: min(_distance(pod.document, one) for one in claim.documents))

    def claims_of(self, pod: PodTemplate) -> list[WrittenClaim]:
        """Return the claims and templates of the files that a pod names."""
        return [claim for entry in pod.claims if (claim := self.claim_of(pod, entry)) is not None]

    def asked(
        self, pod: PodTemplate, *, written_first: bool = False
    ) -> tuple[dict[PodClaim, WrittenClaim | ResourceClaim | None], list[ResourceClaim]]:
        """Return what each entry of a pod asks for, None for a claim that is nowhere, and the claims that hold devices.

        A claim of the cluster that holds devices comes before one of the files unless `written_first`.
        """
        asked: dict[PodClaim, WrittenClaim | ResourceClaim | None] = {}
        allocated: list[ResourceClaim] = []
        for entry in distinct_entries(pod):
            written, there = self.claim_of(pod, entry), self.held.of(pod, entry)
            if there is not None and there.status.allocation is not None and not (written_first and written):
                allocated.append(there)
            else:
                asked[entry] = written or there
        return asked, allocated


def template_makers(manifests: Manifests) -> Mapping[tuple[str, str], str]:
    """Return the objects whose controller makes a template, by its namespace and name, such as a ComputeDomain.

    They name it in a field `resourceClaimTemplate` with a `name`.
    """
    found: dict[tuple[str, str], str] = {}
    for document in manifests.documents:
        pending: list[object] = [document.value.get("spec")]
        while pending:
            value = pending.pop()
            if isinstance(value, list):
                pending += value
            elif isinstance(value, Mapping):
                made = value.get("resourceClaimTemplate")
                name = made.get("name") if isinstance(made, Mapping) else None
                if isinstance(name, str):
                    found[document.namespace, name] = f"{document.kind}/{document.name}"
                pending += value.values()
    return found


def check_references(
    objects: WrittenObjects, pod: PodTemplate, makers: Mapping[tuple[str, str], str] | None = None
) -> Iterator[Finding]:
    """Yield what is wrong between a pod and its claims (core/v1 validation of `resourceClaims` and `resources.claims`).

    A pod without a namespace is in `default`. `makers` are the objects whose controller makes a template
    (`template_makers`).
    """
    distinct = distinct_entries(pod)
    for entry in (entry for entry in pod.claims if entry.claim and entry not in distinct):
        yield repeated_claim(entry.claim, "the entries of `resourceClaims`", pod.document.at(entry.path))
    twice = {name for name, count in Counter(entry.name for entry in pod.claims).items() if count > 1}
    for entry in pod.claims:
        if entry.name in twice:
            yield _error("pod-claim-twice", pod, entry.path, f"the pod's claim {entry.name!r} appears twice")
        if bool(entry.template) == bool(entry.claim):
            why = "name exactly one of resourceClaimTemplateName and resourceClaimName"
            if entry.source:
                why = f"pods have no `source` since Kubernetes 1.31; write {entry.source} instead"
            yield _error("pod-claim-source", pod, entry.path, f"the pod's claim {entry.name!r} is refused: {why}")
        elif objects.claim_of(pod, entry) is None and objects.held.of(pod, entry) is None:
            yield _missing(objects, pod, entry, (makers or {}).get((pod.document.namespace, entry.template), ""))
    yield from _containers(objects, pod)


def _containers(objects: WrittenObjects, pod: PodTemplate) -> Iterator[Finding]:
    entries = {entry.name: entry for entry in pod.claims}
    used: set[str] = set()
    for path, container in containers(pod.spec, pod.path):
        resources = container.get("resources")
        listed = resources.get("claims") if isinstance(resources, Mapping) else None
        for index, item in enumerate(listed if isinstance(listed, list) else ()):
            here = f"{path}.resources.claims[{index}]"
            name = item.get("name") if isinstance(item, Mapping) else None
            if not isinstance(name, str) or name not in entries:
                known = ", ".join(entries) or "none"
                message = f"the container uses the claim {name!r}, which the pod does not list (it has: {known})"
                yield _error("container-claim-unknown", pod, here, message)
                continue
            used.add(name)
            claim, request = objects.claim_of(pod, entries[name]), item.get("request")
            if claim is not None and request and request not in claim.requests:
                known = ", ".join(claim.requests)
                message = f"the container names the request {request!r}; the claim has {known}"
                yield _error("container-request-unknown", pod, here, message)
    for entry in pod.claims:
        if entry.name not in used:
            message = f"no container uses the pod's claim {entry.name!r}, so its devices are allocated and unused"
            advice = "List it in `resources.claims` of a container, or leave it out."
            place = pod.document.at(entry.path)
            yield Finding("pod-claim-unused", Severity.WARNING, pod.subject, message, advice, place)


def _missing(objects: WrittenObjects, pod: PodTemplate, entry: PodClaim, maker: str) -> Finding:
    only_files = bool(entry.template) and not objects.held.templates_known
    what = f"{TEMPLATE} {entry.template!r}" if entry.template else f"{CLAIM} {entry.claim!r}"
    where = f" (namespace {pod.document.namespace!r})" if pod.document.namespace else ""
    place = "not in the files" if only_files else "neither in the files nor in the cluster"
    message = f"{what} is {place}{where}; the pod waits until it exists"
    advice = "Give the file that contains it as well, or correct the name."
    if maker:
        message = f"{what} comes from the controller of {maker}, so dra-lab does not know what it requests"
        advice = "To check it, give the template as the cluster has it: kubectl get resourceclaimtemplate -o yaml"
    kind, name = (TEMPLATE, entry.template) if entry.template else (CLAIM, entry.claim)
    known = objects.claims
    there = sorted(own for found, namespace, own in known if (found, namespace) == (kind, pod.document.namespace))
    renamed = [own for own in there if own != name and (own.startswith(name) or own.endswith(name))]
    if renamed:
        advice = f"{renamed[0]!r} exists: kustomize renames it, but not the references to it. {KUSTOMIZE}"
    return Finding("claim-not-given", Severity.WARNING, pod.subject, message, advice, pod.document.at(entry.path))


def _error(rule: Rule, pod: PodTemplate, path: str, message: str) -> Finding:
    advice = "The API server refuses the pod."
    return Finding(rule, Severity.ERROR, pod.subject, message, advice, pod.document.at(path))
