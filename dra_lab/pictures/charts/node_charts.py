"""Charts over nodes: how much of each kind of device is in use on every node, and how many more replicas fit there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import NODE, Headroom, Stranded
from dra_lab.model.plan import Plan
from dra_lab.pictures.charts.amounts import AMOUNT_STATES, ChartState, amount_names, node_amounts
from dra_lab.sketch.kind_counts import unread_words
from dra_lab.words.document import clean, number_words, plain_table
from dra_lab.words.facts import KINDS, counted

if TYPE_CHECKING:
    import altair as alt


MOST_ROWS = 40
"""More rows than these cannot be read; `of_nodes` then puts similar nodes together, and says so."""

_NAMED = 8
"""The most nodes of a row that are named."""


@dataclass(frozen=True, slots=True)
class Band:
    """One row: nodes that are equal, or next to each other in the order of their values.

    `label` names the first of them ("node-7"; "node-7 ×12" are equal, "node-7 … ×125" are similar); `least`, `mean` and
    `most` are their values, column by column, equal where the nodes are.
    """

    label: str
    nodes: tuple[str, ...]
    least: tuple[float, ...]
    mean: tuple[float, ...]
    most: tuple[float, ...]

    def head(self, at: int) -> dict[str, Any]:
        """Return the first values of the row as data: `which` names the first few of many nodes."""
        names = ", ".join(self.nodes[:_NAMED])
        more = f" and {len(self.nodes) - _NAMED:,} more" if len(self.nodes) > _NAMED else ""
        return {"row": at, "node": clean(self.label), "nodes": len(self.nodes), "which": clean(names + more)}


def of_nodes(values: Mapping[str, Sequence[float]]) -> tuple[tuple[Band, ...], str]:
    """Return the rows for nodes with their values, and in words what a row is ("" where it is one node).

    Up to MOST_ROWS nodes have one row each, by name. Above that, identical nodes share a row, the highest values first.
    If there are still too many rows, nodes are sorted by their values and split into bands of similar size. No node is
    left out.
    """
    if len(values) <= MOST_ROWS:
        return tuple(_band(name, (name,), values) for name in sorted(values)), ""
    ordered = sorted(values, key=lambda name: ([-value for value in values[name]], name))
    classes = [tuple(group) for _, group in groupby(ordered, key=lambda name: tuple(values[name]))]
    total = f"{len(values):,} nodes"
    if len(classes) <= MOST_ROWS:
        rows = tuple(_band(f"{c[0]} ×{len(c):,}" if len(c) > 1 else c[0], c, values) for c in classes)
        return rows, f"{total}; identical nodes share a row (×)"
    cuts = [len(ordered) * at // MOST_ROWS for at in range(MOST_ROWS + 1)]
    bands = tuple(
        _band(f"{ordered[low]} … ×{high - low:,}" if high - low > 1 else ordered[low], tuple(ordered[low:high]), values)
        for low, high in pairwise(cuts)
    )
    words = f"{total} in {len(classes):,} different states, sorted, in {MOST_ROWS} bands"
    return bands, f"{words}: a row is named by its first node and shows the mean of its nodes (…)"


def _band(label: str, nodes: tuple[str, ...], values: Mapping[str, Sequence[float]]) -> Band:
    columns = list(zip(*(values[name] for name in nodes), strict=True))
    least, most = tuple(min(column) for column in columns), tuple(max(column) for column in columns)
    mean = least if least == most else tuple(sum(column) / len(column) for column in columns)
    return Band(label, nodes, least, mean, most)


_ROW_TIPS = {"nodes:Q": "nodes in this row", "which:N": "they are"}
_USE_WIDTH = 560
_USE_ROW = 22
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
    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for amount in amounts:
        found.setdefault(amount.node, {})[amount.kind] = amount.values
    none = (0.0,) * len(AMOUNT_STATES)
    bands, words = of_nodes({node: sum((here.get(kind, none) for kind in kinds), ()) for node, here in found.items()})
    rows = [row for at, band in enumerate(bands) for row in _amount_rows(band, at, kinds)]
    shown = [state for state in AMOUNT_STATES if any(row["state"] == state.legend for row in rows)]
    subtitle = (unread_words(cluster), words, _open(stranded))
    return finish(_bars(rows, kinds, shown), heading, subtitle, _amounts_table(bands, kinds))


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


def _amount_rows(band: Band, at: int, kinds: Mapping[str, str]) -> list[dict[str, Any]]:
    rows, size = [], len(AMOUNT_STATES)
    for index, kind in enumerate(kinds.values()):
        begin = 0.0
        for state, value in zip(AMOUNT_STATES, band.mean[index * size : (index + 1) * size], strict=True):
            if value <= 0:
                continue
            row = {**band.head(at), "kind": kind}
            amount = {"from": round(begin, 3), "to": round(begin + value, 3), "amount": number_words(value)}
            rows.append({**row, **amount, "state": state.legend, "letter": state.letter, "ink": state.text})
            begin += value
    _label(rows)
    return rows


def _label(rows: list[dict[str, Any]]) -> None:
    widest = {kind: max(r["to"] for r in rows if r["kind"] == kind) for kind in {r["kind"] for r in rows}}
    kinds = max(len(widest), 1)
    for row in rows:
        part = (row["to"] - row["from"]) / widest[row["kind"]] / kinds
        letter = row.pop("letter")
        row["words"] = f"{letter} {row['amount']}" if part > _WIDE / 1.5 else letter if part > _NARROW / 1.5 else ""


def _bars(rows: list[dict[str, Any]], kinds: Mapping[str, str], shown: Sequence[ChartState]) -> alt.TopLevelMixin:
    import altair as alt

    from dra_lab.pictures.charts.look import by_row, data_of, side_axis, tips

    width = _USE_WIDTH // len(kinds)
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
        tooltip=tips({**_ROW_TIPS, "kind:N": "", "state:N": "", "amount:N": ""}),
    )
    texts = base.mark_text(fontSize=10, align="center").encode(
        x=alt.X("middle:Q", title="number"),
        text="words:N",
        color=alt.Color("ink:N", scale=None),
    )
    layers = alt.layer(bars, texts).transform_calculate(middle="(datum.from + datum.to) / 2")
    column = alt.Column("kind:N", sort=[*kinds.values()], title=None, header=alt.Header(labelFontSize=12))
    facets: alt.FacetChart = layers.properties(width=width, height={"step": _USE_ROW}).facet(
        data=data_of(rows), column=column
    )
    made: alt.FacetChart = facets.resolve_scale(x="independent")
    return made


def _amounts_table(bands: Sequence[Band], kinds: Mapping[str, str]) -> str:
    size = len(AMOUNT_STATES)
    head = ["node", "nodes", "kind", *(state.words for state in AMOUNT_STATES)]
    rows = [
        [band.label, len(band.nodes), kind, *band.mean[index * size : (index + 1) * size]]
        for band in bands
        for index, kind in enumerate(kinds.values())
    ]
    return plain_table(head, rows)


_COLUMN = 92
_ROW = 22
_SHADES = ("#d6e8f4", "#9fcae6", "#56b4e9", "#2f8fc6", "#0072b2")
_NONE, _INKS = "#bdbdbd", ("#000000", "#000000", "#000000", "#000000", "#ffffff")


def fits_chart(headroom: Sequence[Headroom]) -> alt.TopLevelMixin:
    """Return a heat map of how many more replicas fit: a row for each node, a column for each workload.

    "≥2" is a number that is not proven to be the most. Darker is more; grey is none. Each column is counted by itself,
    so the numbers of two workloads do not hold together. The chart has at most 40 rows. On larger clusters, identical
    or similar nodes share a row, which shows the range of their numbers.
    """
    from dra_lab.pictures.charts.look import empty, finish

    heading = "How many more replicas fit, by node and workload"
    values = _fits_by_node(headroom)
    if not values:
        return empty(heading, "Nothing to show. Give the answers of how_many_more, one for each workload.")
    bands, words = of_nodes(values)
    names = [clean(one.workload) or "workload" for one in headroom]
    names = [name if names.count(name) == 1 else f"{name} ({at + 1})" for at, name in enumerate(names)]
    rows = []
    for row, band in enumerate(bands):
        for at, name in enumerate(names):
            field, mean = _field(band, at, len(names))
            place = {**band.head(row), "column": at, "workload": name, "words": field}
            rows.append({**place, "replicas": round(mean, 2), "most": int(band.most[len(names) + at])})
    sums = ", ".join(f"{name}: {_known(one)}" for name, one in zip(names, headroom, strict=True))
    numbers = [[_field(band, at, len(names))[0] for at in range(len(names))] for band in bands]
    table = [[band.label, len(band.nodes), *own] for band, own in zip(bands, numbers, strict=True)]
    subtitle = (f"in total, each workload by itself: {sums}", words)
    return finish(_heat_map(rows), heading, subtitle, plain_table(["node", "nodes", *names], table))


def _fits_by_node(headrooms: Sequence[Headroom]) -> Mapping[str, tuple[float, ...]]:
    """Return for each node the numbers of all workloads: surely, then at most."""
    found: dict[str, list[float]] = {}
    for at, headroom in enumerate(headrooms):
        for fit in headroom.where:
            together = fit.kind != NODE and len(fit.members) > 1
            for name in [" + ".join(fit.members) + " together"] if together else fit.members:
                into = found.setdefault(name, [0.0] * (2 * len(headrooms)))
                least, most = fit.replicas.value, fit.replicas.bound
                into[at], into[len(headrooms) + at] = least, least if most is None else most
    return {name: tuple(values) for name, values in found.items()}


def _known(headroom: Headroom) -> str:
    count = headroom.count
    if count.exact:
        return f"{count.value:,}"
    return f"≥{count.value:,}" + ("" if count.bound is None else f" (at most {count.bound:,})")


def _field(band: Band, at: int, count: int) -> tuple[str, float]:
    low, high, bound = int(band.least[at]), int(band.most[at]), int(band.most[count + at])
    words = f"{low}" if low == high else f"{low}–{high}"
    return (f"≥{words}" if bound > high else words), band.mean[at]


def _heat_map(rows: list[dict[str, Any]]) -> alt.TopLevelMixin:
    import altair as alt

    from dra_lab.pictures.charts.look import by_row, data_of, side_axis, tips

    most = max((row["replicas"] for row in rows), default=0)
    for row in rows:
        shade = min(len(_SHADES) - 1, int(row["replicas"] / most * len(_SHADES))) if most else 0
        row["fill"], row["ink"] = (_SHADES[shade], _INKS[shade]) if row["replicas"] else (_NONE, "#000000")
    base = alt.Chart(data_of(rows)).encode(
        x=alt.X(
            "workload:N",
            sort=alt.EncodingSortField("column", op="min"),
            title="workload (more replicas of it that fit)",
            axis=alt.Axis(orient="top", labelAngle=0, labelLimit=_COLUMN - 4),
        ),
        y=alt.Y("node:N", sort=by_row(), title="node", axis=side_axis(labelLimit=220)),
        tooltip=tips({**_ROW_TIPS, "workload:N": "", "words:N": "more replicas on each", "most:Q": "at most"}),
    )
    fields = base.mark_rect(stroke="#808080", strokeWidth=0.5).encode(color=alt.Color("fill:N", scale=None))
    texts = base.mark_text(fontSize=11).encode(text="words:N", color=alt.Color("ink:N", scale=None))
    return alt.layer(fields, texts).properties(width={"step": _COLUMN}, height={"step": _ROW})
