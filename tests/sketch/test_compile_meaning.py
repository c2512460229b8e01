"""A compiled claim means the same to kube-scheduler's search as the drawing means to a person."""

from __future__ import annotations

import random

import pytest
from brute_force import BruteForce
from msgspec.structs import replace
from random_clusters import random_cluster, random_sketch
from random_devices import TAG

from dra_lab import ClaimSketch, How, KubernetesRelease
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.sketch import asks
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.sketch.compile import compile_claim

SEEDS = range(240)
R136, R137 = KubernetesRelease("1.36"), KubernetesRelease("1.37")
UNTOLD = {"link-not-writable", "pairwise-counts", "distinct-defect", "class-unknown", "all-constraint"}


def published_places_only(sketch: ClaimSketch) -> ClaimSketch:
    """Tie links where no place is derived: the brute force knows derived places too, kube-scheduler does not."""
    links = tuple(replace(link, where="pcieRoot" if link.where == "numaNode" else link.where) for link in sketch.links)
    return replace(sketch, links=links)


def case(seed: int):
    rng = random.Random(seed)
    return random_cluster(rng), published_places_only(random_sketch(rng))


def schedule(cluster, compiled, release):
    claim = ResourceClaim(metadata=ObjectMeta(name="claim"), spec=compiled.spec)
    return first_fit(cluster, "n1", [claim], release)


def picked(sketch, compiled, verdict):
    """Give every request of the drawing the devices that were allocated for what was written for it."""
    taken: dict[str, list] = {}
    for result in verdict.allocations[0].devices.results:
        taken.setdefault(compiled.origin[result.request], []).append(result.id)
    ways = {ask.reference: ask for request in sketch.requests for ask in asks(request)}
    return [(0, ways[reference], tuple(devices)) for reference, devices in taken.items()]


@pytest.mark.parametrize("release", [R136, R137], ids=str)
@pytest.mark.parametrize("block", range(4))
def test_a_claim_is_allocated_exactly_where_the_drawing_fits_and_every_must_link_holds(block, release):
    """The compiled claim is allocated if and only if some choice of devices keeps every must-link; the choice does."""
    compared = 0
    for seed in SEEDS[block::4]:
        cluster, sketch = case(seed)
        compiled = compile_claim(sketch, cluster, release)
        if any(finding.rule in UNTOLD for finding in compiled.findings):
            continue
        truth = BruteForce(cluster, sketch, "n1", release)
        fits = next(iter(truth.allocations()), None) is not None
        verdict = schedule(cluster, compiled, release)
        assert verdict.status is (FirstFitStatus.ALLOCATED if fits else FirstFitStatus.NONE), (seed, verdict.message)
        if fits:
            assert truth.must_hold(picked(sketch, compiled, verdict)), seed
        compared += 1
    assert compared > 15


def test_a_single_preference_is_kept_wherever_it_can_be():
    """With one preferred link "together" and no drawn alternatives, first fit breaks it where every choice does."""
    compared = 0
    for seed in range(800):
        cluster, sketch = case(seed)
        links = [link for link in sketch.links if link.how is How.TOGETHER]
        if not links or any(request.first_available for request in sketch.requests):
            continue
        sketch = replace(sketch, links=(replace(links[0], must=False),))
        compiled = compile_claim(sketch, cluster, R136)
        truth = BruteForce(cluster, sketch, "n1", R136)
        best = truth.values_in(("preferences",))
        untold = UNTOLD | {"preference-order"}
        if best is None or any(finding.rule in untold for finding in compiled.findings):
            continue
        found = picked(sketch, compiled, schedule(cluster, compiled, R136))
        assert truth.goals(found)["preferences"] == best[0], seed
        compared += 1
    assert compared > 15


def test_a_preference_never_makes_a_claim_infeasible():
    """Whatever is preferred, the claim is allocated wherever it is without its preferences."""
    for seed in range(120):
        cluster, sketch = case(seed)
        soft = replace(sketch, links=tuple(replace(link, must=False) for link in sketch.links))
        compiled = compile_claim(soft, cluster, R136)
        plain = compile_claim(soft, cluster, R136, links=False)
        assert schedule(cluster, compiled, R136).status is schedule(cluster, plain, R136).status, seed


def test_compiling_is_deterministic_and_every_reference_has_an_origin():
    """The same drawing gives the same claim, and every name in the claim leads back to the drawing."""
    for seed in range(80):
        cluster, sketch = case(seed)
        compiled = compile_claim(sketch, cluster, R136)
        assert compile_claim(sketch, case(seed)[0], R136) == compiled
        devices = compiled.spec.devices
        known = {request.name for request in sketch.requests}
        known |= {ask.reference for request in sketch.requests for ask in asks(request)}
        assert set(compiled.origin.values()) <= known
        written = {request.name for request in devices.requests}
        written |= {ask.reference for request in devices.requests for ask in asks(request)}
        assert written == set(compiled.origin)
        assert all(set(constraint.requests) <= written for constraint in devices.constraints)
        assert TAG in sketch.links[0].where or sketch.links[0].is_level if sketch.links else True
