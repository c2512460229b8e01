"""The states of devices on a picture with the colours of the system, and in grey."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import pytest
from signs import signs_function
from small_nodes import a_slice, cluster, device, gpu
from small_plans import GPU, SKETCH, a_plan, busy_cluster

from dra_lab import DeviceID, load_cluster
from dra_lab.model.placement import Placement
from dra_lab.pictures.hardware import hardware_svg

pytestmark = [pytest.mark.browser, pytest.mark.long]

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
    """No two states have the same lines, pattern, mark, letter and step of grey."""
    page = chromium.new_page(forced_colors="active" if sight == "forced colours" else "none")
    page.set_content("".join(pictures()))
    signs = defaultdict(set)
    for state, sign in page.evaluate(_DEVICES):
        signs[state].add(sign)
    page.close()
    same = [(one, other) for one, other in combinations(sorted(signs), 2) if signs[one] & signs[other]]
    assert (same, STATES - set(signs)) == ([], set())
