"""The devices that a request of a drawing finds in the cluster, shown while it is being drawn."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.cel.selector import admit_selector, compile_selector
from dra_lab.drivers.kinds import device_label
from dra_lab.drivers.profiles import documented_class
from dra_lab.errors import CelError, UnsupportedFeature
from dra_lab.index.catalogue import lookup_of
from dra_lab.index.pools import PoolDevice
from dra_lab.model.claims import DeviceRequest
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import kind_words
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.names import DeviceID
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, asks
from dra_lab.sketch.cluster_candidates import (
    Candidates,
    candidates,
    common_kind,
    count_cpus,
    count_free,
    joined,
    kind_of_most,
)
from dra_lab.sketch.kind_counts import are_partitions

_MOST_CACHED = 64

PLURALS = {"gpu": "GPUs", "nic": "NICs", "cpu": "CPUs", "memory": "memory devices", "other": "devices"}
"""The kinds of devices in sentences."""


class RequestStatus(Struct, frozen=True):
    """The devices that one request finds, over all nodes and whether or not the devices are free.

    `matching` are the devices that class and selectors let through (of any alternative); `total` counts those of the
    class alone; `free` the matching ones that are not in use and not tainted. `text` says it in words ("12 of 64 match;
    3 lack dra.net/rdma"), `error` why nothing can match or where a selector fails, "" where all is well. `attributes`
    are the full names that every matching device publishes. `split` says that all of them are partitions of a device.
    `free_cpus` are the CPUs that they have left where the request asks for CPUs of a device, else None.
    `model` is what all of them are ("NVIDIA A100-SXM4-40GB"), "" if they differ.
    """

    matching: tuple[DeviceID, ...] = ()
    total: int = 0
    text: str = ""
    error: str = ""
    free: int = 0
    attributes: tuple[str, ...] = ()
    kind: str = "other"
    split: bool = False
    model: str = ""
    free_cpus: int | None = None


def request_status(cluster: Cluster, sketch: ClaimSketch, release: KubernetesRelease) -> Mapping[str, RequestStatus]:
    """Return the status of every request by its name. Never raises for a selector that is wrong: `error` says it."""
    return {request.name: _status(cluster, request, release) for request in sketch.requests}


def _status(cluster: Cluster, request: DeviceRequest, release: KubernetesRelease) -> RequestStatus:
    own_asks = asks(request)
    memo = _matched(cluster)
    key = (str(release), tuple((ask.reference, ask.device_class_name, ask.selectors) for ask in own_asks))
    found = memo.get(key)
    if found is None:
        if len(memo) >= _MOST_CACHED:
            memo.clear()
        # another thread may clear the memory meanwhile
        found = memo[key] = _of_hardware(cluster, own_asks, release)
    whole, known = found
    keys = {key for ask in own_asks for key in ask.capacity}
    capacity_key = next(iter(keys)) if len(keys) == 1 else ""
    cpus = count_cpus(cluster, whole, release, capacity_key)
    free = count_free(cluster, whole, release, capacity_key)
    return replace(known, free=free, free_cpus=None if cpus is None else cpus[0])


@once_per_hardware
def _matched(_cluster: Cluster) -> dict[object, tuple[Candidates, RequestStatus]]:
    return {}


def _of_hardware(
    cluster: Cluster, own_asks: tuple[Ask, ...], release: KubernetesRelease
) -> tuple[Candidates, RequestStatus]:
    found = [candidates(cluster, ask, release) for ask in own_asks]
    whole = joined(cluster, found)
    models = {device_label(shape.profile, lookup_of(shape.driver, shape.example)) for shape in whole.shapes}
    return whole, RequestStatus(
        tuple(item.id for item in whole.devices),
        len(whole.in_class),
        _text(own_asks, whole),
        "; ".join(dict.fromkeys(text for text in map(_error, own_asks, found) if text)),
        0,
        tuple(sorted(whole.attributes)),
        _kind(cluster, own_asks, whole),
        are_partitions(whole.shapes),
        (models.pop() if len(models) == 1 else ""),
    )


def _kind(cluster: Cluster, own_asks: tuple[Ask, ...], whole: Candidates) -> str:
    """Return the kind of the devices, or, where there are none, that of the documented class."""
    if whole.devices:
        return kind_of_most(whole.shapes)
    if whole.in_class:
        return common_kind(cluster, whole.in_class)
    for ask in own_asks:
        known = documented_class(ask.device_class_name, cluster.profiles)
        if known is not None:
            own = [offer.kind for offer in known[0].offers if offer.device_class == known[1].name]
            kinds = dict.fromkeys(own or [offer.kind for offer in known[0].offers])
            if len(kinds) == 1:
                return next(iter(kinds))
    return "other"


def _text(own_asks: tuple[Ask, ...], whole: Candidates) -> str:
    matching, in_class = whole.devices, whole.in_class
    if not in_class:
        return "no device of this class"
    head = f"{len(matching):,} of {len(in_class):,} match" + ("" if len(matching) != 1 else "es")
    others = [item for item in in_class if item.id not in whole.ids] if len(matching) < len(in_class) else []
    lacking = _lacking(own_asks, others)
    kinds = {kind_words(PLURALS[shape.kind], guessed=shape.guessed) for shape in whole.shapes}
    mixed = f"; of several kinds: {', '.join(sorted(kinds))}" if len({s.kind for s in whole.shapes}) > 1 else ""
    return head + (f"; {lacking}" if lacking else "") + mixed


def _lacking(own_asks: tuple[Ask, ...], others: list[PoolDevice]) -> str:
    names: set[str] = set()
    for ask in own_asks:
        for text in ask.selectors:
            try:
                names |= compile_selector(text).attributes
            except (CelError, UnsupportedFeature):
                continue
    parts = []
    for name in sorted(names):
        count = sum(1 for item in others if item.device.lookup(name, item.driver) is None)
        if count:
            parts.append(f"{count} lack{'s' if count == 1 else ''} {name}")
    return ", ".join(parts)


def _error(ask: Ask, found: Candidates) -> str:
    where = f"{ask.reference}: " if "/" in ask.reference else ""
    if found.error:
        return where + found.error
    for text in ask.selectors:
        try:
            admit_selector(text)
        except (CelError, UnsupportedFeature) as error:
            return where + error.message
    if found.failed:
        device, message = next(iter(found.failed.items()))
        count = len(found.failed)
        devices = f"{device}" if count == 1 else f"{count} devices, first {device}"
        why = message.rstrip(".")
        return f"{where}the selector fails on {devices}: {why}. kube-scheduler gives up the pod when it meets one"
    return ""
