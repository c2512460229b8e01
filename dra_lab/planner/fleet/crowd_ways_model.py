"""The variables and rows of nodes that are planned at once, way by way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dra_lab.planner.fleet.crowds import CrowdTaken
from dra_lab.planner.modelling import pulp
from dra_lab.planner.states.copies import Part
from dra_lab.planner.variables import Expression

if TYPE_CHECKING:
    from dra_lab.planner.fleet.crowd_ways import WaysCrowd


class WaysModel:
    """How often each way is taken, what each set of counters feeds, and which nodes are used."""

    def __init__(self, lp: Expression, number: int, crowd: WaysCrowd, demand: Sequence[int]) -> None:
        """Make the variables, and the rows of all resources."""
        self.lp = lp
        self.crowd, self.number, self.demand = crowd, number, demand
        self.takes: dict[tuple[int, int], Expression] = {}
        stock, free = crowd.stock, crowd.stock.free[0]
        for part, uses in enumerate(stock.uses):
            wanted = demand[crowd.site.parts[part].pod]
            often = np.where(uses > 0, free // np.maximum(uses, 1), wanted).min(axis=1, initial=wanted)
            for way, most in enumerate(often.tolist()):
                if most:
                    self.takes[part, way] = self._integer(f"w_{number}_{part}_{way}", most)
        self.node = {node: self._integer(f"u_{number}_{at}", 1) for at, node in enumerate(crowd.nodes)}
        self.fed = [
            [self._integer(f"s_{number}_{at}_{vector}", len(supply.sets)) for vector in range(len(supply.vectors))]
            for at, supply in enumerate(crowd.supplies)
        ]
        self.rows: dict[int, dict[Expression, int]] = {at: {} for at in range(len(stock.keys))}
        for part, uses in enumerate(stock.uses):
            for way, resource in zip(*(at.tolist() for at in np.nonzero(uses)), strict=True):
                if (part, way) in self.takes:
                    self.rows[resource][self.takes[part, way]] = int(uses[way, resource])
        self._keep(free.tolist())

    def _integer(self, name: str, most: int) -> Expression:
        return self.lp.add_variable(name, 0, int(most), pulp.LpInteger)

    def _keep(self, free: Sequence[int]) -> None:
        """Demand that no more is taken of a resource than there is, or than counters feed of it."""
        supplied: dict[int, dict[Expression, int]] = {}
        for at, (supply, feeds) in enumerate(zip(self.crowd.supplies, self.fed, strict=True)):
            self._add(dict.fromkeys(feeds, 1), len(supply.sets), f"sets_{at}")
            for variable, vector in zip(feeds, supply.vectors, strict=True):
                for kind, count in zip(supply.kinds, vector, strict=True):
                    if count:
                        supplied.setdefault(kind, {})[variable] = -count
        fed = {at: group for group, at in self.crowd.fed.items()}
        for at, row in self.rows.items():
            more = supplied.get(fed[at], {}) if at in fed else {}
            self._add({**row, **more}, 0 if at in fed else free[at], f"free_{at}")

    def _add(self, factors: Mapping[Expression, int], most: int, name: str) -> None:
        if factors:
            self.lp.addConstraint(pulp.LpAffineExpression(factors) <= most, f"crowd_{self.number}_{name}")

    def count_nodes(self) -> None:
        """Demand that nobody stands on a node that is not counted as used."""
        free = self.crowd.stock.free[0].tolist()
        for at, node in self.crowd.of_node().items():
            if self.rows[at]:
                self._add({**self.rows[at], self.node[node]: -free[at]}, 0, f"node_free_{at}")
        parts: dict[int, dict[Expression, int]] = {}
        for (part, _), variable in self.takes.items():
            parts.setdefault(part, {})[variable] = 1
        for part, row in parts.items():
            most = min(sum(int(variable.upBound) for variable in row), self.demand[self.crowd.site.parts[part].pod])
            self._add({**row, self.node[self.crowd.site.parts[part].node]: -most}, 0, f"node_part_{part}")

    @property
    def placed(self) -> Sequence[tuple[Part, Expression]]:
        """Return the variables that count replicas, each with the part on which these stand."""
        return [(self.crowd.site.parts[part], variable) for (part, _), variable in self.takes.items()]

    @property
    def taken(self) -> Iterator[tuple[int, int, Expression, int]]:
        """Yield (ask, group of the site, variable, devices that the variable counts for the ask) of all takes."""
        for (part, way), variable in self.takes.items():
            columns = self.crowd.stock.columns[part]
            for (ask, group), count in zip(columns.pairs, columns.takes[way].tolist(), strict=True):
                if count:
                    yield ask, group, variable, count

    @property
    def values(self) -> Sequence[Mapping[Expression, int]]:
        """Return what the variables are worth, goal by goal of devices, as factors."""
        rows = [(variable, self.crowd.values(*one)) for one, variable in self.takes.items()]
        goals = len(rows[0][1]) if rows else 0
        return [{variable: values[at] for variable, values in rows if values[at]} for at in range(goals)]

    @property
    def used(self) -> Sequence[Expression]:
        """Return the 0/1 of every node that is used, once `count_nodes` was called."""
        return tuple(self.node.values())

    def cut(self) -> bool:
        """Say that nothing has to be cut off: all amounts are small enough for the solver (LARGEST)."""
        return False

    def read(self) -> CrowdTaken:
        """Return what the variables hold."""
        ways = {one: int(variable.varValue) for one, variable in self.takes.items() if variable.varValue}
        return self.crowd.taken(ways, tuple(tuple(int(v.varValue or 0) for v in feeds) for feeds in self.fed))

    def start_from(self, taken: CrowdTaken) -> None:
        """Set the variables."""
        for one, variable in self.takes.items():
            variable.varValue = taken.ways.get(one, 0)
        for number, feeds in enumerate(self.fed):
            for vector, variable in enumerate(feeds):
                variable.varValue = taken.fed[number][vector] if taken.fed else 0
        standing = {self.crowd.site.parts[part].node for part, _ in taken.ways}
        for node, variable in self.node.items():
            variable.varValue = int(node in standing)
