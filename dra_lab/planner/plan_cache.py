"""The plan cache: what is known of the nodes for one claim, as a claim that comes or goes changes few of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from msgspec import Struct, field

from dra_lab.index.node_index import NodeIndex
from dra_lab.model.allocated import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.release import KubernetesRelease
from dra_lab.planner.node.eligible import Rules

_QUESTIONS = 4
_MORE, _FEW = 1.25, 200
"""Values that are kept beyond those of present states: a quarter of them and a few, as claims that go leave others."""

_STATES = 3
"""States of each node after which tables are made again: they hold every state that they were asked for."""

Exact = tuple[Any, ...]
"""Hardware of a node, its devices held alone and shared by position, and what counters have left.

It is equal only if the same devices are held.
"""


class PlanCache(Struct, eq=False):
    """Values that are known for one claim on one hardware; holds no cluster.

    `question` is what all of it depends on besides hardware and release, None if it does not come again. `matched` says
    whether the claim requests both GPUs and NICs, and how many devices match each ask. `held` is what was in use at the
    latest whole look, and `exact` each node then. `memo` has values by (what, the node's hardware or `Exact`, more).
    `pods` are the tables of the best pods (`BestPods`), which the values in `memo` belong to.
    """

    question: Any = None
    matched: tuple[bool, dict[str, int]] | None = None
    exact: dict[str, Exact] = field(default_factory=dict)
    held: AllocatedDevices = field(default_factory=AllocatedDevices)
    memo: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    pods: Any = None
    _nodes: dict[str, set[str]] = field(default_factory=dict)
    _most: int = 0

    def note(self, exact: dict[str, Exact], held: AllocatedDevices) -> None:
        """Keep what is in use on all nodes; drop values of states that no node is in any more.

        A cluster that is followed for hours comes to ever more states.
        """
        self.exact, self.held = exact, held
        if self.pods is not None and self.pods.size > _STATES * len(exact) + _FEW:
            self.memo, self.pods = {}, None
        if len(self.memo) > self._most:
            present = {one for state in exact.values() for one in (state, state[0])}
            self.memo = {key: value for key, value in self.memo.items() if key[1] in present}
            self._most = int(_MORE * len(self.memo)) + _FEW

    def unchanged(self, held: AllocatedDevices, index: NodeIndex, nodes: Collection[str]) -> dict[str, Exact]:
        """Return the states of the nodes on which the same is in use as at the latest whole look.

        Every node that sees a pool in which anything changed counts as changed; pools of one name are taken as one, as
        they may share counters (docs/semantics.md 3.10.8).
        """
        differing = self.held.differing(held) if self.exact else set()
        if not differing:
            return self.exact
        if not self._nodes:
            for name in nodes:
                for item in index.view(name).devices:
                    self._nodes.setdefault(item.id.pool, set()).add(name)
        changed = {device.pool for device in differing}
        affected = set().union(*(self._nodes.get(pool, ()) for pool in changed))
        return {name: state for name, state in self.exact.items() if name not in affected}


def get_cache(rules: Rules) -> PlanCache:
    """Return what is known of a claim, else an empty cache; until `put_cache`, no other plan gets it.

    Plans may be made in several threads at once, and a plan writes into the cache.
    """
    question = (rules.sketch, rules.replicas, rules.only)
    latest = _latest(rules.cluster, rules.release)
    for found in tuple(latest):
        if found.question == question:
            try:
                latest.remove(found)
            except ValueError:
                break
            return found
    return PlanCache(question)


def put_cache(rules: Rules, found: PlanCache) -> None:
    """Keep a cache for the next plan, if its question may come again; those of the oldest questions are dropped."""
    latest = _latest(rules.cluster, rules.release)
    if found.question is not None:
        latest.append(found)
    del latest[:-_QUESTIONS]


@once_per_hardware
def _latest(_cluster: Cluster, _release: KubernetesRelease) -> list[PlanCache]:
    """Return the caches of the latest questions."""
    return []
