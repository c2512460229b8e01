"""The most that pods take of one place, by one integer model for it: pods, or devices of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.by_copy import ByCopy, by_copy
from dra_lab.planner.fleet.by_option import by_option
from dra_lab.planner.fleet.counting import counted_together, pod_limits
from dra_lab.planner.fleet.first_plan import first_plan
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.shared_devices import SharedModel, SharedNodes, SharedTaken
from dra_lab.planner.fleet.sites import Site, seen_together, whole_site
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.solver import minimise
from dra_lab.planner.node.variables import Expression, total
from dra_lab.planner.states.node_state import coarse

Bounds = tuple[int, int]
"""At least, at most."""


def most_pods(site: Site, most: int, solver: str, budget: Budget) -> Bounds:
    """Return how many pods of a fleet's one workload stand on a site, with no more than `most` on a node."""
    place = as_place(site)
    ways = by_option(place, (), budget)
    if ways is not None:
        return _pods(ways, most, solver, budget)
    least, nodes = 0, len(place.nodes[0])
    for copies in sorted({min(most, number) for number in (budget.sizes.modelled_copies, budget.sizes.node_pods)}):
        shared_nodes = by_copy(place, (copies,), (), budget)
        if shared_nodes is None:
            break
        known = _copies(shared_nodes, copies, most, solver, budget)
        least = max(least, known[0])
        if known[1] is not None:
            return least, known[1]
    return least, most * nodes


def _copies(shared_nodes: ByCopy, copies: int, most: int, solver: str, budget: Budget) -> tuple[int, int | None]:
    """Return how many pods stand on nodes if up to `copies` are modelled on each; None if more could be a bound.

    A node with a pod that takes nothing away holds `most`, and keeps nothing from the others.
    """
    lp = pulp.LpProblem("pods", pulp.LpMinimize)
    model = shared_nodes.model(lp, 0, (copies,))
    least, bound = solved(model, lp, {v: 1 for _, v in model.placed}, copies * len(shared_nodes.nodes), solver, budget)
    taken = model.read() if least else SharedTaken(counts=shared_nodes.site.zero)
    owners = [part for part, count in enumerate(taken.counts) for _ in range(count)]
    problem = shared_nodes.site.problem
    endless = {
        part
        for part, mine in zip(owners, taken.takes, strict=True)
        if shared_nodes.counts[part] == copies and not any(_is_taken(problem, ask, group) for ask, group, _ in mine)
    }
    least = sum(most if part in endless else count for part, count in enumerate(taken.counts))
    rest = bound - copies * len(endless)
    whole = copies == most or max(shared_nodes.counts) < copies or rest < copies
    return least, most * len(endless) + rest if whole else None


def _is_taken(problem: AllocationProblem, ask: int, group: int) -> bool:
    """Say whether an ask keeps something of a device: admin access does not, nor does a share without an amount."""
    found = problem.groups[group]
    amounts = dict(dict(found.uses).get(ask, ()))
    return not (problem.asks[ask].admin_access or (found.shareable and not any(amounts.values())))


def most_together(fleet: FleetProblem, site: Site, most: int, solver: str, budget: Budget) -> Bounds:
    """Return how many pods of a fleet's one workload nodes that share devices hold, at most `most` on each.

    A first plan and counting often agree. If not, one model answers for all nodes. If it is too large, or time ends,
    the bound is also what all nodes hold if none takes anything from another.
    """
    first = first_plan(fleet, [site], (), (most,), budget)
    least, bound = first.replicas, most * len(site.all_nodes)
    seen = seen_together(fleet, site, budget.part(budget.shares.first)) if least < bound else None
    if seen is not None:
        bound = _counted(seen, most, least)
    if seen is not None and least < bound:
        found = most_pods(seen, most, solver, budget.part(budget.shares.first))
        least, bound = max(least, found[0]), min(bound, found[1])
    if least < bound and not budget.reached:
        budget.report_step("nodes", f"counting on each of {len(site.all_nodes)} nodes that share devices", least, bound)
        alone = 0
        for node in site.all_nodes:
            mine = (0, most) if budget.reached else most_pods(whole_site(fleet, node), most, solver, budget)
            least, alone = max(least, mine[0]), alone + mine[1]
        bound = min(bound, alone)
    return least, bound


def _counted(site: Site, most: int, least: int) -> int:
    """Return how many pods counting allows on nodes that share devices, on each alone if not all agree on `least`."""
    bound = counted_together(site, (most * len(site.parts),))
    return bound if bound <= least else min(bound, sum(pod_limits(site, (most,)).caps))


def _pods(shared_nodes: SharedNodes, most: int, solver: str, budget: Budget) -> Bounds:
    lp = pulp.LpProblem("pods", pulp.LpMinimize)
    model = shared_nodes.model(lp, 0, (most,))
    placed: dict[str, list[Expression]] = {}
    for part, variable in model.placed:
        placed.setdefault(part.node, []).append(variable)
    for number, mine in enumerate(placed.values()):
        lp.addConstraint(total(mine) <= most, f"most_{number}")
    every = {variable: 1 for mine in placed.values() for variable in mine}
    return solved(model, lp, every, most * len(shared_nodes.nodes), solver, budget)


def solved(
    model: SharedModel, lp: Expression, value_of: Mapping[Expression, int], most: int, solver: str, budget: Budget
) -> Bounds:
    """Return the largest value of variables together, and a bound on it; that is `most` at a limit."""
    if not value_of:
        return 0, 0
    while True:
        outcome = minimise(lp, {variable: -amount for variable, amount in value_of.items()}, solver, budget)
        if outcome.value is None or not model.cut():
            break
    return -(outcome.value or 0), most if outcome.bound is None else min(most, -outcome.bound)


def as_place(site: Site) -> Site:
    """Return a site as one place, devices that no must-link tells apart together."""
    if site.nodes:
        return site
    problem = coarse(site.problem)[0]
    return replace(site, nodes=((site.parts[0].node,),), make=lambda: problem)
