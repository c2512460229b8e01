"""States of nodes and what searches found for them, kept from one snapshot of a followed cluster to the next."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, TypeVar

from dra_lab.model.allocated import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.release import KubernetesRelease
from dra_lab.scheduler.candidates import pools_of
from dra_lab.scheduler.first_fit import Verdict
from dra_lab.scheduler.gates import Gates

Q = TypeVar("Q", bound=Hashable)
_QUESTIONS = 4
_MORE, _FEW = 2, 1000
"""How many times as many states of devices are kept as the first look found, and how many besides."""


@dataclass(frozen=True, slots=True)
class Kept(Generic[Q]):
    """What was found of a cluster; it stays with the hardware, and holds no cluster.

    `numbers` stand for states of devices; `states` are those of the nodes, by question, while `held` was in use;
    `verdicts` are what searches ended with, by question and claims, then by state; `nodes` are those that see a pool of
    a name. Beyond `most` numbers all is forgotten: a device that is shared comes to ever more states.
    """

    held: AllocatedDevices = field(default_factory=AllocatedDevices)
    numbers: dict[Hashable, int] = field(default_factory=dict)
    next_number: Iterator[int] = field(default_factory=count)
    states: dict[Q, dict[str, Hashable]] = field(default_factory=dict)
    verdicts: dict[tuple[Q, bytes], dict[Hashable, Verdict]] = field(default_factory=dict)
    nodes: dict[str, set[str]] = field(default_factory=dict)
    most: int = 0

    def number(self, state: Hashable) -> int:
        """Return the number of a device's state; two threads that ask at once get the same."""
        known = self.numbers.get(state)
        return self.numbers.setdefault(state, next(self.next_number)) if known is None else known


def take_over(cluster: Cluster, release: KubernetesRelease, held: AllocatedDevices, gates: Gates) -> Kept[Any]:
    """Return what is known of an earlier snapshot, without the states of nodes on which something changed since."""
    latest = _latest(cluster, release)
    before = latest[0] if latest else Kept(held)
    if 0 < before.most < len(before.numbers):
        found: Kept[Any] = Kept(held)
    elif before.held is held:
        found = before
    else:
        pools = {device.pool for device in held.differing(before.held)}
        changed = _nodes_of(before.nodes, cluster, gates, pools)
        states = {
            question: {node: state for node, state in known.items() if node not in changed}
            for question, known in tuple(before.states.items())
        }
        most = before.most or _MORE * len(before.numbers) + _FEW
        found = Kept(held, before.numbers, before.next_number, states, before.verdicts, before.nodes, most)
    latest[:] = (found,)
    return found


@once_per_hardware
def _latest(_cluster: Cluster, _release: KubernetesRelease) -> list[Kept[Any]]:
    """Return what is known of the latest snapshot of this hardware, as the only item, or nothing."""
    return []


def _nodes_of(known: dict[str, set[str]], cluster: Cluster, gates: Gates, pools: set[str]) -> set[str]:
    """Return the nodes that see a pool of these names; pools of one name may share their books.

    Rule: docs/semantics.md 3.10.8.
    """
    if not known:
        found: dict[str, set[str]] = {}
        for name in cluster.node_names:
            for pool in pools_of(cluster, name, gates):
                found.setdefault(pool.name, set()).add(name)
        known.update(found)
    return set().union(*(known.get(pool, ()) for pool in pools))


def shorten(known: dict[Any, Any]) -> None:
    """Forget what was asked longest ago."""
    for key in tuple(known)[:-_QUESTIONS]:
        known.pop(key, None)
