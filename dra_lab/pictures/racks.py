"""Racks of a large cluster and how well each serves a purpose; short names of nodes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dra_lab.model.cluster import Cluster
from dra_lab.model.hierarchy import Hierarchy
from dra_lab.topology.hierarchies import hierarchies
from dra_lab.topology.node_tree import natural_order

GRADES = 4
"""The steps of a heat map above zero."""

NO_RACK = "no rack"
"""The name for the nodes without the label."""

_FIRST = ("rack", "sub-block", "block", "leaf switch")
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


def racks(cluster: Cluster) -> Racks | None:
    """Return the racks of a cluster by its hierarchies, else by what the names begin with; None for neither.

    Without racks these are the blocks, else the domains of the innermost level of the first hierarchy.
    """
    found = [tree for tree in hierarchies(cluster) if tree.domains]
    levels = [(tree, index) for tree in found for index in reversed(range(len(tree.levels)))]
    rank = {name: at for at, name in enumerate(_FIRST)}
    for tree, index in sorted(levels, key=lambda one: rank.get(one[0].levels[one[1]].name, len(rank))):
        level = tree.levels[index]
        domains = _domains(tree, level.key or level.name)
        if len(domains) > 1:
            label = f"{level.name} label {level.key}" if level.key else f"{level.name} of {level.source}"
            return Racks(domains, label, level.name)
    return _by_name(cluster)


def _domains(tree: Hierarchy, level: str) -> dict[str, tuple[str, ...]]:
    domains = tree.at(level)
    seen = Counter(domain.value for domain in domains)
    # a rack's number may be used again in another block
    found = {d.value if seen[d.value] == 1 else "/".join(d.path): d.nodes for d in domains}
    inside = {node for nodes in found.values() for node in nodes}
    rest = [node for domain in tree.domains for node in domain.nodes if node not in inside]
    rest += [one.node for one in tree.left_out]
    return found | ({NO_RACK: tuple(sorted(set(rest), key=natural_order))} if rest else {})


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
    spans = ((low + 1, high) for low, high in pairwise(edges))
    words = (f"{low:,}" if low == high else f"{low:,}–{high:,}" if low < high else "" for low, high in spans)
    return ("0", *words)


def _by_name(cluster: Cluster) -> Racks | None:
    found: dict[str, list[str]] = {}
    for node in cluster.node_names:
        name = node.split(".", 1)[0]
        match = _NUMBER.match(name)
        found.setdefault(match[1].rstrip("-_.") if match else name, []).append(node)
    if not 1 < len(found) <= len(cluster.node_names) // 2:
        return None
    names = sorted(found, key=natural_order)
    by_name = {name: tuple(sorted(found[name], key=natural_order)) for name in names}
    return Racks(by_name, "names of the nodes")


_LEAST = 4
"""Characters of a name that a label keeps at least."""


def short_labels(names: Sequence[str]) -> list[str]:
    """Return the names without what all of them begin and end with, cut at `-` and `.`, so that they still differ.

    At least four characters of each are left.
    """
    if len(names) < 2:
        return [name.split(".", 1)[0] or name for name in names]
    tails = [name.split(".") for name in names]
    if len({tuple(tail[1:]) for tail in tails}) == 1 and len({tail[0] for tail in tails}) == len(names):
        names = [tail[0] for tail in tails]
    parts = [name.split("-") for name in names]
    same = 0
    while all(len(part) > same + 1 for part in parts) and len({part[same] for part in parts}) == 1:
        same += 1
    while same and any(len("-".join(part[same:])) < _LEAST for part in parts):
        same -= 1
    return ["-".join(part[same:]) for part in parts]
