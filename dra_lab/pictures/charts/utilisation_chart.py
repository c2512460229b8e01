"""Utilisation and fragmentation by node: what is in use, planned, free and stranded of each kind of device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import Stranded
from dra_lab.model.plan import Plan
from dra_lab.pictures.charts.amounts import Amounts, amount_names, node_amounts
from dra_lab.pictures.charts.chart_states import AMOUNT_STATES, ChartState
from dra_lab.pictures.charts.rows import Band, of_nodes
from dra_lab.sketch.free_words import unread_words
from dra_lab.words.document import clean, number_words, plain_table
from dra_lab.words.facts import KINDS, counted

if TYPE_CHECKING:
    import altair as alt

_WIDTH = 560
_ROW = 22
_WIDE, _NARROW = 0.11, 0.045


def utilisation_chart(
    cluster: Cluster, fleet: Plan | None = None, stranded: Stranded | None = None
) -> alt.TopLevelMixin:
    """Return how much of each kind of device is in use, planned, free or stranded on every node.

    It has a column for each kind (CPUs are whole CPUs, the others devices) and at most 40 rows. On larger clusters,
    identical or similar nodes share a row, and the chart says so. What is stranded for certain is drawn, and the text
    below the title says how much more may be.
    """
    from dra_lab.pictures.charts.look import empty, finish

    heading = f"Use of devices by node, {clean(cluster.name)}" if cluster.name else "Use of devices by node"
    amounts = node_amounts(cluster, fleet, stranded)
    if not amounts:
        return empty(heading, "No devices to show. The cluster has no ResourceSlices with devices.")
    kinds = amount_names(cluster, [kind for kind in KINDS if any(a.kind == kind and a.total for a in amounts)])
    bands, words = of_nodes(_by_node(amounts, tuple(kinds)))
    rows = [row for at, band in enumerate(bands) for row in _rows(band, at, kinds)]
    shown = [state for state in AMOUNT_STATES if any(row["state"] == state.legend for row in rows)]
    subtitle = (unread_words(cluster), words, _open(stranded))
    return finish(_chart(rows, kinds, shown), heading, subtitle, _plain(bands, kinds))


def _open(stranded: Stranded | None) -> str:
    """Say how much of what is drawn as free may be stranded too, where that is not proven."""
    kinds = stranded.kinds if stranded is not None else ()
    open_kinds = [
        f"{kind.stranded - kind.least:,} {KINDS.get(kind.kind, kind.kind)}" for kind in kinds if not kind.proven
    ]
    words = []
    if open_kinds:
        words.append(
            f"stranded is what is so for certain; of what is drawn as free, up to {', '.join(open_kinds)} may be"
        )
    if stranded is not None and stranded.not_examined:
        words.append(f"what is stranded on {counted(stranded.not_examined, 'node')} is not known")
    return "; ".join(words)


def _by_node(amounts: Sequence[Amounts], kinds: Sequence[str]) -> Mapping[str, tuple[float, ...]]:
    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for amount in amounts:
        found.setdefault(amount.node, {})[amount.kind] = amount.values
    none = (0.0,) * len(AMOUNT_STATES)
    return {node: tuple(v for kind in kinds for v in here.get(kind, none)) for node, here in found.items()}


def _rows(band: Band, at: int, kinds: Mapping[str, str]) -> list[dict[str, Any]]:
    rows, size = [], len(AMOUNT_STATES)
    for index, kind in enumerate(kinds.values()):
        begin = 0.0
        for state, value in zip(AMOUNT_STATES, band.mean[index * size : (index + 1) * size], strict=True):
            if value <= 0:
                continue
            row = {
                "row": at,
                "node": clean(band.label),
                "nodes": len(band.nodes),
                "which": clean(band.node_words),
                "kind": kind,
            }
            amount = {"from": round(begin, 3), "to": round(begin + value, 3), "amount": number_words(value)}
            rows.append({**row, **amount, "state": state.legend, "letter": state.letter, "ink": state.text})
            begin += value
    _label(rows)
    return rows


def _label(rows: list[dict[str, Any]]) -> None:
    """Write the letter and the amount on parts that have room for them."""
    widest = {kind: max(r["to"] for r in rows if r["kind"] == kind) for kind in {r["kind"] for r in rows}}
    kinds = max(len(widest), 1)
    for row in rows:
        part = (row["to"] - row["from"]) / widest[row["kind"]] / kinds
        letter = row.pop("letter")
        row["words"] = f"{letter} {row['amount']}" if part > _WIDE / 1.5 else letter if part > _NARROW / 1.5 else ""


def _chart(rows: list[dict[str, Any]], kinds: Mapping[str, str], shown: Sequence[ChartState]) -> alt.TopLevelMixin:
    import altair as alt

    from dra_lab.pictures.charts.look import by_row, data_of, side_axis

    width = _WIDTH // len(kinds)
    legends = [state.legend for state in shown]
    base = alt.Chart().encode(y=alt.Y("node:N", sort=by_row(), title="node", axis=side_axis(labelLimit=190)))
    bars = base.mark_bar(stroke="#808080", strokeWidth=1).encode(
        x=alt.X("from:Q", title="number"),
        x2="to:Q",
        color=alt.Color(
            "state:N",
            title="state",
            scale=alt.Scale(domain=legends, range=[state.fill for state in shown]),
            legend=alt.Legend(orient="bottom", columns=len(shown), symbolStrokeColor="#808080", symbolType="square"),
        ),
        tooltip=[
            alt.Tooltip("nodes:Q", title="nodes in this row"),
            alt.Tooltip("which:N", title="they are"),
            alt.Tooltip("kind:N"),
            alt.Tooltip("state:N"),
            alt.Tooltip("amount:N"),
        ],
    )
    texts = base.mark_text(fontSize=10, align="center").encode(
        x=alt.X("middle:Q", title="number"),
        text="words:N",
        color=alt.Color("ink:N", scale=None),
    )
    layers = alt.layer(bars, texts).transform_calculate(middle="(datum.from + datum.to) / 2")
    column = alt.Column("kind:N", sort=[*kinds.values()], title=None, header=alt.Header(labelFontSize=12))
    facets: alt.FacetChart = layers.properties(width=width, height={"step": _ROW}).facet(
        data=data_of(rows), column=column
    )
    made: alt.FacetChart = facets.resolve_scale(x="independent")
    return made


def _plain(bands: Sequence[Band], kinds: Mapping[str, str]) -> str:
    size = len(AMOUNT_STATES)
    head = ["node", "nodes", "kind", *(state.words for state in AMOUNT_STATES)]
    rows = [
        [band.label, len(band.nodes), kind, *band.mean[index * size : (index + 1) * size]]
        for band in bands
        for index, kind in enumerate(kinds.values())
    ]
    return plain_table(head, rows)
