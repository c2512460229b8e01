"""Nodes that share devices, by option: a variable for every option of a pod on each of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from msgspec.structs import replace as changed

from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.by_copy import by_copy
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.shared_devices import SharedModel, SharedNodes, SharedTaken
from dra_lab.planner.fleet.sites import Site, seen_together
from dra_lab.planner.fleet.supplies import Supply, with_supplies
from dra_lab.planner.node.allocation_problem import AllocationProblem
from dra_lab.planner.node.copies import CopyPart, JointProblem
from dra_lab.planner.node.modelling import pulp
from dra_lab.planner.node.variables import Expression
from dra_lab.planner.states.columns import Columns, PodTakes, columns_of
from dra_lab.planner.states.node_state import NodeState
from dra_lab.planner.states.stock import Stock, is_listable

LARGEST = 10**6
"""Amounts up to here are told apart by the solver for certain."""


@dataclass(frozen=True)
class ByOption(SharedNodes):
    """Nodes that share devices with every option of a pod on each part.

    `site` has the problem in which partitions of a kind are one group, `stock` what there is of every resource and the
    options of each part; `supplies` provide the kinds.
    """

    stock: Stock
    supplies: tuple[Supply, ...]

    @property
    def variables(self) -> int:
        """Return about how many variables their model has: one for each option."""
        return sum(map(len, self.stock.uses))

    def model(self, lp: Expression, number: int, demand: Sequence[int]) -> OptionModel:
        """Add the nodes to a model, under a number of their own; `demand` are the replicas of each workload."""
        return OptionModel(lp, number, self, demand)

    def devices(self, taken: SharedTaken) -> Mapping[int, list[DeviceID]]:
        """Return the devices that pods of a solution may have, by group: of the supplies, those in use then."""
        found = {at: list(group.devices) for at, group in enumerate(self.site.problem.groups)}
        found |= {kind: [] for supply in self.supplies for kind in supply.kinds}
        # Without a pod, nothing is provided.
        for supply, often in zip(self.supplies, taken.provided, strict=False):
            for kind, devices in supply.devices(often):
                found[kind].extend(devices)
        return found


class OptionModel(SharedModel):
    """How often each option is taken, what each set of counters provides, and which nodes are used."""

    def __init__(self, lp: Expression, number: int, shared: ByOption, demand: Sequence[int]) -> None:
        """Make the variables, and the rows of all resources."""
        super().__init__(lp, shared.site)
        self.shared, self.number, self.demand = shared, number, demand
        self.takes: dict[tuple[int, int], Expression] = {}
        stock, free = shared.stock, shared.stock.free[0]
        for part, uses in enumerate(stock.uses):
            wanted = demand[self.site.parts[part].pod]
            often = np.where(uses > 0, free // np.maximum(uses, 1), wanted).min(axis=1, initial=wanted)
            for option, most in enumerate(often.tolist()):
                if most:
                    self.takes[part, option] = self.integer(f"w_{number}_{part}_{option}", most)
        self.placed = [(self.site.parts[part], variable) for (part, _), variable in self.takes.items()]
        self.used = {node: self.integer(f"u_{number}_{at}", 1) for at, node in enumerate(shared.nodes)}
        self.provided = [
            [self.integer(f"s_{number}_{at}_{vector}", len(supply.sets)) for vector in range(len(supply.vectors))]
            for at, supply in enumerate(shared.supplies)
        ]
        self.rows: dict[int, dict[Expression, int]] = {at: {} for at in range(len(stock.keys))}
        for part, uses in enumerate(stock.uses):
            for option, resource in zip(*(at.tolist() for at in np.nonzero(uses)), strict=True):
                if (part, option) in self.takes:
                    self.rows[resource][self.takes[part, option]] = int(uses[option, resource])
        rows = [(variable, self._values(*one)) for one, variable in self.takes.items()]
        goals = len(rows[0][1]) if rows else 0
        self.values = [{variable: values[at] for variable, values in rows if values[at]} for at in range(goals)]
        self._keep(free.tolist())

    def _values(self, part: int, option: int) -> list[int]:
        values: list[int] = self.shared.stock.columns[part].values[option].tolist()
        return values

    def _keep(self, free: Sequence[int]) -> None:
        """Demand that no more is taken of a resource than there is, or than counters provide of it."""
        supplied: dict[int, dict[Expression, int]] = {}
        for at, (supply, mine) in enumerate(zip(self.shared.supplies, self.provided, strict=True)):
            self._add(dict.fromkeys(mine, 1), len(supply.sets), f"sets_{at}")
            for variable, vector in zip(mine, supply.vectors, strict=True):
                for kind, count in zip(supply.kinds, vector, strict=True):
                    of_kind = supplied.setdefault(kind, {})
                    if count:
                        of_kind[variable] = -count
        for at, (group, key) in enumerate(self.shared.stock.keys):
            more = supplied.get(group) if not key else None
            self._add({**self.rows[at], **(more or {})}, free[at] if more is None else 0, f"free_{at}")

    def _add(self, factors: Mapping[Expression, int], most: int, name: str) -> None:
        if factors:
            self.lp.addConstraint(pulp.LpAffineExpression(factors) <= most, f"shared_{self.number}_{name}")

    def count_nodes(self) -> None:
        """Allow pods only on nodes that are counted as used."""
        free = self.shared.stock.free[0].tolist()
        for at, node in self._of_node():
            if self.rows[at]:
                self._add({**self.rows[at], self.used[node]: -free[at]}, 0, f"node_free_{at}")
        parts: dict[int, dict[Expression, int]] = {}
        for (part, _), variable in self.takes.items():
            parts.setdefault(part, {})[variable] = 1
        for number, row in parts.items():
            one = self.site.parts[number]
            most = min(sum(int(variable.upBound) for variable in row), self.demand[one.pod])
            self._add({**row, self.used[one.node]: -most}, 0, f"node_part_{number}")

    def _of_node(self) -> Iterator[tuple[int, str]]:
        """Yield the resources that one node alone sees, with it."""
        node_of_ask = {ask: part.node for part in self.site.parts for ask in range(*part.asks)}
        for at, (group, _) in enumerate(self.shared.stock.keys):
            nodes = {node_of_ask[ask] for ask in self.site.problem.groups[group].asks} if group >= 0 else set()
            if len(nodes) == 1:
                yield at, nodes.pop()

    def read(self) -> SharedTaken:
        """Return what the variables take."""
        counts, values = [0] * len(self.site.parts), np.zeros(len(self.values), np.int64)
        takes: list[PodTakes] = []
        for (part, option), variable in self.takes.items():
            times = int(variable.varValue or 0)
            if times:
                counts[part] += times
                values += times * np.array(self._values(part, option), np.int64)
                takes += [self.shared.stock.columns[part].way(option)] * times
        provided = tuple(tuple(int(variable.varValue or 0) for variable in mine) for mine in self.provided)
        return self.summed(counts, values.tolist(), tuple(takes), provided)


def all_by_option_or_copy(
    fleet: FleetProblem, sites: Sequence[Site], order: Sequence[str], budget: Budget
) -> list[tuple[Site, SharedNodes | None]]:
    """Return sites of nodes that share devices with their problem, and as the master plans them at once.

    That is None where it is too large. `order` names the goals of devices. At a limit the sites that are left are not
    returned.
    """
    found: list[tuple[Site, SharedNodes | None]] = []
    for site in sites:
        if budget.reached:
            break
        looking = budget.part(budget.shares.first)
        seen = seen_together(fleet, site, looking)
        if seen is not None:
            found.append((seen, by_option_or_copy(seen, fleet.demand, order, looking)))
    return found


def by_option_or_copy(site: Site, demand: Sequence[int], order: Sequence[str], budget: Budget) -> SharedNodes | None:
    """Return nodes that share devices as one model has them; None where that would be too large, or time is up.

    With a variable for every way of a pod where all ways can be listed, else with as many pods as may stand there, each
    of which may stay away. `demand` are the replicas of each workload, `order` names the goals of devices.
    """
    found = by_option(site, order, budget)
    return by_copy(site, demand, order, budget) if found is None else found


def by_option(site: Site, order: Sequence[str], budget: Budget) -> ByOption | None:
    """Return nodes that share devices with all options of their pods; None if these cannot be listed, or time is over.

    `order` names the goals of devices.
    """
    problem, supplies = with_supplies(site.problem, site.parts, budget.sizes)
    if not is_listable(problem, site.parts):
        return None
    columns: list[Columns] = []
    known: dict[Hashable, Columns] = {}
    for part in site.parts:
        found = None if budget.reached else _options(problem, part, order, known, budget.sizes.pod_ways)
        if found is None:
            return None
        columns.append(found)
        if sum(len(mine.takes) for mine in columns) > budget.sizes.pod_ways:
            return None
    stock = Stock(problem, [NodeState(-1, tuple(group.size for group in problem.groups))], columns)
    if max(int(np.max(amounts, initial=0)) for amounts in (stock.free, *stock.uses)) > LARGEST:
        return None
    return ByOption(replace(site, make=lambda: problem), stock, supplies)


def _options(
    problem: AllocationProblem, part: CopyPart, order: Sequence[str], known: dict[Hashable, Columns], most: int
) -> Columns | None:
    """Return every way of one part, None where there are too many; parts on equal nodes are looked at once."""
    alone, numbers = _alone(problem, part)
    first = part.asks[0]
    # The asks of a pod are the same on every node, up to their names.
    asks = len(alone.asks)
    groups = tuple(changed(group, devices=()) for group in alone.groups)
    sizes = tuple(group.size for group in alone.groups)
    links = tuple((link.where, link.how, link.must, alone.covered(at)) for at, link in enumerate(alone.links))
    key = (alone.requests, links, groups, sizes, alone.impossible, alone.claims, part.pod)
    if key not in known:
        mine = CopyPart(part.pod, part.node, (0, asks), (0, len(alone.requests)), (0, len(alone.links)), part.paired)
        found = columns_of(alone, mine, order, most)
        if found is None:
            return None
        known[key] = found
    return replace(known[key], pairs=tuple((first + ask, numbers[group]) for ask, group in known[key].pairs))


def _alone(problem: AllocationProblem, part: CopyPart) -> tuple[AllocationProblem, tuple[int, ...]]:
    """Return the problem of one part as its node sees it, and the numbers that its groups have in the whole."""
    seen = problem.seen_from(part.node) if isinstance(problem, JointProblem) else problem.groups
    mine = range(*part.asks)
    groups = {
        number: changed(
            group,
            asks=tuple(ask - mine.start for ask in group.asks if ask in mine),
            places=group.places[slice(*part.links)],
            uses=tuple((ask - mine.start, uses) for ask, uses in group.uses if ask in mine),
        )
        for number, group in enumerate(seen)
        if any(ask in mine for ask in group.asks)
    }
    # On identical nodes they are in one order, whichever node saw the shared ones first.
    numbers = tuple(sorted(groups, key=lambda number: (repr(changed(groups[number], devices=())), groups[number].size)))
    alone = AllocationProblem(
        problem.node,
        problem.asks[mine.start : mine.stop],
        tuple(tuple(ask - mine.start for ask in row) for row in problem.requests[slice(*part.requests)]),
        problem.links[slice(*part.links)],
        tuple(groups[number] for number in numbers),
        frozenset(ask - mine.start for ask in problem.impossible if ask in mine),
        part.paired,
        problem.counters,
        tuple(problem.claim_of(ask) - problem.claim_of(mine.start) for ask in mine),
    )
    return alone, numbers
