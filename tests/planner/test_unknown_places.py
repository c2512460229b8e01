"""Places that are not known: sockets that no driver publishes, and a PCIe root that is an empty text."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import msgspec
import pytest
from checked_plans import checked_plan
from msgspec.structs import replace
from random_clusters import random_cluster, random_sketch
from random_devices import GPU, NIC, device_class
from small_nodes import NUMA, ROOT, a_slice, cluster, gpu, nic
from small_plans import request

from dra_lab import ClaimSketch, How, KubernetesRelease, Link
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest, ResourceClaim
from dra_lab.model.device import DeviceAttribute
from dra_lab.sketch.read_back import sketch_of

RELEASE = KubernetesRelease("1.36")


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


CASES = Path(__file__).parents[1] / "conformance" / "allocation.ndjson.gz"
EMPTY = tuple(f"odd-open-2-{number}" for number in (12, 220, 524, 604, 956, 1452, 1676, 1788, 1884))


def rootless(published):
    return msgspec.structs.replace(published, attributes={**published.attributes, ROOT: DeviceAttribute(string="")})


def rootless_node():
    slices = (a_slice(GPU, rootless(gpu(0))), a_slice(NIC, rootless(nic("a"))))
    return cluster(*slices, classes=tuple(map(device_class, (GPU, NIC))))


def pair(**link) -> ClaimSketch:
    requests = (request("gpu", GPU), request("nic", NIC))
    return ClaimSketch(requests=requests, links=(Link("pair", ("gpu", "nic"), **link),))


@pytest.mark.parametrize("name", EMPTY)
def test_claims_read_back_mean_what_kube_scheduler_means(name):
    """A recorded claim fits where kube-scheduler allocated it, also as the drawing that people see."""
    with gzip.open(CASES) as lines:
        case = next(json.loads(line) for line in lines if line[7 : line.index(b'"', 7)].decode() == name)
    from dra_lab.scheduler.replay_allocator import read_case

    read = read_case(case)
    (claim,) = msgspec.convert(case["claims"], tuple[ResourceClaim, ...])
    for node_name, expected in case["expect"].items():
        plan = checked_plan(read.cluster, sketch_of(claim.spec, "recorded"), release=RELEASE, node=node_name)
        assert expected["error"] or plan.fits == (expected["allocation"] is not None), plan.shortfalls


def test_a_demand_is_met_and_the_root_reported_as_not_known():
    """One root is demanded: two empty texts meet the demand, with a warning, and the goals count unknown devices."""
    plan = checked_plan(rootless_node(), pair(), release=RELEASE)
    assert plan.fits
    assert {goal.goal: goal.unknown for goal in plan.goals}["roots"] == 2
    assert "root-not-known" in {finding.rule for finding in plan.findings}


@pytest.mark.parametrize("link", [{"must": False}, {"how": How.PAIRWISE}])
def test_nothing_else_takes_it_for_a_place(link):
    """A preference is not kept by empty texts, and pairs are not formed of them."""
    plan = checked_plan(rootless_node(), pair(**link), release=RELEASE)
    assert not plan.fits if link.get("how") else plan.goal("preferences").value == 1
