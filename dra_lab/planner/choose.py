"""Decide every class of equal nodes and choose the node: best values first, then the name."""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace as changed

from dra_lab.model.plan import CORDONED, DAMAGE, NodeClass, NodeFit
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.lexicographic import solve_problem
from dra_lab.planner.node.milp import is_feasible
from dra_lab.planner.node.solution import Solution
from dra_lab.planner.replicas import Count, FurtherReplicas, has_damage
from dra_lab.planner.scan import EqualNodes, Scan

if TYPE_CHECKING:
    from dra_lab.planner.ways import KnownPods


class Choice(Struct):
    """The decision: `node` is "" where nothing fits; `decided` says that no undecided node could be better.

    Nodes are told apart by the goals that stand before `damage`: with those `decided` is about. `ended` says the same
    of `damage` and the goals after it, for which only nodes that are equally good until then are looked at.
    """

    node: str = ""
    solution: Solution = field(default_factory=Solution)
    classes: tuple[NodeClass, ...] = ()
    decided: bool = False
    ended: bool = True
    counts: dict[str, Count] = field(default_factory=dict)


class _Search(Struct):
    scan: Scan
    order: tuple[str, ...]
    whole: tuple[str, ...]
    budget: Budget
    solver: str
    pinned: str
    ways: KnownPods | None
    counts: dict[str, Count] = field(default_factory=dict)
    solutions: list[tuple[EqualNodes, str, Solution]] = field(default_factory=list)
    idle: dict[Hashable, bool | None] = field(default_factory=dict)


def choose_node(scan: Scan, order: tuple[str, ...], budget: Budget, *, solver: str, pinned: str = "") -> Choice:
    """Solve each class of equal nodes once and choose; nodes that are proven worse are not solved to the end.

    The goals up to `damage` decide which nodes are best; `damage` and what follows it chooses among these, as many of
    them as a second allows.
    """
    whole = order if has_damage(scan.sketch) else tuple(goal for goal in order if goal != DAMAGE)
    order = whole[: whole.index(DAMAGE)] if DAMAGE in whole else whole
    ways = None
    if len(scan.classes) > budget.sizes.solved_alone:
        # Few classes are solved one by one, and need none of the tables of states.
        from dra_lab.planner.ways import best_pods

        ways = best_pods(scan, order, budget)
    search = _Search(scan, order, whole, budget, solver, pinned, ways)
    best: Solution | None = None
    # Where most is free the best values are to be expected, and nodes that are proven worse are left early.
    rows = sorted(scan.classes, key=lambda c: (pinned not in c.nodes, -sum(c.free), c.nodes[0]))
    for number, equal in enumerate(rows):
        name = pinned if pinned in equal.nodes else equal.nodes[0]
        found = ways.known(equal) if ways is not None and name != pinned else None
        if found is None:
            found = Solution() if budget.reached else _solve(search, name, best)
        search.solutions.append((equal, name, found))
        if found.taken is not None and not found.worse and (best is None or found.values < best.values):
            best = found
        if budget.due:
            budget.report_step("nodes", f"decided {number + 1} of {len(rows)} classes of equal nodes")
    return _conclude(search, best)


def _solve(search: _Search, name: str, best: Solution | None) -> Solution:
    """Return what a node can do, to the end unless it is proven worse than the best so far."""
    scan, pinned = search.scan, name == search.pinned
    bar = best.values if best is not None and best.proven and not pinned else None
    key = (name, scan.exact.get(name), search.order, search.solver, bar)
    found = scan.solutions.get(key) if name in scan.exact else None
    if found is None:
        # Progress is reported for the first node; the others only have to show that they are as good.
        budget = search.budget if best is None or pinned else changed(search.budget, report=None)
        found = solve_problem(scan.problem(name), search.order, budget, solver=search.solver, best=bar)
        if name in scan.exact and (found.infeasible or found.worse or found.proven):
            scan.solutions[key] = found
    return found


