"""Charts for capacity: what is used, planned, free and stranded, what fits where, and what first fit costs.

Altair is imported when a chart is made, and nowhere else. JupyterLab draws the charts without a network; where nothing
can draw them, they are tables of plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dra_lab.errors import InputError, a_kind
from dra_lab.model.cluster import Cluster
from dra_lab.model.headroom import Headroom, Stranded
from dra_lab.model.plan import Plan
from dra_lab.pictures.charts.node_charts import fits_chart, utilisation_chart
from dra_lab.pictures.charts.plan_charts import regret_chart, scenarios_chart
from dra_lab.planner.scenarios import ScenarioAnswer

if TYPE_CHECKING:
    import altair as alt


def chart(
    answer: Any, kind: str = "", *, plan: Plan | None = None, stranded: Stranded | None = None
) -> alt.TopLevelMixin:
    """Return a chart of an answer. The first kind of an answer is its default.

    - `Cluster`: use: what is in use, planned, free and stranded on every node.
    - a plan: regret: every goal beside what kube-scheduler's first fit reaches, and the bandwidth that is left.
    - `how_many_more`, one or several: fits: how many more pods of each workload every node holds.
    - `plan_scenarios`: scenarios: the pods that are placed in each.

    Args:
        answer: A cluster, or what a question returned.
        kind: The kind of chart; default "": the first one of this answer.
        plan: For `use`: the plan whose devices are shown as planned; default: none.
        stranded: For `use`: the answer of `stranded`; default None: free devices are not divided.

    Returns:
        An Altair chart with at most 40 rows; larger clusters have similar nodes in one row. Printed, it is the table of
        all its rows.

    Raises:
        InputError: The answer has no such chart.
        MissingPackage: Altair is not installed; the extra `charts` brings it.

    Example:
        >>> from dra_lab import chart, load_cluster
        >>> lines = str(chart(load_cluster("sample:two-sockets"))).splitlines()
        >>> lines[2]
        'node   nodes  kind  in use  planned  free  stranded  not available'
        >>> lines[-3]
        'lab-2      1  GPUs       1        0     3         0              0'
    """
    if isinstance(answer, Cluster):
        charts: Mapping[str, Callable[[], alt.TopLevelMixin]] = {
            "use": lambda: utilisation_chart(answer, plan, stranded)
        }
    elif isinstance(answer, Plan):
        charts = {"regret": lambda: regret_chart(answer)}
    else:
        charts = _of_several(answer)
    found = charts.get(kind or next(iter(charts)))
    if found is None:
        raise InputError(f"kind {kind!r} is not known here; use {', '.join(charts)}")
    return found()


def _of_several(answer: Any) -> Mapping[str, Callable[[], alt.TopLevelMixin]]:
    several = tuple(answer) if isinstance(answer, Iterable) else (answer,)
    if several and all(isinstance(one, ScenarioAnswer) for one in several):
        return {"scenarios": lambda: scenarios_chart(several)}
    if several and all(isinstance(one, Headroom) for one in several):
        return {"fits": lambda: fits_chart(several)}
    raise InputError(f"answer is a cluster, or what a question returned, not {a_kind(answer)}")
