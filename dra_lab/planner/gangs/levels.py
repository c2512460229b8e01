"""Levels of gangs as maps from nodes to domains, and the nodes whose pods can share one claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dra_lab.errors import InputError, UnsupportedFeature
from dra_lab.index.node_index import node_index
from dra_lab.index.pools import gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.model.workload import HOSTS, Workload

Path = tuple[str, ...]
Claims = tuple[ClaimSketch, ...]
Together = Callable[[Claims], Mapping[str, Path] | None]
"""Which nodes' pods can share claims, as `nodes_of_claims` says it."""

HOST_DEPTH = 1_000
"""The depth of hosts, below every level."""

WHOLE = 0
"""The tier of the whole cluster."""


@dataclass(frozen=True)
class Tier:
    """One level: `paths` has the domain of each node that is in one; `depth` grows from outer to inner levels."""

    hierarchy: str
    depth: int
    paths: Mapping[str, Path]


def _has(tree: Hierarchy, levels: Sequence[str]) -> bool:
    try:
        return all(tree.level_index(level) >= 0 for level in levels)
    except InputError:
        return False


def hierarchy_of(gang: Workload, hierarchies: Sequence[Hierarchy]) -> Hierarchy | None:
    """Return the hierarchy of the levels of a gang, None if it names none. Raises InputError if it is unknown."""
    named = [gang.level, gang.prefer_level]
    for group in gang.pods:
        named += [group.level, group.prefer_level, *(level for _, level in group.slices)]
    levels = [level for level in dict.fromkeys(named) if level not in ("", *HOSTS)]
    if gang.hierarchy:
        # A level that it does not have is reported where it is read.
        levels = []
    return tree_with(f"gang {gang.name!r}", gang.hierarchy, levels, hierarchies)


def tree_with(where: str, name: str, levels: Sequence[str], hierarchies: Sequence[Hierarchy]) -> Hierarchy | None:
    """Return the hierarchy with a name and some levels, None if neither is given.

    Raises InputError if there is none, or several; `where` is what names it.
    """
    known = {hierarchy.name: hierarchy for hierarchy in hierarchies}
    names = ", ".join(known) or "none"
    if name and name not in known:
        raise InputError(f"{where}: there is no hierarchy {name!r}; the cluster has: {names}")
    if not levels:
        return known.get(name)
    able = [tree for tree in hierarchies if name in ("", tree.name) and _has(tree, levels)]
    if len(able) == 1:
        return able[0]
    if able:
        raise InputError(f"{where}: several hierarchies have {levels[0]!r}; name one of {names}")
    every = "; ".join(f"{one.name}: {', '.join(level.name for level in one.levels)}" for one in hierarchies)
    raise InputError(f"{where}: no hierarchy has {' and '.join(map(repr, levels))}; there are: {every or 'none'}")


def nodes_of_claims(cluster: Cluster, release: KubernetesRelease, claims: Claims) -> Mapping[str, Path] | None:
    """Return for each node the name of the nodes whose pods can share claims with its pods; None if only its own can.

    A claim that is allocated holds its pods to the nodes that see all its devices: one node for devices of a node,
    several for devices that are attached to a network. Nodes that see no device for the claims are left out; the name
    is () if all nodes see the same devices. Raises UnsupportedFeature if the choice of devices decides which nodes.

    Source: kubernetes 1.36.2, `createNodeSelector` of
    staging/src/k8s.io/dynamic-resource-allocation/structured/internal/stable/allocator_stable.go.
    """
    if not cluster.network_slices:
        return None
    seen: dict[DeviceID, list[str]] = {}
    devices: dict[DeviceID, Device] = {}
    for node in cluster.node_names:
        for one in (one for pool in gather_pools(cluster, node) for one in pool.devices if one.on_node):
            seen.setdefault(one.id, []).append(node)
            devices[one.id] = one.device
    rows = [[frozenset(seen[one]) for one in found] for found in _candidates(cluster, claims, release, devices)]
    if any(all(len(nodes) == 1 for nodes in row) for row in rows):
        return None
    every = sorted(dict.fromkeys(nodes for row in rows for nodes in row), key=sorted)
    if sum(map(len, every)) > len(frozenset().union(*every)):
        message = "its shared claims may have devices that different nodes see, which dra-lab does not plan yet"
        raise UnsupportedFeature("resourceClaims", message)
    if every == [frozenset(cluster.node_names)]:
        return dict.fromkeys(cluster.node_names, ())
    names = {nodes: f"{min(nodes)} and {len(nodes) - 1} more" if len(nodes) > 1 else min(nodes) for nodes in every}
    return {node: (names[nodes],) for nodes in every for node in nodes}


def _candidates(
    cluster: Cluster, claims: Claims, release: KubernetesRelease, devices: Mapping[DeviceID, Device]
) -> Iterator[list[DeviceID]]:
    """Yield for each request the devices that match it, or one of its alternatives."""
    matching = node_index(cluster, release).matching
    for request in (request for claim in claims for request in claim.requests):
        alternatives = asks(request)
        yield [
            one for one, device in devices.items() if any(matching.match(a, one.driver, device) for a in alternatives)
        ]
