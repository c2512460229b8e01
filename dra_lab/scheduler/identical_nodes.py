"""Nodes on which the search for given claims runs the same way: one search answers for all of them."""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import msgspec
from msgspec import Struct

from dra_lab.cel.selector import Selector, compile_selector
from dra_lab.drivers.profiles import profile
from dra_lab.errors import Cancelled, CelError
from dra_lab.index.device_kinds import keys_read
from dra_lab.index.documented_classes import known_classes
from dra_lab.index.pools import Pool, PoolDevice, pools_of
from dra_lab.model.claims import AllocatedDevices, ResourceClaim, expressions
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import has_empty_attributes, has_lists
from dra_lab.model.memo import once_per_snapshot
from dra_lab.model.release import KubernetesRelease, gates_of
from dra_lab.scheduler.candidates import held_devices
from dra_lab.scheduler.counters import counters_left
from dra_lab.scheduler.first_fit import Verdict

_QUESTIONS = 4


def _shorten(known: dict[Any, Any]) -> None:
    """Forget what was asked longest ago."""
    for key in tuple(known)[:-_QUESTIONS]:
        known.pop(key, None)


class _Question(Struct, frozen=True):
    """What claims look at: their selectors, class before request, and the attributes of their constraints."""

    chains: tuple[tuple[Selector, ...], ...]
    attributes: tuple[str, ...]


@dataclass
class _Searched:
    """What outlives a snapshot: numbers of device states, and what searches found, by states of these numbers."""

    numbers: dict[Hashable, int] = field(default_factory=dict)
    verdicts: dict[tuple[_Question, bytes], dict[Hashable, Verdict]] = field(default_factory=dict)
    following: Iterator[int] = field(default_factory=count)


@once_per_snapshot
def node_states(cluster: Cluster, release: KubernetesRelease) -> NodeStates:
    """Return the node states of a cluster, with what searches found for them, also in earlier snapshots."""
    # A value in a snapshot's memo must not refer to the snapshot, see `Memo`.
    held = held_devices(cluster, gates_of(release))
    searched = cluster.memo.latest.setdefault((node_states, release), _Searched())
    if len(searched.numbers) > sum(len(item.spec.devices or ()) for item in cluster.slices):
        # more states than devices: most are of the past
        searched = cluster.memo.latest[node_states, release] = _Searched()
    return NodeStates(cluster.with_objects(claims=(), pods=(), findings=()), release, held, searched)


