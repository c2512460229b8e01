"""Nodes that share devices or counters: one problem for all of them, in which a device that several see is one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

from msgspec.structs import replace as changed

from dra_lab.errors import UnsupportedFeature
from dra_lab.index.node_index import shape_key
from dra_lab.index.pools import Pool, Tie, pool_of_devices, pools_of
from dra_lab.model.names import DeviceID
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.question import FleetProblem
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup
from dra_lab.planner.node.copies import CopyPart, JointProblem, Where
from dra_lab.planner.node.device_tests import CounterBooks, counter_books
from dra_lab.planner.node.eligible import is_shareable
from dra_lab.planner.node_classes import Print, canonical
from dra_lab.planner.scan import coupled_devices, coupled_pools

_SETS = "sets"


def shared_nodes(fleet: FleetProblem) -> tuple[tuple[str, ...], ...]:
    """Return the sorted, disjoint sets of nodes between which pods may take each other's devices or counters."""
    root: dict[str, str] = {}

    def find(name: str) -> str:
        while root.setdefault(name, name) != name:
            name = root[name]
        return name

    for nodes in {*coupled_devices(fleet.scan).values(), *coupled_pools(fleet.scan).values()}:
        for node in nodes[1:]:
            root[find(node)] = find(nodes[0])
    found: dict[str, list[str]] = {}
    for node in sorted(root):
        found.setdefault(find(node), []).append(node)
    return tuple(tuple(nodes) for nodes in found.values())


@dataclass(frozen=True)
class _Seen:
    """A device as the nodes see it: by position of the node, the group of that node's problem that it is in."""

    device: DeviceID
    groups: tuple[tuple[int, DeviceGroup], ...]


def joint(fleet: FleetProblem, nodes: Sequence[str], budget: Budget | None = None) -> AllocationProblem | None:
    """Return one problem for nodes, with the asks of all pods once for each node (`joint_parts`).

    None where a limit is reached before all nodes were looked at. Raises UnsupportedFeature where nodes do not agree on
    the order of devices where it decides.
    """
    problems: list[AllocationProblem] = []
    for node in nodes:
        if budget is not None and budget.reached:
            return None
        problems.append(table(fleet, node))
    first = problems[0]
    asks, claims = len(first.asks), max(first.claims, default=0) + 1
    books = _books(fleet, nodes)
    groups = _groups(problems, books)
    return JointProblem(
        nodes[0],
        tuple(
            changed(ask, reference=f"{k}~{ask.reference}") for k, problem in enumerate(problems) for ask in problem.asks
        ),
        tuple(tuple(k * asks + at for at in row) for k, problem in enumerate(problems) for row in problem.requests),
        tuple(
            changed(link, name=f"{k}~{link.name}", requests=tuple(f"{k}~{name}" for name in link.requests))
            for k, problem in enumerate(problems)
            for link in problem.links
        ),
        tuple(group for group, _ in groups),
        frozenset(k * asks + at for k, problem in enumerate(problems) for at in problem.impossible),
        first.paired,
        tuple(sorted(books.left.items())),
        tuple(k * claims + problem.claim_of(at) for k, problem in enumerate(problems) for at in range(asks)),
        nodes=tuple(nodes),
        wheres=tuple(where for _, where in groups),
    )


def table(fleet: FleetProblem, node: str) -> AllocationProblem:
    """Return a node's problem with its groups in the order of their fingerprint, made once for all equal nodes.

    With a thousand devices that all nodes see, each takes a tenth of a second to make.
    """
    problem = _of_equal_node(fleet, node)[0]
    own = table_devices(fleet, node, range(len(problem.groups)))
    groups = tuple([changed(group, devices=tuple(own[at])) for at, group in enumerate(problem.groups)])
    return changed(problem, node=node, groups=groups)


def table_devices(fleet: FleetProblem, node: str, groups: Iterable[int]) -> dict[int, list[DeviceID]]:
    """Return the devices of some groups of a node's problem (`table`), without making it."""
    positions, devices = _of_equal_node(fleet, node)[1], fleet.scan.views.view(node).devices
    return {group: [devices[at].id for at in positions[group]] for group in groups}


