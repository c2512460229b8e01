"""Answers as pandas DataFrames: every row, never a cut list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dra_lab.findings import Finding
from dra_lab.index.pools import devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.device import Device
from dra_lab.model.driver_profile import kind_words
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
    """Return one row for each device of one node or of all nodes, in kube-scheduler's order.

    A device that several nodes see has a row on each.

    Args:
        cluster: The cluster with the devices.
        node: The name of the only node to list; default None: all nodes.
        plan: A plan whose requests are shown beside the devices that it chose; default: none.

    Returns:
        The columns `words.frames.DEVICE_COLUMNS`. `numa_node`, `pcie_root`, `switch` and `socket` are None if unknown,
        the others are text. `kind` is like "gpu", or "gpu (guessed)" for a driver without a profile. `state` is "free",
        "shared" (part of it is left), "in use", "blocked" (partitions in use leave too little of its counters),
        "tainted", or "skipped" (kube-scheduler ignores its pool). It is as complete as the claims that were read.
        `capacity` is Kubernetes quantities, such as "memory: 40Gi".

    Raises:
        NodeError: The cluster does not have this node.
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import devices_frame, load_cluster
        >>> frame = devices_frame(load_cluster("sample:two-sockets"), "lab-2")
        >>> frame[frame.kind == "gpu"].state.tolist()
        ['in use', 'free', 'free', 'free']
    """
    chosen = plan.chosen() if plan is not None else {}
    names = cluster.node_names if node is None else (node,)
    rows = [row for name in names for row in _device_rows(cluster, name)]
    for row in rows:
        on_plan = plan is not None and row["node"] == plan.node
        row["request"] = chosen.get(row["id"], "") if on_plan else ""
    return frame_of([[row[c] for c in DEVICE_COLUMNS] for row in rows], DEVICE_COLUMNS)


def nodes_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each node, by name: how well it serves the claim, and the best value of each goal there.

    Args:
        plan: The plan, as `make_plan` returns it.

    Returns:
        The columns `node`, `fit` ("best", "worse", "no", "unknown"), `fits_idle`, `chosen`, `class` and one for each
        goal. `fits_idle` says whether it would fit with nothing in use, None if unknown. `class` is the first of the
        identical nodes. A goal is None on nodes where it was not computed.

    Raises:
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import load_cluster, make_plan, nodes_frame, read_sketch
        >>> # On a sample cluster.
        >>> plan = make_plan(load_cluster("sample:two-sockets"), read_sketch("sample:two-sockets/lesson"))
        >>> nodes_frame(plan)[["node", "fit", "chosen", "roots"]].values.tolist()
        [['lab-1', 'best', True, 2], ['lab-2', 'best', False, 2]]
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

    Args:
        plan: The plan, as `make_plan` returns it.

    Returns:
        The columns `goal`, `meaning`, `best`, `bound`, `proven`, `unknown`, `manifest`, `plain`, `regret` and
        `plain_regret`. All values are minimised. `unknown` counts devices at an unknown place. `manifest` is
        kube-scheduler with the compiled claim, `plain` with counts and selectors only. `regret` is `manifest` less
        `best`, `plain_regret` is `plain` less `best`. Both are None if `best` is only the most that a value can be.

    Raises:
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import goals_frame, load_cluster, make_plan, read_sketch
        >>> # On a sample cluster.
        >>> plan = make_plan(load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/gpu-nic-pairs"))
        >>> frame = goals_frame(plan)
        >>> frame[frame.goal == "roots"][["best", "proven", "manifest", "plain"]].values.tolist()
        [[2, True, 2, 3]]
    """
    return as_frame(goals_table(plan))


def findings_frame(findings: Iterable[Finding]) -> pd.DataFrame:
    """Return one row for each finding, in their order.

    Args:
        findings: Findings, such as those of a cluster, a plan or `check_cluster`.

    Returns:
        The columns `severity`, `rule`, `subject`, `message`, `advice` and `origin`, all text.

    Raises:
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import check_cluster, findings_frame, load_cluster
        >>> frame = findings_frame(check_cluster(load_cluster("sample:trouble")))
        >>> frame[["severity", "rule"]].values.tolist()[0]
        ['warning', 'pool-incomplete']
    """
    rows = [[f.severity.value, f.rule, f.subject, f.message, f.advice, str(f.origin or "")] for f in findings]
    return frame_of(rows, ("severity", "rule", "subject", "message", "advice", "origin"))


