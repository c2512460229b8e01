"""What a plan says on the clusters that people know: pairs on p4d, none on GB200, and the reasons by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from checked_plans import checked_plan
from msgspec.structs import replace

from dra_lab import ClaimSketch, How, KubernetesRelease, Link, load_cluster, read_sketch
from dra_lab.model.claims import (
    CapacityRequirements,
    CELDeviceSelector,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
)
from dra_lab.model.plan import Plan, PlanStatus

RELEASE = KubernetesRelease("1.36")
RDMA = 'device.attributes["dra.net"].rdma == true'
REAL = Path(__file__).parents[2].parent / "shared" / "real-data" / "slices"


def request(name: str, device_class: str, count: int, *selectors: str) -> DeviceRequest:
    cel = tuple(DeviceSelector(cel=CELDeviceSelector(expression=text)) for text in selectors)
    return DeviceRequest(
        name=name, exactly=ExactDeviceRequest(device_class_name=device_class, count=count, selectors=cel)
    )


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
    for part in ("gpu", "nic"):
        (tmp_path / f"{part}.yaml").write_text((REAL / f"{name}-{part}.yaml").read_text())
    return load_cluster(tmp_path)


def planned(cluster, sketch: ClaimSketch, **options) -> Plan:
    return checked_plan(cluster, sketch, release=RELEASE, **options)


def test_four_pairs_fit(p4d):
    """Four GPU-NIC pairs with RDMA fit on a p4d node, each at its own root, proven."""
    plan = planned(p4d, pairs(4, RDMA))
    assert plan.status is PlanStatus.OPTIMAL
    assert (plan.goal("unpaired").value, plan.goal("roots").value, plan.goal("numa").value) == (0, 4, 2)


def test_five_pairs_do_not(p4d):
    """Five do not fit, and the reason names the roots and the counts."""
    plan = planned(p4d, pairs(5, RDMA))
    assert plan.status is PlanStatus.INFEASIBLE
    link = next(s for s in plan.shortfalls if s.rule == "link")
    assert (link.subject, link.needed, link.available) == ("pairs", 5, 4)
    for root in ("pci0000:10", "pci0000:20", "pci0000:90", "pci0000:a0"):
        assert f"{root} has 2 gpu and 1 nic" in link.message


def test_seven_pairs_without_rdma(p4d):
    """Without the RDMA selector seven fit, and a Finding says that three of those NICs have no RDMA."""
    plan = planned(p4d, pairs(7))
    assert plan.fits
    finding = next(f for f in plan.findings if f.rule == "nics-without-rdma")
    assert "3 of the 7 chosen NICs have no RDMA" in finding.message
    assert not planned(p4d, pairs(8)).fits


def test_links_are_what_helps(p4d):
    """What kube-scheduler takes without links leaves a GPU without a NIC; with the manifest it does not."""
    plan = planned(p4d, pairs(2, RDMA))
    assert plan.goal("unpaired").value == plan.first_fit.value("unpaired") == 0
    assert plan.first_fit_plain.value("unpaired") == 1


def test_no_pair_on_gb200(gb200):
    """One pair does not fit: different roots, no NUMA link can be written, and selectors do it instead."""
    plan = planned(gb200, pairs(1, RDMA))
    assert plan.status is PlanStatus.INFEASIBLE
    (reason,) = plan.shortfalls
    assert (reason.needed, reason.available) == (1, 0)
    assert "they sit at different PCIe roots, gpu at pci0008:00" in reason.message
    assert "No NUMA link can be written: gpu publishes no NUMA node" in reason.message
    offer = next(s for s in plan.suggestions if s.selectors)
    assert "NUMA node" in offer.title
    assert "derived" in offer.source


def test_suggestion_holds(gb200):
    """The drawing that a suggestion offers fits, on one NUMA node."""
    plan = planned(gb200, pairs(1, RDMA))
    offer = next(s for s in plan.suggestions if s.selectors)
    better = planned(gb200, offer.sketch)
    assert better.fits
    assert better.goal("numa").value == 1


def test_numa_link_that_cannot_be_written(gb200):
    """The plan keeps a must-link on the NUMA node through the known locality and marks it as not writable."""
    plan = planned(gb200, pairs(2, RDMA, where="numaNode", how=How.TOGETHER))
    assert plan.fits
    assert plan.goal("numa").value == 1
    finding = next(f for f in plan.findings if f.rule == "link-not-writable")
    assert "gpu" in finding.message
    assert "dra.net/numaNode" in finding.message


def test_preference_is_valued(gb200):
    """The same pair as a preference fits and costs one."""
    plan = planned(gb200, pairs(1, RDMA, must=False))
    assert plan.fits
    assert plan.goal("preferences").value == 1


def test_every_node_is_there_once():
    """Node classes hold every node of the cluster once, and those of the chosen node fit best."""
    cluster = load_cluster("sample:eks-p4d")
    plan = planned(cluster, pairs(2, RDMA))
    assert sorted(name for c in plan.node_classes for name in c.nodes) == sorted(cluster.node_names)
    assert plan.node in plan.fitting_nodes
    assert set(plan.fitting_nodes) <= set(plan.fitting_idle_nodes)


def test_pinned_node():
    """A pinned node wins over a better one, and a misfit names the pinned node."""
    cluster = load_cluster("sample:eks-p4d")
    best = planned(cluster, pairs(1, RDMA))
    other = best.fitting_nodes[-1]
    assert planned(cluster, pairs(1, RDMA), node=other).node == other
    full = next(name for name in cluster.node_names if name not in best.fitting_nodes)
    plan = planned(cluster, pairs(1, RDMA), node=full)
    assert plan.status is PlanStatus.INFEASIBLE
    assert {s.node for s in plan.shortfalls} == {full}


def test_cluster_findings_come_along(tmp_path):
    """What the reader noticed, such as a dump without claims, stands on every plan."""
    if not REAL.is_dir():
        pytest.skip(f"the real slices are not beside the checkout ({REAL.name})")
    cluster = _cluster("real", "eks-p4d", tmp_path)
    assert cluster.findings
    assert {f.rule for f in cluster.findings} <= {f.rule for f in planned(cluster, pairs(1)).findings}


def test_a_request_without_any_device_is_the_only_reason_and_fewer_is_no_advice(p4d):
    """Where no device is of the class, the link's places and a lower count have nothing to say."""
    drawn = pairs(2, RDMA)
    wrong = (request("gpu", "nope.example.com", 2), drawn.requests[1])
    plan = planned(p4d, ClaimSketch(requests=wrong, links=drawn.links))
    assert [(s.rule, s.subject, s.advice) for s in plan.shortfalls] == [
        ("class", "gpu", "Choose another device class.")
    ]


