"""Nodes as trees of places: what is free of each kind of devices on each place, in a form that equal nodes share.

A leaf has amounts, and moves that take of them: a device of a kind, a partition with its counters, a share of a device.
Equal states have equal tables, however their hardware and the names of their places differ.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import add, le
from typing import Any

from dra_lab.index.in_use import Counter
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.places.levels import Levels, in_one_order, parts_of, with_siblings
from dra_lab.planner.places.shapes import PodAsk, Slot, Vector
from dra_lab.planner.states.node_state import NodeState, common_unit

State = tuple[Any, ...]
"""A leaf is (known, type, amounts), another place (known, states of its places, sorted), one with nothing is ().

`known` is 1 if the place is published, else 0.
"""

_SUMS = 4_096
"""Sums of amounts that are compared to find out what pods can use of a leaf; with more, all of it counts."""


@dataclass(frozen=True, slots=True)
class LeafMove:
    """What one device gives: `ranks` by stream, -1 where it does not serve, and (amount, taken) of its leaf."""

    ranks: Vector
    takes: tuple[tuple[int, int], ...]


@dataclass
class LeafType:
    """Leaves with the same moves. With `once`, no request of a pod takes two of it: it is one device.

    `keys` names its amounts if they are capacities: the same key is the same capacity in the same unit on all leaves.
    """

    moves: tuple[LeafMove, ...]
    once: bool
    keys: tuple[str, ...] = ()
    _able: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    def able(self, stream: int) -> list[tuple[int, int]]:
        """Return (rank, move) of what serves a stream, best rank first."""
        if stream not in self._able:
            ranks = ((move.ranks[stream], at) for at, move in enumerate(self.moves))
            self._able[stream] = sorted((rank, at) for rank, at in ranks if rank >= 0)
        return self._able[stream]


@dataclass
class TreePlace:
    """A node or a part of it, with the groups of its layout behind each move of a leaf: [group, ask, devices left].

    An ask of -1 stands for the ask of the slot that takes the device.
    """

    known: bool = True
    children: list[TreePlace] = field(default_factory=list)
    type: int = 0
    amounts: list[int] = field(default_factory=list)
    groups: dict[int, list[list[int]]] = field(default_factory=dict)
    state: State = ()


@dataclass
class Trees:
    """The trees of a fleet: its levels, its pods, its kinds of devices and its types of leaves.

    `streams` are the slots of all shapes of all pods; those of shape `s` of pod `p` begin at `starts[p][s]`. The first
    type of leaves has single devices: one amount and one move for each kind.
    """

    levels: Levels
    asks: tuple[PodAsk, ...]
    problems: Mapping[int, AllocationProblem]
    streams: tuple[Slot, ...] = ()
    starts: tuple[tuple[int, ...], ...] = ()
    types: list[LeafType] = field(default_factory=list)
    _kinds: dict[Vector, int] = field(default_factory=dict)
    _every_of: dict[int, Hashable] = field(default_factory=dict)
    _kind_of: dict[Hashable, tuple[object, int]] = field(default_factory=dict)
    _type_of: dict[Hashable, int] = field(default_factory=dict)
    _parts: dict[int, dict[int, tuple[Hashable, ...]]] = field(default_factory=dict)
    _partitions: dict[tuple[int, tuple[int, ...]], tuple[list[int], list[Counter], tuple[LeafMove, ...]]] = field(
        default_factory=dict
    )
    _path_of: dict[int, list[tuple[Hashable, ...]]] = field(default_factory=dict)
    _usable: dict[tuple[int, Vector], Vector] = field(default_factory=dict)
    _steps: list[list[Vector]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Number the slots of all shapes, and the kinds of single devices."""
        starts: list[tuple[int, ...]] = []
        streams: list[Slot] = []
        for ask in self.asks:
            mine = []
            for shape in ask.shapes:
                mine.append(len(streams))
                streams += shape.slots
            starts.append(tuple(mine))
        self.starts, self.streams = tuple(starts), tuple(streams)
        for layout, problem in self.problems.items():
            for group in problem.groups:
                if not (group.shareable or group.draws):
                    self._kind(layout, group)
        kinds = sorted(self._kinds, reverse=True)
        self._kinds = {ranks: at for at, ranks in enumerate(kinds)}
        self._kind_of.clear()
        self.types.append(LeafType(tuple(LeafMove(ranks, ((at, 1),)) for at, ranks in enumerate(kinds)), once=False))
        self._steps.append(self._single_steps(kinds))

    @property
    def depth(self) -> int:
        """Return the depth of leaves."""
        return len(self.levels.where)

    def _ranks(self, layout: int, group: DeviceGroup) -> Vector:
        """Return the rank at which devices serve each stream on a kind of hardware, -1 where they do not."""
        problem = self.problems[layout]
        return tuple(
            slot.rank(group, problem.impossible)
            if not slot.every or problem.need(slot.alternatives[0][0]) == slot.every
            else -1
            for slot in self.streams
        )

    def _every(self, layout: int) -> Hashable:
        """Return how many devices requests for all of them mean on a kind of hardware."""
        if layout not in self._every_of:
            problem = self.problems[layout]
            asks = [ask for ask, one in enumerate(problem.asks) if one.all_devices]
            self._every_of[layout] = (problem.impossible, tuple(problem.need(ask) for ask in asks))
        return self._every_of[layout]

    def _kind(self, layout: int, group: DeviceGroup) -> int:
        """Return the kind of single devices, -1 for those that serve nothing."""
        key = (group.asks, group.kind, id(group.places), self._every(layout))
        known = self._kind_of.get(key)
        if known is None:
            ranks = self._ranks(layout, group)
            number = self._kinds.setdefault(ranks, len(self._kinds)) if max(ranks, default=-1) >= 0 else -1
            # with the group, so that the place in memory of its places is not used again
            known = self._kind_of[key] = (group, number)
        return known[1]

    def _single_steps(self, kinds: Sequence[Vector]) -> list[Vector]:
        """Return what one group of a link at the leaves, or one device, takes of the kinds; [] if too many."""
        steps: set[Vector] = set()
        for ask, starts in zip(self.asks, self.starts, strict=True):
            for shape, start in zip(ask.shapes, starts, strict=True):
                linked: set[int] = set()
                for link in shape.links:
                    if link.level == self.depth - 1 and link.must and len(link.ends) > 1:
                        linked.update(slot for slots, _ in link.ends for slot in slots)
                        each = [(slot, per) for slots, per in link.ends for slot in slots]
                        if len(each) > len(link.ends):
                            return []
                        steps.update(self._group_steps(kinds, start, each))
                for slot in set(range(len(shape.slots))) - linked:
                    steps.update(self._group_steps(kinds, start, [(slot, 1)]))
                if len(steps) > _SUMS:
                    return []
        return sorted(steps)

    def _group_steps(self, kinds: Sequence[Vector], start: int, each: Sequence[tuple[int, int]]) -> set[Vector]:
        found = {(0,) * len(kinds)}
        for slot, per in each:
            able = [at for at, ranks in enumerate(kinds) if ranks[start + slot] >= 0]
            for _ in range(per):
                found = {(*one[:at], one[at] + 1, *one[at + 1 :]) for one in found for at in able}
                if len(found) > _SUMS:
                    break
        return found

    def usable(self, kind: int, amounts: Vector) -> Vector:
        """Return the most of each amount of a leaf that pods can take; () if that is nothing."""
        key = kind, amounts
        found = self._usable.get(key)
        if found is None:
            found = self._usable[key] = self._find_usable(kind, amounts)
        return found

    def _find_usable(self, kind: int, amounts: Vector) -> Vector:
        if kind == 0:
            steps = self._steps[0]
            found = _reachable(amounts, steps) if steps else amounts
            return found if any(found) else ()
        left, moves = list(amounts), self.types[kind].moves
        live = [move for move in moves if all(left[at] >= taken for at, taken in move.takes)]
        if not live:
            return ()
        able = [0] * len(left)
        if self.types[kind].once:
            steps = sorted({_dense(move.takes, len(left)) for move in live})
            return _reachable(amounts, steps) if any(map(any, steps)) else amounts
        for move in live:
            for at, taken in move.takes:
                able[at] = min(left[at], able[at] + taken * _count_of(move, left))
        return tuple(able)

    # ------------------------------------------------------------------ nodes

    def place(self, node: NodeState) -> TreePlace:
        """Return the tree of a node with the groups behind it."""
        root, problem = TreePlace(), self.problems[node.layout]
        free, left = node.free, dict(node.left)
        parts = self._parts_of(node.layout)
        at: dict[tuple[Hashable, ...], TreePlace] = {(): root}
        members: dict[Hashable, list[int]] = {}
        paths = self._paths(node.layout, parts)
        for number, group in enumerate(problem.groups):
            if not free[number]:
                continue
            if number in parts:
                members.setdefault(parts[number], []).append(number)
                continue
            kind = self._kind(node.layout, group)
            if kind >= 0:
                leaf = self._leaf(at, paths[number])
                if not leaf.amounts:
                    leaf.amounts = [0] * len(self.types[0].moves)
                leaf.amounts[kind] += free[number]
                leaf.groups.setdefault(kind, []).append([number, -1, free[number]])
        for numbers in members.values():
            leaf = self._leaf(at, paths[numbers[0]])
            if problem.groups[numbers[0]].shareable:
                self._share(leaf, numbers[0], problem.groups[numbers[0]], left)
            else:
                self._partition(leaf, numbers, problem, node)
        self._settle(root)
        return root

    def _leaf(self, at: dict[tuple[Hashable, ...], TreePlace], path: tuple[Hashable, ...]) -> TreePlace:
        found = at.get(path)
        if found is None:
            above = self._leaf(at, path[:-1])
            found = at[path] = TreePlace(known=path[-1] is not None)
            above.children.append(found)
        return found

    def _parts_of(self, layout: int) -> dict[int, tuple[Hashable, ...]]:
        """Return for each group that is a shared device, or draws on counters, which leaf it is of."""
        found = self._parts.get(layout)
        if found is None:
            found = parts_of(self.problems[layout].groups)
            self._parts[layout] = found
        return found

    def _paths(self, layout: int, parts: Mapping[int, tuple[Hashable, ...]]) -> list[tuple[Hashable, ...]]:
        """Return the places of each group; a coarse one that is not published is that of the finer place's siblings."""
        known = self._path_of.get(layout)
        if known is not None:
            return known
        groups = self.problems[layout].groups
        raw = [self.levels.path(group, parts.get(number, ())) for number, group in enumerate(groups)]
        found = self._path_of[layout] = with_siblings(raw, self.levels.published)
        return found

    def _share(
        self, leaf: TreePlace, number: int, group: DeviceGroup, left: Mapping[int, tuple[tuple[str, Fraction], ...]]
    ) -> None:
        """Make a leaf of a device that several pods share: an amount for each capacity, a move for each ask."""
        have = dict(left.get(number, group.remaining))
        keys = [key for key, _ in group.remaining]
        units = {
            key: common_unit(use.get(key, Fraction()) for use in map(dict, dict(group.uses).values())) for key in keys
        }
        keys = [key for key in keys if units[key]]
        moves: dict[tuple[int, tuple[tuple[int, int], ...]], list[int]] = {}
        for stream, slot in enumerate(self.streams):
            for ask, rank in slot.ways(group):
                use = dict(dict(group.uses).get(ask, ()))
                takes = tuple((at, int(use[key] / units[key])) for at, key in enumerate(keys) if use.get(key))
                mine = moves.setdefault((ask, takes), [-1] * len(self.streams))
                mine[stream] = rank
        made = sorted((tuple(ranks), takes, ask) for (ask, takes), ranks in moves.items())
        names = tuple(f"{key} in {units[key]}" for key in keys)
        leaf.type = self._numbered(tuple(LeafMove(ranks, takes) for ranks, takes, _ in made), names)
        leaf.amounts = [max(0, int(have.get(key, Fraction()) // units[key])) for key in keys]
        leaf.groups = {at: [[number, ask, -1]] for at, (_, _, ask) in enumerate(made)}

    def _partition(self, leaf: TreePlace, numbers: Sequence[int], problem: AllocationProblem, node: NodeState) -> None:
        """Make a leaf of devices that draw on the same counters: an amount for each group and each counter."""
        counters = {counter: at for at, (counter, _) in enumerate(problem.counters)}
        able, drawn, moves = self._moves_of_partitions(node.layout, tuple(numbers), counters)
        have = [amount for _, amount in problem.counters] if not node.counters else node.counters
        leaf.type = self._numbered(moves)
        leaf.amounts = [*(node.free[at] for at in able), *(max(0, have[counters[one]]) for one in drawn)]
        leaf.groups = {at: [[number, -1, node.free[number]]] for at, number in enumerate(able)}

    def _moves_of_partitions(
        self, layout: int, numbers: tuple[int, ...], counters: Mapping[Counter, int]
    ) -> tuple[list[int], list[Counter], tuple[LeafMove, ...]]:
        """Return groups that serve some stream, and the counters that these draw on, whatever their names."""
        key = layout, numbers
        if key not in self._partitions:
            groups = self.problems[layout].groups
            looks = {at: self._ranks(layout, groups[at]) for at in numbers}
            serving = [at for at in numbers if max(looks[at], default=-1) >= 0]
            used: dict[Counter, int] = {}
            rows = []
            for at in serving:
                draws = [(used.setdefault(c, len(used)), amount) for c, amount in groups[at].draws if c in counters]
                rows.append((looks[at], groups[at].size, tuple(draws)))
            order, ends = in_one_order(tuple(rows))
            able, drawn = [serving[at] for at in order], [list(used)[at] for at in ends]
            position = {counter: len(able) + at for at, counter in enumerate(ends)}
            moves = [
                LeafMove(rows[row][0], ((at, 1), *sorted((position[c], amount) for c, amount in rows[row][2])))
                for at, row in enumerate(order)
            ]
            self._partitions[key] = able, drawn, tuple(moves)
        return self._partitions[key]

    def _numbered(self, moves: tuple[LeafMove, ...], keys: tuple[str, ...] | None = None) -> int:
        key = (moves, keys)
        if key not in self._type_of:
            self._type_of[key] = len(self.types)
            self.types.append(LeafType(moves, keys is not None, keys or ()))
        return self._type_of[key]

    def _settle(self, place: TreePlace) -> State:
        """Note the state of a place and of all inside it."""
        if place.children:
            inside = sorted(state for state in map(self._settle, place.children) if state)
            place.state = (int(place.known), tuple(inside)) if inside else ()
        elif place.amounts or place.groups:
            place.state = self.leaf_state(int(place.known), place.type, tuple(place.amounts))
        return place.state

    def leaf_state(self, known: int, kind: int, amounts: Vector) -> State:
        """Return the state of a leaf with some amounts left."""
        usable = self.usable(kind, amounts)
        if not usable and not (kind and not amounts and self.types[kind].moves):
            return ()
        return (known, kind, usable)


def _dense(takes: Iterable[tuple[int, int]], length: int) -> Vector:
    found = [0] * length
    for at, taken in takes:
        found[at] = taken
    return tuple(found)


def _count_of(move: LeafMove, left: Sequence[int]) -> int:
    return min(left[at] // taken for at, taken in move.takes if taken)


def _reachable(most: Vector, steps: Sequence[Vector]) -> Vector:
    """Return the most of each amount over all sums of steps that fit; `most` if there are too many sums."""
    zero = (0,) * len(most)
    if all(sum(step) == 1 for step in steps):
        able = tuple(map(max, zero, *steps)) if steps else zero
        return tuple(have if use else 0 for have, use in zip(most, able, strict=True))
    seen, todo = {zero}, [zero]
    while todo and len(seen) <= _SUMS:
        at = todo.pop()
        for step in steps:
            following = tuple(map(add, at, step))
            if any(step) and following not in seen and all(map(le, following, most)):
                seen.add(following)
                todo.append(following)
    if todo:
        return most
    return tuple(map(max, zero, *seen))
