"""Classes of sites with equal patterns, and how often a solution takes each pattern."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.fleet.shared_devices import SharedTaken


@dataclass(frozen=True, slots=True)
class SiteClass:
    """Sites that offer the same patterns: how many members there are, and each pattern's values.

    `patterns` maps numbers of replicas, by workload, to the values of the goals of devices; a pattern uses `each`
    nodes at least. A member takes one pattern at most.
    """

    count: int
    patterns: Mapping[Counts, Values]
    each: float = 1


@dataclass(frozen=True, slots=True)
class HomeNodes:
    """Equal nodes whose leaves are members of classes: their names, and how many members of which class one has."""

    nodes: tuple[str, ...]
    classes: Mapping[int, int]


@dataclass
class Chosen:
    """How often each site class takes each pattern, and how many home nodes of each kind are used for it.

    `shared` is what nodes take that share devices.
    """

    patterns: list[dict[Counts, int]]
    home_nodes: list[int]
    shared: tuple[SharedTaken, ...] = ()
