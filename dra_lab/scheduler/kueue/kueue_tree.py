"""The tree of domains in which Kueue counts how many pods and slices fit.

Source: kubernetes-sigs/kueue v0.19.2, pkg/cache/scheduler/tas_topology_tree.go and tas_flavor_snapshot.go
(`fillInCounts`, `fillInCountsHelper`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

PODS, SLICES = 0, 1
"""The two units that are counted: pods, and slices of several pods."""

Amounts = Mapping[str, int]


class PodSetRequest(Struct, frozen=True):
    """What a pod set asks of the tree.

    Args:
        count: The number of pods.
        level: The index of the level at which the search begins.
        slices: (index of the level, pods) of each layer of slices, the coarse one first.
        required: Whether all pods must be in one domain of that level.
        unconstrained: Whether no level is asked for.
        leaders: 1 if a leader is placed with the pods, else 0.
        lowest: The index of the lowest level.
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
    counts = [(place.led if leaders else place.headroom)[unit] for place in places]
    enough = [
        (count, index)
        for index, (place, count) in enumerate(zip(places, counts, strict=True))
        if place.leaders >= leaders and count >= needed
    ]
    return places[min(enough)[1]] if enough else places[0]
