"""Claims whose best packing can be counted: how many fit on a node, and what they are worth at least; no solver.

Every class has `drawn` (requests and links) and `most` (replicas that a node holds). `costs` are the least values of
the first goals for some replicas on a node: NUMA nodes, GPUs without a NIC, PCIe roots. `times` multiplies the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate

from oracle_clusters import PROFILES, Free, fits_with
from oracle_drawings import NUMAS, ROOTS, Ask, Drawn, link, parts_of
from random_devices import CPU, GPU, NIC

from dra_lab.model.sketch import How

Places = list[list[tuple[int, int]]]
"""(GPUs, NICs) of each PCIe root, place by place."""


def places(free: Free, level: str) -> Places:
    """Return the free devices of each root, grouped by the places of a level."""
    if level == ROOTS:
        return [[(gpus, nics)] for _, gpus, nics in free.roots]
    on_numa = [rows for _, _, rows, _ in free.on_numa()]
    return on_numa if level == NUMAS else [[row for rows in on_numa for row in rows]]


def pairs_of(count: int, ends: int, k: int, m: int) -> int:
    """Return how often k of some and m of others can be taken."""
    return min(have // each for have, each in ((count, k), (ends, m)) if each)


@dataclass(frozen=True)
class Together:
    """k GPUs and m NICs on one place of a level; either may be 0."""

    k: int
    m: int
    level: str

    def drawn(self) -> Drawn:
        """Return the requests and links."""
        asked = [Ask("gpu", GPU, self.k)] * bool(self.k) + [Ask("nic", NIC, self.m)] * bool(self.m)
        links = (link(self.level, *(r.name for r in asked)),) if self.level else ()
        return Drawn(tuple(asked), links)

    def in_place(self, rows: Sequence[tuple[int, int]]) -> int:
        """Return how many replicas the roots of one place hold."""
        return pairs_of(sum(g for g, _ in rows), sum(n for _, n in rows), self.k, self.m)

    def most(self, free: Free) -> int:
        """Add up the places."""
        return sum(map(self.in_place, places(free, self.level)))

    def costs(self, free: Free, count: int) -> tuple[int, ...]:
        """Everything is known on one root, or of one GPU and one NIC; else only the NUMA nodes of a NUMA link are."""
        alone = max(0, self.k - self.m) if self.k and self.m else 0
        if self.level == ROOTS or self.k + self.m == 1:
            return (count, count * alone, count)
        if (self.k, self.m) != (1, 1):
            return (count,) if self.level == NUMAS else ()
        near = replace(self, level=NUMAS).most(free)
        unpaired = max(0, count - replace(self, level=ROOTS).most(free))
        return (count + max(0, count - near), unpaired, count + unpaired)

    def times(self, scale: int) -> Together:
        """Multiply the counts."""
        return replace(self, k=self.k * scale, m=self.m * scale)


@dataclass(frozen=True)
class OneToOne:
    """k NICs and k times j GPUs one to one on one PCIe root each; all on one NUMA node, if asked."""

    k: int
    j: int = 1
    near: bool = False
    level: str = ROOTS

    def drawn(self) -> Drawn:
        """Return the requests and links."""
        links = [link(self.level, "gpu", "nic", how=How.PAIRWISE)] + [link(NUMAS, "gpu", "nic")] * self.near
        return Drawn((Ask("gpu", GPU, self.k * self.j), Ask("nic", NIC, self.k)), tuple(links))

    def groups(self, free: Free) -> list[int]:
        """Return how many groups of j GPUs and a NIC each NUMA node holds."""
        group = Together(self.j, 1, self.level)
        return [
            sum(group.in_place([row]) for row in rows) if self.level == ROOTS else group.in_place(rows)
            for rows in places(free, NUMAS)
        ]

    def most(self, free: Free) -> int:
        """A replica takes any k groups, or k of one NUMA node."""
        found = self.groups(free)
        return sum(groups // self.k for groups in found) if self.near else sum(found) // self.k

    def costs(self, free: Free, count: int) -> tuple[int, ...]:
        """Between two NUMA nodes only what the whole replicas of each leave over is spanned."""
        found, unpaired = self.groups(free), count * self.k * (self.j - 1)
        rest = (unpaired,) if self.level == ROOTS else ()
        if self.near:
            return (count, *rest)
        if len(found) > 2:
            return ()
        return (count + max(0, count - sum(groups // self.k for groups in found)), *rest)

    def times(self, scale: int) -> OneToOne:
        """Multiply the counts."""
        return replace(self, k=self.k * scale)


@dataclass(frozen=True)
class Apart:
    """k GPUs, no two of them on one place of a level; with `nics` each has a NIC of its own on its root."""

    k: int
    level: str = ROOTS
    nics: bool = False

    def drawn(self) -> Drawn:
        """Return the requests and links."""
        asked = (Ask("gpu", GPU, self.k), *[Ask("nic", NIC, self.k)] * self.nics)
        pairs = [link(ROOTS, "gpu", "nic", how=How.PAIRWISE)] * self.nics
        return Drawn(asked, (link(self.level, "gpu", how=How.APART), *pairs))

    def most(self, free: Free) -> int:
        """A replica takes one of a place at most, so that n replicas take n of a place at most (Gale and Ryser)."""
        own = [sum(min(row) if self.nics else row[0] for row in rows) for rows in places(free, self.level)]
        count = sum(own) // self.k
        while sum(min(there, count) for there in own) < self.k * count:
            count -= 1
        return count

    def costs(self, free: Free, count: int) -> tuple[int, ...]:
        """Devices on k NUMA nodes are on k roots."""
        return (self.k * count, 0, self.k * count) if self.level == NUMAS else ()

    def times(self, scale: int) -> Apart:
        """Multiply the counts."""
        return replace(self, k=self.k * scale)


@dataclass(frozen=True)
class WithCores:
    """k GPUs and m NICs on one PCIe root, and cores of one CPU device on their NUMA node."""

    k: int
    m: int
    cores: int
    parts: int = 1

    def drawn(self) -> Drawn:
        """Return the requests and links."""
        near = Together(self.k, self.m, ROOTS).drawn()
        first = near.asks[0].name
        asked = (*near.asks, Ask("cpu", CPU, self.parts, cores=self.cores))
        return Drawn(asked, (*near.links, link(NUMAS, first, "cpu")))

    def most(self, free: Free) -> int:
        """On each NUMA node, as many as both the roots and the cores are enough for."""
        here = Together(self.k, self.m, ROOTS)
        return sum(
            min(sum(here.in_place([row]) for row in rows), sum(left // self.cores for left in cores) // self.parts)
            for _, _, rows, cores in free.on_numa()
        )

    def costs(self, free: Free, count: int) -> tuple[int, ...]:
        """A replica is on one root and one NUMA node."""
        return Together(self.k, self.m, ROOTS).costs(free, count)

    def times(self, scale: int) -> WithCores:
        """Multiply the counts and the cores."""
        return WithCores(self.k * scale, self.m * scale, self.cores * scale)


@dataclass(frozen=True)
class Cores:
    """Cores of one CPU device that pods share; where none has as many, of several in equal parts."""

    cores: int
    parts: int = 1

    def drawn(self) -> Drawn:
        """Return the requests and links."""
        return Drawn((Ask("cpu", CPU, self.parts, cores=self.cores),))

    def most(self, free: Free) -> int:
        """Add up the CPU devices."""
        return sum(left // self.cores for _, left in free.cores) // self.parts

    def costs(self, free: Free, count: int) -> tuple[int, ...]:
        """A replica is on one NUMA node."""
        return (count, 0, 0)

    def times(self, scale: int) -> Cores:
        """Multiply the cores."""
        return Cores(self.cores * scale)


@dataclass(frozen=True)
class Partition:
    """k partitions of GPUs; with `nic`, on one PCIe root with k NICs."""

    profile: str
    nic: bool = False
    k: int = 1

    def drawn(self) -> Drawn:
        """Return the requests and links."""
        asked = (Ask("gpu", GPU, self.k, self.profile), *[Ask("nic", NIC, self.k)] * self.nic)
        return Drawn(asked, (link(ROOTS, "gpu", "nic"),) if self.nic else ())

    def most(self, free: Free) -> int:
        """Add up the GPUs; each is on a root of its own."""
        fits = {
            root: len(partitions(tuple(sorted(used)), *[self.profile] * 2)) - 1 for root, used in free.split.values()
        }
        if self.nic:
            return sum(min(count, free.nics[root]) // self.k for root, count in fits.items())
        return sum(fits.values()) // self.k

    def costs(self, free: Free, count: int) -> tuple[int, ...]:
        """A replica on one root is on one NUMA node."""
        return (count,) if self.nic or self.k == 1 else ()

    def times(self, scale: int) -> Partition:
        """Multiply the counts."""
        return replace(self, k=self.k * scale)


def in_parts(claim: Claim, largest: int) -> Claim:
    """Return a claim with cores in as few equal whole parts as the largest CPU device demands (`expand`)."""
    if not isinstance(claim, Cores | WithCores) or claim.cores <= largest:
        return claim
    parts = parts_of(claim.cores, largest)
    return replace(claim, cores=claim.cores // parts, parts=parts)


@cache
def partitions(used: tuple[tuple[str, int], ...], first: str, second: str) -> tuple[int, ...]:
    """Return the most partitions of the second profile on a GPU for each number of the first, by trying all.

    For equal profiles the numbers of the first alone count.
    """
    best: dict[int, int] = {}

    def extend(taken: list[tuple[str, int]], counts: tuple[int, int], after: int) -> None:
        best[counts[0]] = max(best.get(counts[0], 0), counts[1])
        for at in range(after, len(every)):
            if fits_with(taken, *every[at]):
                is_first = every[at][0] == first
                extend([*taken, every[at]], (counts[0] + is_first, counts[1] + (not is_first)), at + 1)

    every = [(profile, at) for profile in dict.fromkeys((first, second)) for at in range(len(PROFILES[profile][1]))]
    extend(list(used), (0, 0), 0)
    # What fits beside more of the first fits beside fewer of them too.
    return tuple(accumulate((best[count] for count in sorted(best, reverse=True)), max))[::-1]


Claim = Together | OneToOne | Apart | WithCores | Cores | Partition
