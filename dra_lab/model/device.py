"""Devices as drivers publish them (`resource.k8s.io/v1`, fields of Kubernetes 1.37)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from msgspec import Struct, field

from dra_lab.model.nodes import NodeSelector
from dra_lab.model.quantity import NANO, QuantityText, nano
from dra_lab.model.release import Gates

RESOURCE_V1 = "resource.k8s.io/v1"

_Amount = TypeVar("_Amount")


class Value(
    Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False, forbid_unknown_fields=True
):
    """Base of the values of the API: frozen, camelCase in documents, defaults left out when written.

    Unknown fields are refused when decoding; `manifests` decides whether that is an error or a finding.
    """


AttributeValue = int | bool | str | tuple[int, ...] | tuple[bool, ...] | tuple[str, ...]


class DeviceAttribute(Value, frozen=True, cache_hash=True):
    """`devices[].attributes[*]`: exactly one member is set (docs/semantics.md 1.6)."""

    int_: int | None = field(default=None, name="int")
    bool_: bool | None = field(default=None, name="bool")
    string: str | None = None
    version: str | None = None
    ints: tuple[int, ...] | None = None
    bools: tuple[bool, ...] | None = None
    strings: tuple[str, ...] | None = None
    versions: tuple[str, ...] | None = None

    @property
    def kind(self) -> str:
        """Return the name of the member that is set (`int`, `bool`, `string`, `version`, `ints`, ...), or ""."""
        # One by one, for this runs for every device: those with one value first.
        if self.int_ is not None:
            return "int"
        if self.bool_ is not None:
            return "bool"
        if self.string is not None:
            return "string"
        if self.version is not None:
            return "version"
        return next((name for name, values in self._lists() if values is not None), "")

    @property
    def value(self) -> AttributeValue | None:
        """Return the value of the member that is set, or None for an empty union."""
        if self.int_ is not None:
            return self.int_
        if self.bool_ is not None:
            return self.bool_
        if self.string is not None:
            return self.string
        if self.version is not None:
            return self.version
        return next((values for _, values in self._lists() if values is not None), None)

    @property
    def is_list(self) -> bool:
        """Say whether a list member is set (KEP-5491, gate DRAListTypeAttributes)."""
        return self.ints is not None or self.strings is not None or self.bools is not None or self.versions is not None

    def _lists(self) -> Iterator[tuple[str, tuple[int, ...] | tuple[bool, ...] | tuple[str, ...] | None]]:
        yield "ints", self.ints
        yield "bools", self.bools
        yield "strings", self.strings
        yield "versions", self.versions


class CapacityRequestPolicyRange(Value, frozen=True):
    """`capacity[*].requestPolicy.validRange`."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class CapacityRequestPolicy(Value, frozen=True):
    """`capacity[*].requestPolicy`: how a requested amount is defaulted and rounded (KEP-5075)."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRequestPolicyRange | None = None


class DeviceCapacity(Value, frozen=True):
    """`devices[].capacity[*]`: a quantity, with a request policy on shareable devices."""

    value: QuantityText
    request_policy: CapacityRequestPolicy | None = None


class Counter(Value, frozen=True):
    """An amount of one shared counter."""

    value: QuantityText


class DeviceCounterConsumption(Value, frozen=True):
    """`devices[].consumesCounters[]` (KEP-4815)."""

    counter_set: str
    counters: dict[str, Counter] = {}
    compatibility_groups: tuple[str, ...] = ()


class DeviceTaint(Value, frozen=True):
    """`devices[].taints[]`: `NoSchedule` and `NoExecute` keep claims without a matching toleration away (KEP-5055)."""

    key: str
    effect: str
    value: str = ""
    time_added: str | None = None

    def __str__(self) -> str:
        """Return `key=value:effect` as kubectl prints taints."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Device(Value, frozen=True):
    """`spec.devices[]` of a ResourceSlice (v1: fields directly in the device)."""

    name: str
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool | None = None
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool | None = None
    node_allocatable_resource_mappings: dict[str, object] | None = None
    node_allocatable_resources: dict[str, object] | None = None

    def lookup(self, name: str, driver: str) -> DeviceAttribute | None:
        """Return the attribute of a full name as constraints see it, or None.

        The exact key wins; else the bare key, if the domain is the driver's (case-sensitive). Rule: `lookupAttribute`
        of the structured allocator (docs/semantics.md 3.9.3).
        """
        found = self.attributes.get(name)
        if found is None:
            domain, _, identifier = name.partition("/")
            if domain == driver:
                found = self.attributes.get(identifier)
        return found


