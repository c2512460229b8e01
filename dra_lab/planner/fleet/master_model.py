"""The integer model over patterns of site classes, and over what nodes that share devices take beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import mul
from typing import Any

from dra_lab.model.goals import NODES, UNPLACED
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.by_state import ByState, SharedTaken
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.solver import minimise
from dra_lab.planner.node.solver_outcome import Outcome
from dra_lab.planner.node.variables import Expression

_OPTIONS = {"mip_detect_symmetry": False, "mip_heuristic_effort": 0.2}
"""Several times faster on a model that is all columns: each goal then begins from the one before."""

_NODES_GAP = 0.01
"""The part of the nodes by which their bound may be off as the last goal: 200 nodes of shares take 5 s, not 36."""


@dataclass(frozen=True, slots=True)
class SiteClass:
    """Sites that offer the same patterns: how many members there are, and each pattern's values.

    `patterns` maps numbers of replicas, by workload, to the values of the goals of devices; a pattern uses `each`
    nodes at least, or as many as `nodes` says where a member is several nodes. A member takes one pattern at most.
    """

    count: int
    patterns: Mapping[Counts, Values]
    each: float = 1
    nodes: Mapping[Counts, int] = field(default_factory=dict)

    def nodes_of(self, counts: Counts) -> float:
        """Return how many nodes a pattern uses at least."""
        return self.nodes.get(counts, self.each)


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


class MasterModel:
    """Variables and rows: how often each site class takes each pattern, and how many home nodes of each kind are used.

    `goals` holds the expression of every goal, a number where nothing can change it.
    """

    def __init__(
        self,
        classes: Sequence[SiteClass],
        demand: Sequence[int],
        order: Sequence[str],
        home_nodes: Sequence[HomeNodes],
        shared: Sequence[ByState],
        worth: Sequence[int],
    ) -> None:
        """Make all variables and rows; this takes seconds for a large fleet."""
        self.classes, self.home_nodes, self._last = classes, home_nodes, order[-1]
        self.lp: Any = pulp.LpProblem("fleet", pulp.LpMinimize)
        self._options = {} if shared else _OPTIONS
        self._takes: list[dict[Counts, Expression]] = []
        # Tables of factors: PuLP takes several times longer for a sum of products.
        placed: list[dict[Expression, int]] = [{} for _ in demand]
        sums: dict[str, dict[Expression, int]] = {goal: {} for goal in (*order, NODES)}
        device = [sums[goal] for goal in device_goals(order)]
        self._take_patterns((*placed, *device), sums[NODES])
        self._used = [
            self.lp.add_variable(f"y_{number}", 0, len(home.nodes), pulp.LpInteger)
            for number, home in enumerate(home_nodes)
        ]
        sums[NODES].update(dict.fromkeys(self._used, 1))
        self._keep_classes()
        self._shared = [shared_nodes.model(self.lp, number, demand) for number, shared_nodes in enumerate(shared)]
        for model in self._shared:
            for pod, variable in model.placed:
                placed[pod][variable] = 1
            for factors, mine in zip(device, model.values, strict=False):
                factors.update(mine)
            sums[NODES].update(dict.fromkeys(model.used.values(), 1))
        for number, (factors, wanted) in enumerate(zip(placed, demand, strict=True)):
            if factors:
                self.lp.addConstraint(_sum(factors) <= wanted, f"demand_{number}")
        everybody: dict[Expression, int] = {}
        for factors, value in zip(placed, worth, strict=True):
            for variable, factor in factors.items():
                everybody[variable] = everybody.get(variable, 0) - factor * value
        self.goals = {goal: _sum(factors) for goal, factors in sums.items()}
        self.goals[UNPLACED] = _sum(everybody, sum(map(mul, demand, worth)))

    def _take_patterns(self, factors: Sequence[dict[Expression, int]], nodes: dict[Expression, int]) -> None:
        """Add a variable for each pattern of each site class; `factors` are those of workloads and goals of devices."""
        for number, site_class in enumerate(self.classes):
            mine = {}
            for position, (counts, values) in enumerate(site_class.patterns.items()):
                if not any(counts):
                    continue
                variable = self.lp.add_variable(f"z_{number}_{position}", 0, site_class.count, pulp.LpInteger)
                mine[counts] = variable
                for found, factor in zip(factors, (*counts, *values), strict=True):
                    if factor:
                        found[variable] = factor
                if site_class.each == 1:
                    nodes[variable] = int(site_class.nodes_of(counts))
            self._takes.append(mine)

    def _keep_classes(self) -> None:
        """Demand that no more is taken than the members hold, or those on the nodes that are used."""
        at_home: dict[int, dict[Expression, int]] = {}
        for home, used in zip(self.home_nodes, self._used, strict=True):
            for number, members in home.classes.items():
                at_home.setdefault(number, {})[used] = -members
        for number, (site_class, mine) in enumerate(zip(self.classes, self._takes, strict=True)):
            inside = at_home.get(number, {})
            if mine:
                factors = {**dict.fromkeys(mine.values(), 1), **inside}
                self.lp.addConstraint(_sum(factors) <= (0 if inside else site_class.count), f"class_{number}")

    def minimise(self, goal: str, solver: str, budget: Budget) -> Outcome:
        """Minimise a goal."""
        late = goal == NODES == self._last and not self._shared
        options = {**self._options, "mip_rel_gap": _NODES_GAP} if late else self._options
        return minimise(self.lp, self.goals[goal], solver, budget, options=options)

    def fix(self, goal: str, value: int) -> bool:
        """Demand that a goal is not above a value; say whether that can be at all."""
        expression = self.goals[goal]
        if isinstance(expression, int):
            return expression <= value
        self.lp.addConstraint(expression <= value, f"fixed_{goal}_{len(self.lp.constraints())}")
        return True

    def read(self) -> Chosen:
        """Return the solution that the variables hold."""
        patterns = [{counts: int(v.varValue) for counts, v in mine.items() if v.varValue} for mine in self._takes]
        used = [int(variable.varValue or 0) for variable in self._used]
        return Chosen(patterns, used, tuple(model.read() for model in self._shared))

    def start_from(self, chosen: Chosen) -> None:
        """Give the solver a solution to begin with."""
        for mine, taken in zip(self._takes, chosen.patterns, strict=True):
            for counts, variable in mine.items():
                variable.varValue = taken.get(counts, 0)
        for variable, used in zip(self._used, chosen.home_nodes, strict=True):
            variable.varValue = used
        for model, shared in zip(self._shared, chosen.shared or [SharedTaken()] * len(self._shared), strict=True):
            model.start_from(shared)


def _sum(factors: Mapping[Expression, int], constant: int = 0) -> Expression:
    return pulp.LpAffineExpression(factors, constant=constant) if factors else constant
