"""The devices of pods on nodes that share devices: which node takes which step, which provider gives which piece."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from graphlib import TopologicalSorter

from dra_lab.model.names import DeviceID
from dra_lab.planner.fleet.providers import NodeKind, SharedSet
from dra_lab.planner.fleet.shared_fill import Filled
from dra_lab.planner.fleet.shared_states import NodeKey, Piece, PodStep
from dra_lab.planner.fleet.sites import PodsOnNode, Site
from dra_lab.planner.places.all_ways import copy_of
from dra_lab.planner.places.hand_out import as_written
from dra_lab.planner.places.shapes import Vector
from dra_lab.planner.places.trees import Place, State, Trees

_Takes = Counter[tuple[int, int]]
"""Devices that a pod takes, by ask and group."""


def hand_out(trees: Trees, shared: SharedSet, filled: Filled) -> list[PodsOnNode]:
    """Return the pods on each node, with their devices."""
    found = _HandOut(trees, shared)
    found.on_nodes(filled)
    found.by_providers(filled)
    sites = {id(kind): kind.site(found.given) for kind in shared.kinds}
    return [found.on_node(node, rows, sites[id(found.kind_of[node])]) for node, rows in found.takes.items()]


class _HandOut:
    def __init__(self, trees: Trees, shared: SharedSet) -> None:
        self.trees, self.shared, self.pieces = trees, shared, shared.pieces
        self.takes: dict[str, list[tuple[int, _Takes]]] = defaultdict(list)
        self.given: dict[str, dict[int, list[DeviceID]]] = defaultdict(dict)
        self.kind_of = {node: kind for kind in shared.kinds for node in kind.nodes}
        self.waiting: dict[Piece, list[tuple[str, PodStep, int, _Takes]]] = defaultdict(list)
        self.group_of: dict[int, dict[DeviceID, int]] = {}

    def on_node(self, node: str, rows: list[tuple[int, _Takes]], site: Site) -> PodsOnNode:
        """Return the pods on a node."""
        counts, takes = [0] * len(self.trees.asks), []
        for pod, mine in sorted(rows, key=lambda row: row[0]):
            counts[pod] += 1
            takes.append(as_written(self.trees.asks[pod], mine, self.kind_of[node].problem.groups))
        at = {part.pod: count for part, count in zip(site.parts, counts, strict=True)}
        return PodsOnNode(site, node, tuple(at[part.pod] for part in site.parts), tuple(takes))

    def on_nodes(self, filled: Filled) -> None:
        """Let nodes take their own devices for the steps of pods."""
        there: dict[NodeKey, list[tuple[str, Place]]] = defaultdict(list)
        for key, kind in zip(self.shared.keys, self.shared.kinds, strict=True):
            there[key] += [(node, copy_of(kind.own)) for node in reversed(kind.nodes)]
        for step in _in_order(filled.steps):
            for _ in range(filled.steps[step]):
                # Nodes that have pods were added last.
                node, place = there[step.before].pop()
                self._take(node, place, step)
                there[step.after].append((node, place))

    def _take(self, node: str, place: Place, step: PodStep) -> None:
        mine = _Takes()
        if step.position:
            taken = step.ways.take(place, 0, step.position, step.after[1])
            for slot, ask, group, count in taken:
                mine[self._ask(step, slot, ask), group] += count
        self.takes[node].append((step.of[0], mine))
        for piece, position in step.pieces:
            self.waiting[piece].append((node, step, position, mine))

    def _ask(self, step: PodStep, slot: int, ask: int) -> int:
        pod, shape = step.of
        return self.trees.asks[pod].shapes[shape].slots[slot].merged if ask < 0 else -1 - ask

    def by_providers(self, filled: Filled) -> None:
        """Let providers give the pieces that pods wait for."""
        units: dict[tuple[int, State], list[tuple[NodeKind, Place]]] = defaultdict(list)
        for one in self.shared.providers:
            units[one.number, one.state] += [(one.kind, copy_of(place)) for place in one.places]
        left: dict[tuple[int, int], list[DeviceID]] = {}
        for (number, state, most), times in filled.given.items():
            for _ in range(times):
                kind, place = units[number, state].pop()
                wanted = tuple(min(count, len(self.waiting[number, piece])) for piece, count in enumerate(most))
                for piece, after in self._path(state, wanted):
                    node, pod, position, mine = self.waiting[number, piece].pop()
                    ways = self.pieces.ways[pod.of[0]][pod.of[1]]
                    for slot, ask, group, count in ways.take(place, 1, position, after):
                        able = left.setdefault((id(kind), group), list(kind.problem.groups[group].devices))
                        for _ in range(count):
                            device = able[0] if kind.problem.groups[group].shareable else able.pop()
                            self._give(node, device, self._ask(pod, slot, ask), mine)

    def _path(self, state: State, wanted: Vector) -> Iterator[tuple[int, State]]:
        """Yield piece after piece, and the state left, until a provider has given what is wanted."""
        rest = list(wanted)
        while any(rest):
            piece, after = next(
                (piece, after)
                for piece, some in self.pieces.given[state].items()
                if rest[piece]
                for after in some
                if self.pieces.has(after, tuple(n - (at == piece) for at, n in enumerate(rest)))
            )
            rest[piece] -= 1
            state = after
            yield piece, after

    def _give(self, node: str, device: DeviceID, ask: int, mine: _Takes) -> None:
        kind = self.kind_of[node]
        if id(kind) not in self.group_of:
            self.group_of[id(kind)] = {
                one: at for at, group in enumerate(kind.problem.groups) if kind.seen[at] for one in group.devices
            }
        group = self.group_of[id(kind)][device]
        mine[ask, group] += 1
        devices = self.given[node].setdefault(group, [])
        if device not in devices:
            devices.append(device)


def _in_order(steps: Counter[PodStep]) -> Iterator[PodStep]:
    """Yield steps so that those that lead to a state come first, then those that stay there, then those that leave."""
    following: dict[NodeKey, list[PodStep]] = defaultdict(list)
    before: dict[NodeKey, set[NodeKey]] = defaultdict(set)
    for step in steps:
        following[step.before].append(step)
        before[step.after] |= {step.before} - {step.after}
    for key in TopologicalSorter(before).static_order():
        yield from sorted(following[key], key=lambda step: step.before != step.after)