def without_scalar(devices: Iterable[Device]) -> tuple[DeviceAttribute, ...]:
    """Return the attributes of devices that are lists, or have no value."""
    # written out: this runs for every attribute of a cluster
    return tuple(
        [
            a
            for device in devices
            for a in device.attributes.values()
            if a.string is None and a.int_ is None and a.bool_ is None and a.version is None
        ]
    )


def has_lists(device: Device) -> bool:
    """Say whether a device publishes a list-typed attribute."""
    return any(attribute.is_list for attribute in without_scalar((device,)))


def has_empty_attributes(device: Device) -> bool:
    """Say whether an attribute of a device has no value; then every selector fails on the device."""
    return not all(attribute.is_list for attribute in without_scalar((device,)))


def published_amounts(device: Device, amounts: Mapping[str, _Amount], driver: str) -> Mapping[str, _Amount]:
    """Return amounts by the keys that a driver publishes: `x` is `<driver>/x`, which wins if both are there.

    Rule: docs/semantics.md 3.11.14, from 1.38.
    """

    def key_of(key: str) -> str:
        domain, _, name = key.rpartition("/")
        forms = (f"{driver}/{name}", name) if domain in ("", driver) else ()
        return next((form for form in forms if form in device.capacity), key)

    return {key_of(key): amounts[key] for key in sorted(amounts, key=lambda key: "/" in key)}


# ---------------------------------------------------------------- capacity requests (KEP-5075)


Amounts = Mapping[str, int]
"""Amounts in 1/NANO by capacity key, keys exactly as published."""

_NONE: Amounts = {}


def capacity_use(
    device: Device,
    requests: Mapping[str, QuantityText],
    gates: Gates,
    driver: str = "",
) -> Amounts | None:
    """Return what a request takes of every capacity of a device, or None when the device cannot serve it.

    `requests` are the amounts asked for; keys are compared literally, a key that the device lacks rules it out
    (docs/semantics.md 3.11.1, 3.11.3). 1.37 refuses negative requests. From 1.38 the domain of `driver` may be left
    out (3.11.14).
    """
    if driver and gates.from_1_38:
        requests = published_amounts(device, requests, driver)
    if any(key not in device.capacity for key in requests):
        return None
    found: dict[str, int] = {}
    for key, capacity in device.capacity.items():
        requested = nano(requests[key]) if key in requests else None
        if requested is not None and requested < 0 and not gates.defects:
            return None
        use = _use(requested, capacity, NANO // 1000 if gates.fractional_range else NANO)
        if use is None:
            return None
        found[key] = use
    return found


def capacity_left(device: Device, use: Amounts, consumed: Amounts = _NONE, taken: Amounts = _NONE) -> bool:
    """Say whether what is consumed, what this attempt took and the new use stay within every capacity of the device."""
    for key, amount in use.items():
        if consumed.get(key, 0) + taken.get(key, 0) + amount > nano(device.capacity[key].value):
            return False
    return True


def _use(requested: int | None, capacity: DeviceCapacity, unit: int) -> int | None:
    policy = capacity.request_policy
    if requested is None:
        default = policy.default if policy else None
        requested = nano(capacity.value if default is None else default)
        if policy is None or default is not None:
            return requested
    if policy is None:
        return requested
    if policy.valid_range is not None:
        return _in_range(requested, policy.valid_range, unit)
    if policy.valid_values:
        return next((v for v in map(nano, policy.valid_values) if v >= requested), None)
    return requested


def _in_range(requested: int, allowed: CapacityRequestPolicyRange, unit: int) -> int | None:
    use = requested
    if allowed.min is not None:
        low = nano(allowed.min)
        if requested < low:
            use = low
        elif allowed.step is not None:
            use = _round_up(requested, low, nano(allowed.step), unit)
    if allowed.max is not None and use > nano(allowed.max):
        return None
    return use


def _round_up(requested: int, low: int, step: int, unit: int) -> int:
    # Quantity.Value() (MilliValue() with the fractional gate) rounds every operand up to a whole number first
    have, base, width = (-(-amount // unit) for amount in (requested, low, step))
    if width <= 0:
        return requested
    return (base + -(-(have - base) // width) * width) * unit
