"""How many devices each node has left after each test of each request, and whether a cluster has too few of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import takewhile
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.findings import sentence_case
from dra_lab.index.node_index import Taken
from dra_lab.index.pools import PoolDevice
from dra_lab.model.claims import expressions
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.reasons import Funnel, FunnelStep, Scarcity
from dra_lab.model.sketch import Ask, covers
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.device_tests import Stage, device_use
from dra_lab.planner.node.eligible import AskEligibility, NodeEligibility, eligibility
from dra_lab.planner.node.link_places import place_values
from dra_lab.planner.scan import Scan
from dra_lab.sketch.links import link_words
from dra_lab.topology.locality import localities

_OF_CLASS = ("published", "class-selector", "class")
_LATER = ("gate", *(stage.test for stage in (Stage.TAINT, Stage.IN_USE, Stage.CAPACITY)))


class AskCounts(Struct, frozen=True):
    """One request on a node: the tests in their order and the devices left after each; `needed` is what it takes.

    `free` are those that it may take, links apart, and `far` the positions of such as other nodes may see too;
    `failing` counts the devices on which a selector fails.
    """

    request: str
    needed: int
    steps: tuple[FunnelStep, ...]
    failing: int
    free: int
    far: tuple[int, ...]

    @property
    def short(self) -> FunnelStep | None:
        """Return the first test, from the class on, that leaves too few devices."""
        of_class = max(at for at, step in enumerate(self.steps) if step.test in _OF_CLASS)
        return next((step for step in self.steps[of_class:] if step.count < max(1, self.needed)), None)


class NodeCounts(Struct, frozen=True):
    """All requests of a claim on nodes that have the same counts; the nodes in the order of examination."""

    asks: tuple[AskCounts, ...]
    nodes: list[str] = field(default_factory=list)


def node_counts(scan: Scan, nodes: Sequence[str], budget: Budget) -> tuple[NodeCounts, ...]:
    """Return the counts of nodes, those with the same ones together; of fewer nodes where time ended before.

    The scan's classes of equal nodes would not do: nodes are equal for a claim though more is free than it can take.
    """
    found: dict[tuple[AskCounts, ...], NodeCounts] = {}
    looks = _Looks(scan)
    for node in nodes:
        if budget.reached:
            break
        asks = looks.counts(node)
        found.setdefault(asks, NodeCounts(asks)).nodes.append(node)
    return tuple(found.values())


class _Look(Struct):
    """One request on one hardware: the tests as (name, text), and how many of them each device passes.

    `far` has the devices that several nodes may see.
    """

    part: AskEligibility
    tests: Sequence[tuple[str, str]]
    passed: Sequence[int]
    far: Sequence[int]
    known: dict[tuple[int, ...], AskCounts] = field(default_factory=dict)

    @property
    def use(self) -> int:
        """Return the position of the test of what is in use."""
        return self.tests.index((Stage.IN_USE.test, ""))

    def counts(self, used: Iterable[int]) -> AskCounts:
        """Return the counts where the devices at some positions are in use."""
        use, passed = self.use, list(self.passed)
        for at in used:
            passed[at] = min(passed[at], use)
        key = tuple(passed)
        if key not in self.known:
            self.known[key] = self._counted(key)
        return self.known[key]

    def _counted(self, passed: Sequence[int]) -> AskCounts:
        counts = [sum(count > test for count in passed) for test in range(len(self.tests))]
        gate, capacity = self.use - 2, self.use + 1
        steps = tuple(
            FunnelStep(name, counts[at], text)
            for at, (name, text) in enumerate(self.tests)
            if at != gate or counts[gate] < counts[gate - 1]
        )
        ask, far = self.part.ask, tuple(at for at in self.far if passed[at] > capacity)
        needed = ask.count or len(self.part.listed)
        return AskCounts(ask.reference, needed, steps, len(self.part.errors), counts[capacity], far)


class _Looks:
    """The looks at nodes: one for each hardware with nothing in use; what is in use is then missing.

    With All, admin access or counters a device in use does more than to be missing: then one for each state.
    """

    def __init__(self, scan: Scan) -> None:
        self._scan, self._rules = scan, scan.rules
        self._each = any(ask.all_devices or ask.admin_access for ask in scan.rules.asks)
        classes = scan.cluster.class_by_name
        own = (classes.get(ask.device_class_name) for ask in scan.rules.asks)
        # the selectors of each request's class, and its own, as written
        self._selectors = [
            (expressions(found.spec.selectors) if found is not None else (), ask.selectors)
            for found, ask in zip(own, scan.rules.asks, strict=True)
        ]
        self._looks: dict[Hashable, tuple[_Look, ...]] = {}
        self._full: dict[Hashable, bool] = {}

    def counts(self, node: str) -> tuple[AskCounts, ...]:
        """Return the counts of each request on a node."""
        scan, rules = self._scan, self._rules
        refused = tuple(self._refused(node, number) for number in range(len(self._selectors)))
        exact: Any = scan.exact.get(node)
        alone: Iterable[int] = ()
        shared: Iterable[tuple[int, Taken]] = ()
        if exact is not None and not self._each and not scan.views.view(node).counted:
            exact, alone, shared = exact
            rules = replace(rules, idle=True)
        key = (node if exact is None else exact, refused)
        if key not in self._looks:
            found = eligibility(rules, node)
            self._looks[key] = tuple(self._look(found, number) for number in range(len(found.asks)))
        return tuple(
            look.counts([*alone, *(at for at, taken in shared if self._is_full((key, number, at, taken), node, look))])
            for number, look in enumerate(self._looks[key])
        )

    def _is_full(self, memo: tuple[Hashable, int, int, Taken], node: str, look: _Look) -> bool:
        """Say whether what others take of a shared device leaves too little for a request.

        A device that never has the capacity lacks it with and without them, as in `eligibility`.
        Rules: docs/semantics.md 3.11.4, 3.11.9.
        """
        if memo not in self._full:
            *_, at, taken = memo
            device, gates = self._scan.views.view(node).devices[at].device, self._rules.gates
            use = device_use(gates, look.part.ask, device) or {}
            left = {key: parse_quantity(c.value) for key, c in device.capacity.items()}
            left |= {key: left[key] - amount for key, amount in taken if key in left}
            small = not gates.consumable_capacity or any(
                amount > left[key] for key, amount in use.items() if key in left
            )
            self._full[memo] = small and look.passed[at] > look.use + gates.consumable_capacity
        return self._full[memo]

    def _refused(self, node: str, number: int) -> tuple[int, ...]:
        """Return which selector refuses each device; () where it is clear from how far they come."""
        if max(map(len, self._selectors[number])) < 2:
            return ()
        return tuple(self._matched(number, item) for item in self._scan.views.view(node).devices)

    def _matched(self, number: int, item: PoolDevice) -> int:
        """Return how many selectors of the class and the request a device passes."""
        of_class, own = self._selectors[number]
        match = self._rules.matching.match(self._rules.asks[number], item.driver, item.device)
        if match.stage in ("match", "no-class"):
            return len(of_class) + len(own) if match.stage == "match" else 0
        first = len(of_class) if match.stage == "selector" else 0
        return (*of_class, *own).index(match.expression, first)

    def _look(self, found: NodeEligibility, number: int) -> _Look:
        part, (of_class, own) = found.asks[number], self._selectors[number]
        known = part.ask.device_class_name in self._scan.cluster.class_by_name
        links = [
            link
            for link in self._scan.sketch.links
            if link.must and any(covers(reference, part.ask) for reference in link.requests)
        ]
        tests = [
            ("published", ""),
            *(("class-selector", text) for text in of_class),
            *([] if known else [("class", part.ask.device_class_name)]),
            *(("selector", text) for text in own),
            *((name, "") for name in _LATER),
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
        return _Look(part, tests, depths, [at for at, item in enumerate(devices) if item.slice.spec.node_name is None])


_NOUNS = {"gpu": "GPUs", "nic": "NICs", "cpu": "CPU devices", "memory": "memory devices"}


def funnels(rows: Sequence[NodeCounts]) -> tuple[Funnel, ...]:
    """Return the counts of every request on every kind of node, equal ones together, most nodes first."""
    found: dict[AskCounts, list[str]] = {}
    for row in rows:
        for ask in row.asks:
            # the figures of a request are the same whichever of its devices other nodes see
            found.setdefault(replace(ask, far=()), []).extend(row.nodes)
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
