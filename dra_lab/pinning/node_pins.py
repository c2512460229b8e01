"""Requirements on nodes that admit some and keep others out: by the fewest labels, hostnames last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, node_matches
from dra_lab.sketch.claim_objects import Affinity

HOSTNAME = "kubernetes.io/hostname"
_OF_ONE_NODE = (HOSTNAME, "metadata.name")


def node_requirements(cluster: Cluster, good: Sequence[str], bad: Sequence[str]) -> Affinity:
    """Return requirements that all good nodes meet and no bad one does; () where labels do not tell them apart.

    A label with the fewest values is taken, one that several nodes share before one that names each node. Other nodes
    may be admitted or not: nothing is known about them.
    """
    labels = {name: cluster.node_by_name[name].metadata.labels for name in (*good, *bad)}
    found = [(key, values) for key, values in _keys(labels, good) if not any(labels[n].get(key) in values for n in bad)]
    if not found:
        return ()
    key, values = min(found, key=lambda pair: (_names_nodes(pair[0], pair[1], good), len(pair[1]), pair[0]))
    return ({"key": key, "operator": "In", "values": sorted(values)},)


def admitted_nodes(cluster: Cluster, affinity: Affinity) -> frozenset[str]:
    """Return the nodes on which all requirements hold, without cordoned ones; every node where there are none."""
    if not affinity:
        return cluster.open_nodes
    expressions = tuple(
        NodeSelectorRequirement(key=r["key"], operator=r["operator"], values=tuple(r.get("values", ())))
        for r in affinity
    )
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=expressions),))
    return (
        frozenset(name for name, node in cluster.node_by_name.items() if node_matches(selector, node))
        - cluster.cordoned
    )


def affinity_words(affinity: Affinity) -> str:
    """Return requirements on nodes as a person reads them."""
    return "; ".join(f"{r['key']} {r['operator']} {', '.join(r['values'])}" for r in affinity)


def _keys(labels: dict[str, dict[str, str]], good: Sequence[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for key in sorted(set.intersection(*({*labels[name]} for name in good))):
        yield key, frozenset(labels[name][key] for name in good)


def _names_nodes(key: str, values: frozenset[str], good: Sequence[str]) -> bool:
    return key in _OF_ONE_NODE or len(values) == len(good) > 1
