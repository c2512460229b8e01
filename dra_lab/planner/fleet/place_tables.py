"""The tables of all node states of a fleet whose nodes are trees of places, filled with pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import mul

from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.pack import Values, device_goals
from dra_lab.planner.fleet.place_table import PlaceStates, PlaceTable
from dra_lab.planner.fleet.question import Work
from dra_lab.planner.fleet.sites import Site, parts_on
from dra_lab.planner.node_classes import Layout
from dra_lab.planner.places.below import Below
from dra_lab.planner.places.counting import Counting
from dra_lab.planner.places.fill import Filler, Wanted, filler_of, orders_of
from dra_lab.planner.places.hand_out import chains_of
from dra_lab.planner.places.hardware import is_nested, trees_over
from dra_lab.planner.places.levels import DEVICE
from dra_lab.planner.places.trees import State, Trees
from dra_lab.planner.states.node_state import NodeState

GOALS_OF_PLACES = frozenset(("alternatives", "preferences", "numa", "unpaired", "roots"))
"""The goals of devices that are counted on places."""


@dataclass
class PlacedPods:
    """The tables of some sites, and the best plan that filling found: how many nodes of each state hold which pods.

    `rest` are the sites that are not trees of places.
    """

    tables: list[PlaceTable] = field(default_factory=list)
    filled: Counter[tuple[State, Counts]] = field(default_factory=Counter)
    rest: list[Site] = field(default_factory=list)

    def placed(self) -> Iterator[tuple[PlaceTable, str, Counts]]:
        """Yield the table, member and numbers of pods of each node of the plan."""
        left: dict[State, list[Counts]] = {}
        for (state, counts), times in self.filled.items():
            left.setdefault(state, []).extend([counts] * times)
        for table in self.tables:
            mine = left.get(table.state, [])
            for member in table.site.members:
                if mine:
                    yield table, member, mine.pop()


def place_tables(work: Work, sites: Sequence[Site], *, whole: bool = False) -> PlacedPods:
    """Return a table for every node state, filled with pods, and the sites that are not of this form.

    After a share of the time, pods are only counted; sites that are left when all of it is over have no table. With
    `whole`, the members are whole nodes, and nothing is filled yet.
    """
    fleet, order, budget = work.question.fleet, device_goals(work.question.order), work.budget
    nodes = []
    for number, site in enumerate(sites):
        # A node whose state is not known offers all of its problem.
        layout = Layout(site.problem, ()) if site.state is None else fleet.scan.layouts[site.state.layout]
        nodes.append((site.state or NodeState(-1 - number, layout.sizes), layout))
    layouts = {node.layout: layout for node, layout in nodes}
    regular = {number: layout for number, layout in layouts.items() if is_nested(layout.problem)}
    wanted = [part for part in parts_on(fleet, "") if fleet.demand[part.pod]]
    trees = trees_over(regular, wanted, len(fleet.pods)) if set(order) <= GOALS_OF_PLACES else None
    if trees is None:
        return PlacedPods(rest=list(sites))
    rest = [site for site, (node, _) in zip(sites, nodes, strict=True) if node.layout not in regular]
    able = [(site, node) for site, (node, _) in zip(sites, nodes, strict=True) if node.layout in regular]
    members = _members(trees, able, budget.part(budget.shares.step), whole=whole)
    many: Counter[State] = Counter()
    for site, _, _, state, _ in members:
        if state:
            many[state] += len(site.members)
    filler = filler_of(trees, order, many)
    filling = budget.part(budget.shares.first)
    filled = Counter[tuple[State, Counts]]() if whole else _filled(filler, work, many, filling)
    counting = Counting(trees, lambda: filling.reached)
    states = PlaceStates(filler, counting, Below(counting), fleet.demand, budget.sizes.numbers)
    tables = [
        PlaceTable(site, whole, node, state, states, only, work.solver) for site, whole, node, state, only in members
    ]
    return PlacedPods(tables, filled, rest)


def _filled(filler: Filler, work: Work, many: Mapping[State, int], budget: Budget) -> Counter[tuple[State, Counts]]:
    """Return the best plan of all ways and orders of filling that there is time for."""
    wanted = Wanted(work.question.demand, work.question.fleet.demand)
    most = sum(map(mul, wanted.demand, work.question.worths))
    best: Counter[tuple[State, Counts]] = Counter()
    least: tuple[int, Values] | None = None
    for pods in orders_of(len(wanted.demand)):
        for way in range(len(filler.ways)):
            # What is placed completely with the goals first is not placed better.
            done = least is not None and -least[0] == most
            if least is not None and (budget.reached or (way and done)):
                continue
            # The first plan has all the time: what comes after it only improves or proves it.
            found = filler.fill(way, pods, wanted, many, work.budget if least is None else budget)
            value = _value(filler, found, work.question.worths)
            if least is None or value < least:
                best, least = found, value
    return best


def _value(filler: Filler, found: Mapping[tuple[State, Counts], int], worth: Sequence[int]) -> tuple[int, Values]:
    placed = sum(sum(map(mul, counts, worth)) * times for (_, counts), times in found.items())
    rows = [
        [value * times for value in filler.columns[state][counts].values] for (state, counts), times in found.items()
    ]
    return -placed, tuple(map(sum, zip(*rows, strict=True)))


_Member = tuple[Site, Site, NodeState, State, int]
"""Members of one state, the site that they are of, what its nodes offer, the state, and which leaf it is."""


def _members(trees: Trees, able: Sequence[tuple[Site, NodeState]], budget: Budget, *, whole: bool) -> list[_Member]:
    """Return sites with their state, as many as there is time for.

    If every pod takes one device, they are leaves, unless nodes are wanted `whole`.
    """
    alone = (
        not whole
        and trees.levels.where[-1] == DEVICE
        and all(sum(s.need) == 1 for ask in trees.asks for s in ask.shapes)
    )
    found: list[_Member] = []
    for site, node in able:
        if found and budget.reached:
            break
        root = trees.place(node)
        if not alone:
            found.append((site, site, node, root.state, -1))
            continue
        chains = [chain.state for chain in chains_of(root, trees.depth) if chain.state]
        for only, state in enumerate(chains):
            home = {f"{member} {only}": member for member in site.members}
            found.append((replace(site, members=tuple(home), home_nodes=home), site, node, state, only))
        if not chains:
            found.append((site, site, node, (), -1))
    return found
