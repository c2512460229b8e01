"""What the inspector of a request shows: what each alternative, selector and amount finds, and what a release lacks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from msgspec.structs import replace

from dra_lab.cel.selector import admit_selector
from dra_lab.errors import CelError, QuantityError, UnsupportedFeature
from dra_lab.index.catalogue import Shape
from dra_lab.index.documented_classes import known_classes
from dra_lab.manifests.yaml_text import dump_yaml
from dra_lab.model.claims import DeviceRequest, OpaqueDeviceConfiguration, expressions
from dra_lab.model.cluster import Cluster
from dra_lab.model.quantity import NANO, QuantityText, format_quantity, nano, parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, asks
from dra_lab.sketch.cluster_candidates import Candidates, candidates, count_cpus, count_free
from dra_lab.sketch.kind_counts import are_partitions, left_words
from dra_lab.widgets.session_view import Row


class SelectorRow(Row, frozen=True):
    """A selector's result on the devices of its class ("16 of 28 match, 9 free"), or what is wrong with it."""

    text: str = ""
    error: str = ""


class AmountRow(Row, frozen=True):
    """What is known of an amount that is requested of each device.

    `unit` is what it counts ("CPUs"), "bytes" for an amount that is written with a suffix such as Gi. `note` is what
    the device's request policy makes of it, or with `wrong`, why no device can serve it.
    """

    key: str
    unit: str = ""
    note: str = ""
    wrong: bool = False


class PartRow(Row, frozen=True):
    """What is known of one way to serve a request: `exactly`, or one entry of `firstAvailable`.

    `class_words` says which devices the class selects; `keys` are the further amounts that its devices have; `drivers`
    are the drivers of its devices.
    """

    class_words: str = ""
    selectors: tuple[SelectorRow, ...] = ()
    amounts: tuple[AmountRow, ...] = ()
    keys: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()


class ConfigRow(Row, frozen=True):
    """One entry of `config[]`: the driver, and its parameters as YAML; the requests it is for stand in the sketch."""

    driver: str = ""
    text: str = ""


_DRIVER_IS = re.compile(r'device\.driver\s*==\s*(?:"([^"]+)"|\'([^\']+)\')')
_MAX_CLASS_WORDS = 160
_BYTES = ("memory", "storage", "hbm", "vram")

_GATES = {
    "firstAvailable": "DRAPrioritizedList",
    "capacity": "DRAConsumableCapacity",
    "tolerations": "DRADeviceTaints",
    "adminAccess": "DRAAdminAccess",
}
"""The fields of a request that need a feature gate."""


def missing_fields(release: KubernetesRelease) -> dict[str, str]:
    """Return why a release does not have a field of a request, by the name of the field."""
    return {
        field: f"Kubernetes {release} does not have this field (feature gate {gate} is off)"
        for field, gate in _GATES.items()
        if not release.enabled(gate)
    }


def part_rows(cluster: Cluster, request: DeviceRequest, release: KubernetesRelease) -> tuple[PartRow, ...]:
    """Return what is known of every way to serve a request, in the order of the request."""
    return tuple(_part(cluster, ask, release) for ask in asks(request))


def config_rows(sketch: ClaimSketch) -> tuple[ConfigRow, ...]:
    """Return the device configuration of a drawing, with the parameters as YAML."""
    found = (entry.opaque or OpaqueDeviceConfiguration() for entry in sketch.config)
    return tuple(ConfigRow(driver=o.driver, text=dump_yaml(o.parameters) if o.parameters else "") for o in found)


def _part(cluster: Cluster, ask: Ask, release: KubernetesRelease) -> PartRow:
    found = candidates(cluster, ask, release)
    keys = {key for shape in found.shapes for key in shape.example.capacity}
    return PartRow(
        class_words=_class_words(cluster, ask.device_class_name),
        selectors=tuple(_selector(cluster, ask, text, release) for text in ask.selectors),
        amounts=tuple(_amount(key, amount, found.shapes, release) for key, amount in ask.capacity.items()),
        keys=tuple(sorted(keys - ask.capacity.keys())),
        drivers=tuple(sorted({shape.driver for shape in found.shapes})),
    )


