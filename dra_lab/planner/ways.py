"""Values of a claim on many node states, read from one list of all its ways on each kind of hardware."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from dra_lab.index.node_binding import Tie
from dra_lab.index.node_index import shape_key
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import GoalValue
from dra_lab.planner.budget import Budget, Sizes
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.node.eligible import is_shareable
from dra_lab.planner.node.solution import Solution, Taken
from dra_lab.planner.scan import EqualNodes, Scan
from dra_lab.planner.states.columns import Array, Columns, columns_of
from dra_lab.planner.states.node_state import NodeState
from dra_lab.planner.states.stock import Stock
from dra_lab.planner.states.survey import Left, counted_layout, idle_layout, state_on


@dataclass
class ListedWays:
    """Proven values of a claim on node states: the first of all its ways, best first, for which enough is free.

    Only for claims under which a device in use is merely missing, or takes from counters, and whose ways on one kind
    of hardware can be listed.
    """

    scan: Scan
    order: tuple[str, ...]
    sizes: Sizes
    values: dict[str, Solution] = field(default_factory=dict)
    chosen: dict[str, tuple[Columns, int, Sequence[int]]] = field(default_factory=dict)

    def known(self, equal: EqualNodes) -> Solution | None:
        """Return what is proven of a class, without devices; None where it was not looked at."""
        return self.values.get(equal.nodes[0])

    def placed(self, name: str) -> Taken | None:
        """Return devices of a node that have its best values; None where the ways do not tell."""
        if name not in self.chosen:
            # Its values are stored from an earlier look: one node is looked at again, also when time is over.
            _look(self, 0, [name], Budget(sizes=self.sizes))
        if name not in self.chosen:
            return None
        columns, column, group_of = self.chosen[name]
        held = self.scan.rules.allocated.exclusive
        free: dict[int, list[DeviceID]] = {}
        for item, group in zip(self.scan.views.view(name).devices, group_of, strict=True):
            if item.id not in held:
                free.setdefault(group, []).append(item.id)
        devices = self.scan.devices(name)
        found: list[tuple[int, DeviceID]] = []
        for ask, group, count in columns.way(column):
            found.extend((ask, device) for device in free[group][:count])
            if not is_shareable(devices[free[group][0]], self.scan.rules):
                del free[group][:count]
        return tuple(sorted(found, key=lambda row: row[0]))


def list_ways(scan: Scan, order: tuple[str, ...], budget: Budget) -> ListedWays | None:
    """Look at every class of equal nodes; None where the claim's rules or ways forbid it."""
    rules = scan.rules
    if _forbidden(scan):
        return None
    ways = ListedWays(scan, order, budget.sizes)
    shapes: dict[tuple[int, ...], list[str]] = {}
    for equal in scan.classes:
        name = equal.nodes[0]
        known = scan.solutions.get(_key(scan, name, order)) if name in scan.exact else None
        if known is not None:
            ways.values[name] = known
        else:
            shapes.setdefault(shape_key(scan.views, name, rules.asks, rules.attributes), []).append(name)
    return ways if _look_at_all(ways, shapes, budget) else None


def fitting_nodes(
    scan: Scan, shapes: Mapping[tuple[int, ...], Sequence[str]], budget: Budget
) -> Mapping[str, bool] | None:
    """Say of each node whether the claim fits, `shapes` being the nodes by hardware (`scan.node_shapes`).

    None where the claim's rules or ways forbid it; a node that time left open is not in it. Each node is only thinned
    out by what is in use there, so that this takes a tenth of the time of `scan_nodes`.
    """
    if _forbidden(scan):
        return None
    ways = ListedWays(scan, (), budget.sizes)
    if not _look_at_all(ways, shapes, budget):
        return None
    return {name: not found.infeasible for name, found in ways.values.items()}


def _forbidden(scan: Scan) -> bool:
    """Say whether a device in use does more than to be missing, or to take from counters."""
    special = any(ask.all_devices or ask.admin_access for ask in scan.rules.asks)
    return special or bool(scan.rules.cluster.network_slices)


def _key(scan: Scan, name: str, order: tuple[str, ...]) -> Hashable:
    return ("way", scan.exact[name], order)


def _look_at_all(ways: ListedWays, shapes: Mapping[tuple[int, ...], Sequence[str]], budget: Budget) -> bool:
    """Look at nodes by hardware as long as there is time; say whether the ways can be listed on each that was."""
    return all(budget.reached or _look(ways, at, names, budget) for at, names in enumerate(shapes.values()))


def _look(ways: ListedWays, number: int, names: Sequence[str], budget: Budget) -> bool:
    """Look at states of one kind of hardware; say whether its ways can be listed."""
    scan = ways.scan
    layout = idle_layout(scan, names[0])
    problem = layout.problem
    counted = counted_layout(scan, layout, names[0])
    if counted is None or any(group.tie is Tie.TERMS for group in problem.groups):
        return False
    part = CopyPart(0, "", (0, len(problem.asks)), (0, len(problem.requests)), (0, len(problem.links)), problem.paired)
    columns = columns_of(problem, part, ways.order, budget.sizes.pod_ways)
    if columns is None:
        return False
    left: Left = {}
    states: list[NodeState] = []
    for at, name in enumerate(names):
        state = state_on(scan, number, layout, name, left)
        states.append(counted.on(scan, name, state) if counted.counters else state)
        if budget.due:
            budget.report_step("nodes", f"looked at {at + 1} of {len(names)} states of one kind of hardware")
    stock = Stock(problem, states, [columns])
    able = stock.columns[0]
    for name, column in zip(names, stock.first(stock.left, 0).tolist(), strict=True):
        found = _solution(able.values[column], ways.order) if column >= 0 else Solution(infeasible=True)
        ways.values[name] = found
        if name in scan.exact:
            scan.solutions[_key(scan, name, ways.order)] = found
        if column >= 0:
            ways.chosen[name] = (able, column, layout.group_of)
    return True


def _solution(values: Array, order: Sequence[str]) -> Solution:
    goals = zip(order, values.tolist(), strict=True)
    return Solution((), tuple(GoalValue(goal, value, value, proven=True) for goal, value in goals), copied=True)
