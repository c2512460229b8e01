"""Pods that ask for resources which a DeviceClass serves: the claim that kube-scheduler makes for them (KEP-5004)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from dra_lab.errors import InputError, QuantityError
from dra_lab.findings import Finding, Severity
from dra_lab.gitops.pods import PodTemplate
from dra_lab.manifests.device_asks import containers, is_extended
from dra_lab.model.claims import ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workloads import Pod, PodSpec
from dra_lab.planner.extended import IMPLICIT, class_of_resource, extended_claim, served_by_plugin

EXTENDED = "extended-resources"
"""The name of that claim in a pod here; kube-scheduler's own is `<extended-resources>`."""


def extended_spec(pod: PodTemplate, cluster: Cluster, release: KubernetesRelease) -> ResourceClaimSpec | None:
    """Return the claim for a pod's extended resources that classes serve, None where there are none."""
    typed = _typed(pod)
    try:
        claim = extended_claim(typed, cluster, release) if typed is not None else None
    except InputError:
        return None  # an amount that is no whole number: the API server refuses the pod
    return claim.spec if claim is not None else None


def unserved_resources(pod: PodTemplate, cluster: Cluster, release: KubernetesRelease) -> tuple[str, ...]:
    """Return the extended resources of a pod that no DeviceClass serves, each as `NAME: AMOUNT`, sorted.

    A device plugin must serve them, which is not part of DRA. An amount that is no number (`$GPUS`) counts too.
    """
    gate = release.enabled("DRAExtendedResource")
    return tuple(
        sorted(
            f"{name}: {amount}"
            for name, amount in dict(asked for _, one in containers(pod.spec, "") for asked in asked_of(one)).items()
            if not (gate and class_of_resource(cluster, name) is not None)
        )
    )


def unserved_words(unserved: Sequence[str]) -> str:
    """Return why extended resources without a DeviceClass are not checked, and what to do."""
    return (
        f"a device plugin serves {', '.join(unserved)}, and `check` judges DRA only. "
        "`dra-lab migrate` writes claims instead, or a DeviceClass can serve it by `extendedResourceName`."
    )


def asked_of(container: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the extended resources in `resources.limits` and `requests`, each with its amount, without those of 0."""
    resources = container.get("resources")
    for part in ("requests", "limits"):
        amounts = resources.get(part) if isinstance(resources, Mapping) else None
        for name, amount in amounts.items() if isinstance(amounts, Mapping) else ():
            if isinstance(name, str) and (is_extended(name) or name.startswith(IMPLICIT)) and not _is_zero(amount):
                yield name, amount


def _is_zero(amount: object) -> bool:
    try:
        return amount is None or parse_quantity(str(amount)) == 0
    except QuantityError:
        return False


def plugin_nodes(pod: PodTemplate, cluster: Cluster) -> frozenset[str]:
    """Return the nodes on which a device plugin serves what a class serves elsewhere: there the class does not."""
    typed = _typed(pod)
    return served_by_plugin(typed, cluster) if typed is not None else frozenset()


def plugin_findings(pod: PodTemplate, nodes: Sequence[str]) -> Iterator[Finding]:
    """Yield a note about such nodes, where there are any."""
    if nodes:
        some = ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
        message = f"on {some} a device plugin serves a resource that a DeviceClass serves elsewhere; they are left out"
        place = pod.document.at(pod.path)
        yield Finding("resource-from-plugin", Severity.NOTE, pod.subject, message, "", place)


def _typed(pod: PodTemplate) -> Pod | None:
    try:
        spec = from_builtins(pod.spec, PodSpec)
    except msgspec.ValidationError:
        return None
    return Pod(metadata=ObjectMeta(name=pod.document.name, namespace=pod.document.namespace), spec=spec)
