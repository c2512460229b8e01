"""The kinds of devices whose driver has no profile, guessed from what a cluster says about the driver."""

from __future__ import annotations

from collections.abc import Mapping

from dra_lab.cel.selector import compile_selector
from dra_lab.drivers import known_drivers, profile
from dra_lab.drivers.guesses import kind_of_attributes, kind_of_classes, kind_of_name
from dra_lab.errors import CelError, UnsupportedFeature
from dra_lab.model.claims import DeviceClass, expressions
from dra_lab.model.cluster import Cluster
from dra_lab.model.memo import once_per_devices, once_per_hardware, once_per_slice
from dra_lab.model.slices import ResourceSlice

Guesses = tuple[tuple[str, str], ...]
"""Driver and guessed kind, sorted: only drivers without a profile, and only where a name gives a kind."""


@once_per_hardware
def guessed_kinds(cluster: Cluster) -> Guesses:
    """Return the guessed kind of each driver of which no profile gives kinds, left out if no name gives one either.

    The name of the driver comes first, then the names of DeviceClasses that select it, then those of its attributes.
    """
    profiles = (profile(driver, cluster.profiles) for driver in cluster.drivers)
    unknown = (known.driver for known in profiles if not known.known and not known.kinds)
    found = ((driver, _guess(cluster, driver)) for driver in unknown)
    return tuple((driver, kind) for driver, kind in found if kind not in ("", "other"))


def _guess(cluster: Cluster, driver: str) -> str:
    return (
        kind_of_name(driver)
        or kind_of_classes(c.name for c in cluster.classes if kind_of_name(c.name) and _selects(c, driver))
        or kind_of_attributes(_identifiers(cluster).get(driver, ()))
    )


def _selects(device_class: DeviceClass, driver: str) -> bool:
    """Say whether the selectors of a class name a driver and do not refuse it."""
    try:
        selectors = [compile_selector(text) for text in expressions(device_class.spec.selectors)]
    except (CelError, UnsupportedFeature):
        return False
    read = {name.rpartition("/")[0] for selector in selectors for name in selector.attributes | selector.capacity}
    named = driver in read or any(selector.by_driver("") is False for selector in selectors)
    return named and all(selector.by_driver(driver) is not False for selector in selectors)


@once_per_devices
def _identifiers(cluster: Cluster) -> Mapping[str, frozenset[str]]:
    """Return the names of the attributes in its own domain, without it, of each driver without a word in its name."""
    shipped = {*known_drivers()} - {*cluster.profiles}
    wanted = {driver for driver in cluster.drivers if driver not in shipped and not kind_of_name(driver)}
    found: dict[str, frozenset[str]] = {}
    for slice_ in (one for one in cluster.slices if one.spec.driver in wanted):
        found[slice_.spec.driver] = found.get(slice_.spec.driver, frozenset()) | _of_slice(cluster, slice_)
    return found


@once_per_slice
def _of_slice(_cluster: Cluster, slice_: ResourceSlice) -> frozenset[str]:
    names = {name for device in slice_.spec.devices or () for name in device.attributes}
    split = (name.rpartition("/") for name in names)
    return frozenset(identifier for domain, _, identifier in split if domain in ("", slice_.spec.driver))
