"""One way to ask for a pod's devices: units, which of them share a NUMA node, and which are kept apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import mul

Vector = tuple[int, ...]
"""An amount of each kind of devices."""

Takes = tuple[tuple[int, int, int], ...]
"""(ask, kind, number of devices) of one unit."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Devices that a pod takes at one place.

    `root` are devices of each kind on one PCIe root, `pool` amounts of each pool of one NUMA node; one of the two is
    zero. `takes` has an entry for every unit of this kind that the pod takes.
    """

    root: Vector
    pool: Vector
    takes: tuple[Takes, ...]

    @property
    def count(self) -> int:
        """Return how many units of this kind the pod takes."""
        return len(self.takes)


@dataclass(frozen=True, slots=True)
class OnePerPlace:
    """Devices of which one place has at most one: how many of them each unit has, on PCIe roots or on NUMA nodes."""

    on_root: bool
    weights: Vector

    def allows(self, units: Vector) -> bool:
        """Say whether one place may have some units."""
        return sum(weight * have for weight, have in zip(self.weights, units, strict=True)) <= 1


@dataclass(frozen=True, slots=True)
class PodShape:
    """One way to ask for a pod's devices; `alternatives` and `preferences` are what it costs in these goals.

    Each of `bundles` has the units of every kind that share a NUMA node; a unit is in one of them at most.
    """

    units: tuple[Unit, ...]
    alternatives: int
    preferences: int
    paired: bool
    bundles: tuple[Vector, ...] = ()
    apart: tuple[OnePerPlace, ...] = ()

    @property
    def need(self) -> Vector:
        """Return the number of units of each kind."""
        return tuple(unit.count for unit in self.units)

    @property
    def one_numa(self) -> bool:
        """Say whether all units share a NUMA node."""
        return self.need in self.bundles

    @property
    def parts(self) -> Iterator[Vector]:
        """Yield every bundle, and every unit that is in none."""
        yield from self.bundles
        for number in range(len(self.units)):
            if not any(bundle[number] for bundle in self.bundles):
                yield tuple(int(at == number) for at in range(len(self.units)))

    def all_of(self, each: Sequence[Vector]) -> Vector:
        """Return the sum over all units of what one of each takes."""
        return tuple(sum(map(mul, amounts, self.need)) for amounts in zip(*each, strict=True))

    def fits_root(self, units: Vector) -> bool:
        """Say whether links let a pod have some units on one PCIe root."""
        return all(one.allows(units) for one in self.apart if one.on_root)

    def fits_numa(self, units: Vector) -> bool:
        """Say whether links let a pod have some units, and no others, on one NUMA node."""
        whole = all(_is_multiple(units, bundle) for bundle in self.bundles)
        return whole and all(one.allows(units) for one in self.apart if not one.on_root)


def _is_multiple(units: Vector, bundle: Vector) -> bool:
    """Say whether units are several of a bundle, beside units that are not in it."""
    times = [divmod(have, each) for have, each in zip(units, bundle, strict=True) if each]
    return len(set(times)) <= 1 and not any(rest for _, rest in times)
