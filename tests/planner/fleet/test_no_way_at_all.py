"""A request that no node can serve costs neither time nor memory, however many ways the next request has."""

from __future__ import annotations

import tracemalloc

from random_devices import GPU, NIC, device_class
from small_nodes import a_slice, cluster, gpu, nic

from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.fleet import Workload
from dra_lab.model.sketch import ClaimSketch, Link
from dra_lab.planner.fleet import how_many_more

ROOTS = 22
MOST_BYTES = 8 << 20


def wants(gpus: int) -> Workload:
    """Return a pod that wants GPUs and half of the NICs, all on one PCIe root."""
    counts = {"gpu": (GPU, gpus), "nic": (NIC, ROOTS // 2)}
    requests = tuple(
        DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=driver, count=count))
        for name, (driver, count) in counts.items()
    )
    return Workload("pod", (ClaimSketch(requests=requests, links=(Link(name="near", requests=("gpu", "nic")),)),))


def test_ways_of_a_later_request_are_not_listed_beside_no_way_at_all():
    """No node has 20 GPUs, so the 705,432 ways to take 11 of 22 NICs are never written down."""
    nics = [nic(f"nic-{at}", f"root-{at}") for at in range(ROOTS)]
    where = cluster(a_slice(GPU, gpu(0, "root-0")), a_slice(NIC, *nics), classes=tuple(map(device_class, (GPU, NIC))))
    how_many_more(where, wants(1))
    tracemalloc.start()
    try:
        headroom = how_many_more(where, wants(20))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (headroom.count, headroom.bound) == (0, 0)
    assert peak < MOST_BYTES
