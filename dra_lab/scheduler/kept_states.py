"""States of nodes and what searches found for them, kept from one snapshot of a followed cluster to the next."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import count
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from dra_lab.index.pools import pools_of
from dra_lab.model.claims import AllocatedDevices
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_hardware, once_per_rules
from dra_lab.model.release import Gates, KubernetesRelease
from dra_lab.scheduler.first_fit import Verdict

Q = TypeVar("Q", bound=Hashable)
_QUESTIONS = 4
_MORE, _FEW = 2, 1000
"""How many times as many states of devices are kept as the first look found, and how many besides."""


class KnownSearches(Struct):
    """What searches ended with: a state of a node tells all that a search reads, so it holds on other hardware too.

    `numbers` stand for states of devices; `verdicts` are by question and claims, then by state. Beyond `most` numbers
    all is forgotten: a device that is shared comes to ever more states.
    """

    numbers: dict[Hashable, int] = field(default_factory=dict)
    next_number: Iterator[int] = field(default_factory=count)
    verdicts: dict[tuple[Hashable, bytes], dict[Hashable, Verdict]] = field(default_factory=dict)
    most: int = 0

    def number(self, state: Hashable) -> int:
        """Return the number of a device's state; two threads that ask at once get the same."""
        known = self.numbers.get(state)
        return self.numbers.setdefault(state, next(self.next_number)) if known is None else known


class KeptStates(Struct, Generic[Q], frozen=True):
    """The states of the nodes by question while `held` was in use, and the nodes that see a pool of a name."""

    held: AllocatedDevices = field(default_factory=AllocatedDevices)
    searched: KnownSearches = field(default_factory=KnownSearches)
    states: dict[Q, dict[str, Hashable]] = field(default_factory=dict)
    nodes: dict[str, set[str]] = field(default_factory=dict)


def take_over(cluster: Cluster, release: KubernetesRelease, held: AllocatedDevices, gates: Gates) -> KeptStates[Any]:
    """Return what is known of an earlier snapshot, without the states of nodes on which something changed since."""
    searched, latest = _searched(cluster, release), _latest(cluster, release)
    before = latest[0] if latest else KeptStates(held, searched)
    if before.searched is not searched:
        # All was forgotten since, and its numbers mean something else.
        before = KeptStates(held, searched)
    if before.held is held:
        found = before
    else:
        pools = {device.pool for device in held.differing(before.held)}
        changed = _nodes_of(before.nodes, cluster, gates, pools)
        states = {
            question: {node: state for node, state in known.items() if node not in changed}
            for question, known in tuple(before.states.items())
        }
        found = KeptStates(held, searched, states, before.nodes)
    latest[:] = (found,)
    return found


def _searched(cluster: Cluster, release: KubernetesRelease) -> KnownSearches:
    latest = _every_search(cluster, release)
    found = latest[0] if latest else KnownSearches()
    if 0 < found.most < len(found.numbers):
        found = KnownSearches()
    elif not found.most and found.numbers:
        found.most = _MORE * len(found.numbers) + _FEW
    latest[:] = (found,)
    return found


@once_per_rules
def _every_search(_cluster: Cluster, _release: KubernetesRelease) -> list[KnownSearches]:
    """Return what searches ended with, as the only item, or nothing."""
    return []


@once_per_hardware
def _latest(_cluster: Cluster, _release: KubernetesRelease) -> list[KeptStates[Any]]:
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
