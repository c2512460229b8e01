"""Look at every node once: what is eligible there, which nodes are equal for the claim, and what nodes share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.index.in_use import Counter
from dra_lab.index.node_index import Failure, NodeIndex, node_index, shape_key
from dra_lab.index.pools import Pool, PoolDevice
from dra_lab.model.claims import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.placement import Placement
from dra_lab.model.quantity import format_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import AllocationProblem, Taken, build_problem
from dra_lab.planner.node.eligible import NodeEligibility, Rules, eligibility, refuse_devices
from dra_lab.planner.node_classes import Layout, Print, canonical, layout_of, thinned
from dra_lab.scheduler.counters import counters_left
from dra_lab.topology.locality import kinds, localities

Kind = tuple[int, ...]
"""A kind of hardware: nodes of one kind have identical devices in one order, apart from what is in use."""

Amounts = tuple[tuple[str, Fraction], ...]
"""Amounts of a shared device by the name of the capacity, sorted."""


class EqualNodes(Struct, frozen=True):
    """Nodes that are equal for the claim, sorted; the first one stands for all.

    `now` and `idle` are what it is for the claim as it is and as if nothing were in use (None: not needed).
    """

    nodes: tuple[str, ...]
    now: Hashable
    idle: Hashable = None


class Scan(Struct):
    """What looking at the nodes found.

    `shapes` are the nodes by hardware, and `kind_of` is the hardware of each node that was looked at. `unseen` are the
    nodes that there was no time for. `matched` counts the devices that match each ask, and `paired` says whether the
    claim requests both GPUs and NICs. `classes` are the nodes that are equal for the claim, in the order of their first
    nodes, and `layouts` the kinds of hardware by number (`survey`). `coupled` remembers what nodes have in common
    (`coupled_devices`), and `counted` what is left of the counters of a pool, by its place in memory. `shares` is what
    is taken and left of a shared group, by layout, group, and where the first is in memory.
    """

    rules: Rules
    views: NodeIndex
    paired: bool = False
    shapes: dict[Kind, list[str]] = field(default_factory=dict)
    kind_of: dict[str, Kind] = field(default_factory=dict)
    matched: dict[str, int] = field(default_factory=dict)
    unseen: tuple[str, ...] = ()
    classes: tuple[EqualNodes, ...] = ()
    layouts: dict[int, Layout] = field(default_factory=dict)
    coupled: dict[Hashable, Any] = field(default_factory=dict)
    counted: dict[int, tuple[Pool, tuple[tuple[tuple[str, str], int], ...]]] = field(default_factory=dict)
    shares: dict[Hashable, tuple[Amounts, Amounts]] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Say whether there was time for every node."""
        return not self.unseen

    @property
    def seen(self) -> Collection[str]:
        """Return the nodes that were looked at."""
        return self.kind_of.keys()

    @property
    def cluster(self) -> Cluster:
        """Return the cluster."""
        return self.rules.cluster

    @property
    def excluded(self) -> tuple[str, ...]:
        """Return the nodes of the cluster that are not examined."""
        wanted = set(self.rules.nodes)
        return tuple(name for name in self.cluster.node_names if name not in wanted)

    @property
    def sketch(self) -> ClaimSketch:
        """Return the drawing, expanded."""
        return self.rules.sketch

    @property
    def release(self) -> KubernetesRelease:
        """Return the target release."""
        return self.rules.release

    def problem(self, node_name: str, *, idle: bool = False) -> AllocationProblem:
        """Return a node's problem, now or as if nothing were in use."""
        return self.build(eligibility(replace(self.rules, idle=idle), node_name))

    def devices(self, node_name: str) -> Mapping[DeviceID, Device]:
        """Return every device that a node sees."""
        return {item.id: item.device for item in self.views.view(node_name).devices}

    def placements(self, node_name: str, taken: Taken) -> tuple[Placement, ...]:
        """Return the devices taken on a node, in the claim's order, for the requests of the expanded drawing."""
        found = eligibility(self.rules, node_name)
        return tuple(
            Placement(
                found.asks[ask].ask.reference,
                device,
                consumed={k: format_quantity(v) for k, v in sorted(found.asks[ask].uses.get(device, {}).items())},
            )
            for ask, device in taken
        )

    def left_on(self, node_name: str) -> dict[Counter, int]:
        """Return what is left of every counter of a node's pools, in 1/NANO (docs/semantics.md 3.10.1 to 3.10.3)."""
        pools = enumerate(self.views.view(node_name).counted)
        return {(position, *counter): left for position, pool in pools for counter, left in self._left_of(pool)}

    def left_key(self, node_name: str) -> Hashable:
        """Return what is left of the counters of a node's pools as one value."""
        return tuple([self._left_of(pool) for pool in self.views.view(node_name).counted])

    def _left_of(self, pool: Pool) -> tuple[tuple[tuple[str, str], int], ...]:
        # with the pool, so that its place in memory is not used again: many nodes see the same pools
        known = self.counted.get(id(pool))
        if known is None:
            left = counters_left(self.cluster, pool, self.rules.allocated)
            known = self.counted[id(pool)] = (pool, tuple(sorted(left.items())))
        return known[1]

    def kinds_matched(self, ask: Ask, node_name: str) -> list[str]:
        """Return the kind of each device of a node that matches an ask."""
        kind_of = kinds(self.cluster, node_name)
        devices, stages = self.views.view(node_name).devices, self.views.stages(ask, node_name)
        return [kind_of[item.id] for item, stage in zip(devices, stages, strict=True) if stage == "match"]

    def count_matching(self) -> None:
        """Note how many devices match each ask, and whether the claim's asks match both GPUs and NICs somewhere."""
        kinds: set[str] = set()
        for one in self.rules.selecting:
            count = 0
            for names in self.shapes.values():
                found = self.views.stages(one, names[0]).count("match")
                count += found * len(names)
                if found and not kinds >= {"gpu", "nic"}:
                    kinds.update(self.kinds_matched(one, names[0]))
            same = (one.device_class_name, one.selectors)
            asks = (ask for ask in self.rules.asks if (ask.device_class_name, ask.selectors) == same)
            self.matched |= {ask.reference: count for ask in asks}
        self.paired = kinds >= {"gpu", "nic"}

    def note_unseen(self, seen: Collection[str]) -> None:
        """Note the nodes that there was no time for."""
        self.unseen = tuple(name for name in self.rules.nodes if name not in seen)

    def shared_look(self, node_name: str) -> tuple[Hashable, Rules, Collection[int]]:
        """Return a key that nodes have in common if one look serves them, its rules, and which devices it has too many.

        Devices that claims hold alone are only missing, so nodes with the same shares are looked at once. With All,
        admin access or counters, a device in use does more than to be missing.
        """
        rules, kind, held = self.rules, self.kind_of.get(node_name), self.rules.allocated
        if kind is None:
            return node_name, rules, ()
        alone, shared = self.views.held_on(node_name, held)
        if self.views.view(node_name).counted or any(ask.all_devices or ask.admin_access for ask in rules.asks):
            return (kind, alone, shared, self.left_key(node_name)), rules, ()
        return (kind, shared), replace(rules, held=AllocatedDevices({}, held.shares, held.consumed)), alone

    def build(self, found: NodeEligibility, drop: Sequence[str] = ()) -> AllocationProblem:
        """Return the problem of what was found eligible on a node, without the links in `drop`."""
        places = localities(self.cluster, found.node)
        return build_problem(self.sketch, found, places, paired=self.paired, drop=drop)


