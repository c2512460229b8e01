"""What an answer costs: seconds against the size of the question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dra_lab.words.document import clean, plain_table

if TYPE_CHECKING:
    import altair as alt

_COLOURS = ("#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#0072b2")
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")


def cost_chart(measured: Iterable[Mapping[str, Any]], size: str, heading: str) -> alt.TopLevelMixin:
    """Return a chart of measured seconds against a size, both on logarithmic axes, with one line for each `what`.

    Args:
        measured: One mapping per measurement, with `what` (a few words), `seconds` and the number that `size` names.
            The tooltip shows other members.
        size: The member with the size, such as "nodes". It is the title of the axis.
        heading: The title of the chart.

    Returns:
        An Altair chart. Printed, it is the table of all its rows. A row with 0 seconds or size 0 is in the table only.

    Raises:
        MissingPackage: Altair is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import cost_chart
        >>> rows = [{"what": "plan", "nodes": 10, "seconds": 0.1}, {"what": "plan", "nodes": 100, "seconds": 0.3}]
        >>> print(cost_chart(rows, "nodes", "Time of a plan"))
        Time of a plan
        <BLANKLINE>
        nodes  what  seconds
           10  plan    0.100
          100  plan    0.300
    """
    from dra_lab.pictures.charts.look import empty, finish

    rows = [{**row, "what": clean(str(row["what"])), "size": row[size]} for row in measured]
    if not rows:
        return empty(heading, "Nothing was measured.")
    plain = plain_table([size, "what", "seconds"], [[r["size"], r["what"], f"{r['seconds']:.3f}"] for r in rows])
    return finish(_chart([row for row in rows if row["seconds"] > 0 and row["size"] > 0], size), heading, (), plain)


def _chart(rows: list[dict[str, Any]], size: str) -> alt.TopLevelMixin:
    import altair as alt

    from dra_lab.pictures.charts.look import data_of

    names = list(dict.fromkeys(row["what"] for row in rows))
    repeat = -(-len(names) // len(_COLOURS))
    colours = alt.Scale(domain=names, range=list(_COLOURS * repeat)[: len(names)])
    shapes = alt.Scale(domain=names, range=list(_SHAPES * repeat)[: len(names)])
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=320)
    log, apart = alt.Scale(type="log"), alt.Axis(labelOverlap="greedy", labelSeparation=6)
    base = alt.Chart(data_of(rows)).encode(
        x=alt.X("size:Q", title=f"{size} (number, logarithmic)", scale=log, axis=apart),
        y=alt.Y("seconds:Q", title="time (seconds, logarithmic)", scale=log, axis=apart),
        color=alt.Color("what:N", title="measured", scale=colours, legend=legend),
        tooltip=["what:N", alt.Tooltip("size:Q", title=size), alt.Tooltip("seconds:Q", format=".3f")],
    )
    points = base.mark_point(filled=True, size=70).encode(
        shape=alt.Shape("what:N", title="measured", scale=shapes, legend=legend)
    )
    return alt.layer(base.mark_line(), points).properties(width=520, height=280)
