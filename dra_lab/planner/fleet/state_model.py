"""The integer model of given numbers of pods on one tree: every pod is a path through NUMA nodes and units.

A pod's path begins whole in one NUMA node, or with the first of several. An arc takes one piece: what the pod takes on
one root, or one unit of a pool. What pieces take on a root is a path too, through what is left there. So the model has
no variable for a way of a whole pod, and none for a single root.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping
from itertools import product
from operator import add, le, sub
from types import MappingProxyType
from typing import Any

from dra_lab.planner.budget import Budget
from dra_lab.planner.engine import minimise
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Packed
from dra_lab.planner.fleet.pod_shapes import Shape, Vector
from dra_lab.planner.fleet.tree_fill import Fill, Values, devices_of_units, pools_of_units
from dra_lab.planner.fleet.tree_numbers import Recipe, Where, units_inside
from dra_lab.planner.fleet.tree_states import NumaState, TreeState, free_on
from dra_lab.planner.highs import relaxed_bound
from dra_lab.planner.modelling import pulp
from dra_lab.planner.outcome import Rows

_Place = tuple[Hashable, ...]


class StateModel:
    """Given numbers of pods of each workload on a tree, with the goals of devices as expressions."""

    def __init__(self, fill: Fill, state: TreeState, counts: Counts, *, at_most: bool = False) -> None:
        """Make the model of `counts` pods of each workload, or of `at_most` so many."""
        self.fill, self.state, self.counts, self.at_most = fill, state, counts, at_most
        self.lp = pulp.LpProblem("state", pulp.LpMinimize)
        self._rows: dict[Hashable, dict[Any, int]] = defaultdict(dict)
        self._goals: list[dict[Any, int]] = [{} for _ in fill.order]
        self._paths: dict[tuple[int, int], dict[_Place, dict[tuple[_Place, int, Vector, Vector], Any]]] = {}
        self._roots: dict[tuple[int, Vector], dict[Vector, dict[Vector, Any]]] = {}
        self._number = 0
        vectors = {v for pod, shape in self._shapes() for v, _ in self._vectors(fill.tree.shapes[pod][shape])}
        for at, (_, roots) in enumerate(state):
            for root, many in Counter(roots).items():
                self._lay_root(at, root, many, sorted(vectors))
        for pod, shape in self._shapes():
            self._lay_pod(pod, shape)
        self._demand()

    def _shapes(self) -> Iterator[tuple[int, int]]:
        for pod, count in enumerate(self.counts):
            for shape in range(len(self.fill.tree.shapes[pod])) if count else ():
                yield pod, shape

    def _variable(self, most: int) -> Any:
        self._number += 1
        return self.lp.add_variable(f"x{self._number}", 0, most, pulp.LpInteger)

    @staticmethod
    def _vectors(shape: Shape) -> Iterator[tuple[Vector, Vector]]:
        """Yield the devices that a pod may take on one root, and the units that they are."""
        for units in product(*(range(unit.count + 1) if any(unit.root) else range(1) for unit in shape.units)):
            if any(units):
                yield devices_of_units(shape, units), units

    def _lay_root(self, at: int, root: Vector, many: int, vectors: list[Vector]) -> None:
        """Let pieces be taken of some equal roots: a path through what is left, for each of them at most."""
        arcs = self._roots[at, root] = {}
        todo, seen = [root], {root}
        while todo:
            have = todo.pop()
            arcs[have] = {}
            for vector in vectors:
                if not all(map(le, vector, have)):
                    continue
                left = tuple(map(sub, have, vector))
                variable = arcs[have][vector] = self._variable(many)
                self._rows["root", at, root, have][variable] = 1
                self._rows["root", at, root, left][variable] = -1
                self._rows["supply", at, vector][variable] = 1
                if left not in seen:
                    seen.add(left)
                    todo.append(left)

    def _lay_pod(self, pod: int, number: int) -> None:
        """Let pods of one shape take paths."""
        shape, state = self.fill.tree.shapes[pod][number], self.state
        need, nothing = shape.need, (0,) * len(shape.units)
        self._paths[pod, number] = defaultdict(dict)
        crossing = not shape.one_numa and sum(need) > 1 and len(state) > 1
        begun = {"alternatives": shape.alternatives, "preferences": shape.preferences, "numa": 1}
        lattice = list(product(*(range(count + 1) for count in need))) if crossing else []
        for at, numa in enumerate(state):
            alone = min(self.counts[pod], whole_inside(shape, numa))
            self._arc(pod, number, ("start",), ("whole", at, nothing), begun, most=alone)
            if crossing and at + 1 < len(state):
                self._arc(pod, number, ("start",), ("first", at, nothing), begun)
            for have in lattice:
                if have not in (need, nothing):
                    self._cross(pod, number, at, have)
            for devices, units in (*self._vectors(shape), *_pool_units(shape)):
                on_root = any(devices)
                fits = all(map(le, pools_of_units(shape, units), numa[0]))
                if fits and (not on_root or ("supply", at, devices) in self._rows):
                    for label in ("whole", "first", "later") if crossing else ("whole",):
                        self._lay_piece(pod, number, at, label, devices, units)

    def _lay_piece(self, pod: int, number: int, at: int, label: str, devices: Vector, units: Vector) -> None:
        """Let pods take units on one root, or of one pool, whatever they have so far."""
        shape = self.fill.tree.shapes[pod][number]
        need, nothing = shape.need, (0,) * len(units)
        on_root = any(devices)
        worth = {"roots": 1, "unpaired": self.fill.unpaired(shape, devices)} if on_root else {}
        if (label == "first" and at + 1 == len(self.state)) or (label == "later" and not at):
            return
        for have in product(*(range(count + 1) for count in need)):
            sum_of = tuple(map(add, have, units))
            if not all(map(le, sum_of, need)):
                continue
            if (label == "first" and sum_of == need) or (label == "later" and have == nothing):
                continue
            end: _Place = ("end",) if sum_of == need else (label, at, sum_of)
            arc = self._arc(pod, number, (label, at, have), end, worth, (at, devices, units))
            if on_root:
                self._rows["supply", at, devices][arc] = -1
            for kind, amount in enumerate(pools_of_units(shape, units)):
                if amount:
                    self._rows["pool", at, kind][arc] = amount

    def _cross(self, pod: int, number: int, at: int, have: Vector) -> None:
        """Let pods with some units pass over a NUMA node, enter it, or leave it for the next."""
        if at:
            self._arc(pod, number, ("at", at, have), ("later", at, have), {"numa": 1})
        if at + 1 < len(self.state):
            self._arc(pod, number, ("first", at, have), ("at", at + 1, have))
            if at:
                self._arc(pod, number, ("later", at, have), ("at", at + 1, have))
                self._arc(pod, number, ("at", at, have), ("at", at + 1, have))

    def _arc(
        self,
        pod: int,
        number: int,
        begin: _Place,
        end: _Place,
        worth: Mapping[str, int] = MappingProxyType({}),
        takes: tuple[int, Vector, Vector] = (-1, (), ()),
        *,
        most: int | None = None,
    ) -> Any:
        variable = self._variable(self.counts[pod] if most is None else most)
        self._paths[pod, number][begin][end, *takes] = variable
        if begin == ("start",):
            self._rows["count", pod][variable] = 1
        else:
            self._rows["path", pod, number, begin][variable] = -1
        if end != ("end",):
            self._rows["path", pod, number, end][variable] = 1
        for goal, name in enumerate(self.fill.order):
            if worth.get(name):
                self._goals[goal][variable] = worth[name]
        return variable

    def _demand(self) -> None:
        for key, factors in self._rows.items():
            assert isinstance(key, tuple)
            kind = key[0]
            whole = pulp.LpAffineExpression(factors)
            if kind == "path":
                self.lp.addConstraint(whole == 0)
            elif kind == "count":
                wanted = self.counts[key[1]]
                self.lp.addConstraint(whole <= wanted if self.at_most else whole == wanted)
            elif kind == "supply":
                self.lp.addConstraint(whole >= 0)
            elif kind == "pool":
                self.lp.addConstraint(whole <= self.state[key[1]][0][key[2]])
            else:
                _, at, root, have = key
                self.lp.addConstraint(whole <= (self.state[at][1].count(root) if have == root else 0))

    # ------------------------------------------------------------------ answers

    def solve(self, known: Values | None, lower: Values, solver: str, budget: Budget) -> tuple[Packed, Recipe | None]:
        """Return the best values of the pods, or what a limit leaves of it, and where they lie if that is new.

        `known` are values that were found, `lower` values that no way undercuts.
        """
        recipe: Recipe | None = None
        proven: list[int] = []
        for goal, factors in enumerate(self._goals):
            as_good = known is not None and known[:goal] == tuple(proven)
            if as_good and known is not None and tuple(proven) == lower[:goal] and known[goal] <= lower[goal]:
                proven.append(known[goal])
                self._keep(factors, known[goal])
                continue
            expression = pulp.LpAffineExpression(factors) if factors else 0
            self.lp.setObjective(pulp.LpAffineExpression(factors or dict.fromkeys(self.lp.variables()[:1], 0)))
            bound = max(
                relaxed_bound(Rows.of(self.lp), budget) or 0, lower[goal] if tuple(proven) == lower[:goal] else 0
            )
            if not as_good or known is None or known[goal] > bound:
                outcome = minimise(self.lp, expression, solver, budget)
                if outcome.infeasible and known is None:
                    return Packed(None), None
                bound = max(bound, outcome.bound or 0)
                if outcome.value is not None:
                    found = self._read()
                    worth = self.worth(found)
                    if known is None or worth < known:
                        known, recipe = worth, found
                if known is None or known[:goal] != tuple(proven) or known[goal] > bound:
                    return Packed(max(lower, (*proven, bound, *(0 for _ in lower[goal + 1 :]))), known), recipe
            if known[goal] < bound:
                # One of the two is wrong, and nothing is proven.
                return Packed(lower, known), recipe
            proven.append(known[goal])
            self._keep(factors, known[goal])
        return Packed(tuple(proven), known), recipe

    def most(
        self, known: int, solver: str, budget: Budget, worth: Mapping[tuple[int, int], int], limit: int
    ) -> tuple[int, int, Recipe | None]:
        """Return the most that pods are worth together, what no way exceeds, and where they lie if that is new.

        `worth` is that of one pod of each (workload, shape). `known` was found, and `limit` is not exceeded.
        """
        factors = {
            arc: -worth[key]
            for key, mine in self._paths.items()
            for arc in mine.get(("start",), {}).values()
            if worth[key]
        }
        expression = pulp.LpAffineExpression(factors)
        self.lp.setObjective(expression)
        relaxed = relaxed_bound(Rows.of(self.lp), budget)
        bound = limit if relaxed is None else min(limit, -relaxed)
        if known >= bound:
            return known, max(bound, known), None
        outcome = minimise(self.lp, expression, solver, budget)
        bound = bound if outcome.bound is None else min(bound, -outcome.bound)
        if outcome.value is None or -outcome.value <= known:
            return known, max(bound, known), None
        return -outcome.value, max(bound, -outcome.value), self._read()

    def _keep(self, factors: dict[Any, int], value: int) -> None:
        if factors:
            self.lp.addConstraint(pulp.LpAffineExpression(factors) <= value)

    def _read(self) -> Recipe:
        """Return where the pods of the solution lie."""
        offered = self._offered()
        found = []
        for (pod, number), arcs in self._paths.items():
            flow = {
                begin: {arc: int(variable.varValue) for arc, variable in mine.items() if variable.varValue}
                for begin, mine in arcs.items()
            }
            shape = self.fill.tree.shapes[pod][number]
            while flow.get(("start",)):
                pieces = []
                place: _Place = ("start",)
                while place != ("end",):
                    arc = next(iter(flow[place]))
                    flow[place][arc] -= 1
                    if not flow[place][arc]:
                        del flow[place][arc]
                    place, at, devices, units = arc
                    if units:
                        pieces.append((at, offered[at, devices].pop() if any(devices) else None, units))
                found.append((pod, number, _put_together(shape, pieces)))
        return tuple(sorted(found, key=lambda row: row[0]))

    def _offered(self) -> dict[tuple[int, Vector], list[int]]:
        """Return the roots on which pieces are taken, by NUMA node and devices."""
        found: dict[tuple[int, Vector], list[int]] = defaultdict(list)
        for (at, root), arcs in self._roots.items():
            flow = {have: {v: int(x.varValue) for v, x in mine.items() if x.varValue} for have, mine in arcs.items()}
            for number in (n for n, have in enumerate(self.state[at][1]) if have == root):
                left = root
                while flow.get(left):
                    vector = next(iter(flow[left]))
                    flow[left][vector] -= 1
                    if not flow[left][vector]:
                        del flow[left][vector]
                    found[at, vector].append(number)
                    left = tuple(map(sub, left, vector))
        return found

    def worth(self, recipe: Recipe) -> Values:
        """Return what pods are worth where they lie, counted anew."""
        total = self.fill.zero
        for pod, number, where in recipe:
            shape = self.fill.tree.shapes[pod][number]
            worth = self.fill.values(
                alternatives=shape.alternatives,
                preferences=shape.preferences,
                numa=len(where),
                roots=sum(len(roots) for _, _, roots in where),
                unpaired=sum(
                    self.fill.unpaired(shape, devices_of_units(shape, units))
                    for _, _, roots in where
                    for _, units in roots
                ),
            )
            total = tuple(map(add, total, worth))
        return total


def _pool_units(shape: Shape) -> Iterator[tuple[Vector, Vector]]:
    nothing = (0,) * len(shape.units[0].root)
    for number, unit in enumerate(shape.units):
        if any(unit.pool):
            yield nothing, tuple(int(at == number) for at in range(len(shape.units)))


def _put_together(shape: Shape, pieces: list[tuple[int, int | None, Vector]]) -> Where:
    """Return the pieces of one pod by NUMA node and root."""
    nothing = (0,) * len(shape.units)
    found: dict[int, tuple[Vector, dict[int, Vector]]] = {}
    for at, root, units in pieces:
        pool, roots = found.setdefault(at, (nothing, {}))
        if root is None:
            found[at] = tuple(map(add, pool, units)), roots
        else:
            roots[root] = tuple(map(add, roots.get(root, nothing), units))
    return tuple((at, pool, tuple(sorted(roots.items()))) for at, (pool, roots) in sorted(found.items()))


def whole_inside(shape: Shape, numa: NumaState) -> int:
    """Return how many pods lie wholly on one NUMA node at most, alone there: the rounding that the relaxation lacks."""
    caps = [units_inside(unit, numa) // unit.count for unit in shape.units]
    needs = devices_of_units(shape, shape.need), pools_of_units(shape, shape.need)
    for have, need in zip(free_on((numa,), *map(len, needs)), needs, strict=True):
        caps.extend(amount // want for amount, want in zip(have, need, strict=True) if want)
    return min(caps)
