"""CPUs that are published as one shareable device a NUMA node: a request for more than one of them becomes several."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from dra_lab.cel.matching import Matching
from dra_lab.index.documented_classes import with_documented_classes
from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.claims import (
    CapacityRequirements,
    DeviceClaimConfiguration,
    DeviceRequest,
    ExactDeviceRequest,
)
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import split_request
from dra_lab.model.quantity import format_quantity, parse_quantity
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import MAX_DEVICES, Ask, ClaimSketch, Link, asks
from dra_lab.sketch.cluster_candidates import candidates, common_kind
from dra_lab.sketch.object_names import ObjectNames

_FIRST_NODES = 20


class Expansion(Struct, frozen=True):
    """A drawing after expansion; `origin` maps every request of it to the request of the drawing that it came from."""

    sketch: ClaimSketch
    origin: Mapping[str, str]


def expand(sketch: ClaimSketch, cluster: Cluster, release: KubernetesRelease | None = None) -> Expansion:
    """Split CPU requests that are larger than any shareable CPU device, and say where each part came from.

    A request for N CPUs has an exact count of 1 and one capacity key. If N exceeds the total of every matching device,
    it becomes k numbered requests of N/k. k is the smallest divisor of N for which N/k fits into a device. Links and
    configurations of the request then name all parts, so a link that demands one NUMA node for it correctly cannot be
    satisfied. A request that no k helps stays as it is. What is in use does not matter here, so that the drawing means
    the same on a busy and on an idle cluster. Why the parts cannot land on one device: together they are larger than
    any. `release` decides which devices match; without it, the cluster's own. Rules: docs/semantics.md 3.11.3, 3.11.5.
    """
    release = cluster.target_release(release)
    names = ObjectNames(request.name for request in sketch.requests)
    parts: dict[str, tuple[DeviceRequest, ...]] = {}
    for request in sketch.requests:
        amounts = _parts_of(request, cluster, release)
        if amounts is None:
            parts[request.name] = (request,)
        else:
            key, amount, count = amounts
            parts[request.name] = tuple(_part(request, n, key, amount) for n in names.series(request.name, count))
    origin = {part.name: name for name, made in parts.items() for part in made}
    if all(len(made) == 1 for made in parts.values()):
        return Expansion(sketch, origin)
    expanded = replace(
        sketch,
        requests=tuple(part for made in parts.values() for part in made),
        links=tuple(_retied(link, parts) for link in sketch.links),
        config=tuple(_reconfigured(config, parts) for config in sketch.config),
    )
    return Expansion(expanded, origin)


def _parts_of(request: DeviceRequest, cluster: Cluster, release: KubernetesRelease) -> tuple[str, Fraction, int] | None:
    """Return (capacity key, amount of a part, number of parts), or None where the request stays as it is."""
    ask = asks(request)[0]
    if request.exactly is None or ask.all_devices or ask.count != 1 or len(ask.capacity) != 1:
        return None
    ((key, text),) = ask.capacity.items()
    if _is_enough_soon(ask, cluster, release, key, parse_quantity(text)):
        return None
    able = [d for d in candidates(cluster, ask, release).devices if key in d.device.capacity]
    devices = [d for d in able if d.device.allow_multiple_allocations]
    totals = [parse_quantity(d.device.capacity[key].value) for d in devices]
    wanted = parse_quantity(text)
    # A dedicated device that is large enough serves the request as it is.
    enough = any(wanted <= parse_quantity(d.device.capacity[key].value) for d in able)
    if not totals or enough or common_kind(cluster, devices) != "cpu":
        return None
    for count in range(2, MAX_DEVICES + 1):
        amount = wanted / count
        # CPUs are whole; a request of half a CPU more would be rounded by no driver that we know
        if amount.denominator == 1 and amount <= max(totals):
            return key, amount, count
    return None


def _is_enough_soon(ask: Ask, cluster: Cluster, release: KubernetesRelease, key: str, wanted: Fraction) -> bool:
    """Return whether a device of the first nodes is large enough, so that the other nodes need no check."""
    cluster = with_documented_classes(cluster)
    matching = Matching(cluster, release)
    return any(
        matching.match(ask, item.driver, item.device) and parse_quantity(item.device.capacity[key].value) >= wanted
        for name in cluster.node_names[:_FIRST_NODES]
        for item in devices_on(gather_pools(cluster, name))
        if key in item.device.capacity
    )


def _part(request: DeviceRequest, name: str, key: str, amount: Fraction) -> DeviceRequest:
    exactly: ExactDeviceRequest | None = request.exactly
    assert exactly is not None
    capacity = CapacityRequirements(requests={key: format_quantity(amount)})
    return replace(request, name=name, exactly=replace(exactly, capacity=capacity))


def _names(reference: str, parts: Mapping[str, tuple[DeviceRequest, ...]]) -> tuple[str, ...]:
    made = parts.get(split_request(reference)[0], ())
    return tuple(part.name for part in made) if len(made) > 1 else (reference,)


def _retied(link: Link, parts: Mapping[str, tuple[DeviceRequest, ...]]) -> Link:
    return replace(link, requests=tuple(name for r in link.requests for name in _names(r, parts)))


def _reconfigured(
    config: DeviceClaimConfiguration, parts: Mapping[str, tuple[DeviceRequest, ...]]
) -> DeviceClaimConfiguration:
    return replace(config, requests=tuple(name for r in config.requests for name in _names(r, parts)))
