"""Single rules of sharing on nodes made for them, and the samples that teach them: counters, shares, policies."""

from __future__ import annotations

from dataclasses import replace as changed

from msgspec.structs import replace
from random_devices import CORES, NIC
from sharing_nodes import CPU, GPU, amounts, ask, counted, names, node, part, planned, ruled
from small_plans import held

from dra_lab import Cluster, KubernetesRelease, Link, load_cluster
from dra_lab.model.claims import ALL, DeviceRequest, ExactDeviceRequest
from dra_lab.model.device import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
)
from dra_lab.model.names import DeviceID
from dra_lab.model.plan import PlanStatus

# ---------------------------------------------------------------- the samples


def test_two_halves_of_one_gpu():
    """On sample:mig two 3g.20gb fit; with the half that is in use, they stand on the other GPU, at its two places."""
    plan = planned(load_cluster("sample:mig"), ask("half", "mig.nvidia.com", 2, "3g.20gb"))
    assert plan.status is PlanStatus.OPTIMAL
    assert names(plan) == ["gpu-1-mig-3g20gb-9-0", "gpu-1-mig-3g20gb-9-4"]


def test_three_halves_and_no_more():
    """On sample:mig a GPU of which 2g is in use still gives one 3g.20gb; a fourth half is one too many."""
    found = load_cluster("sample:mig")
    plan = planned(found, ask("half", "mig.nvidia.com", 3, "3g.20gb"))
    assert "gpu-0-mig-3g20gb-9-4" in names(plan)
    plan = planned(found, ask("half", "mig.nvidia.com", 4, "3g.20gb"))
    assert not plan.fits
    assert plan.shortfalls[0].available == 3


def test_whole_gpu_beside_a_part():
    """On sample:mig a 7g.40gb does not fit beside a 1g.5gb of the same GPU, nor on the GPU of which 2g is in use."""
    found = load_cluster("sample:mig")
    whole, small = ask("whole", "mig.nvidia.com", 1, "7g.40gb"), ask("small", "mig.nvidia.com", 1, "1g.5gb")
    plan = planned(found, whole, small)
    assert names(plan)[0] == "gpu-1-mig-7g40gb-0-0"
    assert names(plan)[1].startswith("gpu-0-")
    root = Link(name="one-gpu", requests=("whole", "small"), where="pcieRoot")
    plan = planned(found, whole, small, links=(root,))
    assert not plan.fits
    two = planned(found, ask("whole", "mig.nvidia.com", 2, "7g.40gb"))
    assert (two.fits, two.shortfalls[0].rule) == (False, "in-use")
    idle = changed(found, claims=())
    assert planned(idle, ask("whole", "mig.nvidia.com", 2, "7g.40gb")).fits
    refused = planned(idle, ask("whole", "mig.nvidia.com", 2, "7g.40gb"), small)
    assert (refused.fits, refused.shortfalls[0].rule) == (False, "counters")


def test_shares_add_up():
    """On sample:shared-gpu requests share a GPU as long as cores and memory last, each consuming what it asks for."""
    found = load_cluster("sample:shared-gpu")
    hami = "hami-core-gpu.project-hami.io"
    halves = [ask(f"r{n}", hami, capacity=amounts(cores=40, memory="8Gi")) for n in range(3)]
    plan = planned(found, *halves[:2])
    assert set(names(plan)) == {"hami-gpu-1"}
    assert [p.consumed for p in plan.placements] == [{"cores": "40", "memory": "8Gi"}] * 2
    assert not planned(found, *halves).fits  # 80 of 100 cores are used, 20 are left there and 20 on the other GPU
    rest = ask("rest", hami, capacity=amounts(cores=20, memory="2Gi"))
    assert sorted(names(planned(found, *halves[:2], rest, replace(rest, name="rest-2")))) == [
        "hami-gpu-0",
        "hami-gpu-1",
        "hami-gpu-1",
        "hami-gpu-1",
    ]


def test_shares_are_counted():
    """On sample:shared-gpu a GPU of four shares has two left beside two claims; amounts are rounded up to 1Mi."""
    found = load_cluster("sample:shared-gpu")
    small = [ask(f"r{n}", GPU, capacity=amounts(memory="1")) for n in range(7)]
    plan = planned(found, *small[:6], node="gpu-shares")
    assert [p.consumed["memory"] for p in plan.placements] == ["1Mi"] * 6
    assert sorted(names(plan)) == ["gpu-0"] * 2 + ["gpu-1"] * 4
    assert not planned(found, *small, node="gpu-shares").fits


# ---------------------------------------------------------------- counters


def test_device_with_shares_pays_counters_once():
    """Two requests that share a partition draw its counters once."""
    found = node(*counted(part("a", shareable=True, memory=5), part("b", memory=3), memory=8))
    plan = planned(found, ask("x"), ask("y"), ask("z"))
    assert sorted(names(plan)) in (["a", "a", "a"], ["a", "a", "b"])
    only = planned(found, ask("two", count=2), ask("more"))
    assert sorted(names(only)) == ["a", "a", "b"]