class NodeStates:
    """Groups the nodes of a cluster by what a search for claims can see of them.

    The state of a node contains, in search order, the answer of every selector on every device, the values of the
    attributes that constraints name, capacity, counters, taints and what is held. Names and other attributes (a
    device's UUID) are left out. Equal states mean equal searches, position by position. Answers are kept, so that a
    change of counts or of constraints over the same attributes does not look at the devices again.
    """

    def __init__(
        self,
        cluster: Cluster,
        release: KubernetesRelease,
        held: AllocatedDevices | None = None,
        searched: _Searched | None = None,
    ) -> None:
        """Look at nothing yet; `held` is what is in use, without it what claims hold."""
        self._cluster, self._gates = cluster, gates_of(release)
        self._held = held_devices(cluster, self._gates) if held is None else held
        self._lists = cluster.publishes_lists and not self._gates.list_selectors
        self._empty = cluster.publishes_empty_attributes
        self._searched = searched or _Searched()
        self._of_kinds: dict[_Question, dict[str, dict[tuple[int, bool], int] | None]] = {}
        self._groups: dict[_Question, dict[Hashable, tuple[str, ...]]] = {}

    def groups(
        self, claims: Sequence[ResourceClaim], *, cancel: threading.Event | None = None
    ) -> tuple[tuple[str, ...], ...]:
        """Return the groups of nodes with equal states, each sorted, ordered by their first node.

        Raises Cancelled when `cancel` is set.
        """
        return tuple(nodes for nodes, _ in self.searched(claims, math.inf, cancel=cancel)[0])

    def searched(
        self, claims: Sequence[ResourceClaim], search_limit: float, *, cancel: threading.Event | None = None
    ) -> tuple[tuple[tuple[tuple[str, ...], Hashable], ...], MutableMapping[Hashable, Verdict]]:
        """Return the groups, each with its state, and where to keep verdicts of searches by state.

        `search_limit` stops these searches: verdicts of another limit are kept apart. The state is None where claims
        are refused before any device is seen. A verdict that our own time cut off must not be kept. Raises Cancelled
        when `cancel` is set.
        """
        question = self._question(claims)
        if question is None:
            names = self._cluster.node_names
            return ((names, None),) if names else (), {}
        by_state = self._groups.pop(question, None) or self._nodes_by_state(question, cancel)
        self._groups[question] = by_state  # as the latest
        key = question, msgspec.json.encode((search_limit, [claim.spec for claim in claims]))
        verdicts = self._searched.verdicts[key] = self._searched.verdicts.pop(key, {})
        _shorten(self._groups)
        _shorten(self._searched.verdicts)
        return tuple((nodes, state) for state, nodes in by_state.items()), verdicts

    def _question(self, claims: Sequence[ResourceClaim]) -> _Question | None:
        """Return what the claims look at, or None when they are refused before any device is seen."""
        chains: dict[tuple[Selector, ...], None] = {}
        constraints = [constraint for claim in claims for constraint in claim.spec.devices.constraints]
        attributes = {one.match_attribute or one.distinct_attribute or "" for one in constraints}
        requests = [request for claim in claims for request in claim.spec.devices.requests]
        for part in (one for request in requests for one in request.parts):
            device_class = known_classes(self._cluster).get(part.device_class_name)
            if device_class is None:
                return None
            texts = expressions((*device_class.spec.selectors, *part.selectors))
            lists = self._gates.list_selectors
            try:
                chains[tuple(compile_selector(text, list_type_attributes=lists) for text in texts)] = None
            except CelError:
                return None
        return _Question(tuple(chains), tuple(sorted(attributes)))

    def _nodes_by_state(self, question: _Question, cancel: threading.Event | None) -> dict[Hashable, tuple[str, ...]]:
        found: dict[Hashable, list[str]] = {}
        for name in self._cluster.node_names:
            if cancel is not None and cancel.is_set():
                raise Cancelled("the grouping of nodes was cancelled")
            pools = pools_of(self._cluster, name, self._gates)
            found.setdefault(tuple(self._node_state(pools, question)), []).append(name)
        return {state: tuple(names) for state, names in found.items()}

    def _node_state(self, pools: tuple[Pool, ...], question: _Question) -> Iterator[Hashable]:
        of_drivers = self._of_kinds.setdefault(question, {})
        for pool in pools:
            yield pool.driver, pool.complete, bool(pool.invalid)
            if pool.counter_sets:
                # up to 1.36 pools of one name share their books (docs/semantics.md 3.10.8)
                yield next(number for number, other in enumerate(pools) if other.name == pool.name)
                yield tuple(sorted(counters_left(self._cluster, pool, self._held).items()))
            if pool.driver not in of_drivers:
                of_drivers[pool.driver] = {} if self._kind_decides(question, pool.driver) else None
            of_kind = of_drivers[pool.driver]
            for place in pool.devices:
                yield self._number(place, question, of_kind)

    def _kind_decides(self, question: _Question, driver: str) -> bool:
        """Say whether a device's kind, and whether it is held, decide what a search sees of a driver's devices."""
        read = set(question.attributes) | {name.removeprefix(f"{driver}/") for name in question.attributes}
        for selector in (one for chain in question.chains for one in chain):
            if selector.by_driver(driver) is None:
                keys = selector.keys_read(driver)
                if keys is None:
                    return False
                read |= keys
        return read <= keys_read(profile(driver, self._cluster.profiles)) and not self._cluster.taint_rules

    def _number(self, place: PoolDevice, question: _Question, of_kind: dict[tuple[int, bool], int] | None) -> int:
        key = (place.kind.number, place.id in self._held.exclusive)
        found = None if of_kind is None else of_kind.get(key)
        if found is None:
            state = self._device_state(place, question)
            # two threads that ask at once get the same number
            found = self._searched.numbers.get(state)
            if found is None:
                found = self._searched.numbers.setdefault(state, next(self._searched.following))
            alone = place.slice.spec.node_name and place.id not in self._held.shares
            if of_kind is not None and place.kind.plain and alone:
                of_kind[key] = found
        return found

    def _device_state(self, place: PoolDevice, question: _Question) -> Hashable:
        device, driver, held, spec = place.device, place.id.driver, self._held, place.slice.spec
        fails = (self._lists and has_lists(device)) or (self._empty and has_empty_attributes(device))
        own = device if spec.per_device_node_selection else spec
        return (
            (driver, tuple(_answer(chain, place, fails=fails) for chain in question.chains)),
            tuple(device.lookup(name, driver) for name in question.attributes),
            (place.id in held.exclusive, place.id in held.shares),
            tuple(sorted(held.consumed.get(place.id, {}).items())),
            (own.node_name is not None or device.binds_to_node, place.on_node),
            len(own.node_selector.node_selector_terms) if own.node_selector else 0,
            tuple(device.capacity.items()),
            self._cluster.taints_of(place.id, device, rules=self._gates.taint_rules),
            tuple(
                (use.counter_set, tuple(use.counters.items()), bool(use.compatibility_groups))
                for use in device.consumes_counters
            ),
            (bool(device.binding_conditions), bool(device.allow_multiple_allocations)),
        )


def _answer(chain: tuple[Selector, ...], place: PoolDevice, *, fails: bool) -> bool | None:
    """Return what the selectors of a request say of a device; None if one fails on it."""
    if fails and chain:
        return None
    try:
        return all(selector.decide(place.id.driver, place.device) for selector in chain)
    except CelError:
        return None
