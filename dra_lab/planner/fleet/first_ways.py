"""One good way to give a pod its devices on a node, found by listing the ways over a few groups of devices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace as changed

from dra_lab.model.sketch import How
from dra_lab.planner.budget import Sizes
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.node.link_places import PlaceValue
from dra_lab.planner.states.columns import Columns, PodTakes, columns_of
from dra_lab.planner.states.node_state import NodeState
from dra_lab.planner.states.stock import Stock

_Able = Mapping[int, Sequence[int]]
"""The groups that each ask may take from."""

_Dimension = tuple[set[int], Callable[[DeviceGroup], Sequence[PlaceValue]]]
"""Asks that are best served at one place, and the values that a group has there."""

_Have = Sequence[int]
"""The amount of each resource."""


@dataclass(frozen=True)
class Way:
    """What one pod takes: (ask, group, number of devices), the goals of devices, and what it needs of each resource."""

    takes: PodTakes
    values: tuple[int, ...]
    needs: tuple[tuple[int, int], ...]

    def times(self, have: _Have, most: int) -> int:
        """Return how often there is enough of every resource, at most so often."""
        return min([most, *(have[at] // amount for at, amount in self.needs)])


class FirstWays:
    """The ways of the pods of a fleet on one kind of nodes; resources and amounts are those of `stock`."""

    def __init__(self, problem: AllocationProblem, order: Sequence[str], sizes: Sizes) -> None:
        """Look at who may take what; `order` names the goals of devices."""
        self.problem, self._order, self._sizes = problem, tuple(order), sizes
        self.stock = Stock(problem, [NodeState(-1, tuple(group.size for group in problem.groups))], [])
        self.count_at = {number: at for at, (number, name) in enumerate(self.stock.keys) if number >= 0 and not name}
        self._groups_of: dict[int, list[int]] = {ask: [] for ask in range(len(problem.asks))}
        kinds: dict[Hashable, int] = {}
        self._kind_of: list[int] = []
        for number, group in enumerate(problem.groups):
            same = (group.asks, group.kind, group.shareable, group.uses)
            self._kind_of.append(kinds.setdefault(same, len(kinds)))
            for ask in group.asks:
                self._groups_of[ask].append(number)
        self._near: dict[int, list[_Dimension]] = {}
        self._listed: dict[Hashable, Columns | None] = {}

    def best(self, part: CopyPart, have: _Have) -> Way | None:
        """Return a way of a pod that fits into what there is, None where none is found.

        The first is taken that loses no preference; after some tries the best of those found.
        """
        if part.pod not in self._near:
            self._near[part.pod] = list(self._dimensions(part))
        able = self._able(part, have)
        if not self._can_serve(part, able, have):
            return None
        found: Way | None = None
        seen = set[tuple[int, ...]]()
        for chosen in self._choices(part, able, have):
            if chosen not in seen:
                seen.add(chosen)
                way = self._best_of(part, chosen, have)
                found = way if found is None or (way is not None and way.values < found.values) else found
            if found is not None and (not any(found.values[:2]) or len(seen) >= self._sizes.first_tries):
                break
        return found

    def _able(self, part: CopyPart, have: _Have) -> _Able:
        """Return the groups that each ask may still take from; where no place is known, the first of them."""
        found: dict[int, list[int]] = {}
        asks = self.problem.asks
        scattered = self._near[part.pod] or part.links[0] < part.links[1]
        enough = sum(asks[ask].count for ask in range(*part.asks)) * self._sizes.first_spare
        for ask in range(*part.asks):
            every = self._groups_of[ask]
            mine = found[ask] = []
            if ask in self.problem.impossible:
                continue
            for group in every:
                for at, amount in self.stock.taken(ask, group).items():
                    if have[at] < amount:
                        break
                else:
                    mine.append(group)
                    if len(mine) == enough and not (scattered or asks[ask].all_devices):
                        break
            if asks[ask].all_devices and sum(self._left(group, have) for group in mine) < self.problem.need(ask):
                mine.clear()
        return found

    def _left(self, group: int, have: _Have) -> int:
        at = self.count_at.get(group)
        return 1 if at is None else have[at]

    def _can_serve(self, part: CopyPart, able: _Able, have: _Have) -> bool:
        """Say whether, counted one by one, all requests of a pod find devices enough."""
        return all(
            any(able[ask] and sum(self._left(g, have) for g in able[ask]) >= self.problem.need(ask) for ask in row)
            for row in self.problem.requests[slice(*part.requests)]
        )

    def _choices(self, part: CopyPart, able: _Able, have: _Have) -> Iterator[tuple[int, ...]]:
        """Yield sets of groups to take from: those at one place first, the smallest place before larger ones."""
        for tied, places in self._near[part.pod]:
            at: dict[PlaceValue, dict[int, list[int]]] = {}
            for ask in tied:
                for group in able[ask]:
                    for value in places(self.problem.groups[group]):
                        at.setdefault(value, {}).setdefault(ask, []).append(group)
            rows = []
            for value, mine in at.items():
                whole = {ask: mine.get(ask, []) if ask in tied else groups for ask, groups in able.items()}
                if self._can_serve(part, whole, have):
                    inside = {group for groups in mine.values() for group in groups}
                    rows.append((sum(self._left(group, have) for group in inside), value, whole))
            for _, _, whole in sorted(rows, key=lambda row: (row[0], repr(row[1]))):
                yield self._few(part, whole, have, 1)
        for factor in (1, 2, 4):
            yield self._few(part, able, have, factor)
        yield tuple(sorted({group for groups in able.values() for group in groups}))

    def _dimensions(self, part: CopyPart) -> Iterator[_Dimension]:
        """Yield the asks that are best served at one place, and the values of a group there, where all have some."""
        every = set(range(*part.asks))
        found: list[_Dimension] = [
            (every.intersection(self.problem.ends(link)), lambda group, link=link: group.places[link])  # type: ignore[misc]
            for link in range(*part.links)
            if self.problem.links[link].how is How.TOGETHER
        ]
        found.append((every, lambda group: () if group.root is None else (group.root,)))
        found.append((every, lambda group: () if group.numa is None else (group.numa,)))
        for tied, places in found:
            known = {ask for ask in tied if any(places(self.problem.groups[group]) for group in self._groups_of[ask])}
            requests = self.problem.requests[slice(*part.requests)]
            if all(known.intersection(row) or not tied.issuperset(row) for row in requests):
                yield tied, places

    def _few(self, part: CopyPart, able: _Able, have: _Have, factor: int) -> tuple[int, ...]:
        """Return enough groups for every ask, this many times over: those on roots that serve most asks first."""
        serves: dict[object, set[int]] = {}
        for ask, groups in able.items() if self._near[part.pod] else ():
            for group in groups:
                serves.setdefault(self.problem.groups[group].root, set()).add(ask)
        ranks = {root: (-len(asks), repr(root)) for root, asks in serves.items() if root is not None}
        found: set[int] = set()
        for ask, groups in able.items():
            wanted = factor * self.problem.need(ask)
            ordered = sorted(groups, key=lambda g: ranks.get(self.problem.groups[g].root, (0, ""))) if ranks else groups
            for group in ordered:
                if wanted <= 0:
                    break
                found.add(group)
                wanted -= self._left(group, have)
        return tuple(sorted(found))

    def _best_of(self, part: CopyPart, chosen: Sequence[int], have: _Have) -> Way | None:
        """Return the best way over some groups that fits, None where none does or too many would be listed."""
        columns = self._columns(part, chosen, have)
        if columns is None:
            return None
        for number, values in enumerate(columns.values.tolist()):
            mine = tuple((ask, chosen[at], count) for ask, at, count in columns.way(number))
            needs: dict[int, int] = {}
            for ask, group, count in mine:
                for at, amount in self.stock.taken(ask, group).items():
                    needs[at] = needs.get(at, 0) + count * amount
            if all(have[at] >= amount for at, amount in needs.items()):
                return Way(mine, tuple(values), tuple(needs.items()))
        return None

    def _columns(self, part: CopyPart, chosen: Sequence[int], have: _Have) -> Columns | None:
        """Return the ways over some groups, best first; sets that differ only in names of places are listed once."""
        asks = self.problem.asks[slice(*part.asks)]
        most = sum(1 if ask.all_devices else ask.count for ask in asks)
        whole = any(ask.all_devices for ask in asks)
        groups = []
        numbers: dict[tuple[int, object], int] = {}
        key: list[Hashable] = [part.pod]
        for number in chosen:
            group = self.problem.groups[number]
            size = self._left(number, have) if whole else min(most, self._left(number, have))
            groups.append(changed(group, devices=group.devices[:size], draws=()))
            where = [(-1, group.numa), (-2, group.root)]
            where += [(link, one) for link in range(*part.links) for one in group.places[link]]
            named = tuple(
                (at, None if one is None else numbers.setdefault((at, one), len(numbers))) for at, one in where
            )
            key.append((self._kind_of[number], size, named))
        found = tuple(key)
        if found not in self._listed:
            problem = changed(self.problem, groups=tuple(groups), counters=())
            # All devices that it may take are not only those of the chosen groups.
            every = [ask for ask in range(*part.asks) if self.problem.asks[ask].all_devices]
            short = {ask for ask in every if problem.need(ask) < self.problem.need(ask)}
            problem = changed(problem, impossible=problem.impossible | short)
            self._listed[found] = columns_of(problem, part, self._order, self._sizes.first_ways)
        return self._listed[found]
