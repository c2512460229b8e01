"""What looking at node states found for one claim, kept for the next look: a claim that comes or goes changes few."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dra_lab.model.cluster import AllocatedDevices, Cluster
from dra_lab.planner.eligible import Rules
from dra_lab.planner.node_classes import Layout
from dra_lab.planner.views import ClusterViews

if TYPE_CHECKING:
    from dra_lab.planner.solve import Solution

_MEMO = "_planner_remembered"
_QUESTIONS = 4
_MOST_STATES = 20_000
_MOST_SOLUTIONS = 1000


@dataclass(frozen=True, slots=True)
class NodeState:
    """What is in use on a node, and what that makes of it.

    `exact` is equal only where the same devices are held, by position; `now` and `idle` number fingerprints; `layout`
    and `free` are as in `EqualNodes`.
    """

    shape: tuple[int, ...]
    exact: Hashable
    now: int
    idle: int
    layout: int
    free: tuple[int, ...]


@dataclass
class Remembered:
    """Layouts, fingerprints, states of nodes and proven solutions of one claim on one hardware; holds no cluster.

    `question` is what all of it depends on besides slices, nodes, classes and overlays. `held` is what was in use at
    the latest whole look, to which `states` belong.
    """

    question: Hashable
    layouts: list[Layout] = field(default_factory=list)
    layout_of: dict[Hashable, int] = field(default_factory=dict)
    prints: list[Hashable] = field(default_factory=list)
    numbers: dict[Hashable, int] = field(default_factory=dict)
    states: dict[str, NodeState] = field(default_factory=dict)
    held: AllocatedDevices = field(default_factory=AllocatedDevices)
    solutions: dict[Hashable, Solution] = field(default_factory=dict)
    _nodes: dict[str, set[str]] = field(default_factory=dict)
    _known: dict[Hashable, int] = field(default_factory=dict)

    def print_number(self, value: Hashable) -> int:
        """Return a number that stands for a fingerprint: hashing it again and again costs more than making it."""
        number = self._known.get(value)
        if number is None:
            number = self._known[value] = len(self.prints)
            self.prints.append(value)
        return number

    def forget_solutions(self) -> None:
        """Forget the solutions of states that no node is in any more, once there are many.

        A cluster that is followed for hours comes to many states, and a solution takes some kilobytes.
        """
        if len(self.solutions) <= _MOST_SOLUTIONS:
            return
        present = {state.exact for state in self.states.values()}
        for key in tuple(self.solutions):
            # every key has the state that it is of at this place
            if not isinstance(key, tuple) or key[1] not in present:
                del self.solutions[key]

    def unchanged(self, held: AllocatedDevices, views: ClusterViews, nodes: Collection[str]) -> dict[str, NodeState]:
        """Return the states of the nodes on which the same is in use as at the latest whole look.

        Every node that sees a pool in which anything changed counts as changed; pools of one name are taken as one, as
        they may share counters (dra-semantics rule 62).
        """
        differing = self.held.differing(held) if self.states else set()
        if not differing:
            return dict(self.states)
        if not self._nodes:
            for name in nodes:
                for item in views.view(name).devices:
                    self._nodes.setdefault(item.id.pool, set()).add(name)
        changed = {device.pool for device in differing}
        affected = set().union(*(self._nodes.get(pool, ()) for pool in changed))
        return {name: state for name, state in self.states.items() if name not in affected}


def recall(rules: Rules, views: ClusterViews, *, paired: bool) -> Remembered:
    """Return what is remembered for a claim, else something empty; until `remember`, nobody else gets it.

    Plans may be made in several threads at once, and looking at nodes writes into it.
    """
    question = (rules.sketch, rules.replicas, rules.only, paired)
    shelf = _shelf(rules.cluster)
    for entry in tuple(shelf):
        # the views number the hardware and know the release and the taint rules
        if entry[0] is views and entry[1].question == question:
            try:
                shelf.remove(entry)
            except ValueError:
                break
            return entry[1]
    return Remembered(question)


def remember(cluster: Cluster, views: ClusterViews, found: Remembered) -> None:
    """Keep it for the next look; the questions asked longest ago, and what has grown too much, are forgotten."""
    shelf = _shelf(cluster)
    if len(found.numbers) + len(found.layouts) < _MOST_STATES + 4 * len(found.states):
        shelf.append((views, found))
    del shelf[:-_QUESTIONS]


def _shelf(cluster: Cluster) -> list[tuple[ClusterViews, Remembered]]:
    shelf: list[tuple[ClusterViews, Remembered]] = cluster.hardware.setdefault(_MEMO, [])
    return shelf
