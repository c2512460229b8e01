"""Files dropped on the planner: a claim opens on the canvas, a topology file is a node, an archive a cluster."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from pathlib import Path

import pytest
from lab_server import until
from topology_texts import TOPO

pytestmark = pytest.mark.browser

DROP = (Path(__file__).parent / "drop_bytes.js").read_text(encoding="utf-8")
CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: dropped}
spec:
  devices:
    requests:
    - {name: one, exactly: {deviceClassName: gpu.nvidia.com, count: 1}}
"""


def drop(planner, name: str, data: bytes) -> None:
    planner.page.evaluate(DROP, [name, base64.b64encode(data).decode()])


def test_a_dropped_claim_opens_on_the_canvas_and_is_spoken(planner):
    """The cluster stays, the drawing is the claim's, one undo reverts it, and a live region announces the change."""
    drop(planner, "claim.yaml", CLAIM.encode())
    until(lambda: planner.lab.eval("lab.sketch.name") == "dropped", "the drawing of the claim")
    assert planner.lab.eval("lab.cluster.name") == "sample:eks-p4d"
    spoken = planner.root.locator(".dra-canvas > [aria-live]")
    until(lambda: "request one" in (spoken.text_content() or ""), "the change is spoken")
    planner.lab.eval("lab.undo()")
    until(lambda: planner.lab.eval("lab.sketch.name") == "gpu-nic-pairs", "the drawing before")


def test_a_dropped_page_of_a_plan_opens_as_that_plan(planner):
    """Drawing and shipped cluster are those of the page."""
    planner.lab.run("lab.load('sample:dgx-h100'); lab.draw('dropped.html')")
    data = (planner.lab.server.root / "dropped.html").read_bytes()
    planner.lab.run("lab.load('sample:eks-p4d'); lab.session.clear()")
    drop(planner, "plan.html", data)
    until(lambda: planner.lab.eval("len(lab.sketch.requests)") == 2, "the drawing of the page")
    assert planner.lab.eval("lab.cluster.name") == "sample:dgx-h100"
    planner.root.locator(".dra-answer[data-state=fits]").first.wait_for()


def test_a_dropped_claim_that_is_wrong_is_reported_with_its_line_and_changes_nothing(planner):
    """File, line and field stand in the choice; drawing and cluster stay."""
    drop(planner, "claim.yaml", CLAIM.replace("exactly", "exactl").encode())
    problem = planner.bar.locator(".dra-sources .dra-problem")
    problem.wait_for()
    assert "claim.yaml:7" in (problem.text_content() or "")
    assert planner.lab.eval("lab.sketch.name") == "gpu-nic-pairs"
    planner.button("Hide this message", planner.bar).click()


@pytest.mark.long
def test_a_dropped_topology_file_is_a_node(planner):
    """The matrix of nvidia-smi becomes a node on which the drawing is planned; it is drawn on the picture."""
    drop(planner, "topo.txt", TOPO.encode())
    until(lambda: planner.lab.eval("lab.cluster.name") != "sample:eks-p4d", "the other cluster")
    until(lambda: planner.lab.eval("len(lab.cluster.node_names)") == 1, "one node")
    until(lambda: planner.hardware.locator("[role=treeitem][data-kind=gpu]").count() == 3, "three GPUs are drawn")


def test_a_dropped_archive_is_a_cluster(planner):
    """Files in a .tar.gz are read like those of a folder."""
    whole = io.BytesIO()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "in-the-archive"}}
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node]}).encode()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        entry = tarfile.TarInfo("cluster/nodes.json")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    drop(planner, "cluster.tar.gz", whole.getvalue())
    until(lambda: planner.lab.eval("list(lab.cluster.node_names)") == ["in-the-archive"], "the cluster")
