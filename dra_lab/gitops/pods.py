"""Pod templates wherever they stand: in a Pod, a Deployment, a Job, or any object that carries one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dra_lab.findings import Finding, Severity
from dra_lab.gitops.folder import Document

COUNTS = ("replicas", "parallelism", "numNodes")
"""Fields beside or above a pod template that say how many pods run at a time."""

_COUNTED = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController", "Job", "CronJob")
MAX_DEPTH = 24
_STEP = re.compile(r"\[\d+\]|[^.\[\]]+")


@dataclass(frozen=True, slots=True)
class PodClaim:
    """An entry of a pod's `resourceClaims`: its name, and the template or the claim that it refers to."""

    name: str
    template: str = ""
    claim: str = ""
    path: str = ""


@dataclass(frozen=True)
class PodTemplate:
    """The pods of one workload.

    `path` leads to the pod's spec in `document`; `replicas` is how many run at a time, `per_node` says that there is
    one on each node (DaemonSet); `spec` is the pod's spec as written.
    """

    document: Document
    path: str
    spec: Mapping[str, Any]
    replicas: int = 1
    per_node: bool = False
    claims: tuple[PodClaim, ...] = field(default=())

    @property
    def subject(self) -> str:
        """Return `Kind/name`, with the path where one object has several templates apart from the usual place."""
        return f"{self.document.kind}/{self.document.name}"


def pod_templates(document: Document) -> Iterator[PodTemplate]:
    """Yield every pod template of an object: a mapping `spec` with a list `containers`, at any depth.

    Replicas are the product of the counts on the way to it: `replicas`, `parallelism` and `numNodes`. What is zero or
    no whole number counts as 1, as it then is not known how many will run.
    """
    per_node = document.kind == "DaemonSet"
    for path, spec, replicas in _walk(document.value, "", 1, 0):
        yield PodTemplate(document, path, spec, replicas, per_node, tuple(_claims(spec, path)))


def count_findings(pod: PodTemplate) -> Iterator[Finding]:
    """Yield the counts on the way to a pod template that are no whole number, errors in kinds of Kubernetes."""
    severity = Severity.ERROR if pod.document.kind in _COUNTED else Severity.WARNING
    value: Any = pod.document.value
    path = ""
    for step in _STEP.findall(pod.path):
        if isinstance(value, Mapping):
            for key in COUNTS:
                number = value.get(key, 1)
                if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
                    where = f"{path}.{key}".lstrip(".")
                    message = f"{key}: {number!r} is no whole number from 0 on; it is counted as 1 here"
                    advice = "Write a number, without quotes; the API server refuses anything else in its own kinds."
                    yield Finding("count-broken", severity, pod.subject, message, advice, pod.document.at(where))
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.startswith("["):
            value = value[int(step[1:-1])]
        path += step if step.startswith("[") else f".{step}"


def _walk(value: Any, path: str, count: int, depth: int) -> Iterator[tuple[str, Mapping[str, Any], int]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, f"{path}[{index}]", count, depth + 1)
    if not isinstance(value, Mapping):
        return
    here = count
    for key in COUNTS:
        number = value.get(key)
        if isinstance(number, int) and not isinstance(number, bool) and number > 0:
            here *= number
    spec = value.get("spec")
    if isinstance(spec, Mapping) and isinstance(spec.get("containers"), list):
        yield f"{path}.spec".lstrip("."), spec, here
        return
    for key, child in value.items():
        if isinstance(key, str) and isinstance(child, (Mapping, list)) and key not in ("metadata", "status"):
            yield from _walk(child, f"{path}.{key}".lstrip("."), here, depth + 1)


def _claims(spec: Mapping[str, Any], path: str) -> Iterator[PodClaim]:
    entries = spec.get("resourceClaims")
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, Mapping):
            names = (entry.get(key) for key in ("name", "resourceClaimTemplateName", "resourceClaimName"))
            name, template, claim = (value if isinstance(value, str) else "" for value in names)
            yield PodClaim(name, template, claim, f"{path}.resourceClaims[{index}]")


def containers(spec: Mapping[str, Any], path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (path, container) of a pod's init containers and containers."""
    for key in ("initContainers", "containers"):
        entries = spec.get(key)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, Mapping):
                yield f"{path}.{key}[{index}]", entry
