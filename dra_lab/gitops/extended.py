"""Pods that ask for resources which a DeviceClass serves: the claim that kube-scheduler makes for them (KEP-5004)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec

from dra_lab.authoring.classes import class_findings
from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.gitops.pods import PodTemplate
from dra_lab.manifests.device_asks import IMPLICIT, containers, extended_resources
from dra_lab.model.claims import ResourceClaimSpec
from dra_lab.model.cluster import Cluster
from dra_lab.model.decoding import from_builtins
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workloads import Pod, PodSpec
from dra_lab.planner.extended_resources import class_of_resource, extended_claim, served_by_plugin

EXTENDED = "extended-resources"
"""The name of that claim in a pod here; kube-scheduler's own is `<extended-resources>`."""

_GATE = "DRAExtendedResource"


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

    An amount that is no number (`$GPUS`) counts too. `unserved_words` says who may serve them.
    """
    gate = release.enabled(_GATE)
    asked = [item for _, container in containers(pod.spec) for item in extended_resources(container).items()]
    served = {name for name, _ in asked if gate and class_of_resource(cluster, name) is not None}
    return tuple(sorted({f"{name}: {amount}" for name, amount in asked if name not in served}))


def unserved_words(unserved: Sequence[str], release: KubernetesRelease) -> str:
    """Return why extended resources without a DeviceClass are not checked, and what to do.

    A device plugin must serve them, which is not part of DRA. One that names its DeviceClass is a part of DRA.
    """
    named = [one for one in unserved if one.startswith(IMPLICIT)]
    plugin = [one for one in unserved if one not in named]
    parts = []
    if plugin:
        parts.append(
            f"a device plugin serves {', '.join(plugin)}, and only DRA is judged here. "
            "`dra-lab migrate` writes claims instead, or a DeviceClass can serve it by `extendedResourceName`."
        )
    if named and not release.enabled(_GATE):
        parts.append(
            f"the feature gate {_GATE} is off in Kubernetes {release}, so no DeviceClass serves {', '.join(named)}. "
            f"Turn it on with --feature-gates {_GATE}=true."
        )
    elif named:
        classes = " and no class ".join(one.removeprefix(IMPLICIT).partition(":")[0] for one in named)
        parts.append(
            f"the cluster has no class {classes}, and no known driver documents one, so nothing is known of "
            f"{', '.join(named)}. Give the DeviceClass with the manifests, or correct the name."
        )
    return ". And ".join(part.rstrip(".") for part in parts) + "."


def unserved_findings(
    pod: PodTemplate, cluster: Cluster, release: KubernetesRelease, subject: str
) -> Iterator[Finding]:
    """Yield what a plan of a pod's claims leaves out, where there is anything."""
    unserved = unserved_resources(pod, cluster, release)
    if unserved:
        message = f"the plan leaves out {', '.join(unserved)}, so whether the pod starts is not known"
        words = unserved_words(unserved, release)
        place = pod.document.at(pod.path)
        advice = f"{words[0].upper()}{words[1:]}"
        yield Finding("resource-not-planned", Severity.WARNING, subject, message, advice, place)


def missing_class_findings(pod: PodTemplate, extended: ResourceClaimSpec, cluster: Cluster) -> Iterator[Finding]:
    """Yield the documented classes that stand in for those which a pod's extended resources name."""
    sketch = ClaimSketch(requests=extended.devices.requests)
    for finding in class_findings(sketch, cluster, done="is checked in its place"):
        yield replace(finding, origin=pod.document.at(pod.path))


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
