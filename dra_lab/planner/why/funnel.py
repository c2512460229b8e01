"""How many devices each node has left after each test of each request, and whether a cluster has too few of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from fractions import Fraction
from itertools import takewhile

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.findings import sentence_case
from dra_lab.index.pools import PoolDevice
from dra_lab.model.claims import expressions
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.reasons import Funnel, FunnelStep, Scarcity
from dra_lab.model.sketch import Ask, covers
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.device_tests import Stage, device_use
from dra_lab.planner.node.eligible import AskEligibility, NodeEligibility, Rules, eligibility
from dra_lab.planner.node.link_places import place_values
from dra_lab.planner.scan import Scan
from dra_lab.sketch.links import link_words
from dra_lab.topology.locality import localities

_LATER = ("gate", "taint", "in-use", "capacity")
Shared = tuple[tuple[int, tuple[tuple[str, Fraction], ...]], ...]
"""Devices of which others hold shares, by position, with what is taken of each."""

_PASSED = {Stage.CLASS: 0, Stage.TAINT: 1, Stage.IN_USE: 2, Stage.CAPACITY: 3, Stage.FREE: 4}
"""How many of these tests a device passed that class and selectors match; a gate that hides it leaves it at CLASS."""


class AskCounts(Struct, frozen=True):
    """One request on a node: the tests in their order and the devices left after each; `needed` is what it takes.

    `free` are those that it may take, links apart, and `far` the positions of such as other nodes may see too;
    `failing` counts the devices on which a selector fails. `short` is the first test that leaves too few of them, from
    the class on, and how many it leaves; () where none does.
    """

    request: str
    needed: int
    steps: tuple[FunnelStep, ...]
    failing: int
    free: int
    far: tuple[int, ...]
    short: tuple[int, ...]


class NodeCounts(Struct, frozen=True):
    """All requests of a claim on nodes that have the same counts; the nodes in the order of examination."""

    asks: tuple[AskCounts, ...]
    nodes: list[str] = field(default_factory=list)

    @property
    def short(self) -> Hashable:
        """Return what the requests lack."""
        return tuple(ask.short for ask in self.asks)


def node_counts(scan: Scan, nodes: Sequence[str], budget: Budget, *, looks: int) -> tuple[NodeCounts, ...]:
    """Return the counts of nodes, those with the same ones together; of fewer nodes where time ended before.

    The scan's classes of equal nodes would not do: nodes are equal for a claim though more is free than it can take.
    It ends also where more than `looks` states have to be looked at one by one.
    """
    found: dict[tuple[AskCounts, ...], NodeCounts] = {}
    tables = _Tables(scan)
    for node in nodes:
        if budget.reached or tables.looks > looks:
            break
        asks = tables.of(node)
        found.setdefault(asks, NodeCounts(asks)).nodes.append(node)
    return tuple(found.values())


class _Table:
    """One request on one hardware: the tests as (name, text), and how many of them each device passes.

    `use` is the test of what is in use, `of_class` that of the last class selector; `far` are the positions of devices
    that several nodes may see.
    """

    def __init__(
        self,
        part: AskEligibility,
        tests: Sequence[tuple[str, str]],
        depths: Sequence[int],
        of_class: int,
        far: Sequence[int],
    ) -> None:
        self.part, self.depths, self._tests, self._of_class, self._far = part, depths, tests, of_class, far
        self.use = tests.index(("in-use", ""))
        reached, left, self._counts = Counter(depths), 0, [0] * len(tests)
        for test in range(len(tests) - 1, -1, -1):
            left += reached[test + 1]
            self._counts[test] = left
        self._known: dict[tuple[int, ...], AskCounts] = {}

    def counts(self, used: tuple[int, ...]) -> AskCounts:
        """Return the counts where the devices at some positions, all of them free else, are in use."""
        if used in self._known:
            return self._known[used]
        counts = list(self._counts)
        for position in used:
            for test in range(self.use, self.depths[position]):
                counts[test] -= 1
        gate, capacity = self.use - 2, self.use + 1
        counted = zip(self._tests, counts, strict=True)
        hides = counts[gate] != counts[gate - 1]
        steps = tuple(FunnelStep(test, count, text) for (test, text), count in counted if test != "gate" or hides)
        needed = self.part.ask.count or len(self.part.listed)
        far = tuple(at for at in self._far if self.depths[at] > capacity and at not in used)
        left = enumerate(counts[self._of_class :])
        short = next(((at, count) for at, count in left if count < max(1, needed)), ())
        name, failing = self.part.ask.reference, len(self.part.errors)
        found = self._known[used] = AskCounts(name, needed, steps, failing, counts[capacity], far, short)
        return found


class _Tables:
    """The tables of nodes: one for each hardware with nothing in use, from which what is in use is taken away.

    With All, admin access or counters a device in use does more than to be missing: then one for each state, `looks`
    of them so far.
    """

    def __init__(self, scan: Scan) -> None:
        self.looks = 0
        self._scan, self._rules = scan, scan.rules
        self._each = any(ask.all_devices or ask.admin_access for ask in scan.rules.asks)
        self._chains = [_chain(scan, ask) for ask in scan.rules.asks]
        self._tables: dict[Hashable, tuple[_Table, ...]] = {}
        self._fits: dict[Hashable, bool] = {}

    def of(self, node: str) -> tuple[AskCounts, ...]:
        """Return the counts of a node."""
        scan = self._scan
        refused = tuple(self._refused(node, number) for number in range(len(self._chains)))
        exact = scan.exact.get(node)
        if not isinstance(exact, tuple) or self._each or scan.views.view(node).counted:
            key: Hashable = (node if exact is None else exact, refused)
            if key not in self._tables:
                self.looks += 1
                self._tables[key] = self._look(node, self._rules)
            return tuple(table.counts(()) for table in self._tables[key])
        key = (exact[0], refused)
        if key not in self._tables:
            self._tables[key] = self._look(node, replace(self._rules, idle=True))
        alone, shared = scan.views.held_on(node, self._rules.allocated)
        return tuple(
            table.counts(self._used(key, number, table, node, alone, shared))
            for number, table in enumerate(self._tables[key])
        )

    def _used(
        self, key: Hashable, number: int, table: _Table, node: str, alone: Collection[int], shared: Shared
    ) -> tuple[int, ...]:
        """Return the devices, free else, that are in use for a request: held alone, or without enough capacity left.

        A device that never has the capacity lacks it with and without shares in use, as in `eligible`.
        """
        used = [at for at in alone if table.depths[at] > table.use]
        passed = table.use + 1 if self._rules.gates.consumable_capacity else table.use
        for at, taken in shared:
            if table.depths[at] > passed:
                memo = (key, number, at, taken)
                if memo not in self._fits:
                    device = self._scan.views.view(node).devices[at].device
                    self._fits[memo] = self._has_left(table.part.ask, device, dict(taken))
                if not self._fits[memo]:
                    used.append(at)
        return tuple(sorted(used))

    def _has_left(self, ask: Ask, device: Device, taken: Mapping[str, Fraction]) -> bool:
        """Say whether a device that has the capacity has it beside the shares that others hold.

        Rules: docs/semantics.md 3.11.4, 3.11.9.
        """
        if not self._rules.gates.consumable_capacity:
            return False
        use = device_use(self._rules.gates, ask, device) or {}
        left = {key: parse_quantity(c.value) - taken.get(key, Fraction()) for key, c in device.capacity.items()}
        return all(amount <= left[key] for key, amount in use.items() if key in left)

    def _refused(self, node: str, number: int) -> tuple[int, ...]:
        """Return which selector refuses each device; () where it is clear from how far they come."""
        of_class, own = self._chains[number]
        if max(len(of_class), len(own)) < 2:
            return ()
        return tuple(self._passed(number, item) for item in self._scan.views.view(node).devices)

    def _passed(self, number: int, item: PoolDevice) -> int:
        """Return how many selectors of the class and the request a device passes."""
        of_class, own = self._chains[number]
        match = self._rules.matching.match(self._rules.asks[number], item.driver, item.device)
        if match.stage in ("match", "no-class"):
            return len(of_class) + len(own) if match.stage == "match" else 0
        first = len(of_class) if match.stage == "selector" else 0
        return (*of_class, *own).index(match.expression, first)

    def _look(self, node: str, rules: Rules) -> tuple[_Table, ...]:
        found = eligibility(rules, node)
        return tuple(self._table(found, number, part) for number, part in enumerate(found.asks))

    def _table(self, found: NodeEligibility, number: int, part: AskEligibility) -> _Table:
        of_class, own = self._chains[number]
        known = part.ask.device_class_name in self._scan.cluster.class_by_name
        links = [
            link
            for link in self._scan.sketch.links
            if link.must and any(covers(reference, part.ask) for reference in link.requests)
        ]
        tests = [("published", ""), *[("class-selector", text) for text in of_class]]
        if not known:
            tests.append(("class", part.ask.device_class_name))
        classes = len(tests) - 1
        tests += [*[("selector", text) for text in own], *[(name, "") for name in _LATER]]
        tests += [("link", link_words(link)) for link in links]
        places, devices = localities(self._scan.cluster, found.node), self._scan.views.view(found.node).devices
        depths = []
        for item in devices:
            passed = self._passed(number, item)
            if known and passed == len(of_class) + len(own):
                passed += _PASSED[part.stages[item.id]]
                if part.stages[item.id] is Stage.FREE:
                    seen = found.seen[item.id]
                    values = (place_values(places[item.id], link, seen, lists=found.lists) for link in links)
                    passed += len(list(takewhile(bool, values)))
            depths.append(1 + passed)
        far = [at for at, item in enumerate(devices) if item.slice.spec.node_name is None]
        return _Table(part, tests, depths, classes, far)


def _chain(scan: Scan, ask: Ask) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the selectors of a request's class and its own, as written."""
    device_class = scan.cluster.class_by_name.get(ask.device_class_name)
    return expressions(device_class.spec.selectors) if device_class is not None else (), ask.selectors


