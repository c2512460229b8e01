"""A cluster in words: one line, the document with its devices and findings, and the hierarchies over its nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from dra_lab.model.cluster import Cluster, same_nodes
from dra_lab.model.hierarchy import Domain, Hierarchy, Level
from dra_lab.model.memo import once_per_hardware, once_per_snapshot
from dra_lab.model.nodes import Node
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.topologies import TopologyObject
from dra_lab.topology.hierarchies import hierarchies, hierarchy_findings
from dra_lab.topology.hierarchy_findings import plural, some
from dra_lab.topology.presets import CLIQUE, ZONE
from dra_lab.words.document import Lines, Part, Sentence, Table, Words
from dra_lab.words.facts import counted


@once_per_snapshot
def summary(cluster: Cluster, release: KubernetesRelease) -> str:
    """Return `4 nodes · 2 drivers · 32 GPUs, 27 free · 28 NICs, 16 with RDMA`.

    Partitions are counted apart: `2 A100, 41 of 50 partitions still possible`.
    `at most 27 free` where the claims of some namespaces only were read, `use unknown` where none were.
    """
    from dra_lab.sketch.kind_counts import count_words, kind_counts

    hierarchy_line(cluster)  # where the summary is made there is time for it
    parts = [first_words(cluster)]
    for kind, count in kind_counts(cluster, release).items():
        parts.append(count_words(cluster, kind, count) + (_with_rdma(cluster) if kind == "nic" else ""))
    return " · ".join(parts)


def first_words(cluster: Cluster) -> str:
    """Return `5,000 nodes · 3 drivers`: what is known before the devices were looked at."""
    return f"{counted(len(cluster.node_names), 'node')} · {counted(len(cluster.drivers), 'driver')}"


@once_per_hardware
def _with_rdma(cluster: Cluster) -> str:
    from dra_lab.index.catalogue import catalogue
    from dra_lab.index.device_kinds import RDMA

    counts = catalogue(cluster).counts.items()
    able = [
        (attribute.value is True, count)
        for shape, count in counts
        if shape.kind == "nic" and (attribute := shape.example.lookup(RDMA, shape.driver)) is not None
    ]
    return f", {sum(count for with_it, count in able if with_it):,} with RDMA" if able else ""


def cluster_parts(cluster: Cluster) -> Iterator[Part]:
    """Yield what is in a cluster: one line, a row for each kind of device, the hierarchies, the number of findings."""
    from dra_lab.checks.cluster_checks import check_cluster

    release = cluster.target_release()
    found = Counter(finding.severity.value for finding in (*cluster.findings, *check_cluster(cluster)))
    yield Sentence(f"{cluster.name or 'cluster'}: {summary(cluster, release)}")
    yield Table(("driver", "kind", "model", "devices", "free"), _device_rows(cluster, release))
    yield from hierarchy_parts(cluster)
    words = ", ".join(counted(found[severity], severity) for severity in ("error", "warning", "note"))
    yield Words(f"Kubernetes {release.version}; findings: {words}")


def _device_rows(cluster: Cluster, release: KubernetesRelease) -> list[tuple[str, str, str, int, str]]:
    from dra_lab.drivers.kinds import device_label
    from dra_lab.index.catalogue import catalogue, lookup_of
    from dra_lab.model.driver_profile import kind_words
    from dra_lab.sketch.cluster_candidates import is_free
    from dra_lab.sketch.kind_counts import free_count

    found: dict[tuple[str, str, str], list[bool]] = {}
    known = catalogue(cluster)
    for item in known.devices:
        shape = known.shape(item)
        label = device_label(shape.profile, lookup_of(item.driver, item.device))
        key = (item.driver, kind_words(shape.kind, guessed=shape.guessed), label)
        found.setdefault(key, []).append(is_free(cluster, item, release))
    return [(*key, len(free), free_count(cluster, sum(free))) for key, free in sorted(found.items())]


LEVELS = ("hierarchy", "level", "label", "source", "domains", "nodes in each", "nodes left out")
"""The columns of `level_rows`."""

DOMAINS = ("hierarchy", "level", "domain", "nodes", "names")
"""The columns of `domain_rows`."""


def hierarchy_line(cluster: Cluster, *, known: bool = False) -> str:
    """Return `1 zone · 2 racks of 4 nodes`, "" if nothing says where nodes are.

    `known` returns "" if it was not worked out yet: for 5,000 nodes it takes a tenth of a second.
    """
    kept = _latest_line(cluster)
    topologies, nodes, line = kept[0] if kept else (None, (), "")
    if topologies != cluster.topologies or not same_nodes(nodes, cluster.nodes):
        if known:
            return ""
        line = hierarchy_words(hierarchies(cluster))
        kept[:] = ((cluster.topologies, cluster.nodes, line),)
    return line


@once_per_hardware
def _latest_line(_cluster: Cluster) -> list[tuple[tuple[TopologyObject, ...], tuple[Node, ...], str]]:
    return []


def hierarchy_words(found: Sequence[Hierarchy]) -> str:
    """Return `1 zone · 2 blocks · 16 racks of 8 to 9 nodes`, "" without hierarchies.

    Levels of one name in several hierarchies name their sources: `1 block (GKE) · 1 block (Kueue)`.
    """
    shown: list[tuple[Level, tuple[Domain, ...], bool]] = []
    keys: set[str] = set()
    for tree in sorted(found, key=lambda tree: tree.name == ZONE):
        levels = [level for level in _levels_with_domains(tree, keys) if level.key not in keys]
        sized = tree.name != ZONE or len(found) == 1
        rows = [(level, tree.at(level.key or level.name), sized and level is levels[-1]) for level in levels]
        keys.update(level.key for level in tree.levels if level.key)
        shown = rows + shown if tree.name == ZONE else shown + rows
    names = Counter(level.name for level, _, _ in shown)
    return " · ".join(
        f"{len(domains):,} {level.name if len(domains) == 1 else plural(level.name)}"
        + (f" ({level.source})" if names[level.name] > 1 else "")
        + (f" of {_sizes(domains)} node{'' if _sizes(domains) == '1' else 's'}" if sized else "")
        for level, domains, sized in shown
    )


def _levels_with_domains(tree: Hierarchy, keys: Collection[str]) -> list[Level]:
    """Return the levels that have domains; NVLink domain and partition are one if each domain has one partition."""
    levels = [level for level in tree.levels if tree.at(level.key or level.name)]
    split = [level.key for level in levels] == ["", CLIQUE] and len(tree.domains) == 2 * len(tree.innermost())
    if not split:
        return levels
    return [] if CLIQUE in keys else levels[:1]


def hierarchy_parts(cluster: Cluster) -> Iterator[Part]:
    """Yield the hierarchies as a line, a table of their levels and their findings; nothing if there are none."""
    found = hierarchies(cluster)
    if not found:
        return
    yield Words(f"Topology: {hierarchy_line(cluster)}")
    yield Table(LEVELS, list(level_rows(found)))
    yield Lines("Topology findings", [str(finding) for finding in hierarchy_findings(cluster)])


def level_rows(found: Iterable[Hierarchy]) -> Iterator[tuple[str, str, str, str, int, str, int]]:
    """Yield a row of the table for each level of each hierarchy, from the outermost."""
    for tree in found:
        for level in tree.levels:
            domains = tree.at(level.key or level.name)
            yield (
                tree.name,
                level.name,
                level.key,
                level.source,
                len(domains),
                _sizes(domains),
                len(tree.left_out),
            )


def domain_rows(found: Iterable[Hierarchy]) -> Iterator[tuple[str, str, str, int, str]]:
    """Yield a row of the table for each domain, parents before children."""
    for tree in found:
        for domain in tree.domains:
            level = tree.levels[domain.level].name
            yield tree.name, level, "/".join(domain.path), len(domain.nodes), some(domain.nodes)


def hierarchy_values(tree: Hierarchy) -> dict[str, Any]:
    """Return a hierarchy as plain values for JSON."""
    return {
        "name": tree.name,
        "levels": [{"name": level.name, "key": level.key, "source": level.source} for level in tree.levels],
        "domains": [
            {"level": tree.levels[domain.level].name, "path": list(domain.path), "nodes": list(domain.nodes)}
            for domain in tree.domains
        ],
        "leftOut": [{"node": one.node, "reason": one.reason} for one in tree.left_out],
    }


def _sizes(domains: Sequence[Domain]) -> str:
    sizes = sorted({len(domain.nodes) for domain in domains})
    return " to ".join(dict.fromkeys(f"{size:,}" for size in (sizes[0], sizes[-1]))) if sizes else ""
