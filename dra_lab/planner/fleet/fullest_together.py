"""How many pods of one kind nodes that share devices hold together: all at once, or each with what it is dealt."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.engine import minimise
from dra_lab.planner.fleet.at_once import SHARE, seen_together
from dra_lab.planner.fleet.counting import room_of
from dra_lab.planner.fleet.coupled_tables import MOST_PARTS, MOST_VECTORS
from dra_lab.planner.fleet.crowd_copies import copies_crowd
from dra_lab.planner.fleet.crowd_ways import ways_crowd
from dra_lab.planner.fleet.crowds import Crowd
from dra_lab.planner.fleet.fullest_site import Known, counts_within, decide, table_of
from dra_lab.planner.fleet.pods import Fleet
from dra_lab.planner.fleet.room import MOST
from dra_lab.planner.fleet.sites import Site, dealt_site, whole_site
from dra_lab.planner.fleet.together import deal
from dra_lab.planner.modelling import pulp
from dra_lab.planner.node_classes import fingerprint
from dra_lab.planner.problem import AllocationProblem
from dra_lab.planner.variables import Expression, total

_COPIES = (16, 200)
"""Pods on a node in one model, where their ways cannot be listed."""


def fullest_together(fleet: Fleet, site: Site, solver: str, budget: Budget) -> tuple[int, int]:
    """Return how many pods of the fleet's one workload nodes that share devices hold together: at least, at most.

    One model says it for all of them. Where that would be too large, or time does not reach, what each node holds with
    the devices that are dealt to it is held; more than each would hold if nobody else took any, or than the devices of
    all last for, is not. Between the two, numbers on each node are tried where they are few enough to be listed.
    """
    known = _at_once(fleet, site, solver, budget.part(SHARE))
    if known is not None and known[0] == known[1]:
        return known
    least, most = _one_by_one(fleet, site, solver, budget)
    return (least, most) if known is None else (max(least, known[0]), min(most, known[1]))


def _at_once(fleet: Fleet, site: Site, solver: str, budget: Budget) -> tuple[int, int] | None:
    """Return what one model for all nodes says; None where it would be too large."""
    seen = seen_together(fleet, site, budget)
    if seen is None:
        return None
    ways = ways_crowd(seen, (), budget)
    if ways is not None:
        return _held(ways, MOST, solver, budget)
    least, caps = None, room_of(seen, (MOST,)).caps
    for most in _COPIES:
        copies = copies_crowd(seen, (most,), (), budget)
        known = None if copies is None else _held(copies, most, solver, budget)
        if known is None:
            break
        least = known[0]
        if known[1] < most or max(caps) <= most:
            # With more on a node at least as many would stand in all.
            return known
    return None if least is None else (least, MOST * len(seen.all_nodes))


def _held(crowd: Crowd, most: int, solver: str, budget: Budget) -> tuple[int, int] | None:
    """Return how many pods the nodes hold, at least and at most, with no more than `most` on each."""
    lp = pulp.LpProblem("together", pulp.LpMinimize)
    model = crowd.model(lp, 0, (most,))
    placed: dict[str, list[Expression]] = {}
    for part, variable in model.placed:
        placed.setdefault(part.node, []).append(variable)
    if not placed:
        return 0, 0
    for number, mine in enumerate(placed.values()):
        lp.addConstraint(total(mine) <= most, f"node_{number}")
    every = total(variable for mine in placed.values() for variable in mine)
    while True:
        outcome = minimise(lp, -every, solver, budget)
        if outcome.value is None or not model.cut():
            break
    if outcome.value is None and outcome.bound is None:
        return None
    return (
        0 if outcome.value is None else -outcome.value,
        most * len(crowd.nodes) if outcome.bound is None else -outcome.bound,
    )


def _one_by_one(fleet: Fleet, site: Site, solver: str, budget: Budget) -> tuple[int, int]:
    nodes = site.all_nodes
    dealt, memo = deal(fleet, nodes), dict[Hashable, tuple[int, int]]()
    least = most = 0
    whole = []
    for number, node in enumerate(nodes):
        if budget.reached:
            return least, most + MOST * (len(nodes) - number)
        alone = whole_site(fleet, node)
        whole.append(alone.problem)
        bound = _once(fleet, alone, solver, budget, memo)[1]
        least += _once(fleet, dealt_site(fleet, node, dealt), solver, budget, memo)[0] if bound else 0
        most += bound
        budget.tell("nodes", f"counted on {number + 1} of {len(nodes)} nodes that share devices")
    most = min(most, *_by_devices(whole))
    if least < most and len(site.parts) <= MOST_PARTS:
        return _listed(fleet, site, solver, budget, (least, most))
    return min(least, most), most


def _once(
    fleet: Fleet, site: Site, solver: str, budget: Budget, memo: dict[Hashable, tuple[int, int]]
) -> tuple[int, int]:
    """Return what a node holds by itself; equal ones are counted once."""
    key = fingerprint(site.problem, replicas=fleet.scan.rules.replicas)
    if key not in memo:
        known = Known(site, 0, MOST)
        decide(fleet, known, solver, budget)
        memo[key] = known.least, known.most
    return memo[key]


def _by_devices(problems: Sequence[AllocationProblem]) -> Iterator[int]:
    """Yield numbers of pods for which there are devices: for each request, and for all of a pod."""
    yield MOST * len(problems)
    every: set[DeviceID] = set()
    needed = 0
    for indices in problems[0].requests:
        taken: set[DeviceID] = set()
        needs, alone = [], True
        for problem in problems:
            asks = [ask for ask in indices if ask not in problem.impossible]
            mine = [group for group in problem.groups if set(asks) & set(group.asks)]
            alone = alone and not any(group.shareable for group in mine)
            alone = alone and not any(problem.asks[ask].admin_access for ask in asks)
            taken.update(device for group in mine for device in group.devices)
            needs += [problem.need(ask) for ask in asks if mine and problem.need(ask)]
        if alone and needs:
            yield len(taken) // min(needs)
            every |= taken
            needed += min(needs)
    if needed:
        yield len(every) // needed


def _listed(fleet: Fleet, site: Site, solver: str, budget: Budget, known: tuple[int, int]) -> tuple[int, int]:
    """Try all numbers of pods on the nodes, those with most pods first."""
    least, most = known
    table = table_of(site, [min(most, wanted) for wanted in fleet.demand], solver)
    vectors = counts_within(table.room, table.room.caps, MOST_VECTORS)
    if vectors is None:
        return known
    for counts in sorted(vectors, key=sum, reverse=True):
        if not least < sum(counts) <= most:
            continue
        if budget.reached:
            return least, sum(counts)
        found = table.decide(counts, budget, decide_only=True)
        if found.lower is not None:
            return (sum(counts) if found.upper is not None else least), sum(counts)
    return least, least
