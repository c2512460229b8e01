"""Choose the node: best values first, then the name.

The best pod on a state of nodes comes from the tables of places. The model of a node solves what these do not know.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

from msgspec import Struct
from msgspec.structs import replace as changed

from dra_lab.model.goals import DAMAGE, GoalValue
from dra_lab.model.headroom import CORDONED, Fit, NodeFit, node_fit
from dra_lab.planner.best_pods import Best, BestPods, Order, keep_pods, take_pods_of
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import NodeSolution, report_goal
from dra_lab.planner.replicas import Count, FurtherReplicas, has_damage
from dra_lab.planner.scan import EqualNodes, Kind, Scan, sort_nodes


@dataclass
class Choice:
    """The decision: `node` is "" where nothing fits; `decided` says that no undecided node could be better.

    Nodes are told apart by the goals that stand before `damage`: with those `decided` is about. `ended` says the same
    of `damage` and the goals after it, for which only nodes that are equally good until then are looked at.
    """

    node: str
    solution: NodeSolution
    classes: tuple[Fit, ...]
    decided: bool
    ended: bool
    counts: dict[Hashable, Count]


class _Row(Struct):
    """Nodes that are equal for the claim, the one that stands for them, and what is known of it."""

    equal: EqualNodes
    name: str
    found: NodeSolution
    fits_idle: bool | None


@dataclass
class _Search:
    scan: Scan
    order: Order
    whole: Order
    budget: Budget
    solver: str
    workload: str
    pinned: str
    pods: BestPods
    rows: list[_Row] = field(default_factory=list)
    best: NodeSolution | None = None
    counts: dict[Hashable, Count] = field(default_factory=dict)

    def note(self, equal: EqualNodes, found: NodeSolution, *, fits_idle: bool | None) -> None:
        """Keep what is known of some nodes."""
        name = self.pinned if self.pinned in equal.nodes else equal.nodes[0]
        self.rows.append(_Row(equal, name, found, fits_idle))
        if found.taken is not None and not found.worse and (self.best is None or found.values < self.best.values):
            self.best = found


def choose_node(scan: Scan, order: Order, budget: Budget, *, solver: str, workload: str, pinned: str = "") -> Choice:
    """Find the best pod on each state of nodes and choose the node; the scan then has its classes of equal nodes.

    The goals up to `damage` decide which nodes are best; `damage` and what follows it chooses among these, as many of
    them as a second allows. Raises UnsupportedFeature as `best_pods` does.
    """
    whole = order if has_damage(scan.sketch) else tuple(goal for goal in order if goal != DAMAGE)
    first = whole[: whole.index(DAMAGE)] if DAMAGE in whole else whole
    search = _Search(scan, first, whole, budget, solver, workload, pinned, take_pods_of(scan, budget))
    others = _look_up(search)
    if others:
        _solve_others(search, others)
    scan.classes = tuple(sorted((row.equal for row in search.rows), key=lambda equal: equal.nodes[0]))
    choice = _conclude(search)
    keep_pods(scan, search.pods)
    return choice


def _look_up(search: _Search) -> list[str]:
    """Note the nodes whose best pod is in the tables, equal ones together; return the others."""
    scan, pods = search.scan, search.pods
    nodes: dict[int, tuple[Best, list[str]]] = {}
    others: list[str] = []
    for number, name in enumerate(scan.seen):
        node = None if search.budget.reached else pods.state(scan, name)
        if node is None:
            others.append(name)
        else:
            best = pods.best(node, search.order)
            nodes.setdefault(best.state, (best, []))[1].append(name)
        if search.budget.due:
            search.budget.report_step("nodes", f"decided {number + 1:,} of {len(scan.seen):,} nodes")
    for best, names in nodes.values():
        search.note(EqualNodes(tuple(sorted(names)), best.state, best.idle), best.solution, fits_idle=best.fits_idle)
    return others


def _solve_others(search: _Search, names: Sequence[str]) -> None:
    """Note what nodes can do by their model: to the end, or until they are proven worse than the best so far."""
    from dra_lab.planner.node.lexicographic import solve_problem
    from dra_lab.planner.node.milp import is_feasible

    scan, pinned, late, idle = search.scan, search.pinned, set(names), dict[Kind, bool | None]()
    classes = sort_nodes(scan, names, search.budget)
    # The pinned node comes first: the others only have to be compared with it.
    for equal in sorted(classes, key=lambda equal: (pinned not in equal.nodes, equal.nodes[0])):
        name, found, best = pinned if pinned in equal.nodes else equal.nodes[0], NodeSolution(), search.best
        if not search.budget.reached:
            bar = best.values if best is not None and best.proven and name != pinned else None
            # Progress is reported for the first node; the others only have to show that they are as good.
            budget = search.budget if best is None or name == pinned else changed(search.budget, report=None)
            found = solve_problem(scan.problem(name), search.order, budget, solver=search.solver, best=bar)
        fits, kind = None if found.taken is None else True, scan.kind_of[name]
        fits = False if found.infeasible else fits
        if equal.idle != equal.now:
            if idle.get(kind) is None and not search.budget.reached:
                idle[kind] = is_feasible(scan.problem(name, idle=True), search.budget, solver=search.solver)
            fits = idle.get(kind)
        search.note(equal, found, fits_idle=fits)
        late.difference_update(equal.nodes)
    if late:
        search.note(EqualNodes(tuple(sorted(late)), "late", "late"), NodeSolution(), fits_idle=None)


def _conclude(search: _Search) -> Choice:
    scan, best, pinned = search.scan, search.best, search.pinned
    node, solution, ended = "", NodeSolution(), True
    if pinned:
        solution = next((row.found for row in search.rows if row.name == pinned), NodeSolution())
        if solution.taken is not None:
            node, solution, ended = _to_the_end(search, [(pinned, solution)])
    elif best is not None:
        equal = [row for row in search.rows if row.found.values == best.values and row.found.taken is not None]
        equal = [row for row in equal if not row.found.worse]
        equal.sort(key=lambda row: (not row.found.proven, row.name))
        node, solution, ended = _to_the_end(search, [(row.name, row.found) for row in equal])
    classes, name = [], search.workload
    for row in search.rows:
        # What is known of the node that is chosen is known of the nodes that are equal to it.
        stages = (solution if row.name == node else row.found).stages
        verdict = _fit(row.found, best, row.name == node)
        classes.append(node_fit(name, row.equal.nodes, verdict, stages, fits_idle=row.fits_idle))
    cordoned = scan.cluster.cordoned.intersection(scan.excluded)
    if cordoned:
        classes.append(node_fit(name, cordoned, NodeFit.NO, label=CORDONED))
    if excluded := tuple(name for name in scan.excluded if name not in cordoned):
        classes.append(node_fit(name, excluded, NodeFit.NO, fits_idle=False))
    if scan.unseen:
        classes.append(node_fit(name, scan.unseen, NodeFit.UNKNOWN))
    rivals = [row.found for row in search.rows if row.name != node and not pinned]
    decided = all(found.infeasible or found.worse or found.proven for found in rivals)
    if not node and pinned:
        decided = solution.infeasible
    seen = scan.complete or (bool(pinned) and pinned not in scan.unseen)
    classes.sort(key=lambda fit: fit.members)
    return Choice(node, solution, tuple(classes), decided and seen, ended, search.counts)


def _fit(found: NodeSolution, best: NodeSolution | None, chosen: bool) -> NodeFit:  # noqa: FBT001 - one bit of the table
    if found.infeasible:
        return NodeFit.NO
    if found.taken is None or best is None:
        return NodeFit.UNKNOWN
    if found.worse:
        return NodeFit.WORSE
    if found.proven and best.proven:
        return NodeFit.BEST if found.values == best.values else NodeFit.WORSE
    return NodeFit.BEST if chosen else NodeFit.UNKNOWN


# ---------------------------------------------------------------- damage, and the goals after it


def _to_the_end(search: _Search, winners: Sequence[tuple[str, NodeSolution]]) -> tuple[str, NodeSolution, bool]:
    """Solve nodes that are equally good for all goals, in this order; return the best and whether it is surely that.

    Without a proof of the goals before `damage`, it and the goals after it are left undecided.
    """
    rest = search.whole[len(search.order) :]
    name, found = winners[0]
    if found.copied:
        for stage in found.stages:
            report_goal(search.budget, stage)
    if not rest or not found.proven:
        return name, _with_devices(search, name, found), not rest
    best: tuple[str, NodeSolution] | None = None
    began = time.monotonic()
    for name, known in winners:
        spent = search.budget.reached or time.monotonic() - began > search.budget.shares.damage
        if best is not None and spent:
            return *best, False
        solved = _solve_whole(search, name, _with_devices(search, name, known), None if best is None else best[1])
        if best is None or (not solved.worse and solved.values < best[1].values):
            best = (name, solved)
        if not best[1].proven or len(best[1].stages) < len(search.whole):
            return *best, False
        # A replica that keeps its preferences takes the place of one such, on any node that has one.
        least = int(not best[1].value("preferences") and best[1].value(DAMAGE) > 0)
        if rest == (DAMAGE,) and best[1].values[-1] == least:
            break
    assert best is not None, "there is a winner"
    return *best, True


def _with_devices(search: _Search, name: str, found: NodeSolution) -> NodeSolution:
    """Return a solution with devices of this node, also where only its values are known."""
    if not found.copied:
        return found
    return changed(found, taken=search.pods.devices(search.scan, name, search.order), copied=False)


def _solve_whole(search: _Search, name: str, known: NodeSolution, best: NodeSolution | None) -> NodeSolution:
    """Return what a node can do for all goals; its devices do the least damage if they can."""
    scan = search.scan
    others = FurtherReplicas(scan, name, search.budget, search.solver, search.counts)
    if search.whole == (*search.order, DAMAGE):
        least = others.least(kept=not known.value("preferences"))
        lost = None if search.budget.reached else others.lost_to(scan.placements(name, known.taken or ()))
        stage = GoalValue(DAMAGE, others.before[1], least) if lost is None else GoalValue(DAMAGE, lost.value, least)
        if search.budget.reached or stage.value == least:
            stage = replace(stage, proven=stage.value == least)
            report_goal(search.budget, stage)
            return changed(known, stages=(*known.stages, stage))
    from dra_lab.planner.node.lexicographic import solve_problem

    report = search.budget.report if best is None else None
    solved = solve_problem(
        scan.problem(name),
        search.whole,
        # The goals before were reported when they were decided.
        changed(search.budget, report=report and (lambda step: step.stage in search.order or report(step))),
        solver=search.solver,
        best=None if best is None else best.values,
        least=known.values,
        others=others,
    )
    return known if solved.taken is None and not solved.infeasible else solved
