"""The look of all charts, and how a notebook shows them: JupyterLab draws them offline, elsewhere they are a table.

Altair's own default fetches its scripts from the network. JupyterLab brings Vega-Lite 5 along, so a chart is handed to
it as such; the charts use nothing that differs between Vega-Lite 5 and 6. A renderer that was chosen with
`altair.renderers.enable` stays in use. JupyterLab draws a chart once, in the theme of that moment. So a chart for it
has no background of its own and uses the colour of the text around it, and fits when the theme changes. A theme of
Altair's own, or a background that was set, is kept. Text from a cluster is data or a literal title, never an
expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

from dra_lab._workarounds import defer_iri_grammar
from dra_lab.errors import require
from dra_lab.words.document import clean

require("altair", "charts")
defer_iri_grammar()
import altair as alt  # noqa: E402

VEGALITE = "application/vnd.vegalite.v5+json"
"""The type that JupyterLab 4 draws by itself."""

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_TITLE_SIZE = 14
_INK = "currentColor"
"""The colour of the text around a chart; in a file of its own (Save as SVG), black."""

_FOLLOWS_THEME: Mapping[str, Any] = {
    "background": "transparent",
    "title": {"color": _INK, "subtitleColor": _INK},
    "axis": {"domainColor": _INK, "tickColor": _INK, "gridColor": _INK, "gridOpacity": 0.15},
    "style": {"guide-label": {"fill": _INK}, "guide-title": {"fill": _INK}},
    "view": {"stroke": "#808080"},
}

Row = Mapping[str, Any]
C = TypeVar("C", bound=alt.TopLevelMixin)


class _Offline:
    """What IPython shows of a chart: Vega-Lite for JupyterLab, a table for everything else."""

    _plain = ""

    def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> Any:
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*arguments, **options)  # type: ignore[misc]
        spec = _following({**self.to_dict(), "$schema": _SCHEMA})  # type: ignore[attr-defined]
        return {VEGALITE: spec, "text/plain": self._plain or str(type(self).__name__)}

    def __str__(self) -> str:
        return self._plain


@cache
def _offline(kind: type) -> type:
    """Return charts of a kind that JupyterLab draws without a network."""
    return type(f"Offline{kind.__name__}", (_Offline, kind), {})


def finish(chart: C, heading: str, subtitle: Sequence[str], plain: str) -> C:
    """Return the chart with its title, the text under it, and its table for places that draw nothing."""
    lines = [clean(line) for line in subtitle if line]
    titled = chart.properties(
        title=alt.TitleParams(clean(heading), subtitle=lines, anchor="start", fontSize=_TITLE_SIZE),
        description=". ".join([clean(heading), *lines]),
        usermeta={
            "embedOptions": {"renderer": "svg", "actions": {"source": False, "editor": False, "compiled": False}}
        },
    )
    # Altair takes every plain assignment for a part of the chart.
    object.__setattr__(titled, "__class__", _offline(type(titled)))  # type: ignore[arg-type]
    object.__setattr__(titled, "_plain", "\n".join([clean(heading), *lines, "", plain]).rstrip())
    return titled


def _following(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a chart's specification so that it follows JupyterLab's theme, unless it has its own colours."""
    if "background" in spec or alt.theme.active != "default":
        return spec
    config: dict[str, Any] = dict(spec.get("config", {}))
    if "background" in config:
        return spec
    for key, value in _FOLLOWS_THEME.items():
        config[key] = {**value, **config.get(key, {})} if isinstance(value, Mapping) else value
    return {**spec, "config": config}


def data_of(rows: Sequence[Row]) -> alt.Data:
    """Return rows as the data of a chart; they go into it as they are, so no limit on their number applies."""
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def tips(titles: Mapping[str, str]) -> list[alt.Tooltip]:
    """Return what is shown over a mark: fields with their titles, "" for the name of the field."""
    return [alt.Tooltip(field, title=title) if title else alt.Tooltip(field) for field, title in titles.items()]


def by_row() -> alt.EncodingSortField:
    """Return the order of the rows of data; a list of names would become an expression made of text from a cluster."""
    return alt.EncodingSortField("row", op="min")


def ink() -> alt.ExprRef:
    """Return the colour of text that stands on the ground of the chart: what that is, only the one who draws knows."""
    own = "luminance(background || '#ffffff') < 0.4 ? '#ffffff' : '#000000'"
    return alt.ExprRef(f"background == 'transparent' ? '{_INK}' : {own}")


def side_axis(**options: Any) -> alt.Axis:
    """Return an axis at the left whose title stands above the labels, where it cannot lie on long names."""
    return alt.Axis(titleAngle=0, titleAlign="right", titleBaseline="bottom", titleX=-8, titleY=-4, **options)


def empty(heading: str, words: str) -> alt.TopLevelMixin:
    """Return a chart that says in words why there is nothing to draw."""
    data = data_of([{"words": clean(words)}])
    chart = alt.Chart(data, width=480, height=40).mark_text(align="left", color=ink(), fontSize=13)
    styled: alt.Chart = chart.encode(text="words:N", x=alt.value(0)).configure_view(stroke=None)
    return finish(styled, heading, (), words)
