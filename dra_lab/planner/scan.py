"""Look at every node once: what is eligible there, which problem that is, and which nodes are equal for the claim.

What is found is kept for the next plan of the same question, as a claim that comes or goes changes few nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.index.counter_draws import Counter
from dra_lab.index.node_index import Failure, NodeIndex, node_index, shape_key
from dra_lab.index.pools import Pool
from dra_lab.model.allocated import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Placement
from dra_lab.model.quantity import format_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import AllocationProblem, build_problem
from dra_lab.planner.node.eligible import NodeEligibility, Rules, eligibility
from dra_lab.planner.node.refuse import refuse_devices
from dra_lab.planner.node.solution import Taken
from dra_lab.planner.node_classes import Layout, Print, canonical, layout_of, thinned
from dra_lab.scheduler.counters import counters_left
from dra_lab.topology.locality import kinds, localities

_QUESTIONS = 4
_MORE, _FEW = 1.25, 200
"""Values that are kept beyond those of present states: a quarter of them and a few, as claims that go leave others."""

_STATES = 3
"""States of each node after which tables are made again: they hold every state that they were asked for."""

Exact = tuple[Any, ...]
"""Hardware of a node, its devices held alone and shared by position, and what counters have left.

It is equal only if the same devices are held.
"""


class PlanCache(Struct, eq=False):
    """Values that are known for one claim on one hardware; holds no cluster.

    `question` is what all of it depends on besides hardware and release, None if it does not come again. `matched` says
    whether the claim requests both GPUs and NICs, and how many devices match each ask. `memo` has values by (what, the
    node's hardware or `Exact`, more). `pods` are the tables of the best pods (`BestPods`), which the values in `memo`
    belong to.
    """

    question: Any = None
    matched: tuple[bool, dict[str, int]] | None = None
    memo: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    pods: Any = None
    _most: int = 0

    def keep_present(self, exact: Collection[Exact]) -> None:
        """Drop values of states that no node is in: a cluster that is followed for hours comes to ever more states."""
        if self.pods is not None and self.pods.size > _STATES * len(exact) + _FEW:
            self.memo, self.pods = {}, None
        if len(self.memo) > self._most:
            present = {one for state in exact for one in (state, state[0])}
            self.memo = {key: value for key, value in self.memo.items() if key[1] in present}
            self._most = int(_MORE * len(self.memo)) + _FEW


def get_cache(rules: Rules) -> PlanCache:
    """Return what is known of a claim, else an empty cache; until `put_cache`, no other plan gets it.

    Plans may be made in several threads at once, and a plan writes into the cache.
    """
    question = (rules.sketch, rules.replicas, rules.only)
    latest = _latest(rules.cluster, rules.release)
    for found in tuple(latest):
        if found.question == question:
            try:
                latest.remove(found)
            except ValueError:
                break
            return found
    return PlanCache(question)


def put_cache(rules: Rules, found: PlanCache) -> None:
    """Keep a cache for the next plan, if its question may come again; those of the oldest questions are dropped."""
    latest = _latest(rules.cluster, rules.release)
    if found.question is not None:
        latest.append(found)
    del latest[:-_QUESTIONS]


@once_per_hardware
def _latest(_cluster: Cluster, _release: KubernetesRelease) -> list[PlanCache]:
    """Return the caches of the latest questions."""
    return []


class EqualNodes(Struct, frozen=True):
    """Nodes that are equal for the claim, sorted; the first one stands for all.

    `now` and `idle` are the fingerprints of its problem as it is and as if nothing were in use.
    """

    nodes: tuple[str, ...]
    now: Print
    idle: Print


class Scan(Struct):
    """What looking at the nodes found.

    `shapes` are the nodes by hardware, and `exact` is what a node's problem depends on: its hardware, and what is in
    use of it. `unseen` are the nodes that there was no time for, else it is `complete`. `matched` counts the devices
    that match each ask, and `paired` says whether the claim requests both GPUs and NICs. `classes` are in the order of
    their first nodes; `sort_nodes` finds them. `layouts` are kinds of hardware by number,
    for callers that number them (`survey`). `known` is what was found out for this question before. `coupled`
    remembers what nodes have in common (`planner.coupling`). `counted` is what is left of the counters of a pool, by
    the identity of the pool in memory.
    """

    rules: Rules
    views: NodeIndex
    paired: bool = False
    shapes: dict[tuple[int, ...], list[str]] = field(default_factory=dict)
    exact: dict[str, Exact] = field(default_factory=dict)
    matched: dict[str, int] = field(default_factory=dict)
    complete: bool = True
    unseen: tuple[str, ...] = ()
    classes: tuple[EqualNodes, ...] = ()
    layouts: dict[int, Layout] = field(default_factory=dict)
    known: PlanCache = field(default_factory=PlanCache)
    coupled: dict[Hashable, Any] = field(default_factory=dict)
    counted: dict[int, tuple[Pool, tuple[tuple[tuple[str, str], int], ...]]] = field(default_factory=dict)

    @property
    def seen(self) -> Collection[str]:
        """Return the nodes that were looked at."""
        return self.exact.keys()

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

    def build(self, found: NodeEligibility, drop: Sequence[str] = ()) -> AllocationProblem:
        """Return the problem of what was found eligible on a node, without the links in `drop`."""
        places = localities(self.cluster, found.node)
        return build_problem(self.sketch, found, places, paired=self.paired, drop=drop)


def look_at_nodes(rules: Rules, budget: Budget, *, again: bool = True) -> Scan:
    """Look at every node: its hardware, and what is in use of it.

    `again` says that the same question may come again: what is found is then known, and stored by `put_cache`.
    """
    scan = Scan(rules, node_index(rules.cluster, rules.release))
    scan.shapes = node_shapes(scan, budget.part(budget.shares.first))
    if again and sum(map(len, scan.shapes.values())) == len(rules.nodes):
        scan.known = get_cache(rules)
    if scan.known.matched is None:
        scan.known.matched = _count_matching(scan)
    scan.paired, scan.matched = scan.known.matched
    for number, (shape, names) in enumerate(scan.shapes.items()):
        for name in names:
            if budget.reached:
                break
            scan.exact[name] = (shape, *scan.views.held_on(name, rules.allocated))
            if scan.views.view(name).counted:
                scan.exact[name] += (scan.left_key(name),)
        if budget.due:
            budget.report_step("nodes", f"looked at {number + 1} of {len(scan.shapes)} kinds of nodes")
    _note_unseen(scan)
    if scan.complete:
        scan.known.keep_present(scan.exact.values())
    return scan


def scan_nodes(rules: Rules, budget: Budget, *, again: bool = True) -> Scan:
    """Look at every node and put equal ones together. Raises UnsupportedFeature as `sort_nodes` does."""
    scan = look_at_nodes(rules, budget, again=again)
    scan.classes = sort_nodes(scan, tuple(scan.exact), budget)
    scan.exact = {name: scan.exact[name] for equal in scan.classes for name in equal.nodes}
    _note_unseen(scan)
    put_cache(rules, scan.known)
    return scan


def _note_unseen(scan: Scan) -> None:
    scan.unseen = tuple(name for name in scan.rules.nodes if name not in scan.exact)
    scan.complete = not scan.unseen


def node_shapes(scan: Scan, budget: Budget) -> dict[tuple[int, ...], list[str]]:
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


def _count_matching(scan: Scan) -> tuple[bool, dict[str, int]]:
    """Return whether the claim's requests match both GPUs and NICs somewhere, and how many devices each ask matches."""
    kinds: set[str] = set()
    counts: dict[str, int] = {}
    for one in scan.rules.selecting:
        same = (one.device_class_name, one.selectors)
        matching = [(scan.kinds_matched(one, nodes[0]), len(nodes)) for nodes in scan.shapes.values()]
        kinds.update(kind for found, _ in matching for kind in found)
        count = sum(len(found) * nodes for found, nodes in matching)
        counts |= {ask.reference: count for ask in scan.rules.asks if (ask.device_class_name, ask.selectors) == same}
    return {"gpu", "nic"} <= kinds, counts


ProblemOf = tuple[Hashable, Callable[[], AllocationProblem]]
"""A problem that can be made, with a key that is equal for equal problems only."""


def sort_nodes(
    scan: Scan,
    names: Iterable[str],
    budget: Budget,
    problems: Callable[[str], tuple[ProblemOf, ProblemOf] | None] = lambda _: None,
) -> tuple[EqualNodes, ...]:
    """Return classes of equal nodes, of as many of the nodes as there is time for.

    Args:
        scan: The scan.
        names: The nodes.
        budget: When to stop.
        problems: Returns the problem of a node with nothing in use, and its problem now. By default and for None, both
            are made of the devices of the node.

    Returns:
        The classes, in the order of their first nodes.

    Raises:
        UnsupportedFeature: An eligible device needs a rule that the planner does not know.
    """
    known, made = scan.known.memo, dict[Hashable, Print]()

    def fingerprint(key: Hashable, make: Callable[[], AllocationProblem]) -> Print:
        if key not in made:
            found = Print(canonical(make(), scan.rules.replicas)[0])
            made[key] = made.setdefault(found, found)
        return made[key]

    def idle_problem(name: str) -> AllocationProblem:
        found = eligibility(replace(scan.rules, idle=True), name)
        refuse_devices(scan.rules, found)
        return scan.build(found)

    each = any(ask.all_devices or ask.admin_access for ask in scan.rules.asks)
    layouts: dict[Hashable, Layout] = {}

    def now_problem(name: str, exact: Exact) -> ProblemOf:
        """Return the problem now: what claims hold alone is missing from that of nodes with the same shares."""
        if each or len(exact) > 3:
            # With All, admin access or counters a device in use does more than to be missing.
            return ("now", exact), partial(scan.problem, name)
        shape, alone, shared = exact
        layout = layouts.get((shape, shared))
        if layout is None:
            held = scan.rules.allocated
            found = eligibility(replace(scan.rules, held=AllocatedDevices({}, held.shares, held.consumed)), name)
            devices = [item.id for item in scan.views.view(name).devices]
            layout = layouts[shape, shared] = layout_of(scan.build(found), devices)
        free = thinned(layout, alone)
        return ("now", shape, shared, free), partial(_thinned_problem, layout.problem, free)

    nodes: dict[tuple[Print, Print], list[str]] = {}
    for name in names:
        if budget.reached:
            break
        exact = scan.exact[name]
        if ("equal", exact) not in known:
            own = (("idle", exact[0]), partial(idle_problem, name)), now_problem(name, exact)
            idle, now = problems(name) or own
            known["equal", exact] = fingerprint(*idle), fingerprint(*now)
        nodes.setdefault(known["equal", exact], []).append(name)
    classes = (EqualNodes(tuple(sorted(members)), now, idle) for (idle, now), members in nodes.items())
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
