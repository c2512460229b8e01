"""Nodes that share devices, planned at once: every pod that may stand there, under all rules, and free to stay away.

Benchmark row that needs it: 8 or 3 GPUs of an island a pod, 16 nodes before 16 islands (`bench_crowded`) keep all
preferences, all goals proven, and 24 preferences are lost without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as changed

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts, room_of
from dra_lab.planner.fleet.crowds import CrowdTaken
from dra_lab.planner.fleet.pack import Takes, takes_of
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import Copies, OneOf, Part, replicated
from dra_lab.planner.node.goal_table import goal_values, objectives
from dra_lab.planner.node.milp import build_model, is_enough, overbooked
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.variables import Expression, Model, total


@dataclass(frozen=True)
class CopiesCrowd:
    """Nodes that share devices as one model sees them: on each part of `site` stand up to `counts` pods."""

    site: Site
    counts: Counts
    order: tuple[str, ...]

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes."""
        return self.site.nodes[0]

    @property
    def variables(self) -> int:
        """Return about how many variables their model has: what each pod may take."""
        return _takes_of(self.site, self.counts)

    def model(self, lp: Expression, number: int, demand: Sequence[int]) -> CopiesModel:  # noqa: ARG002 - as in Crowd
        """Add the nodes to a model, under a number of their own; `demand` are the replicas of each workload."""
        return CopiesModel(lp, number, self)

    def some(self, demand: Sequence[int], budget: Budget) -> CrowdTaken:  # noqa: ARG002 - as in Crowd
        """Return a solution that is found quickly: no pods."""
        return CrowdTaken()

    def standing(self, taken: CrowdTaken) -> tuple[Site, Counts, Takes]:
        """Return the site, the numbers of pods, part by part, and what they take."""
        return self.site, taken.counts or self.site.zero, taken.takes


def copies_crowd(site: Site, demand: Sequence[int], order: Sequence[str], budget: Budget) -> CopiesCrowd | None:
    """Return nodes that share devices with all pods that may stand there; None where they are too many, or time is up.

    `order` names the goals of devices.
    """
    if budget.reached:
        return None
    problem = site.problem
    # A pod that may stay away takes nothing then; one that is there takes something for each request.
    never = {ask for ask in range(len(problem.asks)) if not is_enough(problem, ask)}
    problem = changed(problem, impossible=problem.impossible | never)
    able = tuple([int(all(set(row) - problem.impossible for row in _requests(problem, part))) for part in site.parts])
    if _takes_of(site, able) > budget.sizes.copies:
        return None
    site = replace(site, make=lambda: problem)
    caps = room_of(site, demand).caps
    if _takes_of(site, caps) > budget.sizes.copies:
        return None
    return CopiesCrowd(site, caps, tuple(order))


def _requests(problem: AllocationProblem, part: Part) -> Sequence[tuple[int, ...]]:
    return problem.requests[slice(*part.requests)]


def _takes_of(site: Site, counts: Counts) -> int:
    groups_of = Counter(ask for group in site.problem.groups for ask in group.asks)
    each = [sum(groups_of[ask] for ask in range(*part.asks)) for part in site.parts]
    return sum(count * size for count, size in zip(counts, each, strict=True))


