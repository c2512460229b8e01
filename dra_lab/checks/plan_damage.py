"""What a plan costs other pods: how many replicas of its claim fit before and after it, by trying all; no solver.

Not counted are nodes of more than MOST_DEVICES devices, searches of more than STEPS, requests that were split, shared
devices that are taken without end, counters that are overdrawn, and devices with a node selector of several terms.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from operator import sub
from typing import NamedTuple

from msgspec.structs import replace

from dra_lab.checks.held_plan import HeldPlan, broken
from dra_lab.checks.plan_amounts import amounts_taken, capacity_taken, counters_left, draws_of, is_split
from dra_lab.checks.plan_devices import all_devices, looks_at_every, stopping
from dra_lab.checks.plan_places import losses
from dra_lab.findings import Finding
from dra_lab.model.names import DeviceID, part_of
from dra_lab.model.plan import DAMAGE
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.sketch import MAX_DEVICES, Ask, How, asks, covers

MOST_DEVICES = 64
MOST_WAYS = 400
STEPS = 6_000
"""Devices on the node, ways to place a replica, and steps of each search, above which `damage` is not counted anew."""

Amount = int | Fraction

Use = Mapping[Hashable, Amount]
"""Amounts of what can run out: alike devices that are taken alone, capacities of shared ones, counters."""

_Part = tuple[Ask, tuple[DeviceID, ...]]


class _Opens(NamedTuple):
    """The first share of a device, which draws on counters once for all of them (3.10, rules 60 and 61)."""

    device: DeviceID


class _Unknown(Exception):
    """It is not found out here."""


def damage_told(held: HeldPlan, others: Others) -> Iterator[Finding]:
    """`damage` as GOALS defines it; where the plan says "at most", no less than that."""
    goal = next((goal for goal in held.plan.goals if goal.goal == DAMAGE), None)
    if goal is None or any(is_split(held, reference) for reference in held.taken):
        return
    lost = others.lost(held)
    if lost is not None and (goal.value < lost if goal.at_most else goal.value != lost):
        yield broken("goal", DAMAGE, f"the plan says {goal.words}, {lost} fewer replicas fit beside it")


class Others:
    """The replicas of a plan's claim that fit on its node as things are, every preferred link of theirs being kept."""

    def __init__(self, held: HeldPlan, most_devices: int = MOST_DEVICES) -> None:
        """Take a plan's cluster, node and drawing; its devices do not matter."""
        self.held, self.most_devices = held, most_devices
        self.links = [replace(link, must=True) for link in held.plan.sketch.links]
        self._steps, self._hopeless = 0, False
        self._opening: list[tuple[int, tuple[Amount, ...]]] = []
        self._choices: dict[str, tuple[tuple[tuple[DeviceID, ...], Use], ...]] = {}

    def lost(self, held: HeldPlan) -> int | None:
        """Return how many fewer replicas fit once a plan's devices are taken, None where that is not found out."""
        if self._hopeless:
            return None
        try:
            free = self._free
            return self._most(free) - self._most(self._after(free, self._taken(held)))
        except _Unknown:
            self._hopeless = True
            return None

    def for_certain(self, wanted: int) -> int:
        """Return how many replicas fit for certain, at most `wanted`: each takes the first way that is left."""
        found, self._steps = 0, 0
        try:
            free = dict(self._free)
            while found < wanted and (use := next(self._served((), {}, free), None)) is not None:
                free = self._after(free, use)
                found += 1
        except _Unknown:
            pass
        return found

    # ---------------------------------------------------------------- what there is

    @cached_property
    def _able(self) -> Mapping[str, tuple[DeviceID, ...]]:
        """Return the devices that may serve each way to ask, by its reference."""
        held = self.held
        if len(held.devices) > self.most_devices or any(ask.admin_access for ask in held.ways.values()):
            raise _Unknown
        return {
            reference: tuple(
                device
                for device in held.devices
                if not any(stopping(held, ask, device)) and self._amounts(ask, device) is not None
            )
            for reference, ask in held.ways.items()
        }

    def _amounts(self, ask: Ask, device: DeviceID) -> Mapping[str, Fraction] | None:
        """Return what an ask takes of a device that is free, None where the device has too little."""
        if not self.held.release.enabled("DRAConsumableCapacity"):
            return {}
        capacity = self.held.devices[device].capacity
        amounts = capacity_taken(self.held.devices[device], ask.capacity, self.held.release)
        enough = amounts is not None and all(amounts[key] <= parse_quantity(capacity[key].value) for key in amounts)
        return amounts if enough else None

    @cached_property
    def _names(self) -> Mapping[DeviceID, Hashable]:
        """Return under which name each device is counted: those taken alone that nothing tells apart have one."""
        serves: dict[DeviceID, list[str]] = defaultdict(list)
        for reference, devices in self._able.items():
            for device in devices:
                serves[device].append(reference)
        found: dict[DeviceID, Hashable] = {}
        for device, references in serves.items():
            item = self.held.published[device]
            own = item.device if item.slice.spec.per_device_node_selection else item.slice.spec
            shared, counted = self.held.shareable(device), bool(item.device.consumes_counters)
            several = own.node_selector is not None and len(own.node_selector.node_selector_terms) != 1
            if several:
                raise _Unknown
            values = tuple(self.held.values(device, link) for link in self.links)
            draws = (device.pool, tuple(sorted(draws_of([item.device]).items()))) if counted else ()
            found[device] = device if shared else (tuple(references), values, draws)
        return found

    @cached_property
    def _free(self) -> Use:
        held, found = self.held, dict[Hashable, Amount]()
        for device, name in self._names.items():
            if not held.shareable(device):
                found[name] = found.get(name, 0) + 1
                continue
            consumed = held.cluster.allocated.consumed.get(device, {})
            if held.devices[device].consumes_counters:
                found[_Opens(device)] = int(device not in held.cluster.allocated.shares)
            for key, capacity in held.devices[device].capacity.items():
                found[device, key] = parse_quantity(capacity.value) - consumed.get(key, Fraction())
        for pool in held.pools:
            if any(device[:2] == (pool.driver, pool.name) for device in self._names):
                left = counters_left(held.cluster, pool, held.cluster.allocated)
                if any(amount < 0 for amount in left.values()):
                    raise _Unknown
                found.update({(pool.driver, pool.name, *counter): amount for counter, amount in left.items()})
        return found

    def _use(self, device: DeviceID, amounts: Mapping[str, Fraction]) -> Use:
        """Return what is gone when a device is taken once."""
        if self.held.shareable(device):
            found: dict[Hashable, Amount] = {(device, key): _plain(amount) for key, amount in amounts.items()}
            if self.held.devices[device].consumes_counters:
                found[_Opens(device)] = 1
            return found
        return {self._names[device]: 1} | self._draws(device)

    def _draws(self, device: DeviceID) -> dict[Hashable, Amount]:
        draws = draws_of([self.held.devices[device]])
        return {(*device[:2], *counter): _plain(amount) for counter, amount in draws.items()}

    def _paid(self, use: Use, free: Use) -> dict[Hashable, Amount]:
        """Return what a use takes of what is free, with the draws of the devices that it is the first to share."""
        plain = {name: amount for name, amount in use.items() if not isinstance(name, _Opens)}
        first = [name.device for name in use if isinstance(name, _Opens) and free.get(name)]
        return _sum([plain, *map(self._draws, first)])

    def _after(self, free: Use, use: Use) -> dict[Hashable, Amount]:
        """Return what a use leaves."""
        paid = self._paid(use, free)
        opened = {name: 0 for name in use if isinstance(name, _Opens)}
        return {name: left - paid.get(name, 0) for name, left in free.items()} | opened

    def _taken(self, held: HeldPlan) -> Use:
        if any(placement.device not in self._names for placement in held.plan.placements):
            raise _Unknown
        return _sum(self._use(p.device, amounts_taken(held, p) or {}) for p in held.plan.placements)

    # ---------------------------------------------------------------- what a replica may take

    @cached_property
    def _replicas(self) -> tuple[Use, ...]:
        """Return what a replica may take, each once, without what takes more of all than another one."""
        self._steps = 0
        found: dict[frozenset[tuple[Hashable, Amount]], Use] = {}
        for use in self._served((), {}, self._free):
            own = {name: amount for name, amount in use.items() if amount}
            found[frozenset(own.items())] = own
            if all(isinstance(name, _Opens) for name in own) or len(found) > MOST_WAYS:
                raise _Unknown
        uses = found.values()
        return tuple(use for use in uses if not any(_within(less, use) for less in uses if less is not use))

    def _served(self, parts: tuple[_Part, ...], use: Use, free: Use) -> Iterator[Use]:
        """Serve the requests that come after some parts from what is free, in every way."""
        requests = self.held.plan.sketch.requests
        if len(parts) == len(requests):
            yield use
            return
        whole = len(parts) + 1 == len(requests)
        for ask in asks(requests[len(parts)]):
            for devices, more in self._picked(ask):
                self._step()
                longer = (*parts, (ask, devices))
                if self._keeps(longer, pairs=whole) and _within(self._paid(both := _sum((use, more)), free), free):
                    yield from self._served(longer, both, free)

    def _picked(self, ask: Ask) -> Sequence[tuple[tuple[DeviceID, ...], Use]]:
        """Return every choice of devices for a request, but for those that nothing tells apart; and what it takes."""
        if ask.reference not in self._choices:
            self._choices[ask.reference] = tuple(self._choose(ask))
        return self._choices[ask.reference]

    def _choose(self, ask: Ask) -> Iterator[tuple[tuple[DeviceID, ...], Use]]:
        held, able = self.held, self._able[ask.reference]
        wanted = ask.count
        if ask.all_devices:
            every = all_devices(held, ask)
            wanted = len(every)
            if not every or not set(every) <= set(able) or any(looks_at_every(held, ask)):
                return
            # Up to 1.36, All does not mean a shareable device that has too little left.
            able = tuple(every)
        alike: dict[Hashable, list[DeviceID]] = {}
        for device in able:
            alike.setdefault(self._names[device], []).append(device)
        yield from self._chosen(ask, wanted, list(alike.values()))

    def _chosen(
        self, ask: Ask, wanted: int, alike: Sequence[Sequence[DeviceID]]
    ) -> Iterator[tuple[tuple[DeviceID, ...], Use]]:
        self._step()
        if not wanted:
            yield (), {}
            return
        if sum(map(len, alike)) < wanted:
            return
        for count in range(min(wanted, len(alike[0])), -1, -1):
            mine = tuple(alike[0][:count])
            used = _sum(self._use(device, self._amounts(ask, device) or {}) for device in mine)
            for others, more in self._chosen(ask, wanted - count, alike[1:]):
                yield (*mine, *others), _sum((used, more))

    def _keeps(self, parts: Sequence[_Part], *, pairs: bool) -> bool:
        """Say whether a replica may stand so: the links, `pairs` only where it is whole; 32 devices in each claim."""
        claims = Counter(part_of(ask.request)[0] for ask, devices in parts for _ in devices)
        if any(count > MAX_DEVICES for count in claims.values()):
            return False
        for link in self.links:
            tied = [devices for ask, devices in parts if any(covers(reference, ask) for reference in link.requests)]
            if link.how is How.PAIRWISE and not pairs:
                continue
            known = all(self.held.values(device, link) for part in tied for device in part)
            if not known or losses(self.held, link, tied):
                return False
        return True

    # ---------------------------------------------------------------- how many fit

    def _most(self, free: Use) -> int:
        """Return how many replicas fit into what is free."""
        self._steps = 0
        taken = {name for use in self._replicas for name in use}
        drawn = {counter for name in taken if isinstance(name, _Opens) for counter in self._draws(name.device)}
        names = sorted(taken | drawn, key=repr)
        uses = [tuple(use.get(name, 0) for name in names) for use in self._replicas]
        rows = self._rows(names, uses)
        self._opening = [
            (at, tuple(draws.get(name, 0) for name in names))
            for at, name in enumerate(names)
            if isinstance(name, _Opens)
            for draws in [self._draws(name.device)]
        ]
        return self._more(uses, rows, {}, 0, tuple(free.get(name, 0) for name in names)) if uses else 0

    def _more(
        self,
        uses: Sequence[tuple[Amount, ...]],
        rows: Sequence[tuple[Sequence[int], Amount]],
        known: dict[tuple[int, tuple[Amount, ...]], int],
        first: int,
        left: tuple[Amount, ...],
    ) -> int:
        """Return how many replicas fit into what is left, of the ways from the `first` on."""
        # A function inside `_most` that calls itself would keep the cluster until garbage is collected.
        if (first, left) not in known:
            best, bound = 0, min((sum(left[n] for n in row) // least for row, least in rows), default=None)
            for at in range(first, len(uses)):
                if best == bound:
                    break
                self._step()
                rest = self._rest(left, uses[at])
                if min(rest) >= 0:
                    best = max(best, 1 + self._more(uses, rows, known, at, rest))
            known[first, left] = best
        return known[first, left]

    def _rest(self, left: tuple[Amount, ...], use: tuple[Amount, ...]) -> tuple[Amount, ...]:
        """Return what one way leaves; a device that is shared for the first time draws on its counters."""
        rest = tuple(map(sub, left, use))
        for at, draws in self._opening:
            if left[at] and use[at]:
                rest = tuple(map(sub, rest, draws))
            rest = (*rest[:at], left[at] if not use[at] else 0, *rest[at + 1 :])
        return rest

    def _rows(
        self, names: Sequence[Hashable], uses: Sequence[tuple[Amount, ...]]
    ) -> Sequence[tuple[Sequence[int], Amount]]:
        """Return what ends the count: amounts that may serve a request, and the least that a replica takes of them."""
        sets = [{self._names[device] for device in devices} for devices in self._able.values()]
        rows = [[n for n, name in enumerate(names) if name in own] for own in sets] + [
            [n] for n, name in enumerate(names) if not isinstance(name, _Opens)
        ]
        found = [(row, min(sum(use[n] for n in row) for use in uses)) for row in rows if row and uses]
        return [(row, least) for row, least in found if least > 0]

    def _step(self) -> None:
        self._steps += 1
        if self._steps > STEPS:
            raise _Unknown


def _sum(uses: Iterable[Use]) -> dict[Hashable, Amount]:
    found: dict[Hashable, Amount] = {}
    for use in uses:
        for name, amount in use.items():
            found[name] = found.get(name, 0) + amount
    return found


def _within(less: Use, more: Use) -> bool:
    return all(amount <= more.get(name, 0) for name, amount in less.items())


def _plain(amount: Fraction) -> Amount:
    """Return a whole number as one: it is counted with much faster."""
    return amount.numerator if amount.denominator == 1 else amount
