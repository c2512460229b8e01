"""Charts and the graph in cells, which follow the theme, and the states of devices without hues."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import pytest
from code_of import code_of
from lab_page import wait_for_cells
from lab_server import until
from playwright.sync_api import Error
from signs import signs_function
from small_nodes import a_slice, cluster, device, gpu
from small_plans import GPU, SKETCH, a_plan, busy_cluster

from dra_lab import DeviceID, load_cluster
from dra_lab.model.placement import Placement
from dra_lab.pictures.hardware import hardware_svg

pytestmark = [pytest.mark.browser, pytest.mark.long]


HOSTILE = "<img src=x onerror=alert(1)>"


def set_up():
    """One plan, and a fleet of that plan."""
    from dataclasses import replace

    from dra_lab import KubernetesRelease, Plan, Workload, load_cluster, make_plan, read_sketch
    from dra_lab.model.headroom import Bounded, Fit, Headroom
    from dra_lab.model.placement import PlacedPod
    from dra_lab.model.plan import PlanStatus
    from dra_lab.model.workload import Question
    from dra_lab.pictures import charts

    hostile = "<img src=x onerror=alert(1)>"
    cluster = load_cluster("sample:eks-p4d")
    renamed = replace(cluster, name=hostile)
    sketch = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    plan = make_plan(cluster, sketch, release=KubernetesRelease("1.36"))
    replicas = (PlacedPod("pairs", 0, plan.node, plan.placements, plan.goals),)
    fleet = Plan(PlanStatus.FEASIBLE, Question((Workload("pairs", (sketch,)),)), pods=replicas, goals=plan.goals)
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


GRAPH = """
from IPython.display import HTML
from dra_lab import load_cluster
from dra_lab.pictures.picture import graph_frame
cluster = load_cluster("sample:eks-p4d")
HTML(graph_frame(cluster, cluster.node_names[0]))
"""
LOOK = "() => [getComputedStyle(document.body).backgroundColor, window.network?.body.nodeIndices.length > 10]"
GROUNDS = {"dark": "rgb(22, 25, 29)", "light": "rgb(255, 255, 255)"}


def test_the_graph_in_a_cell_follows_the_theme_also_after_it_was_changed(open_notebook):
    """A white page in a dark notebook blinds; the frame is shut off and cannot see the theme by itself."""
    lab = open_notebook([GRAPH], run=False)
    lab.theme("dark")
    lab.run_all()
    wait_for_cells(lab)
    for theme in ("dark", "light", "dark"):
        lab.theme(theme)
        until(lambda: looks(lab) == [GROUNDS[theme], True], f"the graph is {theme} and drawn")  # noqa: B023
        lab.picture(f"graph-{theme}")


def looks(lab):
    """Return the ground of the graph's page, and whether something is drawn on it."""
    try:
        frame = lab.page.locator('iframe[title^="Graph of"]').element_handle().content_frame()
        return frame and frame.evaluate(LOOK)
    except Error as error:  # another frame is just taking its place
        return str(error)


# The state of each device, and what tells it apart without a hue: lines, patterns, marks, letters, four steps of grey.
_DEVICES = signs_function("device_signs.js")
STATES = {"allocated", "blocked", "does not match", "free", "in use", "skipped", "tainted", "unhealthy", "use unknown"}


def pictures() -> list[str]:
    """Draw nodes on which every state occurs."""
    busy, mig = busy_cluster(), load_cluster("sample:mig")
    chosen = (Placement("gpu", DeviceID(GPU, "n1", "gpu-0")),)
    ill = cluster(a_slice(GPU, device("gpu-9", {"type": "gpu", "healthy": False})))
    unknown = cluster(a_slice(GPU, gpu(0)), claims_known=False)
    return [
        hardware_svg(busy, "n1", plan=a_plan(devices=chosen), sketch=SKETCH),
        hardware_svg(ill, "n1"),
        hardware_svg(unknown, "n1"),
        hardware_svg(mig, mig.node_names[0]),
    ]


@pytest.mark.parametrize("sight", ["forced colours", "grey"])
def test_states_of_devices_differ_without_hues(chromium, sight):
    page = chromium.new_page(forced_colors="active" if sight == "forced colours" else "none")
    page.set_content("".join(pictures()))
    signs = defaultdict(set)
    for state, sign in page.evaluate(_DEVICES):
        signs[state].add(sign)
    page.close()
    same = [(one, other) for one, other in combinations(sorted(signs), 2) if signs[one] & signs[other]]
    assert (same, STATES - set(signs)) == ([], set())
