"""Nodes that share devices, by copy: a pod for each that may be placed there, under all rules, present or not.

Benchmark row that needs it: 8 or 3 GPUs of an island a pod, 16 nodes before 16 islands (`bench_crowded`) keep all
preferences, all goals proven, and 24 preferences are lost without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as changed

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts, pod_limits
from dra_lab.planner.fleet.pack import Takes, takes_of
from dra_lab.planner.fleet.shared_devices import PodsOnNode, SharedModel, SharedNodes, SharedTaken
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import Copies, CopyPart, replicated
from dra_lab.planner.node.goal_table import goal_values, objectives
from dra_lab.planner.node.milp import build_model, is_enough, overbooked
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.variables import Expression, Model, OneOf, total
from dra_lab.planner.states.node_state import PodTakes


@dataclass(frozen=True)
class ByCopy(SharedNodes):
    """Nodes that share devices with up to `counts` pods on each part of `site`."""

    site: Site
    counts: Counts
    order: tuple[str, ...]

    @property
    def variables(self) -> int:
        """Return about how many variables their model has: what each pod may take."""
        return _takes_of(self.site, self.counts)

    def model(self, lp: Expression, number: int, demand: Sequence[int]) -> CopyModel:  # noqa: ARG002 - `counts` is less
        """Add the nodes to a model, under a number of their own."""
        return CopyModel(lp, number, self)

    def placed(self, taken: SharedTaken) -> list[PodsOnNode]:
        """Return where the pods of a solution are: all of them on one site."""
        return [PodsOnNode(self.site, self.site.members[0], taken.counts or self.site.zero, taken.takes)]


def by_copy(site: Site, demand: Sequence[int], order: Sequence[str], budget: Budget) -> ByCopy | None:
    """Return nodes that share devices with all pods that may be placed there; None if too many, or time is over.

    `order` names the goals of devices.
    """
    if budget.reached:
        return None
    problem = site.problem
    # A pod that is absent takes nothing; one that is present takes something for each request.
    never = {ask for ask in range(len(problem.asks)) if not is_enough(problem, ask)}
    problem = changed(problem, impossible=problem.impossible | never)
    able = tuple([int(all(set(row) - problem.impossible for row in _requests(problem, part))) for part in site.parts])
    if _takes_of(site, able) > budget.sizes.copies:
        return None
    site = replace(site, make=lambda: problem)
    caps = pod_limits(site, demand).caps
    if _takes_of(site, caps) > budget.sizes.copies:
        return None
    return ByCopy(site.nodes[0], site, caps, tuple(order))


def _requests(problem: AllocationProblem, part: CopyPart) -> Sequence[tuple[int, ...]]:
    return problem.requests[slice(*part.requests)]


def _takes_of(site: Site, counts: Counts) -> int:
    groups_of = Counter(ask for group in site.problem.groups for ask in group.asks)
    each = [sum(groups_of[ask] for ask in range(*part.asks)) for part in site.parts]
    return sum(count * size for count, size in zip(counts, each, strict=True))


class CopyModel(SharedModel):
    """Which pods are present, and what each takes."""

    def __init__(self, lp: Expression, number: int, shared: ByCopy) -> None:
        """Add every rule for every pod that may be present."""
        super().__init__(lp)
        self.site = shared.site
        before = set(lp.variables())
        self._order = shared.order
        self.copies: Copies = replicated(self.site.problem, self.site.parts, shared.counts)
        self.whole = build_model(Model(self.copies.problem, lp=lp, mark=f"c{number}_"))
        self.ones = [OneOf(self.whole, self.copies, at) for at in range(len(self.copies.copies))]
        self.values = [{} for _ in shared.order]
        for one in self.ones:
            for factors, goal in zip(self.values, objectives(one, shared.order), strict=True):
                for variable, factor in pulp.LpAffineExpression(goal.expression).items():
                    factors[variable] = factors.get(variable, 0) + factor
        self.used = {node: self.whole.integer("node", 1) for node in shared.nodes}
        self.placed = [
            (self.site.parts[copy.part].pod, self.whole.present[at]) for at, copy in enumerate(self.copies.copies)
        ]
        self._keep_order()
        self.variables = [variable for variable in lp.variables() if variable not in before]

    def _keep_order(self) -> None:
        """Demand of the pods of one part, which are interchangeable, that those that are present come first."""
        before: dict[int, Expression] = {}
        for at, copy in enumerate(self.copies.copies):
            here = self.whole.present[at]
            if copy.part in before:
                self.whole.require(here <= before[copy.part])
            before[copy.part] = here

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

    def count_nodes(self) -> None:
        """Allow pods only on nodes that are counted as used."""
        for at, copy in enumerate(self.copies.copies):
            self.whole.require(self.whole.present[at] <= self.used[self.site.parts[copy.part].node])

    def cut(self) -> bool:
        """Forbid a solution that only the solver's rounding allowed; say whether there was anything to forbid."""
        excess = overbooked(self.whole)
        for taken in excess:
            self.whole.require(total(taken) <= len(taken) - 1)
        return bool(excess)

    def read(self) -> SharedTaken:
        """Return what the variables take."""
        values = [0] * len(self._order)
        counts = [0] * len(self.site.parts)
        takes: list[PodTakes] = []
        every = takes_of(self.whole, self.copies)
        for number, copy in enumerate(self.copies.copies):
            if self.whole.present[number].varValue:
                one = self.ones[number]
                taken = {key: int(variable.varValue or 0) for key, variable in one.take.items()}
                found = goal_values(one.problem, taken, range(*copy.links))
                values = [value + found[goal] for value, goal in zip(values, self._order, strict=True)]
                counts[copy.part] += 1
                takes.append(every[number])
        return self._summed(counts, values, tuple(takes))

    def _summed(self, counts: Sequence[int], values: Sequence[int], takes: Takes) -> SharedTaken:
        pods: Counter[int] = Counter()
        nodes: set[str] = set()
        for part, count in zip(self.site.parts, counts, strict=True):
            pods[part.pod] += count
            nodes |= {part.node} if count else set()
        levels = tuple(int(variable.varValue or 0) for variable in self.variables)
        return SharedTaken(pods, len(nodes), tuple(values), levels, tuple(counts), takes)
