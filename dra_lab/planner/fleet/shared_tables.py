"""Nodes that share devices as one model for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.by_copy import by_copy
from dra_lab.planner.fleet.by_option import by_option
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.shared_devices import SharedNodes
from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.fleet.together import joint


def crowds_of(fleet: FleetProblem, sites: Sequence[Site], order: Sequence[str], budget: Budget) -> list[SharedNodes]:
    """Return the nodes that share devices as the master plans them at once: of sites where that is not too large.

    `order` names the goals of devices. At a limit the sites that are left have none.
    """
    crowds: list[SharedNodes] = []
    for site in sites:
        if budget.reached:
            break
        looking = budget.part(budget.shares.first)
        seen = seen_together(fleet, site, looking)
        crowd = None if seen is None else crowd_of(seen, fleet.demand, order, looking)
        if crowd is not None:
            crowds.append(crowd)
    return crowds


def seen_together(fleet: FleetProblem, site: Site, budget: Budget) -> Site | None:
    """Return nodes that share devices with their problem, None where time was up before all of them were looked at."""
    problem = joint(fleet, site.nodes[0], budget)
    return None if problem is None else replace(site, make=lambda: problem)


def crowd_of(site: Site, demand: Sequence[int], order: Sequence[str], budget: Budget) -> SharedNodes | None:
    """Return nodes that share devices as one model has them; None where that would be too large, or time is up.

    With a variable for every way of a pod where all ways can be listed, else with as many pods as may stand there, each
    of which may stay away. `demand` are the replicas of each workload, `order` names the goals of devices.
    """
    found = by_option(site, order, budget)
    return by_copy(site, demand, order, budget) if found is None else found
