"""What fits where: how many replicas of each workload every node still holds, as a heat map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dra_lab.model.headroom import NODE, Headroom
from dra_lab.pictures.charts.rows import Band, of_nodes
from dra_lab.words.document import clean, plain_table

if TYPE_CHECKING:
    import altair as alt

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
    values = _by_node(headroom)
    if not values:
        return empty(heading, "Nothing to show. Give the answers of how_many_more, one for each workload.")
    bands, words = of_nodes(values)
    names = _names(headroom)
    rows = [field for at, band in enumerate(bands) for field in _fields(band, at, names)]
    sums = ", ".join(f"{name}: {_known(one)}" for name, one in zip(names, headroom, strict=True))
    return finish(_chart(rows), heading, (f"in total, each workload by itself: {sums}", words), _plain(bands, names))


def _names(headrooms: Sequence[Headroom]) -> tuple[str, ...]:
    names = [clean(headroom.workload) or "workload" for headroom in headrooms]
    return tuple(n if names.count(n) == 1 else f"{n} ({at + 1})" for at, n in enumerate(names))


def _by_node(headrooms: Sequence[Headroom]) -> Mapping[str, tuple[float, ...]]:
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


def _fields(band: Band, row: int, names: Sequence[str]) -> list[dict[str, Any]]:
    fields = []
    for at, name in enumerate(names):
        words, mean = _field(band, at, len(names))
        place = {
            "row": row,
            "node": clean(band.label),
            "nodes": len(band.nodes),
            "which": clean(band.node_words),
            "column": at,
            "workload": name,
        }
        fields.append({**place, "words": words, "replicas": round(mean, 2), "most": int(band.most[len(names) + at])})
    return fields


def _chart(rows: list[dict[str, Any]]) -> alt.TopLevelMixin:
    import altair as alt

    from dra_lab.pictures.charts.look import by_row, data_of, side_axis

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
        tooltip=[
            alt.Tooltip("nodes:Q", title="nodes in this row"),
            alt.Tooltip("which:N", title="they are"),
            alt.Tooltip("workload:N"),
            alt.Tooltip("words:N", title="more replicas on each"),
            alt.Tooltip("most:Q", title="at most"),
        ],
    )
    fields = base.mark_rect(stroke="#808080", strokeWidth=0.5).encode(color=alt.Color("fill:N", scale=None))
    texts = base.mark_text(fontSize=11).encode(text="words:N", color=alt.Color("ink:N", scale=None))
    return alt.layer(fields, texts).properties(width={"step": _COLUMN}, height={"step": _ROW})


def _plain(bands: Sequence[Band], names: Sequence[str]) -> str:
    rows = [
        [band.label, len(band.nodes), *(_field(band, at, len(names))[0] for at in range(len(names)))] for band in bands
    ]
    return plain_table(["node", "nodes", *names], rows)
