"""The node labels of the levels that a gang names, pins to planned domains, and NVIDIA's ComputeDomain of a gang.

Sources of ComputeDomains: kubernetes-sigs/dra-driver-nvidia-gpu v0.4.1, CRD `computedomains.resource.nvidia.com`; its
issues 804 and 892.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dra_lab.checks.rules import check_label_name
from dra_lab.errors import InputError, did_you_mean
from dra_lab.findings import Rule
from dra_lab.model.hierarchy import Domain, Hierarchy
from dra_lab.model.sketch import asks
from dra_lab.model.workload import HOSTS, PodGroup, Workload
from dra_lab.sketch.claim_objects import Affinity
from dra_lab.topology.presets import ATTRIBUTES, CLIQUE, HOSTNAME, NVLINK


def is_host(level: str) -> bool:
    """Say whether a level is the node itself, which every hierarchy has."""
    return level in HOSTS


def label_of(hierarchy: Hierarchy | None, level: str) -> str:
    """Return the node label that names the domains of a level, or of `host`.

    It is "" if no single label names the domains, as with HyperNodes and device attributes. Raises InputError if the
    hierarchy has no such level, or there is none.
    """
    if is_host(level):
        return HOSTNAME
    if hierarchy is None:
        raise InputError(f"the gang names the level {level!r}; give the hierarchy that has it")
    return _label(hierarchy.levels[hierarchy.level_index(level)].key)


def same_level(hierarchy: Hierarchy | None, level: str, other: str) -> bool:
    """Say whether two names are of one level."""
    if not level or not other or is_host(level) or is_host(other) or hierarchy is None:
        return level == other or (is_host(level) and is_host(other))
    return hierarchy.level_index(level) == hierarchy.level_index(other)


def topology_of(hierarchy: Hierarchy | None, kind: str) -> str:
    """Return the name of the Topology object of a kind that a hierarchy was read from, "" if it was from others."""
    source = hierarchy.levels[0].source if hierarchy is not None and hierarchy.levels else ""
    return source.removeprefix(kind) if source.startswith(kind) else ""


def pin_affinity(hierarchy: Hierarchy | None, path: Sequence[str]) -> Affinity:
    """Return the requirements that hold a pod to one domain; they belong into every term of its node affinity.

    `path` is that of `PlacedReplica.domain`; for a node, which needs no hierarchy, its name alone. The label of the
    level has the value of the domain. Labels of outer levels are added if the value is not unique. If a level has no
    label, the names of all nodes of the domain are listed. Raises InputError for a domain that the hierarchy lacks.
    """
    path = tuple(path)
    domain = _domain(hierarchy, path)
    if domain is None or hierarchy is None:
        return (_in(HOSTNAME, path),)
    label = _label(hierarchy.levels[domain.level].key)
    if label and [one.path[-1] for one in hierarchy.domains if one.level == domain.level].count(domain.value) == 1:
        return (_in(label, (domain.value,)),)
    labels = [_label(level.key) for level in hierarchy.levels[: len(path)]]
    if all(labels) and len(set(labels)) == len(labels):
        return tuple(_in(label, (value,)) for label, value in zip(labels, path, strict=True))
    return (_in(HOSTNAME, domain.nodes),)


def _domain(hierarchy: Hierarchy | None, path: tuple[str, ...]) -> Domain | None:
    domains = hierarchy.domains if hierarchy else ()
    found = next((domain for domain in domains if domain.path == path), None)
    nodes = {node for domain in domains for node in domain.nodes}
    if found is not None or (len(path) == 1 and (hierarchy is None or path[0] in nodes)):
        return found
    names = ["/".join(domain.path) for domain in domains]
    wanted, name = "/".join(path), hierarchy.name if hierarchy else ""
    similar = did_you_mean(wanted, names)
    raise InputError(f"hierarchy {name!r} has no domain {wanted!r}{similar}; name the path from the outermost level")


def _in(key: str, values: Sequence[str]) -> dict[str, object]:
    return {"key": key, "operator": "In", "values": list(values)}


def _label(key: str) -> str:
    return "" if not key or key in ATTRIBUTES or any(check_label_name(key, "")) else key


# --------------------------------------------------------------------- NVLink domains

CHANNEL_CLASS = "compute-domain-default-channel.nvidia.com"
"""The DeviceClass of the template that the driver makes for a ComputeDomain."""


def needs_nvlink(gang: Workload, group: PodGroup, hierarchy: Hierarchy | None) -> bool:
    """Say whether the pods of a group need one NVLink domain or partition, by the name of its tree or by its label."""
    if hierarchy is None:
        return False
    levels = (gang.level, group.level, *(level for _, level in group.slices))
    named = [level for level in levels if level and not is_host(level)]
    keys = (hierarchy.levels[hierarchy.level_index(level)].key for level in named)
    return bool(named) and (hierarchy.name.startswith(NVLINK) or CLIQUE in keys)


def draws_channel(gang: Workload, group: PodGroup) -> bool:
    """Say whether the pods of a group request a channel themselves; a node has one, so a second would not fit."""
    claims = (*group.claims, *group.shared_claims, *gang.shared_claims)
    requests = (request for claim in claims for request in claim.requests)
    return any(ask.device_class_name == CHANNEL_CLASS for request in requests for ask in asks(request))


def compute_domain(name: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ComputeDomain of one copy of a gang; numNodes is deprecated, and 0 is recommended."""
    channel = {"resourceClaimTemplate": {"name": f"{name}-channel"}, "allocationMode": "Single"}
    head = {"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomain", "metadata": dict(metadata)}
    return {**head, "spec": {"numNodes": 0, "channel": channel}}


DRAWN_CHANNEL = (
    f"the pods request a channel of {CHANNEL_CLASS} themselves, so no ComputeDomain is written for them",
    "Draw the GPUs alone. The export then has a ComputeDomain, and the pods name the template of its channel.",
)
"""Why there is no ComputeDomain, and what to do."""

NOT_DONE: Mapping[Rule, tuple[str, str]] = {
    "compute-domain-clique": (
        "a ComputeDomain does not hold its pods to one NVLink clique: its channels are devices of single nodes",
        f"Keep the required level that is exported with it, or pin the domain. The label is {CLIQUE}.",
    ),
    "compute-domain-node": (
        "each node has one channel, so a node runs one pod with a ComputeDomain at a time",
        "Let each pod use all GPUs of its node.",
    ),
}
"""What a ComputeDomain does not do, and what to do instead."""