_NOUNS = {"gpu": "GPUs", "nic": "NICs", "cpu": "CPU devices", "memory": "memory devices"}


def funnels(rows: Sequence[NodeCounts]) -> tuple[Funnel, ...]:
    """Return the counts of every request on every kind of node, equal ones together, most nodes first."""
    found: dict[AskCounts, list[str]] = {}
    for row in rows:
        for ask in row.asks:
            # the figures of a request are the same whichever of its devices other nodes see
            found.setdefault(replace(ask, far=(), short=()), []).extend(row.nodes)
    funnels = (Funnel(a.request, a.needed, min(nodes), len(nodes), a.steps, a.failing) for a, nodes in found.items())
    order = {request: number for number, request in enumerate(dict.fromkeys(ask.request for ask in found))}
    return tuple(sorted(funnels, key=lambda funnel: (order[funnel.request], -funnel.nodes, funnel.node)))


def scarcity(scan: Scan, rows: Sequence[NodeCounts]) -> tuple[Scarcity, ...]:
    """Say of each request whether the cluster has too few free devices, or enough, but no node has them.

    A device that several nodes see counts once. Requests for all devices are left out: they need no number. Empty
    where not every node was looked at.
    """
    if sum(len(row.nodes) for row in rows) < len(scan.rules.nodes) or not rows:
        return ()
    return tuple(
        _scarce(scan, ask, *_free(scan, [(row.asks[number], row.nodes) for row in rows]))
        for number, ask in enumerate(scan.rules.asks)
        if not ask.all_devices
    )


