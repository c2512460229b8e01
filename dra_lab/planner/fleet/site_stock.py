"""What a site has of every resource, and every way of its pods to take it."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.states.columns import columns_of
from dra_lab.planner.states.stock import Stock, is_listable
from dra_lab.planner.states.survey import NodeState


def stock_of(site: Site, order: Sequence[str]) -> Stock | None:
    """Return what a site has and every way of its pods, None where these cannot be listed or are too many."""
    problem = site.problem
    columns = [columns_of(problem, part, order) for part in site.parts] if is_listable(problem) else [None]
    ways = [found for found in columns if found is not None]
    if len(ways) < len(site.parts):
        return None
    return Stock(problem, [NodeState(-1, tuple(group.size for group in problem.groups))], ways)


def stock_of_states(problem: AllocationProblem, sites: Sequence[Site], order: Sequence[str]) -> Stock | None:
    """Return what sites with known states of one problem have, with every way of their pods; None as in `stock_of`."""
    states = [site.state for site in sites if site.state is not None]
    columns = [columns_of(problem, part, order) for part in sites[0].parts] if is_listable(problem) else [None]
    ways = [found for found in columns if found is not None]
    return Stock(problem, states, ways) if len(ways) == len(sites[0].parts) else None
