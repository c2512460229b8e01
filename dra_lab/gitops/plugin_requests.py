"""What containers ask of device plugins: extended resources in their limits, and who may share whose devices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dra_lab.findings import Finding, Severity
from dra_lab.gitops.object_pods import PodTemplate
from dra_lab.manifests.device_asks import IMPLICIT, containers, extended_resources, whole_amount


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