def _free(scan: Scan, rows: Sequence[tuple[AskCounts, Sequence[str]]]) -> tuple[int, int, str]:
    """Return how many devices are free for a request in all, the most on a node, and the first such node."""
    own, far = 0, set[DeviceID]()
    for ask, nodes in rows:
        own += (ask.free - len(ask.far)) * len(nodes)
        for node in nodes if ask.far else ():
            devices = scan.views.view(node).devices
            far.update(devices[position].id for position in ask.far)
    most = max(ask.free for ask, _ in rows)
    return own + len(far), most, min(node for ask, nodes in rows if ask.free == most for node in nodes)


def _scarce(scan: Scan, ask: Ask, free: int, most: int, node: str) -> Scarcity:
    name, noun = ask.reference, _noun(scan, ask, node)
    matching = scan.matched.get(name, 0) if scan.complete else None
    if free < ask.count:
        there = _there(ask, free, free if matching and not scan.cluster.claims_known else matching)
        kind, text = "shortage", f"request {name} needs {_many(ask.count, noun)}; {there}"
    elif most < ask.count:
        known = scan.cluster.claims_known and free != matching
        kind, used = "fragmentation", f"{_be(free)} free" if known else "exist"
        text = f"request {name}: {free} {noun} {used}, no node has {ask.count} (node {node} has {most})"
    else:
        kind, text = "enough", f"request {name}: {_many(free, noun)} {_be(free)} free, node {node} has {most} of them"
    return Scarcity(name, kind, ask.count, free, most, node, sentence_case(text), matching)


def _there(ask: Ask, free: int, matching: int | None) -> str:
    """Return how many devices a request may take in the whole cluster; those in use are told apart."""
    if matching == 0:
        return "no device of the cluster matches it"
    if ask.capacity:
        return f"{free} in the whole cluster {'has' if free == 1 else 'have'} enough capacity left"
    return f"the whole cluster has {free}" if free == matching else f"{free} {_be(free)} free in the whole cluster"


def _many(number: int, noun: str) -> str:
    return f"{number} {noun.removesuffix('s') if number == 1 else noun}"


def _be(number: int) -> str:
    return "is" if number == 1 else "are"


def _noun(scan: Scan, ask: Ask, node: str) -> str:
    places = localities(scan.cluster, node)
    stages = scan.views.stages(ask, node)
    matching = [item.id for item, stage in zip(scan.views.view(node).devices, stages, strict=True) if stage == "match"]
    kinds = {places[device].kind for device in matching}
    return _NOUNS.get(next(iter(kinds)), "devices") if len(kinds) == 1 else "devices"
