"""Kueue's choice: the level that fits, then level by level the fewest domains.

Source: kubernetes-sigs/kueue v0.19.2, pkg/cache/scheduler/tas_flavor_snapshot.go (`findTopologyAssignment`,
`findLevelWithFitDomains`, `updateCountsToMinimumGeneric`, `consumeWithLeadersGeneric`, `prioritizeLeaderDomain`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from dra_lab.scheduler.kueue.kueue_tree import (
    PODS,
    SLICES,
    KueueDomain,
    PodSetRequest,
    by_headroom,
    by_led,
    tightest,
)


class KueueChoice(Struct, frozen=True):
    """The pods of each lowest domain, and the domains of the leader; `fitted` if too little fits.

    `fitted` is (what fits, what was asked) in slices.
    """

    pods: tuple[tuple[tuple[str, ...], int], ...] = ()
    leader: tuple[tuple[str, ...], ...] = ()
    fitted: tuple[int, int] | None = None


class _TooLittle(Exception):
    def __init__(self, fits: int, wanted: int) -> None:
        self.fitted = (fits, wanted)


def choose(levels: Sequence[Sequence[KueueDomain]], request: PodSetRequest) -> KueueChoice:
    """Return where Kueue puts the pods of one pod set.

    Args:
        levels: The domains of each level with their counts (`places.fill`); the counts are used up.
        request: What the pod set asks for.

    Returns:
        The assignment, or what fits if that is too little.
    """
    return _Choice(levels, request).chosen()


class _Choice:
    def __init__(self, levels: Sequence[Sequence[KueueDomain]], request: PodSetRequest) -> None:
        self.levels = levels
        self.request = request
        self.least = request.unconstrained
        self.wanted = request.count // request.slice_size

    def chosen(self) -> KueueChoice:
        request = self.request
        try:
            level, found = self._level(request.level)
        except _TooLittle as none:
            return KueueChoice(fitted=none.fitted)
        found = self._fewest(found, request.count, request.leaders, request.slice_size, SLICES)
        last = len(self.levels) - 1
        while level < min(last, request.slice_level):
            below = by_headroom((child for place in found for child in place.children), least=self.least)
            found = self._fewest(below, request.count, request.leaders, request.slice_size, SLICES)
            level += 1
        while level < last:
            found = self._inside(found, level)
            level += 1
        leader = tuple(sorted(place.path for place in found if place.leaders)) if request.leaders else ()
        pods = sorted((place.path, place.headroom[PODS]) for place in found if place.headroom[PODS])
        return KueueChoice(tuple(pods), leader)

    def _inside(self, found: Sequence[KueueDomain], level: int) -> list[KueueDomain]:
        """Divide the pods of each domain among its children."""
        request = self.request
        size = request.slice_size if level < request.slice_level else request.inner_sizes.get(level + 1, 1)
        result = []
        for place in found:
            below = by_headroom(place.children, least=self.least)
            unit = SLICES if size > 1 else PODS
            if unit == SLICES:
                for child in below:
                    child.headroom[SLICES] = child.headroom[PODS] // size
                    child.led[SLICES] = child.led[PODS] // size
            result += self._fewest(below, place.headroom[PODS], place.leaders, size, unit)
        return result

    def _level(self, level: int) -> tuple[int, list[KueueDomain]]:
        """Return the level and the domains that hold everything: the asked level, else wider ones."""
        request, wanted, leaders = self.request, self.wanted, self.request.leaders
        places = by_led(self.levels[level], least=self.least)
        if not places:
            raise _TooLittle(0, wanted)
        top = places[0]
        if not self.least and top.led[SLICES] >= wanted and top.leaders >= leaders:
            return level, [tightest(places, wanted, leaders, SLICES)]
        if self.least:
            for place in places:
                if place.leaders >= leaders and (place.led if leaders else place.headroom)[SLICES] >= wanted:
                    return level, [place]
            if request.required:
                raise _TooLittle(places[-1].headroom[PODS], wanted)
            if top.led[SLICES] >= wanted and top.leaders >= leaders:
                return level, [top]
        if request.required:
            raise _TooLittle(top.headroom[SLICES], wanted)
        if level and not request.unconstrained:
            return self._level(level - 1)
        return level, self._several(places)

    def _several(self, places: list[KueueDomain]) -> list[KueueDomain]:
        """Take domains one after the other until everything has a place."""
        left, leaders = self.wanted, self.request.leaders
        places = self._leader_first(places, self.request.count, leaders, self.request.slice_size, SLICES)
        found: list[KueueDomain] = []
        index = 0
        while leaders > 0 and index < len(places) and places[index].leaders:
            place = places[index]
            if not self.least and place.led[SLICES] >= left:
                place = tightest(places[index:], left, leaders, SLICES)
            found.append(place)
            leaders -= place.leaders
            left -= place.led[SLICES]
            index += 1
        if leaders > 0:
            raise _TooLittle(self.request.leaders - leaders, self.wanted)
        rest = by_headroom(places[index:], least=self.least)
        for index, first in enumerate(rest):
            if left <= 0:
                break
            enough = not self.least and first.headroom[SLICES] >= left
            place = tightest(rest[index:], left, 0, SLICES) if enough else first
            found.append(place)
            left -= place.headroom[SLICES]
        if left > 0:
            raise _TooLittle(self.wanted - left, self.wanted)
        return found

    def _leader_first(
        self, places: list[KueueDomain], count: int, leaders: int, size: int, unit: int
    ) -> list[KueueDomain]:
        """Put first the domain that can take the leader while the rest still has room for all pods."""
        if not leaders or len(places) < 2:
            return places
        needed = count // size if unit == SLICES else count
        headroom = sum(place.headroom[unit] for place in places)
        for place in places:
            if place.leaders >= leaders and headroom - (place.headroom[unit] - place.led[unit]) >= needed:
                return [place, *(other for other in places if other is not place)]
        return places

    def _fewest(
        self, places: Sequence[KueueDomain], count: int, leaders: int, size: int, unit: int
    ) -> list[KueueDomain]:
        """Assign the pods to as few domains as possible, in the order given; the last one is the tightest."""
        order = self._leader_first(list(places), count, leaders, size, unit)
        left = count // size if unit == SLICES else count
        pods = size if unit == SLICES else 1
        found: list[KueueDomain] = []
        for index, first in enumerate(order):
            counts: Callable[[KueueDomain], list[int]] = _led if leaders > 0 else _headroom
            enough = not self.least and counts(first)[unit] >= left and first.leaders >= max(leaders, 0)
            place = tightest(order[index:], left, max(leaders, 0), unit) if enough else first
            here = min(counts(place)[unit], left)
            done = counts(place)[unit] >= left and (leaders <= 0 or place.leaders >= leaders)
            place.leaders = min(place.leaders, leaders) if leaders > 0 else 0
            place.headroom[unit] = here
            place.headroom[PODS] = here * pods
            found.append(place)
            if done:
                return found
            left -= here
            leaders -= place.leaders
        return []


def _led(place: KueueDomain) -> list[int]:
    return place.led


def _headroom(place: KueueDomain) -> list[int]:
    return place.headroom