def _conclude(search: _Search, best: Solution | None) -> Choice:
    winners = [
        (name, found)
        for _, name, found in search.solutions
        if best is not None and (found.values == best.values and found.taken is not None and not found.worse)
    ]
    node, solution, ended = "", Solution(), True
    if search.pinned:
        solution = next((found for _, name, found in search.solutions if name == search.pinned), Solution())
        if solution.taken is not None:
            node, solution, ended = _to_the_end(search, [(search.pinned, solution)])
    elif winners:
        node, solution, ended = _to_the_end(search, sorted(winners, key=lambda row: (not row[1].proven, row[0])))
    if not solution.taken:
        # Values are known of a node, and no devices that have them: that is no plan.
        node, ended = "", True
    fits = [(equal, _fit(found, best, name == node), found) for equal, name, found in search.solutions]
    # What is known of the node that is chosen is known of the nodes that are equal to it.
    whole = {id(found): solution for _, name, found in search.solutions if name == node}
    classes = [
        NodeClass(equal.nodes, fit, _fits_idle(search, equal, found), whole.get(id(found), found).stages)
        for equal, fit, found in fits
    ]
    cordoned = search.scan.cluster.cordoned.intersection(search.scan.excluded)
    if cordoned:
        classes.append(NodeClass(tuple(sorted(cordoned)), NodeFit.NO, label=CORDONED))
    if excluded := tuple(node for node in search.scan.excluded if node not in cordoned):
        classes.append(NodeClass(excluded, NodeFit.NO, fits_idle=False))
    if search.scan.unseen:
        classes.append(NodeClass(search.scan.unseen, NodeFit.UNKNOWN))
    rivals = [found for _, name, found in search.solutions if name != node and not search.pinned]
    decided = all(found.infeasible or found.worse or found.proven for found in rivals)
    if not node and search.pinned:
        decided = solution.infeasible
    seen = search.scan.complete or (search.pinned and search.pinned not in search.scan.unseen)
    return Choice(
        node, solution, tuple(sorted(classes, key=lambda c: c.nodes)), decided and bool(seen), ended, search.counts
    )


def _shown(search: _Search, name: str, found: Solution) -> Solution:
    """Return a solution with devices of this node, also where only its values are known."""
    taken = search.ways.placed(name) if found.copied and search.ways is not None else None
    return found if taken is None else changed(found, taken=taken, copied=False)


def _to_the_end(search: _Search, winners: list[tuple[str, Solution]]) -> tuple[str, Solution, bool]:
    """Solve nodes that are equally good for all goals, in this order; return the best and whether it is surely that.

    Without a proof of the goals before `damage`, it and the goals after it are left undecided.
    """
    rest = search.whole[len(search.order) :]
    name, found = winners[0]
    found = _shown(search, name, found)
    if not found.proven or not (rest or found.copied):
        return name, found, not rest
    best: tuple[str, Solution] | None = None
    began, sizes, shares = time.monotonic(), search.budget.sizes, search.budget.shares
    for number, (name, known) in enumerate(winners):
        spent = number >= sizes.damaged or time.monotonic() - began > shares.damage
        if best is not None and (spent or search.budget.reached):
            return *best, False
        solved = _solve_whole(search, name, _shown(search, name, known), None if best is None else best[1])
        if best is None or (not solved.worse and solved.values < best[1].values):
            best = (name, solved)
        if not best[1].proven or len(best[1].stages) < len(search.whole):
            return *best, False
        if not rest or (rest == (DAMAGE,) and _least(best[1])):
            break
    assert best is not None
    return *best, True


def _solve_whole(search: _Search, name: str, known: Solution, best: Solution | None) -> Solution:
    solved = solve_problem(
        search.scan.problem(name),
        search.whole,
        _telling_the_rest(search) if best is None else changed(search.budget, report=None),
        solver=search.solver,
        best=None if best is None else best.values,
        least=known.values,
        others=FurtherReplicas(search.scan, name, search.budget, search.solver, search.counts),
    )
    return known if solved.taken is None and not known.copied else solved


def _telling_the_rest(search: _Search) -> Budget:
    """Return the budget with a report that leaves out the goals that were reported before."""
    report = search.budget.report
    if report is None:
        return search.budget
    return changed(search.budget, report=lambda step: None if step.stage in search.order else report(step))


def _least(solution: Solution) -> bool:
    """Say whether no node can do less damage: a replica that keeps its preferences takes the place of one such."""
    values = {stage.goal: stage.value for stage in solution.stages}
    return solution.proven and values[DAMAGE] == int(not values["preferences"] and values[DAMAGE] > 0)


def _fit(found: Solution, best: Solution | None, chosen: bool) -> NodeFit:  # noqa: FBT001 - one bit of the table
    if found.infeasible:
        return NodeFit.NO
    if found.taken is None or best is None:
        return NodeFit.UNKNOWN
    if found.worse:
        return NodeFit.WORSE
    if found.proven and best.proven:
        return NodeFit.BEST if found.values == best.values else NodeFit.WORSE
    return NodeFit.BEST if chosen else NodeFit.UNKNOWN


def _fits_idle(search: _Search, equal: EqualNodes, found: Solution) -> bool | None:
    """Say whether the claim would fit with nothing in use; the same idle node is planned once."""
    if equal.idle == equal.now:
        return None if found.taken is None and not found.infeasible else found.taken is not None
    known = None if search.ways is None else search.ways.fits_idle(equal)
    if known is not None:
        return known
    if equal.idle not in search.idle and search.budget.reached:
        return None
    if equal.idle not in search.idle:
        problem = search.scan.problem(search.scan.idle_nodes[equal.idle], idle=True)
        search.idle[equal.idle] = is_feasible(problem, search.budget, solver=search.solver)
    return search.idle[equal.idle]
