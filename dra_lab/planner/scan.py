"""Look at every node once: what is eligible there, which problem that is, and which nodes are equal for the claim."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.index.counter_draws import Counter
from dra_lab.index.node_index import Failure, NodeIndex, node_index, shape_key
from dra_lab.index.pools import Pool
from dra_lab.model.allocated import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch
from dra_lab.planner.budget import Budget
from dra_lab.planner.known_devices import KnownDevices
from dra_lab.planner.node.allocation_problem import AllocationProblem, build_problem
from dra_lab.planner.node.eligible import NodeEligibility, Rules, eligibility
from dra_lab.planner.node.refuse import refuse_devices
from dra_lab.planner.node.solution import Solution
from dra_lab.planner.node_classes import Layout, Print, canonical, layout_of, thinned
from dra_lab.planner.plan_cache import CachedState, PlanCache, get_cache, put_cache
from dra_lab.scheduler.counters import counters_left
from dra_lab.topology.locality import kinds, localities


class EqualNodes(Struct, frozen=True):
    """Nodes that are equal for the claim, sorted; the first one stands for all.

    `now` and `idle` are the fingerprints of its problem as it is and as if nothing were in use. `free` is how many
    devices of each of its groups are free, () if the hardware does not tell that.
    """

    nodes: tuple[str, ...]
    now: Hashable
    idle: Hashable
    free: tuple[int, ...] = ()


class Scan(Struct):
    """What looking at the nodes found.

    `classes` are in the order of their first nodes. `idle_nodes` maps an idle fingerprint to a node that has it.
    `paired` says whether the claim requests both GPUs and NICs. `complete` is False when the scan was ended early.
    `seen` are the nodes that were looked at. `layouts` are kinds of hardware by number, for callers that number them
    (`survey`). `exact` is what a node's problem depends on besides its hardware, and `solutions` what was proven of
    such problems. `coupled` remembers what nodes have in common (`planner.coupling`). `counted` is what is left of the
    counters of a pool, by the identity of the pool in memory.
    """

    rules: Rules
    views: NodeIndex
    paired: bool = False
    classes: tuple[EqualNodes, ...] = ()
    layouts: dict[int, Layout] = field(default_factory=dict)
    idle_nodes: dict[Hashable, str] = field(default_factory=dict)
    matched: dict[str, int] = field(default_factory=dict)
    complete: bool = True
    unseen: tuple[str, ...] = ()
    seen: Collection[str] = ()
    exact: dict[str, Hashable] = field(default_factory=dict)
    solutions: dict[Hashable, Solution] = field(default_factory=dict)
    coupled: dict[Hashable, Any] = field(default_factory=dict)
    counted: dict[int, tuple[Pool, tuple[tuple[tuple[str, str], int], ...]]] = field(default_factory=dict)

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

    def build(self, found: NodeEligibility, drop: Sequence[str] = ()) -> AllocationProblem:
        """Return the problem of what was found eligible on a node, without the links in `drop`."""
        places = localities(self.cluster, found.node)
        return build_problem(self.sketch, found, places, paired=self.paired, drop=drop)


def scan_nodes(rules: Rules, budget: Budget, *, again: bool = True) -> Scan:
    """Look at every node and put equal ones together.

    Nodes with the same hardware are looked at once; what is in use there only thins out the groups of equal devices.
    `again` says that the same question may come again: what was found is then stored.
    Raises UnsupportedFeature when an eligible device needs a rule that the planner does not know.
    """
    scan = Scan(rules, node_index(rules.cluster, rules.release))
    shapes = node_shapes(scan, budget.part(budget.shares.first))
    scan.paired = _asks_for_pairs(scan, shapes)
    sorter = _Sorter(scan, get_cache(rules, paired=scan.paired, kept=again))
    for number, (shape, nodes) in enumerate(shapes.items()):
        for name in nodes:
            if budget.reached:
                break
            sorter.add(shape, name)
        if budget.due:
            budget.report_step("nodes", f"looked at {number + 1} of {len(shapes)} kinds of nodes")
    scan.seen = sorter.states.keys()
    scan.unseen = tuple(name for name in rules.nodes if name not in sorter.states)
    scan.complete = not scan.unseen
    scan.classes = sorter.equal_nodes()
    sorter.keep(again=again)
    return scan


def node_shapes(scan: Scan, budget: Budget) -> dict[tuple[int, ...], list[str]]:
    """Group the nodes by what they are apart from what is in use."""
    rules, every = scan.rules, scan.cluster.node_names
    found = scan.views.shapes(rules.asks, rules.attributes)
    if found is None:
        # With a few nodes left out, a look at all of them serves the next question too.
        names = every if 2 * len(rules.nodes) > len(every) else rules.nodes
        found = _look_at_shapes(scan, names, budget)
        if sum(map(len, found.values())) == len(every):
            scan.views.keep_shapes(rules.asks, rules.attributes, found)
    if rules.only is None:
        return found
    kept = {shape: [name for name in names if name in rules.only] for shape, names in found.items()}
    return {shape: names for shape, names in kept.items() if names}


def _look_at_shapes(scan: Scan, names: Sequence[str], budget: Budget) -> dict[tuple[int, ...], list[str]]:
    rules = scan.rules
    found: dict[tuple[int, ...], list[str]] = {}
    for number, name in enumerate(names):
        if budget.reached:
            break
        found.setdefault(shape_key(scan.views, name, rules.asks, rules.attributes), []).append(name)
        if budget.due:
            budget.report_step("nodes", f"looked at {number + 1:,} of {len(names):,} nodes")
    return found


def _asks_for_pairs(scan: Scan, shapes: Mapping[tuple[int, ...], list[str]]) -> bool:
    """Say whether the claim's requests match both GPUs and NICs somewhere; count the matching devices on the way."""
    found: set[str] = set()
    for nodes in shapes.values():
        for ask in scan.rules.asks:
            matching = scan.kinds_matched(ask, nodes[0])
            found.update(matching)
            scan.matched[ask.reference] = scan.matched.get(ask.reference, 0) + len(matching) * len(nodes)
    return {"gpu", "nic"} <= found


