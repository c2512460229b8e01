"""The devices of a cluster as a table, and the nodes of a cluster as tiles or classes."""

from __future__ import annotations

from collections.abc import Mapping

from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import NodeClass, NodeFit, Plan
from dra_lab.widgets.fleet_values import Fit, Fleet, FleetItem
from dra_lab.widgets.plan_values import DeviceTable
from dra_lab.words.facts import FIT_WORDS, goal_words
from dra_lab.words.plan_document import place_words

COLUMNS = ("device", "node", "kind", "model", "state", "NUMA node", "PCIe root", "address", "driver", "pool")

MAX_DEVICES = 1000
"""Devices of a cluster up to which the browser gets them all; above, those of one node (about 200 bytes a device)."""

_FITS: Mapping[NodeFit, Fit] = {
    NodeFit.BEST: "best",
    NodeFit.WORSE: "worse",
    NodeFit.NO: "no",
    NodeFit.UNKNOWN: "unknown",
}


def device_table(cluster: Cluster, node: str = "") -> DeviceTable:
    """Return every device of a cluster, or of `node` where the cluster has more than MAX_DEVICES."""
    from dra_lab.authoring.candidates import all_devices

    total = len(all_devices(cluster))
    if total <= MAX_DEVICES:
        nodes, caption = cluster.node_names, f"all {total:,} devices of the cluster"
    else:
        nodes = (node,) if node in cluster.node_by_name else cluster.node_names[:1]
        caption = f"the devices of {' '.join(nodes)}; the cluster has {total:,}, and lab.devices() gives them all"
    rows: dict[DeviceID, tuple[str, ...]] = {}
    for name in nodes:
        for device, row in _node_rows(cluster, name).items():
            rows.setdefault(device, row)
    ids = tuple(str(device) for device in rows)
    return DeviceTable(columns=COLUMNS, ids=ids, rows=tuple(rows.values()), caption=caption, total=total)


def _node_rows(cluster: Cluster, node: str) -> Mapping[DeviceID, tuple[str, ...]]:
    from dra_lab.pictures.states import device_states
    from dra_lab.topology.locality import localities

    states = device_states(cluster, node)
    rows = {}
    for device, at in localities(cluster, node).items():
        state = states.get(device)
        told = "; ".join(state.why) or state.state.value if state is not None else ""
        where = (place_words(at.numa_node), place_words(at.pcie_root), at.address)
        rows[device] = (device.device, node, at.kind, at.label, told, *where, device.driver, device.pool)
    return rows


def chosen_devices(plan: Plan | None) -> dict[str, str]:
    """Return the request of every chosen device by its id."""
    return {str(p.device): p.reference.partition("/")[0] for p in (plan.placements if plan is not None else ())}


def fleet(cluster: Cluster, plan: Plan | None, pinned: str = "") -> Fleet:
    """Return the fleet strip: how each node, or each class of equal nodes, serves the drawing."""
    from dra_lab.pictures.fleet import MOST_TILES, short_labels

    total = len(cluster.node_names)
    classes = plan.node_classes if plan is not None else ()
    best = plan.node if plan is not None else ""
    if total > MOST_TILES:
        known = classes or (NodeClass(cluster.node_names, NodeFit.UNKNOWN, label="all nodes"),)
        items = [_class_item(node_class, pinned) for node_class in known]
        items.sort(key=lambda item: (-item.nodes, item.id))
        return Fleet(kind="classes", items=tuple(items), total=total, best=best)
    class_of = {name: node_class for node_class in classes for name in node_class.nodes}
    labels = dict(zip(cluster.node_names, short_labels(cluster.node_names), strict=True))
    tiles = []
    for name in cluster.node_names:
        node_class = class_of.get(name, NodeClass((name,), NodeFit.UNKNOWN))
        fit, detail = _FITS[node_class.fit], _detail(node_class)
        tiles.append(FleetItem(id=name, label=labels[name], fit=fit, pinned=name == pinned, detail=detail))
    return Fleet(kind="tiles", items=tuple(tiles), total=total, best=best)


def _class_item(node_class: NodeClass, pinned: str) -> FleetItem:
    # The pinned node stands for its class, so that a click on the row draws what is pinned.
    name = pinned if pinned in node_class.nodes else node_class.nodes[0]
    return FleetItem(
        id=name,
        label=node_class.label or (f"like {name}" if len(node_class.nodes) > 1 else name),
        nodes=len(node_class.nodes),
        fit=_FITS[node_class.fit],
        pinned=name == pinned,
        detail=_detail(node_class),
    )


def _detail(node_class: NodeClass) -> str:
    words = FIT_WORDS[node_class.fit]
    if node_class.fit is NodeFit.NO and node_class.fits_idle is not None:
        words += ", would when idle" if node_class.fits_idle else ", nor when idle"
    goals = ", ".join(goal_words(goal) for goal in node_class.goals if goal.value)
    return f"{words}: {goals}" if goals else words


def equal_nodes(plan: Plan | None, node: str) -> int:
    """Return how many nodes are equal to a node for the plan's drawing, itself included."""
    for node_class in plan.node_classes if plan is not None else ():
        if node in node_class.nodes:
            return len(node_class.nodes)
    return 1
