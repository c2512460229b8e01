"""What one pod asks for: slots of devices that mean the same, and links as filters on what one place may give.

Requests that mean the same are one slot. A device that serves a slot has a rank: the first alternative of
`firstAvailable` that it meets. A pod has several shapes where alternatives change counts or links, where a preferred
link is kept or lost, and for each value of a link whose places are not nested in the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from msgspec.structs import replace as changed

from dra_lab.model.sketch import MAX_DEVICES, How
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup, PlaceValue, pairwise_share
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.node.merged_requests import MergedRequests

Vector = tuple[int, ...]
"""Devices by slot of a shape."""

COUNTED_KINDS = ("gpu", "nic", "cpu")
"""The kinds of devices that goals count; all others are of one kind, ""."""


@dataclass(frozen=True, slots=True)
class Slot:
    """`need` devices of one kind for one pod.

    `alternatives` are (ask of the fleet, rank), best first. `merged` is the ask of the pod's merged requests. A device
    must have a value at the place of each link of `requires`, and the one that is named there, if one is. `published`
    says of links whether it must have one. `every` is the number of devices that match on the node if the request is
    for all of them, else 0.
    """

    need: int
    alternatives: tuple[tuple[int, int], ...]
    merged: int
    kind: str
    requires: tuple[tuple[int, PlaceValue | None], ...] = ()
    every: int = 0
    published: tuple[tuple[int, bool], ...] = ()

    def rank(self, group: DeviceGroup, impossible: Collection[int] = ()) -> int:
        """Return the rank at which devices of a group serve the slot, -1 if they do not; some asks are `impossible`."""
        if counted_kind(group) != self.kind or not self._has_values(group):
            return -1
        return next((rank for ask, rank in self.alternatives if ask in group.asks and ask not in impossible), -1)

    def ways(self, group: DeviceGroup) -> Iterator[tuple[int, int]]:
        """Yield (ask, rank) of each alternative that devices of a group serve."""
        if counted_kind(group) == self.kind and self._has_values(group):
            yield from ((ask, rank) for ask, rank in self.alternatives if ask in group.asks)

    def _has_values(self, group: DeviceGroup) -> bool:
        return all(
            (value in group.places[link]) if value is not None else bool(group.places[link])
            for link, value in self.requires
        ) and all(bool(group.places[link]) is wanted for link, wanted in self.published)


@dataclass(frozen=True, slots=True)
class PlaceLink:
    """A filter on what one place of a level gives to one pod; `ends` are (slots, devices of them in a group).

    A link that is not `must` is a one-to-one link that a pod may lose: it costs what a place gives beyond whole groups.
    """

    level: int
    how: How
    ends: tuple[tuple[tuple[int, ...], int], ...]
    must: bool = True

    def allows(self, vector: Vector) -> bool:
        """Say whether one place may give these devices to one pod."""
        if self.how is How.APART:
            return sum(vector[slot] for slots, _ in self.ends for slot in slots) <= 1
        times = [divmod(sum(vector[slot] for slot in slots), per) for slots, per in self.ends]
        return not any(rest for _, rest in times) and len({whole for whole, _ in times}) == 1

    def lost(self, vector: Vector, *, known: bool) -> int:
        """Return how many groups of a preferred link one place loses that gives these devices."""
        counts = [(sum(vector[slot] for slot in slots), per) for slots, per in self.ends]
        first = next(count for count, per in counts if per == 1)
        return first - (min(count // per for count, per in counts) if known else 0)


@dataclass(frozen=True, slots=True)
class PodShape:
    """One way to ask for a pod's devices; `alternatives` and `preferences` are what it costs wherever it is placed."""

    slots: tuple[Slot, ...]
    links: tuple[PlaceLink, ...]
    alternatives: int
    preferences: int

    @property
    def need(self) -> Vector:
        """Return how many devices of each slot the pod takes."""
        return tuple(slot.need for slot in self.slots)


