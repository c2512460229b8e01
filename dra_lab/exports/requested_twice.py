"""Devices that a patched workload would get twice: from a device plugin by its limits, and from the claim put in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dra_lab.drivers.device_plugins import plugin_resource
from dra_lab.exports.workload_file import WorkloadFile
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.device_asks import containers, extended_resources
from dra_lab.model.claims import DeviceClaim, ResourceClaim, ResourceClaimTemplate


def requested_twice(workload: WorkloadFile, claim: ResourceClaimTemplate | ResourceClaim) -> tuple[Finding, ...]:
    """Return, for each container that still limits a resource of a device plugin, what the pod asks for beside a claim.

    A warning where the claim asks for the class that takes the resource's place, else a note: another kind of device
    may well come from a plugin. Resources of which `drivers/data/device_plugins.yaml` knows nothing are left out. Rule:
    a container's `resources.limits` and `resources.claims` are served independently (Kubernetes, Pod v1).
    """
    spec = claim.spec.spec if isinstance(claim, ResourceClaimTemplate) else claim.spec
    return tuple(_found(workload, _classes(spec.devices)))


def _classes(devices: DeviceClaim) -> frozenset[str]:
    exact = {r.exactly.device_class_name for r in devices.requests if r.exactly is not None}
    return frozenset(exact | {sub.device_class_name for r in devices.requests for sub in r.first_available})


def _found(workload: WorkloadFile, classes: frozenset[str]) -> Iterator[Finding]:
    for field in workload.templates:
        for path, container in containers(field.spec, field.path):
            origin = Origin(source=workload.name, object=workload.title, path=f"{path}.resources.limits")
            name = str(container.get("name") or path.rpartition(".")[2])
            yield from _of_container(container, name, origin, classes)


def _of_container(container: Any, name: str, origin: Origin, classes: frozenset[str]) -> Iterator[Finding]:
    for resource, amount in extended_resources(container).items():
        known = plugin_resource(resource)
        if known is None:
            continue
        twice = known.device_class in classes
        message = f"container {name} still requests {resource}: {amount}, in addition to the devices of its claim"
        message += f": {known.device_class} twice, once from a device plugin" if twice else ""
        advice = (
            "Remove the resource if the claim replaces it. dra-lab migrate CLUSTER FILE --dir DIR writes the "
            "claim for what the workload requests and removes the resource."
        )
        severity = Severity.WARNING if twice else Severity.NOTE
        yield Finding(
            "asked-twice" if twice else "plugin-beside-claim", severity, origin.object, message, advice, origin
        )
