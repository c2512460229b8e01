"""The end of a reason: the capacity, or the feature gate that is off, that takes devices away from a request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dra_lab.index.pools import devices_on
from dra_lab.model.names import DeviceID
from dra_lab.planner.node.device_tests import Stage, hiding_gate
from dra_lab.planner.node.eligible import AskEligibility, NodeEligibility
from dra_lab.planner.scan import Scan

PARTITIONS = "DRAPartitionableDevices"
"""The gate without which kube-scheduler passes over devices that consume shared counters (KEP-4815)."""


def why_capacity(scan: Scan, eligible: NodeEligibility, part: AskEligibility) -> tuple[str, str]:
    """Return that no device publishes a capacity that is requested, or that a gate hides partitions; with advice."""
    seen, release = eligible.seen, scan.release
    free = [device for device, stage in part.stages.items() if stage >= Stage.CAPACITY]
    published = sorted({key for device in free for key in seen[device].capacity})
    known = {*published}
    if scan.rules.gates.from_1_38:
        known |= {f"{d.driver}/{key}" for d in free for key in seen[d].capacity if "/" not in key}
        known |= {key.removeprefix(f"{d.driver}/") for d in free for key in seen[d].capacity}
    if absent := [key for key in part.ask.capacity if key not in known]:
        advice = f"Ask for a capacity that they publish ({', '.join(published) or 'none'}), or for none."
        return f": none of them publishes {', '.join(absent)}", advice
    hidden = sum(bool(seen[device].consumes_counters) for device in free if part.stages[device] is Stage.CAPACITY)
    if not hidden or scan.rules.gates.partitionable_devices:
        return "", ""
    text = f": {hidden} of them are partitions, and a partition {release.needs(PARTITIONS)}"
    return text, release.turn_on(PARTITIONS)


def why_gate(scan: Scan, eligible: NodeEligibility, part: AskEligibility) -> tuple[str, str]:
    """Return that a gate that is off keeps devices from a request that match it, with advice; empty texts if none."""
    rules, release = scan.rules, scan.release
    hidden = Counter(
        gate
        for item in devices_on(eligible.pools)
        if (gate := hiding_gate(rules.gates, item.device))
        and rules.matching.matcher(part.ask, item.driver)(item.device).stage == "match"
    )
    for gate, number in hidden.items():
        more = "1 device" if number == 1 else f"{number:,} devices"
        return f"; using {more} more {release.needs(gate)}", release.turn_on(gate)
    used = [device for device, stage in part.stages.items() if stage is Stage.IN_USE]
    return why_not_shared(scan, eligible, used)


def why_not_shared(scan: Scan, eligible: NodeEligibility, used: Iterable[DeviceID]) -> tuple[str, str]:
    """Return that devices could be shared if the gate were on, with advice; empty texts if they could not."""
    release, gate = scan.release, "DRAConsumableCapacity"
    if release.enabled(gate) or not any(eligible.seen[one].allow_multiple_allocations for one in used):
        return "", ""
    return f"; sharing a device {release.needs(gate)}", release.turn_on(gate)
