"""Which DeviceClasses a claim sees: the cluster's, those of its own files, else the documented ones."""

from __future__ import annotations

from dra_lab.drivers import documented_class
from dra_lab.findings import Finding, Severity
from dra_lab.index.documented_classes import added_classes, with_documented_classes
from dra_lab.model.claims import DeviceClass
from dra_lab.model.cluster import Cluster
from dra_lab.model.sketch import ClaimSketch, asks
from dra_lab.sketch.object_names import is_subdomain


def needed_classes(sketch: ClaimSketch, cluster: Cluster) -> tuple[DeviceClass, ...]:
    """Return the classes that a drawing names and the cluster lacks, sorted by name: they are exported with the claim.

    They are documented, also those of drivers that are not in the cluster at all, or come from the claim's files.
    """
    lacking = added_classes(with_documented_classes(cluster)).keys() | cluster.given_classes
    known = with_documented_classes(cluster).class_by_name
    return tuple(known[name] for name in _named(sketch) if name in lacking and is_subdomain(name))


def is_known_class(name: str, cluster: Cluster) -> bool:
    """Return whether a cluster has a class, or the documentation of a driver."""
    return name in with_documented_classes(cluster).class_by_name


def class_findings(
    sketch: ClaimSketch, cluster: Cluster, *, done: str = "is used, and exported with the claim"
) -> tuple[Finding, ...]:
    """Return a Finding for every class that a drawing names and the cluster lacks: documented, or not known at all.

    `done` says what is done with the documented class.
    """
    whole = with_documented_classes(cluster)
    added, known = added_classes(whole), whole.class_by_name
    findings = []
    for name in _named(sketch):
        if name in added:
            known_class = documented_class(name, cluster.profiles)
            used = "the documented one" if known_class else "one that selects all devices of its driver"
            message = f"this DeviceClass is not in this cluster; {used} {done}"
            advice = f"Source: {added[name].source}."
            findings.append(Finding("class-not-in-cluster", Severity.WARNING, name, message, advice))
        elif name not in known:
            present = sorted(known.keys() - added.keys())
            advice = f"Create it, or use one of: {', '.join(present)}." if present else "Create it first."
            message = "this DeviceClass is not in the cluster and not documented by any known driver"
            findings.append(Finding("class-unknown", Severity.ERROR, name, message, advice))
    return tuple(findings)


def _named(sketch: ClaimSketch) -> list[str]:
    return sorted({ask.device_class_name for request in sketch.requests for ask in asks(request)})
