"""Fragmentation: free capacity that no aligned claim can use, on each node and in all."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec.structs import replace as changed

from dra_lab.cel.matching import ERROR, MATCH, SELECTOR
from dra_lab.errors import InputError
from dra_lab.index.catalogue import kind_of
from dra_lab.index.counters_left import Counter as Drawn
from dra_lab.index.counters_left import Draws, consumption, counted_pools
from dra_lab.index.pools import PoolDevice, pools_of
from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import MOST_COUNTED, Stranded, StrandedKind, StrandedNodes
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Plan
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch
from dra_lab.model.workload import Workload
from dra_lab.planner.arguments import listed
from dra_lab.planner.budget import Budget, Progress
from dra_lab.planner.fleet.after import cluster_after
from dra_lab.planner.fleet.counter_capacity import CounterCapacity
from dra_lab.planner.fleet.question import FleetProblem, look_at
from dra_lab.planner.fleet.together import shared_nodes
from dra_lab.planner.node.device_tests import is_tolerated, left_of
from dra_lab.planner.node.eligible import Rules, is_shareable
from dra_lab.planner.waiting import awaited

_NAMED = ("gpu", "nic", "cpu")
_KINDS = (*_NAMED, "other")
_PARTITIONS = "partitions of "


@awaited
def stranded(
    cluster: Cluster,
    claims: Sequence[ClaimSketch],
    *,
    release: KubernetesRelease | str | None = None,
    after: Plan | None = None,
    time_limit: float | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: threading.Event | None = None,
    solver: str = "HiGHS",
) -> Stranded:
    """Return the aligned capacity that no claim can use: free devices, less the most that aligned pods can use of them.

    Aligned means that every link of a claim holds, preferred ones too. Any number of pods of each claim may run side by
    side. Only the kinds of devices that the claims request are counted, without requests with admin access. Each kind
    is counted by itself, so the packing that uses most GPUs may differ from the one that uses most NICs.

    A free device is available, and no claim holds it alone. A taint of effect NoSchedule or NoExecute makes a device
    unavailable unless a request that matches the device tolerates the taint. The charts do not know the claims, and
    show every such device as not available. CPUs of a shareable device are what is left of the capacity that the
    claims request (the first by name, if there are several).

    A partition counts as free only if shared counters can still provide it beside the others. Partitions of different
    sizes that share counters also count as `partitions`: only the most that may be stranded of them is known.

    Args:
        cluster: The cluster to count on.
        claims: The drawings of the claims that are to use the capacity, one at least.
        release: The release to plan for; default: that of the cluster.
        after: A plan whose pods count as there; default: none.
        time_limit: Seconds after which the count so far is returned; default None: no limit.
        progress: Is called in this thread with each step. Default: a bar in a cell of a notebook, nothing elsewhere.
        cancel: Ends the search when it is set. Default: an interrupt of the cell does that in a notebook.
        solver: Name of the PuLP solver.

    Returns:
        Numbers of devices, or of whole CPUs, by kind: in all, and on each class of identical nodes. Nodes that share
        devices are reported together. Numbers that are not proven have their bound. Nodes that were not examined before
        a limit or a cancel are not in them; `not_examined` counts these.

    Raises:
        InputError: There are no claims, or the release is unknown.
        SketchError: A drawing is inconsistent.
        CelCompileError: A selector does not compile.
        UnsupportedFeature: A claim uses a rule of DRA that is not known here.
        SolverError: The solver is missing or failed.

    Example:
        >>> from dra_lab import load_cluster, read_sketch, stranded
        >>> # On a sample cluster.
        >>> found = stranded(load_cluster("sample:two-sockets"), [read_sketch("sample:two-sockets/lesson")])
        >>> [(kind.kind, kind.free, kind.usable, kind.stranded) for kind in found.kinds], found.proven
        ([('gpu', 7, 6, 1)], True)
    """
    began = time.monotonic()
    release = cluster.target_release(release)
    claims = listed("claims", claims, ClaimSketch)
    if not claims:
        raise InputError("what is stranded depends on the claims that are to use it; give one at least")
    budget = Budget(None if time_limit is None else began + time_limit, cancel, progress)
    pods = [
        Workload(
            f"claim-{at}",
            (changed(claim, links=tuple(changed(link, must=True) for link in claim.links)),),
            replicas=MOST_COUNTED,
        )
        for at, claim in enumerate(claims)
    ]
    looking = budget.part(budget.shares.first)
    fleet = look_at(cluster_after(cluster, after, release), pods, release, looking)
    rows = tuple(_rows(fleet, budget, solver))
    names = tuple(claim.name for claim in claims)
    left = len(set(fleet.scan.rules.nodes).difference(*(row.nodes for row in rows)))
    return Stranded(names, _in_all(rows), rows, time.monotonic() - began, left)


def _in_all(rows: Sequence[StrandedNodes]) -> tuple[StrandedKind, ...]:
    sums: dict[str, list[int]] = {}
    for row in rows:
        times = 1 if row.together else len(row.nodes)
        for kind in row.kinds:
            mine = sums.setdefault(kind.kind, [0, 0, 0, 0])
            for at, value in enumerate((kind.free, kind.usable, kind.bound, kind.partitions)):
                mine[at] += value * times
    return tuple(StrandedKind(kind, *sums[kind]) for kind in _KINDS if kind in sums)


def _rows(fleet: FleetProblem, budget: Budget, solver: str) -> Iterator[StrandedNodes]:
    """Yield what is stranded on every node, each once; nodes with equal numbers stand together.

    Nodes on which the free devices were not counted in time are left out.
    """
    # The solver takes half a second to import; only who asks waits for it.
    from dra_lab.planner.fleet.usage import Bounds, Usage

    free = _Free(fleet, CounterCapacity(solver, budget.part(budget.shares.step)))
    together = () if fleet.survey.plain else shared_nodes(fleet)
    coupled = {node for nodes in together for node in nodes}
    rows = dict(free.counted([node for node in _examined(fleet) if node not in coupled], budget))
    rows |= {nodes: free.on(nodes) for nodes in together}
    kinds = [kind for kind in _KINDS if any(row.get(kind) for row in rows.values())]
    on_places = {kind: {nodes: row.get(kind, 0) for nodes, row in rows.items()} for kind in kinds}
    usage, used = Usage(fleet, on_places, solver, budget), dict[str, dict[tuple[str, ...], Bounds]]()
    for kind in kinds:
        budget.report_step("patterns", f"looking at what pods use of {kind} on {len(rows):,} nodes")
        used[kind] = usage.of_kind(kind)
    identical: dict[tuple[tuple[StrandedKind, ...], tuple[str, ...]], list[str]] = {}
    for nodes, row in rows.items():
        kinds_of = tuple(_kinds(row, {kind: mine[nodes] for kind, mine in used.items()}))
        identical.setdefault((kinds_of, nodes if nodes in together else ()), []).extend(nodes)
    found = (StrandedNodes(tuple(sorted(nodes)), mine, bool(one)) for (mine, one), nodes in identical.items())
    yield from sorted(found, key=lambda row: (row.together, -len(row.nodes), row.nodes))


def _kinds(row: Mapping[str, int], used: Mapping[str, tuple[Fraction, Fraction]]) -> Iterator[StrandedKind]:
    for kind in (kind for kind in _KINDS if kind in row):
        least, most = used.get(kind, (0, 0))
        yield StrandedKind(kind, row[kind], int(least), int(most), row.get(_PARTITIONS + kind, 0))


def _examined(fleet: FleetProblem) -> Collection[str]:
    return fleet.survey.states or fleet.scan.seen


class _Books:
    """The shared counters of some nodes' pools: what is left, and what each device draws on them."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._numbers: dict[tuple[str, str], int] = {}
        self.left: dict[Drawn, int] = {}
        self._overdrawn: set[int] = set()

    def open(self, node: str) -> None:
        """Open the books of the pools that a node sees."""
        pools = counted_pools(pools_of(self._rules.cluster, node, self._rules.gates))
        for (position, *counter), amount in left_of(self._rules.cluster, pools, self._rules.allocated).items():
            pool = pools[position]
            number = self._numbers.setdefault((pool.driver, pool.name), len(self._numbers))
            self.left[number, counter[0], counter[1]] = amount
            self._overdrawn |= {number} if amount < 0 else set()

    def draws(self, item: PoolDevice) -> Draws | None:
        """Return what a device would draw, nothing where its shares have paid; None in a pool that is overdrawn."""
        if item.id in self._rules.allocated.shares:
            return ()
        number = self._numbers.get((item.id.driver, item.id.pool))
        return None if number is None or number in self._overdrawn else consumption(item.device, number)


