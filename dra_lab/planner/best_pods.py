"""The best pod of a claim on many node states, and how many fit on one, from the tables of places.

Values are proven. Nodes and claims that are no trees of places are left to the model of a node.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from msgspec import Struct, json

from dra_lab.model.cluster import Cluster
from dra_lab.model.goals import GoalValue
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import AllocationProblem, NodeSolution, Taken, devices_of
from dra_lab.planner.node.copies import CopyPart, whole_part
from dra_lab.planner.node_classes import Layout
from dra_lab.planner.places.counting import Counting
from dra_lab.planner.places.fill import PodsWanted, filler_of
from dra_lab.planner.places.hand_out import take_pods
from dra_lab.planner.places.hardware import is_nested, trees_over
from dra_lab.planner.places.tables import PodTables
from dra_lab.planner.places.trees import State, Trees
from dra_lab.planner.scan import Scan
from dra_lab.planner.states.node_state import NodeState
from dra_lab.planner.states.survey import KnownDevices, Layouts, devices_by_group

Order = tuple[str, ...]
"""Goals, most important first."""

_CLAIMS, _STATES = 4, 4
"""Claims whose tables are kept for their next plan, and states for each node after which tables are made again."""


class Best(Struct, frozen=True):
    """The best pod on a state: values without devices, and whether a pod fits with nothing in use.

    `state` is equal for nodes that are equal for the claim, `idle` for nodes that are so with nothing in use.
    """

    state: int
    idle: State
    solution: NodeSolution
    fits_idle: bool


@dataclass
class BestPods:
    """The best pods of one claim on nodes that are trees of places; holds no cluster.

    `trees` is None if the tables know no node; `known` are the states that were looked up.
    """

    trees: Trees | None
    layouts: Layouts
    _tables: dict[Order, PodTables] = field(default_factory=dict)
    known: dict[tuple[NodeState, Order], Best] = field(default_factory=dict)
    _states: dict[Hashable, int] = field(default_factory=dict)
    _idle: dict[int, State] = field(default_factory=dict)

    def state(self, scan: Scan, name: str) -> NodeState | None:
        """Return what a node offers, None if the tables do not say what fits there."""
        return None if self.trees is None else self.layouts.state(scan, scan.kind_of[name], name)

    def best(self, node: NodeState, order: Order) -> Best:
        """Return the best pod on what a node offers."""
        if (node, order) in self.known:
            return self.known[node, order]
        assert self.trees is not None, "it has states"
        state, tables = self.trees.place(node).state, self.tables(order)
        best, idle = tables.best(state), self._idle_state(node.layout)
        solution = NodeSolution(infeasible=True)
        if best is not None:
            values = tables.shapes[best[1]].costs.values(best[0], order)
            stages = (GoalValue(goal, value, value, proven=True) for goal, value in zip(order, values, strict=True))
            solution = NodeSolution((), tuple(stages), copied=True)
        # Nodes on which it fits are equal whatever they would be with nothing in use.
        number = self._states.setdefault((state, idle if best is None else None), len(self._states))
        self.known[node, order] = Best(number, idle, solution, best is not None or tables.best(idle) is not None)
        return self.known[node, order]

    def tables(self, order: Order) -> PodTables:
        """Return the tables at an order of goals; among equals, the pod that leaves most to others of its kind."""
        if order not in self._tables:
            assert self.trees is not None, "it has states"
            first = self._idle_state(next(iter(self.layouts.made)))
            self._tables[order] = filler_of(self.trees, order, {first: 1}).ways[0][0]
        return self._tables[order]

    def _idle_state(self, number: int) -> State:
        if number not in self._idle:
            assert self.trees is not None, "it has states"
            self._idle[number] = self.trees.place(NodeState(number, self.layouts.made[number].sizes)).state
        return self._idle[number]

    def devices(self, scan: Scan, name: str, order: Order) -> Taken:
        """Return devices of a node that have its best values."""
        node = self.state(scan, name)
        assert self.trees is not None, "its values are known"
        assert node is not None, "its values are known"
        (takes,) = take_pods(self.trees, node, [(0, self.tables(order))])
        layout = self.layouts.made[node.layout]
        free = devices_by_group(scan, layout, name)
        return devices_of(layout.problem, {(ask, group): count for ask, group, count in takes}, free)


def best_pods(scan: Scan, budget: Budget) -> BestPods:
    """Return the tables for the nodes of a scan, of as many kinds of hardware as there is time for.

    Raises UnsupportedFeature when an eligible device needs a rule that the planner does not know.
    """
    layouts = Layouts(_has_values)
    if any(ask.admin_access for ask in scan.rules.asks):
        layouts.numbers = dict.fromkeys(scan.shapes, -1)
        return BestPods(None, layouts)
    devices = KnownDevices(scan.rules, scan.views)
    for kind, names in scan.shapes.items():
        if budget.reached:
            break
        layouts.add(scan, devices, kind, names[0])
    trees = trees_over(layouts.made, [whole_part(layouts.made[0].problem)], 1) if layouts.made else None
    found = BestPods(trees, layouts)
    return found if trees is not None and found.tables(()).exact else BestPods(None, layouts)


def take_pods_of(scan: Scan, budget: Budget) -> BestPods:
    """Return `best_pods`, those of an earlier plan of the same claim if they know all hardware.

    A claim that comes or goes changes few nodes. Plans may be made in several threads at once, and a plan writes into
    the tables: until `keep_pods`, no other plan gets them.
    """
    found = _latest(scan.cluster, scan.release).pop(_claim(scan), None)
    # They hold every state that they were asked for, and a cluster that is followed comes to ever more states.
    if found is not None and len(found.known) <= _STATES * len(scan.kind_of):
        return found if scan.shapes.keys() <= found.layouts.numbers.keys() else best_pods(scan, budget)
    return best_pods(scan, budget)


def keep_pods(scan: Scan, pods: BestPods) -> None:
    """Keep tables for the next plan of the same claim; those of the oldest claims are dropped."""
    latest = _latest(scan.cluster, scan.release)
    latest[_claim(scan)] = pods
    for old in tuple(latest)[:-_CLAIMS]:
        latest.pop(old, None)


def _claim(scan: Scan) -> Hashable:
    return json.encode(scan.sketch), scan.paired


@once_per_hardware
def _latest(_cluster: Cluster, _release: KubernetesRelease) -> dict[Hashable, BestPods]:
    """Return the tables of the latest claims."""
    return {}


def fitting_nodes(scan: Scan, budget: Budget) -> Mapping[str, bool] | None:
    """Say of each node of a scan whether the claim fits; None where the tables do not say that.

    A node that time left open is not in it.
    """
    pods = best_pods(scan, budget)
    found: dict[str, bool] = {}
    for name, kind in scan.kind_of.items():
        if budget.reached or kind not in pods.layouts.numbers:
            return found
        node = pods.state(scan, name)
        if node is None:
            return None
        found[name] = not pods.best(node, ()).solution.infeasible
    return found


def is_tabled(problem: AllocationProblem) -> bool:
    """Say whether the tables of places know such hardware: trees, and no request for all of devices that pods share."""
    every = {at for at, ask in enumerate(problem.asks) if ask.all_devices}
    return is_nested(problem) and not any(
        group.shareable and every.intersection(group.asks) for group in problem.groups
    )


def _has_values(problem: AllocationProblem) -> bool:
    """Say whether the tables know all goals."""
    return is_tabled(problem) and is_nested(problem, [whole_part(problem)])


def tabled_replicas(problem: AllocationProblem, part: CopyPart, most: int, budget: Budget) -> tuple[int, int]:
    """Return how many replicas the tables of places find, and how many counting allows."""
    layout = Layout(problem, ())
    trees = trees_over({0: layout}, [part], 1) if is_tabled(problem) else None
    if trees is None:
        return 0, most
    state = trees.place(NodeState(0, layout.sizes)).state
    most = min(most, *Counting(trees, lambda: budget.reached).most(state))
    found = filler_of(trees, (), {state: 1}).fill(0, (0,), PodsWanted((most,), (most,)), {state: 1}, budget)
    return max((counts[0] for _, counts in found), default=0), most
