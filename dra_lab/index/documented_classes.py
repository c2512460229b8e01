"""A cluster with the documented DeviceClasses that it lacks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.drivers import all_profiles, profile
from dra_lab.manifests.device_asks import IMPLICIT
from dra_lab.model.claims import CELDeviceSelector, DeviceClass, DeviceClassSpec, DeviceSelector
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import DocumentedClass
from dra_lab.model.memo import Cache, once_per_hardware, once_per_rules, once_per_snapshot
from dra_lab.model.nodes import ObjectMeta


def with_documented_classes(cluster: Cluster) -> Cluster:
    """Return the cluster with every documented DeviceClass that it lacks, after its own classes.

    Only this module decides which classes a claim sees. It uses those of the cluster and of the claim's files
    (`with_given_classes`), else the documented class of that name or alias, whether or not its driver is in the
    cluster. For a driver of which nothing is known the stand-in has the driver's name and selects all its devices. The
    same object for a cluster that came from here. Source of the classes: the drivers' documentation, as `drivers/data`
    names it.
    """
    return _documented(cluster) or cluster


@once_per_snapshot
def _documented(cluster: Cluster) -> Cluster | None:
    """Return the cluster with the classes that it lacks, None if it lacks none."""
    missing = _missing(cluster)
    if not missing.classes:
        return None
    found = cluster.with_objects(classes=(*cluster.classes, *missing.classes))
    found.memo.hardware = missing.hardware
    found.memo.rules = _rules_with(cluster, tuple(missing.by_name))
    added_classes(found).update(missing.by_name)
    return found


class _Missing(Struct, frozen=True):
    """The documented classes that a cluster lacks, by name and as API objects, and the hardware cache with them."""

    by_name: Mapping[str, DocumentedClass]
    classes: tuple[DeviceClass, ...]
    hardware: Cache


@once_per_hardware
def _missing(cluster: Cluster) -> _Missing:
    found = _stand_ins(cluster)
    return _Missing(found, tuple(map(device_class_of, found.values())), Cache())


@once_per_rules
def _rules_with(_cluster: Cluster, _names: tuple[str, ...]) -> Cache:
    """Return what is derived from the rules of a cluster with more classes."""
    return Cache()


@once_per_hardware
def added_classes(_cluster: Cluster) -> dict[str, DocumentedClass]:
    """Return the classes that `with_documented_classes` added to this cluster, by name."""
    return {}


def with_given_classes(cluster: Cluster, given: Iterable[DeviceClass]) -> Cluster:
    """Return the cluster with the classes of a claim's files, which come before its own of the same name.

    A class that the cluster has just so is left as it is; the others are exported with the claim.
    """
    own = cluster.class_by_name
    new = {item.name: item for item in given if item.name not in own or own[item.name].spec != item.spec}
    if not new:
        return cluster
    kept = tuple(item for item in cluster.classes if item.name not in new)
    names = cluster.given_classes | frozenset(new)
    return cluster.with_objects(classes=(*kept, *new.values()), given_classes=names)


def device_class_of(documented: DocumentedClass) -> DeviceClass:
    """Return a documented class as the API object."""
    selectors = tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in documented.selectors)
    name = documented.extended_resource_name or None
    return DeviceClass(
        metadata=ObjectMeta(name=documented.name),
        spec=DeviceClassSpec(selectors=selectors, extended_resource_name=name),
    )


def is_documented_only(cluster: Cluster, name: str) -> bool:
    """Say whether a class is from the documentation because the cluster, as it was read, lacks it."""
    return name in added_classes(with_documented_classes(cluster))


def _stand_ins(cluster: Cluster) -> dict[str, DocumentedClass]:
    """Return the classes that a cluster lacks, by name; an alias is another name of the same class."""
    present = {device_class.name for device_class in cluster.classes}
    found: dict[str, DocumentedClass] = {}
    for documented in (one for known in all_profiles(cluster.profiles) for one in known.classes):
        found[documented.name] = documented
        for alias in documented.aliases:
            # two classes that serve one extended resource would leave the choice to their age
            found[alias] = replace(documented, name=alias, extended_resource_name="")
    for driver in cluster.drivers:
        if not profile(driver, cluster.profiles).known:
            # JSON's escapes are a part of CEL's
            source = f"nothing is documented here for the driver {driver}"
            selectors = (f"device.driver == {json.dumps(driver)}",)
            found.setdefault(driver, DocumentedClass(driver, selectors, source=source))
    return {name: documented for name, documented in found.items() if name not in present}


def class_of_resource(cluster: Cluster, name: str) -> DeviceClass | None:
    """Return the DeviceClass that serves an extended resource, None where none does.

    A name of `IMPLICIT` names its class (docs/semantics.md 1.10.3), which may be a documented one that the cluster
    lacks. For any other name only classes of the cluster count: without them, a device plugin serves it. If several
    classes have one `spec.extendedResourceName`, the newest counts, then the first by name (docs/semantics.md 1.10.2).
    """
    if name.startswith(IMPLICIT):
        return with_documented_classes(cluster).class_by_name.get(name.removeprefix(IMPLICIT))
    named = sorted((c for c in cluster.classes if c.spec.extended_resource_name == name), key=lambda c: c.name)
    return max(named, key=lambda c: c.metadata.creation_timestamp or "", default=None)