def look_at_nodes(rules: Rules, budget: Budget) -> Scan:
    """Look at every node: its hardware, and what is in use of it."""
    scan = Scan(rules, node_index(rules.cluster, rules.release))
    scan.shapes = node_shapes(scan, budget.part(budget.shares.first))
    for kind, names in scan.shapes.items():
        scan.kind_of |= dict.fromkeys(names, kind)
    scan.note_unseen(scan.seen)
    return scan


def scan_nodes(rules: Rules, budget: Budget) -> Scan:
    """Look at every node and put equal ones together (`sort_nodes`)."""
    scan = look_at_nodes(rules, budget)
    scan.count_matching()
    scan.classes = sort_nodes(scan, scan.seen, budget)
    scan.kind_of = {name: scan.kind_of[name] for equal in scan.classes for name in equal.nodes}
    scan.note_unseen(scan.seen)
    return scan


def node_shapes(scan: Scan, budget: Budget) -> dict[Kind, list[str]]:
    """Group the nodes by what they are apart from what is in use."""
    rules, every = scan.rules, scan.cluster.node_names
    found = scan.views.shapes(rules.selecting, rules.attributes)
    if found is None:
        # With a few nodes left out, a look at all of them serves the next question too.
        names = every if 2 * len(rules.nodes) > len(every) else rules.nodes
        found = {}
        for number, name in enumerate(names):
            if budget.reached:
                break
            found.setdefault(shape_key(scan.views, name, rules.selecting, rules.attributes), []).append(name)
            if budget.due:
                budget.report_step("nodes", f"looked at {number + 1:,} of {len(names):,} nodes")
        if sum(map(len, found.values())) == len(every):
            scan.views.keep_shapes(rules.selecting, rules.attributes, found)
    if rules.only is None:
        return found
    kept = {shape: [name for name in names if name in rules.only] for shape, names in found.items()}
    return {shape: names for shape, names in kept.items() if names}


