"""Classes of sites with equal patterns, the home nodes of their members, and how many nodes of these are used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.fleet.shared_devices import SharedTaken
from dra_lab.planner.states.node_state import Array

Taken = Mapping[Counts, int]
"""How often each pattern of a site class is taken."""


@dataclass(frozen=True, slots=True)
class SiteClass:
    """Sites that offer the same patterns: how many members there are, and each pattern's values.

    `patterns` maps numbers of replicas, by workload, to the values of the goals of devices; a pattern uses `each`
    nodes. A member takes one pattern at most. With `rows` it takes any, each so often that every row (weights by
    workload, limit) holds for their sum.
    """

    count: int
    patterns: Mapping[Counts, Values]
    each: int = 1
    rows: tuple[tuple[tuple[int, ...], int], ...] = ()

    def most(self, counts: Counts) -> int:
        """Return how often all members together can take a pattern."""
        if not self.rows:
            return self.count
        needs = [(_weighed(weights, counts), limit) for weights, limit in self.rows]
        return min(limit * self.count // need for need, limit in needs if need > 0)

    def without(self, taken: Taken) -> SiteClass:
        """Return what is left of the members, as a site class of its own."""
        if not self.rows:
            return replace(self, count=self.count - sum(taken.values()))
        held = zip(self.rows, self.held(taken), strict=True)
        return replace(self, count=1, rows=tuple((w, limit * self.count - used) for (w, limit), (used, _) in held))

    def held(self, taken: Taken) -> list[tuple[int, int]]:
        """Return, row by row, what is taken and what one member holds of it."""
        if not self.rows:
            return [(sum(times for counts, times in taken.items() if any(counts)), 1)]
        return [
            (sum(times * _weighed(weights, counts) for counts, times in taken.items()), limit)
            for weights, limit in self.rows
        ]


def _weighed(weights: Sequence[int], counts: Counts) -> int:
    return sum(weight * count for weight, count in zip(weights, counts, strict=True))


@dataclass(frozen=True, slots=True)
class HomeNodes:
    """Equal nodes that are counted as members of classes: their names, and how many members of which class one is."""

    nodes: tuple[str, ...]
    classes: Mapping[int, int]

    @property
    def count(self) -> int:
        """Return how many there are."""
        return len(self.nodes)


@dataclass
class Chosen:
    """How often each site class takes each pattern, and how many home nodes of each kind are used for it.

    No node is used for nothing: with one less of any kind there would not be members enough. `shared` is what nodes
    take that are planned at once.
    """

    patterns: list[dict[Counts, int]]
    home_nodes: list[int]
    shared: tuple[SharedTaken, ...] = ()


def home_nodes_of(where: Iterable[tuple[str, int]]) -> tuple[HomeNodes, ...]:
    """Return equal nodes together, by name, from (node, site class) of every member that has a home."""
    nodes: dict[str, dict[int, int]] = {}
    for node, site_class in where:
        mine = nodes.setdefault(node, {})
        mine[site_class] = mine.get(site_class, 0) + 1
    identical: dict[tuple[tuple[int, int], ...], list[str]] = {}
    for node, classes in nodes.items():
        identical.setdefault(tuple(sorted(classes.items())), []).append(node)
    return tuple(HomeNodes(tuple(sorted(names)), dict(key)) for key, names in identical.items())


@dataclass(frozen=True)
class _Needs:
    """What is taken of classes that have home nodes, row by row, and what one node of each kind holds of it."""

    need: Array
    holds: Array

    @classmethod
    def of(cls, classes: Sequence[SiteClass], home_nodes: Sequence[HomeNodes], patterns: Sequence[Taken]) -> _Needs:
        need: list[int] = []
        holds: list[list[int]] = []
        for number in sorted({site_class for home in home_nodes for site_class in home.classes}):
            for taken, one in classes[number].held(patterns[number]):
                if taken:
                    need.append(taken)
                    holds.append([one * home.classes.get(number, 0) for home in home_nodes])
        return cls(np.array(need, np.int64), np.array(holds, np.int64).reshape(len(need), len(home_nodes)))

    def trimmed(self, used: Array) -> list[int]:
        """Return the numbers of nodes without those that are not needed, the kinds that hold least first."""
        slack = self.holds @ used - self.need
        for kind in np.argsort(self.holds.sum(axis=0), kind="stable").tolist():
            mine = self.holds[:, kind]
            with_it = mine > 0
            spare = int((slack[with_it] // mine[with_it]).min()) if with_it.any() else int(used[kind])
            spare = max(0, min(int(used[kind]), spare))
            used[kind] -= spare
            slack = slack - spare * mine
        return [int(count) for count in used]


def few_home_nodes(
    classes: Sequence[SiteClass], home_nodes: Sequence[HomeNodes], patterns: Sequence[Taken]
) -> list[int]:
    """Return numbers of nodes that hold what is taken: few, not surely the fewest."""
    needs = _Needs.of(classes, home_nodes, patterns)
    used, rest = np.zeros(len(home_nodes), np.int64), needs.need.copy()
    if not len(rest):
        return [0] * len(home_nodes)
    share = (np.minimum(needs.holds, rest[:, None]) / rest[:, None]).sum(axis=0)
    for kind in np.argsort(-share, kind="stable").tolist():
        mine = (needs.holds[:, kind] > 0) & (rest > 0)
        if mine.any():
            wanted = int((-(-rest[mine] // needs.holds[mine, kind])).max())
            used[kind] = min(home_nodes[kind].count, wanted)
            rest = rest - used[kind] * needs.holds[:, kind]
    return needs.trimmed(used)


def fewer_home_nodes(
    classes: Sequence[SiteClass], home_nodes: Sequence[HomeNodes], patterns: Sequence[Taken], used: Sequence[int]
) -> list[int]:
    """Return numbers of nodes that hold what is taken, without those of `used` that are not needed."""
    return _Needs.of(classes, home_nodes, patterns).trimmed(np.array(used, np.int64))
