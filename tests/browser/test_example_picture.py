"""Devices chosen on the picture become the claim that asks for such devices."""

from __future__ import annotations

import pytest
from lab_server import until

pytestmark = [pytest.mark.browser, pytest.mark.long]


def _choose(planner, *kinds):
    planner.button("By example", planner.hardware).click()
    ids = []
    for kind in kinds:
        name = planner.lab.eval(
            "next(str(d) for d, p in __import__('dra_lab.topology.locality', fromlist=['x'])"
            f".localities(lab.cluster, lab.hardware.node).items() if p.kind == {kind!r} and str(d) not in {ids!r})"
        )
        ids.append(name)
        planner.hardware.locator(f'[role=treeitem][data-id="{name}"]').click()
    return ids


def test_chosen_devices_become_the_drawing(planner):
    """Two clicks choose a GPU and a NIC; the claims are listed; the one taken is drawn, one step to undo."""
    before = planner.lab.eval("[r.name for r in lab.sketch.requests]")
    ids = _choose(planner, "gpu", "nic")
    panel = planner.hardware.get_by_label("Claim by example")
    until(lambda: panel.locator("li").count() > 1, "the claims are listed")
    picked = planner.hardware.locator(".dra-hw-picked[data-id]")
    assert {item.get_attribute("data-id") for item in picked.all()} == set(ids)
    planner.button("Use as the drawing", panel.locator("li").first).click()
    until(lambda: planner.lab.eval("[r.exactly.count for r in lab.sketch.requests]") == [1, 1], "the drawing")
    assert panel.is_hidden()
    planner.lab.eval("lab.session.undo()")
    until(lambda: planner.lab.eval("[r.name for r in lab.sketch.requests]") == before, "one step back")
