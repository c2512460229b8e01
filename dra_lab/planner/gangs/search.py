"""The best solution: gangs are placed greedily, then goal after goal is decided by counting and by the model."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import chain, combinations, islice, takewhile
from operator import sub
from typing import TypeVar

from dra_lab.errors import SolverError
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.master import GoalBound
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.gangs.goals import counted_bound, fewest, values_of
from dra_lab.planner.gangs.model import GangModel
from dra_lab.planner.gangs.needs import GangNeed, GroupNeed
from dra_lab.planner.gangs.problem import GangProblem, GangSolution, Instance, Profile, plus
from dra_lab.planner.node.solver_outcome import agreed
from dra_lab.planner.places.counting import Counts

T = TypeVar("T")

_Placed = tuple[Counter[int], Sequence[int]]
"""Pods of a group with a place, by region, and the regions where more of them may be."""


def greedy(problem: GangProblem, budget: Budget, *, by_value: bool = True) -> GangSolution:
    """Return a solution in which gangs of a high priority are placed first, large ones before small ones.

    They are placed where they leave least. With `by_value`, they are placed again where their pods have the best
    values; if some then have no place, only the nodes are chosen by values. The best solution is returned. Without
    `by_value`, only how much has a place matters.
    """
    best = _Greedy(problem, budget, domains_by_value=False, nodes_by_value=False).run()
    for domains in (True, False) if by_value else ():
        if budget.reached:
            break
        found = _Greedy(problem, budget, domains_by_value=domains, nodes_by_value=True).run()
        for profile in problem.profiles:
            profile.read_again()
        missing = Counter(one.need for one in best.instances) - Counter(one.need for one in found.instances)
        best = min(best, found, key=lambda one: values_of(problem, one))
        if not missing:
            break
    return best


class _Greedy:
    """Gangs and pods with a place so far; `nodes` are those of each region."""

    def __init__(self, problem: GangProblem, budget: Budget, *, domains_by_value: bool, nodes_by_value: bool) -> None:
        self.problem, self.budget = problem, budget
        self.domains_by_value, self.nodes_by_value = domains_by_value, nodes_by_value
        self.solution = GangSolution(ordinary=[Counter() for _ in problem.needs.ordinary])
        self.nodes: list[list[str]] = [[] for _ in problem.keys]
        for at, nodes in problem.cells.items():
            self.nodes[at.region].extend(nodes)
        self.zero = (0,) * problem.kinds
        self._free: dict[tuple[int, int], int] = {}
        self._added_in: dict[tuple[int, int], tuple[int, list[Values]]] = {}
        self._changed: list[tuple[str, Counts]] = []

    def run(self) -> GangSolution:
        needs = self.problem.needs
        for priority in needs.priorities:
            mine = [(at, need) for at, need in enumerate(needs.gangs) if need.priority == priority]
            placed: list[tuple[GangNeed, list[_Placed]]] = []
            for at, need in sorted(mine, key=lambda row: -self._size(row[1])):
                for _ in range(need.copies):
                    if self.budget.reached or (found := self._place(need)) is None:
                        break
                    groups, regions = found
                    domain = self.problem.keys[regions[0]][need.required]
                    assert domain is not None, "the regions are those of a domain"
                    self.solution.instances.append(Instance(at, domain, [row for row, _ in groups]))
                    placed.append((need, groups))
            for need, groups in placed:
                self._add_more(need, groups)
            if priority == 0:
                for row, (kind, wanted) in zip(self.solution.ordinary, needs.ordinary, strict=True):
                    row.update(self._on_nodes(kind, wanted, range(len(self.problem.keys))))
        return self.solution

    def _size(self, need: GangNeed) -> float:
        """Return about how many nodes a gang needs."""
        each = (max((profile.bound[kind] for profile in self.problem.profiles), default=0) for kind in need.least_pods)
        return sum(pods / max(1, most) for pods, most in zip(need.least_pods.values(), each, strict=True))

    # ------------------------------------------------------------------ what nodes have

    def profile(self, node: str) -> Profile:
        return self.problem.profiles[self.problem.on[node].profile]

    def steps(self, node: str, kind: int) -> list[int]:
        """Return the numbers of further pods of a kind of which it is known that a node takes them."""
        return self.profile(node).steps(self.solution.nodes.get(node, self.zero), kind)

    def more(self, node: str, kind: int) -> int:
        """Return about how many more pods of a kind a node takes; an empty one is not looked at closely."""
        if node not in self.solution.nodes:
            return self.profile(node).bound[kind]
        return max(self.steps(node, kind), default=0)

    def free(self, regions: Iterable[int], kind: int) -> int:
        """Return how many more pods of a kind the nodes of regions take."""
        found = 0
        for region in regions:
            if (region, kind) not in self._free:
                self._free[region, kind] = sum(self.more(node, kind) for node in self.nodes[region])
            found += self._free[region, kind]
        return found

    def added(self, node: str, kind: int, pods: int) -> Values:
        """Return what further pods of a kind add to the goals on a node."""
        counts, found = self.solution.nodes.get(node, self.zero), self.profile(node).found
        return tuple(map(sub, found[plus(counts, kind, pods)], found[counts]))

    def added_by(self, regions: Iterable[int], kind: int, pods: int) -> Values:
        """Return about what a number of pods of a kind adds to the goals in regions."""
        every = []
        for region in regions:
            known, found = self._added_in.get((region, kind), (0, []))
            if known < pods:
                mark, found = len(self._changed), []
                for _, count, values in self._filled(kind, pods, [region]):
                    found += [values, *[tuple(0 for _ in values)] * (count - 1)]
                self._undo(mark)
                self._added_in[region, kind] = pods, found
            every.append(found[:pods])
        cheapest = sorted(chain.from_iterable(every))[:pods]
        return tuple(map(sum, zip(*cheapest, strict=True))) or (0,) * len(self.problem.device)

    def _filled(self, kind: int, pods: int, regions: Iterable[int]) -> Iterator[tuple[str, int, Values]]:
        """Place pods on the nodes of regions as long as they fit; yield each node, their number, and what they add.

        They are placed where they cost least, or else on the nodes that take most.
        """
        order = {region: at for at, region in enumerate(regions)}

        def row(node: str) -> tuple[object, ...]:
            more = -self.more(node, kind), node
            if not self.nodes_by_value:
                return order[self.problem.on[node].region], *more
            return self.added(node, kind, self.steps(node, kind)[0]), node not in self.solution.nodes, *more

        nodes = takewhile(lambda _: not self.budget.reached, chain.from_iterable(self.nodes[one] for one in order))
        queue = [row(node) for node in nodes if not self.nodes_by_value or self.steps(node, kind)]
        heapify(queue)
        while queue and pods and not self.budget.reached:
            node = str(heappop(queue)[-1])
            if steps := [count for count in self.steps(node, kind) if count <= pods]:
                count, counts = steps[0 if self.nodes_by_value else -1], self.solution.nodes.get(node, self.zero)
                values = self.added(node, kind, count)
                self._changed.append((node, counts))
                self._write(node, plus(counts, kind, count))
                yield node, count, values
                pods -= count
                if self.nodes_by_value and self.steps(node, kind):
                    heappush(queue, row(node))

    def _write(self, node: str, counts: Counts) -> None:
        if any(counts):
            self.solution.nodes[node] = counts
        else:
            self.solution.nodes.pop(node, None)
        region = self.problem.on[node].region
        for kind in range(self.problem.kinds):
            self._free.pop((region, kind), None)
            self._added_in.pop((region, kind), None)

    def _undo(self, mark: int) -> None:
        while len(self._changed) > mark:
            self._write(*self._changed.pop())

    def _first(
        self, sets: Iterable[Sequence[int]], place: Callable[[Sequence[int]], T | None]
    ) -> tuple[T, Sequence[int]] | None:
        """Return what is placed in the first set of regions that has a place for it, with the set; None for none."""
        for regions in sets:
            mark = len(self._changed)
            if (found := place(regions)) is not None:
                return found, regions
            self._undo(mark)
        return None

    # ------------------------------------------------------------------ pods

    def _put(self, group: GroupNeed, pods: int, regions: Sequence[int]) -> Counter[int] | None:
        """Place pods of a group in some regions, in few domains of the preferred tier; None if they do not fit."""
        if group.preferred < 0 or group.slices:
            return self._put_slices(group.kind, pods, regions, group.slices)
        if self.domains_by_value and len(able := self._fitting(group, pods, regions)) < len(regions):
            return self._put_slices(group.kind, pods, able, ())
        placed, left = Counter[int](), list(regions)
        while (wanted := pods - placed.total()) and left:
            part = next(iter(self._domains(group.kind, wanted, left, group.preferred)), left)
            placed.update(self._on_nodes(group.kind, wanted, part))
            left = [region for region in left if region not in part]
        return None if wanted else placed

    def _put_slices(
        self, kind: int, pods: int, regions: Sequence[int], slices: Sequence[tuple[int, int]]
    ) -> Counter[int] | None:
        if not slices:
            placed = self._on_nodes(kind, pods, regions)
            return placed if placed.total() == pods else None
        placed, ((size, tier), *finer) = Counter(), slices
        for _ in range(pods // size):
            parts = self._domains(kind, size if self.domains_by_value else pods, regions, tier)
            found = self._first(parts, lambda inside: self._put_slices(kind, size, inside, finer))
            if found is None:
                return None
            placed.update(found[0])
        return placed

    def _on_nodes(self, kind: int, pods: int, regions: Iterable[int]) -> Counter[int]:
        """Place pods on the nodes of regions, as many as fit; return how many each region has."""
        placed = Counter[int]()
        for node, count, _ in self._filled(kind, pods, regions):
            placed[self.problem.on[node].region] += count
        return placed

    def _domains(self, kind: int, pods: int, regions: Iterable[int], tier: int) -> list[list[int]]:
        """Return the domains of a tier among regions: the best in which all pods fit first, then the largest."""

        def order(mine: list[int]) -> tuple[object, ...]:
            free = self.free(mine, kind)
            if free < pods:
                return (1, (), -free, mine)
            return (0, self.added_by(mine, kind, pods) if self.domains_by_value else (), free, mine)

        return sorted(self.problem.parted(regions, tier).values(), key=order)

    def _fitting(self, group: GroupNeed, pods: int, regions: Sequence[int]) -> Sequence[int]:
        """Return the regions of one or two domains of a preferred tier that hold pods at least cost, all if none do."""
        parts = sorted(self.problem.preferred(regions, group.preferred), key=lambda part: -self.free(part, group.kind))
        for several in (zip(parts, strict=True), islice(combinations(parts, 2), self.budget.sizes.tries)):
            able = [mine for sets in several if self.free(mine := [*chain(*sets)], group.kind) >= pods]
            if able:
                return min(able, key=lambda mine: self.added_by(mine, group.kind, pods))
        return regions

    # ------------------------------------------------------------------ gangs

    def _place(self, need: GangNeed) -> tuple[list[_Placed], Sequence[int]] | None:
        """Place the minimum of one gang in the best domain that can have it; return its groups and the domain."""
        ranked = []
        for path, regions in self.problem.inside[need.required].items():
            if self.budget.reached:
                return None
            free = [self.free(regions, group.kind) for group in need.groups]
            if all(have >= group.least for have, group in zip(free, need.groups, strict=True)):
                ranked.append((self._about(need, regions) if self.domains_by_value else (), sum(free), path, regions))
        domains = takewhile(lambda _: not self.budget.reached, (regions for *_, regions in sorted(ranked)))
        return self._first(domains, lambda regions: self._in_domain(need, regions))

    def _about(self, need: GangNeed, regions: Sequence[int]) -> tuple[int, ...]:
        """Return about what a gang adds to the goals in regions, preferred domains first."""
        spread, rows = 0, []
        for group in need.groups:
            mine = regions
            if group.preferred >= 0:
                parts = self.problem.preferred(regions, group.preferred)
                spread += fewest([self.free(part, group.kind) for part in parts], group.least)
                mine = self._fitting(group, group.least, regions)
            rows.append(self.added_by(mine, group.kind, group.least))
        return (spread, *map(sum, zip(*rows, strict=True)))

    def _in_domain(self, need: GangNeed, regions: Sequence[int]) -> list[_Placed] | None:
        """Place the minimum of each group of a gang in regions, the largest group first."""
        placed: dict[int, _Placed] = {}
        alone = [(at, group) for at, group in enumerate(need.groups) if group.same_as < 0]
        for at, group in sorted(alone, key=lambda row: -row[1].least):
            mates = [at, *(other for other, one in enumerate(need.groups) if one.same_as == at)]
            sets: Sequence[Sequence[int]] = [regions]
            if group.required >= 0:
                sets = self._domains(group.kind, group.least, regions, group.required)
            found = self._first(sets, partial(self._put_all, [need.groups[mate] for mate in mates]))
            if found is None:
                return None
            placed |= {mate: (pods, found[1]) for mate, pods in zip(mates, found[0], strict=True)}
        return [placed[at] for at in range(len(placed))]

    def _put_all(self, groups: Sequence[GroupNeed], regions: Sequence[int]) -> list[Counter[int]] | None:
        placed = [row for group in groups if (row := self._put(group, group.least, regions)) is not None]
        return placed if len(placed) == len(groups) else None

    def _add_more(self, need: GangNeed, groups: Sequence[_Placed]) -> None:
        """Place what a gang wants beyond its minimum."""
        for group, (row, regions) in zip(need.groups, groups, strict=True):
            beyond = group.most - group.least
            if not group.slices:
                row.update(self._on_nodes(group.kind, beyond, regions))
                continue
            size = group.slices[0][0]
            for _ in range(beyond // size):
                found = None if self.budget.reached else self._first([regions], partial(self._put, group, size))
                if found is None:
                    break
                row.update(found[0])


# ---------------------------------------------------------------------- goal after goal


def best_solution(
    problem: GangProblem, solver: str, budget: Budget, goals: int | None = None
) -> tuple[GangSolution, list[GoalBound]]:
    """Return the best solution that was found in time, with the bounds of the first `goals` goals, None for all.

    Without a time limit, it is improved for `Shares.improve` seconds: a model of many gangs may take hours.
    """
    if budget.deadline is None:
        budget = budget.until(time.monotonic() + budget.shares.improve)
    first = greedy(problem, budget.part(budget.shares.step), by_value=goals is None)
    search = _Search(problem, solver, budget, first)
    found = search.run(problem.needs.goals[:goals])
    return search.solution, found


class _Search:
    def __init__(self, problem: GangProblem, solver: str, budget: Budget, first: GangSolution) -> None:
        self.problem, self.solver, self.budget = problem, solver, budget
        self.solution, self.values = first, values_of(problem, first)
        self._models: dict[bool, GangModel] = {}

    def run(self, order: Sequence[str]) -> list[GoalBound]:
        """Decide goal after goal; return what is proven of each."""
        # Behind a goal of devices that is not proven, values that compare goal after goal bound nothing.
        sure, goals = True, []
        for at, goal in enumerate(order):
            bound = counted_bound(self.problem, goal, self.values, self.budget)
            if self.values[at] > bound and not self.budget.reached:
                bound = max(bound, self._decide(at, goal, sure=sure))
            have = self.values[at]
            # On nodes that were not examined, any gang may fit at the best values.
            known = 0 if self.problem.not_examined else agreed(bound, have)
            goals.append(GoalBound(goal, have, known))
            sure = sure and (goal not in self.problem.device or goals[-1].proven)
            self.budget.report_step(goal, f"{goal}: best {have}, bound {bound}", have, bound)
            # After the time is over no model is asked any more, and to write a row of a large one takes a while.
            for model in () if self.budget.reached else self._models.values():
                model.keep(goal, have)
        # A solution that was found for a later goal may be better in one that was not proven.
        final = zip(goals, self.values, strict=False)
        return [GoalBound(g.goal, v, None if g.bound is None else agreed(g.bound, v)) for g, v in final]

    def _decide(self, at: int, goal: str, *, sure: bool) -> int:
        """Improve a goal; return what no solution undercuts that keeps the goals before it, 0 if that is not known.

        Without the model over what was found, 2 of 60 small cases have fewer pods, and 3 no proof of their number.
        """
        if self.problem.small:
            model, looking = self._model(at, values=True), self.budget.part(self.budget.shares.step)
            outcome = model.minimise(goal, looking, have=self.values[at])
            if outcome.infeasible:
                raise SolverError("the solver finds no solution where one is known; try the solver CBC")
            if outcome.value is not None and outcome.value < self.values[at]:
                solution = model.read()
                values = values_of(self.problem, solution)
                if values < self.values and values[: at + 1] <= self.values[: at + 1]:
                    self.solution, self.values = solution, values
            if self.problem.closed:
                return outcome.bound or 0 if sure else 0
        if goal not in self.problem.needs.wanted or self.budget.reached:
            return 0
        looking = self.budget.part(self.budget.shares.step)
        return self._model(at, values=False).minimise(goal, looking, have=self.values[at]).bound or 0

    def _model(self, at: int, *, values: bool) -> GangModel:
        """Return the model that plans, or without `values` the one that bounds goals that count pods."""
        if values and values not in self._models:
            self.problem = self.problem.decided(self.budget.part(self.budget.shares.step))
            self.values = values_of(self.problem, self.solution)
        if values not in self._models:
            self._models[values] = GangModel(self.problem, self.solver, self.budget, values=values)
            before = () if self.budget.reached else self.problem.needs.goals[:at]
            for goal, value in zip(before, self.values, strict=False):
                self._models[values].keep(goal, value)
        return self._models[values]
