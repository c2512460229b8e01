"""What is right for a case: counted where a claim can be counted, else the optimum of a model that CBC solved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from oracle_cbc import NODES, UnknownError
from oracle_claims import Claim, Cores, Together, in_parts
from oracle_clusters import Free, Node
from oracle_devices import DeviceFleet
from oracle_drawings import Drawn
from oracle_fleets import Fleet, damage, placeable, usable
from oracle_frontier import frontier, joined

from dra_lab.model.plan import DAMAGE
from dra_lab.model.sketch import MAX_DEVICES

COUNTED = ("numa", "unpaired", "roots")
"""The goals that counting knows for some claims, in their order."""

MOST_NODES = 6
"""The goals of more nodes are not modelled."""

MOST_SCALE = 1 + 64 * 4 * 2
"""More cores than these, and one, no CPU device has; of devices a pod has MAX_DEVICES at most."""

Goals = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Truth:
    """Nodes, and one or two claims with the replicas that are asked for."""

    nodes: Sequence[Node]
    claims: tuple[Claim | Drawn, ...]
    replicas: tuple[int, ...] = ()

    @cached_property
    def frees(self) -> list[Free]:
        """Return what is free on each node."""
        return [node.free() for node in self.nodes]

    @cached_property
    def drawn(self) -> list[Drawn]:
        """Return the requests and links of each claim."""
        return [claim.drawn() for claim in self.claims]

    @property
    def counted(self) -> bool:
        """Say whether counting knows how many replicas fit."""
        return not any(isinstance(claim, Drawn) for claim in self.claims)

    # ---------------------------------------------------------------- how many

    def most(self, at: int, free: Free) -> int:
        """Return how many replicas of a claim fit on a node alone."""
        claim = self.claims[at]
        return placeable([free], [claim], [None]) if isinstance(claim, Drawn) else claim.most(free)

    def total(self, at: int) -> int:
        """Return how many replicas of a claim fit on all nodes alone."""
        return sum(self.most(at, free) for free in self.frees)

    @cached_property
    def placeable(self) -> int:
        """Return how many of the replicas fit together."""
        if not self.counted:
            return placeable(self.frees, self.drawn, self.replicas)
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
        if not self.counted:
            return usable(free, self.drawn, kind)
        weights = [claim.uses[kind] for claim in (*self.drawn, Drawn(()))]
        return max(a * weights[0] + b * weights[1] for a, b in enumerate(frontier(free, self.claims)))

    def largest_multiple(self) -> int:
        """Return the largest multiple of the first claim that one pod can have; a larger one may fit alone."""
        largest = max((part.cores for node in self.nodes for part in node.parts), default=0)
        return max((scale for scale in range(1, MOST_SCALE) if self._fits(scale, largest)), default=0)

    def _fits(self, scale: int, largest: int) -> bool:
        claim = self.claims[0]
        drawn = claim.drawn().times(scale, largest)
        if drawn.devices > MAX_DEVICES:
            return False
        more = None if isinstance(claim, Drawn) else claim.times(scale)
        if more is not None:
            return any(in_parts(more, largest).most(free) for free in self.frees)
        one = (DeviceFleet([free], [drawn], [1]) for free in self.frees if _may_fit(free, drawn))
        return any(fleet.most(fleet.placed()) for fleet in one)

    # ---------------------------------------------------------------- the least values of the goals

    def least_goals(self, placed: int, *, nodes_first: bool = False) -> Goals:
        """Return the first goals with their least values for some placed replicas, as far as they are known."""
        names = (NODES, *COUNTED) if nodes_first else (*COUNTED, NODES)
        found = self._counted_goals(placed, nodes_first) if self.counted and len(self.claims) == 1 else ()
        if len(found) == len(names) or len(self.nodes) > MOST_NODES:
            return found
        try:
            return Fleet(self.frees, self.drawn, self.replicas).least_goals(placed, nodes_first=nodes_first)
        except UnknownError:
            return found

    def _counted_goals(self, placed: int, nodes_first: bool) -> Goals:
        """Return what a small dynamic programme over the nodes finds, from the costs of each number on a node."""
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
        """Return the goals of one replica of the first claim on the best node; the last one is the damage."""
        claim, drawn = self.claims[0], self.drawn[0]
        alone = Truth(self.nodes, (claim,), (1,))
        least = tuple(row for row in alone.least_goals(1) if row[0] != NODES)
        if isinstance(claim, Together | Cores) and len(least) == len(COUNTED):
            # A replica takes one from what its places count down to, and leaves the others as they are.
            return (*least, (DAMAGE, 1))
        if len(self.nodes) > MOST_NODES or not least or least[-1][0] != "roots":
            return least
        try:
            found = [damage(free, drawn, least) for free in self.frees if self._reaches(free, least)]
        except UnknownError:
            return least
        return (*least, (DAMAGE, min(found))) if found else least

    def _reaches(self, free: Free, least: Goals) -> bool:
        """Say whether one replica has given values of the goals on a node."""
        fleet = Fleet([free], self.drawn[:1], [1])
        return fleet.most(fleet.placed()) == 1 and dict(least).items() <= dict(fleet.least_goals(1)).items()


def _may_fit(free: Free, drawn: Drawn) -> bool:
    """Say whether a node has enough devices of each kind; partitions are not counted."""
    have = {
        "gpu": sum(free.gpus) + 7 * len(free.split),
        "nic": sum(free.nics),
        "cpu": sum(left for _, left in free.cores),
    }
    return all(count <= have[kind] for kind, count in drawn.uses.items())
