"""Kueue's choice: the level that fits, then level by level the fewest domains.

Source: kubernetes-sigs/kueue v0.19.2, pkg/cache/scheduler/tas_topology_tree.go, tas_flavor_snapshot.go
(`fillInCounts`, `findTopologyAssignment`, `findLevelWithFitDomains`, `updateCountsToMinimumGeneric`,
`consumeWithLeadersGeneric`, `prioritizeLeaderDomain`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

PODS, SLICES = 0, 1
"""The two units that are counted: pods, and slices of several pods."""

Amounts = Mapping[str, int]


class PodSetRequest(Struct, frozen=True):
    """What a pod set asks of the tree, with levels by their index.

    The search begins at `level`, and with `required` all pods are in one domain of it. `unconstrained`: no level is
    asked for. `slices` has (level, pods) of each layer, the coarse one first. `leaders` is 1 if a leader is placed with
    the pods, else 0.
    """

    count: int
    level: int
    slices: tuple[tuple[int, int], ...] = ()
    required: bool = False
    unconstrained: bool = False
    leaders: int = 0
    lowest: int = 0

    @property
    def slice_level(self) -> int:
        """Return the level of the coarse slices; single pods are slices of the lowest level."""
        return self.slices[0][0] if self.slices else self.lowest

    @property
    def slice_size(self) -> int:
        """Return the pods of a coarse slice."""
        return self.slices[0][1] if self.slices else 1

    @property
    def inner_sizes(self) -> Mapping[int, int]:
        """Return the pods that are kept together at each level below the coarse slices."""
        found: dict[int, int] = {}
        for (above, _), (level, size) in zip(self.slices, self.slices[1:], strict=False):
            found |= dict.fromkeys(range(above + 1, level + 1), size)
        return found


@dataclass(slots=True, eq=False)
class KueueDomain:
    """A domain with its counts: what fits at first, what is assigned later.

    `headroom` counts pods and slices, `led` the same if the leader is here too, and `leaders` is how many leaders fit
    (0 or 1).
    """

    path: tuple[str, ...]
    children: list[KueueDomain] = field(default_factory=list)
    headroom: list[int] = field(default_factory=lambda: [0, 0])
    led: list[int] = field(default_factory=lambda: [0, 0])
    leaders: int = 0

    def counts(self, leaders: int) -> list[int]:
        """Return what fits, with the leader if one is placed."""
        return self.led if leaders > 0 else self.headroom


def tree_of(paths: Iterable[tuple[str, ...]]) -> list[list[KueueDomain]]:
    """Return the domains of each level, the outermost first, with their children."""
    levels: list[dict[tuple[str, ...], KueueDomain]] = []
    for path in paths:
        levels += [{} for _ in range(len(path) - len(levels))]
        for depth in range(len(path)):
            short = path[: depth + 1]
            if short not in levels[depth]:
                place = levels[depth][short] = KueueDomain(short)
                if depth:
                    levels[depth - 1][path[:depth]].children.append(place)
    return [list(level.values()) for level in levels]


def fits(request: Amounts, headroom: Amounts) -> tuple[int, str]:
    """Return how often a request fits into the room, and the resource that limits it, the first by name."""
    counts = [
        (max(0, min(headroom.get(name, 0) // amount, 2**31 - 1)) if amount else 2**31 - 1, name)
        for name, amount in request.items()
    ]
    return min(counts, default=(0, ""))


def fill(place: KueueDomain, request: PodSetRequest, level: int = 0) -> None:
    """Count bottom-up what fits, from the counts of the lowest domains."""
    size = request.slice_size
    if not place.children:
        if level == request.slice_level:
            place.headroom[SLICES] = place.headroom[PODS] // size
            place.led[SLICES] = place.led[PODS] // size
        return
    rows = []
    whole = request.inner_sizes.get(level + 1, 1)
    for child in place.children:
        fill(child, request, level + 1)
        pods, led = child.headroom[PODS] // whole * whole, child.led[PODS] // whole * whole
        rows.append(
            (pods, pods - led, child.headroom[SLICES], child.headroom[SLICES] - child.led[SLICES], child.leaders)
        )
    pods, slices = sum(row[0] for row in rows), sum(row[2] for row in rows)
    hosts = [row for row in rows if row[4] or not request.leaders]
    led = pods - min(row[1] for row in hosts) if hosts else 0
    led_slices = slices - min(row[3] for row in hosts) if hosts else 0
    if level == request.slice_level:
        slices, led_slices = pods // size, led // size
    place.headroom[:] = [pods, slices]
    place.led[:] = [led, led_slices]
    place.leaders = max(row[4] for row in rows)


def by_headroom(places: Iterable[KueueDomain], *, least: bool) -> list[KueueDomain]:
    """Return the domains in Kueue's order: most slices first (with `least` fewest), then fewest pods, then by path."""
    sign = 1 if least else -1
    return sorted(places, key=lambda place: (sign * place.headroom[SLICES], place.headroom[PODS], place.path))


def by_led(places: Iterable[KueueDomain], *, least: bool) -> list[KueueDomain]:
    """Return the domains in Kueue's order if a leader is placed with the pods."""
    sign = 1 if least else -1
    return sorted(places, key=lambda place: (-place.leaders, sign * place.led[SLICES], place.led[PODS], place.path))


def tightest(places: Sequence[KueueDomain], needed: int, leaders: int, unit: int) -> KueueDomain:
    """Return the first domain with the least room that suffices, else the first."""
    enough = [place for place in places if place.leaders >= leaders and place.counts(leaders)[unit] >= needed]
    return min(enough, key=lambda place: place.counts(leaders)[unit], default=places[0])


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
    """Return where Kueue puts the pods of one pod set, or what fits if that is too little.

    `levels` are the domains of each level with their counts (`fill`), which are used up.
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
                if place.leaders >= leaders and place.counts(leaders)[SLICES] >= wanted:
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
            enough = not self.least and first.counts(leaders)[unit] >= left and first.leaders >= max(leaders, 0)
            place = tightest(order[index:], left, max(leaders, 0), unit) if enough else first
            here = min(place.counts(leaders)[unit], left)
            done = place.counts(leaders)[unit] >= left and (leaders <= 0 or place.leaders >= leaders)
            place.leaders = min(place.leaders, leaders) if leaders > 0 else 0
            place.headroom[unit] = here
            place.headroom[PODS] = here * pods
            found.append(place)
            if done:
                return found
            left -= here
            leaders -= place.leaders
        return []
