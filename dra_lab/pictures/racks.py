"""Racks of a large cluster, and how well each serves a purpose: the rows of a heat map."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_labels
from dra_lab.topology.fabric import FabricBranch, fabric_tree
from dra_lab.topology.node_tree import natural_order

GRADES = 4
"""The steps of a heat map above zero."""

NO_RACK = "no rack"
"""The name for the nodes without the label."""

_NEAREST = {"rack": 0, "subBlock": 1, "block": 1}
_DIGITS = 6
_NUMBER = re.compile(r"^(.*?[^0-9])[-_.]?[0-9]+$")


@dataclass(frozen=True, slots=True)
class Racks:
    """The nodes of each rack by its name, in natural order; `source` says where the racks are read from.

    `word` is what its writer calls such a place: a rack, a block, a network level.
    """

    nodes: Mapping[str, tuple[str, ...]]
    source: str
    word: str = "rack"


@dataclass(frozen=True, slots=True)
class Heat:
    """One rack: its value of at most `total`, and its `grade` from 0 (nothing) to GRADES (the most of any rack)."""

    rack: str
    nodes: int
    value: int
    total: int
    grade: int


@once_per_labels
def racks(cluster: Cluster) -> Racks | None:
    """Return the racks of a cluster by the labels of its nodes, else by what the names begin with; None for neither.

    Without a label for racks these are the blocks, else the places of the nearest level of the fabric.
    """
    tree = fabric_tree(cluster)
    near = [label for label in reversed(tree.levels) if label.level != "host"]
    for label in sorted(near, key=lambda label: _NEAREST.get(label.level, len(_NEAREST))):
        found: dict[str, list[str]] = {}
        _collect(tree.root, label.name, (), found)
        if len(found) > 1:
            return _sorted(found, f"{label.title} label {label.name}", label.title)
    return _by_name(cluster)


def heat(found: Racks, values: Mapping[str, tuple[float, float]]) -> tuple[Heat, ...]:
    """Return a row for each rack: sums over its nodes, rounded up, and a grade for the colour."""
    sums = []
    for rack, nodes in found.nodes.items():
        pairs = [values.get(node, (0, 0)) for node in nodes]
        value, total = (math.ceil(round(sum(column), _DIGITS)) for column in zip(*pairs, strict=True))
        sums.append((rack, len(nodes), value, total))
    most = max((value for _, _, value, _ in sums), default=0)
    return tuple(
        Heat(rack, nodes, value, total, -(-value * GRADES // most) if most else 0) for rack, nodes, value, total in sums
    )


def grade_words(most: int) -> tuple[str, ...]:
    """Return what the grades mean for values up to `most`: `0`, `1–5`, `6–10`, ..."""
    if not most:
        return ("0",)
    edges = [grade * most // GRADES for grade in range(GRADES + 1)]
    return ("0", *(_span(low + 1, high) for low, high in pairwise(edges)))


def _span(low: int, high: int) -> str:
    if low > high:
        return ""
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _collect(branch: FabricBranch, level: str, path: tuple[str, ...], found: dict[str, list[str]]) -> None:
    if branch.label == level:
        # a rack's number may be used again in another block
        name = branch.value if branch.value not in found else "/".join((*path[-1:], branch.value))
        found.setdefault(name, []).extend(branch.all_nodes())
        return
    for deeper in branch.branches:
        _collect(deeper, level, (*path, branch.value), found)
    if branch.nodes:
        found.setdefault(NO_RACK, []).extend(branch.nodes)


def _by_name(cluster: Cluster) -> Racks | None:
    found: dict[str, list[str]] = {}
    for node in cluster.node_names:
        name = node.split(".", 1)[0]
        match = _NUMBER.match(name)
        found.setdefault(match[1].rstrip("-_.") if match else name, []).append(node)
    if not 1 < len(found) <= len(cluster.node_names) // 2:
        return None
    return _sorted(found, "names of the nodes")


def _sorted(found: Mapping[str, list[str]], source: str, word: str = "rack") -> Racks:
    names = sorted(found, key=natural_order)
    return Racks({name: tuple(sorted(found[name], key=natural_order)) for name in names}, source, word)
