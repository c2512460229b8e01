"""Given numbers of pods on one site: what counting allows, and the best way to put them there, with a proof."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from msgspec.structs import replace
from msgspec.structs import replace as changed

from dra_lab.model.goals import GOAL_WORDS, NODES
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import CopyPart, JointProblem, replicated
from dra_lab.planner.node.goal_table import goal_values, objectives
from dra_lab.planner.node.lexicographic import SEARCH_WEIGHT
from dra_lab.planner.node.milp import build_model, hopeless, is_enough, minimise_exactly
from dra_lab.planner.node.variables import Expression, Model, OneOf, pulp, total
from dra_lab.planner.places.counting import Counts
from dra_lab.planner.replicas import most_replicas
from dra_lab.planner.states.node_state import PodTakes


def most_of_parts(site: Site, demand: Sequence[int]) -> Counts:
    """Return the most pods of each part of a site alone; `demand` is the number of replicas wanted of each workload."""
    caps = []
    for at, part in enumerate(site.parts):
        cap = demand[part.pod]
        # A pod with admin access takes nothing.
        if cap > 0 and not any(ask.admin_access for ask in site.problem.asks[slice(*part.asks)]):
            one = replicated(site.problem, site.parts, [int(n == at) for n in range(len(site.parts))]).problem
            one = replace(one, groups=tuple(group for group in one.groups if group.asks))
            cap = min([cap, most_replicas(one), *_most_of_devices(one)])
        caps.append(max(cap, 0))
    return tuple(caps)


def most_of_pods(site: Site, demand: Sequence[int]) -> Counts:
    """Return the most pods of each workload alone, on all nodes of a member of a site."""
    most = [0] * len(demand)
    for part, cap in zip(site.parts, most_of_parts(site, demand), strict=True):
        most[part.pod] += cap
    return tuple(map(min, most, demand))


def _most_of_devices(problem: AllocationProblem) -> Iterator[int]:
    """Yield the most pods by the devices that requests share because no others serve them; `problem` is that of one."""
    rows: list[tuple[frozenset[int], int]] = []
    for indices in problem.requests:
        able = [ask for ask in indices if ask not in problem.impossible]
        serving = (at for at, group in enumerate(problem.groups) if not set(able).isdisjoint(group.asks))
        rows.append((frozenset(serving), min(map(problem.need, able), default=1)))
    for groups in {*(groups for groups, _ in rows), frozenset[int]().union(*(groups for groups, _ in rows))}:
        need = sum(count for mine, count in rows if mine <= groups)
        if need and not any(problem.groups[at].shareable for at in groups):
            yield sum(problem.groups[at].size for at in groups) // need


Values = tuple[int, ...]
"""Values of the goals of devices in their order of importance; they compare as goals do: the first decides."""

Takes = tuple[PodTakes, ...]
"""What each pod takes, part by part."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What is known of a number of pods on a site.

    `lower` is a value that no way to put them there undercuts (None: there is none), `upper` the value of the way that
    was found (None: none was). `takes` describes this way; `counts` has its pods by part of the site. On several nodes
    it uses `nodes`, and no way that is as good in the goals before uses fewer than `least_nodes`.
    """

    lower: Values | None
    upper: Values | None = None
    takes: Takes = ()
    counts: tuple[int, ...] = ()
    nodes: int = 1
    least_nodes: int = 1

    @property
    def exact(self) -> bool:
        """Say whether nothing is left to be known."""
        return self.lower is None or (self.lower == self.upper and self.nodes == self.least_nodes)


class OnePod(NamedTuple):
    """One pod of a part of a site: what it takes of the groups that plans name, and the values of goals of devices."""

    part: int
    takes: PodTakes
    values: Values


def values_of(site: Site, part: CopyPart, takes: PodTakes, order: Sequence[str]) -> Values:
    """Return the values of goals of a pod that takes devices of a site, in the groups that plans name."""
    problem, kept = site.problem, {group: at for at, group in enumerate(site.kept)}
    groups = problem.seen_from(part.node) if isinstance(problem, JointProblem) else problem.groups
    counted = Counter[tuple[int, int]]()
    for ask, group, count in takes:
        counted[ask, kept[group]] += count
    values = goal_values(changed(problem, paired=part.paired, groups=groups), counted, range(*part.links))
    return tuple(values[goal] for goal in order)


def device_goals(order: Sequence[str]) -> tuple[str, ...]:
    """Return the goals that depend on the devices taken, and not on the numbers of replicas alone."""
    return tuple(goal for goal in order if goal in GOAL_WORDS)


class PodsModel:
    """The model of some pods of each part of a site; `goals` are sums over all of them, most important first.

    With `absent`, pods may stay away: `present` says of each of `parts` whether it is there. On several nodes, the goal
    `nodes` counts those that are used.
    """

    def __init__(
        self,
        problem: AllocationProblem,
        parts: Sequence[CopyPart],
        counts: Sequence[int],
        order: Sequence[str],
        *,
        absent: bool = False,
    ) -> None:
        """Add every rule for every pod."""
        if absent:
            # A pod that is absent takes nothing; one that is present takes something for each request.
            never = {ask for ask in range(len(problem.asks)) if not is_enough(problem, ask)}
            problem = changed(problem, impossible=problem.impossible | never)
        self.copies, self.order = replicated(problem, parts, counts), tuple(order)
        lp = pulp.LpProblem("pods", pulp.LpMinimize) if absent else None
        self.model = build_model(Model(self.copies.problem, lp=lp))
        self.parts = [self.copies.parts[copy.part] for copy in self.copies.copies]
        self.present = [self.model.present.get(at, 1) for at in range(len(self.parts))]
        for at, (one, other) in enumerate(pairwise(self.parts)):
            if absent and one is other:
                # Pods of one part are interchangeable: those that are present come first.
                self.model.require(self.present[at + 1] <= self.present[at])
        self._ones = [OneOf(self.model, self.copies, number) for number in range(len(self.parts))]
        sums: dict[str, Expression] = dict.fromkeys(order, 0)
        for mine in self._ones:
            for goal in objectives(mine, device_goals(order)):
                sums[goal.goal] = sums[goal.goal] + goal.expression
        if NODES in sums:
            sums[NODES] = self._used()
        self.goals = [sums[goal] for goal in order]

    def _used(self) -> Expression:
        used = {part.node: self.model.integer("node", 1) for part in self.parts}
        for part, present in zip(self.parts, self.present, strict=True):
            self.model.require(present <= used[part.node])
        return total(used.values())

    @property
    def taken(self) -> Iterator[tuple[int, int, int, Expression]]:
        """Yield (copy, ask and group of the problem of one, variable) of all that copies may take."""
        asked = self.copies.asked
        for (ask, group), variable in sorted(self.model.take.items()):
            number, own = asked[ask]
            yield number, own, self.copies.origin[group], variable

    @property
    def there(self) -> list[int]:
        """Return the pods that are present in a solved model."""
        return [at for at, one in enumerate(self.present) if (one if isinstance(one, int) else one.varValue)]

    def takes(self) -> Takes:
        """Return what the pods that are present take of a solved model."""
        found: list[Counter[tuple[int, int]]] = [Counter() for _ in self.parts]
        for number, ask, group, variable in self.taken:
            if count := int(variable.varValue or 0):
                found[number][ask, group] += count
        return tuple(tuple((*key, count) for key, count in found[at].items()) for at in self.there)

    def values(self, order: Sequence[str]) -> Values:
        """Return goals of a solved model by what pods take (`goal_values`)."""
        found = dict.fromkeys(order, 0)
        for number in self.there:
            one, links = self._ones[number], range(*self.copies.copies[number].links)
            taken = {key: int(variable.varValue or 0) for key, variable in one.take.items()}
            for goal, value in goal_values(one.problem, taken, links).items():
                if goal in found:
                    found[goal] += value
        if NODES in found:
            found[NODES] = len({self.parts[at].node for at in self.there})
        return tuple(found.values())


def size_of(problem: AllocationProblem, parts: Sequence[CopyPart], counts: Sequence[int]) -> int:
    """Return about how many variables a model has: the groups that each pod may take of."""
    groups_of = Counter(ask for group in problem.groups for ask in group.asks)
    each = (sum(groups_of[ask] for ask in range(*part.asks)) for part in parts)
    return sum(count * size for count, size in zip(counts, each, strict=True))


def pack(
    problem: AllocationProblem,
    parts: Sequence[CopyPart],
    counts: Sequence[int],
    order: Sequence[str],
    budget: Budget,
    *,
    solver: str,
    lower: Values | None = None,
    together: bool = False,
) -> Packed:
    """Put `counts[p]` replicas of each part on a site with the least values of the goals in `order`.

    With `together`, `counts` are those of workloads, on any of the nodes of the site. `lower` are values known to be
    unbeatable. At a limit, what was found and the bound that was reached come back. Raises SolverError when the solver
    fails.
    """
    each = [counts[part.pod] for part in parts] if together else counts
    whole = PodsModel(problem, parts, each, order, absent=together)
    least = dict(zip(device_goals(order), lower or (0,) * len(order), strict=False))
    floor = tuple(least.get(goal, int(any(counts))) for goal in order)
    if together:
        for pod, count in enumerate(counts):
            mine = (one for one, part in zip(whole.present, whole.parts, strict=True) if part.pod == pod)
            whole.model.require(total(mine) == count)
    elif hopeless(whole.copies.problem):
        return Packed(None)
    weighted = total(SEARCH_WEIGHT ** (len(order) - at) * goal for at, goal in enumerate(whole.goals))
    outcome = minimise_exactly(whole.model, weighted, solver, budget)
    if outcome.infeasible:
        return Packed(None)
    if outcome.value is None:
        return Packed(_devices(order, floor))
    bound = _by_stages(whole, floor, solver, budget)
    found, there = whole.values(order), Counter(whole.parts[at] for at in whole.there)
    nodes = (dict(zip(order, values, strict=True)).get(NODES, 1) for values in (found, bound))
    return Packed(
        _devices(order, bound), _devices(order, found), whole.takes(), tuple(there[part] for part in parts), *nodes
    )


def _devices(order: Sequence[str], values: Values) -> Values:
    return tuple(value for goal, value in zip(order, values, strict=True) if goal != NODES)


def _by_stages(whole: PodsModel, least: Values, solver: str, budget: Budget) -> Values:
    """Minimise goal after goal; return values that no way undercuts."""
    proven: list[int] = []
    for at, goal in enumerate(whole.goals):
        value = whole.values(whole.order)[at]
        bound = least[at] if least[:at] == tuple(proven) else 0
        if value > bound:
            outcome = minimise_exactly(whole.model, goal, solver, budget, value)
            bound = max(bound, outcome.bound or 0)
            value = min(value, whole.values(whole.order)[at])
        if bound < value:
            return max(least, (*proven, bound, *([0] * (len(least) - at - 1))))
        proven.append(value)
        if at + 1 < len(whole.goals) and not isinstance(goal, int):
            whole.model.require(goal <= value)
    return tuple(proven)


def named(site: Site, takes: Takes) -> Takes:
    """Return takes of groups of a site's problem as takes of the groups that plans name (`Site.kept`)."""
    if site.state is None:
        return takes
    return tuple(tuple((ask, site.kept[group], count) for ask, group, count in mine) for mine in takes)
