"""Answers as pandas DataFrames: every row, never a cut list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dra_lab.findings import Finding
from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import GOALS, Plan
from dra_lab.sketch.device_use import device_use
from dra_lab.topology.locality import Locality, Place, localities, skipped_devices
from dra_lab.words.document import as_frame, frame_of
from dra_lab.words.plan_document import goals_table

if TYPE_CHECKING:
    import pandas as pd

DEVICE_COLUMNS = (
    "node",
    "device",
    "kind",
    "model",
    "state",
    "used_by",
    "request",
    "numa_node",
    "numa_source",
    "pcie_root",
    "switch",
    "socket",
    "address",
    "taints",
    "capacity",
)
"""The columns of `devices_frame`; text from the cluster, places None where they are not known."""


def devices_frame(cluster: Cluster, node: str | None = None, plan: Plan | None = None) -> pd.DataFrame:
    """Return one row for each device of one node or of all nodes, in kube-scheduler's order (`DEVICE_COLUMNS`).

    `state` is "free", "shared" (something of it is left), "in use", "tainted" or "skipped" (kube-scheduler does not
    look at its pool). It is right as far as claims were read. `request` is what a plan chose the device for. A device
    that several nodes see has a row on each. Raises NodeError for a node that the cluster does not have.
    """
    chosen = plan.chosen() if plan is not None else {}
    names = cluster.node_names if node is None else (node,)
    rows = [row for name in names for row in _device_rows(cluster, name)]
    for row in rows:
        on_plan = plan is not None and row["node"] == plan.node
        row["request"] = chosen.get(row["id"], "") if on_plan else ""
    return frame_of([[row[c] for c in DEVICE_COLUMNS] for row in rows], DEVICE_COLUMNS)


def nodes_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each node: how it serves the claim now and when idle, and the best value of each goal there.

    Columns `node`, `fit`, `fits_idle`, `chosen`, `class` (the first of its equal nodes), one for each goal (None where
    it was not worked out).
    """
    rows = []
    for node_class in plan.node_classes:
        values = {goal.goal: goal.value for goal in node_class.goals}
        for name in node_class.nodes:
            head = [name, node_class.fit.value, node_class.fits_idle, name == plan.node, node_class.nodes[0]]
            rows.append([*head, *(values.get(goal) for goal in GOALS)])
    rows.sort(key=lambda row: str(row[0]))
    return frame_of(rows, ("node", "fit", "fits_idle", "chosen", "class", *GOALS))


def goals_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each goal: the plan's value and proof, and kube-scheduler's two values on the same node.

    Columns `goal`, `meaning`, `best`, `bound`, `proven`, `unknown`, `manifest` (kube-scheduler with the compiled
    claim), `plain` (with counts and selectors only), `regret` (manifest less best), `plain_regret`. All are minimised.
    Where `best` is only the most that a value can be, the regrets are not known.
    """
    return as_frame(goals_table(plan))


def findings_frame(findings: Iterable[Finding]) -> pd.DataFrame:
    """Return one row for each finding: `severity`, `rule`, `subject`, `message`, `advice`, `origin`."""
    rows = [[f.severity.value, f.rule, f.subject, f.message, f.advice, str(f.origin or "")] for f in findings]
    return frame_of(rows, ("severity", "rule", "subject", "message", "advice", "origin"))


def shortfalls_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each reason why the claim does not fit: `rule`, `subject`, `message`, numbers, `advice`."""
    rows = [[s.rule, s.subject, s.node, s.needed, s.available, s.message, s.advice] for s in plan.shortfalls]
    return frame_of(rows, ("rule", "subject", "node", "needed", "available", "message", "advice"))


def funnel_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each request, kind of node and test: how many devices are left after the test.

    Columns `request`, `needed`, `nodes` (how many have these figures), `node` (the first of them), `test`, `text` (the
    selector or link as written), `left`. Empty for a claim that fits.
    """
    rows = [
        [funnel.request, funnel.needed, funnel.nodes, funnel.node, step.test, step.text, step.count]
        for funnel in (plan.reasons.funnels if plan.reasons else ())
        for step in funnel.steps
    ]
    return frame_of(rows, ("request", "needed", "nodes", "node", "test", "text", "left"))


def relaxations_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each change that was tried, those with the most fitting nodes first.

    Columns `kind`, `subject`, `title`, `fitting` (nodes, None: not tried), `total`, `undecided`, `example`.
    """
    changes = sorted(plan.reasons.relaxations if plan.reasons else (), key=lambda change: -(change.fitting or 0))
    rows = [[c.kind, c.subject, c.title, c.fitting, c.total, c.undecided, c.example] for c in changes]
    return frame_of(rows, ("kind", "subject", "title", "fitting", "total", "undecided", "example"))


def conflicts_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each part of each set that cannot hold together.

    Columns `set` (its number), `node` ("": any node), `kind`, `subject`, `text` (of a selector).
    """
    rows = [
        [number, conflict.node, element.kind, element.subject, element.text]
        for number, conflict in enumerate(plan.reasons.conflicts if plan.reasons else ())
        for element in conflict.elements
    ]
    return frame_of(rows, ("set", "node", "kind", "subject", "text"))


def scarcity_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each request: is it short of devices, or are they scattered?

    Columns `request`, `kind` (shortage, fragmentation, enough), `needed`, `free` in the cluster, `most` on `node`.
    """
    rows = [
        [s.request, s.kind, s.needed, s.free, s.most, s.node] for s in (plan.reasons.scarcity if plan.reasons else ())
    ]
    return frame_of(rows, ("request", "kind", "needed", "free", "most", "node"))


def regret_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each kind of path between GPUs and NICs, in the best and in both first fits.

    Columns `allocation` (best, manifest, plain), `path`, `gpus`, `low`, `high` (ratios to the bandwidth on one PCIe
    root, None: not known), `kind` (reference, measured, derived, unknown), `sources`, `outside` (published measurements
    that lie outside the range).
    """
    allocations = [("best", plan.regrets[0].best)] if plan.regrets else []
    allocations += [(regret.against, regret.theirs) for regret in plan.regrets]
    rows = [
        [
            name,
            share.words,
            share.gpus,
            share.low,
            share.high,
            share.kind,
            "; ".join(share.sources),
            "; ".join(share.against),
        ]
        for name, shares in allocations
        for share in shares
    ]
    return frame_of(rows, ("allocation", "path", "gpus", "low", "high", "kind", "sources", "outside"))


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
        "id": device_id,
        "device": str(device_id),
        "kind": place.kind if place else "other",
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
