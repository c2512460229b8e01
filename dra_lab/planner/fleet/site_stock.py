"""What a site has of every resource, and every way of its pods to take it."""

from __future__ import annotations

from collections.abc import Sequence

from dra_lab.planner.fleet.sites import Site
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.states.columns import columns_of
from dra_lab.planner.states.copies import Part
from dra_lab.planner.states.node_state import NodeState
from dra_lab.planner.states.stock import Stock, is_listable


def stock_of(site: Site, order: Sequence[str], most: int) -> Stock | None:
    """Return what a site has and every way of its pods, None where these cannot be listed or one has over `most`."""
    state = NodeState(-1, tuple(group.size for group in site.problem.groups))
    return _stocked(site.problem, site.parts, [state], order, most)


def stock_of_states(problem: AllocationProblem, sites: Sequence[Site], order: Sequence[str], most: int) -> Stock | None:
    """Return what sites with known states of one problem have, with every way of their pods; None as in `stock_of`."""
    states = [site.state for site in sites if site.state is not None]
    return _stocked(problem, sites[0].parts, states, order, most)


def _stocked(
    problem: AllocationProblem, parts: Sequence[Part], states: Sequence[NodeState], order: Sequence[str], most: int
) -> Stock | None:
    columns = [columns_of(problem, part, order, most) for part in parts] if is_listable(problem, parts) else [None]
    ways = [found for found in columns if found is not None]
    return Stock(problem, states, ways) if len(ways) == len(parts) else None
