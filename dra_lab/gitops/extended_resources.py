"""Extended resources that pods ask for, and the claim that kube-scheduler makes for them (KEP-5004)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dra_lab.errors import InputError, QuantityError
from dra_lab.findings import Finding, Severity
from dra_lab.gitops.object_pods import PodTemplate
from dra_lab.index.documented_classes import class_of_resource
from dra_lab.manifests.device_asks import IMPLICIT, containers, extended_resources, whole_amount
from dra_lab.manifests.pod_templates import typed_spec
from dra_lab.model.claims import (
    EXACT_COUNT,
    DeviceClaim,
    DeviceRequest,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.pods import Container, Pod
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.sketch.compile import class_findings


@dataclass(frozen=True, slots=True)
class PluginRequest:
    """One extended resource of one container.

    `path` leads to the container; `once` says that it is an ordinary init container, whose devices may be those of the
    containers that run after it (docs/semantics.md 1.16.3).
    """

    path: str
    container: str
    resource: str
    count: int
    once: bool = False


def plugin_requests(pod: PodTemplate) -> tuple[PluginRequest, ...]:
    """Return what the containers of a pod ask of device plugins, in the order of the containers and names.

    A resource counts where it is in `limits` or `requests`; the API server lets the two differ in nothing. Amounts that
    are no whole number above zero are left out: the API server refuses them or they ask for nothing.
    """
    return tuple(request for request, _ in _requests(pod) if request.count)


def unreadable_amounts(pod: PodTemplate) -> tuple[tuple[PluginRequest, str], ...]:
    """Return what a pod asks of device plugins in amounts that are no whole number, with the amount as written."""
    return tuple((request, amount) for request, amount in _requests(pod) if not request.count)


def amount_findings(pod: PodTemplate) -> Iterator[Finding]:
    """Yield an error for each container that asks for devices in an amount that is no whole number."""
    for path, container in containers(pod.spec, pod.path):
        resources = extended_resources(container)
        broken = [name for name, amount in sorted(resources.items()) if not whole_amount(amount)]
        if broken:
            amounts = ", ".join(f"{name}: {resources[name]}" for name in broken)
            part = "limits" if broken[0] in (container["resources"].get("limits") or {}) else "requests"
            message = f"{amounts}: the API server accepts a whole number of devices only"
            place = pod.document.at(f"{path}.resources.{part}")
            yield Finding("amount-broken", Severity.ERROR, pod.subject, message, "Write a whole number.", place)


def _requests(pod: PodTemplate) -> Iterator[tuple[PluginRequest, str]]:
    for path, container in containers(pod.spec, pod.path):
        once = ".initContainers[" in f".{path}" and container.get("restartPolicy") != "Always"
        for name, amount in sorted(extended_resources(container).items()):
            if name.startswith(IMPLICIT):
                continue  # it names a DeviceClass: DRA serves it already
            called = str(container.get("name") or path.rpartition(".")[2])
            yield PluginRequest(path, called, name, whole_amount(amount), once), str(amount)


EXTENDED = "extended-resources"
"""The name of that claim in a pod here; kube-scheduler's own is `<extended-resources>`."""

_GATE = "DRAExtendedResource"


def extended_claim(pod: Pod, cluster: Cluster, release: KubernetesRelease) -> ResourceClaim | None:
    """Return the claim that kube-scheduler makes for a pod's extended resources that classes serve, None for none.

    One request `container-I-request-N` for each container and resource, resources sorted by name, with the class and
    the amount as count; containers are numbered with the init containers first. Sidecars (init containers that restart
    always) count in full; of the others only what is more than the pod takes later is asked for, once, the largest
    (docs/semantics.md 1.16). Without the gate DRAExtendedResource there is none. Raises InputError for an amount that
    is no whole number.
    """
    if not release.enabled(_GATE):
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
    resources: Mapping[str, str | int | float] = {**container.resources.limits, **container.resources.requests}
    return {
        name: _whole(name, amount) for name, amount in resources.items() if class_of_resource(cluster, name) is not None
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
    resources = [item for _, container in containers(pod.spec) for item in extended_resources(container).items()]
    served = {name for name, _ in resources if gate and class_of_resource(cluster, name) is not None}
    return tuple(sorted({f"{name}: {amount}" for name, amount in resources if name not in served}))


def unserved_words(unserved: Sequence[str], release: KubernetesRelease) -> str:
    """Return why extended resources without a DeviceClass are not checked, and what to do.

    A device plugin must serve them, which is not part of DRA. One that names its DeviceClass is a part of DRA.
    """
    named = [one for one in unserved if one.startswith(IMPLICIT)]
    plugin = [one for one in unserved if one not in named]
    parts = []
    if plugin:
        parts.append(
            f"a device plugin serves {', '.join(plugin)}, and dra-lab checks only DRA. "
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
            f"the cluster has no class {classes}, and no known driver documents one, so dra-lab knows nothing "
            f"about {', '.join(named)}. Give the DeviceClass with the manifests, or correct the name."
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
    for finding in class_findings(sketch, cluster, done="is checked instead"):
        yield replace(finding, origin=pod.document.at(pod.path))


def stale_class_findings(
    pod: PodTemplate, extended: ResourceClaimSpec, cluster: Cluster, release: KubernetesRelease
) -> Iterator[Finding]:
    """Yield a note for each extended resource of several classes: to 1.37 kube-scheduler may use an older class.

    Rule: docs/semantics.md 1.10.5.
    """
    if release.is_at_least("1.38"):
        return
    asked = {request.exactly.device_class_name for request in extended.devices.requests if request.exactly}
    named = {one.name: one.spec.extended_resource_name for one in cluster.classes if one.spec.extended_resource_name}
    for resource in sorted({named[one] for one in asked & named.keys()}):
        several = sorted(name for name, served in named.items() if served == resource)
        if len(several) > 1:
            message = (
                f"{len(several)} DeviceClasses ({', '.join(several[:3])}) serve {resource}. After a change of a class "
                f"kube-scheduler {release.version} may use an older one than dra-lab does"
            )
            advice = "Let one class serve the name. Kubernetes 1.38 has the fix."
            yield Finding("class-stale", Severity.NOTE, pod.subject, message, advice, pod.document.at(pod.path))


def plugin_nodes(pod: PodTemplate, cluster: Cluster) -> frozenset[str]:
    """Return the nodes on which a device plugin serves what a class serves elsewhere: there the class does not."""
    typed = _typed(pod)
    return served_by_plugin(typed, cluster) if typed is not None else frozenset()


def plugin_findings(pod: PodTemplate, nodes: Sequence[str]) -> Iterator[Finding]:
    """Yield a note about such nodes, where there are any."""
    if nodes:
        some = ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")
        message = (
            f"on {some} a device plugin serves a resource that a DeviceClass serves elsewhere, so dra-lab "
            "leaves these nodes out"
        )
        place = pod.document.at(pod.path)
        yield Finding("resource-from-plugin", Severity.NOTE, pod.subject, message, "", place)


def _typed(pod: PodTemplate) -> Pod | None:
    spec = typed_spec(pod.spec)
    if spec is None:
        return None
    return Pod(metadata=ObjectMeta(name=pod.document.name, namespace=pod.document.namespace), spec=spec)
