"""ClusterBar in a real JupyterLab: choosing, dropping and following clusters, messages, a tab of its own."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from lab_page import box_of
from lab_server import until
from planner_page import Planner

pytestmark = [pytest.mark.browser, pytest.mark.long]


HOSTILE = '<img src=x onerror="window.hacked=1">'
DROP = (Path(__file__).parent / "drop_text.js").read_text(encoding="utf-8")


def node(name: str, labels: dict[str, str] | None = None) -> dict:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}}}


def device_slice(node_name: str, device: str, model: str) -> dict:
    attributes = {"type": {"string": "gpu"}, "productName": {"string": model}}
    pool = {"name": node_name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.nvidia.com", "nodeName": node_name, "pool": pool}
    spec["devices"] = [{"name": device, "attributes": attributes}]
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec}


def test_a_sample_is_chosen_by_keyboard_and_the_drawing_stays(open_notebook):
    """The cluster's button opens the list, the arrows choose, Enter loads; what is drawn is planned on it."""
    planner = Planner(open_notebook)
    source = planner.bar.locator("[data-key=source]")
    source.focus()
    planner.page.keyboard.press("Enter")
    planner.page.keyboard.press("Home")
    assert planner.page.evaluate("() => document.activeElement.dataset.value") == "sample:dgx-h100"
    planner.page.keyboard.press("Enter")
    until(lambda: "8 nodes" in (planner.bar.locator(".dra-bar-summary").text_content() or ""), "the other cluster")
    assert planner.sentence("Fits on 7 of 8 nodes")
    assert planner.lab.eval("[r.name for r in lab.sketch.requests]") == ["gpu", "nic"]
    assert planner.bar.locator(".dra-example").count() == 0


def test_a_file_that_is_dropped_anywhere_on_the_planner_is_read(planner):
    objects = {"apiVersion": "v1", "kind": "List", "items": [node("n1"), device_slice("n1", "gpu-0", HOSTILE)]}
    planner.page.evaluate(DROP, [".dra-hardware", "cluster.json", json.dumps(objects)])
    until(lambda: planner.lab.eval("lab.cluster.name") == "cluster.json", "the dropped cluster")
    planner.sentence("Does not fit")
    planner.hardware.locator('[data-id="gpu.nvidia.com/n1/gpu-0"]').wait_for()
    planner.tab("Devices").click()
    assert planner.tabs.locator(".dra-panel:visible").get_by_text(HOSTILE).count() == 1
    assert planner.root.locator("img").count() == 0
    assert planner.page.evaluate("() => window.hacked") is None


def test_a_wrong_path_is_reported_where_it_was_typed(open_notebook):
    """The message stands in the choice, above another try; neither the answer nor the canvas is covered by it."""
    planner = Planner(open_notebook)
    before = box_of(planner.strip)
    planner.button("Load your cluster", planner.bar).click()
    planner.page.keyboard.type("./nowhere.json")
    planner.page.keyboard.press("Enter")
    problem = planner.bar.locator(".dra-sources .dra-problem")
    problem.wait_for()
    assert "nowhere.json" in (problem.text_content() or "")
    assert box_of(planner.strip) == before
    assert planner.bar.locator(".dra-lines .dra-problem").count() == 0
    planner.button("Hide this message", planner.bar).click()
    problem.wait_for(state="detached")
    assert planner.lab.eval("lab.bar.refused") == ""
    assert planner.page.evaluate("() => document.activeElement.placeholder").startswith("path")
    planner.page.keyboard.press("Control+A")
    planner.page.keyboard.type("sample:two-sockets")
    planner.page.keyboard.press("Enter")
    until(lambda: planner.lab.eval("lab.cluster.name") == "sample:two-sockets", "the other cluster")
    planner.bar.locator(".dra-sources").wait_for(state="hidden")


def test_a_running_cluster_that_does_not_answer_can_be_given_up(open_notebook, tmp_path):
    """Contexts of the kubeconfig are offered; while one is read the kernel answers, and Cancel ends it at once."""
    silent = socket.create_server(("127.0.0.1", 0))  # takes connections and never says anything
    server = {"name": "c", "cluster": {"server": f"https://127.0.0.1:{silent.getsockname()[1]}"}}
    context = {"name": "prod", "context": {"cluster": "c", "user": "alice"}}
    config = {"kind": "Config", "current-context": "prod", "clusters": [server], "contexts": [context]}
    (tmp_path / "config").write_text(json.dumps(config), encoding="utf-8")
    planner = Planner(open_notebook)
    planner.lab.run(f"import os\nos.environ['KUBECONFIG'] = {str(tmp_path / 'config')!r}")
    planner.bar.locator("[data-key=source]").click()
    row = planner.bar.locator('[data-value="context:prod"]')
    row.wait_for()
    assert "as alice" in (row.text_content() or "")
    row.click()
    message = planner.bar.locator(".dra-loading")
    message.get_by_role("button", name="Cancel").wait_for()
    planner.lab.picture("bar-loading")
    assert planner.lab.eval("1 + 1") == 2
    message.get_by_role("button", name="Cancel").click()
    message.locator(".dra-busy").wait_for(state="detached")
    assert planner.lab.eval("lab.cluster.name") == "sample:eks-p4d"
    silent.close()


@pytest.mark.parametrize("width", [1280, 1060, 1000, 940])
def test_nothing_in_the_bar_is_cut(open_notebook, width):
    """At the usual widths every control can be read; where it is narrow the meters fold; the rest is in the choice."""
    planner = Planner(open_notebook, width=width, height=800)
    bar = planner.bar.locator(".dra-bar")
    wide, inner = bar.evaluate("node => [node.clientWidth, node.scrollWidth]")
    assert inner <= wide
    planner.bar.locator(".dra-meters").click()
    planner.bar.locator(".dra-use", has_text="18 of 32 free").wait_for()
    planner.page.keyboard.press("Escape")
    words = planner.bar.locator(".dra-bar-summary").text_content() or ""
    planner.bar.locator("[data-key=source]").click()
    details = planner.bar.locator(".dra-details")
    assert words.split(" · read")[0] in (details.text_content() or "")


def test_the_planner_opens_in_a_tab_of_its_own(open_notebook):
    """The tab holds the whole screen without the code, as high as the window, and has patterns of its own."""
    planner = Planner(open_notebook)
    planner.button("Open in a tab", planner.bar).click()
    planner.page.locator(".lm-TabBar-tab", has_text="DRA Lab:").wait_for()
    tab = planner.page.locator(".jp-LinkedOutputView .dra-lab-grid")
    tab.wait_for()
    tab.locator("svg.dra-hw").first.wait_for()
    box = box_of(tab)
    assert box is not None
    assert box["height"] > 750
    script = """node => { const fill = getComputedStyle(node).fill;
        const id = fill.slice(fill.indexOf('#') + 1).replace(/["')]+$/, '');
        return Boolean(document.getElementById(id)?.closest('.jp-LinkedOutputView')); }"""
    pattern = tab.locator(".dra-hw-pattern").first
    until(lambda: pattern.evaluate(script), "the pattern is one of the tab")
