"""A gang for kube-scheduler and for KAI: the PodGroup of each, its pods, shared claims, and the gates that are off."""

from __future__ import annotations

import pytest
import yaml
from gangs_to_export import BLOCK, CHANNEL, RACK, gang, group, tree

from dra_lab import KubernetesRelease
from dra_lab.exports.gangs.gang_files import gang_files


def exported(one, hierarchy=None, release="1.36"):
    return gang_files(one, "kube-scheduler", hierarchy or tree(), release=release)


def pod_group(one, release="1.36"):
    return yaml.safe_load(exported(one, release=release).texts["podgroup.yaml"])


@pytest.mark.parametrize(
    ("release", "version"), [("1.36", "scheduling.k8s.io/v1alpha2"), ("1.37", "scheduling.k8s.io/v1beta1")]
)
def test_each_release_has_its_version(release, version):
    """1.37 no longer serves that of 1.36."""
    assert pod_group(gang(), release)["apiVersion"] == version


@pytest.mark.parametrize(
    ("one", "key"),
    [
        (gang(level="rack"), RACK),
        (gang(group(level="rack"), level="block"), RACK),
        (gang(group("a", level="rack"), group("b"), level="block"), BLOCK),
    ],
)
def test_one_level_is_required(one, key):
    assert pod_group(one)["spec"]["schedulingConstraints"] == {"topology": [{"key": key}]}


def test_the_minimum_is_that_of_all_groups():
    """One PodGroup has all pods, so that they start together."""
    assert pod_group(gang(group("a", least=2), group("b")))["spec"]["schedulingPolicy"] == {"gang": {"minCount": 6}}


def test_pods_name_their_pod_group():
    jobs = yaml.safe_load_all(exported(gang(group("a"), group("b"), replicas=2)).texts["job.yaml"])
    named = [job["spec"]["template"]["spec"]["schedulingGroup"]["podGroupName"] for job in jobs]
    assert named == ["train-0", "train-0", "train-1", "train-1"]


def test_a_shared_claim_is_the_same_entry_in_the_group_and_its_pods():
    """Otherwise each pod gets a claim of its own."""
    files = exported(gang(shared_claims=(CHANNEL,)))
    job = yaml.safe_load(files.texts["job.yaml"])["spec"]["template"]["spec"]
    (shared,) = yaml.safe_load(files.texts["podgroup.yaml"])["spec"]["resourceClaims"]
    assert (shared in job["resourceClaims"], shared["resourceClaimTemplateName"]) == (True, "train-shared-channel")


def test_a_claim_that_one_group_shares_is_an_entry_of_its_pods_only():
    """The PodGroup has it once, and pods without the entry do not use it."""
    files = exported(gang(group("leader", 1), group("worker", 4, shared_claims=(CHANNEL,)), shared_claims=(CHANNEL,)))
    jobs = yaml.safe_load_all(files.texts["job.yaml"])
    names = [[one["name"] for one in job["spec"]["template"]["spec"]["resourceClaims"]] for job in jobs]
    entries = yaml.safe_load(files.texts["podgroup.yaml"])["spec"]["resourceClaims"]
    assert (names, [(one["name"], one["resourceClaimTemplateName"]) for one in entries]) == (
        [["gpus", "channel"], ["gpus", "channel", "channel-1"]],
        [("channel", "train-shared-channel"), ("channel-1", "train-worker-shared-channel")],
    )


def test_pods_and_group_have_one_priority():
    files = exported(gang(priority=-5))
    job = yaml.safe_load(files.texts["job.yaml"])["spec"]["template"]["spec"]
    value = yaml.safe_load(files.texts["priorityclass.yaml"])["value"]
    assert (job["priorityClassName"], pod_group(gang(priority=-5))["spec"]["priorityClassName"], value) == (
        "gang-priority-minus-5",
        "gang-priority-minus-5",
        -5,
    )


@pytest.mark.parametrize(
    ("one", "release", "expected"),
    [
        (gang(), "1.36", ["pod-group-gate", "pod-group-version", "pod-group-gang-gate", "pod-group-upgrade"]),
        (gang(), "1.37", ["pod-group-gate", "pod-group-version"]),
        (gang(level="rack"), "1.37", ["pod-group-gate", "pod-group-version", "pod-group-topology-gate"]),
        (gang(group(least=2)), "1.37", ["pod-group-gate", "pod-group-version", "pod-group-minimum"]),
        (gang(shared_claims=(CHANNEL,)), "1.37", ["pod-group-gate", "pod-group-version", "pod-group-claims-gate"]),
        (
            gang(shared_claims=(CHANNEL,)),
            KubernetesRelease("1.37", {"DRAWorkloadResourceClaims": True}),
            ["pod-group-gate", "pod-group-version"],
        ),
    ],
)
def test_gates_that_are_off_are_reported(one, release, expected):
    """The API server drops what they are for without a word."""
    rules = [found.rule for found in exported(one, release=release).findings]
    assert rules == expected


def test_the_dropped_field_is_named():
    """A person looks for it in the pod, where it is not."""
    found = next(one for one in exported(gang()).findings if one.rule == "pod-group-gate")
    assert "drops spec.schedulingGroup silently" in found.message


@pytest.mark.parametrize(("same", "expected"), [(True, True), (False, False)])
def test_values_with_several_parents_are_merged(same, expected):
    """kube-scheduler compares the bare value of one label."""
    rules = [one.rule for one in exported(gang(level="rack"), tree(same=same)).findings]
    assert ("pod-group-same-value" in rules) is expected


def files_for_kai(one, hierarchy=None, queue="team-a"):
    return gang_files(one, "kai", hierarchy or tree(), queue=queue)


def kai_group(one):
    return yaml.safe_load(files_for_kai(one).texts["podgroup.yaml"])["spec"]


def in_one(label, **more):
    return {"topologyConstraint": {"topology": "fabric", **({"requiredTopologyLevel": label} if label else {}), **more}}


def test_one_group_has_a_minimum_and_no_subgroups():
    """A required and a preferred level go together."""
    assert kai_group(gang(group(least=2), level="block", prefer_level="rack")) == {
        "queue": "team-a",
        "minMember": 2,
        **in_one(BLOCK, preferredTopologyLevel=RACK),
    }


def test_groups_are_subgroups_of_one_domain():
    """The constraint of the gang holds for all, that of a group for its own pods."""
    assert kai_group(gang(group("a", least=3), group("b", level="rack"), level="block")) == {
        "queue": "team-a",
        "minSubGroup": 2,
        **in_one(BLOCK),
        "subGroups": [{"name": "a", "minMember": 3}, {"name": "b", "minMember": 4, **in_one(RACK)}],
    }


def test_slices_are_subgroups_below_that_of_their_group():
    """As many of them are needed as the minimum has."""
    assert kai_group(gang(group(pods=8, least=4, slices=((4, "rack"),))))["subGroups"] == [
        {"name": "worker", "minSubGroup": 1},
        {"name": "worker-0", "parent": "worker", "minMember": 4, **in_one(RACK)},
        {"name": "worker-1", "parent": "worker", "minMember": 4, **in_one(RACK)},
    ]


def test_each_leaf_has_a_job_whose_pods_name_it():
    """One template has one label, so that each slice needs its own Job."""
    jobs = list(yaml.safe_load_all(files_for_kai(gang(group(pods=8, slices=((4, "rack"),)))).texts["job.yaml"]))
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
    assert ("kai-topology.yaml" in files_for_kai(one, tree(source=source)).texts) is written
