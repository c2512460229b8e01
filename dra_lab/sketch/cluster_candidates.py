"""The devices of a whole cluster that a request may mean, and how each is used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from dra_lab.cel.matching import ERROR, MATCH, SELECTOR, Matching
from dra_lab.errors import CelError
from dra_lab.index.catalogue import Catalogue, Shape, catalogue, count_kinds
from dra_lab.index.device_kinds import stages_of_kinds
from dra_lab.index.in_use import without_counters
from dra_lab.index.node_index import node_index
from dra_lab.index.pools import PoolDevice
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceTaint
from dra_lab.model.driver_profile import KINDS
from dra_lab.model.memo import once_per_hardware, once_per_snapshot
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, asks, covers


def counts_cpus(capacity_key: str) -> bool:
    """Say whether a capacity counts CPUs, as `dra.cpu/cpu` does."""
    return capacity_key.rpartition("/")[2] == "cpu"


def keeps_away(taint: DeviceTaint) -> bool:
    """Say whether a taint keeps claims without a toleration from being given its device."""
    return taint.effect in ("NoSchedule", "NoExecute")


def is_tainted(cluster: Cluster, item: PoolDevice, release: KubernetesRelease) -> bool:
    """Say whether a taint keeps claims without a toleration away from a device (gate DRADeviceTaints)."""
    if not (item.device.taints or cluster.taint_rules) or not release.enabled("DRADeviceTaints"):
        return False
    return any(map(keeps_away, cluster.taints_of(item.id, item.device, rules=release.counted_rules)))


def is_used_up(cluster: Cluster, device_id: DeviceID, device: Device, capacity_key: str = "") -> bool:
    """Say whether claims leave nothing of a device: one holds it, partitions in use its counters, or shares all of it.

    Shares leave something as long as there is some of `capacity_key` (of every capacity where it is "").
    """
    if device_id in cluster.allocated.exclusive or device_id in without_counters(cluster):
        return True
    if device_id not in cluster.allocated.shares:
        return False
    consumed = cluster.allocated.consumed.get(device_id, {})
    keys = [capacity_key] if capacity_key else list(device.capacity)
    values = {key: device.capacity[key].value for key in keys if key in device.capacity}
    return any(parse_quantity(value) <= consumed.get(key, 0) for key, value in values.items())


def is_free(cluster: Cluster, item: PoolDevice, release: KubernetesRelease, capacity_key: str = "") -> bool:
    """Say whether a device can still be allocated: neither tainted nor used up (`is_used_up`)."""
    return not is_tainted(cluster, item, release) and not is_used_up(cluster, item.id, item.device, capacity_key)


def device_use(cluster: Cluster, item: PoolDevice) -> str:
    """Return how a device is used, in the cluster's default release.

    It is "in use", "blocked" (partitions in use leave too little of its shared counters), "tainted", "shared" (some of
    it is left) or "free".
    """
    if item.id in without_counters(cluster) and not cluster.allocated.holders(item.id):
        return "blocked"
    if is_used_up(cluster, item.id, item.device):
        return "in use"
    if any(map(keeps_away, cluster.taints_of(item.id, item.device))):
        return "tainted"
    return "shared" if item.id in cluster.allocated.shares else "free"


_MOST_CACHED = 64
_IN_CLASS = (MATCH, SELECTOR, ERROR)


class Candidates(Struct, frozen=True, dict=True):
    """The devices of a cluster that an ask or a link's end means, whether or not they are free.

    `devices` match class and selectors, and `in_class` match the class. `failed` maps a device to the message with
    which a selector fails on it (kube-scheduler would give up the pod). `error` says why nothing can match: no such
    class, or a selector that does not compile. `shapes` counts the devices by what they publish.
    """

    devices: tuple[PoolDevice, ...] = ()
    in_class: tuple[PoolDevice, ...] = ()
    failed: Mapping[DeviceID, str] = field(default_factory=dict)
    error: str = ""
    shapes: Mapping[Shape, int] = field(default_factory=dict)

    @cached_property
    def ids(self) -> frozenset[DeviceID]:
        """Return the identities of `devices`."""
        return frozenset(item.id for item in self.devices)

    def only(self, known: Catalogue, wanted: Callable[[Shape], bool]) -> Candidates:
        """Return these devices as far as their shapes are `wanted`."""
        shapes = {shape: count for shape, count in self.shapes.items() if wanted(shape)}
        if len(shapes) == len(self.shapes):
            return self
        return Candidates(tuple(item for item in self.devices if known.shape(item) in shapes), shapes=shapes)

    @property
    def attributes(self) -> frozenset[str]:
        """Return the full names of the attributes that every one of the devices publishes (none for no device)."""
        names = [frozenset(shape.attributes) for shape in self.shapes]
        return frozenset.intersection(*names) if names else frozenset()


def all_devices(cluster: Cluster) -> tuple[PoolDevice, ...]:
    """Return every device that some node sees, once, by node name and then in kube-scheduler's order."""
    return catalogue(cluster).devices


