"""Devices that are in use and not healthy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from dra_lab.findings import Finding, Severity
from dra_lab.index.device_health import UNHEALTHY, device_health
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID


def check_health(cluster: Cluster) -> Iterator[Finding]:
    """Yield devices that are in use and not healthy, with the pods that use them."""
    if UNHEALTHY not in device_health(cluster).values():
        return
    users: dict[DeviceID, list[str]] = defaultdict(list)
    for claim in cluster.claims:
        for result in claim.status.allocation.devices.results if claim.status.allocation else ():
            users[result.id] += [f"{claim.metadata.namespace}/{one.name}" for one in claim.status.reserved_for]
    for device_id, health in sorted(device_health(cluster).items()):
        if health == UNHEALTHY:
            who = ", ".join(sorted(set(users[device_id]))[:5]) or "no pod"
            message = f"the driver reports the device as unhealthy, and {who} uses it"
            advice = "A new claim may still get it unless its driver taints it; see the driver's logs on the node."
            yield Finding("device-unhealthy", Severity.WARNING, str(device_id), message, advice)
