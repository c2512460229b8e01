"""Random claims on every release: the referee accepts each plan, and what kube-scheduler allocates fits."""

from __future__ import annotations

import random

import pytest
from checked_plans import broken_rules, checked_plan
from msgspec.structs import replace
from random_clusters import SHARING, random_cluster, random_fleet, random_sketch

from dra_lab import KubernetesRelease, make_plan
from dra_lab.model.claims import ResourceClaim
from dra_lab.model.nodes import ObjectMeta
from dra_lab.model.placement import FirstFitStatus
from dra_lab.model.release import RELEASES
from dra_lab.scheduler.first_fit import first_fit
from dra_lab.sketch.compile import compile_claim

LISTS = "DRAListTypeAttributes"
MADE = {
    "one node": lambda rng: (random_cluster(rng), random_sketch(rng)),
    "fleet": lambda rng: (random_fleet(rng), random_sketch(rng)),
    "sharing": lambda rng: (found := random_fleet(rng, 1, SHARING), random_sketch(rng, SHARING, found)),
}
BLOCKS = range(4)
SEEDS = 10


def case(kind, version, seed):
    """A cluster, a drawing and a release; a release that has no amounts is not asked for any."""
    cluster, sketch = MADE[kind](random.Random(seed))
    lists = {LISTS: True} if kind == "sharing" and version in ("1.36", "1.37") else {}
    release = KubernetesRelease(version, lists)
    if not release.enabled("DRAConsumableCapacity"):
        sketch = replace(sketch, requests=tuple(map(whole, sketch.requests)))
    return cluster, sketch, release


def whole(request):
    if request.exactly is not None:
        return replace(request, exactly=replace(request.exactly, capacity=None))
    return replace(request, first_available=tuple(replace(one, capacity=None) for one in request.first_available))


@pytest.mark.some(4)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("kind", MADE)
def test_a_plan_keeps_every_rule_of_its_release(kind, version, block):
    """The referee knows the gates of each release."""
    found = {}
    for seed in range(block * SEEDS, (block + 1) * SEEDS):
        cluster, sketch, release = case(kind, version, seed)
        found[seed] = broken_rules(cluster, make_plan(cluster, sketch, release=release), release)
    assert {seed: broken for seed, broken in found.items() if broken} == {}


@pytest.mark.some(4)
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("kind", MADE)
def test_a_claim_without_links_fits_where_kube_scheduler_allocates_it(kind, version, block):
    """A node on which its search ends with devices is one on which the planner says that the claim fits."""
    missed = []
    for seed in range(block * SEEDS, (block + 1) * SEEDS):
        cluster, drawn, release = case(kind, version, seed)
        sketch = replace(drawn, links=())
        fitting = checked_plan(cluster, sketch, release=release).fitting_nodes
        claim = ResourceClaim(metadata=ObjectMeta(name="c"), spec=compile_claim(sketch, cluster, release).spec)
        for node in (name for name in cluster.node_names if name not in fitting):
            if first_fit(cluster, node, [claim], release).status is FirstFitStatus.ALLOCATED:
                missed.append((seed, node))
    assert missed == []


def test_a_plan_takes_a_device_once_for_a_request_where_its_manifest_takes_it_twice():
    """kube-scheduler gives two parts of a count the same shared device; the goals are as good, the plan is not that."""
    cluster, sketch, release = case("sharing", "1.37", 5062)
    taken = [
        (placement.request, placement.device) for placement in checked_plan(cluster, sketch, release=release).placements
    ]
    assert len(set(taken)) == len(taken)
