"""ResourceSlices as the API server validates new ones (docs/semantics.md 1.4, 2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dra_lab.checks.device_validation import LIST_MEMBERS, check_counters, check_device
from dra_lab.checks.rules import (
    Errors,
    check_driver,
    check_fully_qualified,
    check_label,
    check_metadata,
    check_node_selector,
    check_pool,
    check_set,
    check_subdomain,
    invalid,
    required,
)
from dra_lab.manifests.strict import FieldError
from dra_lab.model.release import KubernetesRelease

MAX_DEVICES = 128
MAX_RICH_DEVICES = 64
MAX_COUNTER_SETS = 8

_CHOICES = "exactly one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection"


def check_slice(resource_slice: Mapping[str, Any], release: KubernetesRelease) -> Errors:
    """Yield what the API server refuses in a new ResourceSlice (a decoded v1 document with its defaults)."""
    yield from check_metadata(resource_slice.get("metadata") or {}, namespaced=False)
    spec = resource_slice.get("spec") or {}
    yield from check_driver(spec.get("driver") or "", "spec.driver")
    yield from _check_pool(spec.get("pool") or {})
    yield from check_node_choice(spec)
    # in 1.34 counter sets were in the slice of the devices that use them
    if release.is_at_least("1.35") and "sharedCounters" in spec and "devices" in spec:
        yield FieldError("spec", "set sharedCounters or devices, not both; counter sets have slices of their own")
    per_device = bool(spec.get("perDeviceNodeSelection"))

    def rule(device: Mapping[str, Any], path: str) -> Errors:
        yield from check_device(device, path, release, per_device=per_device)

    yield from check_set(spec.get("devices"), device_limit(spec, release), rule, "spec.devices", _name)
    yield from check_set(spec.get("sharedCounters"), MAX_COUNTER_SETS, check_counter_set, "spec.sharedCounters", _name)
    yield from check_partition_type(spec, release)
    yield from _check_operations(spec.get("skipNodeOperations") or ())


def device_limit(spec: Mapping[str, Any], release: KubernetesRelease) -> int:
    """Return how many devices the slice may hold: half as many when one has taints, counters or list attributes."""
    devices = spec.get("devices") or ()
    rich = any(
        device.get("taints")
        or device.get("consumesCounters")
        or any(member in a for a in (device.get("attributes") or {}).values() for member in LIST_MEMBERS)
        for device in devices
    )
    return MAX_RICH_DEVICES if rich and release.is_at_least("1.35") else MAX_DEVICES


def check_node_choice(spec: Mapping[str, Any]) -> Errors:
    """Yield what is wrong with the choice of nodes: exactly one way; a node selector has exactly one term."""
    name, selector = spec.get("nodeName"), spec.get("nodeSelector")
    if name == "":
        yield invalid("spec.nodeName", name, "leave it out or name a node")
    elif name is not None:
        yield from check_subdomain(name, "spec.nodeName")
    if selector is not None:
        yield from check_node_selector(selector, "spec.nodeSelector")
        if len(selector.get("nodeSelectorTerms") or ()) != 1:
            yield FieldError("spec.nodeSelector.nodeSelectorTerms", "exactly one term is allowed")
    flags = [spec.get(flag) for flag in ("allNodes", "perDeviceNodeSelection")]
    for flag, value in zip(("allNodes", "perDeviceNodeSelection"), flags, strict=True):
        if value is False:
            yield invalid(f"spec.{flag}", value, "leave it out or set it to true")
    chosen = sum((bool(name), selector is not None, *map(bool, flags)))
    if chosen == 0:
        yield required("spec", _CHOICES)
    elif chosen > 1:
        yield FieldError("spec", f"set {_CHOICES}, not {chosen} of them")


def check_counter_set(counter_set: Mapping[str, Any], path: str) -> Errors:
    """Yield what is wrong with `sharedCounters[]`: a name, and 1 to 32 counters."""
    if _name(counter_set):
        yield from check_label(_name(counter_set), f"{path}.name")
    else:
        yield required(f"{path}.name")
    yield from check_counters(counter_set.get("counters"), f"{path}.counters")


def _check_pool(pool: Mapping[str, Any]) -> Errors:
    yield from check_pool(pool.get("name") or "", "spec.pool.name")
    count, generation = pool.get("resourceSliceCount") or 0, pool.get("generation") or 0
    if count <= 0:
        yield invalid("spec.pool.resourceSliceCount", count, "it must be greater than zero")
    if generation < 0:
        yield invalid("spec.pool.generation", generation, "it must not be negative")


def _check_operations(operations: list[str] | tuple[str, ...]) -> Errors:
    known = ("NodePrepareResources", "NodeUnprepareResources", "*")

    def rule(operation: str, path: str) -> Errors:
        if operation not in known:
            yield invalid(path, operation, f"use one of {', '.join(known)}")

    yield from check_set(operations, len(known), rule, "spec.skipNodeOperations")
    if "NodePrepareResources" in operations and not {"NodeUnprepareResources", "*"} & set(operations):
        why = "NodePrepareResources can only be skipped together with NodeUnprepareResources"
        yield FieldError("spec.skipNodeOperations", why)


def _name(item: Mapping[str, Any]) -> str:
    return item.get("name") or ""


def check_partition_type(spec: Mapping[str, Any], release: KubernetesRelease) -> Errors:
    """Yield what is wrong with `partitionTypeAttribute`: every device that draws counters has it as a text."""
    name = spec.get("partitionTypeAttribute")
    if name is None:
        return
    path = "spec.partitionTypeAttribute"
    devices = spec.get("devices") or ()
    if not any(device.get("consumesCounters") for device in devices):
        yield invalid(path, name, "no device of the slice consumes counters")
        return
    wrong = list(check_fully_qualified(name, path, release))
    yield from wrong
    bare = name.removeprefix(f"{spec.get('driver') or ''}/")
    for index, device in enumerate(devices if not wrong else ()):
        attributes, place = device.get("attributes") or {}, f"spec.devices[{index}].attributes[{name}]"
        attribute = attributes.get(name, attributes.get(bare))
        if not device.get("consumesCounters"):
            continue
        if attribute is None:
            yield required(place, "partitionTypeAttribute names it and the device consumes counters")
        elif "string" not in attribute:
            yield FieldError(place, "partitionTypeAttribute names it, so it must be a string")
