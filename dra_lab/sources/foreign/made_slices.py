"""An inventory as a cluster of identical nodes: the slices that chosen drivers would publish, marked as made."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter

from dra_lab.drivers.kinds import PciModel, pci_model
from dra_lab.drivers.profiles import known_drivers, profile
from dra_lab.errors import InputError
from dra_lab.findings import Finding, Severity
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity
from dra_lab.model.driver_profile import MadeDevice
from dra_lab.model.names import full_name
from dra_lab.model.nodes import FilePlace, FilePlaces, Node, ObjectMeta
from dra_lab.model.sketch import LEVELS
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.sources.foreign.inventory import (
    Fact,
    Inventory,
    InventoryDevice,
    Vendors,
    drivers_of,
    vendor_findings,
    vendor_title,
    vendors,
)

Known = str | int | bool
_LONGEST = 64
_NO_LABEL = re.compile(r"[^a-z0-9-]+")


@dataclass(frozen=True)
class TemplateWords:
    """The words that a template may hold, and where each comes from."""

    values: Mapping[str, Known]
    origins: Mapping[str, str] = field(default_factory=dict)


def words_in(template: object) -> tuple[str, ...]:
    """Return the words of a template in order; a value that is no text has none."""
    return tuple(word for _, word, _, _ in Formatter().parse(template) if word) if isinstance(template, str) else ()


def fill(template: str, words: TemplateWords) -> str | None:
    """Return a template filled in, None where a word is not known; the values are never read as templates."""
    if any(word not in words.values for word in words_in(template)):
        return None
    return template.format_map(words.values)


def made_name(rule: MadeDevice, words: TemplateWords) -> str:
    """Return the first name that can be filled in, as a DNS label; "" where none can."""
    name = next((found for template in rule.names if (found := fill(template, words)) is not None), "")
    return _NO_LABEL.sub("-", name.lower()).strip("-")[:63].strip("-")


def made_device(rule: MadeDevice, name: str, words: TemplateWords, driver: str) -> tuple[Device, Mapping[str, str]]:
    """Return a device as the driver would publish it, and where each attribute comes from, by its full name."""
    attributes: dict[str, DeviceAttribute] = {}
    origins: dict[str, str] = {}
    for key, typed in rule.attributes.items():
        (kind, template), *_ = typed.items()
        value = _value(kind, template, words)
        if value is None:
            continue
        attributes[key] = value
        sources = dict.fromkeys(words.origins[word] for word in words_in(template) if word in words.origins)
        if sources:
            origins[full_name(key, driver)] = ", ".join(sources)
    amounts = {key: fill(template, words) for key, template in rule.capacity.items()}
    capacity = {key: DeviceCapacity(value=amount) for key, amount in amounts.items() if amount is not None}
    shareable = True if rule.shareable else None
    return Device(name=name, attributes=attributes, capacity=capacity, allow_multiple_allocations=shareable), origins


def _value(kind: str, template: Known, words: TemplateWords) -> DeviceAttribute | None:
    words_of = words_in(template)
    whole = words_of[0] if isinstance(template, str) and template == f"{{{''.join(words_of)}}}" else ""
    filled = words.values.get(whole) if whole else fill(template, words) if isinstance(template, str) else template
    if filled is None:
        return None
    if kind == "bool":
        return DeviceAttribute(bool_=bool(filled))
    if kind == "int":
        return DeviceAttribute(int_=int(filled))
    text = str(filled)[:_LONGEST]
    return DeviceAttribute(version=text) if kind == "version" else DeviceAttribute(string=text)


MAX_NODES = 20_000
MADE_FROM = "dra-lab/made-from"
"""The annotation of every made slice and node; no driver writes it."""

_DEVICES_A_SLICE = 128
_MOST_NAMED = 8
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]{0,200}[a-z0-9])?")


@dataclass
class _Made:
    """The devices of one node while they are made."""

    inventory: Inventory
    vendors: Vendors = field(default_factory=Vendors)
    devices: dict[str, dict[str, Device]] = field(default_factory=dict)
    places: dict[tuple[str, str], dict[str, FilePlace]] = field(default_factory=dict)
    origins: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    unused: list[InventoryDevice] = field(default_factory=list)


def make_cluster(
    inventory: Inventory, *, drivers: Sequence[str] = (), cpu_mode: str = "grouped", count: int = 1, node: str = "node"
) -> Cluster:
    """Return `count` equal nodes (`node-1`, ...) with the slices that drivers would publish for an inventory.

    The data file of each driver says what it would publish. Other data of an inventory becomes the nodes' places: a
    plan uses it, and kube-scheduler never sees it. Classes are left out: the documented ones stand in for them and are
    exported with a claim. The default drivers are those of the GPUs' vendors, dra.net for NICs and dra.cpu for CPUs
    (`vendors`). `cpu_mode` is "grouped" (one device per NUMA node) or "individual" (one device per CPU). Raises
    InputError if a driver, the mode, the count or the name is not valid, or if no device is left.
    """
    found = vendors(inventory, drivers)
    rules = list(_rules(_chosen(inventory, drivers, found), cpu_mode))
    if not 1 <= count <= MAX_NODES:
        raise InputError(f"count is {count}; give 1 to {MAX_NODES:,} nodes")
    if not _SUBDOMAIN.fullmatch(node):
        raise InputError(f"{node!r} cannot begin the name of a node; use lower-case letters, digits and -")
    made = _Made(inventory, found)
    _make_devices(made, rules)
    if not any(made.devices.values()):
        raise InputError(f"no driver would publish a device of {inventory.source}; chosen: {_listed(rules)}")
    places = FilePlaces(inventory.source, made.places, made.origins)
    width = len(str(count))
    names = [f"{node}-{number:0{width}d}" for number in range(1, count + 1)]
    # the name alone, because a folder of the person's machine is private
    mark = {MADE_FROM: Path(inventory.source).name}
    slices = tuple(slice_ for name in names for slice_ in _slices(made, name, mark))
    nodes = tuple(
        Node(metadata=ObjectMeta(name=n, labels={"kubernetes.io/hostname": n}, annotations=mark)) for n in names
    )
    findings = (*_findings(made, rules), *inventory.findings)
    title = f"made from {inventory.source}"
    return Cluster(slices, (), nodes, name=title, findings=findings, file_places=dict.fromkeys(names, places))


def _chosen(inventory: Inventory, drivers: Sequence[str], found: Vendors) -> tuple[str, ...]:
    can = tuple(driver for driver in known_drivers() if profile(driver, {}).made)
    unknown = [driver for driver in drivers if driver not in can]
    if unknown:
        raise InputError(f"dra-lab cannot make slices for the driver {unknown[0]!r}; it can for: {', '.join(can)}")
    if drivers:
        return tuple(dict.fromkeys(drivers))
    gpu_drivers = [driver for device in inventory.of("gpu") for driver in drivers_of(found.of(device))]
    rest = [name for name, present in (("dra.net", inventory.of("nic")), ("dra.cpu", inventory.cpu_nodes)) if present]
    return tuple(dict.fromkeys([*gpu_drivers, *rest]))


def _rules(drivers: Iterable[str], cpu_mode: str) -> Iterator[tuple[str, MadeDevice]]:
    modes = {rule.mode for rule in profile("dra.cpu", {}).made}
    if cpu_mode not in modes:
        raise InputError(f"cpu_mode is {cpu_mode!r}; use one of {', '.join(sorted(modes))}")
    return ((d, rule) for d in drivers for rule in profile(d, {}).made if rule.mode in ("", cpu_mode))


def _listed(rules: Sequence[tuple[str, MadeDevice]]) -> str:
    return ", ".join(dict.fromkeys(driver for driver, _ in rules)) or "none"


def _make_devices(made: _Made, rules: Sequence[tuple[str, MadeDevice]]) -> None:
    found = [d for kind in ("gpu", "nic") for d in made.inventory.of(kind)]
    counted: Counter[str] = Counter()
    for device in sorted(found, key=lambda device: (device.kind != "gpu", device.text("address"))):
        words, vendor = _words(device, counted[device.kind]), made.vendors.of(device)
        counted[device.kind] += 1
        wanted = [(d, r) for d, r in rules if r.of == device.kind and (not r.vendors or vendor in r.vendors)]
        if device.value("management") or not wanted:
            made.unused.append(device)
            continue
        for driver, rule in wanted:
            _add(made, driver, rule, words, device.facts)
    for node in made.inventory.cpu_nodes:
        cpus = node.cpus or ()
        known: dict[str, Known | None] = {"numaNode": node.numa_node, "socket": node.socket, "cpus": len(cpus)}
        known["smt"] = None if node.threads_per_core is None else node.threads_per_core > 1
        facts = {"numaNode": Fact(node.numa_node, node.origin)}
        facts |= {} if node.socket is None else {"socket": Fact(node.socket, node.origin)}
        for driver, rule in rules:
            for cpu in cpus if rule.of == "cpu" else cpus[:1] if rule.of == "numaNode" else ():
                values = {name: value for name, value in {**known, "cpu": cpu}.items() if value is not None}
                words = TemplateWords(values, dict.fromkeys(values, str(node.origin)))
                _add(made, driver, rule, words, facts)


def _words(device: InventoryDevice, number: int) -> TemplateWords:
    facts = dict(device.facts)
    if "pcieRoot" not in facts and "rootGroup" in facts:
        group = facts["rootGroup"]
        facts["pcieRoot"] = Fact(f"root-{str(group.value).replace(' ', '-')}", group.origin)
    values: dict[str, Known] = {name: fact.value for name, fact in facts.items()}
    values.setdefault("index", number)
    if "address" in values:
        values["addressDashes"] = re.sub(r"[:.]", "-", str(values["address"]))
    model = pci_model(device.text("vendor"), device.text("device"))
    values |= dict(model.facts) if model else {}
    product = device.text("model") or (model.product if model else "")
    values |= {"product": product} if product else {}
    values |= {"maker": model.maker} if model and model.maker else {}
    rdma = _rdma(device, model)
    values |= {} if rdma is None else {"rdma": rdma}
    return TemplateWords(values, {name: str(fact.origin) for name, fact in facts.items()})


def _rdma(device: InventoryDevice, model: PciModel | None) -> bool | None:
    """Say whether a NIC has RDMA, None where that is not known; hwloc lists the RDMA device of every NIC with one."""
    if device.text("rdmaDevice") or device.value("infiniBand"):
        return True
    if model is not None and model.rdma is not None:
        return model.rdma
    return False if device.text("interface") else None


def _add(made: _Made, driver: str, rule: MadeDevice, words: TemplateWords, facts: Mapping[str, Fact]) -> None:
    here = made.devices.setdefault(driver, {})
    name = made_name(rule, words) or f"{rule.of.lower()}-{len(here)}"
    while name in here:
        name = f"{name[:58]}-{len(here)}"
    here[name], made.origins[driver, name] = made_device(rule, name, words, driver)
    for level in LEVELS:
        fact = facts.get(level)
        if fact is not None and not isinstance(fact.value, bool):
            made.places.setdefault((driver, name), {})[level] = FilePlace(fact.value, f"file: {fact.origin}")


def _slices(made: _Made, node: str, mark: dict[str, str]) -> Iterator[ResourceSlice]:
    for driver, by_name in made.devices.items():
        devices = tuple(by_name.values())
        packs = [devices[start : start + _DEVICES_A_SLICE] for start in range(0, len(devices), _DEVICES_A_SLICE)]
        for number, pack in enumerate(packs):
            name = f"{node}-{driver}" if len(packs) == 1 else f"{node}-{driver}-{number:03d}"
            pool = ResourcePool(name=node, generation=1, resource_slice_count=len(packs))
            spec = ResourceSliceSpec(driver=driver, pool=pool, node_name=node, devices=pack)
            yield ResourceSlice(metadata=ObjectMeta(name=name, annotations=mark), spec=spec)


def _findings(made: _Made, rules: Sequence[tuple[str, MadeDevice]]) -> Iterator[Finding]:
    source = made.inventory.source
    count = sum(map(len, made.devices.values()))
    what = "the device of each node is" if count == 1 else f"the {count:,} devices of each node are"
    yield Finding(
        "made-from-file",
        Severity.WARNING,
        source,
        f"{what} made from this file, and no driver has published {'it' if count == 1 else 'them'}",
        "Compare with `kubectl get resourceslices -o yaml` once the drivers run.",
    )
    for driver, rule in rules:
        if rule.note and made.devices.get(driver):
            yield Finding("made-as-documented", Severity.NOTE, driver, rule.note)
    invented = [d for d in made.inventory.devices if d.text("rootGroup") and not d.text("pcieRoot")]
    if invented:
        message = (
            "the names of PCIe roots (root-...) are made up, because the file says which devices share a "
            "root but not its name"
        )
        advice = "Do not use them in selectors, or plan on the file of `lstopo topology.xml` instead."
        yield Finding("made-root-names", Severity.WARNING, source, message, advice, invented[0].origin)
    yield from vendor_findings(made.inventory, made.vendors)
    yield from _not_made(made, rules)


def _not_made(made: _Made, rules: Sequence[tuple[str, MadeDevice]]) -> Iterator[Finding]:
    chosen = {driver for driver, _ in rules}
    left_out: dict[tuple[str, str], list[InventoryDevice]] = {}
    for device in made.unused:
        if device.value("management"):
            message = (
                "it manages the NVSwitches and is not a network device; dra-lab leaves it out, but DRANET "
                "may publish it"
            )
            advice = "A selector for RDMA alone would match it. Select the model as well, or the PCIe root of a GPU."
            yield Finding("made-management-nic", Severity.WARNING, device.name, message, advice, device.origin)
            continue
        left_out.setdefault((device.kind, made.vendors.of(device) if device.kind == "gpu" else ""), []).append(device)
    for (kind, vendor), devices in left_out.items():
        yield _left_out(kind, vendor, devices, rules)
    for node in made.inventory.cpu_nodes:
        if node.cpus is None and "dra.cpu" in chosen:
            message = "the file does not say its CPUs, so dra-lab makes no CPU device"
            yield Finding("made-without-cpus", Severity.NOTE, f"NUMA node {node.numa_node}", message, "", node.origin)


def _left_out(
    kind: str, vendor: str, devices: Sequence[InventoryDevice], rules: Sequence[tuple[str, MadeDevice]]
) -> Finding:
    """Return one Finding for all devices of a kind and vendor that no chosen driver publishes.

    It is a warning where a driver of such devices was chosen, which is then another vendor's.
    """
    whose = f" of {vendor_title(vendor)}" if vendor else ""
    what = f"this {kind.upper()}{whose}" if len(devices) == 1 else f"these {len(devices)} {kind.upper()}s{whose}"
    are = "it is" if len(devices) == 1 else "they are"
    names = [device.name for device in devices[:_MOST_NAMED]]
    subject = ", ".join([*names, "..."] if len(devices) > _MOST_NAMED else names)
    publishing = drivers_of(vendor) if kind == "gpu" else ("dra.net",)
    advice = f"To plan for {what}, choose {' or '.join(publishing)} too." if publishing else ""
    message = f"the chosen drivers ({_listed(rules)}) do not publish {what}, so {are} left out"
    severity = Severity.WARNING if any(rule.of == kind for _, rule in rules) else Severity.NOTE
    return Finding("made-left-out", severity, subject, message, advice, devices[0].origin)
