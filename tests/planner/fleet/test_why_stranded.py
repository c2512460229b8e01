"""Why devices of a node are stranded, and what would make some of them usable."""

from __future__ import annotations

from benchmarks.big_cluster import big_cluster
from checked_plans import checked_fleet

from dra_lab.model.allocation import AllocationResult, DeviceAllocationResult, DeviceRequestAllocationResult
from dra_lab.model.claims import ResourceClaim, ResourceClaimStatus
from dra_lab.model.fleet import Workload
from dra_lab.model.nodes import ObjectMeta
from dra_lab.planner.fleet import stranded
from dra_lab.planner.fleet.why_stranded import why_stranded
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster
from dra_lab.words.why_stranded_document import stranded_bars, stranded_lines

PAIRS = read_sketch("sample:eks-p4d/gpu-nic-pairs")


def planned(cluster):
    """Return the workloads of one pod with two pairs, and its plan."""
    workloads = [Workload("pairs", (PAIRS,), 1)]
    return workloads, checked_fleet(cluster, workloads)


def test_the_numbers_of_each_node_are_those_of_the_fleet():
    """What is stranded on one node alone is what the whole answer says of it."""
    cluster = load_cluster("sample:eks-p4d")
    workloads, plan = planned(cluster)
    whole = stranded(cluster, [PAIRS], after=plan)
    by_node = {node: row.kinds for row in whole.nodes for node in row.nodes}
    found = {node: why_stranded(cluster, workloads, node, after=plan).kinds for node in cluster.node_names}
    assert found == by_node


def test_the_request_that_lacks_devices_has_its_tests():
    """The GPUs of a full node are stranded, as none of its four RDMA NICs is free."""
    cluster = load_cluster("sample:eks-p4d")
    workloads, plan = planned(cluster)
    node = "ip-192-168-140-52.ec2.internal"
    found = why_stranded(cluster, workloads, node, after=plan)
    (row,) = stranded_bars(found, cluster, cluster.target_release())
    assert (row.request, row.bars[-1].label, row.bars[-1].count) == ("nic", "free", 0)


def test_a_claim_whose_leaving_frees_devices_is_named():
    """One claim holds all NICs of the PCIe root of four free GPUs."""
    cluster = one_node("nic-0", "nic-1", "nic-2", "nic-3")
    found = why_stranded(cluster, [Workload("pairs", (PAIRS,), 1)], "node-00000")
    assert list(stranded_lines(found)) == [
        "Once more pods fill this node, 4 of 8 free GPUs stay unused.",
        "If busy/c left this node, 0 GPUs would be stranded instead of 4.",
    ]


def test_a_weaker_link_that_lets_a_pod_in_is_named():
    """The free NICs are on another PCIe root than the free GPUs."""
    cluster = one_node("nic-0", "nic-1", "nic-2", "nic-3", "gpu-4", "gpu-5", "gpu-6", "gpu-7")
    found = why_stranded(cluster, [Workload("pairs", (PAIRS,), 1)], "node-00000")
    assert (found.relaxed.kind, found.relaxed.subject) == ("link", PAIRS.links[0].name)


def test_a_node_without_stranded_devices_has_no_reasons():
    """Eight pairs are free on an idle node, and four pods use them all."""
    found = why_stranded(one_node(), [Workload("pairs", (PAIRS,), 1)], "node-00000")
    assert (found.reasons, list(stranded_lines(found))) == ((), [])


def one_node(*held: str):
    """Return a node with two PCIe roots with four GPUs and four NICs each; the claim busy/c holds some devices."""
    cluster, drivers = big_cluster(1, 0.0), {"gpu": "gpu.nvidia.com", "nic": "dra.net"}
    results = tuple(
        DeviceRequestAllocationResult(
            request="r",
            driver=drivers[name[:3]],
            pool="node-00000",
            device=name,
        )
        for name in held
    )
    status = ResourceClaimStatus(allocation=AllocationResult(devices=DeviceAllocationResult(results=results)))
    claim = ResourceClaim(metadata=ObjectMeta(name="c", namespace="busy"), status=status)
    return cluster.with_objects(claims=(claim,) if held else ())
