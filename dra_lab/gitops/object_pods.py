"""The pods of an object, and of a cluster, with the claims that they name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec.structs import asdict

from dra_lab.errors import InputError, did_you_mean
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.gitops.folder import Document
from dra_lab.manifests.pod_templates import PodField, pod_fields
from dra_lab.manifests.yaml_text import value_at
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import DEFAULT_NAMESPACE
from dra_lab.model.pods import Pod
from dra_lab.topology.hierarchy_findings import some

_MOST_PODS = 2**31 - 1
"""Counts of pods are whole numbers of 32 bits in the API."""

READ_PODS = "kubectl get pods,resourceclaims,resourceclaimtemplates,resourceslices,deviceclasses,nodes -A -o json"
"""The command that writes everything that explains a pending pod into one file."""

_COUNTED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job", "CronJob")


@dataclass(frozen=True, slots=True)
class PodClaim:
    """An entry of a pod's `resourceClaims`: its name, and the template or the claim that it refers to.

    `source` is what it wrote under `source`, the form until Kubernetes 1.30 (`resourceClaimName: a`).
    """

    name: str
    template: str = ""
    claim: str = ""
    path: str = ""
    source: str = ""


class PodTemplate(PodField, frozen=True, kw_only=True):
    """The pods of one workload: a field of a document that holds their spec, and the claims that they name."""

    document: Document
    claims: tuple[PodClaim, ...] = ()

    @property
    def subject(self) -> str:
        """Return `Kind/name` of the workload."""
        return f"{self.document.kind}/{self.document.name}"

    @property
    def key(self) -> tuple[str, str]:
        """Return `Kind/name` and the namespace of the workload."""
        return self.subject, self.document.namespace

    @property
    def annotations(self) -> Mapping[str, Any]:
        """Return the annotations of the pods, empty where there are none."""
        return self._metadata("annotations")

    @property
    def labels(self) -> Mapping[str, Any]:
        """Return the labels of the pods, empty where there are none."""
        return self._metadata("labels")

    def _metadata(self, field: str) -> Mapping[str, Any]:
        template = self.path.removesuffix("spec").removesuffix(".")
        found = value_at(self.document.value, f"{template}.metadata.{field}")
        return found if isinstance(found, Mapping) else {}


def namespace_of(pod: PodTemplate) -> str:
    """Return the namespace of a pod, `default` where none is written."""
    return pod.document.namespace or DEFAULT_NAMESPACE


def subjects_of(pods: Sequence[PodTemplate]) -> tuple[str, ...]:
    """Return what each of several pod templates is called: `Kind/name`, or more if that is the name of several.

    Templates of one object have their path (`Kind/name:PATH`, as `--template` takes it), objects of several namespaces
    their namespace (`Kind/namespace/name`), and different objects of one name their file (`Kind/name (FILE)`).
    """
    spaces = Counter(subject for subject, _ in {pod.key for pod in pods})
    files = files_of([(pod.key, pod.document) for pod in pods])
    names = []
    for pod, file in zip(pods, files, strict=True):
        space = f"{namespace_of(pod)}/" if spaces[pod.subject] > 1 else ""
        names.append(f"{pod.document.kind}/{space}{pod.document.name}{file}")
    count = Counter((name, pod.document.at("")) for name, pod in zip(names, pods, strict=True))
    return tuple(
        f"{name}:{pod.template}" if count[name, pod.document.at("")] > 1 else name
        for name, pod in zip(names, pods, strict=True)
    )


def files_of(named: Sequence[tuple[Hashable, Document]]) -> list[str]:
    """Return ` (FILE)` for each document whose name another document has too, and "" for the others."""
    groups: dict[Hashable, dict[tuple[str, int, str], Document]] = {}
    for name, document in named:
        groups.setdefault(name, {})[document.at("").key] = document
    return [_file(document, [*groups[name].values()]) if len(groups[name]) > 1 else "" for name, document in named]


def _file(document: Document, group: Sequence[Document]) -> str:
    """Return ` (FILE)`: the file below the folder that all of a group are in; one of several in a file has a number."""
    sources = [PurePath(one.origin.source) for one in group]
    above = sources[0].parent
    while not all(source.is_relative_to(above) for source in sources):
        above = above.parent
    file = PurePath(document.origin.source)
    number = "" if sources.count(file) == 1 else f", document {document.origin.document}"
    return f" ({file.relative_to(above)}{number})"


def pod_templates(document: Document) -> Iterator[PodTemplate]:
    """Yield every pod template of an object (`manifests.pod_templates`)."""
    for found in pod_fields(document.value):
        claims = tuple(claim_entries(found.spec, found.path))
        yield PodTemplate(**{**asdict(found), "pods": max(1, found.pods)}, document=document, claims=claims)


def count_findings(pod: PodTemplate) -> Iterator[Finding]:
    """Yield the counts of a pod template that are no whole number, errors in kinds of Kubernetes."""
    severity = Severity.ERROR if pod.document.kind in _COUNTED else Severity.WARNING
    for where in pod.counts:
        number = value_at(pod.document.value, where)
        if number is not None and (
            isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= _MOST_PODS
        ):
            key = where.rpartition(".")[2]
            message = f"{key}: {number!r} is not a whole number from 0 to {_MOST_PODS}; dra-lab counts it as 1"
            advice = "Write a number, without quotes; the API server refuses anything else in its own kinds."
            yield Finding("count-broken", severity, pod.subject, message, advice, pod.document.at(where))


def claim_entries(spec: Mapping[str, Any], path: str) -> Iterator[PodClaim]:
    """Yield the entries of a pod's `resourceClaims`; `path` leads to its spec."""
    entries = spec.get("resourceClaims")
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, Mapping):
            names = (entry.get(key) for key in ("name", "resourceClaimTemplateName", "resourceClaimName"))
            name, template, claim = (value if isinstance(value, str) else "" for value in names)
            source = entry.get("source")
            older = ", ".join(f"{key}: {value}" for key, value in source.items()) if isinstance(source, Mapping) else ""
            yield PodClaim(name, template, claim, f"{path}.resourceClaims[{index}]", older)


def pod_named(cluster: Cluster, name: str) -> Pod:
    """Return the pod of `namespace/name`, or of a name that one pod has. Raises InputError for others."""
    names = [(pod, pod.metadata.full_name) for pod in cluster.pods]
    found = [(pod, full) for pod, full in names if name in (pod.metadata.name, full)]
    if len(found) == 1:
        return found[0][0]
    every = [full for _, full in names]
    if found:
        full_names = some(sorted(full for _, full in found))
        raise InputError(f"{len(found)} pods are called {name}: {full_names}; write --pod NAMESPACE/NAME")
    if not every:
        raise InputError(f"no pods were read of {cluster.name}; write them with: {READ_PODS}")
    kept = " that use claims" if cluster.resource_versions else ""
    raise InputError(f"there is no pod {name!r} among the {len(every):,} pods{kept}{did_you_mean(name, every)}")


def template_of(pod: Pod, cluster: Cluster) -> PodTemplate:
    """Return a pod of a cluster as a pod of a file has it."""
    value: Mapping[str, Any] = {"apiVersion": "v1", "kind": "Pod", **msgspec.json.decode(msgspec.json.encode(pod))}
    value = {**value, "spec": value.get("spec", {})}
    document = Document(value, Origin(cluster.name, object=f"Pod/{pod.metadata.name}"), lambda _: 0)
    claims = tuple(claim_entries(value["spec"], "spec"))
    return PodTemplate("spec", value["spec"], pods=1, document=document, claims=claims)
