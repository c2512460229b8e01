"""Claims by example: devices chosen on the picture, claims that ask for such devices."""

import dataclasses
import random
from itertools import combinations

import pytest
from checked_plans import checked_plan

from dra_lab import DeviceID, KubernetesRelease, load_cluster, samples
from dra_lab.errors import InputError
from dra_lab.index.catalogue import catalogue
from dra_lab.model.sketch import asks
from dra_lab.model.sketch_rules import check_sketch
from dra_lab.sketch.by_example import added_to, by_example
from dra_lab.sketch.cel_text import Condition, fewest
from dra_lab.sketch.cluster_candidates import candidates
from dra_lab.sketch.compile import compile_claim
from dra_lab.topology.locality import localities

RELEASE = KubernetesRelease("1.36")
SAMPLES = [sample.name for sample in samples()]


def _chosen(name, seed):
    cluster = load_cluster(f"sample:{name}")
    draw = random.Random(f"{name} {seed}")
    node = draw.choice(cluster.node_names)
    seen = {item.id: item for item in catalogue(cluster).devices if not item.device.taints}
    here = localities(cluster, node)
    devices = [device for device, place in here.items() if place.kind != "other" and device in seen]
    return cluster, node, draw.sample(devices, min(len(devices), draw.randint(1, 4)))


@pytest.mark.parametrize("name", SAMPLES)
def test_every_claim_takes_the_chosen_devices(name):
    """Each chosen device matches one request of each claim per time that it was chosen, and the drawing is sound."""
    for seed in range(3):
        cluster, node, devices = _chosen(name, seed)
        for example in by_example(cluster, node, devices, RELEASE):
            check_sketch(example.sketch)
            taken = set()
            for request in example.sketch.requests:
                ids = candidates(cluster, asks(request)[0], RELEASE).ids & set(devices)
                assert len(ids - taken) >= asks(request)[0].count
                taken |= ids
            assert taken == set(devices)
            assert compile_claim(example.sketch, cluster, RELEASE).spec.devices.requests


@pytest.mark.parametrize("name", SAMPLES)
def test_the_most_general_claim_comes_first(name):
    """No later claim takes more devices of the cluster than an earlier one."""
    for seed in range(3):
        counts = [sum(e.matching.values()) for e in by_example(*_chosen(name, seed), RELEASE)]
        assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize("name", SAMPLES)
def test_an_exact_claim_leaves_nothing_else_on_the_node(name):
    """Where a claim is called exact, no other device of the node matches any of its requests."""
    for seed in range(3):
        cluster, node, devices = _chosen(name, seed)
        for example in by_example(cluster, node, devices, RELEASE):
            asked = [ask for request in example.sketch.requests for ask in asks(request)]
            others = set(localities(cluster, node)) - set(devices)
            found = set().union(*(candidates(cluster, ask, RELEASE).ids for ask in asked))
            assert example.exact == (not found & others)


@pytest.mark.some(2)
@pytest.mark.parametrize("name", ["eks-p4d", "dgx-h100", "mi300x"])
def test_links_hold_between_the_chosen_devices(name):
    """On the node with nothing in use, the claim with the nearest links fits."""
    for seed in range(4):
        cluster, node, devices = _chosen(name, seed)
        idle = dataclasses.replace(cluster, claims=())
        for example in by_example(idle, node, devices, RELEASE):
            assert checked_plan(idle, example.sketch, release=RELEASE).fits


def test_the_fewest_tests_are_found():
    """Against every subset of random tests: no smaller choice refuses what has to be refused."""
    draw = random.Random(5)
    for _ in range(200):
        tests = [
            Condition(f"t{n}", f"t{n}", frozenset(draw.sample(range(6), draw.randint(1, 4))), False)
            for n in range(draw.randint(1, 6))
        ]
        wanted = frozenset(draw.sample(range(6), draw.randint(1, 4)))
        sizes = [
            size
            for size in range(len(tests) + 1)
            if any(wanted <= frozenset().union(*(t.refuses for t in c)) for c in combinations(tests, size))
        ]
        found = fewest(tests, wanted)
        if not sizes:
            assert found is None
        else:
            assert found is not None
            assert wanted <= frozenset().union(*(t.refuses for t in found))
            assert len(found) == sizes[0] or sizes[0] > 3


def test_nothing_chosen_is_reported():
    """Without a device, the message says what to do."""
    cluster = load_cluster("sample:eks-p4d")
    with pytest.raises(InputError, match="select one or more devices"):
        by_example(cluster, cluster.node_names[0], [], RELEASE)


def test_a_device_of_another_node_is_reported():
    """A device that the node does not see is named."""
    cluster = load_cluster("sample:eks-p4d")
    with pytest.raises(InputError, match="does not see a/b/c"):
        by_example(cluster, cluster.node_names[0], [DeviceID("a", "b", "c")], RELEASE)


def test_an_example_is_added_under_free_names():
    """What is drawn stays as it is, and what is added has names of its own, in its links too."""
    cluster, node, devices = _chosen("dgx-h100", 0)
    example = by_example(cluster, node, devices, RELEASE)[-1].sketch
    both = added_to(example, example)
    check_sketch(both)
    assert both.requests[: len(example.requests)] == example.requests
    assert len(both.requests) == 2 * len(example.requests)
    assert len(both.links) == 2 * len(example.links)
