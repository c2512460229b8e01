"""A plan that is written while nodes are filled, so that a cancel does not wait until thousands of pods are written.

Benchmark rows that need it (`bench_limits`): three workloads on 5,000 mixed nodes, and four preferred pairs on 800
nodes of 16 + 16. Their pods take 0.15 to 0.4 s to write.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import add, le, sub

from dra_lab.planner.fleet.counting import Counts
from dra_lab.planner.fleet.first_plan import FirstPlan
from dra_lab.planner.fleet.fleet_work import FleetWork
from dra_lab.planner.fleet.pack import Takes, Values
from dra_lab.planner.fleet.placing import PodsOnNode
from dra_lab.planner.fleet.tables import AnyTable


@dataclass
class EarlyPlan:
    """Pods on the nodes filled so far: each node has most of the replicas that are `left` when it is filled.

    It has no pods if it is not `wanted`: all pods are written fast enough at the end, or time is short. `nodes` were
    tried; `on_node` has the pods of each node with the values of their goals.
    """

    work: FleetWork
    left: list[int]
    wanted: bool
    nodes: set[str] = field(default_factory=set)
    on_node: dict[str, tuple[PodsOnNode, Values]] = field(default_factory=dict)
    _waiting: list[AnyTable] = field(default_factory=list)
    _cancelled: float | None = None

    @classmethod
    def of(cls, work: FleetWork) -> EarlyPlan:
        """Return a plan without pods."""
        budget, rules = work.budget, work.fleet.scan.rules
        soon = work.written is None or budget.cancel is None or work.writing <= budget.shares.cancelled
        late = budget.left is not None and work.writing > budget.shares.last * budget.left
        wanted = not (soon or late or work.all_placed or any(ask.admin_access for ask in rules.asks))
        return cls(work, list(work.fleet.demand), wanted)

    def add(self, tables: Sequence[AnyTable]) -> None:
        """Place what is left on the nodes of tables, also of some whose nodes hold more now, and write it."""
        self._waiting += tables if self.wanted else ()
        if len(self._waiting) >= self.work.budget.sizes.written:
            self.finish()

    def finish(self) -> None:
        """Place and write what waits, many nodes at a time; after a cancel, as much as there is time for."""
        size = self.work.budget.sizes.written
        for start in range(0, len(self._waiting), size):
            if self._is_late():
                break
            self.work.written.pods([*self._placed(self._waiting[start : start + size])])
        self._waiting.clear()

    def _is_late(self) -> bool:
        if not self.is_answer:
            return False
        if self._cancelled is None:
            self._cancelled = time.monotonic()
        return time.monotonic() - self._cancelled > self.work.budget.shares.cancelled

    def _placed(self, tables: Sequence[AnyTable]) -> Iterator[PodsOnNode]:
        """Place pods on nodes that hold more than before, and yield these nodes."""
        for table in tables:
            found, zero = table.found(), table.site.zero
            most_first = sorted(filter(any, found), key=sum, reverse=True)
            takes: dict[Counts, Takes] = {}
            for node in table.site.members:
                self.nodes.add(node)
                before = self.on_node[node][0].counts if node in self.on_node else zero
                able = [*map(add, self.left, before)]
                counts = _most(found, most_first, able)
                if sum(counts) <= sum(before):
                    continue
                if counts not in takes:
                    takes[counts] = table.takes(counts)
                self.left = [*map(sub, able, counts)]
                self.on_node[node] = PodsOnNode(table.site, node, counts, takes[counts]), found[counts]
                yield self.on_node[node][0]

    @property
    def is_answer(self) -> bool:
        """Say whether it is the answer, because a cancel came before any other one."""
        return bool(self.on_node) and self.work.budget.cancelled

    def is_replaced(self, by_node: Sequence[PodsOnNode]) -> bool:
        """Write the pods of an answer instead, and say whether they are written.

        They are not if a cancel comes before half of them are: this plan is given sooner then.
        """
        size = self.work.budget.sizes.written
        for start in range(0, len(by_node) if self.on_node else 0, size):
            if self.work.budget.cancelled and 2 * start < len(by_node):
                return False
            self.work.written.pods(by_node[start : start + size])
        self.on_node = {}
        return True

    def plan(self) -> FirstPlan:
        """Return the plan so far."""
        every = [self.on_node[node] for node in sorted(self.on_node)]
        values = tuple(map(sum, zip(*(mine for _, mine in every), strict=True)))
        return FirstPlan([mine for mine, _ in every], sum(sum(mine.counts) for mine, _ in every), values)


def _most(found: Mapping[Counts, Values], most_first: Sequence[Counts], able: Sequence[int]) -> Counts:
    """Return the numbers with most replicas of those that fit, at the best values; () if none of them fits."""
    best: Counts = ()
    for counts in most_first:
        if sum(counts) < sum(best):
            break
        if all(map(le, counts, able)) and (not best or found[counts] < found[best]):
            best = counts
    return best
