"""Judge one device for one request by itself: hidden by a gate, tainted, large enough."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dra_lab.index.pools import PoolDevice
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.gates import Gates
from dra_lab.model.quantity import NANO
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask
from dra_lab.scheduler.capacity import capacity_use

Amounts = Mapping[str, Fraction]
"""Capacity by key, exactly as published."""


def is_hidden(gates: Gates, device: Device) -> bool:
    """Say whether a gate that is off hides a device: `bindingConditions`, and `compatibilityGroups` from 1.37."""
    if device.binding_conditions and not gates.binding_conditions:
        return True
    return gates.skip_groups and any(use.compatibility_groups for use in device.consumes_counters)


def device_use(gates: Gates, ask: Ask, device: Device) -> Amounts | None:
    """Return what `capacity.requests` take of a device by key, by its `requestPolicy`; None where it cannot serve them.

    A dedicated device is asked too, as a filter (docs/semantics.md 3.11.1 to 3.11.4).
    """
    if not (gates.consumable_capacity and (ask.capacity or device.capacity)):
        return {}
    use = capacity_use(device, ask.capacity, fractional=gates.fractional_range, defects=gates.defects)
    return None if use is None else {key: Fraction(amount, NANO) for key, amount in use.items()}


def is_tolerated(cluster: Cluster, release: KubernetesRelease, ask: Ask, item: PoolDevice) -> bool:
    """Say whether `tolerations` of a request stand all `taints[]` of a device and of DeviceTaintRules.

    Rule: docs/semantics.md 3.8.
    """
    # An empty key or effect matches all, Exists any value, Equal (or "") the same value
    taints = cluster.taints_of(item.id, item.device, rules=release.enabled("DRADeviceTaintRules"))
    return all(
        any(
            t.key in ("", taint.key)
            and t.effect in ("", taint.effect)
            and (t.operator == "Exists" or (t.operator in ("", "Equal") and t.value == taint.value))
            for t in ask.tolerations
        )
        for taint in taints
        if taint.effect in ("NoSchedule", "NoExecute")
    )
