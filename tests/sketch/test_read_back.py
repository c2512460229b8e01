"""A claim read back as a drawing means the same claim."""

from __future__ import annotations

import random

import pytest
from random_clusters import random_cluster, random_sketch
from random_devices import NUMA, ROOT, TAG
from small_claims import alternative, one_of, request
from small_nodes import a_slice, cluster, gpu

from dra_lab import How, KubernetesRelease
from dra_lab.errors import SketchError
from dra_lab.model.claims import DeviceClaim, DeviceConstraint, ResourceClaimSpec
from dra_lab.sketch.compile import compile_claim
from dra_lab.sketch.read_back import sketch_of

R136, R137 = KubernetesRelease("1.36"), KubernetesRelease("1.37")


def spec(*requests, constraints=()):
    return ResourceClaimSpec(devices=DeviceClaim(requests=requests, constraints=tuple(constraints)))


def matching(attribute, *requests):
    return DeviceConstraint(requests=requests, match_attribute=attribute)


def test_match_attribute_becomes_together_at_the_root_or_at_its_attribute():
    """NUMA stays an attribute: the level would also plan with names and derived places that the claim cannot use."""
    constraints = (matching(ROOT, "a", "b"), matching(NUMA, "a", "b"), matching(TAG, "a"))
    links = sketch_of(spec(request("a"), request("b"), constraints=constraints), "claim").links
    assert [(link.where, link.how, link.must) for link in links] == [
        ("pcieRoot", How.TOGETHER, True),
        (NUMA, How.TOGETHER, True),
        (TAG, How.TOGETHER, True),
    ]


def test_a_constraint_without_requests_ties_all_of_them():
    (link,) = sketch_of(spec(request("a"), request("b"), constraints=[matching(ROOT)]), "claim").links
    assert link.requests == ("a", "b")


def test_distinct_attribute_becomes_apart():
    constraint = DeviceConstraint(requests=("a",), distinct_attribute=TAG)
    (link,) = sketch_of(spec(request("a"), constraints=[constraint]), "claim").links
    assert (link.how, link.where) == (How.APART, TAG)


def test_with_both_attributes_only_the_first_counts():
    """The allocator applies matchAttribute alone (docs/semantics.md 1.13)."""
    constraint = DeviceConstraint(requests=("a",), match_attribute=TAG, distinct_attribute=ROOT)
    (link,) = sketch_of(spec(request("a"), constraints=[constraint]), "claim").links
    assert link.how is How.TOGETHER


def test_a_constraint_on_a_request_that_is_not_there_is_refused():
    with pytest.raises(SketchError, match="not a request of the drawing"):
        sketch_of(spec(request("a"), constraints=[matching(ROOT, "b")]), "claim")


def test_what_was_compiled_compiles_to_itself_when_read_back():
    """Reading back and compiling again changes nothing, ladders and numbered requests included."""
    compared = 0
    for seed in range(150):
        rng = random.Random(seed)
        on, drawn = random_cluster(rng), random_sketch(rng)
        first = compile_claim(drawn, on, R137)
        again = compile_claim(sketch_of(first.spec, "claim"), on, R137)
        assert again.spec == first.spec, seed
        compared += bool(first.spec.devices.constraints)
    assert compared > 20


def test_alternatives_and_their_constraints_are_kept():
    either = one_of("a", alternative("aligned", "gpu.nvidia.com", 1), alternative("any", "gpu.nvidia.com", 1))
    written = spec(either, request("b", "gpu.nvidia.com"), constraints=[matching(ROOT, "a/aligned", "b")])
    again = compile_claim(sketch_of(written, "c"), cluster(a_slice("gpu.nvidia.com", gpu(0, "r"))), R136)
    assert again.spec.devices.constraints == written.devices.constraints
