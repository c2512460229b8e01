"""The DeviceClasses that a claim may name: those of the cluster, of its files, and the documented ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from dra_lab.drivers.profiles import all_profiles, profile
from dra_lab.manifests.device_asks import IMPLICIT
from dra_lab.model.claims import DeviceClass, DeviceClassSpec, cel_selectors
from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import DocumentedClass
from dra_lab.model.memo import once_per_hardware
from dra_lab.model.nodes import ObjectMeta


@once_per_hardware
def documented_classes(cluster: Cluster) -> Mapping[str, DocumentedClass]:
    """Return the documented classes that a cluster lacks, by name; an alias is another name of the same class.

    For a driver of which nothing is known, the class has the driver's name and selects all its devices. Source of the
    classes: the drivers' documentation, as `drivers/data` names it.
    """
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


@once_per_hardware
def known_classes(cluster: Cluster) -> Mapping[str, DeviceClass]:
    """Return the classes that a claim may name: those of the cluster and the claim's files, then the documented ones.

    Only this function decides which classes a claim sees.
    """
    missing = {name: device_class_of(one) for name, one in documented_classes(cluster).items()}
    return {**cluster.class_by_name, **missing}


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
    selectors = cel_selectors(documented.selectors)
    name = documented.extended_resource_name or None
    return DeviceClass(
        metadata=ObjectMeta(name=documented.name),
        spec=DeviceClassSpec(selectors=selectors, extended_resource_name=name),
    )


def class_of_resource(cluster: Cluster, name: str) -> DeviceClass | None:
    """Return the DeviceClass that serves an extended resource, None where none does.

    A name of `IMPLICIT` names its class (docs/semantics.md 1.10.3), which may be a documented one that the cluster
    lacks. For any other name only classes of the cluster count: without them, a device plugin serves it. If several
    classes have one `spec.extendedResourceName`, the newest counts, then the first by name (docs/semantics.md 1.10.2).
    """
    if name.startswith(IMPLICIT):
        return known_classes(cluster).get(name.removeprefix(IMPLICIT))
    named = sorted((c for c in cluster.classes if c.spec.extended_resource_name == name), key=lambda c: c.name)
    return max(named, key=lambda c: c.metadata.creation_timestamp or "", default=None)
