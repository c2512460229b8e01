"""Decide every class of equal nodes and choose the node: best values first, then the name."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from dra_lab.model.plan import GoalValue, NodeClass, NodeFit
from dra_lab.planner.patterns import Patterns
from dra_lab.planner.progress import Limits
from dra_lab.planner.scan import EqualNodes, Scan
from dra_lab.planner.solve import Solution, is_feasible, solve_problem

_TELL_EVERY = 20


@dataclass
class Choice:
    """The decision: `node` is "" where nothing fits; `decided` says that no undecided node could be better."""

    node: str = ""
    solution: Solution = field(default_factory=Solution)
    classes: tuple[NodeClass, ...] = ()
    decided: bool = False


@dataclass
class _Search:
    scan: Scan
    order: tuple[str, ...]
    limits: Limits
    solver: str
    pinned: str
    solutions: list[tuple[EqualNodes, str, Solution]] = field(default_factory=list)
    idle: dict[Hashable, bool | None] = field(default_factory=dict)


def choose_node(scan: Scan, order: tuple[str, ...], limits: Limits, *, solver: str, pinned: str = "") -> Choice:
    """Solve each class of equal nodes once and choose; nodes that are proven worse are not solved to the end."""
    search = _Search(scan, order, limits, solver, pinned)
    patterns = Patterns(scan, order, limits, solver)
    patterns.prepare()
    best: Solution | None = None
    rows = sorted(scan.classes, key=lambda c: (pinned not in c.nodes, patterns.rank(c), c.nodes[0]))
    for number, equal in enumerate(rows):
        name = pinned if pinned in equal.nodes else equal.nodes[0]
        bar = best.values if best is not None and best.proven and name != pinned else None
        found = patterns.known(equal, bar) if name != pinned else None
        if found is None and limits.reached:
            found = Solution()
        if found is None:
            least = patterns.rank(equal)
            # The goals are told for the first node; the others only have to show that they can keep up.
            told = limits if best is None or name == pinned else replace(limits, report=None)
            found = solve_problem(scan.problem(name), order, told, solver=solver, best=bar, least=least)
            patterns.learn_from(equal, name, found)
        search.solutions.append((equal, name, found))
        if found.taken is not None and not found.worse and (best is None or found.values < best.values):
            best = found
        if number % _TELL_EVERY == 0:
            limits.tell("nodes", f"decided {number + 1} of {len(rows)} classes of equal nodes")
    return _conclude(search, best)


def _conclude(search: _Search, best: Solution | None) -> Choice:
    winners = [
        (name != search.pinned, name, found)
        for equal, name, found in search.solutions
        if best is not None and (found.values == best.values and found.taken is not None and not found.worse)
    ]
    node, solution = "", Solution()
    if search.pinned:
        solution = next((found for _, name, found in search.solutions if name == search.pinned), Solution())
        node = search.pinned if solution.taken is not None else ""
    elif winners:
        _, node, solution = min(winners, key=lambda winner: (not winner[2].proven, winner[1]))
    if solution.copied:
        solution = solve_problem(search.scan.problem(node), search.order, search.limits, solver=search.solver)
    fits = [(equal, _fit(found, best, name == node), found) for equal, name, found in search.solutions]
    classes = [_node_class(search, *row) for row in fits]
    if search.scan.unseen:
        classes.append(NodeClass(search.scan.unseen, NodeFit.UNKNOWN))
    rivals = [found for _, name, found in search.solutions if name != node and not search.pinned]
    decided = all(found.infeasible or found.worse or found.proven for found in rivals)
    if not node and search.pinned:
        decided = solution.infeasible
    seen = search.scan.complete or (search.pinned and search.pinned not in search.scan.unseen)
    return Choice(node, solution, tuple(sorted(classes, key=lambda c: c.nodes)), decided and bool(seen))


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


def _node_class(search: _Search, equal: EqualNodes, fit: NodeFit, found: Solution) -> NodeClass:
    goals = tuple(GoalValue(stage.goal, stage.value, stage.bound, stage.proven) for stage in found.stages)
    return NodeClass(equal.nodes, fit, _fits_idle(search, equal, found), goals)


def _fits_idle(search: _Search, equal: EqualNodes, found: Solution) -> bool | None:
    """Say whether the claim would fit with nothing in use; the same idle node is asked once."""
    if equal.idle == equal.now:
        return None if found.taken is None and not found.infeasible else found.taken is not None
    if equal.idle not in search.idle and search.limits.reached:
        return None
    if equal.idle not in search.idle:
        problem = search.scan.problem(search.scan.idle_nodes[equal.idle], idle=True)
        search.idle[equal.idle] = is_feasible(problem, search.limits, solver=search.solver)
    return search.idle[equal.idle]
