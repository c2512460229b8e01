"""What is missing, contradictory or surprising in the hierarchies over the nodes."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dra_lab.findings import Finding, Rule, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Domain, Hierarchy
from dra_lab.model.queues import NODE_LEAVES, kueue_gate
from dra_lab.model.topologies import ResourceFlavor, Topology
from dra_lab.topology.presets import CLIQUE, ZONE, is_host, is_inside

if TYPE_CHECKING:
    from dra_lab.model.workload import Workload

MOST_CHARACTERS = 63
"""Characters of a label's value, and of a level that a workload of Kueue can request."""

_NAMED = 5
_HASH = re.compile(r"x[0-9a-f]{14,16}")
_NOT_READY = frozenset(("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"))
_CORDONED = "node.kubernetes.io/unschedulable"


def plural(word: str) -> str:
    """Return the name of a level for several domains: `racks`, `leaf switches`."""
    return f"{word}{'es' if word.endswith('ch') else 's'}"


def some(names: Sequence[str]) -> str:
    """Return the first names of a list and how many more there are."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def hierarchy_rules(cluster: Cluster, tree: Hierarchy) -> Iterator[Finding]:
    """Yield what is noticed about one hierarchy, apart from the state of its nodes."""
    yield from _left_out(cluster, tree)
    yield from _flavors(cluster, tree)
    for index, level in enumerate(tree.levels):
        domains = tree.at(level.key or level.name)
        if index and _reversed(tree.levels[index - 1].key, level.key, domains):
            outer = tree.levels[index - 1]
            message = (
                f"each {level.key or level.name} contains several {outer.key or outer.name}, which is the outer level"
            )
            advice = (
                "Name the outermost level first. The layers of AWS are numbered inwards, the tiers of Topograph and of "
                "HyperNodes outwards."
            )
            yield Finding("level-order", Severity.WARNING, tree.name, message, advice)
        elif index and level.key not in ("", CLIQUE):
            yield from _reused(tree, index, domains)
            parents = Counter(domain.parent for domain in domains)
            if len(parents) > 1 and max(parents.values()) == 1:
                message = f"each {tree.levels[index - 1].name} has one {level.name}, so both levels are the same"
                advice = f"Leave out the level {level.name}."
                yield Finding("level-equals-parent", Severity.NOTE, tree.name, message, advice)
        yield from _spellings(tree, index, domains)
    if tree.levels and tree.levels[-1].name != ZONE:
        yield from _sizes(tree)


def _left_out(cluster: Cluster, tree: Hierarchy) -> Iterator[Finding]:
    nodes: dict[str, list[str]] = defaultdict(list)
    for one in tree.left_out:
        nodes[one.reason].append(one.node)
    severity = Severity.NOTE if tree.domains else Severity.WARNING
    total = len(cluster.node_names)
    advice = "In this hierarchy they are in no domain, so no gang is placed on them. Label them if it should be."
    for reason, names in nodes.items():
        message = f"{len(names):,} of {total:,} nodes are left out: {some(names)} ({reason})"
        yield Finding("nodes-left-out", severity, tree.name, message, advice)


def _flavors(cluster: Cluster, tree: Hierarchy) -> Iterator[Finding]:
    """Yield the nodes that have the labels of a Topology of Kueue and not those of its ResourceFlavors."""
    made_by = tree.levels[0].source if tree.levels else ""
    topologies = (one for one in cluster.topologies if isinstance(one, Topology))
    topology = next((one for one in topologies if made_by == f"Kueue Topology {one.name}"), None)
    flavors = [item for item in cluster.topologies if isinstance(item, ResourceFlavor)]
    if topology is None or topology.group != "kueue.x-k8s.io" or not flavors:
        return
    mine = [item for item in flavors if item.spec.topology_name == topology.name]
    inside = [node for domain in tree.innermost() for node in domain.nodes]
    if not mine:
        message = "no ResourceFlavor names this Topology, so Kueue does not use it"
        yield Finding("flavor-hides-nodes", Severity.WARNING, tree.name, message, "Set topologyName in a flavor.")
        return
    labels = {node: cluster.node_by_name[node].metadata.labels.items() for node in inside}
    hidden = [n for n in inside if not any(item.spec.node_labels.items() <= labels[n] for item in mine)]
    if hidden:
        message = (
            f"Kueue does not see {len(hidden):,} of {len(inside):,} nodes: {some(hidden)}. They lack the nodeLabels of "
            f"{some([item.name for item in mine])}"
        )
        advice = "Label the nodes, or correct nodeLabels of the ResourceFlavor."
        yield Finding("flavor-hides-nodes", Severity.WARNING, tree.name, message, advice)


def _reversed(outer_key: str, inner_key: str, domains: Sequence[Domain]) -> bool:
    """Say whether a level contains the level outside it."""
    if is_inside(outer_key, inner_key):
        return True
    pairs = {domain.path[-2:] for domain in domains}
    outer, inner = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    return len(inner) > 1 and max(outer.values()) == 1 and min(inner.values()) > 1


def _reused(tree: Hierarchy, index: int, domains: Sequence[Domain]) -> Iterator[Finding]:
    parents: dict[str, list[str]] = defaultdict(list)
    for domain in domains:
        parents[domain.value].append("/".join(domain.path))
    reused = [value for value, paths in parents.items() if len(paths) > 1]
    if reused:
        level = tree.levels[index]
        more = f"; {len(reused) - 1:,} other values as well" if len(reused) > 1 else ""
        message = f"{level.key}={reused[0]} is in several places: {some(parents[reused[0]])}{more}"
        advice = (
            "dra-lab, Kueue and KAI keep them apart. kube-scheduler compares this label alone, so it merges them. "
            "Use values that are unique in the cluster."
        )
        yield Finding("domain-name-reused", Severity.WARNING, tree.name, message, advice)


def _spellings(tree: Hierarchy, index: int, domains: Sequence[Domain]) -> Iterator[Finding]:
    level = tree.levels[index]
    values = list(dict.fromkeys(domain.value for domain in domains))
    if level.source.startswith("Kueue Topology") and len(level.key) > MOST_CHARACTERS:
        message = f"the level {level.key} has {len(level.key)} characters; a workload can request {MOST_CHARACTERS}"
        advice = "Kueue accepts the Topology, and no workload can name the level. Use a shorter label."
        yield Finding("level-key-long", Severity.WARNING, tree.name, message, advice)
    if long := [value for value in values if len(value) > MOST_CHARACTERS]:
        message = f"{some(long)}: a label's value has at most {MOST_CHARACTERS} characters"
        yield Finding("domain-name-long", Severity.WARNING, tree.name, message, "No node can be selected by it.")
    if hashed := [value for value in values if _HASH.fullmatch(value)]:
        message = f"{len(hashed):,} names of {plural(level.name)} are hashes: {some(hashed)}"
        advice = f"Topograph writes a hash if a name is longer than {MOST_CHARACTERS} characters. The groups are right."
        yield Finding("domain-name-hashed", Severity.NOTE, tree.name, message, advice)


def _sizes(tree: Hierarchy) -> Iterator[Finding]:
    word, domains = plural(tree.levels[-1].name), tree.innermost()
    single = ["/".join(domain.path) for domain in domains if len(domain.nodes) == 1]
    if single:
        message = f"{len(single):,} of {len(domains):,} {word} have one node: {some(single)}"
        yield Finding("domain-one-node", Severity.NOTE, tree.name, message, "Check the labels of these nodes.")
    sizes = Counter(len(domain.nodes) for domain in domains if len(domain.nodes) > 1)
    if len(sizes) > 1:
        usual = max(sizes, key=lambda size: (sizes[size], size))
        others = [f"{'/'.join(d.path)} ({len(d.nodes)})" for d in domains if len(d.nodes) not in (1, usual)]
        message = f"most {word} have {usual} nodes; others have fewer or more: {some(others)}"
        advice = "Check that no node is missing. A gang of the usual size does not fit in a smaller domain."
        yield Finding("domain-sizes-differ", Severity.NOTE, tree.name, message, advice)


def node_rules(cluster: Cluster, found: Sequence[Hierarchy]) -> Iterator[Finding]:
    """Yield the nodes in the hierarchies that are cordoned, not ready or tainted."""
    inside = dict.fromkeys(node for tree in found for domain in tree.domains for node in domain.nodes)
    cordoned, not_ready = list[str](), list[str]()
    tainted: dict[str, list[str]] = defaultdict(list)
    for name in inside:
        spec = cluster.node_by_name[name].spec
        keys = {str(taint.get("key")) for taint in spec.taints}
        if spec.unschedulable or _CORDONED in keys:
            cordoned.append(name)
        if keys & _NOT_READY:
            not_ready.append(name)
        for taint in spec.taints:
            key, effect = str(taint.get("key", "")), taint.get("effect")
            if effect in ("NoSchedule", "NoExecute") and key not in {*_NOT_READY, _CORDONED}:
                tainted[f"{key}:{effect}"].append(name)
    total = f"of {len(inside):,} nodes in domains"
    rule: Rule
    for rule, names, state, advice in (
        ("nodes-cordoned", cordoned, "cordoned", "Pods do not start there. kubectl uncordon NODE ends it."),
        ("nodes-not-ready", not_ready, "not ready", "Pods do not start there. Repair the nodes."),
    ):
        if names:
            message = f"{len(names):,} {total} are {state}: {some(names)}"
            yield Finding(rule, Severity.NOTE, "nodes", message, advice)
    for taint_name, names in tainted.items():
        message = f"{len(names):,} {total} have the taint {taint_name}: {some(names)}"
        advice = f"Pods need a toleration.{_without_hostname(cluster)}"
        yield Finding("nodes-tainted", Severity.NOTE, "nodes", message, advice)


def preferred_rules(gang: Workload, tree: Hierarchy | None) -> Iterator[Finding]:
    """Yield preferred levels of a gang and its groups that are not inside the required level and choose nothing."""
    from dra_lab.model.workload import HOSTS

    def depth(level: str) -> int:
        if level in HOSTS:
            return len(tree.levels) if tree is not None else 0
        return tree.level_index(level) if level and tree is not None else -1

    rows = [(gang.name, gang.prefer_level, gang.level)]
    rows += [(f"{gang.name}, group {group.name}", group.prefer_level, group.level or gang.level) for group in gang.pods]
    for subject, preferred, required in rows:
        if preferred and depth(preferred) <= depth(required):
            one = "node" if required in HOSTS else required
            message = f"the preferred level {preferred} has no effect, because all pods are in one {one} anyway"
            advice = f"Leave it out, or prefer a level inside {one}."
            yield Finding("gang-prefer-level", Severity.WARNING, subject, message, advice)


def _without_hostname(cluster: Cluster) -> str:
    """Return what Kueue does with taints if a Topology does not end with the host name, and it counts no nodes."""
    if kueue_gate(cluster.queues, NODE_LEAVES):
        return ""
    names = [
        item.name
        for item in cluster.topologies
        if isinstance(item, Topology)
        and item.group == "kueue.x-k8s.io"
        and not (item.labels and is_host(item.labels[-1]))
    ]
    return f" Kueue ignores taints in Topology {some(names)}, whose last level is not the host name." if names else ""
