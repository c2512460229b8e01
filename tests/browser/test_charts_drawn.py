"""Charts in a real JupyterLab without a network: drawn by JupyterLab itself, in both themes, names as text."""

from __future__ import annotations

import pytest
from lab_page import wait_for_cells

HOSTILE = "<img src=x onerror=alert(1)>"
SET_UP = """
from dataclasses import replace

from dra_lab import KubernetesRelease, load_cluster, make_plan, read_sketch
# The values that charts show.
from dra_lab.model.fleet import FleetPlan, Replica, Room, RoomOnNodes, Workload
from dra_lab.model.plan import PlanStatus
# The charts that are drawn.
from dra_lab.pictures.charts import cost_chart, devices_chart, fits_chart, regret_chart, utilisation_chart

hostile = "<img src=x onerror=alert(1)>"
# Charts of one plan, of a small fleet, and of costs.
cluster = load_cluster("sample:eks-p4d")
sketch = read_sketch("sample:eks-p4d/gpu-nic-pairs")
plan = make_plan(cluster, sketch, release=KubernetesRelease("1.36"))
# A fleet of that one plan.
one = (Replica("pairs", 0, plan.node, plan.placements, plan.goals),)
fleet = FleetPlan(PlanStatus.FEASIBLE, (Workload("pairs", (sketch,)),), replicas=one, goals=plan.goals)
each = tuple(RoomOnNodes((name,), at, at + at % 2) for at, name in enumerate(cluster.node_names))
none = (RoomOnNodes(cluster.node_names, 0, 0),)
costs = [{"what": "scan", "nodes": size, "seconds": size / 1000} for size in (10, 100, 1000, 5000)]
"""
CELLS = [
    SET_UP,
    "utilisation_chart(replace(cluster, name=hostile), fleet)",
    "fits_chart([Room(hostile, 5, 7, each), Room('datum.x + 1', 0, 0, none)])",
    "regret_chart(plan)",
    "devices_chart(cluster, plan.node, plan)",
    "cost_chart(costs, 'nodes', 'Cost by number of nodes')",
    "fits_chart([])",
]


@pytest.mark.browser
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
