"""Charts in a real JupyterLab without a network: drawn by JupyterLab itself, in both themes, names as text."""

from __future__ import annotations

import pytest
from code_of import code_of
from lab_page import wait_for_cells

HOSTILE = "<img src=x onerror=alert(1)>"


def set_up():
    """One plan, and a fleet of that plan."""
    from dataclasses import replace

    from dra_lab import KubernetesRelease, Plan, Workload, load_cluster, make_plan, read_sketch
    from dra_lab.model.headroom import Bounded, Fit, Headroom
    from dra_lab.model.placement import PlacedPod
    from dra_lab.model.plan import PlanStatus
    from dra_lab.pictures import charts

    hostile = "<img src=x onerror=alert(1)>"
    cluster = load_cluster("sample:eks-p4d")
    renamed = replace(cluster, name=hostile)
    sketch = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    plan = make_plan(cluster, sketch, release=KubernetesRelease("1.36"))
    replicas = (PlacedPod("pairs", 0, plan.node, plan.placements, plan.goals),)
    fleet = Plan(PlanStatus.FEASIBLE, (Workload("pairs", (sketch,)),), pods=replicas, goals=plan.goals)
    each = tuple(Fit("w", "node", (name,), Bounded(at, at + at % 2)) for at, name in enumerate(cluster.node_names))
    none = (Fit("w", "node", cluster.node_names, Bounded(0, 0)),)
    counts = [Headroom(hostile, Bounded(5, 7), each), Headroom("datum.x + 1", Bounded(0, 0), none)]
    return charts, renamed, fleet, counts


CELLS = [
    code_of(set_up),
    "charts.chart(renamed, plan=fleet)",
    "charts.chart(counts)",
    "charts.chart(plan)",
]


@pytest.mark.browser
@pytest.mark.long
def test_charts_are_drawn_without_a_network_and_follow_the_theme(open_notebook):
    """JupyterLab draws every chart as SVG by itself; all texts are readable then, and after the theme changed."""
    lab = open_notebook(CELLS, run=False, width=1280, height=2600)
    lab.theme("dark")
    lab.run_all()
    wait_for_cells(lab, len(CELLS))
    charts = lab.page.locator(".vega-embed svg.marks")
    lab.page.wait_for_function(
        "count => document.querySelectorAll('.vega-embed svg.marks').length === count",
        arg=len(CELLS) - 1,
    )
    assert lab.page.locator(".jp-OutputArea-output img").count() == 0
    assert HOSTILE in (charts.first.text_content() or "")
    for theme in ("dark", "light"):
        lab.theme(theme)
        lab.picture(f"charts-{theme}")
        assert not lab.low_contrast(".vega-embed svg.marks")
