"""What nodes that share devices can hold together, and what stands in where there are too many of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dra_lab.model.fleet import NODES
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.at_once import crowd_of, seen_together
from dra_lab.planner.fleet.counting import Counts, Room, room_of
from dra_lab.planner.fleet.crowds import Crowd
from dra_lab.planner.fleet.pack import Packed, Takes, Values, device_goals
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.sites import Site, dealt_site, whole_site
from dra_lab.planner.fleet.tables import AnyTable, Table, tables_of
from dra_lab.planner.fleet.together import deal


def coupled_room(site: Site, demand: Sequence[int]) -> Room:
    """Return what counting says of nodes together: replicas of a workload on all of them are no more than wanted."""
    room = room_of(site, demand)
    rows = [
        (tuple(Fraction(part.pod == pod) for part in site.parts), Fraction(wanted)) for pod, wanted in enumerate(demand)
    ]
    return Room(room.caps, (*room.rows, *rows))


@dataclass
class CoupledTable:
    """What is known of nodes together, by numbers of replicas of each workload on all of them.

    `inner` tells the nodes apart. Of the ways to spread the same replicas the one with the least values counts, the
    nodes that it uses in their place among the goals: sums over sites keep that order, so that no other way is needed.
    """

    inner: Table
    workloads: int
    order: tuple[str, ...]

    @property
    def site(self) -> Site:
        """Return the site."""
        return self.inner.site

    def summed(self, counts: Counts) -> Counts:
        """Return the replicas of each workload, whatever the node."""
        found = [0] * self.workloads
        for part, count in zip(self.site.parts, counts, strict=True):
            found[part.pod] += count
        return tuple(found)

    def nodes_of(self, counts: Counts) -> int:
        """Return how many nodes some numbers use."""
        return len({part.node for part, count in zip(self.site.parts, counts, strict=True) if count})

    def _best(self, rows: Mapping[Counts, Values]) -> dict[Counts, Counts]:
        """Return for each numbers of replicas the spread over the nodes with the least values."""
        best: dict[Counts, tuple[Values, Counts]] = {}
        for counts, values in rows.items():
            key, ranked = self.summed(counts), (self._ranked(counts, values), counts)
            if key not in best or ranked < best[key]:
                best[key] = ranked
        return {key: counts for key, (_, counts) in best.items()}

    def _ranked(self, counts: Counts, values: Values) -> Values:
        if NODES not in self.order:
            return values
        at = len(device_goals(self.order[: self.order.index(NODES)]))
        return (*values[:at], self.nodes_of(counts), *values[at:])

    def found(self) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found, with its values."""
        rows = self.inner.found()
        return {key: rows[counts] for key, counts in self._best(rows).items()}

    def least(self) -> dict[Counts, Values] | None:
        """Return all numbers that may be held, with values that no way undercuts."""
        rows = self.inner.least() or {}
        return {key: rows[counts] for key, counts in self._best(rows).items()}

    def used(self, *, least: bool) -> dict[Counts, int]:
        """Return the nodes used by what `found` or `least` tells."""
        rows = (self.inner.least() or {}) if least else self.inner.found()
        return {key: self.nodes_of(counts) for key, counts in self._best(rows).items()}

    def floors(self) -> tuple[Values | None, ...]:
        """Return, workload by workload, values each of which no way of a replica undercuts."""
        found: list[Values | None] = [None] * self.workloads
        for part, floor in zip(self.site.parts, self.inner.floors(), strict=True):
            known = found[part.pod]
            if floor is not None:
                found[part.pod] = floor if known is None else tuple(map(min, known, floor))
        return tuple(found)

    def spread(self, counts: Counts) -> Counts:
        """Return the numbers on each node in the way that was found."""
        return self._best(self.inner.found())[counts]

    def takes(self, counts: Counts) -> Takes:
        """Return the way that was found for some numbers."""
        return self.inner.takes(self.spread(counts))

    def is_open(self, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist than the one that was found."""
        least = self._best(self.inner.least() or {}).get(counts)
        return least is not None and self.inner.is_open(least)

    def decide(self, counts: Counts, budget: Budget) -> Packed:
        """Find out about the spread that the bound rests on."""
        least = self._best(self.inner.least() or {}).get(counts)
        return Packed(None) if least is None else self.inner.decide(least, budget)


@dataclass
class DealtTable:
    """One of many nodes that share devices: what is found has only the devices dealt to it, what may be has all.

    Each shared device is dealt to one node that sees it, with all that draw on the same counters. Plans found so are
    plans, and bounds of nodes that each have everything are bounds; between them there may be a gap.
    """

    dealt: Table
    whole: Table

    @property
    def site(self) -> Site:
        """Return the site with what was dealt."""
        return self.dealt.site

    def found(self) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found, with its values."""
        return self.dealt.found()

    def least(self) -> dict[Counts, Values] | None:
        """Return all numbers that may be held, with values that no way undercuts; None when they are too many."""
        return self.whole.least()

    def floors(self) -> tuple[Values | None, ...]:
        """Return, workload by workload, values each of which no way of a replica undercuts."""
        return self.whole.floors()

    def takes(self, counts: Counts) -> Takes:
        """Return the way that was found for some numbers."""
        return self.dealt.takes(counts)

    def is_open(self, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist than the one that was found."""
        return self.dealt.is_open(counts) or self.whole.is_open(counts)

    def decide(self, counts: Counts, budget: Budget) -> Packed:
        """Find out both: what the node can do with what was dealt to it, and with everything."""
        found = self.dealt.decide(counts, budget)
        whole = self.whole.decide(counts, budget)
        return replace(found, lower=whole.lower)


def tables_for(
    fleet: Fleet, sites: Sequence[Site], order: tuple[str, ...], solver: str, budget: Budget
) -> tuple[list[AnyTable], list[Table], list[Crowd]]:
    """Return what the master asks, the tables behind it to be filled, and nodes that it plans at once.

    `order` names all goals of the fleet. Nodes that share devices are one table as long as their combinations can be
    listed; more nodes are planned at once where the ways of their pods can, else their devices are dealt to them. At a
    limit the sites that are left have none.
    """
    device = device_goals(order)
    exact = tables_of([site for site in sites if not site.nodes], fleet.demand, device, solver, budget)
    asked: list[AnyTable] = list(exact)
    crowds: list[Crowd] = []
    for site in (site for site in sites if site.nodes):
        if budget.reached:
            break
        inner = _inner(fleet, site, device, solver)
        if inner is not None:
            exact.append(inner)
            asked.append(CoupledTable(inner, len(fleet.demand), order))
            continue
        looking = budget.part(budget.shares.first)
        seen = seen_together(fleet, site, looking)
        crowd = None if seen is None else crowd_of(seen, fleet.demand, device, looking)
        if crowd is not None:
            crowds.append(crowd)
            continue
        for found in _dealt(fleet, site, device, solver, budget):
            exact += (found.dealt, found.whole)
            asked.append(found)
    return asked, exact, crowds


def _dealt(fleet: Fleet, site: Site, order: tuple[str, ...], solver: str, budget: Budget) -> Iterator[DealtTable]:
    """Yield a table for each node with what is dealt to it, until a limit."""
    dealt = deal(fleet, site.nodes[0])
    for node in site.nodes[0]:
        if budget.reached:
            return
        both = (dealt_site(fleet, node, dealt), whole_site(fleet, node))
        yield DealtTable(*tables_of(both, fleet.demand, order, solver, Budget(sizes=budget.sizes)))


def _inner(fleet: Fleet, site: Site, device: tuple[str, ...], solver: str) -> Table | None:
    if len(site.parts) > fleet.sizes.coupled_pods:
        return None
    room = coupled_room(site, fleet.demand)
    vectors = room.vectors(fleet.sizes.coupled)
    if vectors is None:
        return None
    inner = Table(site, room, device, solver, vectors)
    inner.learn(site.zero, Packed((0,) * len(device), (0,) * len(device)))
    return inner
