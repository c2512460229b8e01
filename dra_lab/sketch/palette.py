"""What can be drawn: the palette, made from the device classes and the drivers of one cluster."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from dra_lab.drivers.kinds import device_label
from dra_lab.drivers.profiles import documented_class, profile
from dra_lab.index.catalogue import Shape, catalogue, lookup_of
from dra_lab.model.claims import CapacityRequirements, DeviceRequest, ExactDeviceRequest, cel_selectors
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import KINDS, DriverProfile, Offer
from dra_lab.model.memo import once_per_hardware, once_per_snapshot
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, asks
from dra_lab.sketch.cluster_candidates import (
    Candidates,
    candidates,
    count_cpus,
    count_free,
    count_tainted,
    is_guess,
    kind_of_most,
)
from dra_lab.sketch.kind_counts import are_partitions

_GUESS = "kind guessed from names"


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """Something that can be drawn in this cluster.

    `key` is unique and stable. `label` is for people and may contain text from the cluster, so escape it.
    `device_class` and `selectors` go into a request for it. `capacity_key` is "" for whole devices, else the capacity
    of which the request asks for `default_capacity` (a quantity). `total` counts the devices of all nodes, `free` those
    not in use and not tainted; both count CPUs where a request asks for CPUs of a device. `in_cluster` is False if the
    class is only documented and must be created with the claim. `missing` says in a few words whether the cluster lacks
    the class or no class was read. `split` is True if the devices are partitions, which exclude each other. `guessed`
    says that no profile gives the kind. `again` says that an entry before it means the same devices.
    """

    key: str
    label: str
    kind: str
    device_class: str
    selectors: tuple[str, ...] = ()
    capacity_key: str = ""
    default_count: int = 1
    default_capacity: str = ""
    free: int = 0
    total: int = 0
    in_cluster: bool = True
    driver: str = ""
    note: str = ""
    missing: str = ""
    split: bool = False
    guessed: bool = False
    again: bool = False


Meant = tuple[PaletteEntry, Candidates]
"""An entry, and the devices that it asks for."""


def palette(cluster: Cluster, release: KubernetesRelease | None = None) -> tuple[PaletteEntry, ...]:
    """Return what can be drawn: GPUs, NICs, CPUs, memory, others; then by driver and label.

    Offers of the known drivers that match a device; classes of the cluster that no offer covers and that match a
    device; drivers without any class, under their own name. Empty for a cluster without devices. Without a release,
    the cluster's default counts.
    """
    return _with_free(cluster, cluster.target_release(release))


@once_per_snapshot
def _with_free(cluster: Cluster, release: KubernetesRelease) -> tuple[PaletteEntry, ...]:
    return tuple(_counted(cluster, entry, meant, release) for entry, meant in _of_hardware(cluster, release))


def _counted(cluster: Cluster, entry: PaletteEntry, meant: Candidates, release: KubernetesRelease) -> PaletteEntry:
    free, total = count_cpus(cluster, meant, release, entry.capacity_key) or (
        count_free(cluster, meant, release, entry.capacity_key),
        entry.total,
    )
    return dataclasses.replace(entry, free=free, total=total, split=are_partitions(meant.shapes))


@once_per_hardware
def _of_hardware(cluster: Cluster, release: KubernetesRelease) -> tuple[Meant, ...]:
    pairs = [*_marked(_offers(cluster, release))]
    pairs += _classes(cluster, release, {entry.device_class for entry, _ in pairs})
    pairs += _unclassed(cluster, release, [entry for entry, _ in pairs])
    distinct = zip(_distinct_labels([entry for entry, _ in pairs]), (meant for _, meant in pairs), strict=True)
    return tuple(sorted(distinct, key=lambda pair: (KINDS.index(pair[0].kind), pair[0].driver)))


def request_of(entry: PaletteEntry, name: str) -> DeviceRequest:
    """Return the request of a palette entry, with its defaults written out."""
    capacity = {entry.capacity_key: entry.default_capacity} if entry.capacity_key and entry.default_capacity else {}
    return DeviceRequest(
        name=name,
        exactly=ExactDeviceRequest(
            device_class_name=entry.device_class,
            selectors=cel_selectors(entry.selectors),
            allocation_mode="ExactCount",
            count=entry.default_count,
            capacity=CapacityRequirements(requests=dict(capacity)) if capacity else None,
        ),
    )


def _offers(cluster: Cluster, release: KubernetesRelease) -> Iterator[Meant]:
    counts = catalogue(cluster).counts
    for driver in cluster.drivers:
        known = profile(driver, cluster.profiles)
        shapes = {shape: count for shape, count in counts.items() if shape.driver == driver}
        for offer in known.offers:
            total = sum(count for shape, count in shapes.items() if _applies(offer, shape))
            if total:
                yield _offer_entry(cluster, release, known, offer, total)


def _marked(offers: Iterable[Meant]) -> Iterator[Meant]:
    """Mark an offer that means the same devices as one before it: any NIC, if every NIC has RDMA."""
    known = set()
    for entry, found in offers:
        meant = (entry.device_class, entry.capacity_key, frozenset(found.shapes))
        yield dataclasses.replace(entry, again=meant in known), found
        known.add(meant)


def _applies(offer: Offer, shape: Shape) -> bool:
    device = shape.example
    return offer.applies(
        lookup_of(shape.driver, device), device.capacity, shareable=bool(device.allow_multiple_allocations)
    )


def _offer_entry(cluster: Cluster, release: KubernetesRelease, known: DriverProfile, offer: Offer, total: int) -> Meant:
    name, exact = _class_for(cluster, release, offer)
    found = candidates(cluster, ask_for(name, offer.selectors), release)
    if offer.shareable is not None:
        # whole devices and shares have one class; the stepper of an entry only makes sense for its own sort
        found = found.only(catalogue(cluster), lambda shape: _applies(offer, shape))
    in_cluster = name in cluster.class_by_name
    note = _note(cluster, release, found, in_cluster=in_cluster, name=name)
    matched = len(found.devices)
    if not exact and in_cluster and matched < total:
        note = _join(note, f"{total - matched} devices of the driver are outside the class {name}")
    entry = PaletteEntry(
        f"{known.driver}/{offer.key}",
        _label(offer, found.shapes),
        offer.kind,
        name,
        offer.selectors,
        offer.capacity_key,
        offer.default_count,
        _fitting_default(offer, found.shapes),
        0,
        matched,
        in_cluster,
        known.driver,
        note,
        "" if in_cluster else _missing(cluster),
    )
    return entry, found


def _class_for(cluster: Cluster, release: KubernetesRelease, offer: Offer) -> tuple[str, bool]:
    """Return the class to ask for an offer with, and whether it selects exactly what the offer means.

    The offer's own class if the cluster has it, else another name of the same class, else a class of the cluster that
    together with the offer's selectors selects the same devices, else the documented one.
    """
    own = cluster.class_by_name
    documented = documented_class(offer.device_class, cluster.profiles)
    for name in (offer.device_class, *(documented[1].aliases if documented else ())):
        if name in own:
            return name, name == offer.device_class
    wanted = candidates(cluster, ask_for(offer.device_class, offer.selectors), release).ids
    for name in sorted(own):
        if wanted and candidates(cluster, ask_for(name, offer.selectors), release).ids == wanted:
            return name, True
    return offer.device_class, True


def _label(offer: Offer, shapes: Collection[Shape]) -> str:
    if offer.kind != "gpu" or offer.capacity_key:
        return offer.label
    models = {device_label(shape.profile, lookup_of(shape.driver, shape.example)) for shape in shapes}
    return models.pop() if len(models) == 1 else offer.label


def _distinct_labels(entries: list[PaletteEntry]) -> Iterator[PaletteEntry]:
    """Say of two entries with one label (CPUs in both modes of the driver) which asks for an amount."""
    seen = Counter((entry.kind, entry.label) for entry in entries)
    for entry in entries:
        if seen[entry.kind, entry.label] > 1:
            how = "by amount" if entry.capacity_key else "by count"
            yield dataclasses.replace(entry, label=f"{entry.label} ({how})")
        else:
            yield entry


def _fitting_default(offer: Offer, shapes: Collection[Shape]) -> str:
    """Return the offer's default amount, or the smallest device's total where that is less."""
    key = offer.capacity_key
    if not key:
        return ""
    totals = [shape.example.capacity[key].value for shape in shapes if key in shape.example.capacity]
    smallest = min(totals, key=parse_quantity, default=offer.default_capacity)
    return min((offer.default_capacity, str(smallest)), key=parse_quantity)


def _classes(cluster: Cluster, release: KubernetesRelease, covered: set[str]) -> Iterator[Meant]:
    for device_class in cluster.classes:
        name = device_class.name
        if name in covered:
            continue
        found = candidates(cluster, ask_for(name), release)
        if not found.devices:
            continue
        entry = PaletteEntry(
            f"class/{name}",
            name,
            kind_of_most(found.shapes),
            name,
            total=len(found.devices),
            driver=", ".join(sorted({shape.driver for shape in found.shapes})),
            note=_join(
                _note(cluster, release, found, in_cluster=True, name=name),
                f"its selector fails on {len(found.failed)} devices" if found.failed else "",
                _GUESS if is_guess(found.shapes) else "",
            ),
            guessed=is_guess(found.shapes),
        )
        yield entry, found


def _unclassed(cluster: Cluster, release: KubernetesRelease, entries: Iterable[PaletteEntry]) -> Iterator[Meant]:
    """Yield an entry for every driver of which no entry offers a device: under its own name, class to be created.

    A driver whose data file offers nothing has none: people do not write claims for its devices.
    """
    offered: set[str] = set()
    for entry in entries:
        found = candidates(cluster, ask_for(entry.device_class, entry.selectors), release)
        offered |= {shape.driver for shape in found.shapes}
    known = catalogue(cluster)
    for driver in cluster.drivers:
        of_driver = profile(driver, cluster.profiles)
        unoffered = of_driver.known and not of_driver.offers
        if unoffered or driver in offered or driver not in known.by_driver:
            continue
        items = known.by_driver[driver]
        note = "no DeviceClass of this cluster selects its devices; one is exported with the claim"
        shapes = {shape: count for shape, count in known.counts.items() if shape.driver == driver}
        entry = PaletteEntry(
            f"driver/{driver}",
            of_driver.title,
            kind_of_most(shapes),
            driver,
            total=len(items),
            in_cluster=False,
            driver=driver,
            note=_join(note, _GUESS if is_guess(shapes) else ""),
            missing=_missing(cluster),
            guessed=is_guess(shapes),
        )
        yield entry, Candidates(items, shapes=shapes)


def ask_for(name: str, selectors: tuple[str, ...] = ()) -> Ask:
    """Return the ask for one device of a class."""
    texts = cel_selectors(selectors)
    request = ExactDeviceRequest(device_class_name=name, selectors=texts)
    return asks(DeviceRequest(name="any", exactly=request))[0]


def _note(cluster: Cluster, release: KubernetesRelease, found: Candidates, *, in_cluster: bool, name: str) -> str:
    count = count_tainted(cluster, found, release)
    tainted = f"{count} tainted" if count else ""
    missing = "" if in_cluster else f"the class {name} {_why(cluster)}; it is exported with the claim"
    return _join(tainted, missing)


def _missing(cluster: Cluster) -> str:
    return "class not in this cluster" if cluster.classes else "class not read"


def _why(cluster: Cluster) -> str:
    return "is not in this cluster" if cluster.classes else "was not read (no DeviceClasses in what was read)"


def _join(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
