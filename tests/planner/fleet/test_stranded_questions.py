"""What pods use in the best packing: devices that no claim can hold, and large nodes of GPU-NIC pairs."""

from __future__ import annotations

import random

import pytest
from benchmarks.crowded_cluster import partitioned, profiles
from benchmarks.irregular_cluster import drawn_pairs, irregular_cluster
from benchmarks.mixed_cluster import mixed_cluster, workloads
from cancelled import CancelledAfter
from msgspec.structs import replace
from random_clusters import random_workloads, small_fleet, switches
from random_devices import GPU, NIC, TAG, selector, text
from sharing_nodes import RELEASE, ask, counted, node, part
from small_nodes import a_slice, device, gpu, nic

from dra_lab import ClaimSketch, How, Link, stranded
from dra_lab.model.claims import DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.sketch import MAX_DEVICES


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


def clusters():
    """Yield clusters with the claims that are to use them: partitions, trees, listed options, small random fleets."""
    yield partitioned(4), [workload.claims[0] for workload in profiles(4)]
    yield irregular_cluster(8, 8), [drawn_pairs(2)]
    yield mixed_cluster(8), [workload.claims[0] for workload in workloads((1, 1, 1), must=True)]
    for number in range(12):
        rng = random.Random(f"stranded {number}")
        found = small_fleet(rng, switches(sharing=number % 2 == 0, coupled=number % 3 == 0))
        yield found, [random_workloads(rng, found, switches(sharing=number % 2 == 0))[0].claims[0]]


def by_nodes(answer):
    """Return what is stranded by node, or by nodes that are reported together, and kind."""
    return {
        (nodes, kind.kind): kind
        for row in answer.nodes
        for nodes in ([row.nodes] if row.together else [(node,) for node in row.nodes])
        for kind in row.kinds
    }


@pytest.mark.long
def test_what_a_cancel_says_is_stranded_holds():
    """Whatever look a cancel comes at, no less is free, no more is used, and nothing is stranded that can be used."""
    compared = 0
    for number, (found, claims) in enumerate(clusters()):
        best = by_nodes(stranded(found, claims, release=RELEASE))
        for looks in range(1, 60, 6):
            cancelled = by_nodes(stranded(found, claims, release=RELEASE, cancel=CancelledAfter(looks)))
            # A cancel may come when only a part of the nodes that share devices is examined.
            for (nodes, kind), mine in ((key, mine) for key, mine in cancelled.items() if key in best):
                known, compared = best[nodes, kind], compared + 1
                assert mine.free >= known.free, (number, looks)
                assert mine.usable <= known.bound, (number, looks)
                assert mine.bound >= known.usable, (number, looks)
                assert mine.least <= known.stranded, (number, looks)
    assert compared > 200


def test_nodes_that_time_did_not_suffice_for_are_counted_and_not_proven():
    """Each node is in what is stranded or counted as not examined, and only an answer on all nodes is proven."""
    for found, claims in clusters():
        for looks in range(1, 60, 14):
            answer = stranded(found, claims, release=RELEASE, cancel=CancelledAfter(looks))
            told = [node for row in answer.nodes for node in row.nodes]
            assert len(told) == len(set(told)) == len(found.node_names) - answer.not_examined
            assert not (answer.proven and answer.not_examined)


def test_kinds_of_a_request_that_nothing_matches_are_those_of_its_class():
    """If no device passes a request's own selector, the devices of its class are what may be stranded."""
    found = node(a_slice(GPU, gpu(0)), a_slice(NIC, nic("nic-0")))
    none = ExactDeviceRequest(device_class_name=GPU, selectors=(selector("device.driver == 'none'"),))
    claim = ClaimSketch("c", (DeviceRequest("gpu", none),))
    assert [(kind.kind, kind.free, kind.usable) for kind in stranded(found, [claim], release=RELEASE).kinds] == [
        ("gpu", 1, 0)
    ]


WHOLE = f'has(device.attributes["x.example"].tag) && device.attributes["{TAG.split("/")[0]}"].tag == "whole"'


def test_partitions_are_stranded_as_far_as_counters_feed_them():
    """Counters provide three of seven partitions of two slices: a pod uses two of them, and one is stranded."""
    slices = counted(*(part(f"slice-{n}", slices=2) for n in range(7)), slices=7)
    (kind,) = stranded(node(*slices), [ClaimSketch("c", (ask("g", count=2),))], release=RELEASE).kinds
    assert (kind.free, kind.usable, kind.stranded, kind.least, kind.proven) == (3, 2, 1, 1, True)


def test_of_partitions_of_different_sizes_the_most_that_is_stranded_is_said():
    """A pod that takes the whole leaves nothing of its slices: that six are stranded is no more than a bound."""
    whole = replace(part("whole", slices=7), attributes={TAG: text("whole")})
    slices = counted(whole, *(part(f"slice-{n}", slices=1) for n in range(7)), slices=7)
    asked = ask("g", selectors=(selector(WHOLE),))
    (kind,) = stranded(node(*slices), [ClaimSketch("c", (asked,))], release=RELEASE).kinds
    assert (kind.free, kind.usable, kind.stranded, kind.least, kind.proven) == (7, 1, 6, 0, False)
