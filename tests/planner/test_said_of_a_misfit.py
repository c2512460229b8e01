"""Every reason that names a node is true of it: alternatives, shared counters, node selectors, lack of time."""

from __future__ import annotations

from checked_plans import checked_plan
from random_devices import CORES, CPU, GPU, NIC, device_class
from sharing_nodes import RELEASE, amounts, ask, counted, names, node, part, planned
from small_nodes import NUMA, a_slice, device, gpu

from dra_lab import ClaimSketch, Cluster, How, Link
from dra_lab.model.claims import DeviceRequest, DeviceSubRequest
from dra_lab.model.device import Device, DeviceCapacity
from dra_lab.model.nodes import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta
from dra_lab.model.reasons import Reasons
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec


def either(name: str, first: int, second: int) -> DeviceRequest:
    ways = (
        DeviceSubRequest(name="many", device_class_name=GPU, count=first),
        DeviceSubRequest(name="few", device_class_name=GPU, count=second),
    )
    return DeviceRequest(name=name, first_available=ways)


def gpus(count: int):
    return a_slice(GPU, *(gpu(n, **{NUMA: n}) for n in range(count)))


def test_one_alternative_is_counted_not_all():
    """A link that ties both alternatives of a request needs the devices of one of them."""
    link = Link("apart", ("r/many", "r/few"), where="numaNode", how=How.APART)
    plan = planned(node(gpus(2), a_slice(NIC, device("n"))), either("r", 3, 2), ask("nic", NIC, 2), links=(link,))
    assert not [reason for reason in plan.shortfalls if reason.rule == "link"]


def test_a_link_that_an_alternative_escapes_is_no_reason():
    """Where another alternative is not tied, the link alone keeps nothing from being served."""
    link = Link("one", ("r/many",), where="numaNode")
    plan = planned(node(gpus(2), a_slice(NIC, device("n"))), either("r", 2, 1), ask("nic", NIC, 2), links=(link,))
    assert [reason.subject for reason in plan.shortfalls] == ["nic"]


def test_counters_are_named_where_they_are_in_the_way():
    """Two requests exceed a counter that suffices for one; two NIC requests that compete are named as such."""
    slices = counted(part("a", size=1), part("b", size=1), size=1)
    assert planned(node(*slices), ask("x", GPU), ask("y", GPU)).shortfalls[0].rule == "counters"
    nics = node(*slices, a_slice(NIC, device("n")))
    (reason,) = planned(nics, ask("x", NIC), ask("y", NIC), ask("g", GPU)).shortfalls
    assert (reason.rule, reason.subject) == ("count", "x, y")
    assert "compete for the same 1 device" in reason.message


def test_of_many_requests_the_fewest_that_compete_are_named():
    """Twelve GPUs are too few for a request for ten and one for three; ten requests for NICs are not named."""
    small = [ask(f"r{number}", NIC) for number in range(10)]
    nics = a_slice(NIC, *(device(f"n{number}") for number in range(10)))
    (reason,) = planned(node(gpus(12), nics), *small, ask("ten", GPU, 10), ask("three", GPU, 3)).shortfalls
    assert (reason.rule, reason.subject, reason.needed, reason.available) == ("count", "ten, three", 13, 12)


def test_capacity_of_shared_devices_is_named():
    """Two that share a device of 8 cores and take 5 each do not compete for devices: capacity is short."""
    shared = Device(name="c", capacity={CORES: DeviceCapacity(value=8)}, allow_multiple_allocations=True)
    five = {"capacity": amounts(**{CORES: 5})}
    (reason,) = planned(node(a_slice(CPU, shared)), ask("x", CPU, **five), ask("y", CPU, **five)).shortfalls
    assert reason.rule == "capacity"
    assert names(planned(node(a_slice(CPU, shared)), ask("x", CPU, **five))) == ["c"]


def on_two_racks(*devices: Device) -> Cluster:
    """Return a node that sees a pool whose node selector has two terms."""
    terms = tuple(
        NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key="rack", operator="In", values=(rack,)),))
        for rack in "ab"
    )
    spec = ResourceSliceSpec(
        driver=GPU,
        pool=ResourcePool(name="far", generation=1, resource_slice_count=1),
        node_selector=NodeSelector(node_selector_terms=terms),
        devices=devices,
    )
    return Cluster(
        slices=(ResourceSlice(metadata=ObjectMeta(name="far"), spec=spec),),
        nodes=(Node(metadata=ObjectMeta(name="n1", labels={"rack": "a"})),),
        classes=(device_class(GPU),),
    )


def test_a_selector_of_several_terms_is_named():
    """A device of a pool whose node selector has two terms is refused for that, not for want of devices."""
    (reason,) = planned(on_two_racks(gpu(0)), ask("g", GPU)).shortfalls
    assert reason.rule == "node"
    assert "nodeSelector has several terms" in reason.message


def test_no_more_requests_are_named_than_do_not_fit():
    """Each of two requests is refused by itself for the node selector: one is named."""
    (reason,) = planned(on_two_racks(gpu(0), gpu(1)), ask("x", GPU), ask("y", GPU)).shortfalls
    assert (reason.rule, reason.subject) == ("node", "x")


def test_of_a_cluster_without_nodes_nothing_else_is_said():
    """There is nothing to try a change on, which is no matter of time."""
    plan = planned(Cluster(name="empty"), ask("x", GPU))
    assert [reason.message for reason in plan.shortfalls] == ["The cluster has no node"]
    assert plan.reasons == Reasons()


def test_more_than_a_claim_can_hold_is_said_of_the_claim_and_of_no_node():
    """No other node would hold more; the request is named."""
    (reason,) = planned(node(gpus(2)), ask("x", GPU, 100_000)).shortfalls
    assert (reason.rule, reason.subject, reason.node) == ("limit", "x", "")
    assert reason.message == "Request x asks for 100,000 devices, more than the 32 that a claim can hold"


def scattered() -> Cluster:
    """Return three nodes of different hardware, of which the last comes nearest to three GPUs on one NUMA node."""
    found = []
    for number, places in enumerate(((0, 1, 2, 3), (0, 0, 1, 2, 3), (0, 0, 1, 1, 2, 3)), 1):
        devices = [gpu(at, **{NUMA: place}) for at, place in enumerate(places)]
        found.append(a_slice(GPU, *devices, node=f"n{number}"))
    return node(*found)


def test_it_is_reported_how_many_nodes_are_explained():
    """Explaining is a step of its own in the progress, with how far it is."""
    reports = []
    sketch = ClaimSketch(requests=(ask("x", GPU, 3),), links=(Link("same", ("x",), where="numaNode"),))
    checked_plan(scattered(), sketch, release=RELEASE, progress=reports.append)
    assert "explained 2 of 3 kinds of nodes" in [step.text for step in reports if step.stage == "reasons"]


def test_one_device_is_not_several():
    """A number of one has its noun and its verb."""
    (reason,) = planned(node(gpus(1)), ask("x", GPU, 2)).shortfalls
    assert reason.message.startswith(f"Request x needs 2 devices; 1 is published here, 1 is of class {GPU}")
