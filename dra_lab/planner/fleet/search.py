"""The best plan that time allows, and the best that could still exist: tables are filled until both are the same."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import ge

from msgspec.structs import replace as changed

from dra_lab.model.goals import NODES, UNPLACED
from dra_lab.planner.fleet.admin_pods import admin_pods
from dra_lab.planner.fleet.by_state import ByState, all_by_state
from dra_lab.planner.fleet.first_fit import FirstFitPods, PodAsWritten
from dra_lab.planner.fleet.master import GoalBound, Master, fleet_model
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.fleet.place_tables import PlacedPods, place_tables
from dra_lab.planner.fleet.placing import pods_by_node
from dra_lab.planner.fleet.question import Work
from dra_lab.planner.fleet.site_classes import NODE, BestPlan, ClassedSites, Placed, classed, least_classes
from dra_lab.planner.fleet.sites import PodsOnNode, seen_together, sites_of
from dra_lab.planner.fleet.tables import SiteTable, Table, is_closed, site_tables
from dra_lab.planner.node.solver_outcome import agreed
from dra_lab.planner.places.counting import Counts

_GAP = 0.01
"""The part of the nodes by which their bound may be off as the last goal: 200 nodes of shares take 5 s, not 36."""


def best_answer(
    work: Work,
    tables: Sequence[Table],
    shared: Sequence[ByState],
    *,
    closed: bool,
    start: Placed,
) -> BestPlan:
    """Solve the master over what was found; where not all is known (`closed`), hold it against what may exist.

    `shared` are planned at once with what stands in the tables. `start` is a plan that is known.
    """
    question, budget = work.question, work.budget
    sites = classed(tables, lambda table: table.found(), shared)
    master = _master(work, sites)
    part = budget if closed else budget.part(budget.shares.step)
    begin = sites.filled(sites.again(start), question.demand)
    found = master.run(begin, part, all_placed=question.all_placed)
    goals = list(found.goals)
    if found.chosen is not None:
        rest = question.order[len(goals) :]
        goals += [GoalBound(goal, master.model.value(goal, found.chosen), None) for goal in rest]
    answer = BestPlan(tuple(goals), found.chosen, sites, found.infeasible and closed)
    bounds = [goal.bound or 0 for goal in goals]
    if not closed:
        bounds = _least_bounds(work, answer, tables, shared)
    if not shared and not all(map(ge, bounds, answer.values)):
        bounds = list(map(max, bounds, _floors(work, tables, answer)))
    answer.goals = tuple(
        replace(goal, bound=agreed(bound, goal.value)) for goal, bound in zip(goals, bounds, strict=True)
    )
    return answer


def _master(work: Work, sites: ClassedSites, gap: float = 0.0) -> Master:
    question = work.question
    columns, limits = sites.columns(question.demand, len(device_goals(question.order)))
    model = fleet_model(columns, limits, question.demand, question.order, question.worths)
    return Master(model, question.order, work.solver, all(one.exact for one in sites.shared), gap)


def _least_bounds(work: Work, answer: BestPlan, tables: Sequence[Table], shared: Sequence[ByState]) -> list[int]:
    """Return bounds over what may exist, goal by goal, as long as the goals before are proven; 0 for the others."""
    question, bounds = work.question, [0] * len(answer.goals)
    sites = least_classes(tables, shared, work.budget)
    if sites is None:
        return bounds
    start = sites.again(())
    if answer.chosen is not None:
        start = sites.again(answer.classed.placed(answer.chosen), answer.classed.of_shared(answer.chosen))
    start = sites.filled(start, question.demand)
    least = _master(work, sites, _GAP).run(start, work.budget, all_placed=question.all_placed, stop_at=answer.values)
    answer.least, answer.least_classed, answer.infeasible = least, sites, least.infeasible
    for at, (goal, found) in enumerate(zip(answer.goals, least.goals, strict=False)):
        bounds[at] = found.bound or 0
        if bounds[at] < goal.value:
            # Values that no way undercuts compare as goals do: behind a goal that is not proven they bound nothing.
            break
    return bounds


def _floors(work: Work, tables: Sequence[Table], answer: BestPlan) -> list[int]:
    """Return, goal by goal, what no plan undercuts that places as many replicas as the one found.

    Every replica has at least the value that no way of its workload undercuts anywhere, goal by goal. No node has more
    replicas than the one with most. So the bound holds whichever replicas are placed.
    """
    question = work.question
    rows = set()
    for table in tables:
        if work.budget.reached or answer.chosen is None:
            return [0] * len(answer.goals)
        rows.add(table.floors())
    cheapest: dict[int, Values] = {}
    for pod in range(len(question.demand)):
        some = [floors for row in rows if (floors := row[pod]) is not None]
        if some:
            cheapest[pod] = tuple(map(min, zip(*some, strict=True)))
    classes = (answer.least_classed if answer.least is not None else answer.classed).classes
    most = max((sum(counts) for site_class in classes for counts in site_class.patterns), default=0)
    several = any(one.member != NODE or one.nodes for one in classes) or not most
    missing = next((goal.value for goal in answer.goals if goal.goal == UNPLACED), sum(question.demand))
    placed = sum(question.demand) - missing
    never = (
        count * worth
        for pod, (count, worth) in enumerate(zip(question.demand, question.worths, strict=True))
        if pod not in cheapest
    )
    found = {UNPLACED: sum(never), NODES: 0 if several else -(-placed // most)}
    for at, goal in enumerate(device_goals(question.order)):
        found[goal], left = 0, placed
        for value, count in sorted((values[at], question.demand[pod]) for pod, values in cheapest.items()):
            found[goal] += value * min(count, left)
            left -= min(count, left)
    return [found[goal.goal] for goal in answer.goals]


@dataclass(frozen=True)
class Solution:
    """The best answer so far, the pods at each place in it, and the number of node states."""

    answer: BestPlan
    by_node: Sequence[PodsOnNode]
    states: int


def search(work: Work) -> Solution:
    """Return the best answer that is found in time."""
    admin = admin_pods(work)
    if admin is None:
        return _search(work)
    found = _search(replace(work, question=replace(work.question, fleet=admin.rest)))
    answer, by_node = admin.added(work, found.answer, found.by_node)
    return Solution(answer, by_node, found.states)


def _search(work: Work) -> Solution:
    sites = sites_of(work.question.fleet)
    coupled = [site for site in sites if site.nodes]
    filling = replace(work, budget=work.budget.part(work.budget.shares.first)) if coupled else work
    places = place_tables(filling, [site for site in sites if not site.nodes])
    looking = filling.budget if coupled else work.budget.part(work.budget.shares.step)
    question = work.question
    given = question.fleet, coupled, device_goals(question.order), question.demand
    shared, joint = all_by_state(*given, work.budget, looking) if coupled else ([], [])
    seen = (None if looking.reached else seen_together(question.fleet, site, looking) for site in joint)
    others = site_tables(filling, [*places.rest, *(site for site in seen if site is not None)])
    decide_few(filling, others)
    # Sites that are no trees come first: they say at once that there is too much to know.
    tables: list[Table] = [*others, *places.tables]
    work.clock.lap("patterns")
    examined = {node for table in tables for node in table.site.all_nodes}
    examined.update(*(one.nodes for one in shared))
    whole = question.fleet.scan.complete and len(examined) == sum(len(site.all_nodes) for site in sites)
    closed = whole and not filling.budget.reached
    closed = closed and all(not work.budget.reached and is_closed(table) for table in tables)
    # Filling knows nothing of nodes that share devices.
    start = [] if coupled else list(places.placed())
    counted = _left_out(work, tables) if whole and not shared else 0
    states = len({table.state for table in places.tables}) + len(others) + len(shared)
    began = time.monotonic()
    answer = best_answer(work, tables, shared, closed=closed, start=start)
    work.clock.lap("master")
    if whole and not closed:
        answer = _improved(work, tables, shared, answer, states, time.monotonic() - began, start)
    tried = {node for table in tables if table.examined for node in table.site.all_nodes}
    tried.update(node for one in shared for node in one.nodes)
    answer.not_examined = len((examined if whole else set(question.fleet.scan.rules.nodes)) - tried)
    if not whole:
        # Nodes that were not looked at may hold more than all others.
        answer.goals = tuple(replace(goal, bound=0) for goal in answer.goals)
        answer.infeasible = False
    least = {UNPLACED: counted}
    answer.goals = tuple(
        replace(goal, bound=agreed(max(goal.bound or 0, least.get(goal.goal, 0)), goal.value)) for goal in answer.goals
    )
    return Solution(answer, pods_by_node(answer), states)


def _left_out(work: Work, tables: Sequence[Table]) -> int:
    """Return how many pods have no place at least."""
    demand, worth = work.question.demand, work.question.worths
    most = [0] * len(demand)
    for table in tables:
        if work.budget.reached:
            return 0
        most = [have + cap * table.site.count for have, cap in zip(most, table.caps, strict=True)]
    return sum(max(0, wanted - have) * value for wanted, have, value in zip(demand, most, worth, strict=True))


def _improved(
    work: Work,
    tables: Sequence[Table],
    shared: Sequence[ByState],
    answer: BestPlan,
    states: int,
    seconds: float,
    start: Placed,
) -> BestPlan:
    """Find out exactly what the least that may exist is made of, until it is what was found or time is over.

    `seconds` is what an answer takes: nothing more is looked at when there is no time for another one.
    """
    deadline = work.budget.deadline
    if deadline is None and states > work.budget.sizes.states:
        deadline = time.monotonic() + work.budget.shares.improve
    budget = changed(work.budget, deadline=deadline)
    looking = budget if deadline is None else changed(budget, deadline=deadline - seconds)
    while not (answer.proven or answer.infeasible or looking.reached):
        doubtful = _doubtful(answer)
        for table, counts in doubtful:
            # With the time over this comes back at once, with what is known.
            table.decide(counts, looking)
        work.clock.lap("patterns")
        if work.budget.cancelled or not doubtful:
            break
        better = best_answer(replace(work, budget=budget), tables, shared, closed=False, start=start)
        work.clock.lap("master")
        if answer.chosen is not None and (better.chosen is None or better.values > answer.values):
            break
        better.goals = _best_bounds(answer, better)
        answer = better
    return answer


def _best_bounds(before: BestPlan, after: BestPlan) -> tuple[GoalBound, ...]:
    """Return the goals of an answer with the better bounds of two: those of the first hold as far as it is as good."""
    goals = list(after.goals)
    for at, (old, new) in enumerate(zip(before.goals, after.goals, strict=False)):
        known = [bound for bound in (old.bound, new.bound) if bound is not None]
        goals[at] = replace(new, bound=agreed(max(known), new.value) if known else None)
        if old.value != new.value:
            break
    return tuple(goals)


def _doubtful(answer: BestPlan) -> list[tuple[Table, Counts]]:
    """Return the patterns that the bound rests on and for which no way as good was found, most often used first.

    All of several equal sites are returned, because with some of them decided, the bound would only rest on the others.
    """
    found: list[tuple[int, Table, Counts]] = []
    if answer.least is None or answer.least.chosen is None:
        return []
    sites = answer.least_classed
    for taken, tables in zip(sites.taken(answer.least.chosen), sites.tables, strict=True):
        for counts, times in taken.items():
            found.extend((times, table, counts) for table in tables if table.is_open(counts))
    return [(table, counts) for _, table, counts in sorted(found, key=lambda row: -row[0])]


def decide_few(work: Work, tables: Sequence[SiteTable]) -> None:
    """Find ways for some numbers of replicas on all sites, then decide all numbers of the sites that have few.

    Row that needs loose tables: three workloads on 100 nodes x 16 whose PCIe roots are on several NUMA nodes have 194
    of 199 pods after 1 s, 98 without.
    """
    budget, fleet = work.budget.part(work.budget.shares.first), work.question.fleet
    table_of = {id(table.site): table for table in tables if not table.site.nodes}
    loose = place_tables(work, [table.site for table in table_of.values()], loose=True) if table_of else PlacedPods()
    # Equal nodes of a plan start their table once.
    found = {(id(placed.site), counts): placed for placed, _, counts in loose.placed() if any(counts)}
    started = {site for site, _ in found} & table_of.keys()
    for (site, counts), placed in found.items():
        if site in started:
            table_of[site].start(placed, counts)
    claims, goals = (
        [PodAsWritten(fleet, pod) for pod in fleet.pods] if tables else [],
        device_goals(work.question.order),
    )
    filled = [FirstFitPods(fleet, table.site, goals, claims) for table in tables]
    for first in range(len(fleet.pods)):
        order = (*range(first, len(fleet.pods)), *range(first))
        for table, by_scheduler in zip(tables, filled, strict=True):
            # The first plan has all the time: what comes after it only improves or proves it.
            filling = budget if first or id(table.site) in started else work.budget
            most = [min(count, budget.sizes.node_pods) for count in table.demand]
            if not filling.reached:
                table.fill(by_scheduler.placed(order, most, filling), filling)
    for number, table in enumerate(tables):
        if budget.reached:
            break
        few = not table.site.nodes and table.vectors and len(table.vectors) <= work.budget.sizes.decided
        for counts in table.vectors if few and table.vectors else ():
            table.decide(counts, budget)
        if work.budget.due:
            work.budget.report_step("patterns", f"looked at {number + 1} of {len(tables)} kinds of node states")