def test_counts_that_cannot_be_paired_are_the_drawings_own_reason(p4d):
    """2 with 3 devices is wrong on every node: no node is named, and no other place is proposed."""
    drawn = pairs(2, RDMA)
    uneven = (drawn.requests[0], request("nic", "dranet", 3, RDMA))
    (shortfall,) = planned(p4d, ClaimSketch(requests=uneven, links=drawn.links)).shortfalls
    assert shortfall.message == "The PCIe root link of gpu and nic cannot pair 2 with 3 devices: no whole multiples"
    assert (shortfall.node, shortfall.advice) == (
        "", "Make each count a multiple of the smallest one, or prefer the link.",
    )  # fmt: skip


def test_a_preference_is_not_proposed_where_the_devices_themselves_are_too_few(gb200):
    """Seven GPUs on nodes of four: preferring the link would not help."""
    plan = planned(gb200, pairs(7))
    assert plan.status is PlanStatus.INFEASIBLE
    assert not [s.title for s in plan.suggestions if s.title.startswith("Prefer")]


def test_a_node_that_publishes_nothing_asks_for_another_cluster(tmp_path):
    """Without ResourceSlices there is no class or count that would help."""
    (tmp_path / "node.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n")
    plan = planned(load_cluster(tmp_path), pairs(2))
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
