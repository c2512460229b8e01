"""Nodes on which the search for given claims runs the same way: one search answers for all of them."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator, MutableMapping, Sequence
from itertools import count
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct, field

from dra_lab.cel.selector import Selector, compile_selector
from dra_lab.drivers import profile
from dra_lab.errors import Cancelled, CelError
from dra_lab.index.device_kinds import keys_read
from dra_lab.index.pools import Pool, PoolDevice, pools_of
from dra_lab.model.claims import AllocatedDevices, DeviceSelector, ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, has_empty_attributes, has_lists
from dra_lab.model.memo import once_per_hardware, once_per_rules, once_per_snapshot
from dra_lab.model.release import Gates, KubernetesRelease, gates_of
from dra_lab.scheduler.candidates import held_devices
from dra_lab.scheduler.counters import counters_left
from dra_lab.scheduler.first_fit import Verdict, first_fit

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


class _Question(Struct, frozen=True):
    """What claims look at: their selectors, class before request, and the attributes of their constraints."""

    chains: tuple[tuple[Selector, ...], ...]
    attributes: tuple[str, ...]


MOST_OLDER = 1000
"""Verdicts that are kept of states that no node is in any more: a claim that goes leaves its node as it was."""


@once_per_snapshot
def node_states(cluster: Cluster, release: KubernetesRelease) -> NodeStates:
    """Return the node states of a cluster.

    While a cluster is followed, nodes on which nothing changed keep their state, and a state keeps what searches found
    for it. For grouping and `searched`: a search of its own would not know the claims.
    """
    return NodeStates(cluster, release, keep=True)


class NodeStates:
    """Groups the nodes of a cluster by what a search for claims can see of them.

    The state of a node contains, in search order, the answer of every selector on every device, the values of the
    attributes that constraints name, capacity, counters, taints and what is held. Names and other attributes (a
    device's UUID) are left out. Equal states mean equal searches, position by position. Answers are kept, so that a
    change of counts or of constraints over the same attributes does not look at the devices again.
    """

    def __init__(
        self, cluster: Cluster, release: KubernetesRelease, *, ignore_allocated: bool = False, keep: bool = False
    ) -> None:
        """Look at nothing yet; `ignore_allocated` groups nodes as if nothing were in use; `keep`: see `node_states`."""
        # A value in a snapshot's memo must not refer to the snapshot, see `Memo`.
        self._cluster = cluster.with_objects(claims=(), pods=(), findings=()) if keep else cluster
        self._release = release
        self._ignore_allocated = ignore_allocated
        self._gates = gates_of(release)
        self._held = held_devices(cluster, self._gates, ignore=ignore_allocated)
        self._numbers: dict[_Question, dict[str, dict[tuple[int, bool], int] | None]] = {}
        self._groups: dict[_Question, dict[Hashable, tuple[str, ...]]] = {}
        self._lists = cluster.publishes_lists and not self._gates.list_selectors
        self._empty = cluster.publishes_empty_attributes
        self._kept: KeptStates[_Question] = (
            take_over(cluster, release, self._held, self._gates) if keep else KeptStates()
        )

    def groups(
        self, claims: Sequence[ResourceClaim], *, cancel: threading.Event | None = None
    ) -> tuple[tuple[str, ...], ...]:
        """Return the groups of nodes with equal states, each sorted, ordered by their first node.

        Raises Cancelled when `cancel` is set.
        """
        question = self._question(claims)
        if question is None:
            return (self._cluster.node_names,) if self._cluster.node_names else ()
        return tuple(self._by_state(question, cancel).values())

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
            return tuple((nodes, None) for nodes in self.groups(claims)), {}
        groups = tuple((nodes, state) for state, nodes in self._by_state(question, cancel).items())
        key = question, msgspec.json.encode((search_limit, [claim.spec for claim in claims]))
        verdicts = self._kept.searched.verdicts.pop(key, {})
        if len(verdicts) > len(groups) + MOST_OLDER:
            verdicts = {state: verdicts[state] for _, state in groups if state in verdicts}
        self._kept.searched.verdicts[key] = verdicts
        shorten(self._kept.searched.verdicts)
        return groups, verdicts

    def first_fits(
        self,
        claims: Sequence[ResourceClaim],
        *,
        step_limit: int = 5_000_000,
        time_limit: float = 10.0,
        cancel: threading.Event | None = None,
    ) -> tuple[tuple[tuple[str, ...], Verdict], ...]:
        """Return every group of equal nodes with the verdict on its first node; limits hold for each search.

        Raises as `first_fit` does.
        """
        found = []
        for nodes in self.groups(claims, cancel=cancel):
            verdict = first_fit(
                self._cluster,
                nodes[0],
                claims,
                self._release,
                step_limit=step_limit,
                time_limit=time_limit,
                ignore_allocated=self._ignore_allocated,
                cancel=cancel,
            )
            found.append((nodes, verdict))
        return tuple(found)

    def _question(self, claims: Sequence[ResourceClaim]) -> _Question | None:
        """Return what the claims look at, or None when they are refused before any device is seen."""
        chains: dict[tuple[Selector, ...], None] = {}
        attributes: set[str] = set()
        for claim in claims:
            for constraint in claim.spec.devices.constraints:
                attributes.add(constraint.match_attribute or constraint.distinct_attribute or "")
            for request in claim.spec.devices.requests:
                for part in request.first_available or ((request.exactly,) if request.exactly else ()):
                    device_class = self._cluster.class_by_name.get(part.device_class_name)
                    if device_class is None:
                        return None
                    try:
                        chains[self._chain((*device_class.spec.selectors, *part.selectors))] = None
                    except CelError:
                        return None
        return _Question(tuple(chains), tuple(sorted(attributes)))

    def _chain(self, selectors: tuple[DeviceSelector, ...]) -> tuple[Selector, ...]:
        lists = self._gates.list_selectors
        return tuple(compile_selector(s.cel.expression, list_type_attributes=lists) for s in selectors if s.cel)

    def _by_state(self, question: _Question, cancel: threading.Event | None) -> dict[Hashable, tuple[str, ...]]:
        found = self._groups.pop(question, None)
        if found is not None:
            self._groups[question] = found
            return found
        known = self._kept.states.get(question, {})
        states: dict[str, Hashable] = {}
        by_state: dict[Hashable, list[str]] = {}
        for name in self._cluster.node_names:
            if cancel is not None and cancel.is_set():
                raise Cancelled("the grouping of nodes was cancelled")
            state = known.get(name)
            states[name] = state = self._node_state(name, question) if state is None else state
            by_state.setdefault(state, []).append(name)
        self._kept.states[question] = states
        shorten(self._kept.states)
        found = self._groups[question] = {state: tuple(names) for state, names in by_state.items()}
        shorten(self._groups)
        return found

    def _node_state(self, name: str, question: _Question) -> Hashable:
        pools = pools_of(self._cluster, name, self._gates)
        state: list[Hashable] = []
        for pool in pools:
            state.append(self._pool_state(pool, pools))
            by_kind = self._by_kind(question, pool.driver)
            if by_kind is None:
                state += [self._kept.searched.number(self._device_state(place, question)) for place in pool.devices]
            else:
                state += [self._number(place, question, by_kind) for place in pool.devices]
        return tuple(state)

    def _by_kind(self, question: _Question, driver: str) -> dict[tuple[int, bool], int] | None:
        """Return where numbers of device states are kept by kind, and whether held; None if more decides than that."""
        known = self._numbers.setdefault(question, {})
        if driver not in known:
            keys = [_keys_read(selector, driver) for chain in question.chains for selector in chain]
            keys.append(frozenset(k for n in question.attributes for k in (n, n.removeprefix(f"{driver}/"))))
            of_kind = keys_read(profile(driver, self._cluster.profiles))
            decided = all(read is not None and read <= of_kind for read in keys)
            known[driver] = {} if decided and not self._cluster.taint_rules else None
        return known[driver]

    def _number(self, place: PoolDevice, question: _Question, by_kind: dict[tuple[int, bool], int]) -> int:
        key = (place.kind.number, place.id in self._held.exclusive)
        found = by_kind.get(key)
        if found is None:
            found = self._kept.searched.number(self._device_state(place, question))
            if place.kind.plain and place.slice.spec.node_name and place.id not in self._held.shares:
                by_kind[key] = found
        return found

    def _pool_state(self, pool: Pool, pools: tuple[Pool, ...]) -> Hashable:
        head = (pool.driver, pool.complete, bool(pool.invalid))
        if not pool.counter_sets:
            return head
        left = counters_left(self._cluster, pool, self._held)
        # up to 1.36 pools of one name share their books (docs/semantics.md 3.10.8)
        namesake = next(number for number, other in enumerate(pools) if other.name == pool.name)
        return (head, namesake, tuple(sorted(left.items())))

    def _device_state(self, place: PoolDevice, question: _Question) -> Hashable:
        device, driver, device_id = place.device, place.id.driver, place.id
        fails = (self._lists and has_lists(device)) or (self._empty and has_empty_attributes(device))
        answers = tuple(self._answer(chain, place, fails=fails) for chain in question.chains)
        values = tuple(device.lookup(name, driver) for name in question.attributes)
        held = device_id in self._held.exclusive
        shares = bool(self._held.shares) and device_id in self._held.shares
        capacity = tuple(device.capacity.items())
        spec = place.slice.spec
        plain = (
            spec.node_name is not None
            and not shares
            and not device.taints
            and not device.consumes_counters
            and not device.binding_conditions
            and not device.allow_multiple_allocations
            and not self._cluster.taint_rules
        )
        if plain:
            return (driver, answers, values, held, capacity)
        own = device if spec.per_device_node_selection else spec
        terms = len(own.node_selector.node_selector_terms) if own.node_selector else 0
        return (
            (driver, answers, values, held, shares),
            (own.node_name is not None or device.binds_to_node, terms, place.on_node),
            capacity,
            tuple(sorted(self._held.consumed.get(device_id, {}).items())),
            self._cluster.taints_of(device_id, device, rules=self._gates.taint_rules),
            device.consumes_counters and _counters(device),
            (bool(device.binding_conditions), bool(device.allow_multiple_allocations)),
        )

    def _answer(self, chain: tuple[Selector, ...], place: PoolDevice, *, fails: bool) -> bool | None:
        if fails and chain:
            return None
        driver, device = place.id.driver, place.device
        try:
            return all(selector.decide(driver, device) for selector in chain)
        except CelError:
            return None


def _keys_read(selector: Selector, driver: str) -> frozenset[str] | None:
    """Return the keys of the attributes that a selector reads of a driver's devices, None if it reads everything."""
    return frozenset() if selector.by_driver(driver) is not None else selector.keys_read(driver)


def _counters(device: Device) -> Hashable:
    return tuple(
        (use.counter_set, tuple(use.counters.items()), bool(use.compatibility_groups))
        for use in device.consumes_counters
    )
