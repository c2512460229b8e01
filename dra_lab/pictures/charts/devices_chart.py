"""Every device of a node as one field: what it is and what state it is in; never a cut list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dra_lab.index.pools import PoolDevice, devices_on, gather_pools
from dra_lab.model.cluster import Cluster
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import Plan
from dra_lab.pictures.captions import kind_name, short_name, shorten, text_width
from dra_lab.pictures.charts.chart_states import BLOCKED, FREE, IN_USE, PLANNED, ChartState
from dra_lab.sketch.device_use import device_use
from dra_lab.sketch.free_words import unread_words
from dra_lab.topology.locality import Locality, localities, skipped_devices
from dra_lab.words.document import clean, plain_table
from dra_lab.words.facts import counted

if TYPE_CHECKING:
    import altair as alt

_IN_ROW = 16
_SIZE = 9.0
_FIELD, _WIDTH = 46, 740
"""The least width of a field, and of all fields of a row together, in pixels."""
_SHARED = ChartState("H", "shared, something left", "#009e73", "#000000")
_SPLIT = ChartState("B", "blocked by another partition", "#cc79a7", "#000000")
_OF_USE = {"in use": IN_USE, "blocked": _SPLIT, "tainted": BLOCKED, "shared": _SHARED, "free": FREE}
_STATES = (IN_USE, _SPLIT, _SHARED, PLANNED, FREE, BLOCKED)


def devices_chart(cluster: Cluster, node: str, plan: Plan | None = None) -> alt.TopLevelMixin:
    """Return a chart with one field for each device that a node sees: all 128 of a slice, 16 in a row.

    Fields stand pool by pool in kube-scheduler's order, with the letter of their state and a short name; `plan` marks
    the devices that it takes on this node. Hovering tells model, holder and place. An Altair chart; printed, it is the
    table of all devices. Raises NodeError for a node that the cluster does not have.
    """
    from dra_lab.pictures.charts.look import empty, finish

    heading = f"Devices of {clean(node)}"
    rows = list(_rows(cluster, node, plan))
    if not rows:
        return empty(heading, "This node sees no devices.")
    head = ("pool", "device", "kind", "model", "state", "used by", "NUMA node", "PCIe root")
    keys = ("pool", "device", "kind", "model", "state", "holder", "numa", "root")
    plain = plain_table(head, [[row[key] for key in keys] for row in rows])
    order = f"{counted(len(rows), 'device')}, pool by pool in the order in which kube-scheduler looks"
    width = _fit_names(rows)
    return finish(_chart(rows, width), heading, (order, unread_words(cluster)), plain)


def _rows(cluster: Cluster, node: str, plan: Plan | None) -> Iterator[dict[str, Any]]:
    places = localities(cluster, node)
    taken = plan.chosen() if plan is not None and plan.node == node else {}
    counts: dict[str, int] = {}
    found = [(item.id, _state(cluster, item, taken)) for item in devices_on(gather_pools(cluster, node))]
    found += [(item.id, BLOCKED) for item in skipped_devices(cluster, node)]
    rows: dict[str, int] = {}
    for device, state in found:
        pool = clean(f"{device.driver}/{device.pool}")
        at = counts[pool] = counts.get(pool, -1) + 1
        place = places.get(device)
        line = f"{pool} · {at // _IN_ROW * _IN_ROW + 1}–" if at >= _IN_ROW else pool
        yield {
            "pool": line,
            "row": rows.setdefault(line, len(rows)),
            "column": at % _IN_ROW + 1,
            "device": clean(device.device),
            "short": short_name(place) if place else clean(device.device),
            "letter": state.letter,
            "state": state.legend,
            "ink": state.text,
            "holder": clean(taken.get(device) or ", ".join(cluster.allocated.holders(device))),
            **_place(place),
        }


def _state(cluster: Cluster, item: PoolDevice, taken: Mapping[DeviceID, str]) -> ChartState:
    return PLANNED if item.id in taken else _OF_USE[device_use(cluster, item)]


def _fit_names(rows: list[dict[str, Any]]) -> float:
    """Write letter and name into every field, and return how wide a field is: as the names need, while that fits."""
    columns = max(row["column"] for row in rows)
    needed = max(text_width(f"{row['letter']} {row['short']}", _SIZE) for row in rows) + 8
    width = float(min(max(_FIELD, needed), max(_FIELD, _WIDTH / columns)))
    for row in rows:
        letter = row.pop("letter")
        row["short"] = f"{letter} {shorten(row['short'], _SIZE, width - 8 - text_width(f'{letter} ', _SIZE))}"
    return width


def _place(place: Locality | None) -> dict[str, str]:
    if place is None:
        return {"kind": "device", "model": "", "numa": "not known", "root": "not known"}
    numa, root = place.numa_node, place.pcie_root
    return {
        "kind": kind_name(place),
        "model": clean(place.label),
        "numa": "not known" if numa is None else f"{numa.value}{' (derived)' if numa.derived else ''}",
        "root": "not known" if root is None else clean(str(root.value)),
    }


def _chart(rows: list[dict[str, Any]], width: float) -> alt.TopLevelMixin:
    import altair as alt

    from dra_lab.pictures.charts.look import by_row, data_of, side_axis

    shown = [state for state in _STATES if any(row["state"] == state.legend for row in rows)]
    columns = {"device": "device", "kind": "kind", "model": "model", "state": "state", "holder": "used by"}
    base = alt.Chart(data_of(rows)).encode(
        x=alt.X("column:O", title="device in the row", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("pool:N", sort=by_row(), title="driver/pool", axis=side_axis(labelLimit=260)),
        tooltip=[
            *(alt.Tooltip(f"{key}:N", title=words) for key, words in columns.items()),
            alt.Tooltip("numa:N", title="NUMA node"),
            alt.Tooltip("root:N", title="PCIe root"),
        ],
    )
    legend = alt.Legend(orient="bottom", columns=len(shown), symbolType="square", symbolStrokeColor="#808080")
    scale = alt.Scale(domain=[s.legend for s in shown], range=[s.fill for s in shown])
    fields = base.mark_rect(stroke="#808080").encode(
        color=alt.Color("state:N", title="state", scale=scale, legend=legend)
    )
    texts = base.mark_text(fontSize=_SIZE).encode(text="short:N", color=alt.Color("ink:N", scale=None))
    return alt.layer(fields, texts).properties(width={"step": width}, height={"step": 26})
