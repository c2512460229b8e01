"""What is right for a case, counted from what is free: how many pods fit, and the least values of the goals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from oracle_claims import Claim, Cores, Together, in_parts
from oracle_clusters import Free, Node
from oracle_drawings import Drawn
from oracle_frontier import frontier, joined

from dra_lab.model.goals import DAMAGE, NODES
from dra_lab.model.sketch import MAX_DEVICES

COUNTED = ("numa", "unpaired", "roots")
"""The goals that counting knows for some claims, in their order."""

MOST_SCALE = 1 + 64 * 4 * 2
"""More cores than these, and one, no CPU device has; of devices a pod has MAX_DEVICES at most."""

Goals = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Truth:
    """Nodes, and one or two claims with the replicas that are asked for."""

    nodes: Sequence[Node]
    claims: tuple[Claim, ...]
    replicas: tuple[int, ...] = ()

    @cached_property
    def frees(self) -> list[Free]:
        """Return what is free on each node."""
        return [node.free() for node in self.nodes]

    @cached_property
    def drawn(self) -> list[Drawn]:
        """Return the requests and links of each claim."""
        return [claim.drawn() for claim in self.claims]

    # ---------------------------------------------------------------- how many

    def most(self, at: int, free: Free) -> int:
        """Return how many replicas of a claim fit on a node alone."""
        return self.claims[at].most(free)

    def total(self, at: int) -> int:
        """Return how many replicas of a claim fit on all nodes alone."""
        return sum(self.most(at, free) for free in self.frees)

    @cached_property
    def placeable(self) -> int:
        """Return how many of the replicas fit together."""
        wanted = (*self.replicas, 0)
        found = [0]
        for free in self.frees:
            found = joined(found, frontier(free, self.claims), wanted[0])
        return max(count + min(most, wanted[1]) for count, most in enumerate(found))

    def usable(self, kind: str) -> int:
        """Return the most of a kind that any numbers of replicas can take on all nodes, every link kept."""
        return sum(self.usable_on(free, kind) for free in self.frees)

    def usable_on(self, free: Free, kind: str) -> int:
        """Return the most of a kind that any numbers of replicas can take on a node, every link kept."""
        weights = [claim.uses[kind] for claim in (*self.drawn, Drawn(()))]
        return max(a * weights[0] + b * weights[1] for a, b in enumerate(frontier(free, self.claims)))

    def largest_multiple(self) -> int:
        """Return the largest multiple of the first claim that one pod can have; a larger one may fit alone."""
        largest = max((part.cores for node in self.nodes for part in node.parts), default=0)
        return max((scale for scale in range(1, MOST_SCALE) if self._fits(scale, largest)), default=0)

    def _fits(self, scale: int, largest: int) -> bool:
        more = in_parts(self.claims[0].times(scale), largest)
        return more.drawn().devices <= MAX_DEVICES and any(more.most(free) for free in self.frees)

    # ---------------------------------------------------------------- the least values of the goals

    def least_goals(self, placed: int, *, nodes_first: bool = False) -> Goals:
        """Return the first goals with their least values for some placed replicas, as far as they are known.

        A small dynamic programme goes over the nodes with the costs of each number of replicas on a node.
        """
        if len(self.claims) > 1:
            return ()
        claim = self.claims[0]
        known = min((len(claim.costs(free, 1)) for free in self.frees), default=0)
        names = (NODES, *COUNTED[:known]) if nodes_first else (*COUNTED[:known], *[NODES] * (known == len(COUNTED)))
        best: dict[int, tuple[int, ...]] = {0: (0,) * len(names)}
        for free in self.frees:
            rows = []
            for count in range(1, claim.most(free) + 1):
                costs = claim.costs(free, count)[:known]
                rows.append((count, (1, *costs) if nodes_first else (*costs, *[1] * (known == len(COUNTED)))))
            following = dict(best)
            for have, value in best.items():
                for count, costs in rows:
                    if have + count > placed:
                        break
                    total = tuple(map(sum, zip(value, costs, strict=True)))
                    if have + count not in following or total < following[have + count]:
                        following[have + count] = total
            best = following
        return tuple(zip(names, best[placed], strict=True))

    def goals_of_one(self) -> Goals:
        """Return the goals of one replica of the first claim on the best node, as far as they are known."""
        claim = self.claims[0]
        alone = Truth(self.nodes, (claim,), (1,))
        least = tuple(row for row in alone.least_goals(1) if row[0] != NODES)
        if isinstance(claim, Together | Cores) and len(least) == len(COUNTED):
            # A replica takes one from what its places count down to, and leaves the others as they are.
            return (*least, (DAMAGE, 1))
        return least
