"""The use of a device: free, in use, shared, tainted, as far as claims were read."""

from __future__ import annotations

from dra_lab.index.counters_left import without_counters
from dra_lab.index.pools import PoolDevice
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device, DeviceTaint
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import parse_quantity
from dra_lab.model.release import KubernetesRelease


def counts_cpus(capacity_key: str) -> bool:
    """Say whether a capacity counts CPUs, as `dra.cpu/cpu` does."""
    return capacity_key.rpartition("/")[2] == "cpu"


def keeps_away(taint: DeviceTaint) -> bool:
    """Say whether a taint keeps claims without a toleration from being given its device."""
    return taint.effect in ("NoSchedule", "NoExecute")


def is_tainted(cluster: Cluster, item: PoolDevice, release: KubernetesRelease) -> bool:
    """Say whether a taint keeps claims without a toleration away from a device (gate DRADeviceTaints)."""
    if not (item.device.taints or cluster.taint_rules) or not release.enabled("DRADeviceTaints"):
        return False
    return any(map(keeps_away, cluster.taints_of(item.id, item.device, rules=release.counted_rules)))


def is_used_up(cluster: Cluster, device_id: DeviceID, device: Device, capacity_key: str = "") -> bool:
    """Say whether claims leave nothing of a device: one holds it, partitions in use its counters, or shares all of it.

    Shares leave something as long as there is some of `capacity_key` (of every capacity where it is "").
    """
    if device_id in cluster.allocated.exclusive or device_id in without_counters(cluster):
        return True
    if device_id not in cluster.allocated.shares:
        return False
    consumed = cluster.allocated.consumed.get(device_id, {})
    keys = [capacity_key] if capacity_key else list(device.capacity)
    values = {key: device.capacity[key].value for key in keys if key in device.capacity}
    return any(parse_quantity(value) <= consumed.get(key, 0) for key, value in values.items())


def is_free(cluster: Cluster, item: PoolDevice, release: KubernetesRelease, capacity_key: str = "") -> bool:
    """Say whether a device can still be allocated: neither tainted nor used up (`is_used_up`)."""
    return not is_tainted(cluster, item, release) and not is_used_up(cluster, item.id, item.device, capacity_key)


def device_use(cluster: Cluster, item: PoolDevice) -> str:
    """Return how a device is used, in the cluster's default release.

    It is "in use", "blocked" (partitions in use leave too little of its shared counters), "tainted", "shared" (some of
    it is left) or "free".
    """
    if item.id in without_counters(cluster) and not cluster.allocated.holders(item.id):
        return "blocked"
    if is_used_up(cluster, item.id, item.device):
        return "in use"
    if any(map(keeps_away, cluster.taints_of(item.id, item.device))):
        return "tainted"
    return "shared" if item.id in cluster.allocated.shares else "free"
