"""A followed cluster on the screen: a change reaches picture and answer, a lost connection is shown and restored."""

from __future__ import annotations

import pytest
from api_server.kubeconfig import write_kubeconfig
from api_server.server import ApiServer
from api_server.small_cluster import claim, recorded_store
from lab_server import until
from planner_page import Planner

pytestmark = [pytest.mark.browser, pytest.mark.long]

GPU = "DeviceRequest(name='gpu', exactly=ExactDeviceRequest(device_class_name='gpu.nvidia.com'))"
CODE = f"""import os
os.environ["KUBECONFIG"] = {{config!r}}
from dra_lab import ClaimSketch, Lab
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
lab = Lab("context:test", file=None, sketch=ClaimSketch(name="one", requests=({GPU},)))
lab"""
OURS = "('dra-lab-follow', 'dra-lab-watch')"
THREADS = f"[t.name for t in __import__('threading').enumerate() if t.name.startswith({OURS})]"


@pytest.fixture
def cluster():
    """The recorded cluster, served over HTTPS."""
    with ApiServer(recorded_store()) as made:
        yield made


@pytest.fixture
def planner(open_notebook, cluster, tmp_path):
    """The planner on the running cluster, with one GPU drawn and answered."""
    return Planner(open_notebook, CODE.format(config=str(write_kubeconfig(tmp_path, cluster))))


def _switch(planner):
    return planner.bar.locator(".dra-follow")


def _follow(planner):
    _switch(planner).focus()
    planner.page.keyboard.press("Space")
    planner.bar.locator(".dra-follow[data-state=live]").wait_for()


def test_a_lost_connection_is_reported_and_healed_and_following_ends_without_a_thread(planner, cluster):
    """The switch says live, lost with the reason, live again, and off; the focus stays on it all the way."""
    _follow(planner)
    cluster.hang_up()
    planner.bar.locator(".dra-follow[data-state=lost]").wait_for()
    assert "127.0.0.1" in (_switch(planner).get_attribute("title") or "")
    text = planner.bar.get_by_label("What is open").text_content() or ""
    assert "lost: " in text.partition("Followed")[2]
    planner.sentence("Fits on")
    cluster.listen()
    planner.bar.locator(".dra-follow[data-state=live]").wait_for()
    assert "Followed" not in (planner.bar.get_by_label("What is open").text_content() or "")
    assert planner.page.evaluate("() => document.activeElement.classList.contains('dra-follow')")
    planner.page.keyboard.press("Space")
    until(lambda: _switch(planner).get_attribute("aria-checked") == "false", "the switch is off")
    until(lambda: planner.lab.eval(THREADS) == [], "no thread is left")
    cluster.store.put(claim("late", "gpu-0"))
    assert "late" not in planner.lab.eval("[c.metadata.name for c in lab.cluster.claims]")
