"""How many devices of each kind a cluster has, and how many of them are free, in words."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from dra_lab.drivers.kinds import parent_of
from dra_lab.index.catalogue import Shape, catalogue, lookup_of
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.driver_profile import Lookup, kind_words
from dra_lab.model.memo import once_per_hardware, once_per_snapshot
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.sketch.cluster_candidates import taken_devices


def free_count(cluster: Cluster, free: int) -> str:
    """Return `18`, `at most 18` where the claims of some namespaces only were read, `unknown` where none were."""
    if not cluster.claims_known:
        return "unknown"
    # claims of the namespaces that were not read may hold what looks free; where nothing does, that is certain
    return f"at most {free:,}" if free and cluster.claims_in_part else f"{free:,}"


def use_words(cluster: Cluster, free: int, total: int, shapes: Iterable[Shape] = ()) -> str:
    """Return `18 of 32 free`, of partitions `41 of 50 partitions still possible`, as far as claims were read."""
    if not are_partitions(shapes):
        return free_words(cluster, free, total)
    return partition_words(cluster, free, total)


def partition_words(cluster: Cluster, possible: int, total: int) -> str:
    """Return `41 of 50 partitions still possible`: as `free_count` tells it, `use unknown` where no claim was."""
    if not cluster.claims_known:
        return f"{total:,} partitions, use unknown"
    return f"{free_count(cluster, possible)} of {total:,} partitions still possible"


def are_partitions(shapes: Iterable[Shape]) -> bool:
    """Say whether all devices draw on shared counters (KEP-4815): each may exclude others, so none is simply free."""
    found = [bool(shape.example.consumes_counters) for shape in shapes]
    return bool(found) and all(found)


def free_words(cluster: Cluster, free: int, total: int | None = None) -> str:
    """Return `18 free`, with a total `18 of 32 free`: as `free_count` tells it, `use unknown` where no claim was."""
    if not cluster.claims_known:
        return "use unknown" if total is None else f"{total:,}, use unknown"
    of_all = "" if total is None else f" of {total:,}"
    return f"{free_count(cluster, free)}{of_all} free"


def left_words(cluster: Cluster, free: int, *, split: bool = False, cpus: bool = False) -> str:
    """Return `18 free`, of partitions (`split`) `41 possible`, of CPUs `96 CPUs free`, as far as claims were read."""
    if not cluster.claims_known:
        return "use unknown"
    return f"{free_count(cluster, free)} {'CPUs free' if cpus else 'possible' if split else 'free'}"


def doubt_words(cluster: Cluster) -> str:
    """Return the words for a device that no claim holds among those read, "" if that means that it is free."""
    if not cluster.claims_known:
        return "use unknown"
    return "free as far as claims were read" if cluster.claims_in_part else ""


def unread_words(cluster: Cluster) -> str:
    """Return what stands beside a picture of devices in use, without its full stop; "" where all claims were read."""
    if not cluster.claims_known:
        return "no claims were read, so it is not known which devices are in use"
    return "not all claims were read, so devices that look free may be in use" if cluster.claims_in_part else ""


KIND_PLURALS: Mapping[str, str] = {
    "gpu": "GPUs",
    "nic": "NICs",
    "cpu": "CPU devices",
    "memory": "memory devices",
    "other": "other devices",
}
"""The words for the devices of each kind, in the order in which they are listed."""


_MODEL = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]+[0-9]+[A-Za-z]*")


class KindCount(Struct, frozen=True):
    """The devices of one kind.

    `whole` are the devices that draw on no shared counters, and `whole_free` those of them that are free. `split` are
    the physical devices that are published as partitions: each of their counter sets is one, and each device that
    partitions without counters name as theirs. `partitions` counts these
    partitions and `possible` those that can still be allocated; `model` is what all split devices are, or "".
    `guessed` of the devices and partitions are of drivers without a profile.
    """

    whole: int = 0
    whole_free: int = 0
    split: int = 0
    partitions: int = 0
    possible: int = 0
    model: str = ""
    guessed: int = 0


class _Partitions(Struct, frozen=True):
    kind_of: Mapping[DeviceID, str]
    sets: Mapping[str, int]
    models: Mapping[str, str]


@once_per_snapshot
def kind_counts(cluster: Cluster, release: KubernetesRelease) -> Mapping[str, KindCount]:
    """Return the devices of each kind that the cluster has, in the order of KIND_PLURALS.

    KEP-4815: the devices that consume counters of one set are ways to use one physical device.
    """
    known, parts = catalogue(cluster), _partitions(cluster)
    total, guessed = Counter[str](), Counter[str]()
    for shape, count in known.counts.items():
        total[shape.kind] += count
        guessed[shape.kind] += count * shape.guessed
    of_kind = Counter(parts.kind_of.values())
    taken, blocked = Counter[str](), Counter[str]()
    for device in taken_devices(cluster, release):
        if device in parts.kind_of:
            blocked[parts.kind_of[device]] += 1
        else:
            taken[known.shape(known.by_id[device]).kind] += 1
    return {
        kind: KindCount(
            total[kind] - of_kind[kind],
            total[kind] - of_kind[kind] - taken[kind],
            parts.sets.get(kind, 0),
            of_kind[kind],
            of_kind[kind] - blocked[kind],
            parts.models.get(kind, ""),
            guessed[kind],
        )
        for kind in KIND_PLURALS
        if total[kind]
    }


@once_per_hardware
def guessed_only(cluster: Cluster) -> frozenset[str]:
    """Return the kinds that names alone give to every device of them."""
    shapes = catalogue(cluster).counts
    return frozenset(shape.kind for shape in shapes) - {shape.kind for shape in shapes if not shape.guessed}


def count_words(cluster: Cluster, kind: str, count: KindCount) -> str:
    """Return `32 GPUs, 18 free`, for partitions `2 A100, 41 of 50 partitions still possible`.

    `32 GPUs (guessed)` where names alone give the kind, `32 GPUs (8 guessed)` where they do for some.
    `at most 18 free` where the claims of some namespaces only were read, `use unknown` where none were.
    """
    parts = []
    if count.whole:
        name = kind_name(kind, count, count.whole)
        parts.append(f"{count.whole:,} {name}, {free_words(cluster, count.whole_free)}")
    if count.split:
        name = count.model or kind_name(kind, count, count.split)
        parts.append(f"{count.split:,} {name}, {_possible(cluster, count)}")
    return " and ".join(parts)


def _possible(cluster: Cluster, count: KindCount) -> str:
    return partition_words(cluster, count.possible, count.partitions)


def kind_name(kind: str, count: KindCount, number: int = 2) -> str:
    """Return the word for a number of devices of a kind, with how many of the kind are guessed."""
    name = KIND_PLURALS[kind] if number != 1 else KIND_PLURALS[kind].removesuffix("s")
    if 0 < count.guessed < count.whole + count.partitions:
        return f"{name} ({count.guessed:,} guessed)"
    return kind_words(name, guessed=bool(count.guessed))


@once_per_hardware
def _partitions(cluster: Cluster) -> _Partitions:
    known = catalogue(cluster)
    if not cluster.partitioned and not any(_parent(shape.driver, shape.example) for shape in known.counts):
        return _Partitions({}, {}, {})
    kind_of: dict[DeviceID, str] = {}
    sets: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    models: dict[str, set[str]] = defaultdict(set)
    for item in known.devices:
        if item.device.consumes_counters:
            kind = kind_of[item.id] = known.shape(item).kind
            models[kind].add(_model(item.driver, lookup_of(item.driver, item.device)))
            sets[kind].update((item.id.driver, item.id.pool, use.counter_set) for use in item.device.consumes_counters)
        elif parent := _parent(item.driver, item.device):
            kind = kind_of[item.id] = known.shape(item).kind
            models[kind].add(_model(item.driver, lookup_of(item.driver, item.device)))
            sets[kind].add((item.id.driver, item.id.pool, parent))
    one = {kind: next(iter(names)) if len(names) == 1 else "" for kind, names in models.items()}
    return _Partitions(kind_of, {kind: len(names) for kind, names in sets.items()}, one)


def _parent(driver: str, device: Device) -> str:
    return parent_of(driver, lookup_of(driver, device))


def _model(driver: str, lookup: Lookup) -> str:
    """Return `A100` for `NVIDIA A100-PCIE-40GB`, the whole name if it has no such word, "" if none is published."""
    product = lookup(f"{driver}/productName") or lookup(f"{driver}/model")
    found = _MODEL.search(product) if isinstance(product, str) else None
    return found[0] if found else str(product or "")
