"""The devices that pods take: the steps of a table led back to the groups of a node's hardware."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dra_lab.planner.node.allocation_problem import DeviceGroup
from dra_lab.planner.places.shapes import PodAsk
from dra_lab.planner.places.tables import PodTables, ShapeTables, Uses
from dra_lab.planner.places.trees import Place, Trees
from dra_lab.planner.states.node_state import NodeState, PodTakes


def take_pods(
    trees: Trees, node: NodeState, pods: Sequence[tuple[int, PodTables]], only: int = -1
) -> tuple[PodTakes, ...]:
    """Return what each pod takes that comes to a node, workload by workload; `pods` are (workload, tables) in order."""
    groups = trees.problems[node.layout].groups
    root, found = tree_of(trees, node, only), []
    for pod, tables in pods:
        best = tables.best(root.state)
        assert best is not None, "the pod was placed there"
        shape = tables.shapes[best[1]]
        mine: Counter[tuple[int, int]] = Counter()
        for slot, ask, group, count in _take(trees, shape, root, 0, len(shape.lattice.vectors) - 1):
            merged = shape.shape.slots[slot].merged
            mine[merged if ask < 0 else -1 - ask, group] += count
        found.append((pod, as_written(trees.asks[pod], mine, groups)))
    return tuple(takes for _, takes in sorted(found, key=lambda row: row[0]))


def as_written(ask: PodAsk, mine: Mapping[tuple[int, int], int], groups: tuple[DeviceGroup, ...]) -> PodTakes:
    """Return what a pod takes by the asks of the fleet; those of shared devices, with a sign, are known already."""
    shared = [(-1 - one, group, count) for (one, group), count in mine.items() if one < 0]
    merged = {key: count for key, count in mine.items() if key[0] >= 0}
    return tuple(sorted([*shared, *ask.written(merged, groups)]))


def _take(
    trees: Trees, shape: ShapeTables, place: Place, depth: int, position: int
) -> Iterator[tuple[int, int, int, int]]:
    """Take the devices of the best pod from a place; yield (slot, ask or -1, group, devices). States stay current."""
    after = shape.after(depth, place.state, position)
    if depth == trees.depth:
        yield from take_of_leaf(place, shape.table(depth, place.state).steps[position][0])
    else:
        used: set[int] = set()
        for child, column in list(shape.inside(depth, place.state, position)):
            one = next(inside for inside in place.children if inside.state == child and id(inside) not in used)
            used.add(id(one))
            yield from _take(trees, shape, one, depth + 1, column)
    place.state = after


def take_of_leaf(leaf: Place, uses: Uses) -> Iterator[tuple[int, int, int, int]]:
    """Take devices from a leaf; yield (slot, ask or -1, group, devices)."""
    for slot, move, count in uses:
        rest = count
        for entry in leaf.groups[move]:
            part = rest if entry[2] < 0 else min(rest, entry[2])
            if part:
                entry[2] -= part if entry[2] >= 0 else 0
                rest -= part
                yield slot, entry[1], entry[0], part


def tree_of(trees: Trees, node: NodeState, only: int = -1) -> Place:
    """Return the tree of a node, or that of one of its leaves alone."""
    root = trees.place(node)
    if only < 0:
        return root
    return [chain for chain in chains_of(root, trees.depth) if chain.state][only]


def chains_of(place: Place, depth: int) -> Iterator[Place]:
    """Yield the trees of each leaf alone."""
    if not depth:
        yield place
        return
    for child in place.children:
        for inside in chains_of(child, depth - 1):
            state = (int(place.known), (inside.state,)) if inside.state else ()
            yield Place(known=place.known, children=[inside], state=state)
