"""The devices of a cluster as a table, and the nodes of a cluster as tiles or classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from dra_lab.model.cluster import Cluster
from dra_lab.model.driver_profile import kind_words
from dra_lab.model.goals import DAMAGE
from dra_lab.model.headroom import CORDONED, Fit, NodeFit, node_fit
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Plan
from dra_lab.topology.node_tree import natural_order
from dra_lab.widgets.session_view import Row
from dra_lab.words.facts import FIT_WORDS, counted, goal_words
from dra_lab.words.plan_document import place_words
from dra_lab.words.verdict import short_of_pairs

if TYPE_CHECKING:
    from dra_lab.pictures.racks import Heat, Racks


class HeatCell(Row, frozen=True):
    """A rack of a heat map: `grade` from 0 to 4 is its colour, `words` all of it, `id` what a click chooses.

    That is a node of the rack in Plan, and the row of the rack in Fleet.
    """

    rack: str
    grade: int
    words: str
    id: str = ""


class HeatMap(Row, frozen=True):
    """Racks by a value: `title` says what it counts, `grades` what each colour means, `source` what makes a rack."""

    title: str = ""
    source: str = ""
    grades: tuple[str, ...] = ()
    cells: tuple[HeatCell, ...] = ()


class FleetItem(Row, frozen=True):
    """A node, or a type of identical nodes that `id`, its first node, stands for; `nodes` counts them.

    `word` is its state in a word: "idle", "worse", "full", "busy", "does not fit".
    """

    id: str
    label: str
    nodes: int = 1
    fit: NodeFit = NodeFit.UNKNOWN
    pinned: bool = False
    detail: str = ""
    word: str = ""


class Fleet(Row, frozen=True):
    """The strip: one tile per node, or one row per type; `total` counts the nodes, `best` is the plan's node or ""."""

    kind: Literal["tiles", "classes"] = "tiles"
    items: tuple[FleetItem, ...] = ()
    total: int = 0
    best: str = ""
    heat: HeatMap = HeatMap()


class DeviceTable(Row, frozen=True):
    """The table of devices: every row has an id (`driver/pool/device`) and a text for each column.

    `caption` says which devices they are; `total` counts those of the cluster.
    """

    columns: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    caption: str = ""
    total: int = 0


COLUMNS = (
    "device",
    "node",
    "kind",
    "model",
    "state",
    "NUMA node",
    "PCIe root",
    "address",
    "driver",
    "pool",
    "published name",
)

MAX_DEVICES = 1000
"""Devices of a cluster up to which the browser gets them all; above, those of one node (about 200 bytes a device)."""

MOST_TILES = 64
"""Nodes up to which each has a tile of its own; above, identical nodes share a row."""


def device_table(cluster: Cluster, node: str = "") -> DeviceTable:
    """Return every device of a cluster, or of `node` where the cluster has more than MAX_DEVICES."""
    from dra_lab.sketch.cluster_candidates import all_devices

    total = len(all_devices(cluster))
    if total <= MAX_DEVICES:
        nodes, caption = cluster.node_names, f"all {total:,} devices of the cluster"
    else:
        nodes = (node,) if node in cluster.node_by_name else cluster.node_names[:1]
        caption = f"the devices of {' '.join(nodes)}; the cluster has {total:,}, and frame(lab.cluster) lists them all"
    rows: dict[DeviceID, tuple[str, ...]] = {}
    for name in nodes:
        for device, row in _node_rows(cluster, name).items():
            rows.setdefault(device, row)
    ids = tuple(str(device) for device in rows)
    return DeviceTable(columns=COLUMNS, ids=ids, rows=tuple(rows.values()), caption=caption, total=total)


def _node_rows(cluster: Cluster, node: str) -> Mapping[DeviceID, tuple[str, ...]]:
    from dra_lab.pictures.device_states import device_states
    from dra_lab.topology.locality import localities

    states = device_states(cluster, node)
    rows = {}
    for device, at in localities(cluster, node).items():
        state = states.get(device)
        why = "; ".join(state.why) or state.state.value if state is not None else ""
        where = (place_words(at.numa_node), place_words(at.pcie_root), at.address)
        kind = kind_words(at.kind, guessed=at.guessed)
        rows[device] = (at.name, node, kind, at.label, why, *where, device.driver, device.pool, device.device)
    return rows


def chosen_devices(plan: Plan | None) -> dict[str, str]:
    """Return the request of every chosen device by its id."""
    return {str(p.device): p.reference.partition("/")[0] for p in (plan.placements if plan is not None else ())}


