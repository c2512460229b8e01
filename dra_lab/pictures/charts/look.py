"""The look of all charts, and how a notebook shows them: JupyterLab draws them offline, elsewhere they are a table.

Altair's own default fetches its scripts from the network. JupyterLab brings Vega-Lite 5 along, so a chart is handed to
it as such; the charts use nothing that differs between Vega-Lite 5 and 6. Whoever chose another renderer with
`altair.renderers.enable` gets that one. Colours of text and ground are left to JupyterLab's theme. Text from a cluster
is data or a literal title, never an expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import altair as alt

from dra_lab.pictures.captions import clean

VEGALITE = "application/vnd.vegalite.v5+json"
"""The type that JupyterLab 4 draws by itself."""

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_TITLE_SIZE = 14

Row = Mapping[str, Any]
C = TypeVar("C", bound=alt.TopLevelMixin)


class _Offline:
    """What IPython shows of a chart: Vega-Lite for JupyterLab, a table for everything else."""

    _plain = ""

    def _repr_mimebundle_(self, *arguments: Any, **options: Any) -> Any:
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*arguments, **options)  # type: ignore[misc]
        spec = {**self.to_dict(), "$schema": _SCHEMA}  # type: ignore[attr-defined]
        return {VEGALITE: spec, "text/plain": self._plain or str(type(self).__name__)}

    def __str__(self) -> str:
        return self._plain


class OfflineChart(_Offline, alt.Chart):
    """An `altair.Chart` that JupyterLab draws without a network."""


class OfflineLayers(_Offline, alt.LayerChart):
    """An `altair.LayerChart` that JupyterLab draws without a network."""


class OfflineFacets(_Offline, alt.FacetChart):
    """An `altair.FacetChart` that JupyterLab draws without a network."""


class OfflineColumn(_Offline, alt.VConcatChart):
    """An `altair.VConcatChart` that JupyterLab draws without a network."""


_OFFLINE: Mapping[type, type] = {
    alt.Chart: OfflineChart,
    alt.LayerChart: OfflineLayers,
    alt.FacetChart: OfflineFacets,
    alt.VConcatChart: OfflineColumn,
}


def finish(chart: C, heading: str, told: Sequence[str], plain: str) -> C:
    """Return the chart with its title, what is told under it, and its table for places that draw nothing."""
    lines = [clean(line) for line in told if line]
    titled = chart.properties(
        title=alt.TitleParams(clean(heading), subtitle=lines, anchor="start", fontSize=_TITLE_SIZE),
        description=". ".join([clean(heading), *lines]),
        usermeta={
            "embedOptions": {"renderer": "svg", "actions": {"source": False, "editor": False, "compiled": False}}
        },
    )
    # Altair takes every plain assignment for a part of the chart.
    object.__setattr__(titled, "__class__", _OFFLINE[type(titled)])
    object.__setattr__(titled, "_plain", "\n".join([clean(heading), *lines, "", plain]).rstrip())
    return titled


def data_of(rows: Sequence[Row]) -> alt.Data:
    """Return rows as the data of a chart; they go into it as they are, so no limit on their number applies."""
    return alt.Data(values=rows)  # type: ignore[no-untyped-call]


def by_row() -> alt.EncodingSortField:
    """Return the order of the rows of data; a list of names would become an expression made of text from a cluster."""
    return alt.EncodingSortField("row", op="min")


def ink() -> alt.ExprRef:
    """Return the colour of text that stands on the ground of the chart: what that is, only the one who draws knows."""
    return alt.ExprRef("luminance(background || '#ffffff') < 0.4 ? '#ffffff' : '#000000'")


def side_axis(**options: Any) -> alt.Axis:
    """Return an axis at the left whose title stands above the labels, where it cannot lie on long names."""
    return alt.Axis(titleAngle=0, titleAlign="right", titleBaseline="bottom", titleX=-8, titleY=-4, **options)


def empty(heading: str, words: str) -> alt.TopLevelMixin:
    """Return a chart that says in words why there is nothing to draw."""
    data = data_of([{"words": clean(words)}])
    chart = alt.Chart(data, width=480, height=40).mark_text(align="left", color=ink(), fontSize=13)
    told: alt.Chart = chart.encode(text="words:N", x=alt.value(0)).configure_view(stroke=None)
    return finish(told, heading, (), words)
