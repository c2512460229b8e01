"""Nodes that share devices, taken apart: what each node has of its own, and the providers that several nodes see.

A *provider* is a part of the shared hardware that goals, links and counters count by itself: a device at an unknown
place, a place such as an NVLink island, a GPU with its counters, or a device that pods share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from msgspec.structs import replace as changed

from dra_lab.cel.matching import MATCH
from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.question import FleetProblem
from dra_lab.planner.fleet.shared_states import MOST_WAYS, NodeKey, Pieces, ways_of
from dra_lab.planner.fleet.sites import Site, alone_sites, parts_on
from dra_lab.planner.fleet.together import shared_print, table, table_devices
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node_classes import Layout, Print
from dra_lab.planner.places.fill import no_harm, pod_tables
from dra_lab.planner.places.hardware import is_nested, trees_over
from dra_lab.planner.places.shapes import Vector
from dra_lab.planner.places.tables import PodTables
from dra_lab.planner.places.trees import State, TreePlace, Trees
from dra_lab.planner.scan import coupled_devices, coupled_pools
from dra_lab.planner.states.node_state import NodeState

Seen = tuple[str, ...]
"""The nodes that see a shared device, sorted."""


@dataclass(frozen=True, eq=False)
class NodeKind:
    """Equal nodes that see the same shared devices: `own` is the tree of what each has by itself.

    `problem` is that of the first of them, with a group for devices that the same nodes see. `seen` says for each group
    which nodes that are, () for a node's own, and `origin` which group of the node's problem (`table`) it is a part of.
    """

    fleet: FleetProblem
    nodes: tuple[str, ...]
    problem: AllocationProblem
    seen: tuple[Seen, ...]
    origin: tuple[int, ...]
    own: TreePlace
    sees: tuple[Seen, ...]

    def site(self, given: Mapping[str, Mapping[int, list[DeviceID]]]) -> Site:
        """Return the nodes as a site on which pods take their own devices, and the shared ones that they are given."""
        return Site(
            self.nodes, parts_on(self.fleet, self.nodes[0]), lambda: self.problem, devices=partial(self._on, given)
        )

    def _on(self, given: Mapping[str, Mapping[int, list[DeviceID]]], node: str) -> dict[int, list[DeviceID]]:
        shared = coupled_devices(self.fleet.scan)
        own = {group for group, seen in enumerate(self.seen) if not seen}
        found = table_devices(self.fleet, node, sorted({self.origin[group] for group in own}))
        mine = {group: [one for one in found[self.origin[group]] if one not in shared] for group in own}
        return {**mine, **{group: list(devices) for group, devices in given.get(node, {}).items()}}


@dataclass(frozen=True)
class Providers:
    """Equal providers that the same nodes see; `places` have the groups of the problem of `kind` behind them.

    `number` is the position of these nodes in `SharedSet.seen`.
    """

    number: int
    state: State
    kind: NodeKind
    places: tuple[TreePlace, ...]


@dataclass(frozen=True)
class SharedSet:
    """A set of nodes that share devices: the kinds of its nodes, and its providers.

    `seen` are the nodes that see a provider, by its number; `pieces` are what providers give.
    """

    site: Site
    kinds: tuple[NodeKind, ...]
    providers: tuple[Providers, ...]
    seen: tuple[Seen, ...]
    pieces: Pieces

    @cached_property
    def units(self) -> Mapping[tuple[int, State], int]:
        """Return how many providers begin in each state."""
        found: Counter[tuple[int, State]] = Counter()
        for one in self.providers:
            found[one.number, one.state] += len(one.places)
        return found

    @cached_property
    def keys(self) -> tuple[NodeKey, ...]:
        """Return, kind by kind, what nodes see of others, and the state of their own devices."""
        able: dict[int, set[int]] = defaultdict(set)
        for number, state in self.units:
            able[number].update(piece for most in self.pieces.most[state] for piece, count in enumerate(most) if count)
        sees = [
            tuple((at, frozenset(able[at])) for at, seen in enumerate(self.seen) if seen in kind.sees)
            for kind in self.kinds
        ]
        return tuple((mine, kind.own.state) for mine, kind in zip(sees, self.kinds, strict=True))

    @cached_property
    def members(self) -> Mapping[NodeKey, int]:
        """Return how many nodes begin in each state."""
        found: Counter[NodeKey] = Counter()
        for key, kind in zip(self.keys, self.kinds, strict=True):
            found[key] += len(kind.nodes)
        return found

    @cached_property
    def vectors(self) -> list[tuple[int, State, Vector]]:
        """Return the maximal pieces, by kind, that providers in each state give."""
        return [(number, state, most) for number, state in self.units for most in self.pieces.most[state] if any(most)]


@dataclass(frozen=True)
class SharedHardware:
    """All sets of nodes that share devices; `tables` are those of each workload."""

    trees: Trees
    tables: Sequence[PodTables]
    pieces: Pieces
    sets: tuple[SharedSet, ...]


def shared_hardware(
    fleet: FleetProblem, sites: Sequence[Site], order: Sequence[str], budget: Budget
) -> tuple[SharedHardware | None, list[Site]]:
    """Return the sets of nodes that share devices in this form, and the sites of those that are not of this form.

    `order` names the goals of devices.
    """
    every = [_looked_at(fleet, site) for site in sites]
    numbers = {kind: -1 - number for number, kind in enumerate(kind for kinds in every for kind in kinds)}
    able = [all(_is_apart(fleet, kind) for kind in kinds) for kinds in every]
    fitting = [kind for kinds, fits in zip(every, able, strict=True) if fits for kind in kinds]
    layouts = {numbers[kind]: Layout(kind.problem, ()) for kind in fitting}
    wanted = [part for part in parts_on(fleet, "") if fleet.demand[part.pod]]
    trees = trees_over(layouts, wanted, len(fleet.pods)) if layouts else None
    if trees is None or any(fleet.scan.rules.asks[ask].all_devices for part in wanted for ask in range(*part.asks)):
        return None, list(sites)
    tables = pod_tables(trees, tuple(order), no_harm)
    apart = [_apart((trees, tables), kinds, numbers) if fits else None for kinds, fits in zip(every, able, strict=True)]
    states = {one.state for found in apart if found is not None for one in found[1]}
    pieces = Pieces(ways_of(tables, MOST_WAYS), tuple(order), fleet.sizes)
    pieces.look(sorted(states), budget.part(budget.shares.last))
    if not pieces.find():
        return None, list(sites)
    rows = list(zip(sites, apart, strict=True))
    sets = tuple(SharedSet(site, *found, pieces) for site, found in rows if found is not None)
    return SharedHardware(trees, tables, pieces, sets), [site for site, found in rows if found is None]


def _looked_at(fleet: FleetProblem, site: Site) -> list[NodeKind]:
    """Return the kinds of nodes of a set, without their trees."""
    sees: dict[str, list[Seen]] = defaultdict(list)
    mine = set(site.all_nodes)
    for seen in sorted({*coupled_devices(fleet.scan).values(), *coupled_pools(fleet.scan).values()}):
        if seen[0] in mine:
            for node in seen:
                sees[node].append(seen)
    alike: dict[tuple[Seen, ...], list[str]] = defaultdict(list)
    for node in site.all_nodes:
        alike[tuple(sees[node])].append(node)
    found = []
    for every, nodes in alike.items():
        mixed = _takes_both(fleet, nodes)
        for one in alone_sites(fleet, nodes):
            equal: dict[Print | None, list[str]] = defaultdict(list)
            for node in one.members:
                equal[shared_print(fleet, node) if mixed else None].append(node)
            for members in equal.values():
                problem, where, origin = _split(fleet, table(fleet, members[0]))
                found.append(NodeKind(fleet, tuple(members), problem, where, origin, TreePlace(), every))
    return found


def _takes_both(fleet: FleetProblem, nodes: Sequence[str]) -> bool:
    """Say whether a request may take a node's own devices and shared ones; else what they serve tells them apart.

    The nodes see the same shared devices. So it is enough to look at one of those on which devices serve the same.
    """
    scan, shared = fleet.scan, coupled_devices(fleet.scan)
    alike = {tuple(scan.views.answers(ask, node).by_node[node] for ask in scan.rules.asks): node for node in nodes}
    for node in alike.values():
        devices = scan.views.view(node).devices
        for ask in scan.rules.asks:
            stages = zip(devices, scan.views.stages(ask, node), strict=True)
            if len({item.id in shared for item, stage in stages if stage == MATCH}) > 1:
                return True
    return False


def _split(
    fleet: FleetProblem, problem: AllocationProblem
) -> tuple[AllocationProblem, tuple[Seen, ...], tuple[int, ...]]:
    """Return a problem with groups by the nodes that see their devices, these nodes, and the groups before."""
    shared = coupled_devices(fleet.scan)
    groups: list[DeviceGroup] = []
    where: list[Seen] = []
    origin: list[int] = []
    for number, group in enumerate(problem.groups):
        parts: dict[Seen, list[DeviceID]] = defaultdict(list)
        for device in group.devices:
            parts[shared.get(device, ())].append(device)
        for seen, devices in parts.items():
            groups.append(changed(group, devices=tuple(devices)))
            where.append(seen)
            origin.append(number)
    return changed(problem, groups=tuple(groups)), tuple(where), tuple(origin)


def _is_apart(fleet: FleetProblem, kind: NodeKind) -> bool:
    """Say whether hardware is a tree of places, and the same nodes see all devices that draw on the same counters."""
    pools = coupled_pools(fleet.scan)
    return is_nested(kind.problem, parts_on(fleet, "")) and all(
        pools.get(device[:2], seen) == seen
        for group, seen in zip(kind.problem.groups, kind.seen, strict=True)
        if group.draws
        for device in group.devices[:1]
    )


def _apart(
    hardware: tuple[Trees, Sequence[PodTables]], kinds: Sequence[NodeKind], numbers: Mapping[NodeKind, int]
) -> tuple[tuple[NodeKind, ...], tuple[Providers, ...], tuple[Seen, ...]] | None:
    """Return the kinds of nodes with their trees, the providers, and by which nodes these are seen.

    None where a place has devices of both.
    """
    found: list[NodeKind] = []
    providers: dict[Seen, dict[State, tuple[NodeKind, list[TreePlace]]]] = {}
    for kind in kinds:
        splitter = _Splitter(*hardware, kind)
        root = splitter.trees.place(NodeState(numbers[kind], tuple(group.size for group in kind.problem.groups)))
        own: list[TreePlace] = []
        mine: dict[Seen, dict[State, list[TreePlace]]] = {seen: {} for seen in kind.sees}
        for place in (part for child in root.children if child.state for part in splitter.parts(child, 1)):
            where = {kind.seen[group] for group in _groups(place)}
            if len(where) > 1:
                return None
            for seen in where - {()}:
                mine.setdefault(seen, {}).setdefault(place.state, []).append(place)
            own += [place] if where == {()} else []
        state = (1, tuple(sorted(place.state for place in own))) if own else ()
        found.append(replace(kind, own=TreePlace(children=own, state=state)))
        for seen, places in mine.items():
            known = providers.setdefault(seen, {state: (found[-1], some) for state, some in places.items()})
            if {s: len(some) for s, (_, some) in known.items()} != {s: len(some) for s, some in places.items()}:
                return None
    rows = [
        Providers(number, state, kind, tuple(places))
        for number, mine in enumerate(providers.values())
        for state, (kind, places) in mine.items()
    ]
    return tuple(found), tuple(rows), tuple(providers)


@dataclass
class _Splitter:
    """Takes the tree of a node apart."""

    trees: Trees
    pods: Sequence[PodTables]
    kind: NodeKind

    def parts(self, place: TreePlace, depth: int) -> Iterator[TreePlace]:
        """Yield the parts of a place that goals and links count apart, shared devices one by one where they can be."""
        if not self._is_sum(place, depth) or (depth == self.trees.depth and place.type):
            yield place
        elif depth == self.trees.depth:
            for move, entries in place.groups.items():
                for group, _, count in entries:
                    each = count if not self.kind.seen[group] else 1
                    for _ in range(0, count, each):
                        yield self._leaf(place, move, group, each)
        else:
            for inside in (part for child in place.children if child.state for part in self.parts(child, depth + 1)):
                if inside.state:
                    yield TreePlace(known=place.known, children=[inside], state=(int(place.known), (inside.state,)))

    def _leaf(self, place: TreePlace, move: int, group: int, count: int) -> TreePlace:
        amounts = [count if at == move else 0 for at in range(len(place.amounts))]
        state = self.trees.leaf_state(int(place.known), 0, tuple(amounts))
        return TreePlace(place.known, amounts=amounts, groups={move: [[group, -1, count]]}, state=state)

    def _is_sum(self, place: TreePlace, depth: int) -> bool:
        """Say whether what a place costs and allows is the sum of what its parts do, for all that it can give."""
        streams = set(self._streams(place, depth))
        for pod in self.pods:
            for shape in pod.shapes:
                slots = frozenset(slot for slot in range(len(shape.need)) if shape.start + slot in streams)
                if not shape.is_sum(depth, int(place.known), slots):
                    return False
        return True

    def _streams(self, place: TreePlace, depth: int) -> Iterator[int]:
        """Yield the streams that devices of a place serve."""
        if depth == self.trees.depth:
            for move in place.groups:
                yield from (at for at, rank in enumerate(self.trees.types[place.type].moves[move].ranks) if rank >= 0)
        for child in place.children:
            yield from self._streams(child, depth + 1)


def _groups(place: TreePlace) -> Iterator[int]:
    yield from (entry[0] for entries in place.groups.values() for entry in entries)
    for child in place.children:
        yield from _groups(child)