def candidates(cluster: Cluster, ask: Ask, release: KubernetesRelease) -> Candidates:
    """Return the devices that an ask means; documented classes stand in for missing ones. Never raises for bad CEL."""
    memo = _matched(cluster)
    # the reference is part of the messages
    key = (str(release), ask.reference, ask.device_class_name, ask.selectors)
    found = memo.get(key)
    if found is None:
        if len(memo) >= _MOST_CACHED:
            # a person who types a selector leaves one entry with every pause
            memo.clear()
        found = memo[key] = _sharing(_match(cluster, ask, release), memo)
    return found


def reference_candidates(
    cluster: Cluster, sketch: ClaimSketch, reference: str, release: KubernetesRelease
) -> Candidates:
    """Return the devices that a link's end (`request` or `request/subrequest`) may mean, each once."""
    found_asks = [ask for request in sketch.requests for ask in asks(request) if covers(reference, ask)]
    return joined(cluster, [candidates(cluster, ask, release) for ask in found_asks])


def joined(cluster: Cluster, parts: list[Candidates]) -> Candidates:
    """Return the devices of several asks, each once."""
    if len(parts) == 1:
        return parts[0]
    devices = tuple({item.id: item for part in parts for item in part.devices}.values())
    in_class = tuple({item.id: item for part in parts for item in part.in_class}.values())
    return Candidates(devices, in_class, shapes=catalogue(cluster).count(count_kinds(devices)))


def common_kind(cluster: Cluster, items: Iterable[PoolDevice]) -> str:
    """Return the kind of most devices ("other" for none); of equally many the first of KINDS."""
    return kind_of_most(catalogue(cluster).count(count_kinds(items)))


def kind_of_most(shapes: Mapping[Shape, int]) -> str:
    """Return the kind of most devices of these shapes ("other" for none); of equally many the first of KINDS."""
    counts: Counter[str] = Counter()
    for shape, count in shapes.items():
        counts[shape.kind] += count
    return min(counts, key=lambda kind: (-counts[kind], KINDS.index(kind)), default="other")


def is_guess(shapes: Mapping[Shape, int]) -> bool:
    """Say whether names alone give the kind of most devices of these shapes."""
    kind = kind_of_most(shapes)
    return bool(shapes) and all(shape.guessed for shape in shapes if shape.kind == kind)


def count_free(cluster: Cluster, found: Candidates, release: KubernetesRelease, capacity_key: str = "") -> int:
    """Return how many of the devices are free (`is_free`)."""
    return len(found.ids) - len(_taken(cluster, release, capacity_key) & found.ids)


def count_cpus(
    cluster: Cluster, found: Candidates, release: KubernetesRelease, capacity_key: str
) -> tuple[int, int] | None:
    """Return how many whole CPUs the devices have free and in all; None for a capacity that does not count CPUs."""
    if not counts_cpus(capacity_key) or not any(capacity_key in shape.example.capacity for shape in found.shapes):
        return None

    def cpus(device: Device) -> Fraction:
        amount = device.capacity.get(capacity_key)
        return Fraction() if amount is None else parse_quantity(amount.value)

    known = catalogue(cluster).by_id
    total = sum((count * cpus(shape.example) for shape, count in found.shapes.items()), Fraction())
    taken = _taken(cluster, release, capacity_key) & found.ids
    shared = (found.ids & cluster.allocated.consumed.keys()) - taken
    used = sum((cpus(known[id_].device) for id_ in taken), Fraction())
    used += sum((cluster.allocated.consumed[id_].get(capacity_key, Fraction()) for id_ in shared), Fraction())
    return max(0, int(total - used)), int(total)


