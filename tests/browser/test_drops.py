"""Files dropped on the planner: a claim opens on the canvas, a topology file is a node, an archive a cluster."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from lab_server import until

pytestmark = [pytest.mark.browser, pytest.mark.long]

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


def test_a_dropped_claim_that_is_wrong_is_reported_with_its_line_and_changes_nothing(planner):
    """File, line and field stand in the choice; drawing and cluster stay."""
    drop(planner, "claim.yaml", CLAIM.replace("exactly", "exactl").encode())
    problem = planner.bar.locator(".dra-sources .dra-problem")
    problem.wait_for()
    assert "claim.yaml:7" in (problem.text_content() or "")
    assert planner.lab.eval("lab.sketch.name") == "gpu-nic-pairs"
    planner.button("Hide this message", planner.bar).click()
