"""One node state of a fleet of trees, as the master asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Packed, Takes, Values
from dra_lab.planner.fleet.pods import FleetProblem
from dra_lab.planner.fleet.shapes import Unit, Vector
from dra_lab.planner.fleet.sites import Site, plain_site
from dra_lab.planner.fleet.state_model import StateModel
from dra_lab.planner.fleet.tree_fill import GOALS_OF_TREES, SCARCITY, Fill, Price
from dra_lab.planner.fleet.tree_numbers import TreeNumbers, floors_of, summed, units_inside
from dra_lab.planner.fleet.tree_states import FleetTree, Groups, TreeState, tree_of
from dra_lab.planner.states.columns import PodTakes
from dra_lab.planner.states.node_state import NodeState

_PRICE = 1_000_000


@dataclass
class TreeTable:
    """Nodes of one state, with the groups behind its tree; `numbers` is what is known of this tree wherever it is."""

    site: Site
    tree: FleetTree
    groups: Groups
    numbers: TreeNumbers
    solver: str

    def found(self) -> dict[Counts, Values]:
        """Return the numbers of replicas for which a way was found, with its values."""
        return self.numbers.found

    def least(self) -> dict[Counts, Values] | None:
        """Return all numbers that may be held, with values that no way undercuts; None when they are too many."""
        return self.numbers.least(self.tree.most.numbers)

    def lower(self, counts: Counts) -> Values | None:
        """Return values that no way for some numbers undercuts, None where there is none."""
        return self.numbers.lower(counts)

    @property
    def caps(self) -> Counts:
        """Return the most replicas of each workload."""
        return self.numbers.most

    @property
    def rows(self) -> tuple[tuple[Counts, int], ...]:
        """Return rows that numbers of replicas keep, by what counting says."""
        return tuple(self.numbers.rows())

    @property
    def closed(self) -> bool:
        """Say whether everything that counting allows is known exactly."""
        return self.numbers.least(self.tree.most.numbers) == self.numbers.found

    def floors(self) -> tuple[Values | None, ...]:
        """Return, by workload, values each of which no way of a replica undercuts; None where none can stand."""
        return self.numbers.floors

    def is_open(self, counts: Counts) -> bool:
        """Say whether a better way for some numbers may exist than the one that was found."""
        return self.numbers.found.get(counts) != self.numbers.lower(counts)

    def decide(self, counts: Counts, budget: Budget) -> Packed:
        """Find the best way for some numbers, or what a limit leaves of it."""
        numbers = self.numbers
        lower, known = numbers.lower(counts), numbers.found.get(counts)
        if lower is None or lower == known or budget.reached:
            return Packed(lower, known)
        model = StateModel(numbers.fill, numbers.state, counts)
        found, recipe = model.solve(known, lower, self.solver, budget)
        numbers.learn(counts, found, recipe)
        return found

    def takes(self, counts: Counts) -> Takes:
        """Return the way that was found for some numbers, in groups of the layout."""
        state = self.site.state
        assert state is not None, "trees are made of known states"
        left, groups = list(state.free), self.tree.problems[state.layout].groups
        alone = any(numa.alone for numa in self.tree.numas[state.layout])
        found: list[PodTakes] = []
        for steps in self.numbers.steps(counts):
            mine: list[tuple[int, int, int]] = []
            for numa, root, ask, kind, wanted in steps:
                on_roots, in_pools = self.groups[numa]
                rest = wanted
                for group in (in_pools if root is None else on_roots[root])[kind]:
                    have = left[group]
                    part = rest if rest <= have or groups[group].shareable else have
                    if not part:
                        continue
                    left[group] = have - part
                    mine.append((ask, group, part))
                    rest -= part
                    if not rest:
                        break
            # Devices that are roots by themselves may be of one group; other groups are behind one root each.
            found.append(tuple(summed(mine) if alone else mine))
        return tuple(found)


def tree_tables(
    fleet: FleetProblem,
    order: tuple[str, ...],
    solver: str,
    budget: Budget,
) -> list[TreeTable] | None:
    """Return a table for every node state of a fleet, filled with pods; None if its nodes are no trees.

    After a share of the time, pods are only counted; states that are left when all of it is over have no table.
    """
    tree = tree_of(fleet) if set(order) <= GOALS_OF_TREES else None
    if tree is None:
        return None
    trees = _trees(fleet, tree, budget)
    members: dict[TreeState, list[tuple[Site, Groups]]] = {}
    for site, state, groups in trees:
        members.setdefault(state, []).append((site, groups))
    copies = {state: sum(len(site.members) for site, _ in mine) for state, mine in members.items()}
    fill, sparing = Fill(tree, order), Fill(tree, (SCARCITY, *order), _prices(tree, copies))
    floors = floors_of(tree, order, copies)
    known: dict[TreeState, TreeNumbers] = {}

    filling = budget.part(budget.shares.first)
    for found in sorted(copies, key=lambda found: (-copies[found], found)):
        if known and budget.reached:
            break
        known[found] = TreeNumbers(fill, sparing, found, fleet.demand, floors)
        if len(known) == 1 or not filling.reached:
            known[found].place(filling, first=True)
    # Once every state is counted, those without a plan come before further ways to fill the others.
    late = budget.part(budget.shares.step)
    for numbers in known.values():
        if not numbers.examined and not late.reached:
            numbers.place(late, first=True)
    filling = filling.before(budget.shares.choosing * len(known))
    for numbers in known.values():
        numbers.place(filling, first=False)
    return [TreeTable(site, tree, groups, known[state], solver) for site, state, groups in trees if state in known]


def _trees(fleet: FleetProblem, tree: FleetTree, budget: Budget) -> list[tuple[Site, TreeState, Groups]]:
    """Return the nodes in each state with their tree and the groups behind it, as many as there is time for."""
    identical: dict[NodeState, list[str]] = {}
    for node, state in fleet.survey.states.items():
        identical.setdefault(state, []).append(node)
    trees: list[tuple[Site, TreeState, Groups]] = []
    for state, nodes in identical.items():
        if trees and budget.reached:
            break
        trees.append((plain_site(fleet, state, nodes), *tree.state_and_groups(state)))
    return trees


def _prices(tree: FleetTree, copies: Mapping[TreeState, int]) -> tuple[Price, ...]:
    """Return the scarcity of each kind of unit: the fewer pods find theirs in the whole fleet, the more."""
    units: dict[Vector, Unit] = {}
    apart: set[Vector] = set()
    for shape in (shape for shapes in tree.shapes for shape in shapes):
        for number, unit in enumerate(shape.units):
            units[unit.root] = unit
            if any(one.on_root and one.weights[number] for one in shape.apart):
                apart.add(unit.root)
    priced = []
    for unit in (unit for root, unit in units.items() if any(root)):
        held = sum(times * units_inside(unit, numa) for state, times in copies.items() for numa in state)
        priced.append((unit, _PRICE * unit.count // max(1, held), unit.root in apart))
    return tuple(priced)
