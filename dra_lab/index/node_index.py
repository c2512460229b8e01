"""The devices of each node, reduced to numbers that identical nodes share, and how far they come with a request."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, count

from msgspec import Struct, field

from dra_lab.cel.matching import ERROR, Match, Matching
from dra_lab.drivers.kinds import attributes_of_machines
from dra_lab.index.device_kinds import device_kinds, keys_beside_kind
from dra_lab.index.documented_classes import known_classes
from dra_lab.index.in_use import consumption, counted_pools
from dra_lab.index.pools import Pool, PoolDevice, Tie, devices_on, pools_of, published_pools, tie_of
from dra_lab.model.claims import AllocatedDevices, DeviceClass
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import LEVELS, DriverProfile
from dra_lab.model.memo import Cache, once_per_hardware
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease, gates_of
from dra_lab.model.sketch import Ask

_QUESTIONS = 16
_MOST_ANSWERS = 256
"""Pairs of class and selectors whose answers are kept; those of one plan with all that it tries are some tens."""

Taken = tuple[tuple[str, Fraction], ...]
"""What is taken of a shared device: amounts by the name of the capacity, sorted."""
Held = tuple[frozenset[int], tuple[tuple[int, Taken], ...]]
"""What is in use on a node, by position: held alone, and shared with the amounts taken."""

_NOTHING: Held = (frozenset(), ())

Failure = tuple[DeviceID, str, str]
"""A device on which a selector fails, the selector, the message."""


class IndexedNode(Struct, frozen=True):
    """A node's devices in kube-scheduler's order; `hardware` is equal for nodes that differ in names alone.

    `kinds` are the numbers of the devices' kinds; `numbers` stand for what the planner reads of each device; `counted`
    are the pools of which a device here draws on shared counters.
    """

    node: str
    devices: tuple[PoolDevice, ...]
    hardware: int
    kinds: tuple[int, ...]
    numbers: tuple[int, ...]
    counted: tuple[Pool, ...] = ()


Looked = tuple[tuple[str, tuple[str, ...] | None], ...]
"""Attributes by driver, by their keys: these tell devices of one kind apart, None for every attribute."""


class Answers(Struct):
    """How far the devices of the nodes looked at come with one class and selectors.

    The answer for a device depends on its kind and the attributes in `looked`, hence on its look (`_looks_on`).
    `by_node` holds for each node the number of its `stages`, `by_looks` the same by the looks of its devices, and
    `by_look` the stage by look. `failures` are the devices on which a selector fails, `shared` the answers for devices
    that several nodes see, by the place in memory of what the cluster keeps.
    """

    looked: Looked
    by_node: dict[str, int] = field(default_factory=dict)
    by_looks: dict[tuple[int, ...], int] = field(default_factory=dict)
    by_look: dict[int, str] = field(default_factory=dict)
    stages: dict[int, tuple[str, ...]] = field(default_factory=dict)
    failures: dict[Failure, None] = field(default_factory=dict)
    shared: dict[int, Match] = field(default_factory=dict)


class Numbers(Struct):
    """Numbers of values: equal values have the same number, and no number belongs to two."""

    known: dict[Hashable, int] = field(default_factory=dict)
    following: Iterator[int] = field(default_factory=count)

    def of(self, kind: str, value: Hashable) -> int:
        """Return the number of a value; two threads that ask at once get the same."""
        number = self.known.get((kind, value))
        return self.known.setdefault((kind, value), next(self.following)) if number is None else number


class NodeIndex:
    """The devices of all nodes, and the selectors' answers; it is kept as long as the hardware."""

    def __init__(self, cluster: Cluster, release: KubernetesRelease, classes: Mapping[str, DeviceClass]) -> None:
        """Look at no node yet: 5,000 nodes with 90,000 devices take half a second."""
        self.cluster, self.release = cluster, release
        self.matching = Matching(cluster, release, classes)
        self.gates = gates_of(release)
        self._taint_rules = release.counted_rules
        self.numbers = Numbers()
        # of devices that several nodes see, by the place in memory of what the cluster keeps
        self._shared: dict[int, int] = {}
        self._drawn: dict[int, tuple[Pool, int]] = {}
        self._of_pool: dict[int, tuple[Pool, list[int]]] = {}
        self._same: dict[tuple[int, ...], IndexedNode] = {}
        self._of_kind: dict[int, int] = {}
        self._read: dict[str, tuple[str, ...]] = {}
        self._ruled = bool(cluster.taint_rules) and self._taint_rules
        self._answers: dict[tuple[str, tuple[str, ...]], Answers] = {}
        self._looks: dict[Looked, dict[str, tuple[int, ...]]] = {}
        self._values: dict[str, dict[str, int]] = {}
        self.nodes: dict[str, IndexedNode] = {}
        self._held: tuple[AllocatedDevices | None, dict[str, Held]] = (None, {})
        self._held_of: dict[int, tuple[Pool, Held]] = {}
        self._taken: dict[Taken, Taken] = {}
        self._shapes: dict[Hashable, dict[tuple[int, ...], list[str]]] = {}

    def view(self, node_name: str) -> IndexedNode:
        """Return a node's view."""
        found = self.nodes.get(node_name)
        if found is None:
            pools = pools_of(self.cluster, node_name, self.gates)
            devices = tuple(devices_on(pools))
            kinds = tuple([item.kind.number for item in devices])
            whole = all(pool.complete and not pool.invalid for pool in pools)
            of_file = self.cluster.file_places.get(node_name)
            plain = not self._ruled and not self.cluster.network_slices and whole and of_file is None
            same = self._same.get(kinds) if plain else None
            if same is not None:
                found = IndexedNode(node_name, devices, same.hardware, same.kinds, same.numbers)
                self.nodes[node_name] = found
                return found
            # An incomplete pool still publishes places, so such a node is like no other.
            counted = counted_pools(pools)
            numbers = tuple(chain.from_iterable(map(self._numbers, pools)))
            key: tuple[Hashable, ...] = (numbers, self._counters(pools, counted))
            if of_file is not None:
                # it tells places by the devices' names, so names count here
                key = (*key, of_file, tuple((item.driver, item.id.device) for item in devices))
            hardware = self.numbers.of("node", key if whole else node_name)
            found = IndexedNode(node_name, devices, hardware, kinds, numbers, counted)
            if plain and not counted:
                self._same[kinds] = found
            self.nodes[node_name] = found
        return found

    def answers(self, ask: Ask, node_name: str = "") -> Answers:
        """Return how far devices come with an ask's class and selectors, on this node and others that were requested.

        Nodes that were requested long ago may be removed.
        """
        key = (ask.device_class_name, ask.selectors)
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = Answers(self._looked_at(ask))
            # a person types selector after selector, and each takes some hundred kilobytes on a large cluster
            for old in tuple(self._answers)[:-_MOST_ANSWERS]:
                self._answers.pop(old, None)
        if node_name and node_name not in found.by_node:
            self._answer(found, ask, node_name)
        return found

    def stages(self, ask: Ask, node_name: str) -> tuple[str, ...]:
        """Return how far each device of a node comes with an ask's class and selectors (`Match.stage`)."""
        found = self.answers(ask, node_name)
        return found.stages[found.by_node[node_name]]

    def held_on(self, node_name: str, held: AllocatedDevices) -> Held:
        """Return the positions of a node's devices that are held alone, and of those shared with what is taken of each.

        Worked out once for what is in use: every question about the same cluster asks for it again. What is taken is
        the same object wherever it is equal: comparing fractions is slow.
        """
        if not held.exclusive and not held.shares:
            return _NOTHING
        of, nodes = self._held
        if of is not held:
            of, nodes = self._held = (held, {})
            self._taken, self._held_of = {}, {}
        found = nodes.get(node_name)
        if found is None:
            alone: list[int] = []
            shared: list[tuple[int, Taken]] = []
            begin = 0
            for pool in pools_of(self.cluster, node_name, self.gates):
                of_pool = self._held_of_pool(pool, held)
                if any(of_pool):
                    alone += [begin + at for at in of_pool[0]]
                    shared += [(begin + at, taken) for at, taken in of_pool[1]]
                begin += len(pool.here)
            found = nodes[node_name] = (frozenset(alone), tuple(shared))
        return found

    def _held_of_pool(self, pool: Pool, held: AllocatedDevices) -> Held:
        """Do what `held_on` does for the devices of one pool; of a pool that many nodes see once."""
        known = self._held_of.get(id(pool))
        if known is not None:
            return known[1]
        one_each = enumerate(pool.here) if held.exclusive else ()
        alone = frozenset([at for at, item in one_each if item.id in held.exclusive])
        takes = [(at, self._taken_of(held, item.id)) for at, item in enumerate(pool.here)] if held.shares else ()
        found = alone, tuple([(at, taken) for at, taken in takes if taken is not None])
        if pool.here and not pool.here[0].slice.spec.node_name:
            self._held_of[id(pool)] = (pool, found)
        return found

    def _taken_of(self, held: AllocatedDevices, device: DeviceID) -> Taken | None:
        """Return what is taken of a shared device, None for another one."""
        if device not in held.shares:
            return None
        taken = tuple(sorted(held.consumed.get(device, {}).items()))
        return self._taken.setdefault(taken, taken)

    def value_number(self, where: str, node_name: str) -> int:
        """Return a number for the values of one attribute on a node's devices."""
        found = self._values.setdefault(where, {})
        number = found.get(node_name)
        if number is None:
            values = tuple(item.device.lookup(where, item.driver) for item in self.view(node_name).devices)
            number = found[node_name] = self.numbers.of("values", values)
        return number

    def shapes(self, asks: Sequence[Ask], wheres: Sequence[str]) -> dict[tuple[int, ...], list[str]] | None:
        """Return all nodes by their `shape_key`, if `keep_shapes` has them; not to be changed."""
        key = _looked_at(asks, wheres)
        found = self._shapes.pop(key, None)
        if found is not None:
            self._shapes[key] = found  # as the latest
        return found

    def keep_shapes(self, asks: Sequence[Ask], wheres: Sequence[str], shapes: dict[tuple[int, ...], list[str]]) -> None:
        """Store all nodes by their `shape_key`; the oldest requests are dropped."""
        self._shapes[_looked_at(asks, wheres)] = shapes
        for key in tuple(self._shapes)[:-_QUESTIONS]:
            self._shapes.pop(key, None)

    def _looked_at(self, ask: Ask) -> Looked:
        kinds = device_kinds(self.cluster)
        found = []
        for driver in self.cluster.drivers:
            keys = keys_beside_kind(self.matching, ask, kinds.profile(driver))
            if keys is None or keys:
                found.append((driver, None if keys is None else tuple(sorted(keys))))
        return tuple(found)

    def _looks_on(self, node_name: str, looked: Looked) -> tuple[int, ...]:
        """Return numbers that devices of a node share if their kinds and some attributes are equal, -1 for none."""
        view = self.view(node_name)
        if not looked:
            return view.kinds
        nodes = self._looks.get(looked)
        if nodes is None:
            nodes = self._looks[looked] = {}
            for old in tuple(self._looks)[:-_QUESTIONS]:
                self._looks.pop(old, None)
        found = nodes.get(node_name)
        if found is None:
            keys = dict(looked)
            found = nodes[node_name] = tuple([self._look(item, keys.get(item.id.driver, ())) for item in view.devices])
        return found

    def _look(self, item: PoolDevice, keys: tuple[str, ...] | None) -> int:
        if keys is None:
            return -1
        return self.numbers.of("look", (item.kind.number, *map(item.device.attributes.get, keys)))

    def _answer(self, found: Answers, ask: Ask, node_name: str) -> None:
        looks = self._looks_on(node_name, found.looked)
        number = found.by_looks.get(looks)
        if number is None:
            devices = zip(looks, self.view(node_name).devices, strict=True)
            stages = tuple([found.by_look.get(look) or self._stage(found, ask, item, look) for look, item in devices])
            number = self.numbers.of("stages", stages)
            found.stages[number] = stages
            if ERROR not in stages and -1 not in looks:
                found.by_looks[looks] = number
        found.by_node[node_name] = number

    def _stage(self, found: Answers, ask: Ask, item: PoolDevice, look: int) -> str:
        match = found.shared.get(id(item.device))
        if match is None:
            match = self.matching.match(ask, item.id.driver, item.device)
            if not item.slice.spec.node_name:
                found.shared[id(item.device)] = match
        if match.stage == ERROR:
            found.failures[item.id, match.expression, match.error] = None
        elif look >= 0:
            found.by_look[look] = match.stage
        return match.stage

    def _counters(self, pools: Sequence[Pool], counted: Sequence[Pool]) -> Hashable:
        """Return what devices draw on and what there is: equal for nodes with equal counters.

        That is, for each pool with counters in turn, where its devices begin and the number of its counters.
        """
        found, begin, wanted = [], 0, {id(pool) for pool in counted}
        for pool in pools:
            if id(pool) in wanted:
                # with the pool, so that its place in memory is not used again: many nodes see the same pools
                known = self._drawn.get(id(pool))
                if known is None:
                    known = self._drawn[id(pool)] = (pool, self.numbers.of("counters", _drawn(pool)))
                found.append((begin, known[1]))
            begin += len(pool.here)
        return tuple(found)

    def _numbers(self, pool: Pool) -> Sequence[int]:
        """Return what stands for each device of a pool on a node; of a pool that many nodes see it is asked once."""
        known = self._of_pool.get(id(pool))
        if known is not None:
            return known[1]
        numbers = [self._number(item) for item in pool.here]
        if numbers and not pool.here[0].slice.spec.node_name:
            # with the pool, so that its place in memory is not used again
            self._of_pool[id(pool)] = (pool, numbers)
        return numbers

    def _number(self, item: PoolDevice) -> int:
        if item.slice.spec.node_name:
            if self._ruled:
                return self._device(item)
            number = self._of_kind.get(item.kind.number)
            if number is None:
                number = self._of_kind[item.kind.number] = self._device(item)
            return number
        known = self._shared.get(id(item.device))
        if known is None:
            known = self._shared[id(item.device)] = self._device(item)
        return known

    def _published_by(self, known: DriverProfile) -> tuple[str, ...]:
        found = self._read.get(known.driver)
        if found is None:
            found = self._read[known.driver] = _published_by(known)
        return found

    def _device(self, item: PoolDevice) -> int:
        device, driver = item.device, item.driver
        published = device.attributes
        return self.numbers.of(
            "device",
            (
                driver,
                # what `Device.lookup` would look for, under both keys
                tuple(map(published.get, self._published_by(item.kind.profile))),
                tuple(device.capacity.items()),
                self.cluster.taints_of(item.id, device, rules=self._taint_rules),
                (bool(device.allow_multiple_allocations), bool(device.binding_conditions)),
                bool(device.node_allocatable_resources or device.node_allocatable_resource_mappings),
                tuple(use.compatibility_groups for use in device.consumes_counters),
                Tie.NODE if item.slice.spec.node_name else tie_of(item),
            ),
        )


