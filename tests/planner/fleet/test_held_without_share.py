"""Devices that claims could share, in a fleet: one that a claim holds as a whole, one of which too much is consumed."""

from __future__ import annotations

from checked_plans import checked_fleet
from random_devices import CORES, CPU, GPU, SHARES
from sharing_nodes import RELEASE, amounts, ask, node, part
from small_holders import a_claim, result
from small_nodes import a_slice

from dra_lab.model.device import Device, DeviceCapacity
from dra_lab.model.fleet import Workload
from dra_lab.model.sketch import ClaimSketch
from dra_lab.planner.fleet import how_many_more


def test_a_device_held_without_a_share_serves_no_other_pod():
    """Its shares have no end, yet none is left (docs/semantics.md 3.11.9): only the other GPU serves a pod, proven."""
    gpus = a_slice(GPU, part("held", shareable=True), part("free"))
    cluster = node(gpus, claims=(a_claim(result("held", GPU)),))
    plan = checked_fleet(cluster, [Workload("w", (ClaimSketch("w", (ask("r"),)),), 3)], release=RELEASE)
    assert (plan.placed, plan.proven) == ({"w": 1}, True)


def test_none_is_asked_of_an_amount_of_which_too_much_is_consumed():
    """A device of which 3 of 2 shares are consumed serves no pod, even one that asks for 0 of them."""
    capacity = {CORES: DeviceCapacity(value=16), SHARES: DeviceCapacity(value=2)}
    cpus = a_slice(CPU, Device(name="cpu", capacity=capacity, allow_multiple_allocations=True))
    uuid = "00000000-0000-0000-0000-000000000001"
    holder = a_claim(result("cpu", CPU, share_id=uuid, consumed_capacity={CORES: 4, SHARES: 3}))
    claim = ClaimSketch("w", (ask("r", CPU, capacity=amounts(cores=2, shares=0)),))
    headroom = how_many_more(node(cpus, claims=(holder,)), Workload("w", (claim,)), release=RELEASE)
    assert (headroom.count, headroom.bound) == (0, 0)
