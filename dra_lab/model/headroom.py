"""What is left: how many more pods fit, the largest job, and devices that no claim can use."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from dra_lab.model.printing import printed
from dra_lab.model.sketch import ClaimSketch

MOST_COUNTED = 10_000
"""Where counting replicas on one node stops: a number this high is a cap, and more may fit."""


class HeadroomOnNodes(Struct, frozen=True):
    """How many more replicas each of some equal nodes holds; `bound` is the most it could, equal where it is proven."""

    nodes: tuple[str, ...]
    each: int
    bound: int

    @property
    def proven(self) -> bool:
        """Say whether no more fit."""
        return self.each >= self.bound and not self.capped

    @property
    def capped(self) -> bool:
        """Say whether counting stopped at MOST_COUNTED, so that more may fit."""
        return self.each >= MOST_COUNTED


class Headroom(Struct, frozen=True):
    """How many more replicas of a workload fit, now or after a plan.

    `count` replicas surely fit together, more than `bound` cannot. `classes` covers every node once: nodes with equal
    numbers together; where devices are seen from several nodes, each such set of nodes is one class whose numbers
    hold for all of it together (`together`).
    """

    workload: str
    count: int
    bound: int
    classes: tuple[HeadroomOnNodes, ...] = ()
    together: tuple[tuple[str, ...], ...] = ()
    seconds: float = 0.0

    @property
    def proven(self) -> bool:
        """Say whether the number is exact."""
        return self.count >= self.bound and not self.capped

    @property
    def capped(self) -> bool:
        """Say whether counting stopped at MOST_COUNTED on some node; `bound` then bounds only what was counted."""
        return any(node_class.capped for node_class in self.classes)


class LargestJob(Struct, frozen=True):
    """The largest job of a claim that still fits.

    `scale` is the largest whole multiple of the claim's requests (counts and capacities times `scale`) that one pod can
    have on some node, 0 if not even the claim fits. `scale_bound` is the most it could be. `sketch` is the claim at
    that scale, and `node` a node that can hold it. `replicas` is how many pods with the claim as drawn can start
    together, at most `replicas_bound`; `capped` says that counting them stopped at MOST_COUNTED, and more may fit.
    """

    claim: str
    scale: int
    scale_bound: int
    replicas: int
    replicas_bound: int
    node: str = ""
    sketch: ClaimSketch | None = None
    seconds: float = 0.0
    capped: bool = False

    @property
    def proven(self) -> bool:
        """Say whether both numbers are exact."""
        return self.scale >= self.scale_bound and self.replicas >= self.replicas_bound and not self.capped


class StrandedKind(Struct, frozen=True):
    """Free capacity of one kind: `free` of it, `usable` by aligned claims, and surely no more of it than `bound`.

    Devices are counted by kind (`gpu`, `nic`, `other`), CPUs in whole CPUs. `stranded` is what no aligned claim can use
    in the best packing; at least `least` of it is stranded for certain. The free partitions are as many as shared
    counters can provide at once. `partitions` of these share counters with others of another size: what is left of them
    depends on which are in use, so that with them `stranded` is only what it can be at most.
    """

    kind: str
    free: int
    usable: int
    bound: int
    partitions: int = 0

    @property
    def stranded(self) -> int:
        """Return the aligned capacity that no claim can use."""
        return self.free - self.usable

    @property
    def least(self) -> int:
        """Return what is stranded for certain."""
        return max(0, self.free - self.partitions - self.bound) if self.partitions else self.free - self.bound

    @property
    def proven(self) -> bool:
        """Say whether no packing uses more, and what it leaves over is stranded for certain."""
        return self.usable >= self.bound and self.stranded == self.least


class StrandedNodes(Struct, frozen=True):
    """What is stranded on each of some equal nodes; on nodes that share devices it is on all of them `together`."""

    nodes: tuple[str, ...]
    kinds: tuple[StrandedKind, ...]
    together: bool = False


class Stranded(Struct, frozen=True):
    """Fragmentation: aligned capacity that no claim can use, on each node and in all.

    For every kind by itself: `free` less the most that replicas of the given claims, any number of each and every link
    kept as a must, can use of it at once. `not_examined` counts the nodes that were not examined before the time limit:
    nothing of them is in the numbers.
    """

    claims: tuple[str, ...]
    kinds: tuple[StrandedKind, ...]
    nodes: tuple[StrandedNodes, ...] = ()
    seconds: float = 0.0
    not_examined: int = 0

    @property
    def proven(self) -> bool:
        """Say whether every number is exact, and of all nodes."""
        return not self.not_examined and all(kind.proven for kind in self.kinds)


class GangHeadroom(Struct, frozen=True):
    """The capacity of one domain for one gang, before the plan.

    `most` are the pods of one gang that fit there at once, surely no more than `bound`. `least` and `size` are the
    pods that the gang needs and wants. `gangs` and `gangs_bound` say how many of the gangs that are wanted fit at once.
    `lacking` is what keeps pods away, in words.
    """

    gang: str
    domain: tuple[str, ...]
    most: int
    bound: int
    least: int
    size: int
    gangs: int = 0
    gangs_bound: int = 0
    lacking: tuple[str, ...] = ()

    @property
    def fits(self) -> bool:
        """Say whether one gang fits."""
        return self.gangs > 0

    @property
    def proven(self) -> bool:
        """Say whether both numbers are exact."""
        return self.most >= self.bound and self.gangs >= self.gangs_bound

    def __str__(self) -> str:
        """Return `14 of 16; NICs in use on n41`."""
        known = "" if self.most >= self.bound else f", at most {self.bound:,}"
        return "; ".join([f"{self.most:,} of {self.size:,}{known}", *self.lacking])


class GangCount(Struct, frozen=True):
    """How many more gangs fit: in all (`count`, at most `bound`) and in each domain of the required level alone.

    `levels` says how many fit in all if another level were required: each level of the hierarchy, and "" for none.
    Each value is (count, bound). Counting ends at MOST_COUNTED gangs.
    """

    gang: str
    count: int
    bound: int
    headroom: tuple[GangHeadroom, ...] = ()
    levels: Mapping[str, tuple[int, int]] = {}
    seconds: float = 0.0

    @property
    def proven(self) -> bool:
        """Say whether the number is exact."""
        return self.count >= self.bound

    def __str__(self) -> str:
        """Return the answer as a terminal shows it."""
        return printed(self)
