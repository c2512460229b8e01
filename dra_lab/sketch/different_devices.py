"""Numbered requests of one drawn count: that they get different devices where devices can be shared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dra_lab.findings import Finding, Severity
from dra_lab.index.pools import PoolDevice
from dra_lab.model.claims import DeviceConstraint
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, capacity_taken
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask, ClaimSketch, asks
from dra_lab.sketch.cluster_candidates import Candidates, candidates, reference_candidates
from dra_lab.sketch.numbered_requests import NumberedRequest, NumberedRequests
from dra_lab.sketch.telling_apart import names_one_device


def kept_different(
    sketch: ClaimSketch,
    cluster: Cluster,
    release: KubernetesRelease,
    numbered_requests: NumberedRequests,
    constraints: Sequence[DeviceConstraint],
    most: int,
) -> tuple[tuple[DeviceConstraint, ...], tuple[Finding, ...]]:
    """Return what keeps the numbered requests of a drawn count on different devices, and where nothing does.

    A count means different devices; requests of their own may get shares of one device (docs/semantics.md 3.11.5).
    If two of them fit on one device, a distinctAttribute names an attribute that differs between all devices that a
    node sees. One of `constraints` may do so already. At most `most` more constraints are written. A Finding
    reports a claim for which this is not possible. What is in use does not matter: the drawing means the same on a busy
    and on an idle cluster.
    """
    if not release.enabled("DRAConsumableCapacity"):
        return (), ()
    found: list[DeviceConstraint] = []
    findings: list[Finding] = []
    for request in sketch.requests:
        numbered = numbered_requests.by_request[request.name]
        if len(numbered) < 2 or _is_distinct(numbered, constraints):
            continue
        if not any(_is_shared(ask, cluster, release) for ask in asks(request)):
            continue
        name = _telling(reference_candidates(cluster, sketch, request.name, release)) if len(found) < most else ""
        if name:
            ends = tuple(one.name for one in numbered)
            found.append(DeviceConstraint(requests=ends, distinct_attribute=name))
        if not name or (_compares_last_only(release) and any(one.count > 1 for one in numbered)):
            findings.append(_not_distinguished(request.name, numbered))
    return tuple(found), tuple(findings)


def _is_distinct(numbered: Iterable[NumberedRequest], constraints: Iterable[DeviceConstraint]) -> bool:
    """Say whether a constraint refuses one device to two of the parts: its values equal themselves.

    Rule: docs/semantics.md 3.9.19.
    """
    names = {one.name for one in numbered}
    return any(
        constraint.match_attribute is None and names <= set(constraint.requests)
        for constraint in constraints
        if constraint.distinct_attribute is not None
    )


def _is_shared(ask: Ask, cluster: Cluster, release: KubernetesRelease) -> bool:
    """Say whether two of an ask fit on some device of the cluster if nothing else uses it."""
    examples = (shape.example for shape in candidates(cluster, ask, release).shapes)
    return any(d.allow_multiple_allocations and _serves_two(d, ask, release) for d in examples)


def _serves_two(device: Device, ask: Ask, release: KubernetesRelease) -> bool:
    taken = capacity_taken(device, ask.capacity, release)
    return taken is not None and all(2 * v <= parse_quantity(device.capacity[key].value) for key, v in taken.items())


def _telling(meant: Candidates) -> str:
    """Return the attribute, by its full name, that differs between all devices of every node; "" for none.

    One that names devices comes before one that merely differs.
    """
    names = sorted(meant.attributes, key=lambda name: (not names_one_device(name), name))
    return next((name for name in names if _differs(name, meant.devices)), "")


def _differs(name: str, items: Iterable[PoolDevice]) -> bool:
    """Say whether no two devices that one node may see have the same value; a list has no one value."""
    seen: dict[tuple[str, object], set[str]] = {}
    for item in items:
        attribute = item.device.lookup(name, item.driver)
        if attribute is None or attribute.is_list:
            return False
        # A device that is not tied to one node may be seen by any.
        node, nodes = item.slice.spec.node_name or "", seen.setdefault((attribute.kind, attribute.value), set())
        if node in nodes or (nodes and (not node or "" in nodes)):
            return False
        nodes.add(node)
    return True


def _compares_last_only(release: KubernetesRelease) -> bool:
    return not release.is_at_least("1.37")  # of a request with several devices (docs/semantics.md 3.9.18)


def _not_distinguished(request: str, numbered: Sequence[NumberedRequest]) -> Finding:
    names = f"{numbered[0].name} to {numbered[-1].name}"
    message = (
        f"the manifest splits it into {names}, and kube-scheduler may allocate shares of one device to several of them"
    )
    advice = "Remove the preference or one-to-one link that splits it, or request more than half of a device."
    return Finding("count-may-share", Severity.WARNING, request, message, advice)
