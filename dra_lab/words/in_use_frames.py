"""Devices in use, counters and the audit of claims as pandas DataFrames: every row, never a cut list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_lab.checks.in_use_audit import audit_claims
from dra_lab.index.in_use import Amount, counters_in_use, devices_in_use
from dra_lab.model.cluster import Cluster
from dra_lab.model.quantity import format_quantity
from dra_lab.words.document import frame_of

if TYPE_CHECKING:
    import pandas as pd

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
