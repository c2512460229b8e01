"""What is free by kind of devices; of partitions, what the shared counters can provide at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dra_lab.cel.matching import ERROR, MATCH, SELECTOR
from dra_lab.index.catalogue import kind_of
from dra_lab.index.in_use import Counter as Drawn
from dra_lab.index.in_use import Draws, consumption, counted_pools
from dra_lab.index.pools import PoolDevice, pools_of
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import parse_quantity
from dra_lab.planner.budget import Budget
from dra_lab.planner.fleet.question import FleetProblem
from dra_lab.planner.node.device_tests import is_tolerated, left_of
from dra_lab.planner.node.eligible import Rules, is_shareable
from dra_lab.planner.places.shapes import COUNTED_KINDS

KINDS = (*COUNTED_KINDS, "other")
"""The kinds of devices that are counted apart."""

PARTITIONS = "partitions of "
"""Before the name of a kind: those of its devices that are partitions."""


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


class FreeDevices:
    """What is free by kind: devices that are available and that no claim holds alone, CPUs by what is left of them."""

    def __init__(self, fleet: FleetProblem, counters: CounterCapacity) -> None:
        """Note which kinds of devices the claims request."""
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
            equal = {(views.view(n).kinds, views.answers(ask, n).by_node[n]): n for n in self._fleet.examined}
            kinds: dict[str, set[str]] = {}
            for node in equal.values():
                for item, stage in zip(views.view(node).devices, views.stages(ask, node), strict=True):
                    kinds.setdefault(stage, set()).add(self._name(item))
            found |= kinds.get(MATCH) or kinds.get(SELECTOR, set()) | kinds.get(ERROR, set())
        return frozenset(found) or frozenset(KINDS)

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
                    found[PARTITIONS + kind] += amount
                elif (draws := books.draws(item)) is not None:
                    # of CPUs that draw on counters all but the first are counted as if these lasted
                    found[kind] += amount - 1
                    found[PARTITIONS + kind] += amount - 1
                    parts.setdefault(kind, {})[item.id] = draws
        for kind, draws_of in parts.items():
            provided = self._counters.most(draws_of, books.left)
            found[kind] += provided.count
            # devices of another kind that draw as well may leave less of this one
            found[PARTITIONS + kind] += provided.uneven if len(parts) == 1 else provided.count
        return {kind: count for kind, count in found.items() if kind.removeprefix(PARTITIONS) in self._kinds}

    def _name(self, item: PoolDevice) -> str:
        """Return the kind of a device, as it is counted; equal devices are of one kind."""
        number = item.kind.number
        if number not in self._named:
            kind = kind_of(item)
            self._named[number] = kind if kind in COUNTED_KINDS else "other"
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


@dataclass(frozen=True)
class Provided:
    """The free partitions that counters can provide at once.

    `uneven` counts those of them on counters that partitions of different sizes share: there it depends on which are in
    use how many more can be provided.
    """

    count: int = 0
    uneven: int = 0


@dataclass
class CounterCapacity:
    """Finds the most partitions that counters provide; the same state is solved once."""

    solver: str
    budget: Budget
    _known: dict[Hashable, Provided] = field(default_factory=dict)

    def most(self, draws: Mapping[DeviceID, Draws], left: Mapping[Drawn, int]) -> Provided:
        """Return the most of some devices that can be held at once, given what each draws and what is left.

        A device that draws nothing more is provided. Where a limit ends the search, what is surely no less is returned.
        """
        free = sum(1 for mine in draws.values() if not mine)
        found = [Provided(free)]
        for part in _parts([mine for mine in draws.values() if mine]):
            amounts = {counter: left.get(counter, 0) for mine in part for counter, _ in mine}
            key = _shape(part, amounts)
            if key not in self._known:
                self._known[key] = self._of_part(part, amounts)
            found.append(self._known[key])
        return Provided(sum(one.count for one in found), sum(one.uneven for one in found))

    def _of_part(self, part: Mapping[Draws, int], left: Mapping[Drawn, int]) -> Provided:
        """Return what is provided of partitions that counters tie to one another."""
        able = {mine: size for mine, size in part.items() if all(amount <= left[counter] for counter, amount in mine)}
        every, drawn = sum(able.values()), Counter[Drawn]()
        for mine, size in able.items():
            drawn.update({counter: size * amount for counter, amount in mine})
        if all(amount <= left[counter] for counter, amount in drawn.items()):
            return Provided(every)
        if len(able) == 1:
            ((mine, size),) = able.items()
            return Provided(min(size, *(left[counter] // amount for counter, amount in mine)))
        most = self._solved(able, left)
        return Provided(most, most)

    def _solved(self, able: Mapping[Draws, int], left: Mapping[Drawn, int]) -> int:
        """Return the most of some partitions by the solver, whose sets are held against the counters in whole numbers.

        Amounts in bytes are more than it can tell apart: a set that overdraws a counter is ruled out, and it goes on.
        """
        # The solver takes half a second to import; only who asks waits for it.
        from dra_lab.planner.node.solver import minimise
        from dra_lab.planner.node.variables import pulp

        every = [mine for mine, size in able.items() for _ in range(size)]
        lp = pulp.LpProblem("provided", pulp.LpMinimize)
        takes = [lp.add_variable(f"x_{at}", 0, 1, pulp.LpInteger) for at in range(len(every))]
        counters = sorted({counter for mine in able for counter, _ in mine})
        for number, counter in enumerate(counters):
            drawn = {take: dict(mine).get(counter, 0) for take, mine in zip(takes, every, strict=True)}
            row = pulp.LpAffineExpression({take: each / left[counter] for take, each in drawn.items() if each})
            lp += row <= 1, f"counter_{number}"
        ruled_out = 0
        while True:
            outcome = minimise(lp, dict.fromkeys(takes, -1), self.solver, self.budget)
            if not outcome.proven:
                return len(every) if outcome.bound is None else -outcome.bound
            chosen = [at for at, take in enumerate(takes) if take.varValue]
            over = next((c for c in counters if sum(dict(every[at]).get(c, 0) for at in chosen) > left[c]), None)
            if over is None:
                return len(chosen)
            cover = [takes[at] for at in chosen if dict(every[at]).get(over)]
            lp += pulp.lpSum(cover) <= len(cover) - 1, f"cover_{ruled_out}"
            ruled_out += 1


def _parts(draws: Sequence[Draws]) -> Iterator[Mapping[Draws, int]]:
    """Yield partitions that have counters in common, directly or by others, equal ones counted."""
    parts: list[tuple[set[Drawn], Counter[Draws]]] = []
    for mine, size in Counter(draws).items():
        counters, found = {counter for counter, _ in mine}, Counter({mine: size})
        for other in [part for part in parts if part[0] & counters]:
            parts.remove(other)
            counters |= other[0]
            found.update(other[1])
        parts.append((counters, found))
    for _, found in parts:
        yield found


def _shape(part: Mapping[Draws, int], left: Mapping[Drawn, int]) -> Hashable:
    """Return what a part is like, whatever its counters are called: other GPUs have sets with other names."""
    number = {counter: at for at, counter in enumerate(sorted(left))}
    rows = sorted((tuple((number[counter], amount) for counter, amount in mine), size) for mine, size in part.items())
    return tuple(rows), tuple(left[counter] for counter in sorted(left))