class _Sorter:
    """Puts nodes into classes: by hardware and shares once, then by what is held alone.

    Nodes on which nothing changed since the latest look are not looked at again.
    """

    def __init__(self, scan: Scan, known: PlanCache) -> None:
        self.scan, self.known = scan, known
        scan.solutions = known.solutions
        self.states: dict[str, CachedState] = {}
        self._nodes: dict[tuple[Print, Print], list[str]] = {}
        self._unchanged = known.unchanged(scan.rules.allocated, scan.views, scan.rules.nodes)
        self._replicas = scan.rules.replicas
        self._devices = KnownDevices(scan.rules, scan.views)
        self._latest: tuple[str, Layout] = ("", Layout(AllocationProblem("", (), (), (), ()), ()))
        self._each = any(ask.all_devices or ask.admin_access for ask in scan.rules.asks)

    def add(self, shape: tuple[int, ...], name: str) -> None:
        """Put one node into its class."""
        state = self._unchanged.get(name)
        if state is None or state.shape != shape:
            state = self._look(shape, name)
        self.states[name] = state
        self._nodes.setdefault((state.now, state.idle), []).append(name)

    def equal_nodes(self) -> tuple[EqualNodes, ...]:
        """Return the classes, sorted inside; the first node of each tells what is free."""
        found = []
        for (now, idle), names in self._nodes.items():
            nodes = tuple(sorted(names))
            first = self.states[nodes[0]]
            self.scan.idle_nodes.setdefault(idle, nodes[0])
            found.append(EqualNodes(nodes, now, idle, first.free))
        return tuple(found)

    def keep(self, *, again: bool) -> None:
        """Remember what was found for the next look; after a look that was ended early, only what it is made of."""
        if self.scan.complete:
            self.known.states, self.known.held = self.states, self.scan.rules.allocated
            self.scan.exact = {name: state.exact for name, state in self.states.items()}
            self.known.forget()
        if again:
            put_cache(self.scan.rules, self.known)

    def _look(self, shape: tuple[int, ...], name: str) -> CachedState:
        idle = self._print(("idle", shape), lambda: self._idle(name).problem)
        held = self.scan.rules.allocated
        alone, shared = self.scan.views.held_on(name, held)
        counted = self.scan.views.view(name).counted
        if self._each or counted:
            # With All, admin access or counters a device in use does more than to be missing: every state for itself.
            left = self.scan.left_key(name)
            exact = (shape, alone, shared, left)
            now = self._print(("each", exact), lambda: self.scan.problem(name))
            return CachedState(shape, exact, now, idle, -1, ())
        layout = self.known.layout_of.get((shape, shared))
        if layout is None:
            layout = self.known.add_layout(shape, shared, self._layout(name))
        laid = self.known.layouts[layout]
        free = thinned(laid, alone)
        now = self._thinned_print(laid, layout, free)
        return CachedState(shape, (shape, alone, shared), now, idle, layout, free)

    def _print(self, key: Hashable, problem: Callable[[], AllocationProblem]) -> Print:
        found = self.known.prints.get(key)
        if found is None:
            found = self.known.prints[key] = self.known.print_of(canonical(problem(), None, self._replicas)[0])
        return found

    def _thinned_print(self, laid: Layout, layout: int, free: tuple[int, ...]) -> Print:
        found = self.known.prints.get((layout, free))
        if found is None:
            value, _ = canonical(laid.problem, free, self._replicas, laid.prepared)
            found = self.known.prints[layout, free] = self.known.print_of(value)
        return found

    def _idle(self, name: str) -> Layout:
        """Return a node's groups of equal devices as if nothing were in use; refuse what the planner does not know."""
        if self._latest[0] != name:
            layout = self._devices.layout(name)
            if layout is None:
                found = eligibility(replace(self.scan.rules, idle=True), name)
                refuse_devices(self.scan.rules, found)
                layout = layout_of(self.scan.build(found), [item.id for item in self.scan.views.view(name).devices])
                self._devices.learn(name, layout)
            self._latest = (name, layout)
        return self._latest[1]

    def _layout(self, name: str) -> Layout:
        """Return a node's groups of equal devices as if no claim held a device alone."""
        held = self.scan.rules.allocated
        shares = AllocatedDevices({}, held.shares, held.consumed)
        if not self.scan.views.held_on(name, held)[1]:
            return self._idle(name)
        found = eligibility(replace(self.scan.rules, held=shares), name)
        return layout_of(self.scan.build(found), [item.id for item in self.scan.views.view(name).devices])


def failing_devices(scan: Scan) -> Iterator[tuple[str, Failure]]:
    """Yield (ask, failure) for every device on which a selector of the claim fails at run time, devices by name."""
    for ask in scan.rules.asks:
        answers = scan.views.answers(ask)
        for name in scan.seen:
            if name not in answers.by_node:
                answers = scan.views.answers(ask, name)
        for failure in sorted(answers.failures):
            yield ask.reference, failure
