"""What nodes that share devices can hold: one model for all of them, or tables with the devices dealt to each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.crowd_copies import copies_crowd
from dra_lab.planner.fleet.crowd_ways import ways_crowd
from dra_lab.planner.fleet.crowds import Crowd
from dra_lab.planner.fleet.pack import Packed, Takes, Values, device_goals
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.sites import Site, dealt_site, whole_site
from dra_lab.planner.fleet.tables import AnyTable, Table, tables_of
from dra_lab.planner.fleet.together import deal, joint


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

    `order` names all goals of the fleet. Nodes that share devices are planned at once if that is not too large, else
    their devices are dealt to them. At a limit the sites that are left have none.
    """
    device = device_goals(order)
    exact = tables_of([site for site in sites if not site.nodes], fleet.demand, device, solver, budget)
    asked: list[AnyTable] = list(exact)
    crowds: list[Crowd] = []
    for site in (site for site in sites if site.nodes):
        if budget.reached:
            break
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


def seen_together(fleet: Fleet, site: Site, budget: Budget) -> Site | None:
    """Return nodes that share devices with their problem, None where time was up before all of them were looked at."""
    problem = joint(fleet, site.nodes[0], budget)
    return None if problem is None else replace(site, make=lambda: problem)


def crowd_of(site: Site, demand: Sequence[int], order: Sequence[str], budget: Budget) -> Crowd | None:
    """Return nodes that share devices as one model has them; None where that would be too large, or time is up.

    With a variable for every way of a pod where all ways can be listed, else with as many pods as may stand there, each
    of which may stay away. `demand` are the replicas of each workload, `order` names the goals of devices.
    """
    found = ways_crowd(site, order, budget)
    return copies_crowd(site, demand, order, budget) if found is None else found
