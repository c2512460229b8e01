"""Nodes as trees: what is free on each NUMA node and PCIe root, cut down to what the pods of a fleet can use there.

Nodes with the same tree are planned once, however their hardware and the names of their places differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from operator import add, itemgetter, le

from dra_lab.planner.budget import Sizes
from dra_lab.planner.fleet.pod_shapes import shapes_of
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.shapes import PodShape, Vector
from dra_lab.planner.fleet.sites import parts_on
from dra_lab.planner.fleet.tree_kinds import Kinds, kinds_of
from dra_lab.planner.node.allocation_problem import ROOT_KINDS, AllocationProblem, DeviceGroup
from dra_lab.planner.node.link_places import typed
from dra_lab.planner.states.node_state import NodeState, common_unit

NumaState = tuple[Vector, tuple[Vector, ...]]
"""What is free of the pools of a NUMA node, and of the kinds on each of its roots, sorted."""

TreeState = tuple[NumaState, ...]
"""The NUMA nodes of a node, sorted; equal for nodes on which the same pods fit in the same ways."""


Groups = tuple[tuple[list[tuple[Vector, ...]], tuple[Vector, ...]], ...]
"""The groups of a layout behind a tree: by NUMA node, root and kind, and by NUMA node and pool."""


@dataclass(frozen=True, slots=True)
class Numa:
    """The groups of a layout on one NUMA node: by root and kind, and by pool.

    `alone` are (kind, group) of devices each of which is a root by itself, as its root is not known; with `apart` each
    is a NUMA node by itself too.
    """

    roots: tuple[tuple[tuple[int, ...], ...], ...]
    pools: tuple[tuple[int, ...], ...]
    alone: tuple[tuple[int, int], ...] = ()
    apart: bool = False


@dataclass
class FleetTree:
    """A fleet whose nodes are trees: the shapes of its pods, and the tree of each kind of hardware.

    `units` is the amount in which each pool is counted, `most` how much of a tree is listed.
    """

    shapes: tuple[tuple[PodShape, ...], ...]
    kinds: Kinds
    numas: Mapping[int, tuple[Numa, ...]]
    problems: Mapping[int, AllocationProblem]
    units: tuple[Fraction, ...]
    most: Sizes
    _roots: dict[Vector, Vector] = field(default_factory=dict)
    _pools: dict[Vector, Vector] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Note which vectors of devices and of amounts pods take at one place."""
        units = [unit for shapes in self.shapes for shape in shapes for unit in shape.units]
        self._root_steps = sorted({unit.root for unit in units if any(unit.root)})
        self._pool_steps = sorted({unit.pool for unit in units if any(unit.pool)})

    @cached_property
    def largest_root(self) -> int:
        """Return the most devices on one PCIe root."""
        sizes = {number: [group.size for group in problem.groups] for number, problem in self.problems.items()}
        roots = ((number, root) for number, numas in self.numas.items() for numa in numas for root in numa.roots)
        return max((sum(sizes[number][at] for kind in root for at in kind) for number, root in roots), default=0)

    @cached_property
    def most_numas(self) -> int:
        """Return the most NUMA nodes of a node."""
        return max(
            (sum(self._copies(layout, numa) for numa in numas) for layout, numas in self.numas.items()), default=0
        )

    def _copies(self, layout: int, numa: Numa) -> int:
        return sum(self.problems[layout].groups[group].size for _, group in numa.alone) if numa.apart else 1

    @cached_property
    def needs(self) -> tuple[tuple[tuple[Vector, Vector], tuple[int, int]], ...]:
        """Return the least that a pod of each workload takes on roots and of pools: of each kind, and of all kinds."""
        found = []
        for shapes in self.shapes:
            roots = [shape.all_of([unit.root for unit in shape.units]) for shape in shapes]
            pools = [shape.all_of([unit.pool for unit in shape.units]) for shape in shapes]
            least = tuple(map(min, *roots, roots[0])) if roots else (0,) * len(self.kinds.root)
            other = tuple(map(min, *pools, pools[0])) if pools else (0,) * len(self.kinds.key)
            sums = min(map(sum, roots), default=0), min(map(sum, pools), default=0)
            found.append(((least, other), sums))
        return tuple(found)

    def state(self, node: NodeState) -> TreeState:
        """Return the tree of a node."""
        found = [self.numa_state(pool, roots) for pool, roots, _ in self.free(node)]
        return tuple(sorted([state for state in found if any(state[0]) or state[1]]))

    def state_and_groups(self, node: NodeState) -> tuple[TreeState, Groups]:
        """Return the tree of a node, and the groups of its layout behind it."""
        found = []
        for pool, free, numa in self.free(node):
            roots = sorted([(able, at) for at, root in enumerate(free) if any(able := self.usable(root))])
            state = self.usable_pool(pool), tuple([able for able, _ in roots])
            if any(state[0]) or state[1]:
                found.append((state, ([numa.roots[at] for _, at in roots], numa.pools)))
        found.sort(key=itemgetter(0))
        return tuple([state for state, _ in found]), tuple([groups for _, groups in found])

    def numa_state(self, pool: Vector, roots: Sequence[Vector]) -> NumaState:
        """Return what is free on a NUMA node, without what no pod can use."""
        kept = [found for root in roots if any(found := self.usable(root))]
        return self.usable_pool(pool), tuple(sorted(kept))

    def free(self, node: NodeState) -> Iterator[tuple[Vector, list[Vector], Numa]]:
        """Yield what is free of the pools and on the roots of each NUMA node, and the groups behind it."""
        free, left = node.free, dict[int, tuple[tuple[str, Fraction], ...]](node.left)
        for numa in self.numas[node.layout]:
            pool = tuple(
                sum(self._amount(node.layout, group, kind, free, left) for group in groups)
                for kind, groups in enumerate(numa.pools)
            )
            roots = [tuple([sum([free[at] for at in groups]) for groups in root]) for root in numa.roots]
            if not numa.alone:
                yield pool, roots, numa
                continue
            alone = [one for one in numa.alone for _ in range(free[one[1]])]
            every = range(len(self.kinds.root))
            single = [tuple([int(at == kind) for at in every]) for kind, _ in alone]
            owners = tuple(tuple([(group,) if at == kind else () for at in every]) for kind, group in alone)
            if numa.apart:
                for one, owner in zip(single, owners, strict=True):
                    yield pool, [one], replace(numa, roots=(owner,))
            else:
                yield pool, roots + single, replace(numa, roots=numa.roots + owners)

    def _amount(
        self, layout: int, group: int, kind: int, free: Vector, left: Mapping[int, tuple[tuple[str, Fraction], ...]]
    ) -> int:
        if not self.kinds.key[kind] or not free[group]:
            return free[group]
        problem = self.problems[layout]
        remaining = left.get(group, problem.groups[group].remaining)
        have = dict(remaining).get(self.kinds.key[kind], Fraction())
        return max(0, have // self.units[kind])

    def usable(self, root: Vector) -> Vector:
        """Return the most of each kind that pods can take on a root with these free devices."""
        found = self._roots.get(root)
        if found is None:
            found = self._roots[root] = _reachable(root, self._root_steps, self.most.tree_sums)
        return found

    def usable_pool(self, pool: Vector) -> Vector:
        """Return the most that pods can take of the pools of a NUMA node."""
        found = self._pools.get(pool)
        if found is None:
            found = self._pools[pool] = _reachable(pool, self._pool_steps, self.most.tree_sums)
        return found


def _reachable(most: Vector, steps: Sequence[Vector], sums: int) -> Vector:
    """Return the most of each entry over all sums of steps that fit; `most` if there are more than `sums`."""
    zero = (0,) * len(most)
    if all(sum(step) == 1 for step in steps):
        able = tuple(map(max, zero, *steps)) if steps else zero
        return tuple(have if use else 0 for have, use in zip(most, able, strict=True))
    if len(most) == 1 and all(step[0] % steps[0][0] == 0 for step in steps):
        return (most[0] // steps[0][0] * steps[0][0],)
    seen, todo = {zero}, [zero]
    while todo and len(seen) <= sums:
        at = todo.pop()
        for step in steps:
            following = tuple(map(add, at, step))
            if following not in seen and all(map(le, following, most)):
                seen.add(following)
                todo.append(following)
    if todo:
        return most
    return tuple(map(max, zero, *seen))


def tree_of(fleet: FleetProblem) -> FleetTree | None:
    """Return a fleet as trees; None if some hardware or some pod is not of this form."""
    if not fleet.survey.plain:
        return None
    layouts = fleet.scan.layouts
    problems = {number: layouts[number].problem for number in {state.layout for state in fleet.survey.states.values()}}
    if any(problem.counters or problem.impossible for problem in problems.values()):
        return None
    first = next(iter(problems.values()), None)
    # One of all kinds of hardware whose groups differ in their devices alone stands for them.
    known: dict[object, int] = {}
    same = {number: known.setdefault(layouts[number].kinds or number, number) for number in problems}
    # Nodes share the values of their devices, so a few groups stand for those of all nodes.
    identities = {number: [_identity(group) for group in problems[number].groups] for number in known.values()}
    groups = {
        key: group
        for number, keys in identities.items()
        for key, group in zip(keys, problems[number].groups, strict=True)
    }
    kinds = None if first is None else kinds_of(first, groups.values(), _levels(first, groups.values()))
    if first is None or kinds is None or len({values for _, values in kinds.root}) > fleet.sizes.shapes:
        return None
    units, amounts = _amounts(groups.values(), kinds)
    if 0 in units:
        return None
    on_root = {key: kinds.on_root(group) for key, group in groups.items()}
    of_groups = {number: [on_root[key] for key in keys] for number, keys in identities.items()}
    most = list({_devices(problem, kinds, of_groups[same[number]]) for number, problem in problems.items()})
    shapes = []
    for part in parts_on(fleet, ""):
        found = shapes_of(first, part, kinds, amounts, most, fleet.sizes)
        if found is None:
            return None
        shapes.append(found)
    numas = {}
    for number in known.values():
        found_numas = _numas(problems[number], kinds, of_groups[number])
        if found_numas is None:
            return None
        numas[number] = found_numas
    every = {number: numas[same[number]] for number in problems}
    return FleetTree(tuple(shapes), kinds, every, problems, units, fleet.sizes)


def _identity(group: DeviceGroup) -> tuple[object, ...]:
    """Return what tells two groups apart, whatever their devices: equal objects may count as different."""
    values = group.asks, group.places, group.numa, group.root, group.remaining, group.uses
    return group.kind, group.shareable, *map(id, values)


def _devices(problem: AllocationProblem, kinds: Kinds, of_groups: Sequence[int | None]) -> Vector:
    """Return how many devices of each kind on roots a kind of hardware has; `of_groups` is the kind of each group."""
    found = [0] * len(kinds.root)
    for group, kind in zip(problem.groups, of_groups, strict=True):
        if kind is not None:
            found[kind] += group.size
    return tuple(found)


def _amounts(groups: Iterable[DeviceGroup], kinds: Kinds) -> tuple[tuple[Fraction, ...], list[dict[int, int]]]:
    """Return the unit in which each pool is counted, and what each ask takes of it in this unit."""
    taken: list[dict[int, set[Fraction]]] = [{} for _ in kinds.key]
    for uses, asks in {(group.uses, group.asks) for group in groups}:
        if uses:
            pool = taken[kinds.pool[asks]]
            for ask, amounts in uses:
                pool.setdefault(ask, set()).update(amount for _, amount in amounts)
    units, found = [], []
    for key, pool in zip(kinds.key, taken, strict=True):
        unit = common_unit(amount for amounts in pool.values() for amount in amounts) if key else Fraction(1)
        # An ask that takes different amounts on different devices is not counted.
        one = all(len(amounts) == 1 for amounts in pool.values())
        units.append(unit if one else Fraction())
        found.append({ask: int(min(amounts) / unit) for ask, amounts in pool.items()} if one and unit else {})
    return tuple(units), found


def _levels(first: AllocationProblem, groups: Iterable[DeviceGroup]) -> tuple[str, ...]:
    """Return where each link holds: "root" or "numa" if its values are those of that level everywhere, else "".

    A GPU or NIC whose place is not known has no value either.
    """
    covered = [frozenset(first.ends(link)) for link in range(len(first.links))]
    able = [{"root", "numa"} for _ in first.links]
    for group in groups:
        for link, values in enumerate(group.places):
            if covered[link].isdisjoint(group.asks):
                continue
            for level, place in (("root", group.root), ("numa", group.numa)):
                if place is None and not values and group.kind in ROOT_KINDS:
                    continue
                if len(values) != 1 or place is None or typed(values[0][1]) != typed(place[1]):
                    able[link].discard(level)
    return tuple("root" if "root" in levels else "numa" if levels else "" for levels in able)


def _numas(problem: AllocationProblem, kinds: Kinds, of_groups: Sequence[int | None]) -> tuple[Numa, ...] | None:
    """Return the NUMA nodes of a kind of hardware; None if a root or a pool is not on one NUMA node."""
    at: dict[object, object] = {}
    roots: dict[object, dict[object, list[list[int]]]] = {}
    pools: dict[object, list[list[int]]] = {}
    alone: dict[object, list[tuple[int, int]]] = {}
    for number, (group, kind) in enumerate(zip(problem.groups, of_groups, strict=True)):
        numa, root = group.numa, group.root
        if kind is not None and root is None:
            alone.setdefault(numa, []).append((kind, number))
        elif kind is not None:
            if at.setdefault(root, numa) != numa:
                return None
            mine = roots.setdefault(numa, {}).setdefault(root, [[] for _ in kinds.root])
            mine[kind].append(number)
        else:
            pool = pools.setdefault(numa, [[] for _ in kinds.key])[kinds.pool[group.asks]]
            pool.append(number)
            if group.shareable and len(pool) > 1:
                return None
    empty: list[list[int]] = [[] for _ in kinds.key]
    return tuple(
        Numa(
            tuple(tuple(map(tuple, root)) for root in roots.get(numa, {}).values()),
            tuple(map(tuple, pools.get(numa, empty))),
            tuple(alone.get(numa, ())),
            numa is None,
        )
        for numa in dict.fromkeys((*roots, *pools, *alone))
    )


def free_on(numas: Sequence[NumaState], kinds: int, pools: int) -> tuple[Vector, Vector]:
    """Return how many devices of each kind on roots, and how much of each pool, some NUMA nodes have."""
    roots = [root for _, mine in numas for root in mine]
    return (
        tuple(sum(root[at] for root in roots) for at in range(kinds)),
        tuple(sum(pool[at] for pool, _ in numas) for at in range(pools)),
    )
