"""A cluster as pandas DataFrames: its devices, those in use, counters, and the audit of claims."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dra_lab.checks.in_use_audit import audit_claims
from dra_lab.index.in_use import Amount, counters_in_use, devices_in_use
from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.driver_profile import kind_words
from dra_lab.model.names import DeviceID
from dra_lab.model.quantity import format_quantity
from dra_lab.sketch.device_use import device_use
from dra_lab.topology.locality import Locality, Place, localities, skipped_devices
from dra_lab.words.document import frame_of

if TYPE_CHECKING:
    import pandas as pd

DEVICE_COLUMNS = (
    "node",
    "device",
    "kind",
    "model",
    "state",
    "used_by",
    "numa_node",
    "numa_source",
    "pcie_root",
    "switch",
    "socket",
    "address",
    "taints",
    "capacity",
)
IN_USE_COLUMNS = (
    "device",
    "node",
    "shared",
    "claims",
    "admin",
    "reserved_for",
    "left",
    "taints",
    "health",
    "published",
)
COUNTER_COLUMNS = ("driver", "pool", "counter_set", "counter", "total", "used", "left")
AUDIT_COLUMNS = ("claim", "request", "device", "rule", "why", "advice")


def devices_frame(cluster: Cluster) -> pd.DataFrame:
    """Return one row for each device of each node that sees it, in kube-scheduler's order.

    `kind` is like "gpu", or "gpu (guessed)" for a driver without a profile. `numa_node`, `pcie_root`, `switch` and
    `socket` are None if unknown. `capacity` is Kubernetes quantities, such as "memory: 40Gi".
    """
    rows = [row for name in cluster.node_names for row in _device_rows(cluster, name)]
    return frame_of([[row[c] for c in DEVICE_COLUMNS] for row in rows], DEVICE_COLUMNS)


def in_use_frame(cluster: Cluster) -> pd.DataFrame:
    """Return one row for each device that claims hold (`IN_USE_COLUMNS`), sorted by driver, pool and device.

    `left` says what is left of a shared device: `memory: 40Gi of 80Gi`; `health` is what kubelet writes into pods, ""
    where no pod says anything; `published` is False for a device that no ResourceSlice has any more.
    """
    rows: list[list[object]] = [
        [
            str(row.device),
            row.node,
            row.shared,
            ", ".join(row.claims),
            ", ".join(row.admin),
            ", ".join(row.consumers),
            ", ".join(f"{key}: {left_of(amount)}" for key, amount in row.capacity.items()),
            ", ".join(row.taints),
            row.health,
            row.published,
        ]
        for row in devices_in_use(cluster)
    ]
    return frame_of(rows, IN_USE_COLUMNS)


def counters_frame(cluster: Cluster) -> pd.DataFrame:
    """Return one row for each shared counter of a pool (`COUNTER_COLUMNS`); amounts are quantities."""
    rows: list[list[object]] = [
        [
            use.driver,
            use.pool,
            use.counter_set,
            use.counter,
            *(format_quantity(amount) for amount in (use.amount.total, use.amount.used, use.amount.left)),
        ]
        for use in counters_in_use(cluster)
    ]
    return frame_of(rows, COUNTER_COLUMNS)


def audit_frame(cluster: Cluster) -> pd.DataFrame:
    """Return one row for each reason why a claim would not be granted a device again (`AUDIT_COLUMNS`)."""
    rows: list[list[object]] = [
        [row.claim, row.request, str(row.device or ""), row.rule, row.why, row.advice] for row in audit_claims(cluster)
    ]
    return frame_of(rows, AUDIT_COLUMNS)


def left_of(amount: Amount) -> str:
    """Return `40Gi of 80Gi`: what is left of a capacity."""
    return f"{format_quantity(amount.left)} of {format_quantity(amount.total)}"


def _device_rows(cluster: Cluster, node: str) -> Iterator[dict[str, Any]]:
    places = localities(cluster, node)
    for item in devices_on(gather_pools(cluster, node)):
        yield _row(cluster, node, item.id, item.device, places.get(item.id), device_use(cluster, item))
    for skipped in skipped_devices(cluster, node):
        yield _row(cluster, node, skipped.id, skipped.device, places.get(skipped.id), "skipped")


def _row(
    cluster: Cluster, node: str, device_id: DeviceID, device: Device, place: Locality | None, state: str
) -> dict[str, Any]:
    numa = place.numa_node if place else None
    return {
        "node": node,
        "device": str(device_id),
        "kind": kind_words(place.kind, guessed=place.guessed) if place else "other",
        "model": place.label if place else "",
        "state": state,
        "used_by": ", ".join(cluster.allocated.holders(device_id)),
        "numa_node": _value(numa),
        "numa_source": numa.source if numa else "",
        "pcie_root": _value(place.pcie_root if place else None),
        "switch": _value(place.switch if place else None),
        "socket": _value(place.socket if place else None),
        "address": place.address if place else "",
        "taints": ", ".join(str(taint) for taint in cluster.taints_of(device_id, device)),
        "capacity": ", ".join(f"{key}: {capacity.value}" for key, capacity in device.capacity.items()),
    }


def _value(place: Place | None) -> str | int | None:
    return place.value if place is not None else None