def sort_nodes(scan: Scan, names: Iterable[str], budget: Budget, *, idle: bool = True) -> tuple[EqualNodes, ...]:
    """Return classes of equal nodes, of as many of the nodes as there is time for, in the order of their first nodes.

    `idle` tells nodes apart by what they are with nothing in use too.
    Raises UnsupportedFeature if an eligible device needs a rule that the planner does not know.
    """
    made: dict[Hashable, Print] = {}
    layouts: dict[Hashable, Layout] = {}

    def fingerprint(key: Hashable, make: Callable[[], AllocationProblem]) -> Print:
        if key not in made:
            found = Print(canonical(make(), scan.rules.replicas)[0])
            made[key] = made.setdefault(found, found)
        return made[key]

    known: dict[Hashable, tuple[Print | None, Print]] = {}
    nodes: dict[tuple[Print | None, Print], list[str]] = {}
    for name in names:
        if budget.reached:
            break
        key, rules, held = scan.shared_look(name)
        if (key, held) not in known:
            if key not in layouts:
                found = eligibility(rules, name)
                refuse_devices(scan.rules, found)
                layouts[key] = layout_of(scan.build(found), [item.id for item in scan.views.view(name).devices])
            problem, free = layouts[key].problem, thinned(layouts[key], held)
            now = fingerprint(("now", key, free), partial(_thinned_problem, problem, free))
            unused = partial(scan.problem, name, idle=True)
            known[key, held] = fingerprint(("idle", scan.kind_of[name]), unused) if idle else None, now
        nodes.setdefault(known[key, held], []).append(name)
    classes = (EqualNodes(tuple(sorted(members)), now, unused) for (unused, now), members in nodes.items())
    return tuple(sorted(classes, key=lambda equal: equal.nodes[0]))


def _thinned_problem(problem: AllocationProblem, free: Sequence[int]) -> AllocationProblem:
    left = zip(problem.groups, free, strict=True)
    return replace(problem, groups=tuple(replace(group, devices=group.devices[:size]) for group, size in left if size))


