"""Further replicas of a claim on one node: how many fit, now, beside an allocation, and after one (goal `damage`)."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.index.pools import Tie
from dra_lab.model.claims import AllocatedDevices
from dra_lab.model.goals import DAMAGE, GoalValue
from dra_lab.model.placement import Placement
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.planner.best_pods import tabled_replicas
from dra_lab.planner.budget import Budget
from dra_lab.planner.node.allocation_problem import AllocationProblem, DeviceGroup, build_problem
from dra_lab.planner.node.copies import Copies, CopyPart, replicated
from dra_lab.planner.node.device_tests import Stage
from dra_lab.planner.node.eligible import NodeEligibility, eligibility, is_shareable
from dra_lab.planner.node.link_rows import LINK_ROWS, NO_GROUPS, place_counts
from dra_lab.planner.node.merged_requests import merge_requests
from dra_lab.planner.pod_claims import join_sketches, split_sketch
from dra_lab.planner.scan import Scan
from dra_lab.topology.locality import localities

_NO_LIMIT = 10_000

_MODELLED = 32
"""Replicas that are modelled together; of more, what is known is a bound."""

Count = tuple[int, int]
"""How many replicas fit: at least, at most."""


def has_damage(sketch: ClaimSketch) -> bool:
    """Say whether the goal `damage` is counted: `adminAccess` takes nothing away, so that claims with it have none."""
    return not any(ask.admin_access for request in sketch.requests for ask in asks(request))


class FurtherReplicas(Struct, dict=True):
    """The further replicas of a scan's claim on one node, every preferred link of theirs being kept.

    `memo` is shared by the nodes of one scan. A replica that asks for all devices needs each of them, as in 1.37.
    """

    scan: Scan
    node: str
    budget: Budget
    solver: str = "HiGHS"
    memo: dict[Hashable, Count] = field(default_factory=dict)
    _begun: float | None = None

    @property
    def bounded(self) -> Budget:
        """Return the budget with the time that counting may take on one node; it begins when they are needed.

        It is one of this thread's processor time, so that what is proven depends little on what else a machine does.
        """
        if self._begun is None:
            self._begun = time.thread_time()
        until = time.monotonic() + max(0.0, self.budget.shares.damage - (time.thread_time() - self._begun))
        own = self.budget.deadline
        return replace(self.budget, deadline=until if own is None else min(own, until))

    @property
    def before(self) -> Count:
        """Return how many replicas fit as things are."""
        return self.after(())

    @property
    def endless(self) -> bool:
        """Say whether a replica may take nothing away: shares of devices without capacity have no end.

        Rule: docs/semantics.md 3.11.6.
        """
        return self.before[1] >= _NO_LIMIT

    @cached_property
    def plain(self) -> bool:
        """Say whether the requests have nothing in common: then dividing counts is exact, and one replica costs one."""
        return not self.endless and is_plain(self._copies([(self._kept, 1)], None).problem)

    def after(self, placements: Sequence[Placement]) -> Count:
        """Return how many replicas fit once some devices are taken."""
        taken = ((placement.device, tuple(sorted(placement.consumed.items()))) for placement in placements)
        key = (self.node, *sorted(taken))
        if key not in self.memo:
            self.memo[key] = self._count(self._held(placements) if placements else None)
        return self.memo[key]

    def lost_to(self, placements: Sequence[Placement]) -> GoalValue | None:
        """Return the damage of some placements, None if it is not known."""
        (least, most), (fewest, after) = self.before, self.after(placements)
        if least != most or fewest != after:
            return None
        # of replicas without end a number was counted at which counting stops
        return GoalValue(DAMAGE, most - after, at_most=self.endless and most > after)

    @property
    def modelled(self) -> bool:
        """Say whether all that fit are few enough for one model."""
        return self.before[1] <= _MODELLED

    def least(self, *, kept: bool) -> int:
        """Return the least damage: where a replica keeps every preferred link, it is one of those that fit."""
        return int(kept and self.before[1] > 0 and not self.endless)

    def with_copies(self, count: int) -> Copies:
        """Return the problem of this claim, the first copy, and a number of further replicas together."""
        return self._copies([(self.scan.sketch, 1), (self._kept, count)], None)

    @cached_property
    def _kept(self) -> ClaimSketch:
        links = tuple(replace(link, must=True) for link in self.scan.sketch.links)
        return replace(self.scan.sketch, links=links)

    def _copies(self, pods: Sequence[tuple[ClaimSketch, int]], held: AllocatedDevices | None) -> Copies:
        """Return the problem of this many pods of each drawing; `held` is what else is in use."""
        joined = pods[0][0]
        if len(pods) > 1:
            # Each claim of each pod is a claim of its own.
            claims = [(number, split_sketch(sketch)) for number, (sketch, _) in enumerate(pods)]
            joined = join_sketches({f"{name}~{number}": one for number, own in claims for name, one in own.items()})
        rules = replace(self.scan.rules, sketch=joined, replicas=max(count for _, count in pods))
        found = eligibility(rules, self.node)
        if held is not None:
            found = _meaning_all_of(found, eligibility(replace(rules, held=held), self.node))
        paired = self.scan.paired
        problem = build_problem(joined, found, localities(self.scan.cluster, self.node), paired=paired)
        parts, ask, request, link = [], 0, 0, 0
        for number, (sketch, _) in enumerate(pods):
            ends = (ask + sum(len(asks(one)) for one in sketch.requests), request + len(sketch.requests))
            linked = link + len(sketch.links)
            parts.append(CopyPart(number, self.node, (ask, ends[0]), (request, ends[1]), (link, linked), paired))
            (ask, request), link = ends, linked
        merged = merge_requests(problem)
        if merged is not None:
            problem, parts = merged.problem, [merged.part(part) for part in parts]
        return replicated(problem, parts, [count for _, count in pods])

    def _count(self, held: AllocatedDevices | None) -> Count:
        copies = self._copies([(self._kept, 1)], held)
        one = copies.problem
        most = most_replicas(one)
        if is_plain(one):
            return most, most
        least, most = tabled_replicas(one, copies.parts[0], most, self.bounded)
        # The bound and one less are tried first: as a rule one of them fits. That many do not fit is much harder to
        # prove than that few do not, so that from there the search goes upwards, doubling.
        for count in (most, most - 1) if most <= _MODELLED else ():
            found = count <= least or self._feasible(count, held)
            if found is not False:
                return (count if found else least), count
            most = count - 1
        while least < most and least < _MODELLED:
            count = min(2 * least or 1, most, _MODELLED) if most > 2 * least else (least + most + 1) // 2
            found = self._feasible(count, held)
            if found is None:
                break
            least, most = (count, most) if found else (least, count - 1)
        return least, most

    def _feasible(self, count: int, held: AllocatedDevices | None) -> bool | None:
        budget = self.bounded
        if budget.reached:
            return None
        from dra_lab.planner.node.milp import is_feasible

        return is_feasible(self._copies([(self._kept, count)], held).problem, budget, solver=self.solver)

    def _held(self, placements: Sequence[Placement]) -> AllocatedDevices:
        """Return what is in use once the placements are."""
        held, devices = self.scan.rules.allocated, self.scan.devices(self.node)
        exclusive, shares = dict(held.exclusive), dict(held.shares)
        consumed = {device: dict(amounts) for device, amounts in held.consumed.items()}
        for placement in placements:
            device = placement.device
            if device not in devices or not is_shareable(devices[device], self.scan.rules):
                exclusive[device] = "this plan"
                continue
            shares[device] = (*shares.get(device, ()), "this plan")
            mine = consumed.setdefault(device, {})
            for key, amount in placement.consumed.items():
                mine[key] = mine.get(key, Fraction()) + parse_quantity(amount)
        return AllocatedDevices(exclusive, shares, consumed)


def _meaning_all_of(before: NodeEligibility, after: NodeEligibility) -> NodeEligibility:
    """Return what is eligible `after` something was taken, requests for all devices meaning those of `before`.

    To 1.36 such a request means what has capacity at that moment (docs/semantics.md 3.6.5): by itself it would ask
    for less the more is taken, and a plan would seem to free devices for others.
    """
    parts = []
    for early, late in zip(before.asks, after.asks, strict=True):
        part = late
        if late.ask.all_devices and early.listed != late.listed:
            lost = next((device for device in early.listed if late.stages[device] is not Stage.FREE), None)
            why = late.blocked or (f"{lost} is taken" if lost is not None else "")
            part = replace(late, listed=early.listed, blocked=why)
        parts.append(part)
    return replace(after, asks=tuple(parts))


def most_replicas(problem: AllocationProblem) -> int:
    """Return a number of replicas of a claim that cannot be exceeded: by the devices of each request, and each link.

    `problem` is that of one replica. Counts places only, which needs no solver.
    """
    bounds = []
    for indices in problem.requests:
        able = [ask for ask in indices if ask not in problem.impossible and problem.need(ask) > 0]
        bounds.append(sum(sum(_slots(group, ask) for group in problem.groups) // problem.need(ask) for ask in able))
    for index, link in enumerate(problem.links):
        parts = problem.covered(index)
        single = all(len(part) == 1 and part in problem.requests for part in parts)
        if not link.must or not single or any(p[0] in problem.impossible for p in parts):
            continue
        mine = [part[0] for part in parts]
        needs = [problem.need(ask) for ask in mine]
        share = LINK_ROWS[link.how].groups(needs)
        if share == NO_GROUPS:
            continue
        if share is None or not all(needs):
            return 0
        shareable = any(group.shareable for group in problem.groups if set(group.asks) & set(mine))
        if not shareable:
            at = place_counts(problem, index, mine)
            groups = sum(min(c[ask] // size for ask, size in zip(mine, share[1], strict=True)) for c in at.values())
            bounds.append(groups // share[0])
    return min(bounds, default=0)


def is_plain(problem: AllocationProblem) -> bool:
    """Say whether every request has devices of its own, one way to be served, and no link or counter in its way.

    A device with a node selector of several terms cannot be taken for itself alone (`Tie`), so that counting fails.
    """
    several = any(ask.count > 1 for ask in problem.asks) and any(group.shareable for group in problem.groups)
    alone = all(len(g.asks) == 1 and not g.draws and g.tie is not Tie.TERMS for g in problem.groups)
    single = all(len(indices) == 1 for indices in problem.requests)
    return alone and single and not (several or problem.links or any(ask.all_devices for ask in problem.asks))


def _slots(group: DeviceGroup, ask: int) -> int:
    """Return how often an ask can be served from a group."""
    if ask not in group.asks:
        return 0
    if not group.shareable:
        return group.size
    uses, left = dict(dict(group.uses)[ask]), dict(group.remaining)
    times = [int(left[key] // amount) for key, amount in uses.items() if key in left and amount > 0]
    return min(times, default=_NO_LIMIT)