def _looked_at(asks: Sequence[Ask], wheres: Sequence[str]) -> Hashable:
    return tuple((ask.device_class_name, ask.selectors) for ask in asks), tuple(wheres)


def _drawn(pool: Pool) -> Hashable:
    """Return what the devices of a pool draw on, by their position on the node, and what there is."""
    drawn = tuple(
        (at, consumption(item.device, 0)) for at, item in enumerate(pool.here) if item.device.consumes_counters
    )
    totals = sorted((s.name, name, str(c.value)) for s in pool.counter_sets for name, c in s.counters.items())
    return drawn, tuple(totals)


def _published_by(known: DriverProfile) -> tuple[str, ...]:
    """Return the keys of the attributes that tell a device's kind and place, by what is known of its driver.

    An attribute of the driver's own domain is there with its full and with its bare key.
    """
    names = [name for level in LEVELS for name in known.attributes_at(level)]
    names += [name for rule in known.kinds for name in rule.when]
    names += attributes_of_machines(known.driver)
    split = ((name, *name.partition("/")) for name in dict.fromkeys(names))
    own = known.driver
    return tuple(key for name, domain, _, bare in split for key in ((name, bare) if domain == own else (name,)))


@once_per_hardware
def node_index(cluster: Cluster, release: KubernetesRelease) -> NodeIndex:
    """Return the node index of a cluster for a release."""
    # Without claims, which it does not read: it outlives the snapshot that it is made from.
    bare, classes = cluster.with_objects(claims=(), pods=(), findings=()), known_classes(cluster)
    published_pools(cluster)
    # With a cache of its own that has the pools: with the one that gets the index, both would stay until a garbage
    # collection.
    bare.memo.hardware = Cache(cluster.memo.hardware)
    return NodeIndex(bare, release, classes)


def shape_key(views: NodeIndex, node_name: str, asks: Sequence[Ask], wheres: Sequence[str]) -> tuple[int, ...]:
    """Return what a node is for a claim, apart from what is in use: equal keys mean equal devices in one order."""
    return (
        views.view(node_name).hardware,
        *(views.answers(ask, node_name).by_node[node_name] for ask in asks),
        *(views.value_number(where, node_name) for where in wheres),
    )
