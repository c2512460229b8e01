"""The levels that Topology objects of Kueue and KAI name, and their place among the labels that are known anyway."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from dra_lab.model.cluster import Cluster
from dra_lab.model.topologies import Topology
from dra_lab.topology.fabric_labels import LEVEL_WORDS, FabricLabel

_NODE = "kubernetes.io/hostname"
_WRITERS = {"kueue.x-k8s.io": "Kueue", "kai.scheduler": "KAI"}


def given_label(name: str, writer: str) -> FabricLabel:
    """Return a label of which nothing is known but that it is a level, under the level that its name tells."""
    bare = name.rpartition("/")[2]
    words = re.split("[^a-z]+", bare.lower())
    level = next((level for level in LEVEL_WORDS if level.lower() in words), "block")
    return FabricLabel(name, level, writer, unique=False, word="" if level in words else bare)


def named_levels(cluster: Cluster) -> Mapping[str, FabricLabel]:
    """Return the labels that the cluster's Topology objects name; the node itself (its host name) is none of them."""
    return {
        name: given_label(name, f"Topology {topology.metadata.name} ({_WRITERS.get(topology.group, topology.group)})")
        for topology in _ordered(cluster)
        for name in topology.labels
        if name != _NODE
    }


def in_order(labels: Sequence[FabricLabel], cluster: Cluster) -> list[FabricLabel]:
    """Return labels with those that a Topology names in its order, the others as near to their places as that allows.

    If objects contradict each other, the first by name decides.
    """
    below: dict[str, set[str]] = {}
    for topology in _ordered(cluster):
        for wide, near in pairwise(name for name in topology.labels if name != _NODE):
            if not _leads(below, near, wide):
                below.setdefault(wide, set()).add(near)
    rest, found = list(labels), list[FabricLabel]()
    while rest:
        # the first above which none of the others has to stand
        first = next(one for one in rest if not any(_leads(below, other.name, one.name) for other in rest))
        rest.remove(first)
        found.append(first)
    return found


def _ordered(cluster: Cluster) -> list[Topology]:
    return sorted(cluster.topologies, key=lambda topology: (topology.metadata.name, topology.api_version))


def _leads(below: Mapping[str, set[str]], wide: str, near: str) -> bool:
    """Say whether `near` is said to stand somewhere below `wide`."""
    seen, ahead = set[str](), [wide]
    while ahead:
        for name in below.get(ahead.pop(), ()):
            if name == near:
                return True
            if name not in seen:
                seen.add(name)
                ahead.append(name)
    return False
