"""What a plan costs other pods: how many replicas of its claim fit before and after it, by trying all; no solver.

Not counted are nodes of more than MOST_DEVICES devices, searches that take too many steps, requests that were split,
and devices with a node selector of several terms.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import sub

from msgspec.structs import replace

from dra_lab.checks.plan_amounts import is_split
from dra_lab.checks.plan_audit import AuditedPlan, broken
from dra_lab.checks.plan_options import Amount, Opens, PlacementOptions, Unknown, Use, is_within
from dra_lab.findings import Finding
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import DAMAGE

MOST_DEVICES = 64
MOST_WAYS = 400
MOST_REPLICAS = 400
"""Devices on the node, ways to place a replica, and replicas of several ways: above these, `damage` is not counted."""


def check_damage(held: AuditedPlan, others: Others) -> Iterator[Finding]:
    """`damage` as GOALS defines it; where the plan says "at most", no less than that."""
    goal = next((goal for goal in held.plan.goals if goal.goal == DAMAGE), None)
    if goal is None or any(is_split(held, reference) for reference in held.taken):
        return
    lost = others.lost(held)
    if lost is not None and (goal.value < lost if goal.at_most else goal.value != lost):
        yield broken("goal", DAMAGE, f"the plan says {goal.words}, {lost} fewer replicas fit beside it")


class Others(PlacementOptions):
    """The replicas of a plan's claim that fit on its node as things are, every preferred link of theirs being kept."""

    def __init__(self, held: AuditedPlan, most_devices: int = MOST_DEVICES) -> None:
        """Take a plan's cluster, node and drawing; its devices do not matter."""
        links = [replace(link, must=True) for link in held.plan.sketch.links]
        super().__init__(held, links, most_devices)
        self._hopeless = False
        self._opening: list[tuple[int, tuple[Amount, ...]]] = []

    @cached_property
    def able(self) -> Mapping[str, tuple[DeviceID, ...]]:
        """Return the devices that may serve each way to ask; who has admin access takes nothing, and is not counted."""
        if any(ask.admin_access for ask in self.held.asks.values()):
            raise Unknown
        return super().able

    def lost(self, held: AuditedPlan) -> int | None:
        """Return how many fewer replicas fit once a plan's devices are taken, None where that is not found out."""
        if self._hopeless:
            return None
        try:
            after = self.after(self.free, self.taken(held))
            if self._is_endless(self.free):
                # as many as anybody wants fit before, and as many after, unless the plan takes what they all share
                return 0 if self._is_endless(after) else None
            return self._most(self.free) - self._most(after)
        except Unknown:
            self._hopeless = True
            return None

    def for_certain(self, wanted: int) -> int:
        """Return how many replicas fit for certain, at most `wanted`: each takes the first way that is left."""
        found, self.steps = 0, 0
        try:
            free = dict(self.free)
            while found < wanted and (option := next(self.served(free), None)) is not None:
                free = self.after(free, option[1])
                found += 1
        except Unknown:
            pass
        return found

    def _is_endless(self, free: Use) -> bool:
        """Say whether a replica takes nothing once its devices are shared: then there is no end of replicas."""
        return any(_takes_nothing(use) and is_within(self.paid(use, free), free) for use in self._replicas)

    @cached_property
    def _replicas(self) -> tuple[Use, ...]:
        """Return what a replica may take, each once, without what takes more of all than another one."""
        self.steps = 0
        found: dict[frozenset[tuple[Hashable, Amount]], Use] = {}
        for _, use in self.served(self.free):
            own = {name: amount for name, amount in use.items() if amount}
            found[frozenset(own.items())] = own
            if len(found) > MOST_WAYS:
                raise Unknown
        uses = found.values()
        return tuple(use for use in uses if not any(is_within(less, use) for less in uses if less is not use))

    # ---------------------------------------------------------------- how many fit

    def _most(self, free: Use) -> int:
        """Return how many replicas fit into what is free."""
        self.steps = 0
        taken = {name for use in self._replicas for name in use}
        drawn = {counter for name in taken if isinstance(name, Opens) for counter in self.draws(name.device)}
        names = sorted(taken | drawn, key=repr)
        uses = [tuple(use.get(name, 0) for name in names) for use in self._replicas]
        rows = self._rows(names, uses)
        self._opening = [
            (at, tuple(draws.get(name, 0) for name in names))
            for at, name in enumerate(names)
            if isinstance(name, Opens)
            for draws in [self.draws(name.device)]
        ]
        left = tuple(free.get(name, 0) for name in names)
        if sum(self._of_one(use, left) for use in uses) > MOST_REPLICAS and len(uses) > 1:
            raise Unknown
        return self._more(uses, rows, {}, 0, left) if uses else 0

    def _of_one(self, use: tuple[Amount, ...], left: tuple[Amount, ...]) -> int:
        """Return how many replicas fit that all take the same: only the first one opens what they share."""
        rest = self._rest(left, use)
        if min(rest) < 0:
            return 0
        opened = {at for at, _ in self._opening}
        return 1 + int(min(rest[at] // amount for at, amount in enumerate(use) if amount and at not in opened))

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
        if first == len(uses) - 1:
            return self._of_one(uses[first], left)
        if (first, left) not in known:
            best, bound = 0, min((sum(left[n] for n in row) // least for row, least in rows), default=None)
            for at in range(first, len(uses)):
                if best == bound:
                    break
                self.step()
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
        sets = [{self.names[device] for device in devices} for devices in self.able.values()]
        rows = [[n for n, name in enumerate(names) if name in own] for own in sets] + [
            [n] for n, name in enumerate(names) if not isinstance(name, Opens)
        ]
        found = [(row, min(sum(use[n] for n in row) for use in uses)) for row in rows if row and uses]
        return [(row, least) for row, least in found if least > 0]


def _takes_nothing(use: Use) -> bool:
    return all(isinstance(name, Opens) for name in use)
