"""From tables to the master and back: the best of what was found, and the best that could still exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import ge

from dra_lab.model.goals import NODES, UNPLACED
from dra_lab.planner.fleet.by_state import ByState
from dra_lab.planner.fleet.master import GoalBound, Master, Mastered
from dra_lab.planner.fleet.master_model import MasterModel
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.fleet.question import Work
from dra_lab.planner.fleet.site_classes import NODE, ClassedSites, Placed, classed, least_classes
from dra_lab.planner.fleet.tables import Table
from dra_lab.planner.node.solver_outcome import Array, agreed

_GAP = 0.01
"""The part of the nodes by which their bound may be off as the last goal: 200 nodes of shares take 5 s, not 36."""

Start = Callable[[], Placed]
"""Returns a plan."""


@dataclass
class Answer:
    """The best plan known and what is proven of it; `goals` covers all of them, in order.

    `not_examined` is the number of nodes that were not examined before time was over.
    """

    goals: tuple[GoalBound, ...] = ()
    chosen: Array | None = None
    classed: ClassedSites = field(default_factory=ClassedSites)
    infeasible: bool = False
    least: Mastered | None = None
    least_classed: ClassedSites = field(default_factory=ClassedSites)
    not_examined: int = 0

    @property
    def proven(self) -> bool:
        """Say whether every goal is proven."""
        return bool(self.goals) and all(goal.proven for goal in self.goals)

    @property
    def values(self) -> tuple[int, ...]:
        """Return the values of the goals, most important first."""
        return tuple(goal.value for goal in self.goals)


def best_answer(
    work: Work,
    tables: Sequence[Table],
    shared: Sequence[ByState],
    *,
    closed: bool,
    start: Start | None,
) -> Answer:
    """Solve the master over what was found; where not all is known (`closed`), hold it against what may exist.

    `shared` are planned at once with what stands in the tables. `start` yields a plan that is known.
    """
    question, budget = work.question, work.budget
    sites = classed(tables, lambda table: table.found(), shared)
    master = _master(work, sites)
    part = budget if closed else budget.part(budget.shares.step)
    begin = sites.again(() if start is None else start())
    begin = sites.filled(begin, question.demand)
    found = master.run(begin, part, all_placed=question.all_placed)
    goals = list(found.goals)
    if found.chosen is not None:
        rest = question.order[len(goals) :]
        goals += [GoalBound(goal, master.model.value(goal, found.chosen), None) for goal in rest]
    answer = Answer(tuple(goals), found.chosen, sites, found.infeasible and closed)
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
    model = MasterModel(columns, limits, question.demand, question.order, question.worths)
    return Master(model, question.order, work.solver, all(one.exact for one in sites.shared), gap)


def _least_bounds(work: Work, answer: Answer, tables: Sequence[Table], shared: Sequence[ByState]) -> list[int]:
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


def _floors(work: Work, tables: Sequence[Table], answer: Answer) -> list[int]:
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
