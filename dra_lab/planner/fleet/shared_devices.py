"""Nodes that share devices in one model: its variables and rows, and what a solution takes of the nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Takes, Values
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.variables import Expression


class PodsOnNode(NamedTuple):
    """The pods on one node: as many of each part as `counts` says, and what each of them takes."""

    site: Site
    node: str
    counts: Counts
    takes: Takes


@dataclass(frozen=True)
class SharedTaken:
    """What a solution takes of nodes that share devices; without arguments, nothing.

    `pods` are those of each workload, on `nodes` nodes, with `values` of the goals of devices. `levels` are the values
    of all variables. `counts` are the pods on each part of a site, which take `takes`, if these are known.
    """

    pods: Mapping[int, int] = field(default_factory=dict)
    nodes: int = 0
    values: Values = ()
    levels: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()
    takes: Takes = ()

    @property
    def replicas(self) -> int:
        """Return the number of replicas of all workloads."""
        return sum(self.pods.values())


@dataclass(frozen=True)
class SharedNodes:
    """Nodes that share devices."""

    nodes: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Say whether the model has every plan."""
        return True

    @property
    def variables(self) -> int:
        """Return about how many variables their model has."""
        raise NotImplementedError

    def model(self, lp: Expression, number: int, demand: Sequence[int]) -> SharedModel:
        """Add the nodes to a model, under a number of their own; `demand` are the replicas of each workload."""
        raise NotImplementedError

    def start(self, demand: Sequence[int], worth: Sequence[int], budget: Budget) -> SharedTaken:  # noqa: ARG002
        """Return a solution to begin with; default: no pods."""
        return SharedTaken()

    def placed(self, taken: SharedTaken) -> list[PodsOnNode]:
        """Return where the pods of a solution are."""
        raise NotImplementedError


class SharedModel:
    """The variables and rows of nodes that share devices, in a model that may have others.

    `placed` are the variables that count replicas, each with its workload. `values` are factors of the variables for
    each goal of devices. The sum of `used` is the number of nodes that are used, once `count_nodes` was called.
    """

    def __init__(self, lp: Expression) -> None:
        """Begin without variables; `variables` are to be all that are added to `lp`."""
        self.lp = lp
        self.placed: list[tuple[int, Expression]] = []
        self.values: list[dict[Expression, int]] = []
        self.used: dict[object, Expression] = {}
        self.variables: list[Expression] = []

    def integer(self, name: str, most: int) -> Expression:
        """Return a new variable."""
        self.variables.append(self.lp.add_variable(name, 0, int(most), pulp.LpInteger))
        return self.variables[-1]

    def count_nodes(self) -> None:
        """Allow pods only on nodes that are counted as used; default: they are counted already."""

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
