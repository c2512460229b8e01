"""Which devices may serve a request of a plan, and which ones All means; one device at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dra_lab.checks.plan_amounts import can_give
from dra_lab.checks.plan_audit import AuditedPlan, broken
from dra_lab.findings import Finding
from dra_lab.index.counter_draws import grouped_sets
from dra_lab.model.names import DeviceID
from dra_lab.model.sketch import Ask


def stopping(held: AuditedPlan, ask: Ask, device: DeviceID) -> Iterator[Finding]:
    """Class, selectors, gates, taints and exclusive use; admin access may take what is held.

    Rules: docs/semantics.md 3.5.1 to 3.5.4, 3.5.8, 3.5.10.
    """
    if not held.matches(ask, device):
        yield broken("selector", device, f"it does not match request {ask.reference}")
    if not is_visible(held, device):
        yield broken("gate", device, "a feature gate that is off hides it")
    if device in held.cluster.allocated.exclusive and not ask.admin_access:
        yield broken("in-use", device, f"claim {held.cluster.allocated.exclusive[device]} holds it")
    if not held.release.enabled("DRADeviceTaints"):
        return
    rules = held.release.counted_rules
    for taint in held.cluster.taints_of(device, held.devices[device], rules=rules):
        if taint.effect in ("NoSchedule", "NoExecute") and not any(
            t.key in ("", taint.key)
            and t.effect in ("", taint.effect)
            and (t.operator == "Exists" or t.value == taint.value)
            for t in ask.tolerations
        ):
            yield broken("taint", device, f"request {ask.reference} does not tolerate {taint}")


def is_visible(held: AuditedPlan, device: DeviceID) -> bool:
    """Say whether no feature gate hides a device (docs/semantics.md 3.5.8, 3.5.10)."""
    published, gate = held.devices[device], held.release.enabled
    if published.binding_conditions and not gate("DRADeviceBindingConditions"):
        return False
    if not published.consumes_counters:
        return True
    if held.release.is_at_least("1.37") and not gate("DRADeviceCompatibilityGroups"):
        pool = next(pool for pool in held.pools if (pool.driver, pool.name) == (device.driver, device.pool))
        sets = grouped_sets(held.cluster, pool, held.cluster.allocated)
        if any(use.compatibility_groups or use.counter_set in sets for use in published.consumes_counters):
            return False
    return gate("DRAPartitionableDevices")


def looks_at_every(held: AuditedPlan, ask: Ask) -> Iterator[Finding]:
    """All needs every pool of the node whole, and every device answered by the selectors (docs/semantics.md 3.6)."""
    for pool in held.pools:
        if pool.invalid or not pool.complete:
            yield broken("all", ask.reference, f"pool {pool.driver}/{pool.name} is not complete")
    for device, published in held.devices.items():
        if held.matching.match(ask, device.driver, published).stage == "error":
            yield broken("all", ask.reference, f"a selector fails on {device}")


def all_devices(held: AuditedPlan, ask: Ask) -> Sequence[DeviceID]:
    """Return the devices that All means: what matches and, up to 1.36, has the capacity now.

    Rule: docs/semantics.md 3.6.5.
    """
    now = not held.release.is_at_least("1.37")
    return [
        device
        for device in held.devices
        if held.matches(ask, device) and _is_listed(held, device) and can_give(held, ask, device, now=now)
    ]


def _is_listed(held: AuditedPlan, device: DeviceID) -> bool:
    # Devices with counters stay listed while their gate is off, and make the request fail (docs/semantics.md 3.6.2).
    return is_visible(held, device) or not held.release.enabled("DRAPartitionableDevices")
