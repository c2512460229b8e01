"""The integer model of given numbers of pods on one tree: every pod is a path through NUMA nodes and units.

An arc of a pod's path takes what the pod has on one NUMA node. Inside the NUMA node that is a path too, whose arcs take
one piece each: what the pod takes on one root, or one unit of a pool. The devices that pieces take on a root are a path
through what is left there. So the model has no variable for a way of a whole pod, and none for a single root.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping
from itertools import product
from operator import add, le, sub
from typing import Any

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Packed
from dra_lab.planner.fleet.shapes import PodShape, Vector
from dra_lab.planner.fleet.tree_fill import Fill, Values, devices_of_units, pools_of_units
from dra_lab.planner.fleet.tree_numbers import Recipe, units_inside
from dra_lab.planner.fleet.tree_states import NumaState, TreeState, free_on
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.solver import minimise, relaxed_bound
from dra_lab.planner.node.solver_outcome import Rows

_Place = tuple[Hashable, ...]

_Taken = tuple[()] | tuple[int, Vector]
"""A NUMA node, and the units that a pod has there; () for none."""

_Step = tuple[int, int, Vector]
"""A NUMA node, how many of its zones a pod has passed, and the units that it has there."""

_Piece = tuple[int, Vector, Vector]
"""A zone, and the devices that a pod takes on one of its roots, () for none, and its units."""

_Flow = dict[Any, dict[Any, int]]
"""How often each arc is used, by the place from which it is found."""


class StateModel:
    """Given numbers of pods of each workload on a tree, with the goals of devices as expressions."""

    def __init__(self, fill: Fill, state: TreeState, counts: Counts) -> None:
        """Make the model of `counts` pods of each workload."""
        self.fill, self.state, self.counts = fill, state, counts
        self.lp = pulp.LpProblem("state", pulp.LpMinimize)
        self._rows: dict[Hashable, dict[Any, int]] = defaultdict(dict)
        self._goals: list[dict[Any, int]] = [{} for _ in fill.order]
        self._paths: dict[tuple[int, int], dict[_Place, dict[tuple[_Place, _Taken], Any]]] = {}
        self._inside: dict[tuple[int, int], dict[_Step, dict[tuple[_Step, _Piece], Any]]] = {}
        self._roots: dict[tuple[int, int, Vector], dict[Vector, dict[Vector, Any]]] = {}
        self._number = 0
        shapes = [fill.tree.shapes[pod][shape] for pod, shape in self._shapes()]
        vectors = sorted({vector for shape in shapes for vector, _ in self._vectors(shape)})
        # Roots are told apart only if a pod may not take two pieces of one.
        alone = any(map(_is_apart, shapes))
        self._zones = [[(n,) for n in range(len(roots))] if alone else [tuple(range(len(roots)))] for _, roots in state]
        for at, zones in enumerate(self._zones):
            for zone, members in enumerate(zones):
                for root, many in Counter(state[at][1][member] for member in members).items():
                    self._lay_root((at, zone, root), many, vectors)
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
    def _vectors(shape: PodShape) -> Iterator[tuple[Vector, Vector]]:
        """Yield the devices that a pod may take on one root, and the units that they are."""
        for units in product(*(range(unit.count + 1) if any(unit.root) else range(1) for unit in shape.units)):
            if any(units) and shape.fits_root(units):
                yield devices_of_units(shape, units), units

    def _lay_root(self, where: tuple[int, int, Vector], many: int, vectors: list[Vector]) -> None:
        """Let pieces be taken of some equal roots: a path through what is left, for each of them at most."""
        arcs = self._roots[where] = {}
        at, zone, root = where
        todo, seen = [root], {root}
        while todo:
            have = todo.pop()
            arcs[have] = {}
            for vector in vectors:
                if not all(map(le, vector, have)):
                    continue
                left = tuple(map(sub, have, vector))
                variable = arcs[have][vector] = self._variable(many)
                self._rows["root", where, have, many if have == root else 0][variable] = 1
                self._rows["root", where, left, 0][variable] = -1
                self._rows["supply", at, zone, vector][variable] = 1
                if left not in seen:
                    seen.add(left)
                    todo.append(left)

    def _lay_pod(self, pod: int, number: int) -> None:
        """Let pods of one shape take paths."""
        shape = self.fill.tree.shapes[pod][number]
        need, nothing = shape.need, (0,) * len(shape.units)
        self._paths[pod, number] = defaultdict(dict)
        self._inside[pod, number] = defaultdict(dict)
        begun = {"alternatives": shape.alternatives, "preferences": shape.preferences, "numa": 1}
        lattice = list(product(*(range(count + 1) for count in need)))
        so_far = {nothing}
        for at, numa in enumerate(self.state):
            last = at + 1 == len(self.state)
            inside = [units for units in lattice if _may_have(shape, units, numa)]
            self._lay_inside(pod, number, at, frozenset(inside))
            taken = [units for units in inside if any(units) and shape.fits_numa(units)]
            for have in sorted(so_far):
                for units in taken:
                    sum_of = tuple(map(add, have, units))
                    if not all(map(le, sum_of, need)) or (last and sum_of != need):
                        continue
                    begin: _Place = ("at", at, have) if any(have) else ("start",)
                    end: _Place = ("end",) if sum_of == need else ("at", at + 1, sum_of)
                    most = min(self.counts[pod], whole_inside(shape, numa)) if units == need else self.counts[pod]
                    arc = self._arc(pod, number, begin, end, {"numa": 1} if any(have) else begun, (at, units), most)
                    self._rows["inside", pod, number, (at, self._steps(shape, at), units)][arc] = -1
                if any(have) and not last:
                    self._arc(pod, number, ("at", at, have), ("at", at + 1, have), {}, (), self.counts[pod])
            following = (tuple(map(add, have, units)) for have in tuple(so_far) for units in taken)
            so_far.update(have for have in following if all(map(le, have, need)) and have != need)

    def _steps(self, shape: PodShape, at: int) -> int:
        """Return how many zones of a NUMA node a pod visits one after the other; 0 if it may go to any at any time."""
        return len(self._zones[at]) if _is_apart(shape) else 0

    def _lay_inside(self, pod: int, number: int, at: int, able: frozenset[Vector]) -> None:
        """Let pods take units on one NUMA node, piece by piece; `able` is what a pod may have there."""
        shape = self.fill.tree.shapes[pod][number]
        nothing = (0,) * len(shape.units)
        apart = self._steps(shape, at) > 0
        for zone in range(len(self._zones[at])):
            steps = (zone, zone + 1) if apart else (0, 0)
            for devices, units in self._vectors(shape):
                if ("supply", at, zone, devices) in self._rows:
                    self._lay_piece(pod, number, at, able, steps, (zone, devices, units))
            if apart:
                self._lay_piece(pod, number, at, able, steps, (zone, (), nothing))
        for units in _pool_units(shape):
            self._lay_piece(pod, number, at, able, (0, 0), (0, (), units))

    def _lay_piece(
        self, pod: int, number: int, at: int, able: frozenset[Vector], steps: tuple[int, int], piece: _Piece
    ) -> None:
        """Let pods go from one step to another with a piece, whatever they have so far on the NUMA node."""
        shape, (zone, devices, units) = self.fill.tree.shapes[pod][number], piece
        for have in sorted(able):
            sum_of = tuple(map(add, have, units))
            if sum_of not in able or not any(sum_of):
                continue
            begin, end = (at, steps[0], have), (at, steps[1], sum_of)
            arc = self._inside[pod, number][end][begin, piece] = self._variable(self.counts[pod])
            self._rows["inside", pod, number, end][arc] = 1
            if any(have):
                self._rows["inside", pod, number, begin][arc] = -1
            if devices:
                self._rows["supply", at, zone, devices][arc] = -1
                self._count({"roots": 1, "unpaired": self.fill.unpaired(shape, devices)}, arc)
            for kind, amount in enumerate(pools_of_units(shape, units)):
                if amount:
                    self._rows["pool", at, kind][arc] = amount

    def _arc(
        self, pod: int, number: int, begin: _Place, end: _Place, values: Mapping[str, int], taken: _Taken, most: int
    ) -> Any:
        """Let pods of one shape go on from a place of their path: `taken` is (NUMA node, units) or ()."""
        variable = self._variable(most)
        self._paths[pod, number][begin][end, taken] = variable
        if begin == ("start",):
            self._rows["count", pod][variable] = 1
        else:
            self._rows["path", pod, number, begin][variable] = -1
        if end != ("end",):
            self._rows["path", pod, number, end][variable] = 1
        self._count(values, variable)
        return variable

    def _count(self, values: Mapping[str, int], variable: Any) -> None:
        for goal, name in enumerate(self.fill.order):
            if values.get(name):
                self._goals[goal][variable] = values[name]

    def _demand(self) -> None:
        for key, factors in self._rows.items():
            assert isinstance(key, tuple)
            kind = key[0]
            whole = pulp.LpAffineExpression(factors)
            if kind in ("path", "inside"):
                self.lp.addConstraint(whole == 0)
            elif kind == "count":
                wanted = self.counts[key[1]]
                self.lp.addConstraint(whole == wanted)
            elif kind == "supply":
                self.lp.addConstraint(whole >= 0)
            elif kind == "pool":
                self.lp.addConstraint(whole <= self.state[key[1]][0][key[2]])
            else:
                self.lp.addConstraint(whole <= key[3])

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
                    values = self.recounted(found)
                    if known is None or values < known:
                        known, recipe = values, found
                if known is None or known[:goal] != tuple(proven) or known[goal] > bound:
                    return Packed(max(lower, (*proven, bound, *(0 for _ in lower[goal + 1 :]))), known), recipe
            if known[goal] < bound:
                # One of the two is wrong, and nothing is proven.
                return Packed(lower, known), recipe
            proven.append(known[goal])
            self._keep(factors, known[goal])
        return Packed(tuple(proven), known), recipe

    def _keep(self, factors: dict[Any, int], value: int) -> None:
        if factors:
            self.lp.addConstraint(pulp.LpAffineExpression(factors) <= value)

    def _read(self) -> Recipe:
        """Return where the pods of the solution lie."""
        offered = self._offered()
        found = []
        for (pod, number), arcs in self._paths.items():
            shape = self.fill.tree.shapes[pod][number]
            flow, inside = _flow(arcs), _flow(self._inside[pod, number])
            while flow.get(("start",)):
                where = []
                place: _Place = ("start",)
                while place != ("end",):
                    place, taken = _take(flow, place)
                    if taken:
                        where.append(self._visit(shape, taken, inside, offered))
                found.append((pod, number, tuple(where)))
        return tuple(sorted(found, key=lambda row: row[0]))

    def _visit(
        self, shape: PodShape, taken: _Taken, inside: _Flow, offered: dict[tuple[int, int, Vector], list[int]]
    ) -> tuple[int, Vector, tuple[tuple[int, Vector], ...]]:
        """Return where the units of one pod on one NUMA node lie: the node, units of pools, and units on each root."""
        at, have = taken  # type: ignore[misc]
        pools = nothing = (0,) * len(shape.units)
        roots: dict[int, Vector] = {}
        step = at, self._steps(shape, at), have
        while any(step[2]):
            step, (zone, devices, units) = _take(inside, step)
            if devices:
                root = offered[at, zone, devices].pop()
                roots[root] = tuple(map(add, roots.get(root, nothing), units))
            else:
                pools = tuple(map(add, pools, units))
        return at, pools, tuple(sorted(roots.items()))

    def _offered(self) -> dict[tuple[int, int, Vector], list[int]]:
        """Return the roots on which pieces are taken, by NUMA node, zone and devices."""
        found: dict[tuple[int, int, Vector], list[int]] = defaultdict(list)
        for (at, zone, root), arcs in self._roots.items():
            flow = _flow(arcs)
            for number in (n for n in self._zones[at][zone] if self.state[at][1][n] == root):
                left = root
                while flow.get(left):
                    vector = _take(flow, left)
                    found[at, zone, vector].append(number)
                    left = tuple(map(sub, left, vector))
        return found

    def recounted(self, recipe: Recipe) -> Values:
        """Return the values of pods at their places, counted again."""
        total = self.fill.zero
        for pod, number, where in recipe:
            shape = self.fill.tree.shapes[pod][number]
            values = self.fill.values(
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
            total = tuple(map(add, total, values))
        return total


def _pool_units(shape: PodShape) -> Iterator[Vector]:
    for number, unit in enumerate(shape.units):
        if any(unit.pool):
            yield tuple(int(at == number) for at in range(len(shape.units)))


def _is_apart(shape: PodShape) -> bool:
    """Say whether a pod may not take two pieces of one root."""
    return any(one.on_root for one in shape.apart)


def _may_have(shape: PodShape, units: Vector, numa: NumaState) -> bool:
    """Say whether one pod may have some units on a NUMA node, by counting."""
    needs = devices_of_units(shape, units), pools_of_units(shape, units)
    free = free_on((numa,), *map(len, needs))
    return all(all(map(le, need, have)) for need, have in zip(needs, free, strict=True))


def _flow(arcs: Mapping[Any, Mapping[Any, Any]]) -> _Flow:
    """Return how often each arc is used, by where it begins."""
    return {at: {arc: int(x.varValue) for arc, x in mine.items() if x.varValue} for at, mine in arcs.items()}


def _take(flow: _Flow, at: Hashable) -> Any:
    """Return an arc from a place, and use it once less."""
    arc = next(iter(flow[at]))
    flow[at][arc] -= 1
    if not flow[at][arc]:
        del flow[at][arc]
    return arc


def whole_inside(shape: PodShape, numa: NumaState) -> int:
    """Return how many pods lie wholly on one NUMA node at most, alone there: the rounding that the relaxation lacks."""
    caps = [units_inside(unit, numa) // unit.count for unit in shape.units]
    needs = devices_of_units(shape, shape.need), pools_of_units(shape, shape.need)
    for have, need in zip(free_on((numa,), *map(len, needs)), needs, strict=True):
        caps.extend(amount // want for amount, want in zip(have, need, strict=True) if want)
    return min(caps)
