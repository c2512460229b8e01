"""Nodes that share devices, by state: how many nodes take which step, and what providers give, in one model."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.pack import Values
from dra_lab.planner.fleet.place_tables import GOALS_OF_PLACES
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.providers import SharedHardware, SharedSet, shared_hardware
from dra_lab.planner.fleet.shared_fill import Filled, fill_shared
from dra_lab.planner.fleet.shared_hand_out import hand_out
from dra_lab.planner.fleet.shared_states import MOST_WAYS, NodeKey, Piece, PodStep, PodSteps, ways_of
from dra_lab.planner.fleet.sites import PodsOnNode, Site
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.variables import Expression
from dra_lab.planner.places.trees import State


@dataclass(frozen=True)
class SharedTaken:
    """What a solution takes of nodes that share devices; without arguments, nothing.

    `pods` are those of each workload, on `nodes` nodes, with `values` of the goals of devices. `levels` are the values
    of all variables.
    """

    pods: Mapping[int, int] = field(default_factory=dict)
    nodes: int = 0
    values: Values = ()
    levels: tuple[int, ...] = ()


@dataclass(frozen=True)
class ByState:
    """Nodes that share devices, with steps of their pods; `exact` if the model has every plan.

    `first` are pods that were placed one after the other.
    """

    nodes: tuple[str, ...]
    hardware: SharedHardware
    shared: SharedSet
    steps: tuple[PodStep, ...] = ()
    exact: bool = False
    first: Filled = field(default_factory=Filled)

    @property
    def variables(self) -> int:
        """Return about how many variables the model has."""
        return len(self.steps)

    def model(self, lp: Expression, number: int, demand: Sequence[int]) -> FlowModel:
        """Add the nodes to a model, under a number of their own; `demand` are the replicas of each workload."""
        return FlowModel(lp, number, self, demand)

    def start(self, demand: Sequence[int], worth: Sequence[int], budget: Budget) -> SharedTaken:
        """Return pods that are placed one after the other where they cost least."""
        first = self.first
        if any(count > demand[pod] for pod, count in first.pods.items()):
            by_key: dict[NodeKey, list[PodStep]] = defaultdict(list)
            for step in self.steps:
                by_key[step.before].append(step)
            first = fill_shared(self.shared, lambda key: by_key[key], demand, worth, budget)
        given = [first.given[key] for key in self.shared.vectors]
        return self.taken([first.steps[step] for step in self.steps], given)

    def taken(self, steps: Sequence[int], given: Sequence[int]) -> SharedTaken:
        """Return a solution in which each step of a pod, and each of `vectors`, is taken so often."""
        placed = Counter[int]()
        flow, stays, moves = Counter[NodeKey](), set[NodeKey](), set[NodeKey]()
        values = [0] * len(self.shared.pieces.order)
        for step, times in zip(self.steps, steps, strict=True):
            if times:
                placed[step.of[0]] += times
                values = [value + times * more for value, more in zip(values, step.values, strict=True)]
                if step.before == step.after:
                    stays.add(step.before)
                else:
                    flow[step.before] += times
                    flow[step.after] -= times
                    moves |= {step.before, step.after}
        nodes = [max(0, flow[key]) + (key in stays - moves) for key in self.shared.members]
        return SharedTaken(placed, sum(nodes), tuple(values), (*nodes, *steps, *given))

    def placed(self, taken: SharedTaken) -> list[PodsOnNode]:
        """Return the pods on each node, with their devices."""
        first = len(self.shared.members)
        steps, given = taken.levels[first : first + len(self.steps)], taken.levels[first + len(self.steps) :]
        if not any(taken.pods.values()):
            return []
        vectors = self.shared.vectors
        filled = Filled(
            steps=Counter({step: times for step, times in zip(self.steps, steps, strict=True) if times}),
            given=Counter({vector: times for vector, times in zip(vectors, given, strict=True) if times}),
        )
        return hand_out(self.hardware.trees, self.shared, filled)


def all_by_state(
    fleet: FleetProblem,
    sites: Sequence[Site],
    order: Sequence[str],
    demand: Sequence[int],
    worth: Sequence[int],
    budget: Budget,
    looking: Budget,
) -> tuple[list[ByState], list[Site]]:
    """Return sets of nodes that share devices by state, and the sites of those that are not of this form.

    At a limit, sets that are left are in neither.

    Args:
        fleet: The pods, and the nodes.
        sites: The sets of nodes.
        order: The goals of devices.
        demand: The replicas wanted of each workload.
        worth: What one replica of each workload counts.
        budget: Ends the work on a first plan.
        looking: Ends the search for all steps; sets that are left by then have those of the first plan.
    """
    if not set(order) <= GOALS_OF_PLACES:
        return [], list(sites)
    hardware, rest = shared_hardware(fleet, sites, order, budget)
    if hardware is None:
        return [], rest
    quick, left = PodSteps(hardware.pieces, ways_of(hardware.tables, 1)), list(demand)
    found = []
    for shared in hardware.sets:
        if budget.reached:
            break
        first = fill_shared(shared, quick.on, left, worth, budget)
        left = [count - first.pods[pod] for pod, count in enumerate(left)]
        found.append(ByState(shared.site.all_nodes, hardware, shared, tuple(first.steps), first=first))
    steps = PodSteps(hardware.pieces, ways_of(hardware.tables, MOST_WAYS))
    for number, one in enumerate(found):
        every = steps.every(one.shared.members, budget.sizes.pod_ways, looking)
        if every is not None:
            both = tuple(dict.fromkeys([*every, *one.steps]))
            found[number] = replace(one, steps=both, exact=steps.exact)
    return found, rest


class FlowModel:
    """How many nodes begin in each state, how often each step of a pod is taken, and what providers give.

    `placed` are the variables that count replicas, each with its workload. `values` are factors of the variables for
    each goal of devices. The sum of `used` is the number of nodes that are used.
    """

    def __init__(self, lp: Expression, number: int, shared: ByState, demand: Sequence[int]) -> None:
        """Make the variables, and rows: no more leave a state than come to it, and pods take what is given."""
        self.lp, self.shared, self.number = lp, shared, number
        self._variables: list[Expression] = []
        pods, members = shared.steps, shared.shared.members
        total = sum(members.values())
        self.used = {key: self._integer(f"u_{number}_{at}", count) for at, (key, count) in enumerate(members.items())}
        stays = [step.before == step.after for step in pods]
        wanted = [demand[step.of[0]] for step in pods]
        most = [mine if same else min(total, mine) for mine, same in zip(wanted, stays, strict=True)]
        self._pods = [self._integer(f"w_{number}_{at}", count) for at, count in enumerate(most)]
        self._vectors = shared.shared.vectors
        self._given = [
            self._integer(f"s_{number}_{at}", shared.shared.units[seen, state])
            for at, (seen, state, _) in enumerate(self._vectors)
        ]
        rows = list(zip(pods, self._pods, strict=True))
        self.placed = [(step.of[0], variable) for step, variable in rows]
        self.values = [
            {variable: step.values[at] for step, variable in rows if step.values[at]}
            for at in range(len(shared.shared.pieces.order))
        ]
        self._keep_states(sum(demand))
        self._keep_pieces()

    def _integer(self, name: str, most: int) -> Expression:
        self._variables.append(self.lp.add_variable(name, 0, int(most), pulp.LpInteger))
        return self._variables[-1]

    def _keep_states(self, most: int) -> None:
        leaves: dict[NodeKey, dict[Expression, int]] = defaultdict(dict)
        comes: dict[NodeKey, list[Expression]] = defaultdict(list)
        stays: dict[NodeKey, list[Expression]] = defaultdict(list)
        for key, variable in self.used.items():
            comes[key].append(variable)
        for step, variable in zip(self.shared.steps, self._pods, strict=True):
            if step.before == step.after:
                stays[step.before].append(variable)
            else:
                leaves[step.before][variable] = 1
                comes[step.after].append(variable)
        for at, (key, row) in enumerate(leaves.items()):
            self._add({**row, **dict.fromkeys(comes[key], -1)}, 0, f"state_{at}")
        for at, (key, mine) in enumerate(stays.items()):
            self._add({**dict.fromkeys(mine, 1), **dict.fromkeys(comes[key], -most)}, 0, f"stays_{at}")

    def _keep_pieces(self) -> None:
        pieces: dict[Piece, dict[Expression, int]] = defaultdict(dict)
        units: dict[tuple[int, State], dict[Expression, int]] = defaultdict(dict)
        for step, variable in zip(self.shared.steps, self._pods, strict=True):
            for piece, count in Counter(piece for piece, _ in step.pieces).items():
                pieces[piece][variable] = count
        for (seen, state, most), variable in zip(self._vectors, self._given, strict=True):
            units[seen, state][variable] = 1
            for kind, count in enumerate(most):
                if count and (seen, kind) in pieces:
                    pieces[seen, kind][variable] = -count
        for at, row in enumerate(pieces.values()):
            self._add(row, 0, f"piece_{at}")
        for at, (key, row) in enumerate(units.items()):
            self._add(row, self.shared.shared.units[key], f"units_{at}")

    def _add(self, factors: Mapping[Expression, int], most: int, name: str) -> None:
        self.lp.addConstraint(pulp.LpAffineExpression(factors) <= most, f"shared_{self.number}_{name}")

    def read(self) -> SharedTaken:
        """Return what the variables take."""
        pods, given = ([int(one.varValue or 0) for one in mine] for mine in (self._pods, self._given))
        return self.shared.taken(pods, given)

    def start_from(self, taken: SharedTaken) -> None:
        """Set the variables to a solution."""
        for at, variable in enumerate(self._variables):
            variable.varValue = taken.levels[at] if taken.levels else 0
