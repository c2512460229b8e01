"""Nodes that share devices as columns of the master: which nodes take which steps, and what providers give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.master import MasterColumn, Row
from dra_lab.planner.fleet.place_tables import GOALS_OF_PLACES
from dra_lab.planner.fleet.providers import SharedHardware, SharedSet, shared_hardware
from dra_lab.planner.fleet.question import FleetProblem
from dra_lab.planner.fleet.shared_fill import Filled, fill_shared, hand_out
from dra_lab.planner.fleet.shared_states import MOST_WAYS, NodeKey, PodStep, PodSteps, ways_of
from dra_lab.planner.fleet.sites import PodsOnNode, Site


@dataclass(frozen=True)
class ByState:
    """Nodes that share devices, with steps of their pods; `exact` if every plan is made of these.

    `first` are pods that were placed one after the other. Columns are the nodes that are used in each state, the steps,
    and what providers give.
    """

    nodes: tuple[str, ...]
    hardware: SharedHardware
    shared: SharedSet
    steps: tuple[PodStep, ...] = ()
    exact: bool = False
    first: Filled = field(default_factory=Filled)

    @property
    def size(self) -> int:
        """Return the number of columns."""
        return len(self.shared.members) + len(self.steps) + len(self.shared.vectors)

    @property
    def _name(self) -> str:
        """Return what tells the rows of these nodes from those of others."""
        return self.nodes[0]

    def columns(self, demand: Sequence[int]) -> tuple[list[MasterColumn], dict[Row, int]]:
        """Return all columns, and the limits of their rows.

        No more pods leave a state than come to it. Pods stay in a state only if a node is in it. Pods take the pieces
        that providers give.
        """
        limits = self._limits()
        nothing, no_values = (0,) * len(demand), (0,) * len(self.shared.pieces.order)
        found = [
            MasterColumn(count, nothing, no_values, 1, self._comes_to(key, sum(demand)))
            for key, count in self.shared.members.items()
        ]
        found += [self._column(step, demand) for step in self.steps]
        for seen, state, most in self.shared.vectors:
            rows: dict[Row, int] = {(self._name, seen, kind): -count for kind, count in enumerate(most)}
            rows[self._name, "units", seen, state] = 1
            found.append(MasterColumn(self.shared.units[seen, state], nothing, no_values, 0, rows))
        kept = ({name: n for name, n in column.rows.items() if n and name in limits} for column in found)
        return [replace(column, rows=rows) for column, rows in zip(found, kept, strict=True)], limits

    def _column(self, step: PodStep, demand: Sequence[int]) -> MasterColumn:
        wanted, stays = demand[step.of[0]], step.before == step.after
        rows: dict[Row, int] = dict(Counter((self._name, *piece) for piece, _ in step.pieces))
        rows |= {} if stays else self._comes_to(step.after, sum(demand))
        rows[self._name, "stays" if stays else "leaves", step.before] = 1
        pods = tuple(int(at == step.of[0]) for at in range(len(demand)))
        return MasterColumn(wanted if stays else min(wanted, len(self.nodes)), pods, step.values, 0, rows)

    def _comes_to(self, key: NodeKey, most: int) -> dict[Row, int]:
        return {(self._name, "leaves", key): -1, (self._name, "stays", key): -most}

    def _limits(self) -> dict[Row, int]:
        """Return the limits of all rows; states that pods do not leave need none."""
        limits: dict[Row, int] = {}
        for step in self.steps:
            limits[self._name, "stays" if step.before == step.after else "leaves", step.before] = 0
            limits |= {(self._name, *piece): 0 for piece, _ in step.pieces}
        return limits | {(self._name, "units", *key): count for key, count in self.shared.units.items()}

    @property
    def start(self) -> list[int]:
        """Return the levels of all columns with which the first pods are placed."""
        first = self.first
        used, stays = Counter[NodeKey](), set[NodeKey]()
        for step, times in first.steps.items():
            if step.before == step.after:
                stays.add(step.before)
            used[step.before] += times
            used[step.after] -= times
        came = {step.after for step in first.steps if step.before != step.after}
        nodes = [max(used[key], int(key in stays - came)) for key in self.shared.members]
        steps, given = (first.steps[step] for step in self.steps), (first.given[key] for key in self.shared.vectors)
        return [*nodes, *steps, *given]

    def placed(self, levels: Sequence[int]) -> list[PodsOnNode]:
        """Return the pods on each node, with their devices."""
        own = levels[len(self.shared.members) :]
        steps = Counter({step: times for step, times in zip(self.steps, own, strict=False) if times})
        given = zip(self.shared.vectors, own[len(self.steps) :], strict=True)
        filled = Filled(steps, Counter({vector: times for vector, times in given if times}))
        return hand_out(self.hardware.trees, self.shared, filled) if steps else []


def all_by_state(
    fleet: FleetProblem,
    sites: Sequence[Site],
    order: Sequence[str],
    demand: Sequence[int],
    budget: Budget,
    looking: Budget,
) -> tuple[list[ByState], list[Site]]:
    """Return sets of nodes that share devices by state, and the sites of those that are not of this form.

    At a limit, sets that are left are in neither; the first one has a few pods always.

    Args:
        fleet: The pods, and the nodes.
        sites: The sets of nodes.
        order: The goals of devices.
        demand: The replicas wanted of each workload.
        budget: Ends the work on a first plan.
        looking: Ends the search for all steps; sets that are left by then have those of the first plan.
    """
    if not set(order) <= GOALS_OF_PLACES:
        return [], list(sites)
    hardware, rest = shared_hardware(fleet, sites, order, budget)
    if hardware is None:
        return [], rest
    quick, left = PodSteps(hardware.pieces, ways_of(hardware.tables, 1)), list(demand)
    found: list[ByState] = []
    for shared in hardware.sets:
        if found and budget.reached:
            break
        first = fill_shared(shared, quick.on, left, budget)
        left = [count - first.pods[pod] for pod, count in enumerate(left)]
        found.append(ByState(shared.site.all_nodes, hardware, shared, tuple(first.steps), first=first))
    steps = PodSteps(hardware.pieces, ways_of(hardware.tables, MOST_WAYS))
    for number, one in enumerate(found):
        every = steps.every(one.shared.members, budget.sizes.pod_ways, looking)
        if every is not None:
            both = tuple(dict.fromkeys([*every, *one.steps]))
            found[number] = replace(one, steps=both, exact=steps.exact)
    return found, rest
