"""Nodes that share devices in one model: its variables and rows, and what a solution takes of the nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dra_lab.model.names import DeviceID
from dra_lab.planner.fleet.pack import Takes, Values
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.variables import Expression


@dataclass(frozen=True)
class SharedTaken:
    """What a solution takes of nodes that share devices; without arguments, nothing.

    `counts` are the pods on each part, which take `takes`; `pods` are those of each workload, on `nodes` nodes, with
    `values` of the goals of devices. `provided` says how many sets of each supply provide which vector. `levels` are
    the values of all variables.
    """

    counts: tuple[int, ...] = ()
    pods: Mapping[int, int] = field(default_factory=dict)
    nodes: int = 0
    values: Values = ()
    takes: Takes = ()
    provided: tuple[tuple[int, ...], ...] = ()
    levels: tuple[int, ...] = ()

    @property
    def replicas(self) -> int:
        """Return the number of replicas of all workloads."""
        return sum(self.pods.values())


@dataclass(frozen=True)
class SharedNodes:
    """Nodes that share devices: `site` has them as one place, and their problem."""

    site: Site

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes."""
        return self.site.nodes[0]

    @property
    def variables(self) -> int:
        """Return about how many variables their model has."""
        raise NotImplementedError

    def model(self, lp: Expression, number: int, demand: Sequence[int]) -> SharedModel:
        """Add the nodes to a model, under a number of their own; `demand` are the replicas of each workload."""
        raise NotImplementedError

    def devices(self, taken: SharedTaken) -> Mapping[int, list[DeviceID]]:  # noqa: ARG002 - for some, all are free
        """Return the devices that pods of a solution may have, by group."""
        return {at: list(group.devices) for at, group in enumerate(self.site.problem.groups)}

    def placed(self, taken: SharedTaken) -> tuple[Site, tuple[int, ...], Takes]:
        """Return the site with the devices of a solution, the pods on each part, and what they take."""
        devices = self.devices(taken)
        return replace(self.site, devices=lambda _: devices), taken.counts or self.site.zero, taken.takes


class SharedModel:
    """The variables and rows of nodes that share devices, in a model that may have others.

    `placed` are the variables that count replicas, each with its part; `values` are factors of the variables, goal by
    goal of devices; `used` is 1 for a node that is used, once `count_nodes` was called.
    """

    def __init__(self, lp: Expression, site: Site) -> None:
        """Begin without variables; `variables` are to be all that are added to `lp`."""
        self.lp, self.site = lp, site
        self.placed: list[tuple[CopyPart, Expression]] = []
        self.values: list[dict[Expression, int]] = []
        self.used: dict[str, Expression] = {}
        self.variables: list[Expression] = []

    def integer(self, name: str, most: int) -> Expression:
        """Return a new variable."""
        self.variables.append(self.lp.add_variable(name, 0, int(most), pulp.LpInteger))
        return self.variables[-1]

    def count_nodes(self) -> None:
        """Allow pods only on nodes that are counted as used."""
        raise NotImplementedError

    def cut(self) -> bool:
        """Forbid a solution that only the solver's rounding allowed; say whether there was anything to forbid."""
        return False

    def read(self) -> SharedTaken:
        """Return what the variables take."""
        raise NotImplementedError

    def start_from(self, taken: SharedTaken) -> None:
        """Set the variables to a solution."""
        for at, variable in enumerate(self.variables):
            variable.varValue = taken.levels[at] if taken.levels else 0

    def summed(
        self, counts: Sequence[int], values: Sequence[int], takes: Takes, provided: tuple[tuple[int, ...], ...] = ()
    ) -> SharedTaken:
        """Return a solution with these pods on each part, values and takes."""
        pods: Counter[int] = Counter()
        nodes: set[str] = set()
        for part, count in zip(self.site.parts, counts, strict=True):
            pods[part.pod] += count
            nodes |= {part.node} if count else set()
        levels = tuple(int(variable.varValue or 0) for variable in self.variables)
        return SharedTaken(tuple(counts), pods, len(nodes), tuple(values), takes, provided, levels)
