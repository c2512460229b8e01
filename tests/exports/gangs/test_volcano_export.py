"""A gang for Volcano: tasks, partitions, tiers and HyperNodes."""

from __future__ import annotations

import pytest
import yaml
from gangs_to_export import BLOCK, RACK, gang, group, tree
from small_nodes import a_slice, cluster, gpu

from dra_lab.exports.gangs.gang_files import gang_files
from dra_lab.model.hierarchy import Domain, Hierarchy, Level


def exported(one, hierarchy=None):
    return gang_files(one, "volcano", hierarchy or tree())


def job(one, hierarchy=None):
    return yaml.safe_load(exported(one, hierarchy).texts["volcano-job.yaml"])["spec"]


def hyper_nodes(one, hierarchy=None):
    """Return (tier, members) of each HyperNode by name."""
    found = yaml.safe_load_all(exported(one, hierarchy).texts["hypernodes.yaml"])
    return {item["metadata"]["name"]: (item["spec"]["tier"], item["spec"]["members"]) for item in found}


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (gang(), None),
        (gang(level="rack"), {"mode": "hard", "highestTierAllowed": 1}),
        (gang(level="block"), {"mode": "hard", "highestTierAllowed": 2}),
        (gang(level="host"), {"mode": "hard", "highestTierAllowed": 1}),
        (gang(prefer_level="rack"), {"mode": "soft"}),
        (gang(group(level="rack"), level="block"), {"mode": "hard", "highestTierAllowed": 1}),
    ],
)
def test_a_level_is_the_highest_tier(one, expected):
    """Tiers grow outwards from 1."""
    assert job(one).get("networkTopology") == expected


def test_a_level_for_nodes_moves_the_other_tiers():
    """A HyperNode for each node is then the lowest tier."""
    one = gang(group(pods=8, slices=((2, "host"),)), level="rack")
    assert job(one)["networkTopology"]["highestTierAllowed"] == 2


def test_slices_are_partitions_of_a_task():
    """All of the minimum are whole partitions."""
    (task,) = job(gang(group(pods=8, least=4, slices=((4, "rack"),)), level="block"))["tasks"]
    assert (task["replicas"], task["minAvailable"], task["partitionPolicy"]) == (
        8,
        4,
        {
            "totalPartitions": 2,
            "partitionSize": 4,
            "minPartitions": 1,
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
        },
    )


def test_a_level_of_one_group_is_one_partition():
    """A partition is placed as a whole, so that the minimum of the group becomes all of its pods."""
    found = job(gang(group("a", level="rack", least=2), group("b", least=3), level="block"))
    assert [(one["minAvailable"], "partitionPolicy" in one) for one in found["tasks"]] == [(4, True), (3, False)]


def test_the_minimum_of_the_job_is_that_of_its_tasks():
    assert job(gang(group("a", least=2), group("b", least=3)))["minAvailable"] == 5


@pytest.mark.parametrize(
    ("hierarchy", "name", "selectors"),
    [
        (tree(same=True), "b1-r0", [{"labelMatch": {"matchLabels": {BLOCK: "b1", RACK: "r0"}}}]),
        (tree(keys=("", "")), "b0-b0r0", [{"exactMatch": {"name": name}} for name in ("n0", "n1")]),
    ],
    ids=["of repeated values", "without a label"],
)
def test_hyper_nodes_select_exactly_the_nodes_of_their_domain(hierarchy, name, selectors):
    """A rack of the same name in another block is another rack."""
    found = hyper_nodes(gang(level="rack"), hierarchy)[f"fabric-{name}"]
    assert found == (1, [{"type": "Node", "selector": selector} for selector in selectors])


def of_hyper_nodes():
    levels = (Level("block", "", "HyperNode tier 5"), Level("rack", "", "HyperNode tier 2"))
    return Hierarchy("HyperNodes", levels, (Domain(("b",), ("n1", "n2")), Domain(("b", "r"), ("n1", "n2"))))


def test_the_tiers_of_the_cluster_are_used():
    one = gang(level="block")
    assert job(one, of_hyper_nodes())["networkTopology"]["highestTierAllowed"] == 5


def test_hyper_nodes_of_the_cluster_are_not_written():
    """A node would be in two of one tier."""
    assert "hypernodes.yaml" not in exported(gang(level="rack"), of_hyper_nodes()).texts


@pytest.mark.parametrize("hierarchy", [of_hyper_nodes(), None], ids=["HyperNodes", "nothing is known"])
def test_a_host_that_is_no_tier_is_lost(hierarchy):
    """Nothing in the files holds the pods to one node then."""
    assert "gang-level-lost" in [one.rule for one in gang_files(gang(level="host"), "volcano", hierarchy).findings]


def test_a_host_of_a_cluster_without_a_hierarchy_is_a_hyper_node():
    on = cluster(a_slice("gpu.nvidia.com", gpu(0), node="n1"), a_slice("gpu.nvidia.com", gpu(0), node="n2"))
    files = gang_files(gang(level="host"), "volcano", cluster=on)
    found = yaml.safe_load_all(files.texts["hypernodes.yaml"])
    assert [one["metadata"]["name"] for one in found] == ["nodes-host-n1", "nodes-host-n2"]
