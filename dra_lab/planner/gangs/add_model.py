"""The integer model of nodes to add: how many of each type in each place, so that every gang has a domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.gangs.add_bound import parted, pods_of, slope_of
from dra_lab.planner.gangs.add_problem import AddProblem
from dra_lab.planner.gangs.needs import GroupNeed, Path
from dra_lab.planner.gangs.problem import Profile
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.solver import minimise, relaxed_bound
from dra_lab.planner.node.solver_outcome import Outcome, Rows
from dra_lab.planner.node.variables import Expression

Factors = dict[Any, int]
"""Variables with their factors."""


class AddModel:
    """The model over what was found of nodes; with `least`, over what may exist: its value bounds the cost."""

    def __init__(self, problem: AddProblem, solver: str, *, least: bool) -> None:
        """Make the model."""
        self.problem, self.solver, self.least = problem, solver, least
        self.lp: Any = pulp.LpProblem("nodes", pulp.LpMinimize)
        self._numbers = 0
        self._held = [self._patterns(profile) for profile in problem.base.profiles]
        self.nodes = [self._integer(slot.most) for slot in problem.slots]
        self._limit_nodes()
        gangs = self._place()
        for number, need in enumerate(problem.base.needs.gangs):
            self._row({v: 1 for (one, _), v in gangs.items() if one == number}, need.copies, equal=True)

    # ------------------------------------------------------------------ variables and rows

    def _integer(self, most: int) -> Any:
        self._numbers += 1
        return self.lp.add_variable(f"v_{self._numbers}", 0, most, pulp.LpInteger)

    def _row(self, factors: Mapping[Any, int], limit: int, *, equal: bool = False) -> None:
        left = pulp.LpAffineExpression({v: f for v, f in factors.items() if f})
        if not left and (limit < 0 or (equal and limit)):
            # A row that nothing keeps, in the form that the solver reads.
            left, limit = pulp.LpAffineExpression({self._integer(0): 1}), -1
        if left:
            self._numbers += 1
            self.lp.addConstraint(left == limit if equal else left <= limit, f"r_{self._numbers}")

    def _patterns(self, profile: Profile) -> list[Counts] | None:
        """Return the largest numbers of pods of a node: all that fits is at most one of them. None: not listed."""
        every = profile.least if self.least else profile.found
        if every is None:
            return None
        kept: list[Counts] = []
        for counts in sorted(every, key=lambda counts: (-sum(counts), counts)):
            if any(counts) and not any(all(n <= m for n, m in zip(counts, more, strict=True)) for more in kept):
                kept.append(counts)
        return kept

    def _limit_nodes(self) -> None:
        problem = self.problem
        for slots, limit in problem.limits:
            self._row({self.nodes[slot]: 1 for slot in slots}, limit)
        for groups, most in problem.interchangeable:
            self._use_in_order([[self.nodes[slot] for slot in group] for group in groups], most)
        for chain in problem.chains:
            for first, second in pairwise(chain):
                self._row({self.nodes[second]: 1, self.nodes[first]: -1}, 0)
        if problem.most_cost is not None:
            costs = {variable: slot.cost for variable, slot in zip(self.nodes, problem.slots, strict=True)}
            self._row(costs, problem.most_cost)

    def _use_in_order(self, groups: Sequence[Sequence[Any]], most: int | None) -> None:
        if most is None:
            # New domains of one kind are interchangeable.
            for first, second in pairwise(groups):
                self._row({**dict.fromkeys(second, 1), **dict.fromkeys(first, -1)}, 0)
            return
        used: Factors = {}
        for group in groups:
            one = self._integer(1)
            used[one] = 1
            for variable in group:
                self._row({variable: 1, one: -int(variable.upBound)}, 0)
        self._row(used, most)

    # ------------------------------------------------------------------ gangs

    def _place(self) -> dict[tuple[int, Path], Any]:
        """Add the pods of all gangs and workloads; return the gangs by domain."""
        takes: dict[tuple[int, int], Factors] = {}
        capacity = self._capacity()
        found: dict[tuple[int, Path], Any] = {}
        needs = self.problem.base.needs
        for number, need in enumerate(needs.gangs):
            for path, inside in parted(self.problem, range(len(capacity)), need.required).items():
                caps = [sum(capacity[r][kind] for r in inside) // pods for kind, pods in pods_of(need).items()]
                most = min([need.copies, *caps])
                if most:
                    found[number, path] = self._integer(most)
                    inner: list[dict[Path, Any]] = []
                    for group in need.groups:
                        inner.append(
                            self._add_group(group, inside, (found[number, path], most), takes, capacity, inner)
                        )
        for kind, wanted in needs.ordinary:
            each = {r: self._integer(min(wanted, most[kind])) for r, most in enumerate(capacity) if most[kind]}
            for region, variable in each.items():
                _add(takes.setdefault((region, kind), {}), {variable: 1})
            self._row(dict.fromkeys(each.values(), 1), wanted, equal=True)
        self._hold(takes)
        self._need_nodes(found)
        return found

    def _capacity(self) -> list[list[int]]:
        """Return for each region the most pods of each kind that may be there alone, on added nodes too."""
        capacity = [[0] * self.problem.base.kinds for _ in self.problem.keys]
        counts: Counter[tuple[int, int]] = Counter({key: len(n) for key, n in self.problem.base.cells.items()})
        for slot in self.problem.slots:
            counts[slot.region, slot.profile] += slot.most
        for (region, profile), count in counts.items():
            bound = self.problem.base.profiles[profile].bound
            capacity[region] = [have + count * most for have, most in zip(capacity[region], bound, strict=True)]
        return capacity

    def _add_group(
        self,
        group: GroupNeed,
        inside: Sequence[int],
        gangs: tuple[Any, int],
        takes: dict[tuple[int, int], Factors],
        capacity: Sequence[Sequence[int]],
        before: Sequence[Mapping[Path, Any]],
    ) -> dict[Path, Any]:
        """Add the pods of a group of the gangs that one variable counts; return how many of them each domain has.

        `before` has that for the groups before it.
        """
        gang, most = gangs
        tiers = [tier for tier in (group.required, *(tier for _, tier in group.slices)) if tier >= 0]
        able = [region for region in inside if all(self.problem.keys[region][tier] is not None for tier in tiers)]
        pods: dict[int, Factors] = {}
        found: dict[Path, Any] = {}
        if group.required < 0:
            pods = self._add_pods(group, able, gang, most, capacity)
        else:
            known = before[group.same_as] if group.same_as >= 0 else None
            for path, regions in parted(self.problem, able, group.required).items():
                if known is None or path in known:
                    found[path] = self._integer(most) if known is None else known[path]
                    pods |= self._add_pods(group, regions, found[path], most, capacity)
            self._row({gang: -1, **dict.fromkeys(found.values(), 1)}, 0, equal=True)
        for size, tier in group.slices:
            for regions in parted(self.problem, able, tier).values():
                every: Factors = {self._integer(most * group.least // size): -size}
                for region in regions:
                    _add(every, pods.get(region, {}))
                self._row(every, 0, equal=True)
        for region, factors in pods.items():
            _add(takes.setdefault((region, group.kind), {}), factors)
        return found

    def _add_pods(
        self, group: GroupNeed, regions: Sequence[int], gang: Any, most: int, capacity: Sequence[Sequence[int]]
    ) -> dict[int, Factors]:
        if len(regions) == 1:
            return {regions[0]: {gang: group.least}}
        pods = {r: self._integer(min(most * group.least, capacity[r][group.kind])) for r in regions}
        self._row({**dict.fromkeys(pods.values(), 1), gang: -group.least}, 0, equal=True)
        return {region: {variable: 1} for region, variable in pods.items()}

    # ------------------------------------------------------------------ nodes

    def _hold(self, takes: dict[tuple[int, int], Factors]) -> None:
        """Demand that the nodes of each region hold its pods."""
        fixed: Counter[tuple[int, int]] = Counter()
        for (region, profile), nodes in self.problem.base.cells.items():
            self._hold_on(region, profile, len(nodes), None, takes, fixed)
        for variable, slot in zip(self.nodes, self.problem.slots, strict=True):
            if slot.most:
                self._hold_on(slot.region, slot.profile, slot.most, variable, takes, fixed)
        for key, factors in takes.items():
            self._row(factors, fixed[key])

    def _hold_on(
        self,
        region: int,
        profile: int,
        count: int,
        nodes: Any,
        takes: dict[tuple[int, int], Factors],
        fixed: Counter[tuple[int, int]],
    ) -> None:
        """Let nodes of one profile hold pods: `count` of them, or as many as the variable `nodes` says."""
        patterns = self._held[profile]
        if patterns is None:
            self._hold_uncounted(region, profile, count, nodes, takes)
            return
        patterns = [one for one in patterns if any(n and (region, kind) in takes for kind, n in enumerate(one))]
        if len(patterns) == 1:
            for kind, pods in enumerate(patterns[0]):
                if pods and (region, kind) in takes:
                    if nodes is None:
                        fixed[region, kind] += count * pods
                    else:
                        _add(takes[region, kind], {nodes: -pods})
            return
        every: Factors = {} if nodes is None else {nodes: -1}
        for pattern in patterns:
            variable = self._integer(count)
            every[variable] = 1
            for kind, pods in enumerate(pattern):
                if pods and (region, kind) in takes:
                    _add(takes[region, kind], {variable: -pods})
        self._row(every, count if nodes is None else 0)

    def _hold_uncounted(
        self, region: int, profile: int, count: int, nodes: Any, takes: dict[tuple[int, int], Factors]
    ) -> None:
        """Let nodes hold as many pods as counting allows."""
        known = self.problem.base.profiles[profile]
        single = {k: self._integer(m * count) for k, m in enumerate(known.bound) if m and (region, k) in takes}
        for kind, variable in single.items():
            _add(takes[region, kind], {variable: -1})
        for weights, limit in known.rows:
            factors: Factors = {variable: weights[kind] for kind, variable in single.items()}
            if nodes is not None:
                factors[nodes] = -limit
            self._row(factors, limit * count if nodes is None else 0)
        if nodes is not None:
            for kind, variable in single.items():
                self._row({variable: 1, nodes: -known.bound[kind]}, 0)

    def _need_nodes(self, gangs: Mapping[tuple[int, Path], Any]) -> None:
        """Add what the relaxation does not see: a further gang in a domain needs whole nodes."""
        problem = self.problem
        have: dict[int, list[int]] = {region: [0] * problem.base.kinds for region in range(len(problem.keys))}
        for (region, profile), nodes in problem.base.cells.items():
            bound = problem.base.profiles[profile].bound
            have[region] = [n + len(nodes) * most for n, most in zip(have[region], bound, strict=True)]
        inside: dict[int, list[int]] = {}
        for number, slot in enumerate(problem.slots):
            inside.setdefault(slot.region, []).append(number)
        for (number, path), variable in gangs.items():
            need = problem.base.needs.gangs[number]
            regions = parted(problem, range(len(problem.keys)), need.required)[path]
            slots = [slot for region in regions for slot in inside.get(region, ())]
            for kind, pods in pods_of(need).items():
                each = max((problem.base.profiles[problem.slots[s].profile].bound[kind] for s in slots), default=0)
                free = sum(have[region][kind] for region in regions)
                if each and (most := int(variable.upBound) - free // pods) > 0:
                    slope = slope_of(pods, free, each, most, self.problem.sizes.add_steps)
                    factors = {self.nodes[slot]: -slope.denominator for slot in slots}
                    self._row({**factors, variable: slope.numerator}, slope.numerator * (free // pods))

    # ------------------------------------------------------------------ answers

    @property
    def cost(self) -> Expression:
        """Return the cost of all nodes that are added."""
        factors = {variable: slot.cost for variable, slot in zip(self.nodes, self.problem.slots, strict=True)}
        return pulp.LpAffineExpression(factors) if factors else 0

    def relaxed(self, budget: Budget) -> int:
        """Return what no answer undercuts, by the linear relaxation."""
        if isinstance(self.cost, int) or budget.reached:
            return 0
        self.lp.setObjective(self.cost)
        return max(0, relaxed_bound(Rows.of(self.lp), budget) or 0)

    def minimise(self, budget: Budget) -> Outcome:
        """Minimise the cost."""
        return minimise(self.lp, self.cost, self.solver, budget)

    def read(self) -> list[int]:
        """Return the number of nodes of each slot."""
        return [int(variable.varValue or 0) for variable in self.nodes]


def _add(row: Factors, factors: Mapping[Any, int]) -> None:
    for variable, factor in factors.items():
        row[variable] = row.get(variable, 0) + factor
