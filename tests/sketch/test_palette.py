"""What can be drawn in a cluster."""

from __future__ import annotations

import pytest
from small_claims import a_class, holding, request
from small_nodes import a_slice, cluster, device, gpu, nic, real_cluster

from dra_lab import ClaimSketch, Cluster, KubernetesRelease, load_cluster, samples
from dra_lab.index.documented_classes import known_classes
from dra_lab.model.device import DeviceCapacity, DeviceTaint
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.sketch.cluster_candidates import candidates, counts_cpus
from dra_lab.sketch.compile import class_findings, needed_classes
from dra_lab.sketch.palette import ask_for, palette, request_of

R136 = KubernetesRelease("1.36")
GPU, NIC = "gpu.nvidia.com", "dra.net"


def entry(cluster_, key):
    return next(e for e in palette(cluster_) if e.key == key)


def test_an_empty_cluster_has_an_empty_palette():
    assert palette(Cluster()) == ()


def test_free_is_neither_in_use_nor_tainted():
    tainted = gpu(2, "pci0000:00")
    tainted = device(
        "gpu-2",
        {k: v.value for k, v in tainted.attributes.items()},
        taints=(DeviceTaint(key="bad", effect="NoSchedule"),),
    )
    on = cluster(a_slice(GPU, gpu(0), gpu(1), tainted), claims=(holding(f"{GPU}/n1/gpu-0"),))
    found = entry(on, "gpu.nvidia.com/gpu")
    assert (found.free, found.total, found.note.split(";")[0]) == (1, 3, "1 tainted")


def test_cpus_of_one_device_are_counted_as_cpus():
    """Eight nodes publish 16 devices of 112 CPUs, of which running claims hold 388."""
    found = next(one for one in palette(load_cluster("sample:dgx-h100")) if one.kind == "cpu")
    assert (found.free, found.total) == (16 * 112 - 388, 16 * 112)


def test_offers_that_mean_the_same_devices_are_one():
    """If every NIC has RDMA, "any NIC" says nothing that "RDMA NIC" does not say."""
    rdma, plain = device("a", {"dra.net/rdma": True}), device("b", {"dra.net/rdma": False})
    for devices, again in (((rdma,), True), ((rdma, plain), False)):
        offered = [(found.label, found.again) for found in palette(cluster(a_slice(NIC, *devices)))]
        assert offered == [("RDMA NIC", False), ("any NIC", again)]


def test_a_driver_without_a_class_gets_its_documented_one_marked_as_not_in_this_cluster():
    found = entry(cluster(a_slice(GPU, gpu(0))), "gpu.nvidia.com/gpu")
    assert (found.device_class, found.in_cluster) == (GPU, False)


def test_a_class_of_the_cluster_that_selects_the_same_devices_is_used_instead_of_the_documented_one():
    own = a_class("our-gpus", 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"')
    found = entry(cluster(a_slice(GPU, gpu(0)), classes=(own,)), "gpu.nvidia.com/gpu")
    assert (found.device_class, found.in_cluster) == ("our-gpus", True)


def test_a_class_of_the_cluster_that_no_offer_uses_is_offered_under_its_name():
    fast = a_class("fast", 'device.driver == "dra.net" && has(device.attributes["dra.net"].numaNode)')
    found = entry(cluster(a_slice(NIC, nic("a", "", 0), nic("b")), classes=(fast,)), "class/fast")
    assert (found.label, found.kind, found.total) == ("fast", "nic", 1)


def test_an_unknown_driver_appears_under_its_name_with_a_class_that_can_be_exported():
    on = cluster(a_slice("quantum.example", device("qpu-0")))
    found = entry(on, "driver/quantum.example")
    sketch = ClaimSketch(requests=(request_of(found, "q"),))
    assert (found.label, found.kind, found.in_cluster) == ("quantum.example", "other", False)
    assert len(candidates(on, ask_for(found.device_class), R136).devices) == 1
    assert [c.name for c in needed_classes(sketch, on)] == ["quantum.example"]


def test_gpus_of_one_model_are_called_by_it():
    assert entry(cluster(a_slice(GPU, gpu(0))), "gpu.nvidia.com/gpu").label == "NVIDIA A100"


def test_two_entries_of_one_label_are_distinguished():
    shared = device(
        "numa0",
        {"dra.cpu/numCPUs": 8},
        capacity={"dra.cpu/cpu": DeviceCapacity(value=8)},
        allow_multiple_allocations=True,
    )
    one = device("cpu0", {"dra.cpu/cpuID": 0})
    labels = [e.label for e in palette(cluster(a_slice("dra.cpu", shared, one)))]
    assert sorted(labels) == ["CPU (by amount)", "CPU (by count)"]


def test_a_default_amount_is_never_more_than_a_device_has():
    shared = device(
        "numa0",
        {"dra.cpu/numCPUs": 4},
        capacity={"dra.cpu/cpu": DeviceCapacity(value=4)},
        allow_multiple_allocations=True,
    )
    assert entry(cluster(a_slice("dra.cpu", shared)), "dra.cpu/cpu-group").default_capacity == "4"


def test_a_claim_may_name_documented_classes_that_the_cluster_lacks():
    assert known_classes(cluster(a_slice(GPU, gpu(0)))).keys() >= {GPU, "mig.nvidia.com"}


def test_a_class_that_is_not_known_at_all_is_an_error():
    sketch = ClaimSketch(requests=(request("r", "nowhere"),))
    (finding,) = class_findings(sketch, cluster(a_slice(GPU, gpu(0)), classes=(a_class("x"),)))
    assert (finding.rule, finding.severity.value, finding.advice) == (
        "class-unknown",
        "error",
        "Create it, or use one of: x.",
    )


def test_a_hostile_driver_name_is_never_a_class_to_export():
    on = cluster(a_slice("../../evil", device("a")))
    assert needed_classes(ClaimSketch(requests=(request("r", "../../evil"),)), on) == ()


@pytest.mark.parametrize("name", [sample.name for sample in samples()])
def test_every_entry_of_every_sample_makes_a_request_that_matches_its_devices(name):
    on = load_cluster(f"sample:{name}")
    for found in palette(on):
        sketch = ClaimSketch(requests=(request_of(found, "r"),))
        check_sketch(sketch)
        matched = candidates(on, ask_for(found.device_class, found.selectors), R136)
        assert not matched.error
        assert not matched.failed or "fails" in found.note
        least, most = found.total, len(matched.devices)
        if counts_cpus(found.capacity_key):
            least, most = most, least  # an entry of CPUs counts all of each device
        assert most >= least > 0
    assert len({e.key for e in palette(on)}) == len(palette(on))


def test_real_slices_without_classes_offer_gpus_and_rdma_nics():
    """Issue 2: slices without classes still offer GPU and RDMA NIC."""
    found = {e.key: e.total for e in palette(real_cluster("eks-p4d"))}
    assert found["gpu.nvidia.com/gpu"] == 8
    assert (found["dra.net/rdma-nic"], found["dra.net/nic"]) == (4, 7)
