"""The hierarchy that Volcano's HyperNodes make; its tiers grow outwards, and a HyperNode has one parent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dra_lab.findings import Finding, Severity
from dra_lab.index.hyper_node_members import Members, members_of
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy, LeftOut, Level
from dra_lab.model.topologies import HyperNode
from dra_lab.topology.domain_tree import domain_tree
from dra_lab.topology.node_tree import natural_order

HYPER_NODES = "HyperNodes"
"""The name of the hierarchy that HyperNodes make."""


def hyper_node_tree(cluster: Cluster, nodes: Sequence[str], findings: list[Finding]) -> Iterator[Hierarchy]:
    """Yield the hierarchy of the HyperNodes of a cluster, if it has any; `findings` get what is wrong with them.

    Rule: `pkg/scheduler/api/hyper_node_info.go` of Volcano 1.15.1.
    """
    items = [item for item in cluster.topologies if isinstance(item, HyperNode)]
    if not items:
        return
    by_name = {item.name: item for item in sorted(items, key=lambda item: natural_order(item.name))}
    members = {name: members_of(item, cluster.node_by_name, by_name) for name, item in by_name.items()}
    for name, found in members.items():
        findings += (
            Finding("hyper-node-member", Severity.WARNING, name, problem, "dra-lab ignores this member. Correct it.")
            for problem in found.wrong
        )
    parents = _parents(by_name, members, findings)
    tiers = sorted({item.spec.tier for item in items}, reverse=True)
    paths = {name: _path(name, parents, by_name, tiers) for name in by_name}
    own = _own(by_name, members, paths, findings)
    left_out = (LeftOut(node, "is in no HyperNode") for node in nodes if node not in own)
    placed = {node: paths[own[node]] for node in nodes if node in own}
    yield domain_tree(HYPER_NODES, _levels(by_name, tiers), placed, left_out)


def _parents(
    by_name: Mapping[str, HyperNode], members: Mapping[str, Members], findings: list[Finding]
) -> dict[str, str]:
    """Return the parent of each HyperNode that has one."""
    parents: dict[str, str] = {}
    for name in by_name:
        for child in members[name].hyper_nodes:
            outer, inner = by_name[name].spec.tier, by_name[child].spec.tier
            if _reaches(members, child, name):
                problem = f"it contains {child!r}, which contains it" if child != name else "it contains itself"
                rule, advice = "hyper-node-cycle", "dra-lab ignores this member. Remove one of the two."
            elif inner >= outer:
                problem = f"its tier {outer} is not above the tier {inner} of its member {child!r}"
                rule, advice = "hyper-node-tier", "dra-lab ignores this member. Outer HyperNodes need higher tiers."
            elif child in parents:
                problem = f"its member {child!r} already has the parent {parents[child]!r}"
                rule, advice = "hyper-node-parents", "A HyperNode has one parent. dra-lab ignores this one."
            else:
                parents[child] = name
                continue
            findings.append(Finding(rule, Severity.WARNING, name, problem, advice))
    return parents


def _reaches(members: Mapping[str, Members], start: str, goal: str) -> bool:
    seen, ahead = {start}, [start]
    while ahead:
        name = ahead.pop()
        if name == goal:
            return True
        new = [child for child in members[name].hyper_nodes if child not in seen]
        seen.update(new)
        ahead += new
    return False


def _path(
    name: str, parents: Mapping[str, str], by_name: Mapping[str, HyperNode], tiers: Sequence[int]
) -> tuple[str, ...]:
    """Return the path of a HyperNode; tiers that no parent of it has are ""."""
    path: dict[int, str] = {}
    here: str | None = name
    while here is not None:
        path[by_name[here].spec.tier] = here
        here = parents.get(here)
    return tuple(path.get(tier, "") for tier in tiers if tier >= by_name[name].spec.tier)


def _own(
    by_name: Mapping[str, HyperNode],
    members: Mapping[str, Members],
    paths: Mapping[str, tuple[str, ...]],
    findings: list[Finding],
) -> dict[str, str]:
    """Return the HyperNode of the lowest tier that contains each node."""
    own: dict[str, str] = {}
    overlaps: dict[tuple[str, str], list[str]] = {}
    for name in sorted(by_name, key=lambda name: by_name[name].spec.tier):
        for node in members[name].nodes:
            first = own.setdefault(node, name)
            if name not in paths[first]:
                overlaps.setdefault((first, name), []).append(node)
    for (first, name), shared in overlaps.items():
        problem = f"it shares {len(shared):,} nodes with {first!r}, for example {shared[0]}"
        advice = f"dra-lab counts them in {first!r} only. Let a node be in one HyperNode of a tier."
        findings.append(Finding("hyper-node-overlap", Severity.WARNING, name, problem, advice))
    return own


def _levels(by_name: Mapping[str, HyperNode], tiers: Sequence[int]) -> Iterator[Level]:
    used: set[str] = set()
    for tier in tiers:
        words = (item.spec.tier_name for item in by_name.values() if item.spec.tier == tier)
        names = (*words, f"tier {tier}")
        name = next(name for name in names if name and name not in used)
        used.add(name)
        yield Level(name, "", f"HyperNode tier {tier}")