def fleet(cluster: Cluster, plan: Plan | None, pinned: str = "") -> Fleet:
    """Return the node strip: how each node, or each type of identical nodes, serves the drawing; the best first."""
    from dra_lab.pictures.racks import short_labels

    total = len(cluster.node_names)
    classes = plan.node_classes if plan is not None else ()
    best = plan.node if plan is not None else ""
    if total > MOST_TILES:
        known = classes or (node_fit("", cluster.node_names, NodeFit.UNKNOWN, label="all nodes"),)
        items = []
        for one in known:
            # The pinned node stands for its class, so that a click on the row draws what is pinned.
            name = pinned if pinned in one.members else one.members[0]
            label = one.label or (f"like {name}" if len(one.members) > 1 else name)
            items.append(_item(one, name, pinned, label=label, nodes=len(one.members)))
        items.sort(key=lambda item: (-item.nodes, item.id))
        return Fleet(kind="classes", items=tuple(items), total=total, best=best, heat=_fitting(cluster, classes))
    class_of = {name: node_class for node_class in classes for name in node_class.members}
    labels = dict(zip(cluster.node_names, short_labels(cluster.node_names), strict=True))
    use = {name: node_use(cluster, name) for name in cluster.node_names}
    is_mixed = len({idle for idle, _ in use.values()}) > 1
    nearest = short_of_pairs(plan) if plan is not None else None
    first = nearest.node if nearest is not None else best
    tiles = []
    for name in cluster.node_names:
        node_class = class_of.get(name, node_fit("", (name,), NodeFit.UNKNOWN))
        word = _word(node_class, *use[name], is_mixed=is_mixed)
        if nearest is not None and name == first:
            word = f"{nearest.available:,} of {counted(nearest.needed, 'pair')}"
        tiles.append(_item(node_class, name, pinned, label=labels[name], word=word))
    tiles.sort(key=lambda tile: (tile.id != first, _ORDER.index(tile.fit), natural_order(tile.id)))
    return Fleet(kind="tiles", items=tuple(tiles), total=total, best=best)


_ORDER = (NodeFit.BEST, NodeFit.WORSE, NodeFit.UNKNOWN, NodeFit.NO)


def node_use(cluster: Cluster, node: str) -> tuple[bool, bool]:
    """Return whether nothing of a node is in use, and whether all its GPUs (or without GPUs all devices) are."""
    from dra_lab.index.pools import devices_on, gather_pools
    from dra_lab.sketch.cluster_candidates import is_used_up
    from dra_lab.topology.locality import kinds

    kind_of = kinds(cluster, node)
    found = [(item, kind_of.get(item.id, "other")) for item in devices_on(gather_pools(cluster, node))]
    idle = not any(cluster.allocated.holders(item.id) for item, _ in found)
    main = [item for item, kind in found if kind == "gpu"] or [item for item, _ in found]
    return idle, bool(main) and all(is_used_up(cluster, item.id, item.device) for item in main)


def _word(node_class: Fit, idle: bool, full: bool, *, is_mixed: bool) -> str:  # noqa: FBT001  they come as a pair
    if node_class.verdict is NodeFit.NO:
        if node_class.label == CORDONED:
            return CORDONED
        return "full" if full else "busy" if node_class.fits_idle else "does not fit"
    if node_class.verdict is NodeFit.WORSE:
        return "worse"
    return "idle" if idle and is_mixed and node_class.verdict is NodeFit.BEST else ""


def heat_map(
    found: Racks,
    title: str,
    values: Mapping[str, tuple[float, float]],
    words: Callable[[Heat], str],
    chosen: Callable[[Heat], str],
) -> HeatMap:
    """Return racks by the sums of two values of their nodes; one without words is left out."""
    from dra_lab.pictures.racks import grade_words, heat

    rows = heat(found, values)
    cells = (HeatCell(rack=row.rack, grade=row.grade, words=words(row), id=chosen(row)) for row in rows if words(row))
    grades = grade_words(max((row.value for row in rows), default=0))
    return HeatMap(title=title, source=found.source, grades=grades, cells=tuple(cells))


def _fitting(cluster: Cluster, classes: Sequence[Fit]) -> HeatMap:
    """Return the racks by the number of nodes that can take the drawing."""
    from dra_lab.pictures.racks import racks

    found = racks(cluster)
    if found is None or not classes:
        return HeatMap()
    fitting = {name for one in classes if one.fits for name in one.members}
    return heat_map(
        found,
        f"Fitting nodes by {found.word}",
        {name: (int(name in fitting), 1) for name in cluster.node_names},
        lambda row: f"{row.rack}: the drawing fits on {row.value:,} of {counted(row.nodes, 'node')}",
        lambda row: next((node for node in found.nodes[row.rack] if node in fitting), found.nodes[row.rack][0]),
    )


def _item(node_class: Fit, node: str, pinned: str, **words: Any) -> FleetItem:
    """Return a node that stands for its class."""
    return FleetItem(
        id=node, fit=node_class.verdict or NodeFit.UNKNOWN, pinned=node == pinned, detail=_detail(node_class), **words
    )


def _detail(node_class: Fit) -> str:
    if node_class.label == CORDONED:
        return "does not fit: cordoned"
    words = FIT_WORDS[node_class.verdict or NodeFit.UNKNOWN]
    if node_class.verdict is NodeFit.NO and node_class.fits_idle is not None:
        words = "does not fit now; would if it were idle" if node_class.fits_idle else "does not fit, even if idle"
    # the copies that a plan prevents are counted for its own node only, and would set it apart from identical ones
    goals = ", ".join(goal_words(goal) for goal in node_class.values if goal.value and goal.goal != DAMAGE)
    return f"{words}: {goals}" if goals else words


def equal_nodes(plan: Plan | None, node: str) -> int:
    """Return how many nodes are equal to a node for the plan's drawing, itself included."""
    classes = plan.node_classes if plan is not None else ()
    return next((len(one.members) for one in classes if node in one.members), 1)