def shortfalls_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each reason why the claim does not fit; none for a claim that fits.

    Args:
        plan: The plan, as `make_plan` returns it.

    Returns:
        The columns `rule`, `subject`, `node`, `needed`, `available` (devices or groups), `message` and `advice`.

    Raises:
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import load_cluster, make_plan, read_sketch, shortfalls_frame
        >>> # On a sample cluster.
        >>> plan = make_plan(load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/five-pairs"))
        >>> shortfalls_frame(plan)[["rule", "subject", "needed", "available"]].values.tolist()
        [['selector', 'nic', 5, 4], ['link', 'pairs', 5, 4]]
    """
    rows = [[s.rule, s.subject, s.node, s.needed, s.available, s.message, s.advice] for s in plan.shortfalls]
    return frame_of(rows, ("rule", "subject", "node", "needed", "available", "message", "advice"))


def funnel_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each request, kind of node and test: how many devices are left after the test.

    Args:
        plan: The plan, as `make_plan` returns it.

    Returns:
        The columns `request`, `needed`, `nodes`, `node`, `test`, `text` and `left`. `nodes` counts the nodes with these
        figures, and `node` is the first of them. `text` is the selector or link as written. No rows for a claim that
        fits.

    Raises:
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import funnel_frame, load_cluster, make_plan, read_sketch
        >>> # On a sample cluster.
        >>> plan = make_plan(load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/five-pairs"))
        >>> funnel_frame(plan)[["request", "test", "left"]].values.tolist()[:2]
        [['gpu', 'published', 15], ['gpu', 'class-selector', 8]]
    """
    rows = [
        [funnel.request, funnel.needed, funnel.nodes, funnel.node, step.test, step.text, step.count]
        for funnel in (plan.reasons.funnels if plan.reasons else ())
        for step in funnel.steps
    ]
    return frame_of(rows, ("request", "needed", "nodes", "node", "test", "text", "left"))


def relaxations_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each change that was tried, those with the most fitting nodes first.

    Args:
        plan: The plan, as `make_plan` returns it.

    Returns:
        The columns `kind`, `subject`, `title`, `fitting`, `total`, `undecided` and `example`. `fitting`, `total` and
        `undecided` count nodes; `fitting` is None if that is not known. `example` is the first node that fits.

    Raises:
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import load_cluster, make_plan, read_sketch, relaxations_frame
        >>> # On a sample cluster.
        >>> plan = make_plan(load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/five-pairs"))
        >>> relaxations_frame(plan)[["kind", "subject", "fitting", "total"]].values.tolist()[0]
        ['selector', 'nic', 3, 4]
    """
    changes = sorted(plan.reasons.relaxations if plan.reasons else (), key=lambda change: -(change.fitting or 0))
    rows = [[c.kind, c.subject, c.title, c.fitting, c.total, c.undecided, c.example] for c in changes]
    return frame_of(rows, ("kind", "subject", "title", "fitting", "total", "undecided", "example"))


def conflicts_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each part of each set that is impossible together.

    Without any one part of a set, the others are possible (`Conflict.minimal` says whether this was checked).

    Args:
        plan: The plan, as `make_plan` returns it.

    Returns:
        The columns `set` (its number, from 0), `node` ("": any node), `kind` ("request", "selector", "link"), `subject`
        and `text` (of a selector or link).

    Raises:
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import conflicts_frame, load_cluster, make_plan, read_sketch
        >>> # On a sample cluster.
        >>> plan = make_plan(load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/five-pairs"))
        >>> frame = conflicts_frame(plan)
        >>> frame[frame.node == ""][["kind", "subject"]].values.tolist()
        [['request', 'nic'], ['selector', 'nic']]
    """
    rows = [
        [number, conflict.node, element.kind, element.subject, element.text]
        for number, conflict in enumerate(plan.reasons.conflicts if plan.reasons else ())
        for element in conflict.elements
    ]
    return frame_of(rows, ("set", "node", "kind", "subject", "text"))


def scarcity_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each request: whether devices are too few, or enough but scattered over nodes.

    Args:
        plan: The plan, as `make_plan` returns it.

    Returns:
        The columns `request`, `kind` ("shortage", "fragmentation", "enough"), `needed`, `free`, `most` and `node`.
        Numbers are devices: `free` in the cluster, and `most` on `node`. No rows for a claim that fits.

    Raises:
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import load_cluster, make_plan, read_sketch, scarcity_frame
        >>> # On a sample cluster.
        >>> plan = make_plan(load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/five-pairs"))
        >>> scarcity_frame(plan)[["request", "kind", "needed", "free", "most"]].values.tolist()
        [['gpu', 'enough', 5, 18, 8], ['nic', 'fragmentation', 5, 9, 4]]
    """
    rows = [
        [s.request, s.kind, s.needed, s.free, s.most, s.node] for s in (plan.reasons.scarcity if plan.reasons else ())
    ]
    return frame_of(rows, ("request", "kind", "needed", "free", "most", "node"))


def regret_frame(plan: Plan) -> pd.DataFrame:
    """Return one row for each kind of path between GPUs and NICs, in the best and in both first fits.

    Args:
        plan: The plan, as `make_plan` returns it.

    Returns:
        The columns `allocation`, `path`, `gpus`, `low`, `high`, `kind`, `sources` and `outside`. `allocation` is
        "best", "manifest" or "plain", as in `goals_frame`. `low` and `high` are ratios to the bandwidth on one PCIe
        root, None if unknown. `kind` is "reference", "measured", "yours", "derived" or "unknown". `outside` names
        published measurements outside the range. No rows without GPUs and NICs.

    Raises:
        MissingPackage: pandas is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import load_cluster, make_plan, read_sketch, regret_frame
        >>> # On a sample cluster.
        >>> plan = make_plan(load_cluster("sample:eks-p4d"), read_sketch("sample:eks-p4d/gpu-nic-pairs"))
        >>> regret_frame(plan)[["allocation", "path", "gpus", "high"]].values.tolist()[-1]
        ['plain', 'on another NUMA node', 1, 0.64]
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