def _class_words(cluster: Cluster, name: str) -> str:
    known = known_classes(cluster).get(name)
    if known is None:
        return ""
    texts = expressions(known.spec.selectors)
    driver = _DRIVER_IS.fullmatch(texts[0].strip()) if len(texts) == 1 else None
    if driver:
        return f"selects every device of the driver {driver[1] or driver[2]}"
    words = f"selects {' && '.join(' '.join(text.split()) for text in texts)}" if texts else "selects every device"
    return words if len(words) <= _MAX_CLASS_WORDS else f"{words[:_MAX_CLASS_WORDS]}…"


def _counted(cluster: Cluster, found: Candidates, release: KubernetesRelease, ask: Ask) -> str:
    if found.error or not found.in_class:
        return ""
    key = next(iter(ask.capacity)) if len(ask.capacity) == 1 else ""
    match = "matches" if len(found.devices) == 1 else "match"
    cpus = count_cpus(cluster, found, release, key)
    free = count_free(cluster, found, release, key) if cpus is None else cpus[0]
    left = left_words(cluster, free, split=are_partitions(found.shapes), cpus=cpus is not None)
    return f"{len(found.devices):,} of {len(found.in_class):,} {match}, {left}"


def _selector(cluster: Cluster, ask: Ask, text: str, release: KubernetesRelease) -> SelectorRow:
    alone = replace(ask, selectors=(text,))
    try:
        admit_selector(text)
    except (CelError, UnsupportedFeature) as error:
        return SelectorRow(error=without_text(error.message))
    found = candidates(cluster, alone, release)
    if found.error:
        return SelectorRow(error=without_text(found.error))
    return SelectorRow(text=_counted(cluster, found, release, alone))


def _amount(key: str, requested: QuantityText, shapes: Iterable[Shape], release: KubernetesRelease) -> AmountRow:
    published = [shape for shape in shapes if key in shape.example.capacity]
    unit = _unit(key)
    if not published:
        return AmountRow(key=key, unit=unit, note=f"None of these devices has {key}.", wrong=True)
    try:
        amounts = {_allocated(key, requested, shape, release) for shape in published}
        largest = max((shape.example.capacity[key].value for shape in published), key=parse_quantity)
    except QuantityError as error:
        return AmountRow(key=key, unit=unit, note=error.message, wrong=True)
    served = sorted(amount for amount in amounts if amount is not None)
    if not served:
        return AmountRow(key=key, unit=unit, note=f"The largest device has {largest}.", wrong=True)
    if not any(shape.example.allow_multiple_allocations for shape in published):
        return AmountRow(key=key, unit=unit, note="These devices are not shared: each is allocated as a whole.")
    rounded = [format_quantity(Fraction(amount, NANO)) for amount in served if amount != nano(requested)]
    note = f"The driver rounds {requested} up to {' or '.join(rounded)}." if rounded else f"{requested} allocated."
    return AmountRow(key=key, unit=unit, note=note)


def _allocated(key: str, requested: QuantityText, shape: Shape, release: KubernetesRelease) -> int | None:
    """Return what a device gives for an amount, in 1/NANO; None where it cannot serve it."""
    from dra_lab.model.device import capacity_left, capacity_use
    from dra_lab.model.release import gates_of

    device = shape.example
    use = capacity_use(device, {key: requested}, gates_of(release))
    if use is None or not capacity_left(device, {key: use[key]}):
        return None
    return use[key]


def _unit(key: str) -> str:
    name = key.rpartition("/")[2].lower()
    if "cpu" in name:
        return "CPUs"
    return "bytes" if any(word in name for word in _BYTES) else ""


_QUOTED = re.compile(r"CEL selector `.*?` (?=does |must |may |fails )", re.DOTALL)


def without_text(message: str) -> str:
    """Return a message about a selector without the selector's text, so that what is wrong fits into a narrow place."""
    return _QUOTED.sub("Selector ", message, count=1)
