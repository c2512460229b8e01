"""All ways in which one pod can take devices of a node, listed by trying; no solver and no planner.

Free devices with the same PCIe root and NUMA node are one stock, because no rule and no goal tells them apart. A way
takes a number from each stock. Links and goals are read from these numbers alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations, combinations_with_replacement, product
from math import comb, prod

from oracle_cbc import UnknownError
from oracle_clusters import PROFILES, Free, fits_with
from oracle_drawings import NUMAS, Ask, Drawn

from dra_lab.model.sketch import How, Link

MOST_TRIED = 60_000
"""More ways than these are not listed: the oracle then does not know."""


@dataclass(frozen=True)
class Stock:
    """Identical free devices: GPUs or NICs on a PCIe root, cores of a CPU device, or a partition."""

    kind: str
    numa: int
    root: int
    amount: int
    profile: str = ""
    gpu: int = -1
    position: int = 0

    def place(self, level: str) -> int:
        """Return the NUMA node or the PCIe root."""
        return self.numa if level == NUMAS else self.root


Limit = tuple[tuple[tuple[int, int], ...], int]
"""A row: (number of a stock, factor) of each stock in it, and what they add up to at most."""


@dataclass(frozen=True)
class Way:
    """What one pod takes of each stock by number, and its goals in order."""

    takes: tuple[tuple[int, int], ...]
    preferences: int
    numa: int
    unpaired: int
    roots: int


def stocks_of(free: Free) -> tuple[Stock, ...]:
    """Return what is free on a node."""
    found = [Stock("gpu", numa, root, count) for root, (numa, count, _) in enumerate(free.roots) if count]
    found += [Stock("nic", numa, root, count) for root, (numa, _, count) in enumerate(free.roots) if count]
    # CPU devices have no PCIe root.
    found += [Stock("cpu", numa, -1, cores) for numa, cores in free.cores if cores]
    for gpu, (root, used) in free.split.items():
        for profile, (_, positions) in PROFILES.items():
            found += [
                Stock("gpu", free.numa[root], root, 1, profile, gpu, at)
                for at in range(len(positions))
                if fits_with(used, profile, at)
            ]
    return tuple(found)


def limits_of(free: Free, stocks: Sequence[Stock]) -> tuple[Limit, ...]:
    """Return the rows that pods on a node share: the amounts of stocks, and the slices of partitioned GPUs."""
    rows: list[Limit] = [(((at, 1),), stock.amount) for at, stock in enumerate(stocks)]
    for gpu, (_, used) in free.split.items():
        mine = [(at, stock) for at, stock in enumerate(stocks) if stock.gpu == gpu]
        compute = tuple((at, PROFILES[stock.profile][0]) for at, stock in mine)
        rows.append((compute, 7 - sum(PROFILES[profile][0] for profile, _ in used)))
        for memory in range(8):
            # `fits_with` left out the partitions whose memory is in use.
            over = tuple((at, 1) for at, stock in mine if memory in range(*PROFILES[stock.profile][1][stock.position]))
            rows.append((over, 1))
    return tuple(row for row in rows if row[0])


@lru_cache(256)
def ways_of(stocks: tuple[Stock, ...], limits: tuple[Limit, ...], drawn: Drawn) -> list[Way]:
    """Return all ways of one pod. Raises UnknownError where trying all takes too long."""
    choices = [_choices(stocks, ask, drawn) for ask in drawn.asks]
    if prod(map(len, choices)) > MOST_TRIED:
        raise UnknownError
    found = set()
    for picked in product(*choices):
        takes: Counter[int] = Counter()
        for ask, numbers in zip(drawn.asks, picked, strict=True):
            for at in numbers:
                takes[at] += ask.cores or 1
        if any(sum(takes[at] * factor for at, factor in factors) > most for factors, most in limits):
            continue
        lost = [(lost_by(link, drawn.asks, stocks, picked), link.must) for link in drawn.links]
        if not any(count and must for count, must in lost):
            broken = sum(count for count, must in lost if not must)
            devices = [(stocks[at].kind, stocks[at].numa, stocks[at].root) for numbers in picked for at in numbers]
            found.add(Way(tuple(sorted(takes.items())), broken, *goals_of(devices)))
    return sorted(found, key=lambda way: way.takes)


def serves(stock: Stock, ask: Ask) -> bool:
    """Say whether a device of a stock can be taken for a request."""
    return stock.kind == ask.kind and stock.amount >= (ask.cores or 1) and ask.profile in ("", stock.profile)


def _choices(stocks: Sequence[Stock], ask: Ask, drawn: Drawn) -> list[tuple[int, ...]]:
    """Return all choices of the stocks of one request's devices; a CPU device or a partition serves it once."""
    able = [at for at, stock in enumerate(stocks) if serves(stock, ask)]
    if comb(len(able) + ask.count - 1, ask.count) > MOST_TRIED:
        raise UnknownError
    every = (combinations if ask.cores or ask.profile else combinations_with_replacement)(able, ask.count)
    # What breaks a link with this request alone breaks it with the others too.
    musts = [link for link in drawn.links if link.must and ask.name in link.requests and link.how is not How.PAIRWISE]
    return [numbers for numbers in every if not any(lost_by(link, (ask,), stocks, (numbers,)) for link in musts)]


@cache
def _named(link: Link, asks: tuple[Ask, ...]) -> tuple[int, ...]:
    return tuple(at for at, ask in enumerate(asks) if ask.name in link.requests)


def lost_by(link: Link, asks: tuple[Ask, ...], stocks: Sequence[Stock], picked: Sequence[Sequence[int]]) -> int:
    """Return what a link loses: 0 if it holds, else 1, or for one to one the groups that have no place."""
    at_place = [Counter(stocks[at].place(link.where) for at in picked[number]) for number in _named(link, asks)]
    everywhere = sum(at_place, Counter())
    if link.how is How.TOGETHER:
        return int(len(everywhere) > 1)
    if link.how is How.APART:
        return int(max(everywhere.values()) > 1)
    counts = [found.total() for found in at_place]
    groups = min(counts)
    if any(count % groups for count in counts):
        return groups
    formed = sum(
        min(found[place] // (count // groups) for found, count in zip(at_place, counts, strict=True))
        for place in everywhere
    )
    return groups - formed


def goals_of(devices: Sequence[tuple[str, int, int]]) -> tuple[int, int, int]:
    """Return NUMA nodes, GPUs without a NIC of their own on their root, and PCIe roots of GPUs and NICs.

    Devices are (kind, NUMA node, PCIe root), one by one. A pod that takes no NIC asks for none, so that all its GPUs
    are as they should be.
    """
    gpus = Counter(root for kind, _, root in devices if kind == "gpu")
    nics = Counter(root for kind, _, root in devices if kind == "nic")
    return len({numa for _, numa, _ in devices}), (gpus - nics).total() if nics else 0, len(gpus | nics)
