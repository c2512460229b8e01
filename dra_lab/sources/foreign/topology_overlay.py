"""A topology file laid over real slices: places that drivers do not publish, joined by PCI address."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dra_lab.drivers import LEVELS, Lookup, device_kind, level_attributes, profile, published
from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import AttributeValue, Device
from dra_lab.model.overlay import DeviceKey, Overlay, OverlayPlace
from dra_lab.sources.foreign.inventory import CpuNode, Fact, Inventory, InventoryDevice, pci_address
from dra_lab.sources.foreign.made_slices import places_of

_NAME = re.compile(r"(?:pci-)?([0-9a-f]{4,8})-([0-9a-f]{2})-([0-9a-f]{2})-([0-7])(?:-0x[0-9a-f]+)?")
_MOST_LISTED = 20


@dataclass
class _Fitted:
    """The data of the file about one kind of identical nodes; `whole` if it knows every device that has an address."""

    overlay: Overlay
    whole: bool
    contradictions: list[Finding]


@dataclass(eq=False)
class OverlayReading:
    """A topology file as it is laid over nodes: those of `names`, or all that it fits where there are none.

    It remembers what it says of each kind of equal nodes, so that they share one overlay.
    """

    inventory: Inventory
    names: frozenset[str] = frozenset()
    by_address: Mapping[str, InventoryDevice] = field(init=False)
    cpu_nodes: Mapping[int, CpuNode] = field(init=False)
    fitted: dict[Hashable, _Fitted] = field(default_factory=dict, init=False)
    made: dict[tuple[int, int], tuple[Overlay | None, LaidOver]] = field(default_factory=dict, init=False)
    attribute_names: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Index the devices by address, the NUMA nodes by number."""
        devices = self.inventory.devices
        self.by_address = {device.text("address"): device for device in devices if device.text("address")}
        self.cpu_nodes = {node.numa_node: node for node in self.inventory.cpu_nodes}

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel between processes without what was worked out, which goes by identity."""
        return OverlayReading, (self.inventory, self.names)

    def over(self, below: Overlay | None, cluster: Cluster, node: str) -> Overlay | None:
        """Return the overlay of a node with what the file says of it; `below` where the file does not fit."""
        if self.names and node not in self.names:
            return below
        fitted = _fit(self, cluster, node)
        if not fitted.overlay.places or not (self.names or fitted.whole):
            return below
        key = (id(below), id(fitted))
        if key not in self.made:
            self.made[key] = below, _over(below, fitted.overlay, (self, fitted))
        return self.made[key][1]

    def findings(self, overlays: Mapping[str, Overlay]) -> tuple[Finding, ...]:
        """Return what a person should know of the file where it is laid over nodes: that it is, what contradicts it."""
        firsts: dict[int, tuple[_Fitted, str]] = {}
        taken = []
        for node, overlay in overlays.items():
            for reading, fitted in overlay.fits if isinstance(overlay, LaidOver) else ():
                if reading is self:
                    taken.append(node)
                    firsts.setdefault(id(fitted), (fitted, node))
        contradictions = [_on(node, finding) for fit, node in firsts.values() for finding in fit.contradictions]
        return (_named(self.inventory, taken), *_cut(contradictions)) if taken else ()


class LaidOver(Overlay, frozen=True, eq=False):
    """An overlay that knows of which files it is, in their order: a cluster that is followed asks them again."""

    fits: tuple[tuple[OverlayReading, _Fitted], ...] = ()


def with_overlay(cluster: Cluster, inventory: Inventory, *, nodes: Sequence[str] = ()) -> Cluster:
    """Return the cluster with what a topology file knows laid over the devices of nodes.

    A device is found by the PCI address that it publishes (`pciBusID`, `dra.net/pciAddress`) or that its name contains;
    CPUs by their NUMA node. The published value always wins, and a contradiction is a Finding. The planner then knows
    the values that no driver publishes, as derived and with the source "overlay: FILE:LINE". A manifest never contains
    them. The cluster's findings, and so every plan, name the file.

    Args:
        cluster: The cluster whose slices stay as they are.
        inventory: The hardware of one server, from `read_inventory`.
        nodes: The nodes that are such servers. Default: the nodes of which every device with an address is in the file,
            as a device of its kind, because clouds give the same addresses to other machines.

    Returns:
        The cluster with the overlay.

    Raises:
        InputError: A node is unknown, or the file fits no node.

    Example:
        >>> from pathlib import Path
        >>> from dra_lab import load_cluster, read_inventory, with_overlay
        >>> # NCCL's file of a server with one NIC.
        >>> nic = '<pci busid="0000:10:1b.0" class="0x020000"><nic><net name="rdmap16s27"/></nic></pci>'
        >>> _ = Path("nccl.xml").write_text(f'<system><cpu numaid="0">{nic}</cpu></system>')
        >>> # The other node stays as it is.
        >>> cluster = load_cluster("sample:eks-p4d")
        >>> node = cluster.node_names[0]
        >>> list(with_overlay(cluster, read_inventory("nccl.xml"), nodes=[node]).overlays) == [node]
        True
    """
    unknown = [node for node in nodes if node not in cluster.node_by_name]
    if unknown:
        raise InputError(f"there is no node {unknown[0]!r} in {cluster.name or 'the cluster'}")
    reading, overlays = OverlayReading(inventory, frozenset(nodes)), dict(cluster.overlays)
    for node in dict.fromkeys(nodes or cluster.node_names):
        overlay = reading.over(cluster.overlays.get(node), cluster, node)
        if overlay is not None:
            overlays[node] = overlay
    findings = reading.findings(overlays)
    if not findings:
        why = (
            "the file does not contain all PCI addresses of any node"
            if reading.by_address
            else "it contains no PCI addresses; give an hwloc XML of such a node"
        )
        raise InputError(f"{inventory.source} matches no node of {cluster.name or 'the cluster'}: {why}")
    return dataclasses.replace(cluster, overlays=overlays, findings=(*cluster.findings, *findings, *inventory.findings))


def _fit(reading: OverlayReading, cluster: Cluster, node: str) -> _Fitted:
    devices = [(s.spec.driver, device) for s in cluster.slices_by_node.get(node, ()) for device in s.spec.devices or ()]
    key = tuple(_signature(reading, driver, device) for driver, device in devices)
    found = reading.fitted.get(key)
    if found is None:
        found = reading.fitted[key] = _join(reading, node, devices)
    return found


def _signature(reading: OverlayReading, driver: str, device: Device) -> Hashable:
    """Return what decides what the file says of a device: equal for the devices of equal nodes."""
    names = reading.attribute_names.get(driver)
    if names is None:
        full = dict.fromkeys(name for level in LEVELS for name in level_attributes(driver, level))
        full.update(dict.fromkeys(name for rule in profile(driver).kinds for name in rule.when))
        names = reading.attribute_names[driver] = tuple((name, name.removeprefix(f"{driver}/")) for name in full)
    attributes = device.attributes
    return (driver, device.name, *(attributes.get(name) or attributes.get(bare) for name, bare in names))


def _join(reading: OverlayReading, node: str, devices: Sequence[tuple[str, Device]]) -> _Fitted:
    places: dict[DeviceKey, Mapping[str, OverlayPlace]] = {}
    contradictions: list[Finding] = []
    met = missed = 0
    for driver, device in devices:
        lookup = _lookup(driver, device)
        address = _address(driver, device, lookup)
        known = reading.by_address.get(address)
        if known is not None and {known.kind, device_kind(driver, lookup)} == {"gpu", "nic"}:
            contradictions.append(_of_another_kind(f"{driver}/{node}/{device.name}", known))
            missed += 1
            continue
        facts = known.facts if known is not None else {} if address else _of_cpus(reading, driver, lookup)
        met, missed = met + (known is not None), missed + (bool(address) and known is None)
        found = places_of(facts)
        if not found:
            continue
        places[driver, device.name] = found
        contradictions += _contradictions(f"{driver}/{node}/{device.name}", driver, lookup, facts)
    return _Fitted(Overlay(reading.inventory.source, places), bool(met) and not missed, contradictions)


def _address(driver: str, device: Device, lookup: Lookup) -> str:
    found = published(driver, "pciBusID", lookup)
    if found is not None and isinstance(found[1], str):
        return pci_address(found[1])
    name = _NAME.fullmatch(device.name)
    return pci_address("{}:{}:{}.{}".format(*name.groups())) if name else ""


def _of_cpus(reading: OverlayReading, driver: str, lookup: Lookup) -> Mapping[str, Fact]:
    """Return what the file says of a device without an address by its NUMA node: the socket, where it is known."""
    found = published(driver, "numaNode", lookup)
    node = reading.cpu_nodes.get(found[1]) if found is not None and isinstance(found[1], int) else None
    return {"socket": Fact(node.socket, node.origin)} if node is not None and node.socket is not None else {}


def _lookup(driver: str, device: Device) -> Lookup:
    def lookup(name: str) -> AttributeValue | None:
        attribute = device.lookup(name, driver)
        return None if attribute is None else attribute.value

    return lookup


def _contradictions(subject: str, driver: str, lookup: Lookup, facts: Mapping[str, Fact]) -> Iterator[Finding]:
    for level in ("pcieRoot", "numaNode", "socket"):
        found, fact = published(driver, level, lookup), facts.get(level)
        if found is None or fact is None:
            continue
        values = found[1] if isinstance(found[1], tuple) else (found[1],)
        if fact.value not in values:
            message = (
                f"it publishes {found[0]} {found[1]}, but the file says {fact.value}; dra-lab uses the published value"
            )
            advice = "One of the two is wrong, or the file is from another machine."
            yield Finding("overlay-contradiction", Severity.WARNING, subject, message, advice, fact.origin)


def _of_another_kind(subject: str, known: InventoryDevice) -> Finding:
    message = f"the file has a {known.kind} at its address, so dra-lab does not use the file for this device"
    advice = "The file is from another machine, or its device classes are wrong."
    return Finding("overlay-contradiction", Severity.WARNING, subject, message, advice, known.origin)


def _on(node: str, finding: Finding) -> Finding:
    """Return what was found on a node as found on an equal one."""
    driver, _, rest = finding.subject.partition("/")
    return dataclasses.replace(finding, subject=f"{driver}/{node}/{rest.rpartition('/')[2]}")


def _cut(findings: Sequence[Finding]) -> Iterator[Finding]:
    yield from findings[:_MOST_LISTED]
    if len(findings) > _MOST_LISTED:
        message = f"{len(findings) - _MOST_LISTED} more contradictions between slices and file"
        yield Finding("overlay-contradiction", Severity.WARNING, "other devices", message)


def _over(below: Overlay | None, overlay: Overlay, fit: tuple[OverlayReading, _Fitted]) -> LaidOver:
    """Return one overlay of two; what was there before is kept."""
    if below is None:
        return LaidOver(overlay.source, overlay.places, overlay.made, (fit,))
    places = {
        key: {**overlay.places.get(key, {}), **below.places.get(key, {})} for key in {**below.places, **overlay.places}
    }
    fits = below.fits if isinstance(below, LaidOver) else ()
    return LaidOver(f"{below.source} + {overlay.source}", places, below.made, (*fits, fit))


def _named(inventory: Inventory, nodes: Sequence[str]) -> Finding:
    where = nodes[0] if len(nodes) == 1 else f"{nodes[0]} and {len(nodes) - 1:,} more node{'s' * (len(nodes) > 2)}"
    return Finding(
        "overlay",
        Severity.WARNING,
        inventory.source,
        f"on {where}, this file adds places that no driver publishes; kube-scheduler does not see them",
        "A plan may depend on them. A manifest can express them only by naming devices or other attributes.",
    )
