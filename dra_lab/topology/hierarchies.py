"""The hierarchies over the nodes: from node labels, device attributes, Topology objects and HyperNodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.findings import Finding, Rule, Severity
from dra_lab.index.hyper_node_members import Members, members_of
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Domain, Hierarchy, LeftOut, Level
from dra_lab.model.memo import once_per_slice, once_per_snapshot
from dra_lab.model.slices import ResourceSlice
from dra_lab.model.topologies import HyperNode, Topology
from dra_lab.model.workload import HOSTS, Workload
from dra_lab.topology.hierarchy_findings import hierarchy_rules, node_rules
from dra_lab.topology.node_tree import natural_order
from dra_lab.topology.presets import (
    ATTRIBUTES,
    CLIQUE,
    FABRIC,
    NVLINK,
    PRESETS,
    ZONE,
    Preset,
    is_host,
    is_known,
    level_names,
    topograph,
)


def domain_tree(
    name: str, levels: Iterable[Level], paths: Mapping[str, tuple[str, ...]], left_out: Iterable[LeftOut]
) -> Hierarchy:
    """Return the hierarchy in which each node has its path; the nodes are in natural order.

    A value "" is no domain: the node is below the level and in none of its domains.
    """
    found: dict[tuple[str, ...], list[str]] = {}
    for node, path in paths.items():
        for depth, value in enumerate(path, 1):
            if value:
                found.setdefault(path[:depth], []).append(node)
    ordered = sorted(found, key=lambda path: (len(path), *map(natural_order, path)))
    domains = tuple(Domain(path, tuple(found[path])) for path in ordered)
    return Hierarchy(name, tuple(levels), domains, tuple(left_out))


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
    rule: Rule
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


Values = Mapping[str, Mapping[str, str]]
"""Key to node to value; a node without the label or attribute is not in it."""

_WRITERS = {"kueue.x-k8s.io": "Kueue", "kai.scheduler": "KAI"}


def hierarchies(cluster: Cluster) -> tuple[Hierarchy, ...]:
    """Return the hierarchies over the nodes of a cluster.

    Levels come from labels that Topology objects of Kueue and KAI name, from HyperNodes of Volcano, from known labels
    of clouds and schedulers, and from attributes that DRANET publishes. Known labels that group the nodes as another
    source does are not repeated. As in Kueue and KAI, a node must have every label of a hierarchy.

    Args:
        cluster: The cluster.

    Returns:
        The hierarchies, each with another name: Topology objects, HyperNodes, fabric, NVLink, zone. () if nothing says
        where nodes are.

    Example:
        >>> from dra_lab import hierarchies, load_cluster
        >>> [(tree.name, len(tree.innermost())) for tree in hierarchies(load_cluster("sample:gb200-nvl72"))]
        [('nvl72', 2), ('fabric', 2), ('NVLink', 2), ('zone', 1)]
    """
    return _found(cluster)[0]


def hierarchy_findings(cluster: Cluster) -> tuple[Finding, ...]:
    """Return what is missing, contradictory or surprising in the hierarchies of a cluster, in their order."""
    trees, findings = _found(cluster)
    return (*findings, *node_rules(cluster, trees))


@once_per_snapshot
def _found(cluster: Cluster) -> tuple[tuple[Hierarchy, ...], tuple[Finding, ...]]:
    findings: list[Finding] = []
    nodes = sorted(cluster.node_names, key=natural_order)
    topologies = [item for item in cluster.topologies if isinstance(item, Topology)]
    topologies.sort(key=lambda item: (item.name, item.group))
    values = _of_labels(cluster, {label for item in topologies for label in item.labels})
    values |= _of_attributes(cluster, findings)
    found = []
    for item in (item for item in topologies if not all(map(is_host, item.labels))):
        inner = [level for level in item.spec.levels if not is_host(level.node_label)]
        words = level_names([level.node_label for level in inner], [level.alias for level in inner])
        source = f"{_WRITERS.get(item.group, item.group)} Topology {item.name}"
        levels = [Level(word, level.node_label, source) for word, level in zip(words, inner, strict=True)]
        found.append(_of_keys(item.name, levels, values, nodes))
    named = [{level.key for level in tree.levels} for tree in found]
    hyper = [*hyper_node_tree(cluster, nodes, findings)]
    found += hyper
    known = [preset for preset in (topograph(values), *PRESETS) if not values.keys().isdisjoint(preset.keys)]
    presets = [(preset.hierarchy, _of_preset(preset, values, nodes)) for preset in known]
    for name in (FABRIC, NVLINK, ZONE):
        kept = hyper if name == FABRIC else []
        for tree in (tree for of, tree in presets if of == name and tree.domains):
            again = name == FABRIC and any(keys.issuperset(level.key for level in tree.levels) for keys in named)
            if not again and not any(_repeats(tree, other) for other in kept):
                kept = [*kept, tree]
                found.append(tree)
    # the first of a name keeps it, others name their source as well
    trees: dict[str, Hierarchy] = {}
    for tree in found:
        name = tree.name if tree.name not in trees else f"{tree.name} ({tree.levels[0].source})"
        trees[name] = replace(tree, name=name)
    findings += (finding for tree in trees.values() for finding in hierarchy_rules(cluster, tree))
    return tuple(trees.values()), tuple(findings)


def _of_labels(cluster: Cluster, named: Collection[str]) -> dict[str, dict[str, str]]:
    keys = set[str]().union(*(node.metadata.labels for node in cluster.nodes))
    wanted = {key for key in keys if key in named or is_known(key)}
    values: dict[str, dict[str, str]] = {}
    for node in cluster.nodes:
        labels = node.metadata.labels
        for key in wanted.intersection(labels):
            if labels[key]:
                values.setdefault(key, {})[node.name] = labels[key]
    return values


def _of_preset(preset: Preset, values: Values, nodes: Sequence[str]) -> Hierarchy:
    found = [next((key for key in keys if key in values), "") for _, keys in preset.levels]
    keys = [key for key in found if key]
    if CLIQUE in keys:
        return _of_cliques(preset, values[CLIQUE], nodes)
    levels = [Level(word, key, preset.source) for word, key in zip(level_names(keys), keys, strict=True)]
    return _of_keys(preset.hierarchy, levels, values, nodes)


def _of_keys(name: str, levels: Sequence[Level], values: Values, nodes: Sequence[str]) -> Hierarchy:
    paths: dict[str, tuple[str, ...]] = {}
    left_out: list[LeftOut] = []
    columns = [values.get(level.key, {}) for level in levels]
    for node in nodes:
        path = tuple(column.get(node, "") for column in columns)
        if all(path):
            paths[node] = path
        else:
            key = levels[path.index("")].key
            reason = "its devices do not publish" if key in ATTRIBUTES else "has no label"
            left_out.append(LeftOut(node, f"{reason} {key}"))
    return domain_tree(name, levels, paths, left_out)


def _of_cliques(preset: Preset, values: Mapping[str, str], nodes: Sequence[str]) -> Hierarchy:
    """Return NVLink domains and partitions; the value of a partition is that of the label, which contains both."""
    paths: dict[str, tuple[str, ...]] = {}
    left_out: list[LeftOut] = []
    for node in nodes:
        domain, dot, clique = values.get(node, "").partition(".")
        if domain and clique:
            paths[node] = (domain, values[node])
        else:
            reason = f"its label {CLIQUE} is not DOMAIN.CLIQUE" if domain or dot else f"has no label {CLIQUE}"
            left_out.append(LeftOut(node, reason))
    (outer, _), (inner, _) = preset.levels
    return domain_tree(
        preset.hierarchy, (Level(outer, "", preset.source), Level(inner, CLIQUE, preset.source)), paths, left_out
    )


def _repeats(tree: Hierarchy, other: Hierarchy) -> bool:
    """Say whether each level of a hierarchy groups its nodes as a level of another one does."""
    paths = [(path, other.path_of(node)) for domain in tree.domains for node in domain.nodes if (path := domain.path)]

    def is_same(level: int, depth: int) -> bool:
        pairs = {(mine, theirs[:depth]) for mine, theirs in paths if len(mine) == level}
        sides = [{pair[side] for pair in pairs} for side in (0, 1)]
        return len(pairs) == len(sides[0]) == len(sides[1]) and all(len(path) == depth for path in sides[1])

    depths = range(1, len(other.levels) + 1)
    return all(any(is_same(level, depth) for depth in depths) for level in range(1, len(tree.levels) + 1))


def _of_attributes(cluster: Cluster, findings: list[Finding]) -> dict[str, dict[str, str]]:
    """Return what devices publish of their node's place: by attribute its value by node."""
    values: dict[str, dict[str, str]] = {}
    for node, slices in cluster.slices_by_node.items():
        for name, value in (pair for slice_ in slices for pair in published_places(cluster, slice_)):
            first = values.setdefault(name, {}).setdefault(node, value)
            if first != value:
                message = f"its devices publish {name} as {first!r} and as {value!r}"
                advice = "dra-lab uses the first value. Correct the driver's configuration."
                findings.append(Finding("devices-disagree", Severity.WARNING, node, message, advice))
    return values


