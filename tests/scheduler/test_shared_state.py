"""Capacity, counters and results: the rules that need more than a device's own attributes."""

from __future__ import annotations

import pytest
from small_claims import CLASSES, a_claim, holding, request, taken
from small_nodes import a_slice, cluster, device

from dra_lab.errors import UnsupportedFeature
from dra_lab.model.claims import DeviceClaimConfiguration, DeviceDerivedAttribute, OpaqueDeviceConfiguration
from dra_lab.model.device import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    Counter,
    DeviceCapacity,
    DeviceCounterConsumption,
    DeviceTaint,
)
from dra_lab.model.nodes import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    ObjectMeta,
)
from dra_lab.model.plan import FirstFitStatus
from dra_lab.model.quantity import NANO
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.slices import CounterSet, ResourcePool, ResourceSlice, ResourceSliceSpec
from dra_lab.scheduler.capacity import capacity_use
from dra_lab.scheduler.first_fit import first_fit

NOW = KubernetesRelease("1.36.2")
NEXT = KubernetesRelease("1.37.0")
GPUS = "gpu.nvidia.com"
RANGE = CapacityRequestPolicy(default="1", valid_range=CapacityRequestPolicyRange(min="1", step="2", max="5"))


def run(slices, *claims, release=NOW, held=(), nodes=(), **options):
    """Run first fit on node n1."""
    some = cluster(*slices, classes=CLASSES, claims=tuple(held), nodes=tuple(nodes))
    return first_fit(some, "n1", claims, release, **options)


def shareable(name: str = "gpu-0", value: str = "10", policy: CapacityRequestPolicy | None = None, **fields):
    """Make a shareable device with one capacity."""
    capacity = {"memory": DeviceCapacity(value=value, request_policy=policy)}
    return device(name, allow_multiple_allocations=True, capacity=capacity, **fields)


def test_the_first_user_without_a_request_takes_all_of_a_capacity_without_policy():
    """The second claim gets nothing (docs/semantics.md 3.11.7)."""
    verdict = run([a_slice(GPUS, shareable())], a_claim(request("r"), name="a"), a_claim(request("r"), name="b"))
    assert verdict.status is FirstFitStatus.NONE


def test_two_claims_share_a_device_and_each_result_tells_its_part():
    """Each share has its own shareID and what it consumes."""
    claims = [a_claim(request("r", capacity={"memory": amount}), name=amount) for amount in ("4", "6")]
    allocations = run([a_slice(GPUS, shareable())], *claims).allocations
    assert allocations is not None
    shares = [allocation.devices.results[0] for allocation in allocations]
    assert [share.consumed_capacity for share in shares] == [{"memory": "4"}, {"memory": "6"}]
    assert len({share.share_id for share in shares}) == 2


def test_what_other_shares_consume_is_subtracted():
    """Six of ten are taken, so five more do not fit and four do."""
    held = [holding(f"{GPUS}/n1/gpu-0", share_id="s", consumed_capacity={"memory": "6"})]
    slices = [a_slice(GPUS, shareable())]
    assert run(slices, a_claim(request("r", capacity={"memory": "5"})), held=held).allocations is None
    assert run(slices, a_claim(request("r", capacity={"memory": "4"})), held=held).allocations is not None


@pytest.mark.parametrize(("asked", "use"), [("3", 3), ("4", 5), ("6", None), ("500m", 1)])
def test_a_range_rounds_up_and_refuses(asked, use):
    """Minimum 1, step 2, maximum 5: 3 stays, 4 becomes 5, 6 is refused, less becomes the minimum.

    Rule: docs/semantics.md 3.11.2.
    """
    found = capacity_use(shareable(policy=RANGE), {"memory": asked})
    assert (found and found["memory"] / NANO) == use


def test_valid_values_round_up_to_the_next_one():
    """The smallest valid value that is enough; none is a refusal."""
    policy = CapacityRequestPolicy(default="1", valid_values=("1", "4", "8"))
    assert capacity_use(shareable(policy=policy), {"memory": "3"}) == {"memory": 4 * NANO}
    assert capacity_use(shareable(policy=policy), {"memory": "9"}) is None


