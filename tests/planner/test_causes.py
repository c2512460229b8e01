"""The parts of a drawing that are named as the cause of a misfit."""

from __future__ import annotations

from dataclasses import replace as changed

import pytest
from checked_plans import checked_plan
from msgspec.structs import replace

from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import How
from dra_lab.planner.why.causes import Causes, causes
from dra_lab.session import read_sketch
from dra_lab.sources import load_cluster


@pytest.fixture(scope="module")
def plans():
    """Plans on eks-p4d: two pairs, five pairs, and four pairs that share a single PCIe root."""
    cluster, release = load_cluster("sample:eks-p4d"), KubernetesRelease("1.36")
    pairs = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    together = replace(pairs, links=tuple(replace(link, how=How.TOGETHER) for link in pairs.links))
    five = read_sketch("sample:eks-p4d/five-pairs")
    return {
        name: checked_plan(cluster, sketch, release=release)
        for name, sketch in (("fits", pairs), ("five", five), ("together", together))
    }


def test_a_plan_that_fits_has_no_causes(plans):
    """Nothing is marked in a drawing that fits."""
    assert causes(plans["fits"]) == Causes()


def test_a_request_that_no_node_serves_is_the_cause(plans):
    """Five NICs with RDMA are too many for every node, whatever the link says."""
    assert causes(plans["five"]) == Causes(requests=("nic",))


def test_a_link_comes_with_the_requests_that_it_cannot_connect(plans):
    """No PCIe root has two NICs, so the link and what it needs of them are in the way."""
    found = causes(plans["together"])
    link = plans["together"].sketch.links[0]
    assert found.links == (link.name,)
    assert set(found.requests) <= set(link.requests)


def test_before_the_conflict_is_known_the_first_sentences_name_the_causes(plans):
    """A link that the sentences are about is marked with both of its requests."""
    early = changed(plans["together"], reasons=None)
    link = early.sketch.links[0]
    assert causes(early) == Causes(requests=tuple(link.requests), links=(link.name,))
