"""Numbers of what an allocation takes: expressions of a model, or whole numbers of one that is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node.link_places import PlaceValue
from dra_lab.planner.node.variables import Model, total

Number = Any
"""An expression of a model, or a whole number."""

PlaceOf = Callable[[DeviceGroup], PlaceValue | None]
"""Says at which place the devices of a group are, None where it is not known."""


class _Counts:
    """The devices that an allocation takes. Goals and links are counted from it, whatever sort its numbers are.

    `asks` are the asks that may be served in it, `preferred` the preferred links that count, and `touched` the groups
    of which something may be taken, in their order.
    """

    def __init__(
        self, problem: AllocationProblem, asks: Iterable[int], preferred: Iterable[int], touched: Iterable[int]
    ) -> None:
        self.problem, self.asks, self.preferred, self.touched = problem, tuple(asks), tuple(preferred), tuple(touched)

    def groups(self, kinds: Sequence[str]) -> list[int]:
        """Return the groups of some kinds of devices of which something may be taken."""
        return [number for number in self.touched if self.problem.groups[number].kind in kinds]


class ModelCounts(_Counts):
    """The expressions of a model; what they need beside its variables is added to it."""

    def __init__(self, model: Model) -> None:
        """Read a model that has its links."""
        super().__init__(model.problem, model.chosen, model.broken, range(len(model.problem.groups)))
        self.model = model

    def total(self, numbers: Iterable[Number]) -> Number:
        """Return the sum of numbers, 0 for none."""
        return total(numbers)

    def served(self, ask: int) -> Number:
        """Return 1 where an ask serves its request, else 0."""
        return self.model.chosen[ask]

    def devices(self, groups: Sequence[int]) -> Number:
        """Return how many different devices are taken of some groups."""
        return total(self.model.taken[number] for number in groups)

    def spanned(self, groups: Sequence[int], place: PlaceOf) -> Number:
        """Return at how many places devices of some groups are taken; one of unknown place is a place of its own."""
        model = self.model
        used: dict[PlaceValue, Number] = {}
        unknown: list[Number] = []
        for number in groups:
            group = self.problem.groups[number]
            if not model.takes(number):
                continue
            value = place(group)
            if value is None:
                unknown.append(model.taken[number])
                continue
            if value not in used:
                used[value] = model.integer("place", 1)
            rows = [model.taken[number]] if group.size > 1 else model.takes(number)
            for row in rows:
                model.require(row <= min(group.size, self.problem.most_devices) * used[value])
        return total([*used.values(), *unknown])

    def beyond(self, more: Sequence[int], less: Sequence[int]) -> Number:
        """Return how many devices are taken of some groups beyond those of others, 0 where there are not more."""
        if not less:
            return self.devices(more)
        without = self.model.integer("without", self.problem.most_devices)
        self.model.require(without >= self.devices(more) - self.devices(less))
        return without


class NumberCounts(_Counts):
    """An allocation that is known: `taken` devices by (ask, group), and the preferred ones of some links."""

    def __init__(
        self, problem: AllocationProblem, taken: Mapping[tuple[int, int], int], links: Iterable[int] | None = None
    ) -> None:
        """Count an allocation; default of the links: all of them."""
        self.taken = {pair: count for pair, count in taken.items() if count}
        self._of_group: dict[int, int] = {}
        for (_, group), count in self.taken.items():
            self._of_group[group] = self._of_group.get(group, 0) + count
        looked_at = range(len(problem.links)) if links is None else links
        preferred = (link for link in looked_at if not problem.links[link].must)
        super().__init__(problem, dict.fromkeys(ask for ask, _ in self.taken), preferred, sorted(self._of_group))

    def total(self, numbers: Iterable[Number]) -> Number:
        """Return the sum of numbers, 0 for none."""
        return sum(numbers)

    def served(self, ask: int) -> Number:  # noqa: ARG002 - every ask of a known allocation serves its request
        """Return 1 where an ask serves its request, else 0."""
        return 1

    def devices(self, groups: Sequence[int]) -> Number:
        """Return how many different devices are taken of some groups."""
        found = 0
        for number in groups:
            group, count = self.problem.groups[number], self._of_group[number]
            # Several requests may take the same device if it is in a group of its own.
            once = group.shareable or (group.size == 1 and self.problem.overlaps(number))
            found += min(count, 1) if once else count
        return found

    def spanned(self, groups: Sequence[int], place: PlaceOf) -> Number:
        """Return at how many places devices of some groups are taken; one of unknown place is a place of its own."""
        at: dict[PlaceValue | None, list[int]] = {}
        for number in groups:
            at.setdefault(place(self.problem.groups[number]), []).append(number)
        return self.devices(at.pop(None, [])) + len(at)

    def beyond(self, more: Sequence[int], less: Sequence[int]) -> Number:
        """Return how many devices are taken of some groups beyond those of others, 0 where there are not more."""
        return max(0, self.devices(more) - self.devices(less))


DeviceCounts = ModelCounts | NumberCounts
"""What an allocation takes, in numbers of any sort."""
