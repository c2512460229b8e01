"""What pods use in the best packing: devices that no claim can hold, and large nodes of GPU-NIC pairs."""

from __future__ import annotations

import pytest
from random_devices import GPU, NIC
from sharing_nodes import RELEASE, ask, node
from small_nodes import a_slice, device, gpu, nic

from dra_lab.model.claims import DeviceRequest, DeviceSubRequest
from dra_lab.model.sketch import MAX_DEVICES, ClaimSketch, How, Link
from dra_lab.planner.fleet import stranded
from dra_lab.planner.fleet.shapes import PodShape, Unit
from dra_lab.planner.fleet.usage import largest_value


@pytest.mark.parametrize(("size", "used"), [(MAX_DEVICES - 1, MAX_DEVICES - 1), (MAX_DEVICES + 1, 0)])
def test_all_of_more_devices_than_a_claim_holds_uses_none(size, used):
    """An alternative for all GPUs uses them only if the claim can hold them beside its other device."""
    ways = (DeviceSubRequest(name="all", device_class_name=GPU, allocation_mode="All"), DeviceSubRequest("nic", NIC))
    shared = device("nic-0", allow_multiple_allocations=True)
    found = node(a_slice(GPU, *(gpu(at) for at in range(size))), a_slice(NIC, shared))
    claim = ClaimSketch("c", (ask("look", NIC, admin_access=True), DeviceRequest(name="r", first_available=ways)))
    kinds = {kind.kind: kind for kind in stranded(found, [claim], release=RELEASE).kinds}
    assert (kinds["gpu"].usable, kinds["gpu"].bound) == (used, used)


def test_only_requested_kinds_of_devices_are_stranded():
    """Pods that ask for GPUs only strand no NIC."""
    found = node(a_slice(GPU, gpu(0)), a_slice(NIC, nic("nic-0")))
    assert [kind.kind for kind in stranded(found, [ClaimSketch("c", (ask("gpu"),))], release=RELEASE).kinds] == ["gpu"]


def test_pairs_on_a_node_of_32_gpus_are_counted_by_the_scarcer_end():
    """With two GPUs and one NIC on each of 16 roots, pods of four pairs use 16 GPUs, proven."""
    roots = [f"pci0000:{at:02x}" for at in range(16)]
    gpus = [gpu(at, roots[at // 2], **{"resource.kubernetes.io/numaNode": at // 16}) for at in range(32)]
    nics = [nic(f"nic-{at}", root, at // 8) for at, root in enumerate(roots)]
    pairs = Link(name="pairs", requests=("gpu", "nic"), how=How.PAIRWISE)
    claim = ClaimSketch("c", (ask("gpu", count=4), ask("nic", NIC, count=4)), (pairs,))
    kinds = {
        k.kind: k for k in stranded(node(a_slice(GPU, *gpus), a_slice(NIC, *nics)), [claim], release=RELEASE).kinds
    }
    assert (kinds["gpu"].usable, kinds["gpu"].bound, kinds["nic"].usable) == (16, 16, 16)


def test_pods_on_no_numa_node_are_worth_nothing():
    """A node with nothing left has no NUMA node and no pools, and pods of other amounts have no unit in common."""
    units = [Unit((), (amount,), (((number, 0, 1),),)) for number, amount in enumerate((2, 7))]
    shapes = [(PodShape((unit,), 0, 0, paired=False), unit.pool[0]) for unit in units]
    assert largest_value((), shapes) == 0