class _Free:
    """What is free by kind: devices that are available and that no claim holds alone, CPUs by what is left of them."""

    def __init__(self, fleet: FleetProblem, counters: CounterCapacity) -> None:
        self._fleet, self._rules, self._counters = fleet, fleet.scan.rules, counters
        self._keys = {key for ask in self._rules.asks for key in ask.capacity}
        self._held, enabled = self._rules.allocated, self._rules.release.enabled
        self._tainting, self._ruled = enabled("DRADeviceTaints"), self._rules.release.counted_rules
        self._shared: dict[int, tuple[bool, str]] = {}
        self._left: dict[tuple[int, int, int], int] = {}
        self._named: dict[int, str] = {}
        self._any_rules = self._tainting and bool(self._rules.cluster.taint_rules)
        self._kinds = self._requested()

    def _requested(self) -> frozenset[str]:
        """Return the kinds of devices that the claims request, all of them if no device is of a requested class."""
        views, found = self._fleet.scan.views, set[str]()
        for ask in (ask for ask in self._rules.asks if not ask.admin_access):
            equal = {(views.view(n).kinds, views.answers(ask, n).by_node[n]): n for n in _examined(self._fleet)}
            kinds: dict[str, set[str]] = {}
            for node in equal.values():
                for item, stage in zip(views.view(node).devices, views.stages(ask, node), strict=True):
                    kinds.setdefault(stage, set()).add(self._name(item))
            found |= kinds.get(MATCH) or kinds.get(SELECTOR, set()) | kinds.get(ERROR, set())
        return frozenset(found) or frozenset(_KINDS)

    def counted(self, nodes: Iterable[str], budget: Budget) -> Iterator[tuple[tuple[str, ...], Mapping[str, int]]]:
        """Yield what is free on each of some nodes, as many as there is time for."""
        for node in nodes:
            if budget.reached:
                break
            yield (node,), self.on((node,))

    def on(self, nodes: Sequence[str]) -> Mapping[str, int]:
        """Return what is free on nodes together, and how much of it partitions are; what several see counts once.

        Once time is over, all partitions that no claim holds count: surely no less is free.
        """
        found: Counter[str] = Counter()
        parts: dict[str, dict[DeviceID, Draws]] = {}
        seen: set[DeviceID] = set()
        books, over = _Books(self._rules), self._counters.budget.reached
        several = len(nodes) > 1
        for node in nodes:
            view = self._fleet.scan.views.view(node)
            if view.counted and not over:
                books.open(node)
            alone, shared = self._fleet.scan.views.held_on(node, self._held)
            used = alone.union([at for at, _ in shared])
            for at, item in enumerate(view.devices):
                if several:
                    if item.id in seen:
                        continue
                    seen.add(item.id)
                kind = self._name(item)
                if item.kind.plain and not self._any_rules:
                    # Tens of thousands of devices: no taint, counter or share is asked for.
                    found[kind] += at not in used
                    continue
                amount = self._amount(item, kind)
                if not (item.device.consumes_counters and amount):
                    found[kind] += amount
                elif over:
                    found[kind] += amount
                    found[_PARTITIONS + kind] += amount
                elif (draws := books.draws(item)) is not None:
                    # of CPUs that draw on counters all but the first are counted as if these lasted
                    found[kind] += amount - 1
                    found[_PARTITIONS + kind] += amount - 1
                    parts.setdefault(kind, {})[item.id] = draws
        for kind, draws_of in parts.items():
            provided = self._counters.most(draws_of, books.left)
            found[kind] += provided.count
            # devices of another kind that draw as well may leave less of this one
            found[_PARTITIONS + kind] += provided.uneven if len(parts) == 1 else provided.count
        return {kind: count for kind, count in found.items() if kind.removeprefix(_PARTITIONS) in self._kinds}

    def _name(self, item: PoolDevice) -> str:
        """Return the kind of a device, as it is counted; equal devices are of one kind."""
        number = item.kind.number
        if number not in self._named:
            kind = kind_of(item)
            self._named[number] = kind if kind in _NAMED else "other"
        return self._named[number]

    def _amount(self, item: PoolDevice, kind: str) -> int:
        held = self._held
        if item.id in held.exclusive or not self._is_available(item):
            return 0
        number = item.kind.number
        if number not in self._shared:
            # Equal devices are shared alike.
            shared = bool(item.device.allow_multiple_allocations) and is_shareable(item.device, self._rules)
            counted = [key for key in item.device.capacity if key in self._keys] if shared and kind == "cpu" else []
            self._shared[number] = shared, min(counted, default="")
        shared, key = self._shared[number]
        if not key:
            return int(shared or item.id not in held.shares)
        taken = held.consumed[item.id].get(key, 0) if item.id in held.consumed else 0
        of = number, taken.numerator, taken.denominator
        if of not in self._left:
            self._left[of] = max(0, int(parse_quantity(item.device.capacity[key].value) - taken))
        return self._left[of]

    def _is_available(self, item: PoolDevice) -> bool:
        """Say whether a request that matches the device tolerates its taints."""
        rules = self._rules
        if not self._tainting or not (item.device.taints or rules.cluster.taint_rules):
            return True
        taints = rules.cluster.taints_of(item.id, item.device, rules=self._ruled)
        if not any(taint.effect in ("NoSchedule", "NoExecute") for taint in taints):
            return True
        return any(
            is_tolerated(rules.cluster, rules.release, ask, item)
            and rules.matching.match(ask, item.driver, item.device).stage == "match"
            for ask in rules.asks
            if not ask.admin_access
        )
