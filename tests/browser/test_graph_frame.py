"""The PCIe/NUMA graph as the output of a cell, in a real JupyterLab."""

from __future__ import annotations

import pytest
from lab_page import wait_for_cells
from lab_server import until
from playwright.sync_api import Error

CELL = """
from IPython.display import HTML
from dra_lab import load_cluster
from dra_lab.pictures.picture import graph_frame
cluster = load_cluster("sample:eks-p4d")
HTML(graph_frame(cluster, cluster.node_names[0]))
"""
LOOK = "() => [getComputedStyle(document.body).backgroundColor, window.network?.body.nodeIndices.length > 10]"
GROUNDS = {"dark": "rgb(22, 25, 29)", "light": "rgb(255, 255, 255)"}


@pytest.mark.browser
@pytest.mark.long
def test_the_graph_in_a_cell_follows_the_theme_also_after_it_was_changed(open_notebook):
    """A white page in a dark notebook blinds; the frame is shut off and cannot see the theme by itself."""
    lab = open_notebook([CELL], run=False)
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
