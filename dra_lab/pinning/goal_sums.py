"""The least and most sum of a goal over all ways to spread whole gangs over domains and their pods over nodes."""

from __future__ import annotations

from collections.abc import Sequence

Range = tuple[int, int]
"""At least and at most."""

Sums = list[Range | None]
"""The least and the most of a goal for each number of pods; None if this many pods have no place."""


def sum_range(places: Sequence[Sequence[Sequence[int]]], size: int, pods: int, steps: int) -> Range:
    """Return the least and most sum of a goal.

    Args:
        places: For each domain and each of its nodes, the value of the first pod there, of the second, and so on.
        size: The pods of a gang, which are in one domain.
        pods: How many pods there are, whole gangs.
        steps: Steps that adding up may take.

    Returns:
        The range; of very many nodes a wider one, as if each pod could have any value of any node.
    """
    if sum(len(nodes) for nodes in places) * pods * 8 > steps:
        values = sorted(value for nodes in places for node in nodes for value in node)
        return sum(values[:pods]), sum(values[-pods:])
    found: Sums = [(0, 0), *([None] * pods)]
    for nodes in places:
        part = _sums(nodes, pods)
        whole = [value if count % size == 0 else None for count, value in enumerate(part)]
        found = _added(found, whole, pods)
    return found[pods] or (0, 0)


def _sums(nodes: Sequence[Sequence[int]], pods: int) -> Sums:
    """Return the least and most sum for each number of pods on some nodes, each filled from its first pod."""
    found: Sums = [(0, 0), *([None] * pods)]
    for values in nodes:
        prefix = [0]
        for value in values:
            prefix.append(prefix[-1] + value)
        found = _added(found, [(total, total) for total in prefix], pods)
    return found


def _added(one: Sums, other: Sequence[Range | None], pods: int) -> Sums:
    found: Sums = [None] * (pods + 1)
    for count, mine in enumerate(one):
        for more, theirs in enumerate(other[: pods + 1 - count]):
            if mine is None or theirs is None:
                continue
            least, most = mine[0] + theirs[0], mine[1] + theirs[1]
            known = found[count + more]
            found[count + more] = (least, most) if known is None else (min(known[0], least), max(known[1], most))
    return found