def shared_print(fleet: FleetProblem, node: str) -> Print:
    """Return a fingerprint that nodes have in common if they are equal and share equal devices with the same nodes."""
    return _of_equal_node(fleet, node)[2]


def _of_equal_node(fleet: FleetProblem, node: str) -> tuple[AllocationProblem, tuple[tuple[int, ...], ...], Print]:
    """Return the problem of an equal node, the positions of the devices of its groups, and `shared_print`.

    Nodes are equal if their devices are, position by position, free or in use alike, and shared with the same nodes.
    """
    scan = fleet.scan
    wheres = tuple(dict.fromkeys(link.where for link in scan.sketch.links if not link.is_level))
    shape = shape_key(scan.views, node, scan.rules.asks, wheres)
    sees = _shared_sets(fleet)[1].get(node, ())
    key = shape, scan.views.held_on(node, scan.rules.allocated), scan.left_key(node), sees
    problems = fleet.survey.problems
    if key not in problems:
        problem, found = _in_its_order(fleet, node)
        at = {item.id: position for position, item in enumerate(scan.views.view(node).devices)}
        positions = tuple(tuple([at[device] for device in group.devices]) for group in problem.groups)
        problems[key] = (problem, positions, found)
    return problems[key]


def _shared_sets(fleet: FleetProblem) -> tuple[Mapping[DeviceID, int], Mapping[str, tuple[int, ...]]]:
    """Return a number for the nodes that see each shared device, and the numbers of those that each node belongs to."""
    known = fleet.scan.coupled
    if _SETS not in known:
        numbers: dict[int, int] = {}
        of_device: dict[DeviceID, int] = {}
        of_node: dict[str, list[int]] = {}
        for device, nodes in coupled_devices(fleet.scan).items():
            # devices that the same nodes see have one tuple of them
            number = numbers.get(id(nodes))
            if number is None:
                number = numbers[id(nodes)] = len(numbers)
                for node in nodes:
                    of_node.setdefault(node, []).append(number)
            of_device[device] = number
        known[_SETS] = of_device, {node: tuple(mine) for node, mine in of_node.items()}
    found: tuple[Mapping[DeviceID, int], Mapping[str, tuple[int, ...]]] = known[_SETS]
    return found


def _in_its_order(fleet: FleetProblem, node: str) -> tuple[AllocationProblem, Print]:
    """Return a node's problem in the order of its fingerprint, and that; devices that an ask may look into are apart.

    Shared devices are not equal to a node's own in it. If the order of devices counts (Tie.TERMS), it stands in the
    fingerprint, and groups stay in it.
    """
    problem = fleet.scan.problem(node)
    groups: list[DeviceGroup] = []
    for group in problem.groups:
        inspected = any(problem.asks[ask].admin_access for ask in group.asks)
        each = [(device,) for device in group.devices] if inspected else [group.devices]
        groups += [changed(group, devices=devices) for devices in each]
    problem = changed(problem, groups=tuple(groups))
    sets = _shared_sets(fleet)[0]
    shared = [sorted(Counter(sets.get(device, -1) for device in group.devices).items()) for group in problem.groups]
    rows = zip(problem.groups, shared, strict=True)
    marked = changed(problem, groups=tuple(changed(group, kind=f"{group.kind} {mine}") for group, mine in rows))
    found, order = canonical(marked, fleet.scan.rules.replicas)
    if any(group.tie is Tie.TERMS for group in problem.groups):
        order = tuple(sorted(order))
    return changed(problem, groups=tuple(problem.groups[at] for at in order)), Print(found)


def joint_parts(fleet: FleetProblem, position: int, node: str) -> tuple[CopyPart, ...]:
    """Return the kinds of pods on one node of several, which has a position among them."""
    last = fleet.pods[-1]

    def moved(ends: tuple[int, int], size: int) -> tuple[int, int]:
        return ends[0] + position * size, ends[1] + position * size

    return tuple(
        CopyPart(
            number,
            node,
            moved(pod.asks, last.asks[1]),
            moved(pod.requests, last.requests[1]),
            moved(pod.links, last.links[1]),
            pod.paired,
        )
        for number, pod in enumerate(fleet.pods)
    )


