"""How one replica of a claim can be served on a node: every choice of devices, and what each takes; no solver."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from dra_lab.checks.plan_amounts import amounts_taken, capacity_taken, counters_left, draws_of
from dra_lab.checks.plan_audit import AuditedPlan
from dra_lab.checks.plan_devices import all_devices, looks_at_every, stopping
from dra_lab.checks.plan_places import losses
from dra_lab.index.pools import Pool
from dra_lab.model.names import DeviceID, part_of
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.sketch import MAX_DEVICES, Ask, How, Link, asks, covers

Amount = int | Fraction

Use = Mapping[Hashable, Amount]
"""Amounts of what can run out: identical devices that one request uses, capacities of shared ones, counters."""

Part = tuple[Ask, tuple[DeviceID, ...]]
"""A way to ask, and the devices that serve it."""


class Opens(NamedTuple):
    """The first share of a device, which draws on counters once for all of them (docs/semantics.md 3.10.6, 3.10.7)."""

    device: DeviceID


class Unknown(Exception):
    """It is not found out here."""


class PlacementOptions:
    """The choices of devices with which one replica of a plan's claim can be served on its node."""

    most_steps = 6_000
    """Choices that are looked at, above which the answer is not found out."""

    def __init__(self, held: AuditedPlan, links: Sequence[Link], most_devices: int) -> None:
        """Take a plan's cluster, node and drawing, and the links that each replica keeps; its devices do not matter."""
        self.held, self.links, self.most_devices = held, links, most_devices
        self.steps = 0
        self._choices: dict[str, tuple[tuple[tuple[DeviceID, ...], Use], ...]] = {}

    # ---------------------------------------------------------------- what there is

    @cached_property
    def able(self) -> Mapping[str, tuple[DeviceID, ...]]:
        """Return the devices that may serve each way to ask, by its reference."""
        held = self.held
        if len(held.devices) > self.most_devices:
            raise Unknown
        return {
            reference: tuple(device for device in held.devices if self._is_able(ask, device))
            for reference, ask in held.asks.items()
        }

    def _is_able(self, ask: Ask, device: DeviceID) -> bool:
        """Say whether a device may serve a way to ask, with what is in use left as it is."""
        held = self.held
        if not held.release.enabled("DRAConsumableCapacity") and (
            ask.capacity or device in held.cluster.allocated.shares
        ):
            return False
        # a device that is shared already draws on no counter any more
        pays = held.devices[device].consumes_counters and not self._is_open(device)
        if pays and device[:2] in self._overdrawn:
            return False
        return not any(stopping(held, ask, device)) and self._amounts(ask, device) is not None

    def _is_open(self, device: DeviceID) -> bool:
        return self.held.shareable(device) and device in self.held.cluster.allocated.shares

    @cached_property
    def _overdrawn(self) -> frozenset[tuple[str, str]]:
        """Return the pools with a counter that is overdrawn: no device that draws on any is given (3.10)."""
        lefts = {(pool.driver, pool.name): self._counters(pool) for pool in self.held.pools}
        return frozenset(name for name, left in lefts.items() if any(amount < 0 for amount in left.values()))

    def _counters(self, pool: Pool) -> Mapping[tuple[str, str], Fraction]:
        return counters_left(self.held.cluster, pool, self.held.cluster.allocated)

    def _amounts(self, ask: Ask, device: DeviceID) -> Mapping[str, Fraction] | None:
        """Return what an ask takes of a device that is free, None where the device has too little."""
        if not self.held.release.enabled("DRAConsumableCapacity"):
            return {}
        capacity = self.held.devices[device].capacity
        amounts = capacity_taken(self.held.devices[device], ask.capacity, self.held.release)
        enough = amounts is not None and all(amounts[key] <= parse_quantity(capacity[key].value) for key in amounts)
        return amounts if enough else None

    @cached_property
    def names(self) -> Mapping[DeviceID, Hashable]:
        """Return under which name each device is counted: those taken alone that nothing tells apart have one."""
        serves: dict[DeviceID, list[str]] = defaultdict(list)
        for reference, devices in self.able.items():
            for device in devices:
                serves[device].append(reference)
        found: dict[DeviceID, Hashable] = {}
        for device, references in serves.items():
            item = self.held.published[device]
            own = item.device if item.slice.spec.per_device_node_selection else item.slice.spec
            shared, counted = self.held.shareable(device), bool(item.device.consumes_counters)
            several = own.node_selector is not None and len(own.node_selector.node_selector_terms) != 1
            if several:
                raise Unknown
            values = tuple(self.held.values(device, link) for link in self.links)
            draws = (device[:2], tuple(sorted(draws_of([item.device]).items()))) if counted else ()
            found[device] = device if shared else (tuple(references), values, draws)
        return found

    @cached_property
    def free(self) -> Use:
        """Return what there is of everything that can run out."""
        held, found = self.held, dict[Hashable, Amount]()
        for device, name in self.names.items():
            if not held.shareable(device):
                found[name] = found.get(name, 0) + 1
                continue
            consumed = held.cluster.allocated.consumed.get(device, {})
            if held.devices[device].consumes_counters:
                found[Opens(device)] = int(device not in held.cluster.allocated.shares)
            for key, capacity in held.devices[device].capacity.items():
                found[device, key] = parse_quantity(capacity.value) - consumed.get(key, Fraction())
        for pool in held.pools:
            if any(device[:2] == (pool.driver, pool.name) for device in self.names):
                for counter, left in self._counters(pool).items():
                    found[pool.driver, pool.name, *counter] = left if left > 0 else 0
        return found

    def _use(self, device: DeviceID, amounts: Mapping[str, Fraction]) -> Use:
        """Return what is gone when a device is taken once."""
        if self.held.shareable(device):
            found: dict[Hashable, Amount] = {(device, key): _plain(amount) for key, amount in amounts.items()}
            if self.held.devices[device].consumes_counters:
                found[Opens(device)] = 1
            return found
        return {self.names[device]: 1} | self.draws(device)

    def draws(self, device: DeviceID) -> dict[Hashable, Amount]:
        """Return what a device draws on counters."""
        draws = draws_of([self.held.devices[device]])
        return {(*device[:2], *counter): _plain(amount) for counter, amount in draws.items()}

    def paid(self, use: Use, free: Use) -> dict[Hashable, Amount]:
        """Return what a use takes of what is free, with the draws of the devices that it is the first to share."""
        plain = {name: amount for name, amount in use.items() if not isinstance(name, Opens)}
        first = [name.device for name in use if isinstance(name, Opens) and free.get(name)]
        return summed([plain, *map(self.draws, first)])

    def after(self, free: Use, use: Use) -> dict[Hashable, Amount]:
        """Return what a use leaves."""
        paid = self.paid(use, free)
        opened = {name: 0 for name in use if isinstance(name, Opens)}
        return {name: left - paid.get(name, 0) for name, left in free.items()} | opened

    def taken(self, held: AuditedPlan) -> Use:
        """Return what a plan's devices take; of those that no replica can use, only what they draw on counters."""
        mine = [p for p in held.plan.placements if p.device in self.names]
        useless = {p.device for p in held.plan.placements if p.device not in self.names and not self._is_open(p.device)}
        return summed((*(self._use(p.device, amounts_taken(held, p) or {}) for p in mine), *map(self.draws, useless)))

    # ---------------------------------------------------------------- what a replica may take

    def served(self, free: Use) -> Iterator[tuple[tuple[Part, ...], Use]]:
        """Yield every choice of devices that is free for a replica, request by request, and what it takes.

        Raises:
            Unknown: There are too many choices, or a rule decides that is not tried here.
        """
        yield from self._served((), {}, free)

    def _served(self, parts: tuple[Part, ...], use: Use, free: Use) -> Iterator[tuple[tuple[Part, ...], Use]]:
        requests = self.held.plan.sketch.requests
        if len(parts) == len(requests):
            yield parts, use
            return
        whole = len(parts) + 1 == len(requests)
        for ask in asks(requests[len(parts)]):
            for devices, more in self._picked(ask):
                self.step()
                longer = (*parts, (ask, devices))
                if self._keeps(longer, pairs=whole) and is_within(self.paid(both := summed((use, more)), free), free):
                    yield from self._served(longer, both, free)

    def _picked(self, ask: Ask) -> Iterable[tuple[tuple[DeviceID, ...], Use]]:
        """Return every choice of devices for a request, but for those that nothing tells apart; and what it takes."""
        if ask.reference not in self._choices:
            self._choices[ask.reference] = tuple(self._choose(ask))
        return self._choices[ask.reference]

    def _choose(self, ask: Ask) -> Iterator[tuple[tuple[DeviceID, ...], Use]]:
        held, able = self.held, self.able[ask.reference]
        wanted = ask.count
        if ask.all_devices:
            every = all_devices(held, ask)
            wanted = len(every)
            if not every or not set(every) <= set(able) or any(looks_at_every(held, ask)):
                return
            # Up to 1.36, All does not mean a shareable device that has too little left.
            able = tuple(every)
        identical: dict[Hashable, list[DeviceID]] = {}
        for device in able:
            identical.setdefault(self.names[device], []).append(device)
        yield from self._chosen(ask, wanted, list(identical.values()))

    def _chosen(
        self, ask: Ask, wanted: int, identical: Sequence[Sequence[DeviceID]]
    ) -> Iterator[tuple[tuple[DeviceID, ...], Use]]:
        self.step()
        if not wanted:
            yield (), {}
            return
        if sum(map(len, identical)) < wanted:
            return
        for count in range(min(wanted, len(identical[0])), -1, -1):
            mine = tuple(identical[0][:count])
            used = summed(self._use(device, self._amounts(ask, device) or {}) for device in mine)
            for others, more in self._chosen(ask, wanted - count, identical[1:]):
                yield (*mine, *others), summed((used, more))

    def _keeps(self, parts: Sequence[Part], *, pairs: bool) -> bool:
        """Say whether a replica may stand so: its links, and 32 devices in a claim; `pairs` says that it is whole."""
        claims = Counter(part_of(ask.request)[0] for ask, devices in parts for _ in devices)
        if any(count > MAX_DEVICES for count in claims.values()):
            return False
        for link in self.links:
            tied = [devices for ask, devices in parts if any(covers(reference, ask) for reference in link.requests)]
            if link.how not in (How.TOGETHER, How.APART) and not pairs:
                continue
            known = all(self.held.values(device, link) for part in tied for device in part)
            if not known or losses(self.held, link, tied):
                return False
        return True

    def step(self) -> None:
        """Count a choice. Raises Unknown when there were too many."""
        self.steps += 1
        if self.steps > self.most_steps:
            raise Unknown


def summed(uses: Iterable[Use]) -> dict[Hashable, Amount]:
    """Return what several uses take together."""
    found: dict[Hashable, Amount] = {}
    for use in uses:
        for name, amount in use.items():
            found[name] = found.get(name, 0) + amount
    return found


def is_within(less: Use, more: Use) -> bool:
    """Say whether one use takes no more of anything than another."""
    return all(amount <= more.get(name, 0) for name, amount in less.items())


def _plain(amount: Fraction) -> Amount:
    """Return a whole number as one: it is counted with much faster."""
    return amount.numerator if amount.denominator == 1 else amount