class CopiesModel:
    """The pods of each copy, and what each takes."""

    def __init__(self, lp: Expression, number: int, crowd: CopiesCrowd) -> None:
        """Add every rule for every pod that may stand there."""
        self.crowd = crowd
        before = set(lp.variables())
        self.copies: Copies = replicated(crowd.site.problem, crowd.site.parts, crowd.counts)
        self.whole = build_model(Model(self.copies.problem, lp=lp, mark=f"c{number}_"))
        self.ones = [OneOf(self.whole, self.copies, at) for at in range(len(self.copies.copies))]
        self._values: list[dict[Expression, int]] = [{} for _ in crowd.order]
        for one in self.ones:
            for factors, goal in zip(self._values, objectives(one, crowd.order), strict=True):
                for variable, factor in pulp.LpAffineExpression(goal.expression).items():
                    factors[variable] = factors.get(variable, 0) + factor
        self._node = {node: self.whole.integer("node", node, 1) for node in crowd.nodes}
        self._keep_order()
        self._all = [variable for variable in lp.variables() if variable not in before]

    def _present(self) -> Iterator[tuple[int, Expression]]:
        """Yield for each pod its part and whether it stands there."""
        for number, copy in enumerate(self.copies.copies):
            yield copy.part, self.whole.present[number]

    def _keep_order(self) -> None:
        """Pods of one part are interchangeable: those that stand there come first."""
        before: dict[int, Expression] = {}
        for part, here in self._present():
            if part in before:
                self.whole.require(here <= before[part], "first", str(part))
            before[part] = here

    @property
    def placed(self) -> Sequence[tuple[Part, Expression]]:
        """Return the variables that count replicas, each with the part on which these stand."""
        return [(self.crowd.site.parts[part], here) for part, here in self._present()]

    @property
    def taken(self) -> Iterator[tuple[int, int, Expression, int]]:
        """Yield (ask, group of the site, variable, devices that the variable counts for the ask) of all takes."""
        drawn = {
            copy.first + offset: ask
            for copy in self.copies.copies
            for offset, ask in enumerate(range(*self.copies.parts[copy.part].asks))
        }
        for (ask, group), variable in self.whole.take.items():
            yield drawn[ask], self.copies.origin[group], variable, 1

    @property
    def values(self) -> Sequence[Mapping[Expression, int]]:
        """Return what the variables are worth, goal by goal of devices, as factors."""
        return self._values

    @property
    def used(self) -> Sequence[Expression]:
        """Return the 0/1 of every node that is used, once `count_nodes` was called."""
        return tuple(self._node.values())

    def count_nodes(self) -> None:
        """Demand that no pod is on a node that is not counted as used."""
        for part, here in self._present():
            self.whole.require(here <= self._node[self.crowd.site.parts[part].node], "node", str(part))

    def cut(self) -> bool:
        """Cut off what only the solver's rounding let pass; say whether there was anything."""
        excess = overbooked(self.whole)
        for taken in excess:
            self.whole.require(total(taken) <= len(taken) - 1, "capacity", "rounding")
        return bool(excess)

    def read(self) -> CrowdTaken:
        """Return what the variables hold."""
        here = [bool(variable.varValue) for _, variable in self._present()]
        values = [0] * len(self.crowd.order)
        counts = [0] * len(self.crowd.counts)
        position: dict[int, int] = {}
        for number, (copy, one) in enumerate(zip(self.copies.copies, self.ones, strict=True)):
            if here[number]:
                taken = {key: int(variable.varValue or 0) for key, variable in one.take.items()}
                worth = goal_values(one.problem, taken, range(*copy.links))
                values = [value + worth[goal] for value, goal in zip(values, self.crowd.order, strict=True)]
                counts[copy.part] += 1
                position[number] = len(position)
        takes = tuple((position[row[0]], *row[1:]) for row in takes_of(self.whole, self.copies) if row[0] in position)
        pods: Counter[int] = Counter()
        for part, count in zip(self.crowd.site.parts, counts, strict=True):
            pods[part.pod] += count
        return CrowdTaken(
            pods,
            sum(
                any(counts[at] for at, part in enumerate(self.crowd.site.parts) if part.node == node)
                for node in self._node
            ),
            tuple(values),
            counts=tuple(counts),
            takes=takes,
            levels=tuple(int(variable.varValue or 0) for variable in self._all),
        )

    def start_from(self, taken: CrowdTaken) -> None:
        """Set the variables, to nothing where no solution is known."""
        levels: Sequence[int | None] = taken.levels or [None] * len(self._all)
        for variable, level in zip(self._all, levels, strict=True):
            variable.varValue = level
