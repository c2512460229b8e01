"""The counts behind a misfit are those of each node, also of nodes that are equal for the claim."""

from __future__ import annotations

import pytest
from checked_plans import checked_plan
from random_devices import device_class
from small_holders import a_claim, result
from small_nodes import ROOT, a_slice, device, gpu, nic
from small_plans import GPU, NIC, request

from dra_lab import ClaimSketch, Cluster, KubernetesRelease, Link
from dra_lab.model.claims import (
    CapacityRequirements,
    DeviceRequest,
    ExactDeviceRequest,
)
from dra_lab.model.device import Device, DeviceCapacity
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.plan import Plan
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec

CLASS = device_class("x.example")


def planned(slices, *requests, links=()) -> Plan:
    cluster = Cluster(slices=tuple(slices), classes=(*map(device_class, (GPU, NIC)), CLASS))
    return checked_plan(cluster, ClaimSketch("c", requests, links), release=KubernetesRelease("1.36"))


def test_more_than_a_claim_can_take_is_counted():
    """Nodes with 4 and 8 GPUs are identical for a claim with an impossible NIC; the 12 GPUs are still free."""
    slices = [a_slice(GPU, *map(gpu, range(count)), node=node) for node, count in (("a", 4), ("b", 8))]
    plan = planned(slices, request("gpu", GPU, 2), request("nic", NIC, 1))
    assert len(plan.node_classes) == 1
    scarcity = {found.request: found for found in plan.reasons.scarcity}
    assert (scarcity["gpu"].free, scarcity["gpu"].most, scarcity["gpu"].node) == (12, 8, "b")
    rows = [(row.node, row.nodes, row.steps[-1].count) for row in plan.reasons.funnels if row.request == "gpu"]
    assert rows == [("a", 1, 4), ("b", 1, 8)]


def test_the_node_that_lacks_less_is_the_nearest():
    """Without a NIC that has a root, nodes are equal for a claim; the one that has NICs at all is nearer."""
    link = Link("pair", ("gpu", "nic"), where=ROOT)
    slices = [a_slice(GPU, gpu(0, "r"), node=node) for node in "ab"]
    plan = planned(
        [*slices, a_slice(NIC, nic("x"), nic("y"), node="b")],
        request("gpu", GPU),
        request("nic", NIC, 2),
        links=(link,),
    )
    assert len(plan.node_classes) == 1
    assert plan.reasons.nearest == "b"
    assert "no node has more" not in " ".join(found.message for found in plan.shortfalls if found.rule == "class")


def test_a_refusal_is_reported_of_the_selector_that_refuses():
    """Nodes whose devices are refused by different selectors of one request have figures of their own."""
    expressions = ('device.attributes["x.example"].a == 1', 'device.attributes["x.example"].b == 1')
    slices = [
        a_slice("x.example", device("d", {"a": first, "b": second}), node=node)
        for node, first, second in (("a", 0, 1), ("b", 1, 0))
    ]
    plan = planned(slices, request("d", "x.example", 1, *expressions))
    counts = {row.node: [step.count for step in row.steps if step.test == "selector"] for row in plan.reasons.funnels}
    assert counts == {"a": [0, 0], "b": [1, 0]}


def test_a_device_that_several_nodes_see_counts_once():
    """A pool of which each node sees a device of its own, and one that all see: three are free on two nodes."""
    devices = [
        device("a", {"type": "gpu"}, node_name="a"),
        device("b", {"type": "gpu"}, node_name="b"),
        device("c", {"type": "gpu"}, all_nodes=True),
    ]
    spec = ResourceSliceSpec(
        driver=GPU,
        pool=ResourcePool(name="fabric", generation=1, resource_slice_count=1),
        per_device_node_selection=True,
        devices=tuple(devices),
    )
    slices = [a_slice(NIC, nic("x"), node=node) for node in "ab"]
    plan = planned([*slices, ResourceSlice(metadata=ObjectMeta(name="fabric"), spec=spec)], request("gpu", GPU, 3))
    (scarcity,) = plan.reasons.scarcity
    assert (scarcity.kind, scarcity.free, scarcity.most) == ("fragmentation", 3, 2)


def left(found: Device, *, amount: int, taken: int) -> dict[str, int]:
    """The counts of a request for some of a device's cores, of which a claim holds a share."""
    held = a_claim(result("d", "x.example", share_id="1", consumed_capacity={"cores": str(taken)}))
    cluster = Cluster(slices=(a_slice("x.example", found),), classes=(CLASS,), claims=(held,))
    exactly = ExactDeviceRequest(
        device_class_name="x.example", count=2, capacity=CapacityRequirements(requests={"cores": amount})
    )
    sketch = ClaimSketch("c", (DeviceRequest(name="d", exactly=exactly),))
    plan = checked_plan(cluster, sketch, release=KubernetesRelease("1.36"))
    (row,) = plan.reasons.funnels
    return {step.test: step.count for step in row.steps if step.test in ("in-use", "capacity")}


@pytest.mark.parametrize(
    ("amount", "counts"),
    [(2, {"in-use": 1, "capacity": 1}), (4, {"in-use": 0, "capacity": 0}), (9, {"in-use": 1, "capacity": 0})],
)
@pytest.mark.parametrize("shareable", [True, None])
def test_capacity_that_others_hold_is_in_use_and_what_never_was_there_is_missing(amount, counts, shareable):
    """If another claim uses 5 of 8 cores, 3 are left, whether or not the device is still shared.

    Rule: docs/semantics.md 3.11.9.
    """
    capacity = {"cores": DeviceCapacity(value=8)}
    found = Device(name="d", capacity=capacity, allow_multiple_allocations=shareable)
    assert left(found, amount=amount, taken=5) == counts
