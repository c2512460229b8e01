"""What is left: how many more pods fit, the largest job, and devices that no claim can use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.model.goals import GoalValue
from dra_lab.model.sketch import ClaimSketch
from dra_lab.printing import Shown

MOST_COUNTED = 10_000
"""Where counting replicas on one node stops: a number this high is a cap, and more may fit."""


class Bounded(Struct, frozen=True):
    """A number that is at least `value` and at most `bound`; None if it is not known how large it may be."""

    value: int
    bound: int | None = None

    @property
    def exact(self) -> bool:
        """Say whether the number is known."""
        return self.value == self.bound

    def at_most(self, number: int) -> Bounded:
        """Return the smaller one of this and another number."""
        return Bounded(min(self.value, number), number if self.bound is None else min(self.bound, number))

    def is_below(self, number: int) -> bool:
        """Say whether it is surely below another number."""
        return self.bound is not None and self.bound < number

    def __str__(self) -> str:
        """Return `3`, `3 to 5` if it may be more, or `at least 10,000` if that is not known."""
        if self.bound is None:
            return f"at least {self.value:,}"
        return f"{self.value:,}" if self.exact else f"{self.value:,} to {self.bound:,}"


def counted_to(count: int, bound: int, most: int = MOST_COUNTED) -> Bounded:
    """Return a count and its bound, which is not known where counting stopped."""
    return Bounded(count, None if count >= most else max(count, bound))


NODE, NODES_TOGETHER, DOMAIN = "node", "nodes", "domain"


class NodeFit(StrEnum):
    """How a node serves the claim: as well as the best, worse, not at all, or not decided."""

    BEST = "best"
    WORSE = "worse"
    NO = "no"
    UNKNOWN = "unknown"


class Fit(Struct, frozen=True):
    """What fits of a workload on each of some equal nodes, on nodes that share devices, or in one domain of a level.

    `kind` is `node` (`members` are equal nodes, and each has these numbers), `nodes` (all of them together have them)
    or `domain` (`members` is its path, `()` all nodes). `replicas` fit there at once, and `pods` of one replica.
    `least` and `size` are the pods that a replica needs and wants. `reasons` say in words what keeps pods away.

    For a plan of one pod, `members` offer the claim the same, sorted. `verdict` is how they serve it beside the best
    node, with the `values` of its goals. `fits_idle` says whether it would fit with nothing in use. `label` is what
    the nodes are called together, as CORDONED.
    """

    workload: str
    kind: str
    members: tuple[str, ...]
    replicas: Bounded
    pods: Bounded = Bounded(0, 0)
    least: int = 1
    size: int = 1
    reasons: tuple[str, ...] = ()
    verdict: NodeFit | None = None
    values: tuple[GoalValue, ...] = ()
    fits_idle: bool | None = None
    label: str = ""

    def __repr__(self) -> str:
        """Return a line; the fields hold all of it."""
        more = f" and {len(self.members) - 1:,} more" if self.kind != DOMAIN and len(self.members) > 1 else ""
        where = "/".join(self.members) if self.kind == DOMAIN else f"{self.members[0] if self.members else ''}{more}"
        return f"<Fit of {self.workload}, {self.kind} {where}: replicas {self.replicas}>"

    @property
    def fits(self) -> bool:
        """Say whether one replica fits."""
        return self.replicas.value > 0

    @property
    def proven(self) -> bool:
        """Say whether both numbers are exact."""
        return self.replicas.exact and self.pods.exact

    def __str__(self) -> str:
        """Return `14 of 16; NICs in use on n41`."""
        known = "" if self.pods.exact else f", at most {self.pods.bound:,}"
        return "; ".join([f"{self.pods.value:,} of {self.size:,}{known}", *self.reasons])


CORDONED = "cordoned"
"""The label of the class of nodes that are cordoned."""


def node_fit(
    workload: str,
    nodes: Iterable[str],
    verdict: NodeFit,
    values: tuple[GoalValue, ...] = (),
    *,
    fits_idle: bool | None = None,
    label: str = "",
) -> Fit:
    """Return how equal nodes serve one pod; how many more fit on each is not counted."""
    fits = int(verdict in (NodeFit.BEST, NodeFit.WORSE))
    replicas, pods = (Bounded(fits, 0 if verdict is NodeFit.NO else most) for most in (None, 1))
    row = Fit(workload, NODE, tuple(sorted(nodes)), replicas, pods)
    return replace(row, verdict=verdict, values=values, fits_idle=fits_idle, label=label)


class Headroom(Shown, Struct, frozen=True):
    """How many more replicas of a workload fit, now or after a plan.

    `count.value` replicas surely fit together, more than `count.bound` cannot. `where` covers every node once, or each
    domain of the required level of a gang. `levels` says for a gang how many fit in all if another level were required:
    each level of the hierarchy, and "" for none. Counting ends at MOST_COUNTED on a node, and for gangs in all.
    """

    workload: str
    count: Bounded
    where: tuple[Fit, ...] = ()
    levels: Mapping[str, Bounded] = {}
    seconds: float = 0.0

    def __hash__(self) -> int:
        """Return the hash of all but `levels`, which is a mapping."""
        return hash((self.workload, self.count, self.where))

    @property
    def proven(self) -> bool:
        """Say whether the number is exact."""
        return self.count.exact


class LargestJob(Shown, Struct, frozen=True):
    """The largest job of a claim that still fits.

    `scale` is the largest whole multiple of the claim's requests (counts and capacities times `scale`) that one pod can
    have on some node, 0 if not even the claim fits. `scale_bound` is the most it could be. `sketch` is the claim at
    that scale, and `node` a node that can hold it. `replicas` is how many pods with the claim as drawn can start
    together.
    """

    claim: str
    scale: int
    scale_bound: int
    replicas: Bounded
    node: str = ""
    sketch: ClaimSketch | None = None
    seconds: float = 0.0

    @property
    def proven(self) -> bool:
        """Say whether both numbers are exact."""
        return self.scale >= self.scale_bound and self.replicas.exact


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


class Stranded(Shown, Struct, frozen=True):
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