@dataclass(frozen=True)
class PodAsk:
    """The shapes of one workload's pod, and the way back to its requests as they were written.

    `ranked` is the problem in which a request with alternatives that are ranks is one ask; `ask_of` returns the first
    ask of the fleet behind each of its asks. `merged` are the requests that mean the same, None if there are none.
    """

    shapes: tuple[PodShape, ...]
    paired: bool
    ranked: AllocationProblem
    ask_of: tuple[int, ...]
    merged: MergedRequests | None
    alternatives: Mapping[int, tuple[tuple[int, int], ...]]

    def written(
        self, takes: Mapping[tuple[int, int], int], groups: tuple[DeviceGroup, ...]
    ) -> tuple[tuple[int, int, int], ...]:
        """Return (ask, group, devices) of the requests as written, where merged asks take (ask, group): devices."""
        found: Mapping[tuple[int, int], int] = takes
        if self.merged is not None:
            found = changed(self.merged, written=changed(self.ranked, groups=groups)).hand_back(takes)
        rows = []
        for (ask, group), count in found.items():
            first = self.ask_of[ask]
            served = groups[group].asks
            rows.append((next(a for a, _ in self.alternatives[first] if a in served), group, count))
        return tuple(sorted(rows))


def counted_kind(group: DeviceGroup) -> str:
    """Return the kind of devices that goals count, "" for all others."""
    return group.kind if group.kind in COUNTED_KINDS else ""


