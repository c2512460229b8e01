"""A gang for KAI: the tree of subgroups, the Jobs of its leaves, and what KAI does not support."""

from __future__ import annotations

import pytest
import yaml
from gangs_to_export import BLOCK, CHANNEL, RACK, gang, group, tree
from small_claims import alternative, one_of

from dra_lab import ClaimSketch
from dra_lab.exports.gangs.gang_files import gang_files

LIST = ClaimSketch(
    name="gpus", requests=(one_of("gpu", alternative("a", "gpu.nvidia.com"), alternative("b", "dranet")),)
)


def exported(one, hierarchy=None, queue="team-a"):
    return gang_files(one, "kai", hierarchy or tree(), queue=queue)


def pod_group(one):
    return yaml.safe_load(exported(one).documents["podgroup.yaml"])["spec"]


def in_one(label, **more):
    return {"topologyConstraint": {"topology": "fabric", **({"requiredTopologyLevel": label} if label else {}), **more}}


def test_one_group_has_a_minimum_and_no_subgroups():
    """A required and a preferred level go together."""
    assert pod_group(gang(group(least=2), level="block", prefer_level="rack")) == {
        "queue": "team-a",
        "minMember": 2,
        **in_one(BLOCK, preferredTopologyLevel=RACK),
    }


def test_groups_are_subgroups_of_one_domain():
    """The constraint of the gang holds for all, that of a group for its own pods."""
    assert pod_group(gang(group("a", least=3), group("b", level="rack"), level="block")) == {
        "queue": "team-a",
        "minSubGroup": 2,
        **in_one(BLOCK),
        "subGroups": [{"name": "a", "minMember": 3}, {"name": "b", "minMember": 4, **in_one(RACK)}],
    }


def test_slices_are_subgroups_below_that_of_their_group():
    """As many of them are needed as the minimum has."""
    assert pod_group(gang(group(pods=8, least=4, slices=((4, "rack"),))))["subGroups"] == [
        {"name": "worker", "minSubGroup": 1},
        {"name": "worker-0", "parent": "worker", "minMember": 4, **in_one(RACK)},
        {"name": "worker-1", "parent": "worker", "minMember": 4, **in_one(RACK)},
    ]


def test_each_leaf_has_a_job_whose_pods_name_it():
    """One template has one label, so that each slice needs its own Job."""
    jobs = list(yaml.safe_load_all(exported(gang(group(pods=8, slices=((4, "rack"),)))).documents["job.yaml"]))
    assert [
        (
            job["spec"]["parallelism"],
            job["spec"]["template"]["metadata"]["labels"]["kai.scheduler/subgroup-name"],
            job["spec"]["template"]["metadata"]["annotations"],
            job["metadata"]["annotations"],
        )
        for job in jobs
    ] == [(4, f"worker-{at}", {"pod-group-name": "train"}, {"kai.scheduler/skip-podgrouper": "true"}) for at in (0, 1)]


@pytest.mark.parametrize(
    ("one", "source", "written"),
    [(gang(), "", False), (gang(level="rack"), "", True), (gang(level="rack"), "KAI Topology main", False)],
)
def test_a_topology_is_written_if_the_cluster_lacks_it(one, source, written):
    """The levels of one that exists are immutable."""
    assert ("kai-topology.yaml" in exported(one, tree(source=source)).documents) is written


@pytest.mark.parametrize(
    ("one", "queue", "rule"),
    [
        (gang(), "", "kai-queue-missing"),
        (gang(shared_claims=(CHANNEL,)), "q", "kai-shared-claim"),
        (gang(group(claims=LIST)), "q", "kai-alternatives"),
        (gang(priority=100), "q", "kai-not-preempted"),
        (gang(level="rack"), "q", "kai-devices-not-counted"),
    ],
)
def test_what_kai_does_not_support_is_reported(one, queue, rule):
    assert rule in [found.rule for found in exported(one, queue=queue).findings]
