"""The goal `damage` on nodes that random cases do not draw; `test_one_pod_brute_force` tries every replica."""

from __future__ import annotations

import pytest
from msgspec import structs
from random_devices import CORES, CPU, GPU, NIC, NUMA, TAG, text
from sharing_nodes import ask, counted, names, node, part, planned
from small_nodes import a_slice, gpu

from dra_lab import How, KubernetesRelease, Link
from dra_lab.model.claims import ALL, DeviceRequest, DeviceSubRequest
from dra_lab.model.device import CapacityRequestPolicy, Device, DeviceAttribute, DeviceCapacity
from dra_lab.model.nodes import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta

RELEASE = KubernetesRelease("1.36")


def test_what_is_used_up_still_counts_as_all():
    """Up to 1.36 All means what has capacity left: that less is meant after a plan is no room that it makes."""
    some = DeviceCapacity(value=8, request_policy=CapacityRequestPolicy(default=1))
    cpus = [
        Device(name=name, capacity={CORES: capacity}, allow_multiple_allocations=True)
        for name, capacity in (("a", some), ("b", DeviceCapacity(value=16)))
    ]
    ways = (
        DeviceSubRequest(name="every", device_class_name=CPU, allocation_mode=ALL),
        DeviceSubRequest(name="gpu", device_class_name=GPU, count=1),
    )
    plan = planned(
        node(a_slice(CPU, *cpus), a_slice(GPU, gpu(0))), DeviceRequest(name="r", first_available=ways), ask("one", CPU)
    )
    assert {placement.device.device for placement in plan.placements} == {"a", "b"}
    assert plan.goal("damage").value == 1


def test_a_bound_far_above_what_fits_is_no_end_of_the_count():
    """Where devices alone would do for 16 pods and one fits, that one is found, and with it what it costs."""
    cpus = [
        Device(
            name=name,
            attributes={TAG: text(tag)},
            capacity={CORES: DeviceCapacity(value=8)},
            allow_multiple_allocations=True,
        )
        for name, tag in (("a", "x"), ("b", "x"))
    ]
    free = Device(name="free", attributes={TAG: text("y")}, allow_multiple_allocations=True)
    pair = [ask("one", CPU), ask("two", CPU)]
    tied = Link("tied", ("one", "two"), where=TAG, how=How.APART)
    plan = planned(node(a_slice(CPU, *cpus, free)), *pair, links=(tied,))
    assert plan.proven
    assert plan.goal("damage").value == 1


def test_what_no_pod_can_take_by_itself_is_no_room():
    """Devices with node selectors of several terms are given up at, and count for no replica."""
    terms = [NodeSelectorRequirement(key="zone", operator="In", values=(zone,)) for zone in "ab"]
    several = NodeSelector(tuple(NodeSelectorTerm(match_expressions=(term,)) for term in terms))
    far = a_slice(GPU, gpu(1), gpu(2), node="far")
    far = structs.replace(far, spec=structs.replace(far.spec, node_name=None, node_selector=several))
    nodes = (Node(metadata=ObjectMeta(name="n1", labels={"zone": "a"})),)
    parts = counted(part("p0", memory=3), part("p1", memory=3), memory=5)
    plan = planned(node(*parts, far, nodes=nodes), ask("r"))
    assert names(plan)[0] in ("p0", "p1")
    assert plan.goal("damage").value == 1


@pytest.mark.parametrize("alone", [(), (0, 1)])
def test_shares_that_take_nothing_cost_nothing(alone):
    """Devices shared without end leave room without end, whatever is taken beside them: the damage is 0, proven."""
    free = [Device(name=name, allow_multiple_allocations=True) for name in "ab"]
    plan = planned(node(a_slice(GPU, *free, *map(gpu, alone))), ask("r", count=2))
    assert plan.proven
    assert plan.goal("damage").value == 0


def test_a_large_partition_may_cost_more_than_one_replica():
    """Where more partitions fit than are modelled side by side, what a large one costs is no less than it takes."""
    near, far = {NUMA: DeviceAttribute(int_=0)}, {NUMA: DeviceAttribute(int_=1)}
    small = [structs.replace(part(f"small-{n}", memory=1), attributes=far) for n in range(40)]
    large = structs.replace(part("large", memory=30), attributes=near)
    nics = [Device(name=f"nic-{n}", attributes=near) for n in range(41)]
    plan = planned(node(*counted(large, *small, memory=40), a_slice(NIC, *nics)), ask("r"), ask("n", NIC))
    assert "large" in names(plan)  # it alone is on the NUMA node of the NICs; 10 of 40 replicas fit beside it
    damage = plan.goals[-1]
    assert damage.at_most
    assert damage.value >= 30
