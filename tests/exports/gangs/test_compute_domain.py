"""A ComputeDomain comes with a gang that needs one NVLink domain, and with the level that it does not keep."""

from __future__ import annotations

import pytest
import yaml
from gangs_to_export import BLOCK, CLIQUE, GPUS, cliques, gang, group, tree
from small_claims import request

from dra_lab import ClaimSketch
from dra_lab.exports.gangs.compute_domain import CHANNEL_CLASS
from dra_lab.exports.gangs.gang_files import SCHEDULERS, gang_files

EVERY = pytest.mark.parametrize("scheduler", SCHEDULERS)


def exported(one, scheduler="kube-scheduler", hierarchy=None):
    """Return the files of a gang."""
    return gang_files(one, scheduler, hierarchy or cliques(), queue="q")


@EVERY
@pytest.mark.parametrize("level", ["NVLink domain", "NVLink partition"])
def test_an_nvlink_level_makes_a_compute_domain(scheduler, level):
    """Each copy has a ComputeDomain of its own."""
    files = exported(gang(level=level, replicas=2), scheduler)
    made = yaml.safe_load_all(files.documents["computedomain.yaml"])
    assert [(one["metadata"]["name"], one["spec"]["channel"]["resourceClaimTemplate"]["name"]) for one in made] == [
        ("train-0", "train-0-channel"),
        ("train-1", "train-1-channel"),
    ]


@pytest.mark.parametrize(
    ("one", "hierarchy"),
    [(gang(level="host"), cliques()), (gang(), cliques()), (gang(level="rack"), tree())],
)
def test_other_gangs_have_none(one, hierarchy):
    """A channel would keep other pods with one off the node."""
    assert "computedomain.yaml" not in exported(one, hierarchy=hierarchy).documents


def test_a_level_with_the_label_of_cliques_makes_one_in_any_hierarchy():
    """A Topology of Kueue or KAI may have the label as a level."""
    hierarchy = tree("mine", (BLOCK, CLIQUE))
    assert "computedomain.yaml" in exported(gang(level="rack"), hierarchy=hierarchy).documents
    assert "computedomain.yaml" not in exported(gang(level="block"), hierarchy=hierarchy).documents


def test_pods_that_draw_a_channel_get_no_second_one():
    """A node has one, so the pods would start nowhere; a Finding says that there is no ComputeDomain."""
    channel = ClaimSketch(name="channel", requests=(request("channel", CHANNEL_CLASS),))
    files = exported(gang(group(claims=(GPUS, channel)), level="NVLink partition"))
    job = yaml.safe_load(files.documents["job.yaml"])["spec"]["template"]["spec"]
    assert [one["name"] for one in job["resourceClaims"]] == ["gpus", "channel"]
    assert "computedomain.yaml" not in files.documents
    assert "compute-domain-drawn" in [one.rule for one in files.findings]


def test_only_the_pods_that_need_the_domain_get_a_channel():
    """A leader may run anywhere."""
    one = gang(group("leader", 1), group("worker", level="NVLink partition"))
    jobs = yaml.safe_load_all(exported(one).documents["job.yaml"])
    entries = [[item["name"] for item in job["spec"]["template"]["spec"]["resourceClaims"]] for job in jobs]
    assert entries == [["gpus"], ["gpus", "compute-domain-channel"]]


def test_the_container_uses_the_channel():
    """A claim that no container uses is allocated for nothing."""
    job = yaml.safe_load(exported(gang(level="NVLink partition")).documents["job.yaml"])
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert {"name": "compute-domain-channel"} in container["resources"]["claims"]


@EVERY
def test_the_clique_is_required_beside_it(scheduler):
    """The channels are devices of single nodes, and hold nothing together."""
    text = "".join(exported(gang(level="NVLink partition"), scheduler).documents.values())
    wanted = "highestTierAllowed: 1" if scheduler == "volcano" else CLIQUE
    exists = {"key": CLIQUE, "operator": "Exists"}
    assert (wanted in text, f"- key: {exists['key']}\n" in text) == (True, True)


def test_what_it_does_not_do_is_reported():
    """It holds pods to no clique, and a node has one channel."""
    rules = [one.rule for one in exported(gang(level="NVLink partition")).findings]
    assert {"compute-domain-clique", "compute-domain-node"} <= set(rules)
