"""Pods that ask for resources which a DeviceClass serves: the claim that kube-scheduler makes for them (KEP-5004)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.gitops.pods import PodTemplate
from dra_lab.model.claims import ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workloads import Pod, PodSpec
from dra_lab.planner.extended import extended_claim, served_by_plugin

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
