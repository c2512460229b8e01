"""What single links become: the exact requests and constraints."""

from __future__ import annotations

import pytest
from small_claims import alternative, one_of, request
from small_nodes import NUMA, ROOT, a_slice, cluster, device, gpu, nic

from dra_lab import ClaimSketch, How, KubernetesRelease, Link
from dra_lab.errors import SketchError
from dra_lab.model.claims import DeviceClaimConfiguration, DeviceToleration, OpaqueDeviceConfiguration
from dra_lab.model.device import DeviceCapacity
from dra_lab.sketch.compile import compile_claim

R135, R136, R137 = (KubernetesRelease(version) for version in ("1.35", "1.36", "1.37"))
GPU, NIC, CPU = "gpu.nvidia.com", "dranet", "dra.cpu"


def cpu(numa: int):
    attributes = {NUMA: numa, "dra.cpu/numCPUs": 112}
    capacity = {"dra.cpu/cpu": DeviceCapacity(value="112")}
    return device(f"numa{numa}", attributes, capacity=capacity, allow_multiple_allocations=True)


def a_node(*more):
    gpus = [gpu(n, f"pci0000:{n}0", **{NUMA: n // 4}) for n in range(8)]
    nics = [nic(f"nic-{n}", f"pci0000:{n}0", n // 4) for n in range(8)]
    nics = [device(d.name, {**{k: v.value for k, v in d.attributes.items()}, NUMA: n // 4}) for n, d in enumerate(nics)]
    slices = (a_slice(GPU, *gpus), a_slice("dra.net", *nics), a_slice(CPU, cpu(0), cpu(1)))
    return cluster(*slices, *more)


def compiled(*requests, links=(), release=R136, on=None, **fields):
    sketch = ClaimSketch(requests=requests, links=tuple(links), **fields)
    return compile_claim(sketch, on or a_node(), release)


def names(claim):
    return [r.name for r in claim.spec.devices.requests]


def constraints(claim):
    return [
        (c.match_attribute or f"distinct {c.distinct_attribute}", *c.requests) for c in claim.spec.devices.constraints
    ]


def counts(claim):
    found = {}
    for r in claim.spec.devices.requests:
        found[r.name] = r.exactly.count if r.exactly else {sub.name: sub.count for sub in r.first_available}
    return found


def rules(claim):
    return {finding.rule for finding in claim.findings} - {"class-not-in-cluster"}


def link(*requests, where="pcieRoot", how=How.TOGETHER, must=True, name="l"):
    return Link(name=name, requests=requests, where=where, how=how, must=must)


def test_all_has_no_count():
    """The API server refuses a count beside All (docs/semantics.md 1.11)."""
    exactly = compiled(request("gpu", GPU, 0, everything=True)).spec.devices.requests[0].exactly
    assert (exactly.allocation_mode, exactly.count) == ("All", 0)


def test_counts_that_do_not_divide_are_reported_with_the_nearest_that_do():
    claim = compiled(request("gpu", GPU, 3), request("nic", NIC, 2), links=[link("gpu", "nic", how=How.PAIRWISE)])
    (finding,) = [f for f in claim.findings if f.rule == "pairwise-counts"]
    assert constraints(claim) == []
    assert "gpu ×2 or ×4" in finding.advice


def test_apart_is_numbered_up_to_1_36_because_only_the_last_device_of_a_request_is_compared():
    """docs/semantics.md 3.9.18; from 1.37 all devices of a request are compared, and the count can stay."""
    apart = link("gpu", where="numaNode", how=How.APART)
    assert constraints(compiled(request("gpu", GPU, 2), links=[apart])) == [(f"distinct {NUMA}", "gpu-0", "gpu-1")]
    assert constraints(compiled(request("gpu", GPU, 2), links=[apart], release=R137)) == [(f"distinct {NUMA}", "gpu")]


def test_apart_is_refused_before_1_36():
    """Before 1.36 the gate of distinctAttribute is off, and the API server would see an empty constraint."""
    claim = compiled(request("gpu", GPU, 2), links=[link("gpu", how=How.APART)], release=R135)
    assert (constraints(claim), rules(claim)) == ([], {"link-not-writable"})


def test_a_preference_is_alternatives_of_the_first_request_with_one_constraint_a_partner():
    """The shape that was tried on the real scheduler: partners numbered, count 1, one constraint each."""
    claim = compiled(request("gpu", GPU), request("nic", NIC, 2), links=[link("gpu", "nic", must=False)])
    assert counts(claim) == {"gpu": {"aligned": 1, "any": 1}, "nic-0": 1, "nic-1": 1}
    assert constraints(claim) == [(ROOT, "gpu/aligned", "nic-0"), (ROOT, "gpu/aligned", "nic-1")]
    assert claim.origin["gpu/aligned"] == claim.origin["gpu/any"] == "gpu"


def test_a_preference_of_one_request_needs_no_partner():
    claim = compiled(request("gpu", GPU, 4), links=[link("gpu", where="numaNode", must=False)])
    assert counts(claim) == {"gpu": {"aligned": 4, "any": 4}}
    assert constraints(claim) == [(NUMA, "gpu/aligned")]


def test_a_preference_to_be_apart_is_a_chain_in_which_each_differs_from_every_later_one():
    """Each falls back alone: with all in one constraint the later ones would still be bound after a fallback."""
    claim = compiled(request("gpu", GPU, 3), links=[link("gpu", where="numaNode", how=How.APART, must=False)])
    assert counts(claim) == {"gpu-0": {"apart": 1, "any": 1}, "gpu-1": {"apart": 1, "any": 1}, "gpu-2": 1}
    assert constraints(claim) == [
        (f"distinct {NUMA}", "gpu-0/apart", "gpu-1"),
        (f"distinct {NUMA}", "gpu-0/apart", "gpu-2"),
        (f"distinct {NUMA}", "gpu-1/apart", "gpu-2"),
    ]


def test_two_preferences_of_one_request_are_four_rungs_best_first():
    links = [
        link("gpu", "nic", must=False, name="root"),
        link("gpu", "cpu", where="numaNode", must=False, name="numa"),
    ]
    cpus = request("cpu", CPU, 1, capacity={"dra.cpu/cpu": "16"})
    claim = compiled(request("gpu", GPU), request("nic", NIC), cpus, links=links)
    assert list(counts(claim)["gpu"]) == ["aligned", "root", "numa", "any"]
    assert constraints(claim) == [
        (ROOT, "gpu/aligned", "gpu/root", "nic"),
        (NUMA, "gpu/aligned", "gpu/numa", "cpu"),
    ]


def test_drawn_alternatives_stay_the_more_important_order():
    """Goal 2, the alternatives' ranks, comes before goal 3, preferred links."""
    either = one_of("gpu", alternative("big", GPU, 1), alternative("small", GPU, 1))
    claim = compiled(either, request("nic", NIC), links=[link("gpu", "nic", must=False)])
    assert list(counts(claim)["gpu"]) == ["big-aligned", "big", "small-aligned", "small"]
    assert constraints(claim) == [(ROOT, "gpu/big-aligned", "gpu/small-aligned", "nic")]
    assert claim.origin["gpu/small-aligned"] == claim.origin["gpu/small"] == "gpu/small"


def test_more_preferences_than_alternatives_allow_are_given_up_with_a_finding():
    """A request has eight alternatives at most (docs/semantics.md 2.2)."""
    links = [link("gpu", "nic", must=False, name=f"l{n}", where=("pcieRoot", "numaNode")[n % 2]) for n in range(9)]
    claim = compiled(request("gpu", GPU), request("nic", NIC), links=links)
    assert len(claim.spec.devices.requests[0].first_available) <= 8
    assert "link-not-writable" in rules(claim)


def test_a_preference_whose_partners_may_lack_the_attribute_is_left_out():
    """After the fallback the constraint still binds the partner, and a missing attribute never matches."""
    on = cluster(a_slice(GPU, gpu(0, "pci0000:00")), a_slice("dra.net", nic("a", "pci0000:00"), nic("b")))
    claim = compiled(request("gpu", GPU), request("nic", NIC), links=[link("gpu", "nic", must=False)], on=on)
    assert (constraints(claim), rules(claim)) == ([], {"link-not-writable"})


def test_a_link_that_no_common_attribute_can_write_names_both_sides():
    on = cluster(a_slice(GPU, gpu(0, "pci0000:00")), a_slice("dra.net", nic("a", "pci0000:00", 0)))
    claim = compiled(request("gpu", GPU), request("nic", NIC), links=[link("gpu", "nic", where="numaNode")], on=on)
    (finding,) = [f for f in claim.findings if f.rule == "link-not-writable"]
    assert constraints(claim) == []
    assert "gpu publishes no NUMA node (nic: dra.net/numaNode)" in finding.message


def test_all_is_never_inside_a_preference():
    """A constraint that All violates aborts the pod, also inside firstAvailable (docs/semantics.md 3.6.3)."""
    everything = request("nic", NIC, 0, everything=True)
    claim = compiled(request("gpu", GPU), everything, links=[link("gpu", "nic", must=False)])
    assert constraints(claim) == []


def test_without_links_only_counts_and_selectors_are_written():
    links = (link("gpu", "nic", how=How.PAIRWISE),)
    sketch = ClaimSketch(requests=(request("gpu", GPU, 2), request("nic", NIC, 2)), links=links)
    claim = compile_claim(sketch, a_node(), R136, links=False)
    assert (names(claim), constraints(claim)) == (["gpu", "nic"], [])


def test_numbered_names_never_collide_with_drawn_ones():
    requests = (request("gpu", GPU, 2), request("gpu-0", GPU), request("nic", NIC, 2))
    claim = compiled(*requests, links=[link("gpu", "nic", how=How.PAIRWISE)])
    assert sorted(names(claim)) == sorted({"gpu-0", "gpu-n-0", "gpu-n-1", "nic-0", "nic-1"})


def test_long_names_stay_labels():
    long = "g" * 63
    claim = compiled(request(long, GPU, 2), request("nic", NIC, 2), links=[link(long, "nic", how=How.PAIRWISE)])
    assert all(len(name) <= 63 for name in names(claim))


def test_more_than_32_devices_are_reported_at_once_and_not_numbered():
    pairs = link("gpu", "nic", how=How.PAIRWISE)
    claim = compiled(request("gpu", GPU, 10**9), request("nic", NIC, 10**9), links=[pairs])
    assert "too-many-devices" in rules(claim)
    assert names(claim) == ["gpu", "nic"]


@pytest.mark.parametrize("field", ["tolerations", "capacity"])
def test_what_the_release_cannot_say_is_left_out_and_reported(field):
    """The gates DRADeviceTaints and DRAConsumableCapacity are off before 1.36; the server drops the fields."""
    more = {
        "tolerations": {"tolerations": (DeviceToleration(key="bad"),)},
        "capacity": {"capacity": {"dra.cpu/cpu": 4}},
    }
    asked = request("cpu", CPU, 1, **more[field])
    written = compiled(asked, release=R135)
    assert not getattr(written.spec.devices.requests[0].exactly, field)
    assert f"release-{field}" in rules(written)
    assert rules(compiled(asked)) == set()


def test_configuration_follows_its_request_into_the_numbered_ones():
    config = DeviceClaimConfiguration(
        requests=("gpu",), opaque=OpaqueDeviceConfiguration(driver=GPU, parameters={"a": 1})
    )
    pairs = link("gpu", "nic", how=How.PAIRWISE)
    claim = compiled(request("gpu", GPU, 2), request("nic", NIC, 2), links=[pairs], config=(config,))
    assert claim.spec.devices.config[0].requests == ("gpu-0", "gpu-1")


def test_cpus_of_more_than_one_numa_node_are_numbered_requests_of_equal_parts():
    cpus = request("cpu", CPU, 1, capacity={"dra.cpu/cpu": "200"})
    claim = compiled(cpus)
    assert [r.exactly.capacity.requests for r in claim.spec.devices.requests] == [{"dra.cpu/cpu": "100"}] * 2
    assert claim.origin == {"cpu-0": "cpu", "cpu-1": "cpu"}


def test_an_inconsistent_drawing_is_refused():
    with pytest.raises(SketchError, match="not a request of the drawing"):
        compiled(request("gpu", GPU), links=[link("gpu", "nic")])
