"""Devices and slices under pseudonyms: attributes by what they mean, names so that their order stays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

from msgspec import structs

from dra_lab.model.device import Device, DeviceAttribute, DeviceCounterConsumption, DeviceTaint
from dra_lab.model.nodes import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta
from dra_lab.model.slices import CounterSet, ResourceSlice
from dra_lab.sources.anonymise_known import identifies, is_plain, keeps_attribute, keeps_key, keeps_label, level_in
from dra_lab.sources.anonymise_names import AnonymousNames

HOSTNAME = "kubernetes.io/hostname"


class Replacing:
    """Replaces the values that several kinds of objects share, with the names of one capture.

    `devices` maps a driver to the new names of its devices, once they are known.
    """

    def __init__(self, names: AnonymousNames) -> None:
        """Keep the names."""
        self.names = names
        self.devices: Mapping[str, Mapping[str, str]] = {}

    def device_name(self, driver: str, name: str) -> str:
        """Return the new name of a device; one that no slice publishes any more is replaced by its text alone."""
        known = self.devices.get(driver, {})
        return known[name] if name in known else self.names.scrub(name)

    def slice(self, item: ResourceSlice) -> ResourceSlice:
        """Return a slice under pseudonyms."""
        names, spec = self.names, item.spec
        return structs.replace(
            item,
            metadata=ObjectMeta(name=names.of("slice", item.name)),
            spec=structs.replace(
                spec,
                pool=structs.replace(spec.pool, name=names.of("pool", spec.pool.name)),
                node_name=names.of("node", spec.node_name) if spec.node_name else spec.node_name,
                node_selector=self.node_selector(spec.node_selector),
                devices=None if spec.devices is None else tuple(self._device(spec.driver, d) for d in spec.devices),
                shared_counters=None
                if spec.shared_counters is None
                else tuple(self._counter_set(counters) for counters in spec.shared_counters),
            ),
        )

    def _counter_set(self, counters: CounterSet) -> CounterSet:
        return structs.replace(counters, name=self.names.scrub(counters.name))

    def _device(self, driver: str, device: Device) -> Device:
        return structs.replace(
            device,
            name=self.device_name(driver, device.name),
            attributes={key: self._attribute(driver, key, value) for key, value in device.attributes.items()},
            consumes_counters=tuple(self._consumption(use) for use in device.consumes_counters),
            node_name=self.names.of("node", device.node_name) if device.node_name else device.node_name,
            node_selector=self.node_selector(device.node_selector),
            taints=tuple(self.taint(taint) for taint in device.taints),
            binding_conditions=tuple(map(self.condition, device.binding_conditions)),
            binding_failure_conditions=tuple(map(self.condition, device.binding_failure_conditions)),
        )

    def _consumption(self, use: DeviceCounterConsumption) -> DeviceCounterConsumption:
        groups = tuple(self.names.scrub(group) for group in use.compatibility_groups)
        return structs.replace(use, counter_set=self.names.scrub(use.counter_set), compatibility_groups=groups)

    def taint(self, taint: DeviceTaint) -> DeviceTaint:
        """Return a taint of a device; its key and value are those that tolerations get."""
        return structs.replace(taint, key=self.label_key(taint.key), value=self.free_text(taint.value), time_added=None)

    def condition(self, name: str) -> str:
        """Return the type of a condition, the same one in devices, allocations and statuses."""
        return name if is_plain(name) else self.names.of("condition", name)

    def free_text(self, text: str) -> str:
        """Return what stands for words that a person chose; nothing, yes or no, and short numbers stay."""
        return self.names.keep(text) if is_plain(text) else self.names.value(text)

    def resource(self, name: str) -> str:
        """Return the name of a node's resource: that of a class stays, and what many clusters have."""
        return name if "/" not in name or self.names.is_protected(name) else self.label_key(name)

    def _attribute(self, driver: str, key: str, attribute: DeviceAttribute) -> DeviceAttribute:
        if attribute.string is not None:
            return DeviceAttribute(string=self._text(driver, key, attribute.string))
        if attribute.strings is not None:
            return DeviceAttribute(strings=tuple(self._text(driver, key, text) for text in attribute.strings))
        if attribute.version is not None:
            return DeviceAttribute(version=self.names.version(attribute.version))
        if attribute.versions is not None:
            return DeviceAttribute(versions=tuple(map(self.names.version, attribute.versions)))
        if not identifies(key):
            return attribute
        if attribute.int_ is not None:
            return DeviceAttribute(int_=int(self.names.of("number", str(attribute.int_))))
        if attribute.ints is not None:
            return DeviceAttribute(ints=tuple(int(self.names.of("number", str(number))) for number in attribute.ints))
        return attribute

    def _text(self, driver: str, key: str, text: str) -> str:
        if identifies(key):
            return self.names.value(text, "serial") if text else text
        if keeps_attribute(driver, key) or is_plain(text):
            return self.names.keep(text)
        return self.names.value(text)

    def node_selector(self, selector: NodeSelector | None) -> NodeSelector | None:
        """Return a node selector whose keys and values are those of the nodes under pseudonyms."""
        if selector is None:
            return None
        return NodeSelector(node_selector_terms=tuple(self._term(term) for term in selector.node_selector_terms))

    def _term(self, term: NodeSelectorTerm) -> NodeSelectorTerm:
        fields = tuple(
            structs.replace(part, values=tuple(self.names.of("node", value) for value in part.values))
            for part in term.match_fields
        )
        return NodeSelectorTerm(
            match_expressions=tuple(self._requirement(part) for part in term.match_expressions), match_fields=fields
        )

    def _requirement(self, part: NodeSelectorRequirement) -> NodeSelectorRequirement:
        values = tuple(self.label_value(part.key, value) for value in part.values)
        return NodeSelectorRequirement(key=self.label_key(part.key), operator=part.operator, values=values)

    def label_key(self, key: str) -> str:
        """Return the key of a label or taint; one that few clusters have keeps only the level that it names."""
        if keeps_key(key):
            return key
        new = self.names.of("label", key)
        level = level_in(key)
        return key if new == key else f"{new}.example/{level or 'key'}"

    def label_value(self, key: str, value: str) -> str:
        """Return the value of a node's label."""
        if key == HOSTNAME or key.endswith("/hostname"):
            return self.names.of("host", value)
        if keeps_label(key) or is_plain(value):
            return self.names.keep(value)
        return self.names.value(value)


def device_names(slices: Iterable[ResourceSlice], names: AnonymousNames) -> dict[str, dict[str, str]]:
    """Return the new name of each device by driver: its own name without identifiers, or a number where that is unsafe.

    Unsafe is what would make two devices of a pool one, or change their order: then all devices of the driver are
    numbered in the order of their names.
    """
    pools: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for item in slices:
        pools[item.spec.driver][item.spec.pool.name].update(device.name for device in item.spec.devices or ())
    found = {}
    for driver, by_pool in pools.items():
        every = sorted({name for members in by_pool.values() for name in members}, key=str.encode)
        renamed = {name: names.scrub(name) for name in every}
        if not all(_keeps_order(members, renamed) for members in by_pool.values()):
            width = len(str(len(every)))
            renamed = {name: f"device-{number:0{width}d}" for number, name in enumerate(every, 1)}
        found[driver] = renamed
    return found


def _keeps_order(members: set[str], renamed: Mapping[str, str]) -> bool:
    new = [renamed[name].encode() for name in sorted(members, key=str.encode)]
    return all(one < other for one, other in pairwise(new))
