"""Filters of the bars in Fleet: the labels, drivers and hardware types by which nodes can be chosen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_labels
from dra_lab.topology.node_tree import natural_order
from dra_lab.widgets.fleet_rows import hardware_types
from dra_lab.widgets.wire import Row


class FilterRow(Row, frozen=True):
    """One filter of the bars: its name, and its values with the number of nodes of each."""

    name: str
    values: tuple[tuple[str, int], ...] = ()


MOST_VALUES = 40
"""Values up to which a label is offered; one with more, or one for each node, says little about any node."""


@once_per_labels
def _values(cluster: Cluster) -> Mapping[str, Mapping[str, frozenset[str]]]:
    """Return the nodes of each value of each filter."""
    labels: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    drivers: dict[str, set[str]] = defaultdict(set)
    types: dict[str, set[str]] = defaultdict(set)
    for name, node in cluster.node_by_name.items():
        for key, value in node.metadata.labels.items():
            labels[key][value].add(name)
        for slice_ in cluster.slices_by_node.get(name, ()):
            drivers[slice_.spec.driver].add(name)
    for name, words in hardware_types(cluster).items():
        types[words].add(name)
    label_values = {
        f"{key}={value}": nodes
        for key, found in labels.items()
        if len(found) <= min(MOST_VALUES, len(cluster.node_names) - 1)
        for value, nodes in found.items()
    }
    every = len(cluster.node_names)
    return {
        name: {value: frozenset(nodes) for value, nodes in found.items() if len(nodes) < every}
        for name, found in (("label", label_values), ("driver", drivers), ("hardware type", types))
    }


def filter_rows(cluster: Cluster) -> tuple[FilterRow, ...]:
    """Return the filters with their values and how many nodes each keeps; values of all nodes are left out."""
    return tuple(
        FilterRow(name=name, values=tuple((value, len(found[value])) for value in sorted(found, key=natural_order)))
        for name, found in _values(cluster).items()
        if found
    )


def matching(cluster: Cluster, chosen: Sequence[str]) -> frozenset[str] | None:
    """Return the nodes with one of the chosen values of each filter (`driver:dra.net`), None if none is chosen."""
    known, wanted = _values(cluster), defaultdict[str, list[str]](list)
    for text in chosen:
        name, _, value = text.partition(":")
        if value in known.get(name, {}):
            wanted[name].append(value)
    if not wanted:
        return None
    return frozenset.intersection(
        *(frozenset[str]().union(*(known[name][value] for value in values)) for name, values in wanted.items())
    )
