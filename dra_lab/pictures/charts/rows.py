"""The rows of a chart over nodes: each node while they are few, equal nodes as one, else bands of similar nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

MOST_ROWS = 40
"""More rows than these cannot be read; `of_nodes` then puts similar nodes together, and says so."""

_NAMED = 8
"""The most nodes of a row that are named."""


@dataclass(frozen=True, slots=True)
class Band:
    """One row: nodes that are equal, or next to each other in the order of their values.

    `label` names the first of them ("node-7"; "node-7 ×12" are equal, "node-7 … ×125" are similar); `least`, `mean` and
    `most` are their values, column by column, equal where the nodes are.
    """

    label: str
    nodes: tuple[str, ...]
    least: tuple[float, ...]
    mean: tuple[float, ...]
    most: tuple[float, ...]

    @property
    def equal(self) -> bool:
        """Say whether all nodes of the row have the same values."""
        return self.least == self.most

    @property
    def node_words(self) -> str:
        """Return the names of its nodes, the first few of many: `node-7, node-9 and 123 more`."""
        names = ", ".join(self.nodes[:_NAMED])
        return f"{names} and {len(self.nodes) - _NAMED:,} more" if len(self.nodes) > _NAMED else names


def of_nodes(values: Mapping[str, Sequence[float]], most: int = MOST_ROWS) -> tuple[tuple[Band, ...], str]:
    """Return the rows for nodes with their values, and in words what a row is ("" where it is one node).

    Up to `most` nodes have one row each, by name. Above that, identical nodes share a row, the highest values first. If
    there are still too many rows, nodes are sorted by their values and split into `most` bands of similar size. No node
    is left out.
    """
    if len(values) <= most:
        return tuple(_band(name, (name,), values) for name in sorted(values)), ""
    ordered = sorted(values, key=lambda name: ([-value for value in values[name]], name))
    classes = [tuple(group) for _, group in groupby(ordered, key=lambda name: tuple(values[name]))]
    total = f"{len(values):,} nodes"
    if len(classes) <= most:
        rows = tuple(_band(f"{c[0]} ×{len(c):,}" if len(c) > 1 else c[0], c, values) for c in classes)
        return rows, f"{total}; identical nodes share a row (×)"
    cuts = [len(ordered) * at // most for at in range(most + 1)]
    bands = tuple(
        _band(f"{ordered[low]} … ×{high - low:,}" if high - low > 1 else ordered[low], tuple(ordered[low:high]), values)
        for low, high in pairwise(cuts)
    )
    words = f"{total} in {len(classes):,} different states, sorted, in {most} bands"
    return bands, f"{words}: a row is named by its first node and shows the mean of its nodes (…)"


def _band(label: str, nodes: tuple[str, ...], values: Mapping[str, Sequence[float]]) -> Band:
    columns = list(zip(*(values[name] for name in nodes), strict=True))
    least, most = tuple(min(column) for column in columns), tuple(max(column) for column in columns)
    mean = least if least == most else tuple(sum(column) / len(column) for column in columns)
    return Band(label, nodes, least, mean, most)
