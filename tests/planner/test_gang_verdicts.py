"""Quota, topology counts and devices of a gang, side by side."""

from __future__ import annotations

import json

import pytest
from kueue_queues import cluster_queue, configuration, flavor

from dra_lab import PodGroup, Workload, explain, load_cluster, read_sketch, with_more_nodes
from dra_lab.manifests.documents import decode_documents
from dra_lab.model.gang_verdicts import Says
from dra_lab.planner.gangs import gang_verdicts, plan_gangs

SMALL = {"worker": {"cpu": "16", "memory": "64Gi"}}
MAPPED = configuration({"gpu": ["gpu.nvidia.com"], "nic": ["dranet"]})


def verdicts(*asked, **options):
    """Return what stops a gang in Kueue."""
    return explain(*asked, **options).verdicts


def decoded(*documents):
    """Objects of Kueue."""
    return tuple(item for item, _ in decode_documents(json.dumps({"kind": "List", "items": list(documents)})).objects)


@pytest.fixture(scope="module")
def pod():
    """The cluster with 16 servers below four leaf switches, of which two, three, one and three are idle."""
    return load_cluster("sample:h100-pod")


def with_quota(cluster, gpus, *, used=0, topologies=()):
    """The cluster with one queue that has a quota of GPUs."""
    usage = {"gpu": used, "nic": 0, "cpu": 0, "memory": 0}
    queue = cluster_queue("team-a", {"gpu": gpus, "nic": 500, "cpu": 5000, "memory": "9Ti"}, usage=usage)
    more = {"topologies": decoded(*topologies)} if topologies else {}
    return cluster.with_objects(queues=decoded(queue, MAPPED), **more)


def gang(pods, level="leaf switch", **fields):
    """A gang of pods with eight GPUs and eight NICs each."""
    return Workload(
        "train", [PodGroup("worker", read_sketch("sample:h100-pod/eight-pairs"), count=pods)], level=level, **fields
    )


def says(found):
    """The three answers in a word each."""
    return tuple(row.says.value for row in found.rows)


CASES = {
    "all is enough": (2, 64, 0, ("yes", "yes", "yes")),
    "quota is in use": (2, 64, 56, ("waits", "yes", "yes")),
    "quota is too small": (2, 8, 0, ("never", "yes", "yes")),
    "devices are in use": (4, 64, 0, ("yes", "yes", "no")),
    "quota and devices": (4, 16, 0, ("never", "yes", "no")),
}


@pytest.mark.parametrize("name", CASES)
def test_each_question_has_its_own_answer(pod, name):
    """A quota does not look at devices, and devices do not look at a quota."""
    pods, quota, used, expected = CASES[name]
    assert says(verdicts(with_quota(pod, quota, used=used), gang(pods), requests=SMALL)) == expected


def test_counts_stop_a_gang_whose_pods_need_too_many_cpus(pod):
    """224 CPUs a server: four pods of 300 CPUs fit nowhere."""
    found = verdicts(with_quota(pod, 64), gang(2), requests={"worker": {"cpu": "300"}})
    assert says(found) == ("yes", "no", "yes")
    assert "Kueue does not admit the gang" in found.counts.sentence


def test_without_requests_the_counts_are_not_known(pod):
    """A drawing names neither CPUs nor memory."""
    assert says(verdicts(with_quota(pod, 64), gang(2))) == ("yes", "unknown", "yes")


def test_a_flavor_without_topology_counts_no_domains(pod):
    """Kueue then checks quota only."""
    cluster = with_quota(pod, 64, topologies=[flavor("h100")])
    found = verdicts(cluster, gang(2, ""), requests=SMALL)
    assert found.counts.says is Says.NOT_COUNTED
    assert found.stopped_by == ()


def test_kueues_choice_without_devices_is_reported(pod):
    """The first leaf has CPUs for three pods and devices for two."""
    found = verdicts(with_quota(pod, 64), gang(3), requests=SMALL)
    assert found.chosen == ("spine-1", "leaf-1")
    assert found.advice == (
        "By its counts Kueue would choose spine-1/leaf-1, which has devices for 2 of 3 pods. "
        "Pin the gang to spine-1/leaf-2."
    )


def test_the_numbers_of_the_domains_are_those_of_the_plan(pod):
    """Devices as in the plan, and never more pods than the gang has."""
    wanted = gang(3)
    plan = plan_gangs(pod, [wanted])
    found = gang_verdicts(with_quota(pod, 64), wanted, plan, requests=SMALL)
    assert [(one.domain, one.devices, one.bound) for one in found.domains] == [
        (headroom.members, headroom.pods.value, headroom.pods.bound) for headroom in plan.where
    ]
    assert {one.counted for one in found.domains} == {3}


def test_a_plan_with_other_gangs_speaks_of_itself(pod):
    """That the plan leaves a gang out does not prove that it has no devices."""
    wanted = [Workload("first", gang(3).pods, level="leaf switch", replicas=2, priority=9), gang(3)]
    found = gang_verdicts(with_quota(pod, 640), wanted[1], plan_gangs(pod, wanted))
    assert found.devices.sentence == "The plan has devices for 0 of 1 gangs beside its other gangs and pods."


def test_no_answer_excludes_another_one(pod):
    """A domain that the plan uses has devices for all pods, and a stopped gang has a question that stops it."""
    for pods in range(1, 6):
        for quota in (8, 24, 64):
            found = verdicts(with_quota(pod, quota), gang(pods), requests=SMALL)
            fits = any(one.devices >= pods for one in found.domains)
            assert fits is (found.devices.says is Says.YES)
            assert bool(found.stopped_by) is (not fits or quota < 8 * pods)


def test_a_topology_that_is_missing_is_not_known(pod):
    """The flavor names it, and the snapshot does not have it."""
    cluster = with_quota(pod, 64, topologies=[flavor("h100", topology="gone")])
    assert verdicts(cluster, gang(2, ""), requests=SMALL).counts.says is Says.UNKNOWN


def test_without_queues_a_topology_alone_is_counted(pod):
    """The quota stays unknown."""
    found = verdicts(pod.with_objects(queues=()), gang(2), requests=SMALL)
    assert says(found) == ("unknown", "yes", "yes")


@pytest.mark.parametrize("level", ["host", "hostname"])
def test_every_host_is_counted(pod, level):
    """A step of the replay lists 24 of these 40 hosts."""
    many = with_more_nodes(with_quota(pod, 640), like="h100-03", count=24)
    found = verdicts(many, gang(1, level), requests=SMALL)
    assert [one.counted for one in found.domains] == [1] * 40
