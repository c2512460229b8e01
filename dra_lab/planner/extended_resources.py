"""Extended resources of a class: the claim kube-scheduler makes for a pod that asks for them by name (KEP-5004)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dra_lab.errors import InputError, QuantityError
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.manifests.device_asks import IMPLICIT
from dra_lab.model.claims import (
    EXACT_COUNT,
    DeviceClaim,
    DeviceClass,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.workloads import Container, Pod
from dra_lab.planner.pod_claims import PodClaims, read_claims

EXTENDED = "extended-resources"
"""The claim's name here; kube-scheduler calls it `<extended-resources>` until the API server has named it."""


def class_of_resource(cluster: Cluster, name: str) -> DeviceClass | None:
    """Return the DeviceClass that serves an extended resource, None where none does.

    A name of `IMPLICIT` names its class (docs/semantics.md 1.10.3), which may be a documented one that the cluster
    lacks. For any other name only classes of the cluster count: without them, a device plugin serves it. Of several
    classes with one `spec.extendedResourceName` the newest counts, then the first by name (docs/semantics.md 1.10.2).
    """
    if name.startswith(IMPLICIT):
        return with_documented_classes(cluster).class_by_name.get(name.removeprefix(IMPLICIT))
    named = sorted((c for c in cluster.classes if c.spec.extended_resource_name == name), key=lambda c: c.name)
    return max(named, key=lambda c: c.metadata.creation_timestamp or "", default=None)


def extended_claim(pod: Pod, cluster: Cluster, release: KubernetesRelease) -> ResourceClaim | None:
    """Return the claim that kube-scheduler makes for a pod's extended resources that classes serve, None for none.

    One request `container-I-request-N` for each container and resource, resources sorted by name, with the class and
    the amount as count; containers are numbered with the init containers first. Sidecars (init containers that restart
    always) count in full; of the others only what is more than the pod takes later is asked for, once, the largest
    (docs/semantics.md 1.16). Without the gate DRAExtendedResource there is none. Raises InputError for an amount that
    is no whole number.
    """
    if not release.enabled("DRAExtendedResource"):
        return None
    requests = []
    for position, amounts in enumerate(_amounts(pod, cluster)):
        for number, (name, amount) in enumerate(sorted(amounts.items())):
            device_class = class_of_resource(cluster, name)
            if device_class is not None and amount:
                exactly = ExactDeviceRequest(
                    device_class_name=device_class.name, allocation_mode=EXACT_COUNT, count=amount
                )
                requests.append(DeviceRequest(f"container-{position}-request-{number}", exactly))
    if not requests:
        return None
    spec = ResourceClaimSpec(DeviceClaim(tuple(sorted(requests, key=lambda request: request.name))))
    return ResourceClaim(metadata=ObjectMeta(name=EXTENDED, namespace=pod.metadata.namespace), spec=spec)


def _amounts(pod: Pod, cluster: Cluster) -> list[dict[str, int]]:
    """Return what is asked for each container, init containers first; of ordinary ones what is missing, once."""
    init = [_of_container(container, cluster) for container in pod.spec.init_containers]
    sidecar = [container.restart_policy == "Always" for container in pod.spec.init_containers]
    main = [_of_container(container, cluster) for container in pod.spec.containers]
    for name in sorted({name for amounts in init for name in amounts}):
        rest = sum(amounts.get(name, 0) for amounts in main)
        rest += sum(amounts.get(name, 0) for amounts, stays in zip(init, sidecar, strict=True) if stays)
        running, excess = 0, {}
        for position, (amounts, stays) in enumerate(zip(init, sidecar, strict=True)):
            if stays:
                running += amounts.get(name, 0)
                continue
            excess[position] = max(0, amounts.pop(name, 0) + running - rest)
        largest = max(excess, key=lambda position: excess[position], default=-1)
        if excess.get(largest):
            init[largest][name] = excess[largest]
    return [*init, *main]


def _of_container(container: Container, cluster: Cluster) -> dict[str, int]:
    asked: Mapping[str, str | int | float] = {**container.resources.limits, **container.resources.requests}
    return {
        name: _whole(name, amount) for name, amount in asked.items() if class_of_resource(cluster, name) is not None
    }


def _whole(name: str, amount: str | float) -> int:
    try:
        found = parse_quantity(amount if isinstance(amount, str) else str(amount))
    except QuantityError as error:
        raise InputError(f"resource {name}: {error}") from error
    if found.denominator != 1 or found < 0:
        raise InputError(f"resource {name}: {amount} is no whole number of devices; ask for whole devices")
    return int(found)


def served_by_plugin(pod: Pod, cluster: Cluster) -> frozenset[str]:
    """Return the nodes on which a device plugin serves a resource of the pod that a class would serve elsewhere.

    A node whose `status.allocatable` has more than nothing of the name takes the device plugin's path
    (docs/semantics.md 1.16.1).
    """
    containers = (*pod.spec.init_containers, *pod.spec.containers)
    names = {name for container in containers for name in _of_container(container, cluster)}
    return frozenset(
        node.name
        for node in cluster.nodes
        if any(parse_quantity(str(node.status.allocatable.get(name, 0))) > 0 for name in names)
    )


def claims_of_pod(pod: Pod, cluster: Cluster, release: KubernetesRelease) -> PodClaims:
    """Return what is to be planned for a pod: its ResourceClaims, then the claim for its extended resources.

    `spec.resourceClaims` are looked up in the cluster, in the pod's namespace; those with an allocation keep it. Nodes
    that serve one of the resources by a device plugin are left out. Raises InputError for a claim that is not there
    or is made from a template: give such claims to `make_plan` as drawings.
    """
    claims = tuple(_claims(pod, cluster))
    extended = extended_claim(pod, cluster, release)
    found = read_claims((*claims, extended) if extended is not None else claims)
    by_plugin = served_by_plugin(pod, cluster) if extended is not None else frozenset()
    if not by_plugin:
        return found
    nodes = frozenset(cluster.node_names) - by_plugin
    return PodClaims(found.claims, found.exact, found.allocated, nodes)


def _claims(pod: Pod, cluster: Cluster) -> Iterator[ResourceClaim]:
    for entry in pod.spec.resource_claims:
        wanted = (pod.metadata.namespace, entry.resource_claim_name)
        claim = next((c for c in cluster.claims if (c.metadata.namespace, c.metadata.name) == wanted), None)
        if claim is None:
            why = "is made from a template" if entry.resource_claim_template_name else f"{wanted[1]!r} is not there"
            raise InputError(f"resourceClaims entry {entry.name!r} {why}; give the claim itself to make_plan")
        yield claim
