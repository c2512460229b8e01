"""What containers ask of device plugins: extended resources in their limits, and who may share whose devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dra_lab.gitops.pods import PodTemplate, containers

_NATIVE = ("kubernetes.io", "k8s.io")


@dataclass(frozen=True, slots=True)
class PluginRequest:
    """One extended resource of one container.

    `path` leads to the container; `once` says that it is an ordinary init container, whose devices may be those of the
    containers that run after it (dra-semantics 1.16, rule 19).
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
    return tuple(_requests(pod))


def _requests(pod: PodTemplate) -> Iterator[PluginRequest]:
    for path, container in containers(pod.spec, pod.path):
        resources = container.get("resources")
        amounts: dict[str, Any] = {}
        for part in ("requests", "limits"):
            found = resources.get(part) if isinstance(resources, Mapping) else None
            amounts.update(found if isinstance(found, Mapping) else {})
        once = "initContainers" in path and container.get("restartPolicy") != "Always"
        for name in sorted(key for key in amounts if isinstance(key, str) and is_extended(key)):
            count = _whole(amounts[name])
            if count:
                yield PluginRequest(path, str(container.get("name", "")), name, count, once)


def is_extended(name: str) -> bool:
    """Say whether a resource name is an extended one: with a domain that is not Kubernetes' own (core/v1 helpers)."""
    domain, slash, _ = name.partition("/")
    native = any(domain == own or domain.endswith(f".{own}") for own in _NATIVE)
    return bool(slash) and not native and not name.startswith("requests.")


def _whole(amount: object) -> int:
    if isinstance(amount, bool):
        return 0
    text = str(amount).strip()
    return int(text) if text.isascii() and text.isdigit() else 0
