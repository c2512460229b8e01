"""The integer model of gangs: which gang in which domain, which pods in which region, what its nodes take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import le, mul
from typing import Any

from msgspec.structs import replace

from dra_lab.model.goals import BEYOND, DOMAINS, GANGS, LEVELS, NODES
from dra_lab.planner.budget import Budget
from dra_lab.planner.gangs.goals import counts_pods, fewest, priority_of, wanted
from dra_lab.planner.gangs.levels import WHOLE, Path
from dra_lab.planner.gangs.needs import GangNeed, GroupNeed, splits
from dra_lab.planner.gangs.problem import GangProblem, GangSolution, Instance, On
from dra_lab.planner.node.solver import minimise, relaxed_bound
from dra_lab.planner.node.solver_outcome import Outcome, Rows
from dra_lab.planner.node.variables import pulp
from dra_lab.planner.places.counting import Counts

Factors = dict[Any, int]
"""Variables with their factors."""

COST = "cost"
"""The objective that counts what nodes that are added cost."""

_OPTIONS: Mapping[str, object] = {"mip_detect_symmetry": False, "mip_heuristic_effort": 0.2}


class GangModel:
    """The model over what may exist, which bounds what counts pods; nodes hold up to some numbers of pods.

    With `values`, the model over what was found of nodes: they have numbers of pods and what these are worth.
    """

    def __init__(self, problem: GangProblem, solver: str, budget: Budget, *, values: bool = False) -> None:
        """Make the model, or a part of it if the budget is reached; then no solver is asked either."""
        self.problem, self.solver, self.values = problem, solver, values
        self.lp: Any = pulp.LpProblem("gangs", pulp.LpMinimize)
        self._numbers = 0
        self.gangs: dict[tuple[int, Path], Any] = {}
        self.groups: dict[tuple[int, int, Path], Any] = {}
        self.pods: dict[tuple[int, int, int], Any] = {}
        self.ordinary: dict[tuple[int, int], Any] = {}
        self.cells: dict[On, dict[Counts, Any]] = {}
        self.sums: dict[str, Factors] = {goal: {} for goal in (*problem.needs.goals, COST)}
        self.constants: dict[str, int] = dict.fromkeys(self.sums, 0)
        self._taken: dict[tuple[int, int], Factors] = {}
        self._largest: dict[tuple[int, tuple[bool, ...]], tuple[Counts, ...]] = {}
        slots = problem.new.slots
        self.nodes = [self._integer(slot.most) for slot in slots]
        self.sums[COST] = {variable: slot.cost for variable, slot in zip(self.nodes, slots, strict=True)}
        self._slots: dict[int, list[int]] = {}
        for at, slot in enumerate(slots):
            self._slots.setdefault(slot.region, []).append(at)
        self._add_pods(budget)
        self._add_nodes(budget)
        self._count()

    # ------------------------------------------------------------------ variables and rows

    def _integer(self, most: int) -> Any:
        self._numbers += 1
        return self.lp.add_variable(f"v_{self._numbers}", 0, most, pulp.LpInteger)

    def _row(self, factors: Mapping[Any, int], limit: int, *, equal: bool = False) -> None:
        left = {variable: factor for variable, factor in factors.items() if factor}
        if not left and (limit < 0 or (equal and limit)):
            # A row that nothing keeps, in the form that the solver reads.
            left, limit = {self._integer(0): 1}, -1
        if left:
            self._numbers += 1
            expression = pulp.LpAffineExpression(left)
            self.lp.addConstraint(expression == limit if equal else expression <= limit, f"r_{self._numbers}")

    def _take(self, region: int, kind: int, factors: Mapping[Any, int]) -> None:
        _add(self._taken.setdefault((region, kind), {}), factors)

    # ------------------------------------------------------------------ gangs and ordinary pods

    def _add_pods(self, budget: Budget) -> None:
        for number, need in enumerate(self.problem.needs.gangs):
            if not budget.reached:
                self._add_gang(number, need)
        for number, (kind, pods) in enumerate(self.problem.needs.ordinary):
            for region, most in enumerate(self.problem.capacity):
                if most[kind]:
                    self.ordinary[number, region] = variable = self._integer(min(most[kind], pods))
                    self._take(region, kind, {variable: 1})
            self._row({v: 1 for (n, _), v in self.ordinary.items() if n == number}, pods)

    def _add_gang(self, number: int, need: GangNeed) -> None:
        problem = self.problem
        for path, regions in problem.inside[need.required].items():
            caps = [problem.pods_in(regions, kind) // pods for kind, pods in need.least_pods.items()]
            if most := min([need.copies, *caps]):
                self.gangs[number, path] = gang = self._integer(most)
                for at, group in enumerate(need.groups):
                    self._add_group((number, at), group, regions, gang, most)
                for preference in need.preferences:
                    self._add_preference(number, need, preference, regions, gang)
                self._need_nodes(need, regions, gang, most)
        self._row({v: 1 for (n, _), v in self.gangs.items() if n == number}, need.copies)

    def _add_group(self, key: tuple[int, int], group: GroupNeed, inside: Sequence[int], gang: Any, most: int) -> None:
        problem, (number, _) = self.problem, key
        tiers = [tier for tier in (group.required, *(tier for _, tier in group.slices)) if tier >= 0]
        able = [region for region in inside if all(problem.keys[region][tier] is not None for tier in tiers)]
        if group.required < 0:
            self._place_group(key, group, able, gang, most)
        else:
            split = {gang: -1}
            for path, regions in problem.parted(able, group.required).items():
                shared = self.groups.get((number, group.same_as, path))
                if group.same_as < 0 or shared is not None:
                    self.groups[*key, path] = here = self._integer(most) if shared is None else shared
                    split[here] = 1
                    self._place_group(key, group, regions, here, most)
            self._row(split, 0, equal=True)
        for size, tier in group.slices:
            for regions in problem.parted(able, tier).values():
                pods = [self.pods[*key, region] for region in regions]
                self._row({**dict.fromkeys(pods, 1), self._integer(most * group.most // size): -size}, 0, equal=True)

    def _place_group(
        self, key: tuple[int, int], group: GroupNeed, regions: Sequence[int], gang: Any, most: int
    ) -> None:
        """Add the pods of a group in regions; `gang` counts the gangs whose group is there, `most` at most."""
        for region in regions:
            cap = min(self.problem.capacity[region][group.kind], most * group.most)
            self.pods[*key, region] = self._integer(cap)
            self._take(region, group.kind, {self.pods[*key, region]: 1})
        every = [self.pods[*key, region] for region in regions]
        self._row({**dict.fromkeys(every, 1), gang: -group.most}, 0, equal=group.least == group.most)
        if group.least < group.most:
            self._row({**dict.fromkeys(every, -1), gang: group.least}, 0)

    def _add_preference(
        self, number: int, need: GangNeed, preference: tuple[int, tuple[int, ...]], regions: Sequence[int], gang: Any
    ) -> None:
        tier, groups = preference
        if not splits(self.problem.needs.tiers, need, preference):
            _add(self.sums[LEVELS], {gang: 1})
            return
        whole, sizes = sum(need.groups[at].most for at in groups), []
        kinds, every = {need.groups[at].kind for at in groups}, Factors()
        for mine in self.problem.preferred(regions, tier):
            keys = [(number, at, region) for at in groups for region in mine]
            pods = {self.pods[key]: 1 for key in keys if key in self.pods}
            most = min(whole, sum(self.problem.pods_in(mine, kind) for kind in kinds))
            if pods and most:
                used = self._integer(1)
                self._row({**pods, used: -most}, 0)
                self.sums[LEVELS][used] = 1
                every[used] = -1
                sizes.append(most)
        # Without this, the relaxation uses parts of domains.
        self._row({**every, gang: fewest(sizes, sum(need.groups[at].least for at in groups))}, 0)

    # ------------------------------------------------------------------ nodes

    def _add_nodes(self, budget: Budget) -> None:
        """Let the nodes of each region have its pods, or hold them: those of the cluster, and those that are added."""
        new = self.problem.new
        for at, nodes in self.problem.cells.items():
            if budget.reached:
                return
            if self.values:
                self._have(at, len(nodes))
            else:
                self._hold(at, len(nodes))
        for variable, slot in zip(self.nodes, new.slots, strict=True):
            self._hold(On(slot.region, slot.profile), slot.most, variable)
        for slots, limit in new.limits:
            self._row({self.nodes[slot]: 1 for slot in slots}, limit)
        for groups, most in new.some_of:
            used = [self._integer(1) for _ in groups]
            for one, number in ((one, number) for one, group in zip(used, groups, strict=True) for number in group):
                self._row({self.nodes[number]: 1, one: -new.slots[number].most}, 0)
            self._row(dict.fromkeys(used, 1), most)
        for factors in self._taken.values():
            self._row(factors, 0, equal=self.values)

    def _have(self, at: On, count: int) -> None:
        """Let nodes have numbers of pods of which a way was found, with their values."""
        mine: dict[Counts, Any] = {}
        for counts, values in self.problem.profiles[at.profile].found.items():
            if any(counts) and all((at.region, kind) in self._taken for kind, pods in enumerate(counts) if pods):
                mine[counts] = variable = self._integer(count)
                for kind, pods in enumerate(counts):
                    if pods:
                        self._take(at.region, kind, {variable: -pods})
                for goal, value in zip((*self.problem.device, NODES), (*values, 1), strict=True):
                    _add(self.sums[goal], {variable: value})
        self.cells[at] = mine
        self._row(dict.fromkeys(mine.values(), 1), count)

    def _largest_in(self, at: On) -> tuple[Counts, ...]:
        """Return the largest numbers of the pods that may be in a region that nodes of a profile hold."""
        asked = tuple((at.region, kind) in self._taken for kind in range(self.problem.kinds))
        if (at.profile, asked) not in self._largest:
            profile = self.problem.profiles[at.profile]
            numbers = profile.numbers or ()
            self._largest[at.profile, asked] = _largest({tuple(map(mul, counts, asked)) for counts in numbers})
        return self._largest[at.profile, asked]

    def _hold(self, at: On, count: int, nodes: Any = None) -> None:
        """Let nodes hold pods up to some numbers: `count` of them, or as many as the variable `nodes` says."""
        profile = self.problem.profiles[at.profile]
        if profile.numbers is None:
            # They are too many to list, so the nodes hold what counting allows.
            single = [self._integer(most * count) for most in profile.bound]
            for kind, variable in enumerate(single):
                if (at.region, kind) in self._taken:
                    self._take(at.region, kind, {variable: -1})
            rows = [(dict(zip(single, weights, strict=True)), limit) for weights, limit in profile.limits.rows]
        else:
            each = {self._integer(count): counts for counts in self._largest_in(at)}
            for variable, counts in each.items():
                for kind, pods in enumerate(counts):
                    if pods:
                        self._take(at.region, kind, {variable: -pods})
            rows = [(dict.fromkeys(each, 1), 1)]
        for factors, limit in rows:
            self._row(factors if nodes is None else {**factors, nodes: -limit}, limit * count * (nodes is None))

    def _need_nodes(self, need: GangNeed, regions: Sequence[int], gang: Any, most: int) -> None:
        """Add what the relaxation does not see: a further gang in a domain needs whole new nodes."""
        slots = [at for region in regions for at in self._slots.get(region, ())]
        for kind, pods in need.least_pods.items() if slots else ():
            each = max(self.problem.profiles[self.problem.new.slots[at].profile].bound[kind] for at in slots)
            free = sum(self.problem.there[region][kind] for region in regions)
            if each and most > free // pods:
                # How many nodes each further gang needs at least, on average over any number of them.
                gangs = range(1, most - free // pods + 1)
                nodes = [-(-(number * pods - free % pods) // each) for number in gangs]
                least, number = min(zip(nodes, gangs, strict=True), key=lambda row: row[0] / row[1])
                self._row({**{self.nodes[at]: -number for at in slots}, gang: least}, least * (free // pods))

    # ------------------------------------------------------------------ goals

    def _count(self) -> None:
        needs = self.problem.needs
        for goal in filter(counts_pods, self.problem.needs.goals):
            name, priority = priority_of(goal, needs)
            mine = {at: need for at, need in enumerate(needs.gangs) if need.priority == priority}
            self.constants[goal] = wanted(needs, goal)
            if name == GANGS:
                self.sums[goal] = {v: -1 for (at, _), v in self.gangs.items() if at in mine}
            elif name == BEYOND:
                self.sums[goal] = {v: -1 for (at, _, _), v in self.pods.items() if at in mine}
                for (at, _), gang in self.gangs.items():
                    if at in mine:
                        self.sums[goal][gang] = sum(group.least for group in mine[at].groups)
            else:
                self.sums[goal] = dict.fromkeys(self.ordinary.values(), -1)
        self._count_domains()

    def _count_domains(self) -> None:
        inside: dict[tuple[int, Path], list[Any]] = {}
        for (number, path), gang in self.gangs.items():
            tier = self.problem.needs.gangs[number].required
            if tier != WHOLE:
                inside.setdefault(self.problem.needs.counted(tier, path), []).append(gang)
        for gangs in inside.values():
            used = self._integer(1)
            for gang in gangs:
                self._row({gang: 1, used: -int(gang.upBound)}, 0)
            self.sums[DOMAINS][used] = 1

    def keep(self, goal: str, value: int) -> None:
        """Demand that a goal is not above a value."""
        self._row(self.sums[goal], value - self.constants[goal])

    def minimise(self, goal: str, budget: Budget, have: int | None = None) -> Outcome:
        """Minimise a goal; only the relaxation is solved if it shows that `have` is the best value."""
        factors, constant = self.sums[goal], self.constants[goal]
        if budget.reached:
            return Outcome(None, None)
        expression, bound = pulp.LpAffineExpression(factors, constant=constant) if factors else constant, None
        if have is not None:
            if not factors:
                return Outcome(constant, constant)
            self.lp.setObjective(expression)
            bound = relaxed_bound(Rows.of(self.lp), budget)
            if bound is not None and bound >= have:
                return Outcome(None, bound)
        outcome = minimise(self.lp, expression, self.solver, budget, options=_OPTIONS)
        known = [one for one in (bound, outcome.bound) if one is not None]
        return replace(outcome, bound=max(known, default=None))

    # ------------------------------------------------------------------ answers

    def added(self) -> list[int]:
        """Return the number of nodes of each slot."""
        return [_value(variable) for variable in self.nodes]

    def read(self) -> GangSolution:
        """Return the solution that the variables of a model with values have."""
        gangs = {key: count for key, v in self.gangs.items() if (count := _value(v))}
        groups = {key: count for key, v in self.groups.items() if (count := _value(v))}
        ordinary: list[Counter[int]] = [Counter() for _ in self.problem.needs.ordinary]
        for (number, region), variable in self.ordinary.items():
            if count := _value(variable):
                ordinary[number][region] = count
        nodes: dict[str, Counts] = {}
        for key, mine in self.cells.items():
            names = iter(self.problem.cells[key])
            for counts, variable in sorted(mine.items(), key=lambda row: (-sum(row[0]), row[0])):
                nodes.update((next(names), counts) for _ in range(_value(variable)))
        pods = {key: count for key, v in self.pods.items() if (count := _value(v))}
        return GangSolution(_hand_out(self.problem, gangs, groups, pods), ordinary, nodes)


def _value(variable: Any) -> int:
    return int(variable.varValue or 0)


def _add(row: Factors, factors: Mapping[Any, int]) -> None:
    for variable, factor in factors.items():
        row[variable] = row.get(variable, 0) + factor


def _largest(every: Iterable[Counts]) -> tuple[Counts, ...]:
    """Return the numbers of pods that no other ones contain."""
    kept: list[Counts] = []
    for counts in sorted(every, key=lambda counts: (-sum(counts), counts)):
        if any(counts) and not any(all(map(le, counts, more)) for more in kept):
            kept.append(counts)
    return tuple(kept)


def _hand_out(
    problem: GangProblem,
    gangs: Mapping[tuple[int, Path], int],
    groups: Mapping[tuple[int, int, Path], int],
    pods: Mapping[tuple[int, int, int], int],
) -> list[Instance]:
    """Return each gang with its pods; slices are cut where domains of their levels end.

    Each need has a number of `gangs` in each domain, of `groups` in each domain of a level of theirs, and of `pods` of
    each group in each region.
    """
    found = []
    for (number, path), count in sorted(gangs.items()):
        need = problem.needs.gangs[number]
        regions = problem.inside[need.required][path]
        rows: list[list[Counter[int]]] = []
        for at, group in enumerate(need.groups):
            mine = Counter({region: pods[number, at, region] for region in regions if (number, at, region) in pods})
            if group.required < 0:
                rows.append(list(_parts(problem, group, mine, count)))
                continue
            inner = problem.parted(regions, group.required)
            times = {one: groups.get((number, at, one), 0) for one in inner}
            own = {one: Counter({region: mine[region] for region in inner[one]}) for one in inner}
            rows.append([part for one in inner for part in _parts(problem, group, own[one], times[one])])
        found += [Instance(number, path, [row[one] for row in rows]) for one in range(count)]
    return found


def _parts(problem: GangProblem, group: GroupNeed, pods: Counter[int], gangs: int) -> Iterator[Counter[int]]:
    """Yield the pods of each of several gangs: the minimum for all, and what is beyond it for the first ones."""
    order = sorted(pods, key=lambda region: (*(str(problem.keys[region][tier]) for _, tier in group.slices), region))
    each = iter([region for region in order for _ in range(pods[region])])
    beyond = pods.total() - gangs * group.least
    for _ in range(gangs):
        more = min(beyond, group.most - group.least)
        beyond -= more
        yield Counter(islice(each, group.least + more))
