"""A drawn count means different devices: also where it is written as numbered requests and devices can be shared."""

from __future__ import annotations

import random
from itertools import product

import pytest
from checked_plans import checked_plan
from random_devices import CPU, device_class
from small_claims import request
from small_nodes import NUMA, a_slice, cluster, device

from dra_lab import ClaimSketch, How, KubernetesRelease, Link
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.device import CapacityRequestPolicy, DeviceCapacity
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.placement import FirstFitStatus
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.sketch.compile import compile_claim

RELEASES = R136, R137 = KubernetesRelease("1.36"), KubernetesRelease("1.37")
PREFERRED = Link(name="l", requests=("c",), where=NUMA, how=How.APART, must=False)


def shared(name: str, numa: int = 0, cores: int = 16, **attributes):
    """Make CPUs that can be shared."""
    capacity = {"cores": DeviceCapacity(value=cores, request_policy=CapacityRequestPolicy(default=1))}
    return device(name, {NUMA: numa, **attributes}, capacity=capacity, allow_multiple_allocations=True)


def on_nodes(*nodes):
    slices = [a_slice(CPU, *devices, node=f"n{number}") for number, devices in enumerate(nodes, 1)]
    return cluster(*slices, classes=(device_class(CPU),))


def written(found, *, link=PREFERRED, cores: int = 2, count: int = 2, release=R136):
    sketch = ClaimSketch(requests=(request("c", CPU, count, capacity={"cores": cores}),), links=(link,))
    return compile_claim(sketch, found, release)


def distinct(compiled) -> list[str]:
    """Return the attributes at which all parts of the count must differ."""
    parts = tuple(part.name for part in compiled.spec.devices.requests)
    return [c.distinct_attribute for c in compiled.spec.devices.constraints if c.requests == parts]


def rules(compiled) -> set[str]:
    return {finding.rule for finding in compiled.findings}


def allocated(found, compiled, release=R136):
    claim = ResourceClaim(metadata=ObjectMeta(name="claim"), spec=compiled.spec)
    verdict = first_fit(found, "n1", [claim], release)
    return [result.id.device for result in verdict.allocations[0].devices.results] if verdict.allocations else []


def test_first_fit_takes_two_shares_of_one_device_for_two_requests():
    """This is why: without the constraint kube-scheduler gives both parts the first device.

    Rule: docs/semantics.md 3.11.5.
    """
    found = on_nodes([shared("a"), shared("b")])
    compiled = written(found)
    assert distinct(compiled) == []
    assert allocated(found, compiled) == ["a", "a"]


def test_an_attribute_that_tells_the_devices_apart_keeps_the_parts_apart():
    """An identifier is preferred to what merely differs, here the name of a vendor's own."""
    found = on_nodes([shared("a", 0, uuid="u-0", batch=0), shared("b", 0, uuid="u-1", batch=1)])
    compiled = written(found)
    assert distinct(compiled) == [f"{CPU}/uuid"]
    assert allocated(found, compiled) == ["a", "b"]
    assert "count-may-share" not in rules(compiled)


def test_where_nothing_tells_them_apart_a_finding_says_so():
    """Equal values on one node are enough to rule an attribute out."""
    (finding,) = (f for f in written(on_nodes([shared("a"), shared("b")])).findings if f.rule == "count-may-share")
    assert finding.subject == "c"
    assert "c-0 to c-1" in finding.message


def test_values_may_be_the_same_on_different_nodes():
    """A constraint compares the devices of one node."""
    found = on_nodes(*[[shared("a", 0), shared("b", 1)] for _ in range(3)])
    assert distinct(written(found)) == [NUMA]


@pytest.mark.parametrize("cores", [9, 16])
def test_more_than_half_of_every_device_needs_nothing(cores):
    """No device has room for two of the parts."""
    compiled = written(on_nodes([shared("a"), shared("b")]), cores=cores)
    assert distinct(compiled) == []
    assert "count-may-share" not in rules(compiled)


def test_a_must_that_tells_them_apart_is_enough():
    """The drawn constraint refuses one device to two parts: its value is not different from itself.

    Rule: docs/semantics.md 3.9.19.
    """
    must = Link(name="l", requests=("c",), where=NUMA, how=How.APART)
    compiled = written(on_nodes([shared("a", 0), shared("b", 1)]), link=must)
    assert distinct(compiled) == [NUMA]
    assert "count-may-share" not in rules(compiled)


@pytest.mark.long
@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_a_count_is_so_many_devices_or_a_finding(release):
    """Random nodes and links: no part of a count shares a device with another, and the claim fits where the plan does.

    Where a finding says that nothing keeps them apart, nothing is held.
    """
    rng, held = random.Random(7), 0
    kinds = list(product(How, (True, False)))
    for seed in range(60):
        how, must = kinds[seed % len(kinds)]
        ids = rng.random() < 0.7
        devices = [
            shared(f"d{n}", rng.randint(0, 1), rng.choice((4, 16)), **({"uuid": f"u{n}"} if ids else {}))
            for n in range(rng.randint(2, 4))
        ]
        found = on_nodes(devices)
        ends = ("c", "d") if how is How.PAIRWISE else ("c",)
        asked = [request(end, CPU, rng.randint(2, 3), capacity={"cores": 2}) for end in ends[:1]]
        asked += [request(end, CPU, asked[0].exactly.count, capacity={"cores": 2}) for end in ends[1:]]
        sketch = ClaimSketch(requests=tuple(asked), links=(Link("l", ends, "numaNode", how, must=must),))
        compiled = compile_claim(sketch, found, release)
        if rules(compiled) & {"count-may-share", "link-not-writable"}:
            continue
        claim = ResourceClaim(metadata=ObjectMeta(name="claim"), spec=compiled.spec)
        verdict = first_fit(found, "n1", [claim], release)
        fits = checked_plan(found, sketch, release=release).fits
        assert (verdict.status is FirstFitStatus.ALLOCATED) == fits, f"seed {seed}"
        if not fits:
            continue
        taken = [(compiled.origin[r.request], r.id) for r in verdict.allocations[0].devices.results]
        assert len(taken) == len(set(taken)), f"seed {seed}"
        held += 1
    assert held > 30