def test_a_capacity_key_is_compared_literally():
    """`driver/memory` does not find a bare `memory`; the device is skipped and nothing fails.

    Rule: docs/semantics.md 3.11.3.
    """
    verdict = run([a_slice(GPUS, shareable())], a_claim(request("r", capacity={f"{GPUS}/memory": "1"})))
    assert verdict.status is FirstFitStatus.NONE


def test_a_capacity_request_filters_dedicated_devices():
    """A device with less than is asked for is passed over (docs/semantics.md 3.11.4)."""
    small, large = (
        device(name, capacity={"memory": DeviceCapacity(value=value)}) for name, value in (("a", "40Gi"), ("b", "80Gi"))
    )
    claim = a_claim(request("r", capacity={"memory": "64Gi"}))
    assert taken(run([a_slice(GPUS, small, large)], claim)) == [("r", "b")]


def test_an_exclusive_holder_keeps_a_device_that_became_shareable():
    """A result without shareID is exclusive (docs/semantics.md 3.11.9)."""
    verdict = run([a_slice(GPUS, shareable())], a_claim(request("r")), held=[holding(f"{GPUS}/n1/gpu-0")])
    assert verdict.status is FirstFitStatus.NONE


def test_all_drops_devices_without_enough_left_up_to_1_36():
    """1.36 takes the others; 1.37 says that not all can be had (docs/semantics.md 3.6.5)."""
    slices = [a_slice(GPUS, shareable("full"), shareable("free"))]
    held = [holding(f"{GPUS}/n1/full", share_id="s", consumed_capacity={"memory": "8"})]
    claim = a_claim(request("r", everything=True, capacity={"memory": "4"}))
    assert taken(run(slices, claim, held=held)) == [("r", "free")]
    assert run(slices, claim, held=held, release=NEXT).status is FirstFitStatus.NONE


def counted(name: str, amount: str, **fields):
    """Make a device that consumes a counter."""
    use = DeviceCounterConsumption(counter_set="card", counters={"slices": Counter(value=amount)})
    return device(name, consumes_counters=(use,), **fields)


def card(*devices, have: str = "7"):
    """Make a pool with one counter: a slice of devices and a slice of counters."""
    pool = ResourcePool(name="n1", generation=1, resource_slice_count=2)
    counters = (CounterSet(name="card", counters={"slices": Counter(value=have)}),)
    parts = {"a": {"devices": devices}, "b": {"shared_counters": counters}}
    return [
        ResourceSlice(
            metadata=ObjectMeta(name=name), spec=ResourceSliceSpec(driver=GPUS, pool=pool, node_name="n1", **part)
        )
        for name, part in parts.items()
    ]


def test_partitions_do_not_exceed_their_counters():
    """Among partitions of 4, 4 and 3 in 7, the first and the third fit."""
    slices = card(counted("p0", "4"), counted("p1", "4"), counted("p2", "3"))
    assert [name for _, name in taken(run(slices, a_claim(request("r", count=2))))] == ["p0", "p2"]


def test_held_partitions_consume_counters():
    """The partitions of another claim are subtracted."""
    slices = card(counted("p0", "4"), counted("p1", "4"))
    assert run(slices, a_claim(request("r")), held=[holding(f"{GPUS}/n1/p0")]).allocations is None


def test_counters_of_a_rejected_candidate_stay_booked_up_to_1_36_2():
    """A tainted partition books its counters before the taint rejects it; 1.36.3 gives them back.

    Rule: docs/semantics.md 3.10.8.
    """
    taint = (DeviceTaint(key="k", effect="NoSchedule"),)
    slices = card(counted("p0", "4", taints=taint), counted("p1", "4"))
    claim = a_claim(request("r"))
    assert run(slices, claim).status is FirstFitStatus.NONE
    assert taken(run(slices, claim, release=NEXT)) == [("r", "p1")]


def test_devices_without_counters_ignore_an_overdrawn_pool():
    """An over-committed counter rejects every partition of the pool, and only those.

    Rules: docs/semantics.md 3.10.4, 3.10.5.
    """
    slices = card(counted("p0", "4"), counted("p1", "1"), device("plain"), have="3")
    verdict = run(slices, a_claim(request("r")), held=[holding(f"{GPUS}/n1/p0")])
    assert taken(verdict) == [("r", "plain")]


