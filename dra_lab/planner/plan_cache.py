"""The plan cache: what is known of the nodes for one claim, as a claim that comes or goes changes few of them."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from itertools import count

from msgspec import Struct, field

from dra_lab.index.node_index import NodeIndex
from dra_lab.model.allocated import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.node.eligible import Rules
from dra_lab.planner.node.solution import Solution
from dra_lab.planner.node_classes import Layout, Print

_QUESTIONS = 4
_MOST_STATES = 20_000
_MOST_SOLUTIONS = 100
_FEW = 200
_MORE = 1.25
"""What is kept beyond what the present states need: a quarter of it and a few, as claims that go leave older states."""


class CachedState(Struct, frozen=True):
    """What is in use on a node, and what that makes of it.

    `exact` is equal only if the same devices are held, by position. `layout` numbers the hardware and what is shared of
    it, -1 if a device in use does more than to be missing. `now`, `idle` and `free` are as in `EqualNodes`.
    """

    shape: tuple[int, ...]
    exact: Hashable
    now: Print
    idle: Print
    layout: int
    free: tuple[int, ...]


class PlanCache(Struct, eq=False):
    """Layouts, fingerprints, states of nodes and proven solutions of one claim on one hardware; holds no cluster.

    `question` is what all of it depends on besides hardware and release. `held` is what was in use at
    the latest whole look, to which `states` belong. `layouts` are numbered, `layout_of` tells their numbers by shape
    and shares; `prints` are by kind of node, by state, or by layout and what is free of it.
    """

    question: Hashable
    layouts: dict[int, Layout] = field(default_factory=dict)
    layout_of: dict[tuple[tuple[int, ...], Hashable], int] = field(default_factory=dict)
    prints: dict[Hashable, Print] = field(default_factory=dict)
    states: dict[str, CachedState] = field(default_factory=dict)
    held: AllocatedDevices = field(default_factory=AllocatedDevices)
    solutions: dict[Hashable, Solution] = field(default_factory=dict)
    _nodes: dict[str, set[str]] = field(default_factory=dict)
    _same: dict[Print, Print] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)
    _most: int = 0
    _most_solutions: int = 0

    def print_of(self, value: Hashable) -> Print:
        """Return a fingerprint, the same object for the same value."""
        made = Print(value)
        return self._same.setdefault(made, made)

    def add_layout(self, shape: tuple[int, ...], shared: Hashable, layout: Layout) -> int:
        """Keep a layout and return its number."""
        number = self.layout_of[shape, shared] = next(self._numbers)
        self.layouts[number] = layout
        return number

    def forget(self) -> None:
        """Forget what belongs to states that no node is in any more, once it is more than what the present ones need.

        A cluster that is followed for hours comes to ever more states.
        """
        self._forget_solutions()
        if len(self.prints) + len(self.layouts) <= self._most:
            return
        present = self.states.values()
        wanted = {
            key
            for s in present
            for key in (("idle", s.shape), ("each", s.exact), (s.layout, s.free))
            if key in self.prints
        }
        self.prints = {key: value for key, value in self.prints.items() if key in wanted}
        self._same = {value: value for value in self.prints.values()}
        used = {s.layout for s in present}
        self.layout_of = {key: number for key, number in self.layout_of.items() if number in used}
        # others than before: a plan that is still being made looks into those
        self.layouts = {number: layout for number, layout in self.layouts.items() if number in used}
        self._most = int(_MORE * (len(self.prints) + len(self.layouts))) + _FEW

    def _forget_solutions(self) -> None:
        # a solution takes some kilobytes
        if len(self.solutions) <= self._most_solutions:
            return
        present = {state.exact for state in self.states.values()}
        for key in tuple(self.solutions):
            # every key has the state that it is of at this place
            if not isinstance(key, tuple) or key[1] not in present:
                del self.solutions[key]
        self._most_solutions = int(_MORE * len(self.solutions)) + _MOST_SOLUTIONS

    def unchanged(self, held: AllocatedDevices, index: NodeIndex, nodes: Collection[str]) -> dict[str, CachedState]:
        """Return the states of the nodes on which the same is in use as at the latest whole look.

        Every node that sees a pool in which anything changed counts as changed; pools of one name are taken as one, as
        they may share counters (docs/semantics.md 3.10.8).
        """
        differing = self.held.differing(held) if self.states else set()
        if not differing:
            return dict(self.states)
        if not self._nodes:
            for name in nodes:
                for item in index.view(name).devices:
                    self._nodes.setdefault(item.id.pool, set()).add(name)
        changed = {device.pool for device in differing}
        affected = set().union(*(self._nodes.get(pool, ()) for pool in changed))
        return {name: state for name, state in self.states.items() if name not in affected}


def get_cache(rules: Rules, *, paired: bool, kept: bool = True) -> PlanCache:
    """Return what is known of a claim, else an empty cache; until `put_cache`, no other plan gets it.

    It is empty too if it is not to be `kept`: what is only tried must not replace what people ask.
    Plans may be made in several threads at once, and looking at nodes writes into the cache.
    """
    question = (rules.sketch, rules.replicas, rules.only, paired)
    latest = _latest(rules.cluster, rules.release)
    for found in tuple(latest) if kept else ():
        if found.question == question:
            try:
                latest.remove(found)
            except ValueError:
                break
            return found
    return PlanCache(question)


def put_cache(rules: Rules, found: PlanCache) -> None:
    """Keep a cache for the next plan; those of the oldest questions, and one that has grown too much, are dropped."""
    latest = _latest(rules.cluster, rules.release)
    if len(found.prints) + len(found.layouts) < _MOST_STATES + 4 * len(found.states):
        latest.append(found)
    del latest[:-_QUESTIONS]


@once_per_hardware
def _latest(_cluster: Cluster, _release: KubernetesRelease) -> list[PlanCache]:
    """Return the caches of the latest questions."""
    return []
