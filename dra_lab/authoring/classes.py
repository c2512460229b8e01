"""DeviceClasses that a cluster lacks: the documented ones of its drivers stand in, and are told."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

from dra_lab.authoring.names import is_subdomain
from dra_lab.drivers import DocumentedClass, documented_class, profile
from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import CELDeviceSelector, DeviceClass, DeviceClassSpec, DeviceSelector
from dra_lab.model.cluster import Cluster
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.shelf import Earlier, Shelf
from dra_lab.model.sketch import ClaimSketch, asks

_MEMO = "_with_documented_classes"
_ADDED = "_documented_class_names"


def with_documented_classes(cluster: Cluster) -> Cluster:
    """Return the cluster with the documented DeviceClasses of its drivers that it lacks, after its own classes.

    For a driver of which nothing is known the stand-in has the driver's name and selects all its devices. The same
    object where nothing is missing, and for a cluster that came from here; remembered as long as the cluster lives.
    Source of the classes: the drivers' documentation, as `drivers/data` names it.
    """
    if _ADDED in cluster.__dict__:
        return cluster
    found: Cluster | None = cluster.__dict__.get(_MEMO)
    if found is None:
        present = {device_class.name for device_class in cluster.classes}
        missing = {
            documented.name: documented
            for driver in cluster.drivers
            for documented in _stand_ins(driver)
            if documented.name not in present
        }
        added = tuple(device_class_of(documented) for documented in missing.values())
        found = cluster.with_objects(classes=(*cluster.classes, *added)) if added else cluster
        if added:
            found.__dict__["hardware"] = _shelf(cluster, tuple(device_class.name for device_class in added))
        # On the instance, like a cached_property: it goes when the cluster goes.
        found.__dict__[_ADDED] = frozenset(missing)
        if added:
            cluster.__dict__[_MEMO] = found
    return found


def _shelf(cluster: Cluster, added: tuple[str, ...]) -> Shelf:
    """Return where what depends on the added classes too is remembered; it knows of the one before a change."""

    def make(earlier: Earlier[tuple[tuple[str, ...], Shelf]] | None) -> tuple[tuple[str, ...], Shelf]:
        same = earlier is not None and earlier[0][0] == added
        return added, earlier[0][1].after(earlier[1]) if same and earlier is not None else Shelf()

    return cluster.hardware.find(_MEMO, make)[1]


def device_class_of(documented: DocumentedClass) -> DeviceClass:
    """Return a documented class as the API object."""
    selectors = tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in documented.selectors)
    name = documented.extended_resource_name or None
    return DeviceClass(
        metadata=ObjectMeta(name=documented.name),
        spec=DeviceClassSpec(selectors=selectors, extended_resource_name=name),
    )


def is_documented_only(cluster: Cluster, name: str) -> bool:
    """Say whether a class stands in from the documentation because the cluster, as it was read, lacks it."""
    added: frozenset[str] = with_documented_classes(cluster).__dict__[_ADDED]
    return name in added


def needed_classes(sketch: ClaimSketch, cluster: Cluster) -> tuple[DeviceClass, ...]:
    """Return the classes that a drawing names and the cluster lacks, as far as they are documented, sorted by name.

    They are exported with the claim. Also classes of drivers that are not in the cluster at all.
    """
    present = {device_class.name for device_class in cluster.classes} - _added_names(cluster)
    names = {ask.device_class_name for request in sketch.requests for ask in asks(request)} - present
    found = []
    for name in sorted(names):
        known = _stand_in(cluster, name)
        # An alias is another cluster's name of the same class: exported, it keeps the name that the drawing uses.
        if known is not None and is_subdomain(name):
            found.append(device_class_of(dataclasses.replace(known, name=name)))
    return tuple(found)


def class_findings(sketch: ClaimSketch, cluster: Cluster) -> tuple[Finding, ...]:
    """Return a Finding for every class that a drawing names and the cluster lacks: documented, or not known at all."""
    present = {device_class.name for device_class in cluster.classes} - _added_names(cluster)
    findings = []
    for name in sorted({ask.device_class_name for r in sketch.requests for ask in asks(r)} - present):
        known = _stand_in(cluster, name)
        if known is None:
            advice = f"Create it, or use one of: {', '.join(sorted(present))}." if present else "Create it first."
            message = "this DeviceClass is not in the cluster and not documented by any known driver"
            findings.append(Finding("class-unknown", Severity.ERROR, name, message, advice))
        else:
            used = "the documented one" if documented_class(name) else "one that selects all devices of its driver"
            message = f"this DeviceClass is not in what was read; {used} is used and exported with the claim"
            advice = f"Source: {known.source}."
            findings.append(Finding("class-not-in-cluster", Severity.WARNING, name, message, advice))
    return tuple(findings)


def _stand_ins(driver: str) -> Iterator[DocumentedClass]:
    known = profile(driver)
    yield from known.classes
    if not known.known:
        # JSON's escapes are a part of CEL's
        source = f"nothing is documented here for the driver {driver}"
        yield DocumentedClass(driver, (f"device.driver == {json.dumps(driver)}",), source=source)


def _stand_in(cluster: Cluster, name: str) -> DocumentedClass | None:
    documented = documented_class(name)
    if documented is not None:
        return documented[1]
    return next((known for driver in cluster.drivers for known in _stand_ins(driver) if known.name == name), None)


def _added_names(cluster: Cluster) -> frozenset[str]:
    added: frozenset[str] = cluster.__dict__.get(_ADDED, frozenset())
    # A cluster as read that lacks nothing carries the mark as well, with no names in it.
    return added
