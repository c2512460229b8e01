"""What is proposed where a link cannot be written or kept."""

from __future__ import annotations

import pytest
from small_claims import holding, request
from small_nodes import NUMA, a_slice, cluster, gpu, nic, real_cluster

from dra_lab import ClaimSketch, Finding, How, KubernetesRelease, Link, make_plan
from dra_lab.findings import Severity
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.nodes import FilePlace, FilePlaces, ObjectMeta
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.sketch.cluster_candidates import reference_candidates
from dra_lab.sketch.compile import compile_claim
from dra_lab.sketch.suggestions import suggest
from dra_lab.topology.locality import localities

R136 = KubernetesRelease("1.36")
GPU, NIC = "gpu.nvidia.com", "dranet"
PARTLY = Finding("claims-some-namespaces", Severity.WARNING, "resourceclaims", "only those of team-a were read")
RDMA = 'has(device.attributes["dra.net"].rdma) && device.attributes["dra.net"].rdma == true'


def pairs(count=1, where="pcieRoot", how=How.PAIRWISE, nics=None):
    requests = (request("gpu", GPU, count), request("nic", NIC, nics or count, RDMA))
    return ClaimSketch(requests=requests, links=(Link(name="pairs", requests=("gpu", "nic"), where=where, how=how),))


def allocated(on, sketch, node):
    claim = ResourceClaim(metadata=ObjectMeta(name="c"), spec=compile_claim(sketch, on, R136).spec)
    return first_fit(on, node, [claim], R136).status is FirstFitStatus.ALLOCATED


def test_gb200_gets_selectors_that_place_both_on_one_numa_node_with_their_source():
    """Issue 2: GPUs and NICs sit under different roots; the GPUs' NUMA node is derived from documented facts."""
    on = real_cluster("oke-gb200")
    first = suggest(on, pairs(), R136)[0]
    assert first.title == "Place gpu and nic on NUMA node 0 by selectors"
    assert 'pcieRoot in ["pci0008:00", "pci0009:00"]' in first.selectors["gpu"][0]
    assert first.selectors["nic"] == (
        'has(device.attributes["dra.net"].numaNode) && device.attributes["dra.net"].numaNode == 0',
    )
    assert first.source.startswith("gpu: derived: on a GB200")


def test_the_proposed_drawing_is_what_kube_scheduler_can_allocate_on_that_numa_node():
    on = real_cluster("oke-gb200")
    sketch = suggest(on, pairs(), R136)[0].sketch
    check_sketch(sketch)
    assert allocated(on, sketch, on.node_names[0])
    places = localities(on, on.node_names[0])
    for end in ("gpu", "nic"):
        found = reference_candidates(on, sketch, end, R136).devices
        assert {places[item.id].numa_node.value for item in found} == {0}


def test_selectors_are_not_proposed_where_no_node_has_the_devices():
    titles = [s.title for s in suggest(real_cluster("oke-gb200"), pairs(3), R136)]
    assert not any("selectors" in title for title in titles)


def test_selectors_are_not_proposed_where_a_root_means_different_numa_nodes_on_different_machines():
    def machine(node, first, second):
        nics = (nic("a", "pci0000:00", first), nic("b", "pci0000:10", second), nic("c", "pci0000:20", 0))
        return a_slice(GPU, gpu(0, "pci0000:00"), gpu(1, "pci0000:10"), node=node), a_slice("dra.net", *nics, node=node)

    on = cluster(*machine("n1", 0, 1), *machine("n2", 1, 0))
    assert not any(s.selectors for s in suggest(on, pairs(2, "switch"), R136))


def test_pairs_that_no_node_holds_get_the_largest_number_that_one_does():
    on = cluster(
        a_slice(GPU, gpu(0, "r0"), gpu(1, "r0"), gpu(2, "r1")), a_slice("dra.net", nic("a", "r0"), nic("b", "r1"))
    )
    first = suggest(on, pairs(3), R136)[0]
    assert first.title == "Ask for gpu ×2 and nic ×2"
    assert allocated(on, first.sketch, "n1")


def test_one_nic_for_each_gpu_comes_before_selectors():
    """Two GPUs at different PCIe roots cannot share one NIC one to one, but each can have its own."""
    on = cluster(
        a_slice(GPU, gpu(0, "r0", **{NUMA: 0}), gpu(1, "r1", **{NUMA: 0})),
        a_slice("dra.net", nic("a", "r0", 0), nic("b", "r1", 0)),
    )
    titles = [s.title for s in make_plan(on, pairs(2, nics=1), release=R136).suggestions]
    assert titles[0] == "Ask for nic ×2, one for each gpu"
    assert any("by selectors" in title for title in titles[1:])


def test_a_link_that_can_be_kept_needs_no_suggestion():
    on = cluster(a_slice(GPU, gpu(0, "r0")), a_slice("dra.net", nic("a", "r0")))
    assert suggest(on, pairs(), R136) == ()


def test_devices_in_use_do_not_make_a_link_impossible():
    on = cluster(a_slice(GPU, gpu(0, "r0")), a_slice("dra.net", nic("a", "r0")), claims=(holding(f"{GPU}/n1/gpu-0"),))
    assert suggest(on, pairs(), R136) == ()


def test_counts_that_do_not_divide_get_counts_that_do():
    on = cluster(a_slice(GPU, gpu(0, "r0")), a_slice("dra.net", nic("a", "r0")))
    (found,) = suggest(on, pairs(2, nics=3), R136)
    assert found.sketch.request("nic").exactly.count == 2


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ({}, "1 of 1 nodes have such devices free (1 when idle)"),
        ({"findings": (PARTLY,)}, "at most 1 of 1 nodes have such devices free (1 when idle)"),
        ({"claims_known": False}, "1 of 1 nodes have such devices. "),
    ],
)
def test_suggested_selectors_call_no_more_nodes_free_than_claims_tell(read, expected):
    """The claims read are all, those of some namespaces, or none; with none, there is no number of free devices."""
    on = cluster(a_slice(GPU, gpu(0, **{NUMA: 0})), a_slice("dra.net", nic("a", "r0", 0)), **read)
    found = f"kube-scheduler always follows selectors, and {expected}"
    assert [s.detail for s in suggest(on, pairs(), R136) if found in s.detail]


def test_a_link_where_roots_are_unknown_is_moved_to_the_switch_that_is_known():
    """What shares a switch shares its root too: that comes before any coarser level."""
    places = {("gpu.nvidia.com", "gpu-0"): {"switch": FilePlace("s", "nccl.xml:3")}}
    places["dra.net", "a"] = places["gpu.nvidia.com", "gpu-0"]
    slices = a_slice(GPU, gpu(0, **{NUMA: 0})), a_slice("dra.net", nic("a", numa=0))
    on = cluster(*slices, file_places={"n1": FilePlaces("nccl.xml", places)})
    titles = [s.title for s in suggest(on, pairs(), R136)]
    assert "Move the PCIe root link of gpu and nic to the PCIe switch" in titles
    assert not [title for title in titles if title.startswith("Relax")]


def test_a_link_that_no_node_keeps_can_become_a_preference():
    on = cluster(a_slice(GPU, gpu(0, "r0")), a_slice("dra.net", nic("a", "r1")))
    last = suggest(on, pairs(), R136)[-1]
    assert last.title == "Prefer the PCIe root link of gpu and nic instead of requiring it"
    assert not last.sketch.links[0].must
    assert allocated(on, last.sketch, "n1")
