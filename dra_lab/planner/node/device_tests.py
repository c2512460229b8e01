"""The tests that a device passes before an ask may take it, in their order, and what fails an ask for all devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from fractions import Fraction

from dra_lab.index.pools import Pool, PoolDevice
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceTaint
from dra_lab.model.gates import Gates
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import NANO
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import Ask
from dra_lab.scheduler.candidates import untolerated
from dra_lab.scheduler.capacity import capacity_use


class Stage(IntEnum):
    """The tests that a device passes before an ask may take it, in the order in which they are shown to people."""

    CLASS = 0
    SELECTOR = 1
    TAINT = 2
    IN_USE = 3
    CAPACITY = 4
    FREE = 5

    @property
    def test(self) -> str:
        """Return the name of the test that a device at this stage fails: `class`, `in-use`."""
        return self.name.lower().replace("_", "-")


def why_not_all(
    ask: Ask,
    stages: Mapping[DeviceID, Stage],
    listed: Sequence[DeviceID],
    errors: Sequence[tuple[DeviceID, str, str]],
    pools: Sequence[Pool],
) -> str:
    """Return why an ask with `allocationMode` All cannot be served (docs/semantics.md 3.6), "" where nothing is known.

    `listed` are the devices that All means, `errors` those on which a selector fails.
    """
    if not ask.all_devices:
        return ""
    broken = next((pool for pool in pools if pool.invalid or not pool.complete), None)
    if broken is not None:
        why = broken.invalid or "not all of its slices are there"
        name = f"{broken.driver}/{broken.name}"
        return f"pool {name} is not complete ({why}), and a request for all devices needs every pool"
    if errors:
        return f"a selector fails on {errors[0][0]}, and a request for all devices looks at every device"
    if not listed:
        return "no device matches, and a request for all devices needs at least one"
    stuck = next((device for device in listed if stages[device] is not Stage.FREE), None)
    if stuck is not None:
        words = {Stage.TAINT: "tainted", Stage.IN_USE: "in use"}.get(stages[stuck], "short of capacity")
        return f"{stuck} is {words}, and a request for all devices needs every one of the {len(listed)} that match"
    return ""


Amounts = Mapping[str, Fraction]
"""Capacity by key, exactly as published."""


def is_hidden(gates: Gates, device: Device) -> bool:
    """Say whether a gate that is off hides a device: `bindingConditions`, and `compatibilityGroups` from 1.37."""
    if device.binding_conditions and not gates.binding_conditions:
        return True
    return gates.skip_groups and any(use.compatibility_groups for use in device.consumes_counters)


def device_use(gates: Gates, ask: Ask, device: Device) -> Amounts | None:
    """Return what `capacity.requests` take of a device by key, by its `requestPolicy`; None where it cannot serve them.

    A dedicated device is tested too, as a filter (docs/semantics.md 3.11.1 to 3.11.4).
    """
    if not (gates.consumable_capacity and (ask.capacity or device.capacity)):
        return {}
    use = capacity_use(device, ask.capacity, fractional=gates.fractional_range, defects=gates.defects)
    return None if use is None else {key: Fraction(amount, NANO) for key, amount in use.items()}


def is_tolerated(cluster: Cluster, release: KubernetesRelease, ask: Ask, item: PoolDevice) -> bool:
    """Say whether `tolerations` of a request stand all `taints[]` of a device and of DeviceTaintRules.

    Rule: docs/semantics.md 3.8.
    """
    return untolerated(keeping_away(cluster, release, item.id, item.device), ask.tolerations) is None


def keeping_away(
    cluster: Cluster, release: KubernetesRelease, device_id: DeviceID, device: Device
) -> Iterator[DeviceTaint]:
    """Yield the taints of a device that keep requests without a matching toleration away."""
    for taint in cluster.taints_of(device_id, device, rules=release.counted_rules):
        if taint.effect in ("NoSchedule", "NoExecute"):
            yield taint
