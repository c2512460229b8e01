"""Values of a claim on many node states, from the tables of places: the best pod on each state is exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dra_lab.index.node_index import shape_key
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import GoalValue
from dra_lab.planner.budget import Budget
from dra_lab.planner.known_devices import KnownDevices
from dra_lab.planner.node.copies import CopyPart
from dra_lab.planner.node.solution import Solution, Taken
from dra_lab.planner.node_classes import Layout
from dra_lab.planner.places.fill import no_harm, pod_tables
from dra_lab.planner.places.hand_out import take_pods
from dra_lab.planner.places.hardware import is_nested, trees_over
from dra_lab.planner.places.tables import PodTables
from dra_lab.planner.places.trees import Trees
from dra_lab.planner.scan import EqualNodes, Scan
from dra_lab.planner.states.node_state import NodeState
from dra_lab.planner.states.survey import Left, counted_layout, idle_layout, state_on


@dataclass
class BestPods:
    """The best pod of a claim on node states, with its proven values.

    Only for claims under which a device in use is merely missing, or takes from counters, and for nodes and claims that
    are trees of places.
    """

    scan: Scan
    order: tuple[str, ...]
    trees: Trees
    tables: PodTables
    layouts: Mapping[int, Layout]
    states: Mapping[str, NodeState]
    values: dict[str, Solution] = field(default_factory=dict)

    def look(self, name: str) -> Solution | None:
        """Return what is proven of a node, without devices."""
        if name not in self.values and name in self.states:
            state = self.trees.place(self.states[name]).state
            best = self.tables.best(state)
            if best is None:
                self.values[name] = Solution(infeasible=True)
            else:
                values = self.tables.shapes[best[1]].costs.values(best[0], self.order)
                goals = zip(self.order, values, strict=True)
                stages = tuple(GoalValue(goal, value, value, proven=True) for goal, value in goals)
                self.values[name] = Solution((), stages, copied=True)
        return self.values.get(name)

    def fits_idle(self, name: str) -> bool:
        """Say whether the claim fits on a node with nothing in use."""
        layout = self.states[name].layout
        return self.tables.best(self.trees.place(NodeState(layout, self.layouts[layout].sizes)).state) is not None

    def placed(self, name: str) -> Taken | None:
        """Return devices of a node that have its best values; None if it was not looked at."""
        if name not in self.states:
            return None
        node = self.states[name]
        (takes,) = take_pods(self.trees, node, [(0, self.tables)])
        layout, held = self.layouts[node.layout], self.scan.rules.allocated.exclusive
        free: dict[int, list[DeviceID]] = {}
        for item, group in zip(self.scan.views.view(name).devices, layout.group_of, strict=True):
            if item.id not in held:
                free.setdefault(group, []).append(item.id)
        found: list[tuple[int, DeviceID]] = []
        for ask, group, count in takes:
            found.extend((ask, device) for device in free[group][:count])
            if not layout.problem.groups[group].shareable:
                del free[group][:count]
        return tuple(sorted(found, key=lambda row: row[0]))


@dataclass
class KnownPods:
    """The best pods on every class of equal nodes; those that were found for the same nodes before are remembered."""

    scan: Scan
    order: tuple[str, ...]
    pods: BestPods | None = None

    def known(self, equal: EqualNodes) -> Solution | None:
        """Return what is proven of a class, without devices; None where it was not looked at."""
        name = equal.nodes[0]
        key = ("way", self.scan.exact.get(name), self.order)
        found = self.scan.solutions.get(key) if name in self.scan.exact else None
        if found is None and self.pods is not None:
            found = self.pods.look(name)
            if found is not None and name in self.scan.exact:
                self.scan.solutions[key] = found
        return found

    def fits_idle(self, equal: EqualNodes) -> bool | None:
        """Say whether the claim fits on the nodes of a class with nothing in use, None where that is not known."""
        name = equal.nodes[0]
        key = ("idle", self.scan.exact.get(name))
        found = self.scan.solutions.get(key) if name in self.scan.exact else None
        if found is None and self.pods is not None and name in self.pods.states:
            found = Solution(infeasible=not self.pods.fits_idle(name))
            if name in self.scan.exact:
                self.scan.solutions[key] = found
        return None if found is None else not found.infeasible

    def placed(self, name: str) -> Taken | None:
        """Return devices of a node that have its best values; None if they are not known."""
        pods = self.pods
        if pods is None or name not in pods.states:
            # Its values are remembered from an earlier look: one node is looked at again, also when time is over.
            pods = _over(self.scan, {(): [name]}, self.order, Budget())
        return None if pods is None else pods.placed(name)


def best_pods(scan: Scan, order: tuple[str, ...], budget: Budget) -> KnownPods | None:
    """Return the best pods on every class of equal nodes; None where the claim's rules or the nodes forbid it."""
    rules, found = scan.rules, KnownPods(scan, order)
    shapes: dict[tuple[int, ...], list[str]] = {}
    for equal in scan.classes:
        if found.known(equal) is None:
            name = equal.nodes[0]
            shapes.setdefault(shape_key(scan.views, name, rules.asks, rules.attributes), []).append(name)
    if shapes:
        found.pods = _over(scan, shapes, order, budget)
        return found if found.pods is not None else None
    return found


def fitting_nodes(
    scan: Scan, shapes: Mapping[tuple[int, ...], Sequence[str]], budget: Budget
) -> Mapping[str, bool] | None:
    """Say of each node whether the claim fits, `shapes` being the nodes by hardware (`scan.node_shapes`).

    None where the claim's rules or the nodes forbid it; a node that time left open is not in it. Each node is only
    thinned out by what is in use there, so that this takes a tenth of the time of `scan_nodes`.
    """
    pods = _over(scan, shapes, (), budget)
    if pods is None:
        return None
    found = {}
    for name in pods.states:
        if budget.reached:
            break
        solution = pods.look(name)
        found[name] = solution is not None and not solution.infeasible
    return found


def _over(
    scan: Scan, shapes: Mapping[tuple[int, ...], Sequence[str]], order: tuple[str, ...], budget: Budget
) -> BestPods | None:
    """Return the best pods on nodes, `shapes` being these by hardware, as many as there is time for."""
    if any(ask.all_devices or ask.admin_access for ask in scan.rules.asks) or scan.rules.cluster.network_slices:
        return None
    layouts: dict[int, Layout] = {}
    states: dict[str, NodeState] = {}
    left: Left = {}
    devices = KnownDevices(scan.rules, scan.views)
    for number, names in enumerate(shapes.values()):
        if budget.reached:
            break
        layout = devices.layout(names[0])
        if layout is None:
            layout = idle_layout(scan, names[0])
            devices.learn(names[0], layout)
        counted = counted_layout(scan, layout, names[0])
        if counted is None:
            return None
        if not is_nested(layout.problem):
            return None
        layouts[number] = layout
        for name in names:
            state = state_on(scan, number, layout, name, left)
            states[name] = counted.on(scan, name, state) if counted.counters else state
    first = next(iter(layouts.values()), None)
    if first is None:
        return None
    part = _whole(first)
    trees = trees_over(layouts, [part], 1)
    if trees is None:
        return None
    (tables,) = pod_tables(trees, order, no_harm)
    if not tables.exact:
        return None
    return BestPods(scan, order, trees, tables, layouts, states)


def _whole(layout: Layout) -> CopyPart:
    problem = layout.problem
    asks, requests, links = len(problem.asks), len(problem.requests), len(problem.links)
    return CopyPart(0, "", (0, asks), (0, requests), (0, links), problem.paired)