def _books(fleet: FleetProblem, nodes: Sequence[str]) -> CounterBooks:
    """Return the counters of all pools that the nodes see, each pool once."""
    rules = fleet.scan.rules
    pools: dict[tuple[str, str], Pool] = {}
    for pool in (pool for node in nodes for pool in pools_of(rules.cluster, node, rules.gates)):
        known = pools.get((pool.driver, pool.name))
        # nodes that see the same of a pool have it as one object
        pools[pool.driver, pool.name] = pool if known is None or known is pool else _merged(known, pool)
    shared = frozenset(
        item.id
        for pool in pools.values()
        for item in pool.devices
        if item.id in rules.allocated.shares and is_shareable(item.device, rules)
    )
    every = tuple(pools[key] for key in sorted(pools))
    claims, skip = rules.claims * rules.replicas, rules.gates.skip_groups
    return counter_books(rules.cluster, every, rules.allocated, shared, claims, skip_groups=skip)


def _merged(one: Pool, other: Pool) -> Pool:
    """Return a pool as two nodes see it together."""
    devices = {item.id: item for item in one.devices}
    for item in other.devices:
        known = devices.setdefault(item.id, item)
        if item.on_node and not known.on_node:
            devices[item.id] = item
    sets = {found.name: found for found in (*other.counter_sets, *one.counter_sets)}
    return pool_of_devices(one.driver, one.name, one.generation, tuple(devices.values()), tuple(sets.values()))


def _groups(problems: Sequence[AllocationProblem], books: CounterBooks) -> tuple[tuple[DeviceGroup, Where], ...]:
    tied = any(group.tie is Tie.TERMS for problem in problems for group in problem.groups)
    identical: dict[object, tuple[DeviceGroup, Where]] = {}
    for seen in _in_order(problems, tied=tied):
        group = _group(problems, seen, books)
        inspected = any(problems[k].asks[ask].admin_access for k, own in seen.groups for ask in own.asks)
        alone = tied or inspected or group.shareable or seen.device in books.coarse
        where = tuple((k, own.kind, own.numa, own.root) for k, own in seen.groups)
        key = (changed(group, devices=()), where, seen.device if alone else None)
        known = identical.get(key)
        if known is not None:
            group = changed(known[0], devices=(*known[0].devices, seen.device))
        identical[key] = (group, where)
    return tuple(identical.values())


def _group(problems: Sequence[AllocationProblem], seen: _Seen, books: CounterBooks) -> DeviceGroup:
    """Return the group of one device, as all nodes see it."""
    asks, links = len(problems[0].asks), len(problems[0].links)
    mine = dict(seen.groups)
    one = seen.groups[0][1]
    return DeviceGroup(
        (seen.device,),
        tuple(k * asks + ask for k, group in mine.items() for ask in group.asks),
        tuple(value for k in range(len(problems)) for value in (mine[k].places if k in mine else ((),) * links)),
        one.kind,
        one.numa,
        one.root,
        one.shareable,
        one.remaining,
        tuple((k * asks + ask, uses) for k, group in mine.items() for ask, uses in group.uses),
        books.draws.get(seen.device, ()),
        max(group.tie for group in mine.values()),
    )


def _in_order(problems: Sequence[AllocationProblem], *, tied: bool) -> Iterator[_Seen]:
    """Yield every device that some ask of some node may take; where order decides, as every node has it."""
    seen: dict[DeviceID, list[tuple[int, DeviceGroup]]] = {}
    for k, problem in enumerate(problems):
        for group in problem.groups:
            for device in group.devices:
                seen.setdefault(device, []).append((k, group))
    order = _agreed(problems) if tied else seen
    for device in order:
        yield _Seen(device, tuple(seen[device]))


def _agreed(problems: Sequence[AllocationProblem]) -> Sequence[DeviceID]:
    before: dict[DeviceID, dict[DeviceID, None]] = {}
    for problem in problems:
        devices = [device for group in problem.groups for device in group.devices]
        for device in devices:
            before.setdefault(device, {})
        if any(group.tie is Tie.TERMS for group in problem.groups):
            for early, late in pairwise(devices):
                before[late][early] = None
    try:
        return tuple(TopologicalSorter(before).static_order())
    except CycleError as error:
        raise UnsupportedFeature(
            "nodeSelector",
            "nodes that share devices whose node selector has several terms have them in different orders; "
            "add a selector that leaves such devices out",
        ) from error
