"""How many devices each node has left after each test of each request, and whether a cluster has too few of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.findings import sentence_case
from dra_lab.index.pools import PoolDevice
from dra_lab.model.claims import expressions
from dra_lab.model.names import DeviceID
from dra_lab.model.reasons import Funnel, FunnelStep, Scarcity
from dra_lab.model.sketch import Ask, covers
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import place_values
from dra_lab.planner.node.device_tests import Stage, hiding_gate, is_tolerated
from dra_lab.planner.node.eligible import AskEligibility, NodeEligibility, eligibility
from dra_lab.planner.scan import Scan
from dra_lab.sketch.links import link_words
from dra_lab.topology.locality import localities

_OF_CLASS = ("published", "class-selector", "class")


class AskCounts(Struct, frozen=True):
    """One request on a node: the tests in their order and the devices left after each; `needed` is what it takes.

    `far` has the positions of the devices that it may take, links apart, and that other nodes may see too; `failing`
    counts the devices on which a selector fails.
    """

    request: str
    needed: int
    steps: tuple[FunnelStep, ...]
    failing: int
    far: tuple[int, ...]

    @property
    def free(self) -> int:
        """Return the number of devices that it may take, links apart."""
        return next(step.count for step in self.steps if step.test == Stage.CAPACITY.test)

    @property
    def short(self) -> FunnelStep | None:
        """Return the first test, from the class on, that leaves too few devices."""
        of_class = max(at for at, step in enumerate(self.steps) if step.test in _OF_CLASS)
        return next((step for step in self.steps[of_class:] if step.count < max(1, self.needed)), None)


def rule_of(short: FunnelStep) -> str:
    """Return the rule of a reason whose test leaves too few devices: of a class there may be some."""
    if short.test in _OF_CLASS:
        return "count" if short.count else "class"
    return short.test


Rows = Mapping[tuple[AskCounts, ...], Sequence[str]]
"""The counts of all requests of a claim, and the nodes that have them in the order of examination."""


def node_counts(scan: Scan, nodes: Sequence[str], budget: Budget) -> Rows:
    """Return the counts of nodes, those with the same ones together; of fewer nodes if time ends before.

    Nodes that are equal for the claim may have different counts: more may be free than it can take.
    """
    found: dict[tuple[AskCounts, ...], list[str]] = {}
    counter = _NodeCounter(scan)
    for node in nodes:
        if budget.reached:
            break
        found.setdefault(counter.counts(node), []).append(node)
    return found


class _HardwareCounts(Struct):
    """One request on one hardware: the tests as (name, text), and how many of them each device passes.

    `far` has the devices that several nodes may see.
    """

    part: AskEligibility
    tests: Sequence[tuple[str, str]]
    passed: Sequence[int]
    far: Sequence[int]

    def counts(self, used: Collection[int]) -> AskCounts:
        """Return the counts where the devices at some positions are in use."""
        use = self.tests.index((Stage.IN_USE.test, ""))
        passed = [min(depth, use) if at in used else depth for at, depth in enumerate(self.passed)]
        counts = [sum(depth > test for depth in passed) for test in range(len(self.tests))]
        gate, ask = use - 2, self.part.ask
        steps = tuple(
            FunnelStep(name, counts[at], text)
            for at, (name, text) in enumerate(self.tests)
            if at != gate or counts[gate] < counts[gate - 1]
        )
        far = tuple(at for at in self.far if passed[at] > use + 1)
        return AskCounts(ask.reference, ask.count or len(self.part.listed), steps, len(self.part.errors), far)


class _NodeCounter:
    """Counts the devices of nodes; those with the same hardware share what is counted (`Scan.shared_look`)."""

    def __init__(self, scan: Scan) -> None:
        self._scan, self._rules, classes = scan, scan.rules, scan.rules.matching.classes
        own = (classes.get(ask.device_class_name) for ask in scan.rules.asks)
        # the selectors of each request's class, and its own, as written
        self._selectors = [
            (expressions(found.spec.selectors) if found is not None else (), ask.selectors)
            for found, ask in zip(own, scan.rules.asks, strict=True)
        ]
        self._by_hardware: dict[Hashable, tuple[_HardwareCounts, ...]] = {}
        self._known: dict[Hashable, tuple[AskCounts, ...]] = {}

    def counts(self, node: str) -> tuple[AskCounts, ...]:
        """Return the counts of each request on a node."""
        same, rules, alone = self._scan.shared_look(node)
        # Which of several selectors refuses each device; of one it is clear from how far they come.
        several = [at for at, selectors in enumerate(self._selectors) if max(map(len, selectors)) > 1]
        key = same, tuple(self._matched(at, item) for at in several for item in self._scan.views.view(node).devices)
        if (key, alone) not in self._known:
            if key not in self._by_hardware:
                found = eligibility(rules, node)
                self._by_hardware[key] = tuple(self._counts_of(found, number) for number in range(len(found.asks)))
            self._known[key, alone] = tuple(one.counts(alone) for one in self._by_hardware[key])
        return self._known[key, alone]

    def _matched(self, number: int, item: PoolDevice) -> int:
        """Return how many selectors of the class and the request a device passes."""
        of_class, own = self._selectors[number]
        match = self._rules.matching.match(self._rules.asks[number], item.driver, item.device)
        if match.stage in ("match", "no-class"):
            return len(of_class) + len(own) if match.stage == "match" else 0
        first = len(of_class) if match.stage == "selector" else 0
        return (*of_class, *own).index(match.expression, first)

    def _counts_of(self, found: NodeEligibility, number: int) -> _HardwareCounts:
        part, (of_class, own) = found.asks[number], self._selectors[number]
        known = part.ask.device_class_name in self._rules.matching.classes
        musts = (link for link in self._scan.sketch.links if link.must)
        links = [link for link in musts if any(covers(reference, part.ask) for reference in link.requests)]
        tests = [
            ("published", ""),
            *(("class-selector", text) for text in of_class),
            *([] if known else [("class", part.ask.device_class_name)]),
            *(("selector", text) for text in own),
            *((name, "") for name in ("gate", Stage.TAINT.test, Stage.IN_USE.test, Stage.CAPACITY.test)),
            *(("link", link_words(link)) for link in links),
        ]
        places, devices = localities(self._scan.cluster, found.node), self._scan.views.view(found.node).devices
        depths = []
        for item in devices:
            passed, stage = 1 + self._matched(number, item), part.stages[item.id]
            if known and passed > len(of_class) + len(own):
                # A gate that hides a device leaves it at the class.
                passed += max(0, stage - Stage.SELECTOR)
                if stage is Stage.FREE:
                    seen = found.seen[item.id]
                    values = (place_values(places[item.id], link, seen, lists=found.lists) for link in links)
                    passed += len(list(takewhile(bool, values)))
            depths.append(passed)
        far = [at for at, item in enumerate(devices) if item.slice.spec.node_name is None]
        return _HardwareCounts(part, tests, depths, far)


_NOUNS = {"gpu": "GPUs", "nic": "NICs", "cpu": "CPU devices", "memory": "memory devices"}


def funnels(rows: Rows) -> tuple[Funnel, ...]:
    """Return the counts of every request on every kind of node, equal ones together, most nodes first."""
    found: dict[AskCounts, list[str]] = {}
    for asks, nodes in rows.items():
        for ask in asks:
            # the figures of a request are the same whichever of its devices other nodes see
            found.setdefault(replace(ask, far=()), []).extend(nodes)
    funnels = (Funnel(a.request, a.needed, min(nodes), len(nodes), a.steps, a.failing) for a, nodes in found.items())
    order = {request: number for number, request in enumerate(dict.fromkeys(ask.request for ask in found))}
    return tuple(sorted(funnels, key=lambda funnel: (order[funnel.request], -funnel.nodes, funnel.node)))


def scarcity(scan: Scan, rows: Rows) -> tuple[Scarcity, ...]:
    """Say of each request whether the cluster has too few free devices, or enough, but no node has them.

    A device that several nodes see counts once. Requests for all devices are left out: they need no number. Empty
    where not every node was looked at.
    """
    if not rows or sum(map(len, rows.values())) < len(scan.rules.nodes):
        return ()
    return tuple(
        _scarce(scan, ask, [(counts[number], nodes) for counts, nodes in rows.items()])
        for number, ask in enumerate(scan.rules.asks)
        if not ask.all_devices
    )


def _scarce(scan: Scan, ask: Ask, rows: Sequence[tuple[AskCounts, Sequence[str]]]) -> Scarcity:
    alone = sum((counts.free - len(counts.far)) * len(nodes) for counts, nodes in rows)
    seen = ((scan.views.view(node).devices, counts.far) for counts, nodes in rows if counts.far for node in nodes)
    free = alone + len({devices[at].id for devices, positions in seen for at in positions})
    most = max(counts.free for counts, _ in rows)
    node = min(node for counts, nodes in rows if counts.free == most for node in nodes)
    name, noun = ask.reference, noun_of(scan, ask, node)
    matching = scan.matched.get(name, 0) if scan.complete else None
    if free < ask.count:
        there = _there(ask, free, free if matching and free and not scan.cluster.claims_known else matching)
        needed = f"{ask.count} {noun.removesuffix('s') if ask.count == 1 else noun}"
        kind, text = "shortage", f"request {name} needs {needed}; {there}"
    elif most < ask.count:
        known = scan.cluster.claims_known and free != matching
        kind, used = "fragmentation", f"{_be(free)} free" if known else "exist"
        text = f"request {name}: {free} {noun} {used}, no node has {ask.count} (node {node} has {most})"
    else:
        have = f"{free} {noun.removesuffix('s') if free == 1 else noun}"
        kind, text = "enough", f"request {name}: {have} {_be(free)} free, node {node} has {most} of them"
    return Scarcity(name, kind, ask.count, free, most, node, sentence_case(text), matching)


def _there(ask: Ask, free: int, matching: int | None) -> str:
    """Return how many devices a request may take in the whole cluster; those in use are told apart."""
    if matching == 0:
        return "no device of the cluster matches it"
    if ask.capacity:
        return f"{free} in the whole cluster {'has' if free == 1 else 'have'} enough capacity left"
    return f"the whole cluster has {free}" if free == matching else f"{free} {_be(free)} free in the whole cluster"


def _be(number: int) -> str:
    return "is" if number == 1 else "are"


def matching_devices(scan: Scan, ask: Ask, node: str) -> list[tuple[DeviceID, Stage]]:
    """Return the devices of a node that match an ask, each with what keeps it away: a taint, its use, or nothing.

    Capacity apart: a device that several requests share is free.
    """
    rules, found = scan.rules, []
    alone, tainting = scan.views.held_on(node, rules.allocated)[0], rules.gates.device_taints
    for at, (item, match) in enumerate(zip(scan.views.view(node).devices, scan.views.stages(ask, node), strict=True)):
        if match == "match" and not hiding_gate(rules.gates, item.device):
            tainted = tainting and (item.device.taints or rules.cluster.taint_rules)
            kept_away = tainted and not is_tolerated(rules.cluster, rules.release, ask, item)
            found.append((item.id, Stage.TAINT if kept_away else Stage.IN_USE if at in alone else Stage.FREE))
    return found


def noun_of(scan: Scan, ask: Ask, node: str) -> str:
    """Return what the devices of a node that match a request are called, as a plural."""
    kinds = set(scan.kinds_matched(ask, node))
    return _NOUNS.get(kinds.pop(), "devices") if len(kinds) == 1 else "devices"
