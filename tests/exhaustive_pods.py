"""Random pods of one to three claims on small nodes, every rule mixed, and the best found by trying every subset.

Beside all that `exhaustive_sharing` mixes: several claims, which share devices, counters and capacity, and admin access
of a later claim to what an earlier one takes (dra-semantics 3.5 C1, rules 60, 61, 66). No solver.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, product
from math import prod

from exhaustive_sharing import ExhaustiveSharing, sharing_sketch
from msgspec.structs import replace

from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.sketch import ClaimSketch

MOST = 4000
"""Combinations of choices that are tried for a pod: larger ones are drawn again."""


def random_pod(rng: random.Random, cluster: Cluster, version: str) -> dict[str, ClaimSketch]:
    """Return the claims of a pod by name, few enough to be tried out."""
    while True:
        number = rng.choice([1, 1, 2, 2, 2, 3])
        claims = {f"c{n}": _cut(rng, sharing_sketch(rng, cluster), number) for n in range(number)}
        tried = ExhaustivePod(cluster, claims, version=version)
        few = prod(len(tuple(tried.choices(request))) for request in tried.sketch.requests) <= MOST
        # Most pods drawn at random fit nowhere; of those only some are kept.
        if few and (rng.random() < 0.3 or next(tried.allocations(), None) is not None):
            return claims


def _cut(rng: random.Random, sketch: ClaimSketch, number: int) -> ClaimSketch:
    """Keep the first requests of a claim and the links that tie nothing else."""
    kept = sketch.requests if number == 1 else sketch.requests[: rng.choice([1, 1, 2])]
    names = {request.name for request in kept}
    links = tuple(link for link in sketch.links if {end.partition("/")[0] for end in link.requests} <= names)
    return replace(sketch, requests=kept, links=links)


def together(claims: dict[str, ClaimSketch]) -> ClaimSketch:
    """Return all claims as one drawing whose names say the claim."""
    requests = [replace(r, name=f"{name}:{r.name}") for name, sketch in claims.items() for r in sketch.requests]
    links = [
        replace(link, name=f"{name}:{link.name}", requests=tuple(f"{name}:{end}" for end in link.requests))
        for name, sketch in claims.items()
        for link in sketch.links
    ]
    return ClaimSketch(requests=tuple(requests), links=tuple(links))


class ExhaustivePod(ExhaustiveSharing):
    """Every allocation of the claims of one pod on one node."""

    def __init__(
        self, cluster: Cluster, claims: dict[str, ClaimSketch], node: str = "n1", *, version: str = "1.36"
    ) -> None:
        super().__init__(cluster, together(claims), node, version=version)
        self.order = list(claims)

    def allocations(self) -> Iterator[list[tuple[object, tuple[DeviceID, ...]]]]:
        for picked in product(*(list(self.choices(request)) for request in self.sketch.requests)):
            if self.taken_rightly(picked) and self.room_for(picked) and self.must_hold(picked):
                yield list(picked)

    def claim(self, ask) -> int:
        return self.order.index(ask.reference.partition(":")[0])

    def taken_rightly(self, picked) -> bool:
        """Say whether no device is taken twice, but shares, and what a later claim takes for admin access."""
        for (first, some), (second, others) in combinations(picked, 2):
            if any(not self.shareable(device) for device in set(some) & set(others)):
                early, late = sorted((first, second), key=self.claim)
                if self.claim(early) == self.claim(late) or not late.admin_access:
                    return False
        return True

    def room_for(self, picked) -> bool:
        counters, pools = self.counters, set()
        for device in {device for _, taken in picked for device in taken}:
            asked = [self.uses(ask, device) for ask, taken in picked if device in taken]
            for key, left in self.room(device).items():
                amounts = [use[key] for use in asked]
                if (sum(amounts) if self.shareable(device) else max(amounts)) > left:
                    return False
            paid = self.shareable(device) and device in self.cluster.allocated.shares
            if self.devices[device].consumes_counters and not paid:
                for _ in range(1 if self.shareable(device) else len(asked)):
                    counters = self.drawn(counters, device)
                pools.add(device.driver)
        return all(left >= 0 for (driver, _, _), left in counters.items() if driver in pools)