def test_device_whose_shares_are_held_has_paid():
    """A shareable partition of which a claim holds a share draws nothing more."""
    claim = held(DeviceID(GPU, "n1", "a"), share="00000000-0000-0000-0000-000000000001")
    found = node(*counted(part("a", shareable=True, memory=5), part("b", memory=5), memory=5), claims=(claim,))
    assert names(planned(found, ask("x"))) == ["a"]
    assert not planned(found, ask("x", count=2)).fits


def test_overdrawn_counter_bars_the_pool():
    """One counter below zero bars all devices of the pool that draw on counters, and no others.

    Rule: docs/semantics.md 3.10.4.
    """
    devices = (part("held", fast=2), part("a", slow=1), part("plain"))
    claim = held(DeviceID(GPU, "n1", "held"))
    found = node(*counted(*devices, fast=1, slow=4), claims=(claim,))
    assert names(planned(found, ask("x"))) == ["plain"]
    assert not planned(found, ask("x", count=2)).fits


def test_devices_that_are_gone_draw_nothing():
    """A held device that is no longer published has no counters (docs/semantics.md 3.10.2)."""
    claim = held(DeviceID(GPU, "n1", "gone"))
    assert planned(node(*counted(part("a", memory=5), memory=5), claims=(claim,)), ask("x")).fits


def test_pools_of_two_drivers_are_apart():
    """Two drivers with pools of one name have counters of their own (docs/semantics.md 3.10.8)."""
    slices = (*counted(part("a", memory=5), memory=5), *counted(part("b", memory=5), driver=NIC, memory=5))
    assert planned(node(*slices), ask("x"), ask("y", NIC)).fits


def test_large_counters_are_exact():
    """Counters are counted exactly, however large and uneven the amounts are."""
    third = 10**15 + 1
    found = node(*counted(*(part(n, memory=third) for n in "ab"), part("c", memory=third + 2), memory=3 * third + 1))
    assert not planned(found, ask("x", count=3)).fits
    found = node(*counted(*(part(n, memory=third) for n in "ab"), part("c", memory=third + 1), memory=3 * third + 1))
    assert planned(found, ask("x", count=3)).fits


def test_all_needs_counters_for_all():
    """All takes every matching device, so that their counters must last for all of them."""
    parts = (part("a", memory=3), part("b", memory=3))
    everything = DeviceRequest(name="x", exactly=ExactDeviceRequest(device_class_name=GPU, allocation_mode=ALL))
    assert planned(node(*counted(*parts, memory=6)), everything).fits
    assert not planned(node(*counted(*parts, memory=5)), everything).fits


def test_partitions_without_their_gate():
    """With DRAPartitionableDevices off nothing draws on counters, and pools with counters are not complete."""
    found = node(*counted(part("a", memory=3), memory=6))
    assert not planned(found, ask("x"), release=KubernetesRelease("1.35")).fits


# ---------------------------------------------------------------- request policies


def consumed(found: Cluster, asked: int | None) -> str:
    capacity = None if asked is None else amounts(cores=asked)
    plan = planned(found, ask("x", CPU, capacity=capacity))
    return plan.placements[0].consumed[CORES] if plan.fits else ""


def test_steps_round_up():
    """A request is rounded up to the least amount that its validRange allows; above the largest it is refused."""
    found = ruled(CapacityRequestPolicy(default=1, valid_range=CapacityRequestPolicyRange(min=1, step=2, max=5)))
    assert [consumed(found, n) for n in (None, 0, 3, 4, 6)] == ["1", "1", "3", "5", ""]


def test_valid_values_round_up():
    """A request is rounded up to the next valid value; above the last it is refused."""
    found = ruled(CapacityRequestPolicy(default=4, valid_values=(2, 4, 8)))
    assert [consumed(found, n) for n in (None, 1, 5, 9)] == ["4", "2", "8", ""]


def test_rounded_shares_add_up():
    """Consumed capacity is the sum of the rounded shares, not of the requested amounts."""
    found = ruled(CapacityRequestPolicy(default=4, valid_values=(4,)))
    three = [ask(n, CPU, capacity=amounts(cores=1)) for n in "abc"]
    assert planned(found, *three[:2]).fits
    assert not planned(found, *three).fits


def test_policy_of_a_dedicated_device_is_a_filter():
    """On a device that is not shared the policy only decides whether it can serve the request.

    Rule: docs/semantics.md 3.11.4.
    """
    found = ruled(CapacityRequestPolicy(default=4, valid_values=(4,)), shareable=False)
    assert planned(found, ask("x", CPU, capacity=amounts(cores=3))).fits
    assert not planned(found, ask("x", CPU, capacity=amounts(cores=5))).fits