def failing_devices(scan: Scan) -> Iterator[tuple[str, Failure]]:
    """Yield (ask, failure) for every device on which a selector of the claim fails at run time, devices by name."""
    for ask in scan.rules.asks:
        answers = scan.views.answers(ask)
        for name in scan.seen:
            if name not in answers.by_node:
                answers = scan.views.answers(ask, name)
        for failure in sorted(answers.failures):
            yield ask.reference, failure


_DEVICES, _POOLS, _MEANT = "devices", "pools", "meant"


def coupled_devices(scan: Scan) -> Mapping[DeviceID, tuple[str, ...]]:
    """Return the devices that an ask may mean on more than one node, with these nodes, sorted.

    Slices with `allNodes`, `nodeSelector` or `perDeviceNodeSelection` show one device to several nodes: what a pod on
    one of them takes is gone for the others. One pod runs on one node, so that each node is planned alone for it.
    """
    if not scan.cluster.network_slices:
        return {}
    if _DEVICES not in scan.coupled:
        scan.coupled[_DEVICES] = _coupled_devices(scan)
    found: Mapping[DeviceID, tuple[str, ...]] = scan.coupled[_DEVICES]
    return found


def _coupled_devices(scan: Scan) -> Mapping[DeviceID, tuple[str, ...]]:
    # nodes that see the same far devices together: a pool that many nodes see is gone through once
    identical: dict[tuple[DeviceID, ...], list[str]] = defaultdict(list)
    for name in _examined(scan):
        identical[tuple([item.id for item in _meant(scan, name) if item.slice.spec.node_name is None])].append(name)
    seen: dict[DeviceID, list[tuple[str, ...]]] = defaultdict(list)
    for mine, nodes in identical.items():
        names = tuple(nodes)
        for device in mine:
            seen[device].append(names)
    # one tuple for all devices that the same nodes see
    same: dict[tuple[tuple[str, ...], ...], tuple[str, ...]] = {}
    found = {}
    for device, sets in seen.items():
        key = tuple(sets)
        if key not in same:
            same[key] = tuple(sorted(name for nodes in sets for name in nodes))
        if len(same[key]) > 1:
            found[device] = same[key]
    return found


def _examined(scan: Scan) -> Iterator[str]:
    """Yield the nodes that were looked at, because the others have no pods, and looking at them takes time again."""
    left_out = set(scan.unseen)
    return (name for name in scan.rules.nodes if name not in left_out)


def coupled_pools(scan: Scan) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return (driver, pool) whose shared counters devices of more than one node draw on, with these nodes, sorted.

    Counters belong to a pool, wherever its devices are (docs/semantics.md 3.10.1): what one node's partition draws
    is gone for the partitions of the others, though no device is seen twice.
    """
    if _POOLS not in scan.coupled:
        seen: dict[tuple[str, str], list[str]] = defaultdict(list)
        for name in _examined(scan):
            counted = scan.views.view(name).counted
            for pool in {item.id[:2]: None for item in _meant(scan, name) if counted and item.device.consumes_counters}:
                seen[pool].append(name)
        scan.coupled[_POOLS] = {pool: tuple(nodes) for pool, nodes in seen.items() if len(nodes) > 1}
    found: Mapping[tuple[str, str], tuple[str, ...]] = scan.coupled[_POOLS]
    return found


def _meant(scan: Scan, name: str) -> list[PoolDevice]:
    """Return the devices of a node that some ask means; their positions are found once for all identical nodes."""
    views = scan.views
    identical = tuple([views.answers(ask, name).by_node[name] for ask in scan.rules.asks])
    if (_MEANT, identical) not in scan.coupled:
        reached = zip(*(views.stages(ask, name) for ask in scan.rules.asks), strict=True)
        scan.coupled[_MEANT, identical] = [at for at, stages in enumerate(reached) if "match" in stages]
    devices = views.view(name).devices
    return [devices[at] for at in scan.coupled[_MEANT, identical]]