def test_devices_with_compatibility_groups_are_passed_over_while_their_gate_is_off():
    """1.37 skips them with the gate off; with the gate on the rule is refused by its name."""
    use = DeviceCounterConsumption(
        counter_set="card", counters={"slices": Counter(value="1")}, compatibility_groups=("x",)
    )
    slices = card(device("grouped", consumes_counters=(use,)), device("plain"))
    claim = a_claim(request("r"))
    assert taken(run(slices, claim, release=NEXT)) == [("r", "plain")]
    with pytest.raises(UnsupportedFeature, match="compatibilityGroups"):
        run(slices, claim, release=KubernetesRelease("1.37", {"DRADeviceCompatibilityGroups": True}))


def test_derived_attributes_are_refused_by_name_when_their_gate_is_on():
    """An unknown rule is never answered wrongly."""
    claim = a_claim(request("r", derived_attributes=(DeviceDerivedAttribute(name="a/b", expression="1"),)))
    with pytest.raises(UnsupportedFeature, match="derivedAttributes"):
        run([a_slice(GPUS, device("d"))], claim, release=KubernetesRelease("1.37", {"DRADerivedAttributes": True}))


def opaque(*requests: str) -> DeviceClaimConfiguration:
    """Make a configuration for requests."""
    parameters = OpaqueDeviceConfiguration(driver=GPUS, parameters={"a": 1})
    return DeviceClaimConfiguration(requests=requests, opaque=parameters)


@pytest.mark.parametrize(("release", "requests"), [(NOW, [["a", "b"], ["a", "b"]]), (NEXT, [None])])
def test_a_configuration_for_two_requests_is_repeated_up_to_1_36(release, requests):
    """1.36 appends it once a request; 1.37 once, without names where it covers all (docs/semantics.md 3.16.3)."""
    claim = a_claim(request("a"), request("b"), config=[opaque("a", "b")])
    allocations = run([a_slice(GPUS, device("gpu-0"), device("gpu-1"))], claim, release=release).allocations
    assert allocations is not None
    assert [entry.get("requests") for entry in allocations[0].devices.config] == requests


def network_slice(name: str, *zones: str, **spec) -> ResourceSlice:
    """Make a slice for nodes of zones, or for all nodes."""
    terms = tuple(
        NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="zone", operator="In", values=(zone,)),))
        for zone in zones
    )
    place = {"node_selector": NodeSelector(node_selector_terms=terms)} if zones else {"all_nodes": True}
    pool = ResourcePool(name=name, resource_slice_count=1)
    full = ResourceSliceSpec(driver="fabric", pool=pool, devices=(device("d"),), **place, **spec)
    return ResourceSlice(metadata=ObjectMeta(name=name), spec=full)


NODE = Node(metadata=ObjectMeta(name="n1", labels={"zone": "a"}))


def test_the_result_is_bound_to_the_nodes_of_its_devices():
    """A selector slice and an allNodes slice give the selector; a device of the node gives the node.

    Rule: docs/semantics.md 3.12.3.
    """
    fabric = [network_slice("p", "a"), network_slice("q")]
    two = run(fabric, a_claim(request("r", "any", 2)), nodes=[NODE]).allocations
    local = run([*fabric, a_slice(GPUS, device("gpu-0"))], a_claim(request("r", "any", 3)), nodes=[NODE]).allocations
    assert two is not None
    assert local is not None
    zone = NodeSelectorRequirement(key="zone", operator="In", values=("a",))
    name = NodeSelectorRequirement(key="metadata.name", operator="In", values=("n1",))
    assert two[0].node_selector == NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(zone,)),))
    assert local[0].node_selector == NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(name,)),))


def test_a_node_selector_with_two_terms_gives_up_the_pod():
    """The result can hold one term only (docs/semantics.md 3.12.3)."""
    verdict = run([network_slice("p", "a", "b")], a_claim(request("r", "any")), nodes=[NODE])
    assert verdict.status is FirstFitStatus.ERROR
