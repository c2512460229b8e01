"""A link at a wider level holds wherever it holds at a nearer one, whatever is known of the wider level."""

from __future__ import annotations

import random

import pytest
from checked_plans import checked_plan
from msgspec.structs import replace
from random_clusters import random_cluster, random_sketch
from random_devices import GPU
from small_nodes import NUMA, a_slice, cluster, gpu

from dra_lab import ClaimSketch, How, KubernetesRelease, Link, load_cluster, read_sketch
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest

RELEASE = KubernetesRelease("1.36")


def test_relaxing_to_the_socket_helps_where_relaxing_to_the_numa_node_does():
    """What is on one NUMA node is in one socket, also where no driver publishes sockets."""
    plan = checked_plan(load_cluster("sample:oke-gb200"), read_sketch("sample:oke-gb200/one-pair"), release=RELEASE)
    tried = {change.title: change.fitting for change in plan.reasons.relaxations if "Relax" in change.title}
    assert tried == {
        "Relax the PCIe root link of gpu and nic to the NUMA node": 4,
        "Relax the PCIe root link of gpu and nic to the socket (Kubernetes cannot express this)": 4,
    }


@pytest.mark.long
@pytest.mark.parametrize("how", [How.TOGETHER, How.PAIRWISE])
@pytest.mark.parametrize("first", range(0, 300, 100))
def test_a_link_at_the_socket_fits_where_one_at_a_numa_node_fits(first, how):
    """On random nodes without sockets, a must-link on the socket fits on no fewer nodes than one on the NUMA node."""
    seen = 0
    for seed in range(first, first + 100):
        rng = random.Random(f"wider {seed}")
        world, sketch = random_cluster(rng), random_sketch(rng)
        names = tuple(request.name for request in sketch.requests if request.exactly is not None)[:2]
        if len(names) < 2:
            continue
        near, wider = (replace(sketch, links=(Link("l", names, where, how),)) for where in ("numaNode", "socket"))
        if checked_plan(world, near, release=RELEASE).fits:
            seen += 1
            assert checked_plan(world, wider, release=RELEASE).fits, seed
    assert seen


@pytest.mark.parametrize(("numa", "fits"), [((0, 0), True), ((0, 1), False)])
def test_unknown_sockets_are_one_for_devices_of_one_numa_node_only(numa, fits):
    """Two NUMA nodes of unknown sockets are not taken for one socket."""
    assert fits_at_socket(How.TOGETHER, numa) is fits


def test_unknown_sockets_are_never_known_to_differ():
    """Devices on two NUMA nodes of unknown sockets may be in one socket: "apart" does not hold."""
    assert not fits_at_socket(How.APART, (0, 1))


def fits_at_socket(how: How, numa: tuple[int, int]) -> bool:
    """Say whether two GPUs on these NUMA nodes, of unknown sockets, keep a link at the socket."""
    world = cluster(a_slice(GPU, *(gpu(n, "", **{NUMA: at}) for n, at in enumerate(numa))))
    request = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name=GPU, count=2))
    sketch = ClaimSketch(requests=(request,), links=(Link("l", ("gpu",), "socket", how),))
    return checked_plan(world, sketch, release=RELEASE).fits
