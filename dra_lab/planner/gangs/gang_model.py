"""The integer model of gangs: which gang in which domain, which pods in which region, what its nodes take."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from dra_lab.model.fleet import NODES, UNPLACED
from dra_lab.model.gang import BEYOND, DOMAINS, GANGS, LEVELS
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.gangs.goal_values import priority_of, wanted_beyond
from dra_lab.planner.gangs.hand_out import counted, domains_inside, hand_out
from dra_lab.planner.gangs.needs import WHOLE, GangNeed, GroupNeed, Path, splits
from dra_lab.planner.gangs.problem import GangProblem, GangSolution, fewest
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.solver import minimise, relaxed_bound
from dra_lab.planner.node.solver_outcome import Outcome, Rows
from dra_lab.planner.node.variables import Expression

Factors = dict[Any, int]
"""Variables with their factors."""

_OPTIONS: Mapping[str, object] = {"mip_detect_symmetry": False, "mip_heuristic_effort": 0.2}

_WITHOUT_MODELS = dict.fromkeys(("rins", "rens", "root_reduced_cost"), False)
"""The heuristics of HiGHS that solve a smaller integer model."""


def options_of(variables: int, budget: Budget) -> Mapping[str, object]:
    """Return the options of HiGHS for a model of gangs with a number of variables.

    HiGHS makes no callback while a heuristic solves a smaller integer model. This takes seconds if the model is large.
    """
    if variables <= budget.sizes.variables:
        return _OPTIONS
    return {**_OPTIONS, **{f"mip_heuristic_run_{name}": on for name, on in _WITHOUT_MODELS.items()}}


class GangModel:
    """The model over what was found of nodes (`exact` False: over the least that may exist), minimised goal by goal."""

    def __init__(self, problem: GangProblem, solver: str, budget: Budget, *, least: bool) -> None:
        """Make the model, or a part of it if the budget is reached; then no solver is asked either."""
        self.problem, self.solver, self.least = problem, solver, least
        self.lp: Any = pulp.LpProblem("gangs", pulp.LpMinimize)
        self._numbers = 0
        self._known: list[tuple[Any, tuple[Hashable, ...], int]] = []
        self.gangs: dict[tuple[int, Path], Any] = {}
        self.groups: dict[tuple[int, int, Path], Any] = {}
        self.pods: dict[tuple[int, int, int], Factors] = {}
        self.ordinary: dict[tuple[int, int], Any] = {}
        self.cells: dict[tuple[int, int], dict[Counts, Any]] = {}
        self.sums: dict[str, Factors] = {goal: {} for goal in problem.order}
        self.floors: dict[str, Factors] = {goal: {} for goal in problem.device}
        self.constants: dict[str, int] = dict.fromkeys(problem.order, 0)
        self._taken: dict[tuple[int, int], Factors] = {}
        for number, need in enumerate(problem.needs.gangs):
            if not budget.reached:
                self._add_gang(number, need)
        for number, (kind, wanted) in enumerate(problem.needs.ordinary):
            self._add_ordinary(number, kind, wanted)
        for (region, profile), nodes in problem.cells.items():
            if not budget.reached:
                self._add_cell(region, profile, len(nodes))
        for factors in self._taken.values():
            if not budget.reached:
                self._row(factors, 0, equal=True)
        if not budget.reached:
            self._count_gangs()
            self._count_domains()

    # ------------------------------------------------------------------ variables and rows

    def _integer(self, most: int, *keys: Hashable, size: int = 1) -> Any:
        """Return a variable up to `most`: what `counted` has under keys, divided by `size`; with 0, if it is any."""
        self._numbers += 1
        variable = self.lp.add_variable(f"v_{self._numbers}", 0, most, pulp.LpInteger)
        self._known.append((variable, keys, size))
        return variable

    def _row(self, factors: Factors, limit: int, *, equal: bool = False) -> None:
        if any(factors.values()):
            left = pulp.LpAffineExpression(factors)
            self._numbers += 1
            self.lp.addConstraint(left == limit if equal else left <= limit, f"r_{self._numbers}")

    def _take(self, region: int, kind: int, factors: Mapping[Any, int], times: int) -> None:
        row = self._taken.setdefault((region, kind), {})
        for variable, factor in factors.items():
            row[variable] = row.get(variable, 0) + times * factor

    def _cap(self, regions: Iterable[int], kind: int) -> int:
        return sum(self.problem.capacity[region][kind] for region in regions)

    # ------------------------------------------------------------------ gangs

    def _add_gang(self, number: int, need: GangNeed) -> None:
        each: dict[int, int] = {}
        for group in need.groups:
            each[group.kind] = each.get(group.kind, 0) + group.least
        for path, regions in self.problem.inside[need.required].items():
            caps = [self._cap(regions, kind) // pods for kind, pods in each.items() if pods]
            most = min([need.copies, *caps])
            if not most:
                continue
            variable = self._integer(most, ("gang", number, path))
            self.gangs[number, path] = variable
            for at, group in enumerate(need.groups):
                self._add_group(number, at, group, path, (variable, most))
            for tier, groups in need.preferences:
                self._add_preference(number, need, (tier, groups), regions, variable)
        self._row({v: 1 for (n, _), v in self.gangs.items() if n == number}, need.copies)

    def _add_group(self, number: int, at: int, group: GroupNeed, path: Path, gangs: tuple[Any, int]) -> None:
        need = self.problem.needs.gangs[number]
        gang, most = gangs
        tiers = [tier for tier in (group.required, *(tier for _, tier in group.slices)) if tier >= 0]
        able = [
            region
            for region in self.problem.inside[need.required][path]
            if all(self.problem.domain(tier, region) is not None for tier in tiers)
        ]
        if group.required < 0:
            self._add_pods(number, at, group, able, gang, most)
        else:
            split = {gang: -1}
            for inner, regions in domains_inside(self.problem, group.required, able).items():
                key = (number, at, inner)
                if group.same_as < 0:
                    self.groups[key] = self._integer(most, ("group", *key))
                elif (number, group.same_as, inner) in self.groups:
                    self.groups[key] = self.groups[number, group.same_as, inner]
                else:
                    continue
                variable = self.groups[key]
                split[variable] = 1
                self._add_pods(number, at, group, regions, variable, most)
            self._row(split, 0, equal=True)
        for size, tier in group.slices:
            for regions in domains_inside(self.problem, tier, able).values():
                keys = [(number, at, region) for region in regions]
                several = self._integer(most * group.most // size, *(("pods", *key) for key in keys), size=size)
                self._row({**self._summed(keys), several: -size}, 0, equal=True)

    def _add_pods(self, number: int, at: int, group: GroupNeed, regions: Sequence[int], gang: Any, most: int) -> None:
        """Add the pods of a group in regions; `gang` counts the gangs whose group is there, `most` at most."""
        simple = len(regions) == 1 and group.least == group.most
        for region in regions:
            key = (number, at, region)
            if simple:
                self.pods[key] = {gang: group.least}
            else:
                cap = min(self.problem.capacity[region][group.kind], most * group.most)
                self.pods[key] = {self._integer(cap, ("pods", *key)): 1}
            self._take(region, group.kind, self.pods[key], -1)
        if simple:
            return
        every = self._summed([(number, at, region) for region in regions])
        if group.least == group.most:
            self._row({**every, gang: -group.most}, 0, equal=True)
            return
        self._row({**every, gang: -group.most}, 0)
        self._row({**{v: -f for v, f in every.items()}, gang: group.least}, 0)

    def _summed(self, keys: Iterable[tuple[int, int, int]]) -> Factors:
        found: Factors = {}
        for key in keys:
            for variable, factor in self.pods.get(key, {}).items():
                found[variable] = found.get(variable, 0) + factor
        return found

    def _add_preference(
        self, number: int, need: GangNeed, preference: tuple[int, tuple[int, ...]], regions: Sequence[int], gang: Any
    ) -> None:
        tier, groups = preference
        levels = self.sums[LEVELS]
        if not splits(self.problem.needs.tiers, need, preference):
            levels[gang] = levels.get(gang, 0) + 1
            return
        inside: dict[Path | None, list[int]] = {}
        for region in regions:
            inside.setdefault(self.problem.domain(tier, region), []).append(region)
        wanted, sizes = sum(need.groups[at].most for at in groups), []
        every: Factors = {}
        for mine in inside.values():
            keys = [(number, at, region) for at in groups for region in mine]
            pods = self._summed(keys)
            kinds = {need.groups[at].kind for at in groups}
            most = min(wanted, sum(self._cap(mine, kind) for kind in kinds))
            if pods and most:
                used = self._integer(1, *(("pods", *key) for key in keys), size=0)
                self._row({**pods, used: -most}, 0)
                levels[used] = 1
                every[used] = -1
                sizes.append(most)
        # Without this, the relaxation uses parts of domains.
        least = fewest(sizes, sum(need.groups[at].least for at in groups))
        self._row({**every, gang: least}, 0)

    # ------------------------------------------------------------------ pods by themselves, and nodes

    def _add_ordinary(self, number: int, kind: int, wanted: int) -> None:
        for region, most in enumerate(self.problem.capacity):
            if most[kind]:
                variable = self._integer(min(most[kind], wanted), ("plain", number, region))
                self.ordinary[number, region] = variable
                self._take(region, kind, {variable: 1}, -1)
        self._row({v: 1 for (n, _), v in self.ordinary.items() if n == number}, wanted)

    def _add_cell(self, region: int, number: int, count: int) -> None:
        profile, problem = self.problem.profiles[number], self.problem
        patterns = profile.least if self.least else profile.found
        if patterns is None:
            self._add_uncounted(region, number, count)
            return
        mine: dict[Counts, Any] = {}
        for counts, values in patterns.items():
            if not any(counts) or any(n and (region, kind) not in self._taken for kind, n in enumerate(counts)):
                continue
            variable = self._integer(count, ("nodes", region, number, counts))
            mine[counts] = variable
            for kind, pods in enumerate(counts):
                if pods:
                    self._take(region, kind, {variable: 1}, pods)
            each = [(pods, floor) for pods, floor in zip(counts, profile.floors, strict=True) if pods and floor]
            floors = [sum(pods * floor[at] for pods, floor in each) for at in range(len(problem.device))]
            for goal, value, floor in zip(problem.device, values, floors, strict=True):
                if value:
                    self.sums[goal][variable] = value
                if floor:
                    self.floors[goal][variable] = floor
            self.sums[NODES][variable] = 1
        self.cells[region, number] = mine
        self._row(dict.fromkeys(mine.values(), 1), count)

    def _add_uncounted(self, region: int, number: int, count: int) -> None:
        """Add nodes of which the numbers are too many to list: single pods, as many as counting allows."""
        profile = self.problem.profiles[number]
        single: dict[int, Any] = {}
        for kind, most in enumerate(profile.bound):
            floor = profile.floors[kind]
            if most and floor is not None and (region, kind) in self._taken:
                single[kind] = self._integer(most * count)
                self._take(region, kind, {single[kind]: 1}, 1)
                for goal, value in zip(self.problem.device, floor, strict=True):
                    if value:
                        self.sums[goal][single[kind]] = self.floors[goal][single[kind]] = value
        for weights, limit in profile.rows:
            self._row({variable: weights[kind] for kind, variable in single.items()}, limit * count)

    # ------------------------------------------------------------------ goals

    def _count_gangs(self) -> None:
        needs = self.problem.needs
        for goal in self.problem.order:
            name, priority = priority_of(goal, needs)
            mine = {at: need for at, need in enumerate(needs.gangs) if need.priority == priority}
            if name == GANGS:
                self.sums[goal] = {v: -1 for (at, _), v in self.gangs.items() if at in mine}
                self.constants[goal] = sum(need.copies for need in mine.values())
            elif name == BEYOND:
                self._count_beyond(goal, mine)
                self.constants[goal] = wanted_beyond(needs, priority)
            elif name == UNPLACED:
                self.sums[goal] = dict.fromkeys(self.ordinary.values(), -1)
                self.constants[goal] = sum(wanted for _, wanted in needs.ordinary)

    def _count_beyond(self, goal: str, mine: Mapping[int, GangNeed]) -> None:
        sums = self.sums[goal]
        for (at, group, _), factors in self.pods.items():
            if at in mine and mine[at].groups[group].least < mine[at].groups[group].most:
                for variable, factor in factors.items():
                    sums[variable] = sums.get(variable, 0) - factor
        for (at, _), variable in self.gangs.items():
            if at in mine:
                least = sum(group.least for group in mine[at].groups if group.least < group.most)
                sums[variable] = sums.get(variable, 0) + least

    def _count_domains(self) -> None:
        inside: dict[tuple[int, Path], list[tuple[int, Path]]] = {}
        for number, path in self.gangs:
            tier = self.problem.needs.gangs[number].required
            if tier != WHOLE:
                inside.setdefault(self.problem.needs.counted(tier, path), []).append((number, path))
        for keys in inside.values():
            used = self._integer(1, *(("gang", *key) for key in keys), size=0)
            for key in keys:
                self._row({self.gangs[key]: 1, used: -int(self.gangs[key].upBound)}, 0)
            self.sums[DOMAINS][used] = 1

    def expression(self, goal: str, *, floors: bool = False) -> Expression:
        """Return what a goal counts; with `floors`, what holds whatever the goals before are."""
        factors = self.floors[goal] if floors and goal in self.floors else self.sums[goal]
        constant = self.constants[goal]
        return pulp.LpAffineExpression(factors, constant=constant) if factors else constant

    def all_pods(self, groups: int) -> Expression:
        """Return the pods of the first groups of all gangs, as a number to minimise."""
        factors: Factors = {}
        for (_, at, _), mine in self.pods.items():
            for variable, factor in mine.items() if at < groups else ():
                factors[variable] = factors.get(variable, 0) - factor
        return pulp.LpAffineExpression(factors) if factors else 0

    def keep(self, goal: str, value: int, *, floors: bool = False) -> None:
        """Demand that a goal is not above a value."""
        expression = self.expression(goal, floors=floors)
        if not isinstance(expression, int):
            self._numbers += 1
            self.lp.addConstraint(expression <= value, f"k_{self._numbers}")

    def start_from(self, solution: GangSolution) -> None:
        """Give the solver a solution to begin with."""
        start = counted(self.problem, solution)
        for variable, keys, size in self._known:
            value = sum(start[key] for key in keys)
            variable.varValue = value // size if size else int(value > 0)

    def relaxed(self, expression: Expression, budget: Budget) -> int:
        """Return what no solution undercuts in a goal, by the linear relaxation."""
        if isinstance(expression, int) or budget.reached:
            return expression if isinstance(expression, int) else 0
        self.lp.setObjective(expression)
        rows = Rows.of(self.lp)
        return 0 if budget.cancelled else max(0, relaxed_bound(rows, budget) or 0)

    def minimise(self, expression: Expression, budget: Budget) -> Outcome:
        """Minimise a goal over the integer model."""
        return minimise(self.lp, expression, self.solver, budget, options=options_of(len(self._known), budget))

    def read(self) -> GangSolution:
        """Return the solution that the variables hold."""

        def total(factors: Factors) -> int:
            return sum(factor * int(variable.varValue or 0) for variable, factor in factors.items())

        gangs = {key: count for key, v in self.gangs.items() if (count := int(v.varValue or 0))}
        groups = {key: count for key, v in self.groups.items() if (count := int(v.varValue or 0))}
        pods = {key: count for key, factors in self.pods.items() if (count := total(factors))}
        ordinary: list[dict[int, int]] = [{} for _ in self.problem.needs.ordinary]
        for (number, region), variable in self.ordinary.items():
            if count := int(variable.varValue or 0):
                ordinary[number][region] = count
        nodes: dict[str, Counts] = {}
        for key, mine in self.cells.items():
            names = iter(self.problem.cells[key])
            for counts, variable in sorted(mine.items(), key=lambda row: (-sum(row[0]), row[0])):
                nodes.update((next(names), counts) for _ in range(int(variable.varValue or 0)))
        return GangSolution(hand_out(self.problem, gangs, groups, pods), ordinary, nodes)
