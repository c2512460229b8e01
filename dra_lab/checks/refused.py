"""Objects of a cluster's files that no API server has taken: a union with two members, a number beyond 64 bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from dra_lab.checks.documents import check_object
from dra_lab.findings import Finding, Origin, Severity
from dra_lab.manifests.documents import encode
from dra_lab.manifests.typed import pattern_of
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import DeviceAttribute
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.slices import ResourceSlice

_LEAST, _MOST = -(2**63), 2**63 - 1


def check_refused_slices(cluster: Cluster) -> Iterator[Finding]:
    """Yield what the API server would refuse of the slices, a finding for each field and reason.

    Only objects are looked at closely that our types could not refuse when they were read.
    """
    yield from _refused(cluster, (slice_ for slice_ in cluster.slices if _is_odd_slice(slice_)))


def check_refused_claims(cluster: Cluster) -> Iterator[Finding]:
    """Yield what the API server would refuse of the claims, as `check_refused_slices`."""
    yield from _refused(cluster, (claim for claim in cluster.claims if _is_odd_claim(claim)))


def _refused(cluster: Cluster, suspects: Iterable[ResourceSlice | ResourceClaim]) -> Iterator[Finding]:
    release = KubernetesRelease(cluster.default_release)
    found: dict[tuple[str, str], list[Finding]] = {}
    for item in suspects:
        for finding in check_object(encode(item), release):
            if finding.severity is Severity.ERROR and finding.origin is not None:
                found.setdefault((finding.message, pattern_of(finding.origin.path)), []).append(finding)
    for first, *others in found.values():
        advice = f"The API server of Kubernetes {release.version} refuses such an object; it is used here as written."
        more = f" ({len(others):,} more like it)" if others else ""
        place = Origin(path=first.origin.path if first.origin else "")
        yield replace(first, message=f"{first.message}{more}", advice=advice, origin=place)


def _is_odd_slice(slice_: ResourceSlice) -> bool:
    devices = slice_.spec.devices or ()
    return any(_is_odd(attribute) for device in devices for attribute in device.attributes.values())


def _is_odd(attribute: DeviceAttribute) -> bool:
    """Say whether not exactly one member is set, or a number has more than 64 bits."""
    one, more = attribute.int_, attribute.ints
    single = (one, attribute.bool_, attribute.string, attribute.version)
    lists = (more, attribute.bools, attribute.strings, attribute.versions)
    if single.count(None) + lists.count(None) != 7:
        return True
    if one is not None:
        return not _LEAST <= one <= _MOST
    return more is not None and not all(_LEAST <= number <= _MOST for number in more)


def _is_odd_claim(claim: ResourceClaim) -> bool:
    requests = claim.spec.devices.requests
    return any((request.exactly is not None) == bool(request.first_available) for request in requests)