@dataclass(frozen=True)
class ShapesOfPod:
    """The shapes of one pod. `links` are the positions in the fleet's problem, `alternatives` the asks behind each.

    `every` has the numbers of devices that an ask for all of them may mean.
    """

    problem: AllocationProblem
    part: CopyPart
    groups: Sequence[DeviceGroup]
    levels: Mapping[int, int]
    links: tuple[int, ...]
    alternatives: Mapping[int, tuple[tuple[int, int], ...]]
    every: Mapping[int, Sequence[int]]
    inferred: frozenset[int]

    def shapes(self, most: int) -> tuple[PodShape, ...] | None:
        """Return all shapes; none if nothing serves the pod."""
        requests = self.problem.requests[slice(*self.part.requests)]
        every = ((at, self.problem.links[at]) for at in range(*self.part.links))
        soft = [at for at, link in every if not link.must and not link.kind.paired]
        if prod(len(asks) for asks in requests) * 2 ** len(soft) > most:
            return None
        found: list[PodShape] = []
        for chosen in product(*requests):
            for kept in product((True, False), repeat=len(soft)):
                lost = {link for link, keep in zip(soft, kept, strict=True) if not keep}
                more = self._with_values(chosen, lost, most)
                if more is None or len(found) + len(more) > most:
                    return None
                found.extend(more)
        return tuple(found)

    def _with_values(self, chosen: Sequence[int], lost: set[int], most: int) -> list[PodShape] | None:
        """Return a shape for each choice of values where places are not nested, [] if nothing serves the pod."""
        kept = [at for at in range(*self.part.links) if at not in lost]
        free = [at for at in kept if self.links[at] not in self.levels]
        if any(self.problem.links[at].how is not How.TOGETHER for at in free):
            return None
        choices: list[list[PlaceValue | None]] = []
        for at in free:
            link, ends = self.links[at], {ask for asks in self._covered(at, chosen) for ask in asks}
            serving = [ask for one in ends for ask, _ in self.alternatives[one]]
            seen = {value for group in self.groups if set(serving) & set(group.asks) for value in group.places[link]}
            choices.append([*sorted(seen, key=repr)] if ends else [None])
        if prod(map(len, choices)) > most:
            return None
        found: list[PodShape] = []
        for values in product(*choices):
            more = self._made(chosen, kept, dict(zip(free, values, strict=True)), len(lost), most)
            if more is None or len(found) + len(more) > most:
                return None
            found.extend(more)
        return found

    def _covered(self, at: int, chosen: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the chosen asks behind each reference of a link that has some."""
        parts = (tuple(ask for ask in asks if ask in chosen) for asks in self.problem.covered(at))
        return [part for part in parts if part]

    def _made(
        self, chosen: Sequence[int], kept: Sequence[int], values: Mapping[int, PlaceValue | None], lost: int, most: int
    ) -> list[PodShape] | None:
        requires: dict[int, list[tuple[int, PlaceValue | None]]] = {ask: [] for ask in chosen}
        told: dict[int, list[int]] = {ask: [] for ask in chosen}
        for at in kept:
            # A preferred one-to-one link that a device cannot keep is lost; it does not keep the device away.
            if self.problem.links[at].kind.paired and not self.problem.links[at].must:
                if self.levels.get(self.links[at]) in self.inferred:
                    for ask in {ask for asks in self._covered(at, chosen) for ask in asks}:
                        told[ask].append(self.links[at])
                continue
            for ask in {ask for asks in self._covered(at, chosen) for ask in asks}:
                requires[ask].append((self.links[at], values.get(at)))
        each = []
        for ask in chosen:
            slot = Slot(self.problem.asks[ask].count, self.alternatives[ask], ask, "", tuple(requires[ask]))
            if self.problem.asks[ask].all_devices:
                numbers = [replace(slot, need=count, every=count) for count in self.every.get(ask, ())]
                each.append([split for one in numbers for split in self._by_kind(one, told[ask])])
            else:
                each.append(self._by_kind(slot, told[ask]))
        if prod(map(len, each)) > most:
            return None
        fixed = sum(self.problem.asks[ask].rank for ask in chosen if len(self.alternatives[ask]) == 1)
        found = []
        for parts in product(*each):
            slots = tuple(slot for some in parts for slot in some)
            if self._is_too_many(slots):
                continue
            links = self._links(chosen, kept, slots)
            if links is None:
                return None
            found.append(PodShape(slots, links, fixed, lost + self._lost(chosen, kept, slots)))
        return found

    def _is_too_many(self, slots: Sequence[Slot]) -> bool:
        """Say whether a claim would have more devices than `allocation.devices.results` holds."""
        asked = Counter[int]()
        for slot in slots:
            asked[self.problem.claim_of(slot.merged)] += slot.need
        return max(asked.values(), default=0) > MAX_DEVICES

    def _by_kind(self, slot: Slot, told: Sequence[int]) -> list[tuple[Slot, ...]]:
        """Return the ways to split a slot into slots of one kind of devices, [] if no device serves it.

        Devices that publish where they are for links of `told` are other kinds than those that do not.
        """
        looks = sorted(
            {
                (kind, tuple((link, bool(group.places[link])) for link in told))
                for group in self.groups
                if replace(slot, kind=(kind := counted_kind(group))).rank(group) >= 0
            }
        )
        return [
            tuple(
                replace(slot, kind=kind, need=need, published=published)
                for (kind, published), need in zip(looks, needs, strict=True)
                if need
            )
            for needs in _compositions(slot.need, len(looks))
        ]

    def _lost(self, chosen: Sequence[int], kept: Iterable[int], slots: Sequence[Slot]) -> int:
        """Return how many groups of preferred links one to one are lost because devices do not say where they are."""
        lost = 0
        for at in kept:
            link, parts = self.problem.links[at], self._covered(at, chosen)
            if link.must or not link.kind.paired or len(parts) < 2:
                continue
            share = pairwise_share([sum(self.problem.asks[ask].count for ask in asks) for asks in parts])
            first = next((asks for asks, per in zip(parts, share[1], strict=True) if per == 1), ()) if share else ()
            mine = (slot for slot in slots if slot.merged in first)
            lost += sum(slot.need for slot in mine if (self.links[at], False) in slot.published)
        return lost

    def _links(self, chosen: Sequence[int], kept: Iterable[int], slots: Sequence[Slot]) -> tuple[PlaceLink, ...] | None:
        found = []
        for at in kept:
            link, parts = self.problem.links[at], self._covered(at, chosen)
            level = self.levels.get(self.links[at])
            if level is None or not parts:
                continue
            counts = [sum(self.problem.asks[ask].count for ask in asks) for asks in parts]
            ends = [tuple(n for n, slot in enumerate(slots) if slot.merged in asks) for asks in parts]
            if link.how is How.TOGETHER:
                every = tuple(sorted({slot for end in ends for slot in end}))
                found.append(PlaceLink(level, link.how, ((every, sum(slots[n].need for n in every)),)))
            elif link.how is How.APART:
                found.append(PlaceLink(level, link.how, ((tuple(sorted({s for end in ends for s in end})), 1),)))
            elif len(parts) > 1:
                share = pairwise_share(counts)
                everything = any(self.problem.asks[ask].all_devices for asks in parts for ask in asks)
                if everything or share is None or len({ask for asks in parts for ask in asks}) > len(parts):
                    return None
                silent = {n for n, slot in enumerate(slots) if (self.links[at], False) in slot.published}
                able = [tuple(n for n in end if n not in silent) for end in ends]
                found.append(PlaceLink(level, link.how, tuple(zip(able, share[1], strict=True)), link.must))
        return tuple(found)


def _compositions(total: int, parts: int) -> Iterator[Vector]:
    """Yield the ways to write a number as a sum of `parts` numbers, none if there are no parts."""
    if parts == 1:
        yield (total,)
    elif parts:
        for first in range(total, -1, -1):
            yield from ((first, *rest) for rest in _compositions(total - first, parts - 1))
