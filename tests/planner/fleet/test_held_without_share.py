"""A device that many claims could share, and that one holds as a whole, in a fleet."""

from __future__ import annotations

from checked_plans import checked_fleet
from random_devices import GPU
from sharing_nodes import RELEASE, ask, node, part
from small_holders import a_claim, result
from small_nodes import a_slice

from dra_lab.model.fleet import Workload
from dra_lab.model.sketch import ClaimSketch


def test_a_device_held_without_a_share_serves_no_other_pod():
    """Its shares have no end, yet none is left (docs/semantics.md 3.11.9): only the other GPU serves a pod, proven."""
    gpus = a_slice(GPU, part("held", shareable=True), part("free"))
    cluster = node(gpus, claims=(a_claim(result("held", GPU)),))
    plan = checked_fleet(cluster, [Workload("w", (ClaimSketch("w", (ask("r"),)),), 3)], release=RELEASE)
    assert (plan.placed, plan.proven) == ({"w": 1}, True)
