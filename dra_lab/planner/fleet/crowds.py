"""Nodes that share devices and are planned at once: what the master asks of them, and what it takes of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from dra_lab.planner.node.variables import Expression

if TYPE_CHECKING:
    from dra_lab.planner.budget import Budget
    from dra_lab.planner.fleet.pack import Takes, Values
    from dra_lab.planner.fleet.sites import Site
    from dra_lab.planner.node.copies import Part


@dataclass(frozen=True)
class CrowdTaken:
    """The devices that a solution takes of nodes that are planned at once.

    `pods` counts those of each workload and `nodes` the nodes in use; `values` is their worth by the goals of devices.
    `ways` says how often each way is taken, by (part, way), and `fed` how many sets of each supply feed which vector;
    or `takes` what the replicas on each part (`counts`) take. `levels` are the values of all variables.
    """

    pods: Mapping[int, int] = field(default_factory=dict)
    nodes: int = 0
    values: Values = ()
    ways: Mapping[tuple[int, int], int] = field(default_factory=dict)
    fed: tuple[tuple[int, ...], ...] = ()
    counts: tuple[int, ...] = ()
    takes: Takes = ()
    levels: tuple[int, ...] = ()

    @property
    def replicas(self) -> int:
        """Return how many replicas of all workloads stand there."""
        return sum(self.pods.values())


class CrowdModel(Protocol):
    """The variables and rows of a crowd in the model of a master."""

    @property
    def placed(self) -> Sequence[tuple[Part, Expression]]:
        """Return the variables that count replicas, each with the part on which these stand."""

    @property
    def taken(self) -> Iterator[tuple[int, int, Expression, int]]:
        """Yield (ask, group of the site, variable, devices that the variable counts for the ask) of all takes."""

    @property
    def values(self) -> Sequence[Mapping[Expression, int]]:
        """Return what the variables are worth, goal by goal of devices, as factors."""

    @property
    def used(self) -> Sequence[Expression]:
        """Return the 0/1 of every node that is used, once `count_nodes` was called."""

    def count_nodes(self) -> None:
        """Demand that no pod is on a node that is not counted as used."""

    def cut(self) -> bool:
        """Cut off what only the solver's rounding let pass; say whether there was anything."""

    def read(self) -> CrowdTaken:
        """Return what the variables hold."""

    def start_from(self, taken: CrowdTaken) -> None:
        """Set the variables."""


class Crowd(Protocol):
    """Nodes that share devices, with everything that their pods may do."""

    @property
    def nodes(self) -> Sequence[str]:
        """Return the nodes."""

    @property
    def variables(self) -> int:
        """Return about how many variables their model has."""

    def model(self, lp: Expression, number: int, demand: Sequence[int]) -> CrowdModel:
        """Add the nodes to a model, under a number of their own; `demand` are the replicas of each workload."""

    def some(self, demand: Sequence[int], budget: Budget) -> CrowdTaken:
        """Return a solution that is found quickly, with no more replicas of a workload than `demand`."""

    def standing(self, taken: CrowdTaken) -> tuple[Site, tuple[int, ...], Takes]:
        """Return the site with the devices that are given, the numbers of pods, part by part, and what they take."""