@once_per_slice
def published_places(_cluster: Cluster, slice_: ResourceSlice) -> tuple[tuple[str, str], ...]:
    """Return the attributes of ATTRIBUTES that the devices of a slice publish, each with its value."""
    driver = slice_.spec.driver
    keys = {key for name in ATTRIBUTES for key in (name, name.removeprefix(f"{driver}/"))}
    found = []
    for device in slice_.spec.devices or ():
        for name in () if keys.isdisjoint(device.attributes) else ATTRIBUTES:
            attribute = device.lookup(name, driver)
            if attribute is not None and isinstance(attribute.value, str) and attribute.value:
                found.append((name, attribute.value))
    return tuple(found)


# --------------------------------------------------------------------- the levels that a gang names


def gang_with_levels(gang: Workload, cluster: Cluster, source: str) -> tuple[Workload, Hierarchy | None]:
    """Return a gang with the names of its levels, and the hierarchy that has them; None if it names no level.

    A level may name its hierarchy: `fabric:rack`. If several hierarchies group the nodes alike there, the first is
    used. `source` names the gang in an error. Raises InputError if no hierarchy has the levels, or several have
    them with other domains.
    """
    trees = {tree.name: tree for tree in hierarchies(cluster)}
    for part in ("level", "prefer_level"):
        name, colon, level = getattr(gang, part).partition(":")
        if colon and name in trees:
            if gang.hierarchy not in ("", name):
                raise InputError(f"{gang.name}: the levels are of {gang.hierarchy} and {name}; name levels of one")
            gang = dataclasses.replace(gang, **{part: level, "hierarchy": name})
    named = [gang.level, gang.prefer_level]
    for group in gang.pods:
        named += [group.level, group.prefer_level, *(level for _, level in group.slices)]
    levels = [level for level in dict.fromkeys(named) if level not in ("", *HOSTS)]
    if gang.hierarchy and gang.hierarchy not in trees:
        raise InputError(
            f"{source}: there is no hierarchy {gang.hierarchy!r}; the cluster has: {', '.join(trees) or 'none'}"
        )
    among = [trees[gang.hierarchy]] if gang.hierarchy else list(trees.values())
    able = [tree for tree in among if all(_has(tree, level) for level in levels)] if levels or gang.hierarchy else []
    if levels and not able:
        raise InputError(_no_level(levels, among))
    groups = {
        tuple(frozenset(frozenset(domain.nodes) for domain in tree.at(level)) for level in levels) for tree in able
    }
    if len(groups) > 1:
        ways = " or ".join(f"{tree.name}:{levels[0]}" for tree in able)
        raise InputError(f"several hierarchies have the level {levels[0]!r}, with other domains; write {ways}")
    tree = able[0] if able else None
    if tree is not None:
        gang = dataclasses.replace(
            gang, hierarchy=tree.name, level=_name(tree, gang.level), prefer_level=_name(tree, gang.prefer_level)
        )
    return gang, tree


def _name(tree: Hierarchy, level: str) -> str:
    """Return the name of a level instead of its label, unless an outer level has the same name."""
    if level in ("", *HOSTS):
        return level
    index = tree.level_index(level)
    name = tree.levels[index].name
    return name if tree.level_index(name) == index else level


def _has(tree: Hierarchy, level: str) -> bool:
    return any(level == one.key or level.casefold() == one.name.casefold() for one in tree.levels)


def _no_level(levels: Sequence[str], trees: Sequence[Hierarchy]) -> str:
    from difflib import get_close_matches

    names = list(dict.fromkeys(level.name for tree in trees for level in tree.levels))
    missing = next((level for level in levels if not any(_has(tree, level) for tree in trees)), "")
    if not missing:
        return f"no hierarchy has both {' and '.join(map(repr, levels))}; dra-lab topology CLUSTER lists the levels"
    near = get_close_matches(missing.casefold(), names, 1, 0.5)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    every = ", ".join(names) or "none, so that only host is known"
    return f"there is no level {missing!r} in the cluster{hint} Its levels are: {every}"