def count_tainted(cluster: Cluster, found: Candidates, release: KubernetesRelease) -> int:
    """Return how many of the devices are tainted (`is_tainted`)."""
    tainted = _tainted(cluster, release)
    return len(tainted & found.ids) if tainted else 0


def taken_devices(cluster: Cluster, release: KubernetesRelease) -> frozenset[DeviceID]:
    """Return the devices that are not free (`is_free`)."""
    return _taken(cluster, release, "")


@once_per_snapshot
def _taken(cluster: Cluster, release: KubernetesRelease, capacity_key: str) -> frozenset[DeviceID]:
    # read only devices in use or tainted, because a followed cluster repeats this with every claim
    by_id = catalogue(cluster).by_id
    shared = [by_id[id_] for id_ in cluster.allocated.shares if id_ in by_id]
    full = (item.id for item in shared if not is_free(cluster, item, release, capacity_key))
    alone = _taken_alone(cluster)
    more = _tainted(cluster, release).union(full) - alone
    return alone | more if more else alone


@once_per_snapshot
def _taken_alone(cluster: Cluster) -> frozenset[DeviceID]:
    gone = cluster.allocated.exclusive.keys() | without_counters(cluster).keys()
    return frozenset(catalogue(cluster).by_id.keys() & gone)


@once_per_hardware
def _tainted(cluster: Cluster, release: KubernetesRelease) -> frozenset[DeviceID]:
    items = catalogue(cluster).devices if cluster.taint_rules else catalogue(cluster).tainted
    return frozenset(item.id for item in items if is_tainted(cluster, item, release))


@once_per_hardware
def _matched(_cluster: Cluster) -> dict[object, Candidates]:
    return {}


def _sharing(found: Candidates, memo: Mapping[object, Candidates]) -> Candidates:
    """Return what an ask means, with the devices of another ask where they are the same: 40,000 names take 2 MB."""
    devices, in_class, ids = found.devices, found.in_class, None
    for other in tuple(memo.values()):
        if other.devices == devices:
            devices, ids = other.devices, other.ids
        if other.in_class == in_class:
            in_class = other.in_class
    shared = replace(found, devices=devices, in_class=devices if in_class == devices else in_class)
    if ids is not None:
        shared.__dict__["ids"] = ids
    return shared


def _match(cluster: Cluster, ask: Ask, release: KubernetesRelease) -> Candidates:
    known, matching = catalogue(cluster), node_index(cluster, release).matching
    if ask.device_class_name not in matching.classes:
        names = ", ".join(sorted(matching.classes)) or "none"
        return Candidates(error=f"there is no DeviceClass {ask.device_class_name!r}; classes: {names}")
    try:
        stage_of = stages_of_kinds(matching, ask, known.kinds)
    except CelError as error:
        return Candidates(error=error.message)
    if len(stage_of) < len(known.kinds):
        return _match_each(known, matching, ask, stage_of)
    matched = {kind: count for kind, count in known.kinds.items() if stage_of[kind.number] == MATCH}
    within = {number for number, stage in stage_of.items() if stage in _IN_CLASS}
    numbers, in_class = {kind.number for kind in matched}, known.of_kinds(within)
    devices = in_class if numbers == within else known.of_kinds(numbers)
    return Candidates(devices, in_class, shapes=known.count(matched))


def _match_each(known: Catalogue, matching: Matching, ask: Ask, stage_of: Mapping[int, str]) -> Candidates:
    """Return what an ask means where more than the kind of a device decides."""
    matched: list[PoolDevice] = []
    in_class: list[PoolDevice] = []
    failed: dict[DeviceID, str] = {}
    try:
        for item in known.devices:
            stage = stage_of.get(item.kind.number)
            if stage is None:
                match = matching.match(ask, item.id.driver, item.device)
                stage = match.stage
                if stage == ERROR:
                    failed[item.id] = match.error
            if stage in _IN_CLASS:
                in_class.append(item)
            if stage == MATCH:
                matched.append(item)
    except CelError as error:
        return Candidates(in_class=tuple(in_class), error=error.message)
    return Candidates(tuple(matched), tuple(in_class), failed, shapes=known.count(count_kinds(matched)))
