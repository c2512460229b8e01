"""The reasons of a misfit are true: on the clusters that people know, and on nodes made for one rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked_plans import checked_plan
from msgspec.structs import replace
from random_devices import CORES, CPU, GPU, NIC, device_class
from sharing_nodes import RELEASE, amounts, ask, counted, names, node, part, planned
from small_nodes import NUMA, a_slice, device, gpu
from small_plans import request

from dra_lab import ClaimSketch, Cluster, How, KubernetesRelease, Link, load_cluster, read_sketch
from dra_lab.model.claims import (
    CapacityRequirements,
    DeviceRequest,
    DeviceSubRequest,
)
from dra_lab.model.device import Device, DeviceCapacity
from dra_lab.model.nodes import Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta
from dra_lab.model.plan import Plan, PlanStatus
from dra_lab.model.reasons import Reasons
from dra_lab.model.slices import ResourcePool, ResourceSlice, ResourceSliceSpec

RDMA = 'device.attributes["dra.net"].rdma == true'
REAL = Path(__file__).parents[2].parent / "shared" / "real-data" / "slices"


def pairs(
    count: int, *selectors: str, where: str = "pcieRoot", must: bool = True, how: How = How.PAIRWISE
) -> ClaimSketch:
    ends = (request("gpu", "gpu.nvidia.com", count), request("nic", "dranet", count, *selectors))
    return ClaimSketch(
        requests=ends, links=(Link(name="pairs", requests=("gpu", "nic"), where=where, how=how, must=must),)
    )


@pytest.fixture(params=["sample", "real"])
def p4d(request, tmp_path):
    """The sample, and the slices of a real node, which bring no classes."""
    return _cluster(request.param, "eks-p4d", tmp_path)


@pytest.fixture(params=["sample", "real"])
def gb200(request, tmp_path):
    """The sample, and the slices of a real node, which bring no classes."""
    return _cluster(request.param, "oke-gb200", tmp_path)


def _cluster(kind: str, name: str, tmp_path: Path):
    if kind == "sample":
        return load_cluster(f"sample:{name}")
    if not REAL.is_dir():
        pytest.skip(f"the real slices are not beside the checkout ({REAL.name})")
    for driver in ("gpu", "nic"):
        (tmp_path / f"{driver}.yaml").write_text((REAL / f"{name}-{driver}.yaml").read_text())
    return load_cluster(tmp_path)


def plan_on(cluster, sketch: ClaimSketch, **options) -> Plan:
    return checked_plan(cluster, sketch, release=RELEASE, **options)


def test_links_are_what_helps(p4d):
    """What kube-scheduler takes without links leaves a GPU without a NIC; with the manifest it does not."""
    plan = plan_on(p4d, pairs(2, RDMA))
    assert plan.goal("unpaired").value == plan.first_fit.value("unpaired") == 0
    assert plan.first_fit_plain.value("unpaired") == 1


def test_numa_link_that_cannot_be_written(gb200):
    """The plan keeps a must-link on the NUMA node through the known locality and marks it as not writable."""
    plan = plan_on(gb200, pairs(2, RDMA, where="numaNode", how=How.TOGETHER))
    assert plan.fits
    assert plan.goal("numa").value == 1
    finding = next(f for f in plan.findings if f.rule == "link-not-writable")
    assert "gpu" in finding.message
    assert "dra.net/numaNode" in finding.message


def test_pinned_node():
    """A pinned node wins over a better one, and a misfit names the pinned node."""
    cluster = load_cluster("sample:eks-p4d")
    best = plan_on(cluster, pairs(1, RDMA))
    other = best.fitting_nodes[-1]
    assert plan_on(cluster, pairs(1, RDMA), node=other).node == other
    full = next(name for name in cluster.node_names if name not in best.fitting_nodes)
    plan = plan_on(cluster, pairs(1, RDMA), node=full)
    assert plan.status is PlanStatus.INFEASIBLE
    assert {s.node for s in plan.shortfalls} == {full}


def test_cluster_findings_come_along(tmp_path):
    """What the reader noticed, such as a dump without claims, stands on every plan."""
    if not REAL.is_dir():
        pytest.skip(f"the real slices are not beside the checkout ({REAL.name})")
    cluster = _cluster("real", "eks-p4d", tmp_path)
    assert cluster.findings
    assert {f.rule for f in cluster.findings} <= {f.rule for f in plan_on(cluster, pairs(1)).findings}


def test_a_request_without_any_device_is_the_only_reason_and_fewer_is_no_advice(p4d):
    """Where no device is of the class, the link's places and a lower count have nothing to say."""
    drawn = pairs(2, RDMA)
    wrong = (request("gpu", "nope.example.com", 2), drawn.requests[1])
    plan = plan_on(p4d, ClaimSketch(requests=wrong, links=drawn.links))
    assert [(s.rule, s.subject, s.advice) for s in plan.shortfalls] == [
        ("class", "gpu", "Choose another device class.")
    ]


def test_counts_that_cannot_be_paired_are_the_drawings_own_reason(p4d):
    """2 with 3 devices is wrong on every node: no node is named, and no other place is proposed."""
    drawn = pairs(2, RDMA)
    uneven = (drawn.requests[0], request("nic", "dranet", 3, RDMA))
    (shortfall,) = plan_on(p4d, ClaimSketch(requests=uneven, links=drawn.links)).shortfalls
    assert shortfall.message == "The PCIe root link of gpu and nic cannot pair 2 with 3 devices: no whole multiples"
    assert (shortfall.node, shortfall.advice) == (
        "", "Make each count a multiple of the smallest one, or prefer the link.",
    )  # fmt: skip


def test_a_preference_is_not_proposed_where_the_devices_themselves_are_too_few(gb200):
    """Seven GPUs on nodes of four: preferring the link would not help."""
    plan = plan_on(gb200, pairs(7))
    assert plan.status is PlanStatus.INFEASIBLE
    assert not [s.title for s in plan.suggestions if s.title.startswith("Prefer")]


def test_a_node_that_publishes_nothing_asks_for_another_cluster(tmp_path):
    """Without ResourceSlices there is no class or count that would help."""
    (tmp_path / "node.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n")
    plan = plan_on(load_cluster(tmp_path), pairs(2))
    assert plan.shortfalls[0].message.startswith("Request gpu needs 2 devices; none is published here")
    assert plan.shortfalls[0].advice == "Load a cluster that has ResourceSlices, or a sample."


def test_only_the_requests_that_compete_are_named():
    """CPUs that are short are no matter of the GPUs and NICs of the same claim."""
    cluster = load_cluster("sample:dgx-h100")
    sketch = read_sketch("sample:dgx-h100/gpu-nic-cpu")
    capacity = CapacityRequirements(requests={"dra.cpu/cpu": "1000"})
    cpu = replace(sketch.requests[2], exactly=replace(sketch.requests[2].exactly, capacity=capacity))
    found = checked_plan(
        cluster, replace(sketch, requests=(*sketch.requests[:2], cpu)), release=KubernetesRelease("1.36")
    )
    assert "the 2 devices for them have not enough capacity left" in found.shortfalls[0].message
    assert "gpu" not in found.shortfalls[0].subject


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
