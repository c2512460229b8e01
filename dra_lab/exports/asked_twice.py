"""Devices that a patched workload would get twice: from a device plugin by its limits, and from the claim put in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dra_lab.drivers.device_plugins import plugin_resource
from dra_lab.exports.workload_file import WorkloadFile, pod_specs
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.yaml_text import load_yaml
from dra_lab.model.claims import DeviceClaim, ResourceClaim, ResourceClaimTemplate


def asked_twice(workload: WorkloadFile, claim: ResourceClaimTemplate | ResourceClaim) -> tuple[Finding, ...]:
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
    subject = f"{workload.kind}/{workload.subject}"
    for document in load_yaml(workload.text):
        for path, spec in pod_specs(document.value):
            for key in ("initContainers", "containers"):
                entries = spec.get(key)
                for index, container in enumerate(entries if isinstance(entries, list) else ()):
                    place = ".".join((*path, f"{key}[{index}].resources.limits"))
                    origin = Origin(source=workload.name, object=subject, path=place)
                    yield from _of_container(container, subject, origin, classes)


def _of_container(container: Any, subject: str, origin: Origin, classes: frozenset[str]) -> Iterator[Finding]:
    for resource, amount in _asked(container).items():
        known = plugin_resource(resource)
        if known is None or str(amount) == "0":
            continue
        twice = known.device_class in classes
        message = (
            f"container {container.get('name')} still asks for {resource}: {amount}, beside the devices of its claim"
        )
        message += f": {known.device_class} twice, once from a device plugin" if twice else ""
        advice = (
            "Take the resource out where the claim takes its place; dra-lab migrate CLUSTER FILE --output DIR writes "
            "the claim from what the workload asks, and takes it out."
        )
        severity = Severity.WARNING if twice else Severity.NOTE
        yield Finding("asked-twice" if twice else "plugin-beside-claim", severity, subject, message, advice, origin)


def _asked(container: Any) -> Mapping[str, Any]:
    resources = container.get("resources") if isinstance(container, Mapping) else None
    found: dict[str, Any] = {}
    for part in ("requests", "limits"):
        amounts = resources.get(part) if isinstance(resources, Mapping) else None
        found |= {k: v for k, v in amounts.items() if isinstance(k, str)} if isinstance(amounts, Mapping) else {}
    return found
