"""How many free partitions the shared counters can provide at once: what is there of them as capacity."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dra_lab.index.counters_left import Counter, Draws
from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.solver import minimise
from dra_lab.planner.node.variables import pulp


@dataclass(frozen=True)
class Provided:
    """The free partitions that counters can provide at once.

    `uneven` counts those of them on counters that partitions of different sizes share: there it depends on which are in
    use how many more can be provided.
    """

    count: int = 0
    uneven: int = 0


@dataclass
class CounterCapacity:
    """Finds the most partitions that counters provide; the same state is solved once."""

    solver: str
    budget: Budget
    _known: dict[Hashable, Provided] = field(default_factory=dict)

    def most(self, draws: Mapping[DeviceID, Draws], left: Mapping[Counter, int]) -> Provided:
        """Return the most of some devices that can be held at once, given what each draws and what is left.

        A device that draws nothing more is provided. Where a limit ends the search, what is surely no less is returned.
        """
        free = sum(1 for mine in draws.values() if not mine)
        found = [Provided(free)]
        for part in _parts([mine for mine in draws.values() if mine]):
            amounts = {counter: left.get(counter, 0) for mine in part for counter, _ in mine}
            key = _shape(part, amounts)
            if key not in self._known:
                self._known[key] = self._of_part(part, amounts)
            found.append(self._known[key])
        return Provided(sum(one.count for one in found), sum(one.uneven for one in found))

    def _of_part(self, part: Mapping[Draws, int], left: Mapping[Counter, int]) -> Provided:
        """Return what is provided of partitions that counters tie to one another."""
        able = {mine: size for mine, size in part.items() if all(amount <= left[counter] for counter, amount in mine)}
        every, drawn = sum(able.values()), Tally[Counter]()
        for mine, size in able.items():
            drawn.update({counter: size * amount for counter, amount in mine})
        if all(amount <= left[counter] for counter, amount in drawn.items()):
            return Provided(every)
        if len(able) == 1:
            ((mine, size),) = able.items()
            return Provided(min(size, *(left[counter] // amount for counter, amount in mine)))
        most = self._solved(able, left)
        return Provided(most, most)

    def _solved(self, able: Mapping[Draws, int], left: Mapping[Counter, int]) -> int:
        """Return the most of some partitions by the solver, whose sets are held against the counters in whole numbers.

        Amounts in bytes are more than it can tell apart: a set that overdraws a counter is ruled out, and it goes on.
        """
        every = [mine for mine, size in able.items() for _ in range(size)]
        lp = pulp.LpProblem("provided", pulp.LpMinimize)
        takes = [lp.add_variable(f"x_{at}", 0, 1, pulp.LpInteger) for at in range(len(every))]
        counters = sorted({counter for mine in able for counter, _ in mine})
        for number, counter in enumerate(counters):
            drawn = {take: dict(mine).get(counter, 0) for take, mine in zip(takes, every, strict=True)}
            row = pulp.LpAffineExpression({take: each / left[counter] for take, each in drawn.items() if each})
            lp += row <= 1, f"counter_{number}"
        ruled_out = 0
        while True:
            outcome = minimise(lp, dict.fromkeys(takes, -1), self.solver, self.budget)
            if not outcome.proven:
                return len(every) if outcome.bound is None else -outcome.bound
            chosen = [at for at, take in enumerate(takes) if take.varValue]
            over = next((c for c in counters if sum(dict(every[at]).get(c, 0) for at in chosen) > left[c]), None)
            if over is None:
                return len(chosen)
            cover = [takes[at] for at in chosen if dict(every[at]).get(over)]
            lp += pulp.lpSum(cover) <= len(cover) - 1, f"cover_{ruled_out}"
            ruled_out += 1


def _parts(draws: Sequence[Draws]) -> Iterator[Mapping[Draws, int]]:
    """Yield partitions that have counters in common, directly or by others, equal ones counted."""
    parts: list[tuple[set[Counter], Tally[Draws]]] = []
    for mine, size in Tally(draws).items():
        counters, found = {counter for counter, _ in mine}, Tally({mine: size})
        for other in [part for part in parts if part[0] & counters]:
            parts.remove(other)
            counters |= other[0]
            found.update(other[1])
        parts.append((counters, found))
    for _, found in parts:
        yield found


def _shape(part: Mapping[Draws, int], left: Mapping[Counter, int]) -> Hashable:
    """Return what a part is like, whatever its counters are called: other GPUs have sets with other names."""
    number = {counter: at for at, counter in enumerate(sorted(left))}
    rows = sorted((tuple((number[counter], amount) for counter, amount in mine), size) for mine, size in part.items())
    return tuple(rows), tuple(left[counter] for counter in sorted(left))
