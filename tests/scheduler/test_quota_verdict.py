"""The quota of Kueue's queues and a gang: yes, waits, never, inadmissible, unknown; each with its reason."""

from __future__ import annotations

import copy
import random
from pathlib import Path

import pytest
import yaml
from kueue_queues import (
    CLASS,
    KUEUE,
    MAPPED,
    RELEASE,
    SLICE,
    cluster_queue,
    cohort,
    flavor,
    gang,
    local_queue,
    read,
    request,
    workload,
)
from mutated_documents import WEIRD

from dra_lab import ClaimSketch, Finding, PodGroup, Workload, hierarchies
from dra_lab.errors import InputError
from dra_lab.findings import Severity
from dra_lab.model.decoding import from_builtins
from dra_lab.model.gang_verdicts import Says
from dra_lab.scheduler.kueue.quota_verdict import quota_findings, quota_verdict

SAMPLE = yaml.safe_load((Path(__file__).parents[2] / "sample_clusters/h100-pod/queues.yaml").read_text())["items"]


def quota(wanted, *documents, queue="", **more):
    """What the quota says of a gang."""
    return quota_verdict(read(SLICE, CLASS, *documents), wanted, queue, release=RELEASE, **more)


def verdict(wanted, *documents, **more):
    """The answer in a word."""
    return quota(wanted, *documents, **more).row.says


LENT = (
    cluster_queue("team-a", {"gpu": (8, 4, None)}, cohort="all", usage={"gpu": 4}),
    cluster_queue("team-b", {"gpu": (8, None, 2)}, cohort="all", usage={"gpu": 0}),
    cohort("all", {"gpu": 1}),
    MAPPED,
)


@pytest.mark.parametrize(
    ("pods", "says"), [(4, Says.YES), (7, Says.YES), (8, Says.WAITS), (11, Says.WAITS), (12, Says.NEVER)]
)
def test_own_and_lent_quota_decide(pods, says):
    """Own 8, of which 4 are in use; the Cohort lends its own 1 and 2 of the other queue, at most 4."""
    assert verdict(gang(pods), *LENT, queue="team-a") is says


def test_the_amounts_are_there_for_each_resource_and_flavor():
    """Needed, available, borrowed, most, own and in use."""
    [row] = quota(gang(5), *LENT, queue="team-a").amounts
    assert (row.resource, row.flavor, row.classes) == ("gpu", "h100", ("gpu.example.com",))
    assert (row.wanted, row.available, row.borrowable, row.most, row.nominal, row.used) == (5, 7, 3, 11, 8, 4)


def test_admitted_workloads_count_where_no_status_does():
    """Finished workloads hold nothing."""
    queue = cluster_queue("a", {"gpu": 8})
    held = (workload("w", "a", {"gpu": "6"}), workload("done", "a", {"gpu": "2"}, finished=True))
    assert verdict(gang(2), queue, *held, MAPPED) is Says.YES
    assert verdict(gang(3), queue, *held, MAPPED) is Says.WAITS


def test_without_status_and_workloads_a_note_says_that_usage_is_not_known():
    """A hand-written ClusterQueue counts as unused."""
    assert any(
        "count as unused: a" in note for note in quota(gang(1), cluster_queue("a", {"gpu": 8}), MAPPED).row.notes
    )


def test_pod_sets_share_the_quota():
    """Each alone would fit; together they never do."""
    claim = from_builtins({"name": "claim", "requests": [request()]}, ClaimSketch)
    groups = [PodGroup(name, claim, count=5) for name in ("one", "two")]
    queue = cluster_queue("a", {"gpu": 8}, usage={})
    assert verdict(Workload("train", groups), queue, MAPPED) is Says.NEVER


def test_each_gang_of_several_waits_for_the_one_before_it():
    """They are workloads of their own, so a part is admitted."""
    found = quota(gang(4, replicas=3), cluster_queue("a", {"gpu": 9}, usage={}), MAPPED)
    assert (found.row.says, found.gangs) == (Says.WAITS, 2)


REFUSED = {
    "a class without mapping": (gang(1, request(cls="nic.example.com")), (), "maps no resource to the DeviceClass"),
    "all devices": (gang(1, request(allocationMode="All", count=0)), (), "allocationMode All"),
    "alternatives": (
        gang(1, {"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": "gpu.example.com"}]}),
        (),
        "firstAvailable",
    ),
    "a shared claim": (
        gang(1, shared_claims=(from_builtins({"name": "c", "requests": []}, ClaimSketch),)),
        (),
        "name a ResourceClaim",
    ),
    "a failing selector": (
        gang(1, request(selectors=[{"cel": {"expression": 'device.attributes["a.b"].c == 1'}}])),
        (),
        "its selector fails",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_kueue_refuses_is_inadmissible(name):
    """Whatever the quota."""
    wanted, documents, words = REFUSED[name]
    wanted = gang(1) if wanted is None else wanted
    found = quota(wanted, cluster_queue("a", {"gpu": 8}, usage={}), MAPPED, *documents)
    assert (found.row.says, words in found.row.sentence) == (Says.INADMISSIBLE, True)


CLOSED = {
    "no namespace": ({"namespaceSelector": None}, Says.INADMISSIBLE, "no namespace may use it"),
    "another namespace": (
        {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "team-b"}}},
        Says.INADMISSIBLE,
        "does not select the namespace team-a",
    ),
    "a stopped queue": ({"stopPolicy": "Hold"}, Says.WAITS, "stopPolicy Hold"),
}


@pytest.mark.parametrize("name", CLOSED)
def test_a_queue_that_takes_nothing_says_why(name):
    """Its selector, or that it is stopped."""
    spec, says, words = CLOSED[name]
    found = quota(gang(1), cluster_queue("a", {"gpu": 8}, usage={}, **spec), local_queue("l", "a"), MAPPED, queue="l")
    assert (found.row.says, words in found.row.sentence) == (says, True)


def test_an_inactive_queue_is_inadmissible():
    """Its own status says so."""
    queue = cluster_queue("a", {"gpu": 8}, usage={})
    queue["status"]["conditions"] = [{"type": "Active", "status": "False", "reason": "FlavorNotFound"}]
    found = quota(gang(1), queue, MAPPED)
    assert (found.row.says, "FlavorNotFound" in found.row.sentence) == (Says.INADMISSIBLE, True)


def test_cohorts_in_a_cycle_admit_nothing():
    """Only the tree of the queue counts."""
    queue = cluster_queue("a", {"gpu": 8}, cohort="x", usage={})
    cycle = (cohort("x", parent="y"), cohort("y", parent="x"))
    assert verdict(gang(1), queue, *cycle, MAPPED, queue="a") is Says.INADMISSIBLE
    assert verdict(gang(1), cluster_queue("b", {"gpu": 8}, usage={}), *cycle, MAPPED, queue="b") is Says.YES


def test_labels_of_a_namespace_that_are_not_known_are_a_note():
    """Only the name of a namespace is known."""
    queue = cluster_queue("a", {"gpu": 8}, usage={}, namespaceSelector={"matchLabels": {"team": "a"}})
    found = quota(gang(1), queue, local_queue("l", "a"), MAPPED)
    assert (found.row.says, any("Labels of the namespace team-a" in note for note in found.row.notes)) == (
        Says.YES,
        True,
    )


@pytest.mark.parametrize("resource", ["gpu.example.com", "gpu.example.com/devices"])
def test_without_the_configuration_a_resource_of_the_name_of_the_class_is_assumed(resource):
    """A note says so."""
    found = quota(gang(1), cluster_queue("a", {resource: 8}, usage={}))
    assert (found.row.says, any(note.startswith("Assumed") for note in found.row.notes)) == (Says.YES, True)


def test_without_the_configuration_another_resource_is_not_known():
    """How to read it is in the notes."""
    found = quota(gang(1), cluster_queue("a", {"gpu": 8}, usage={}))
    assert (found.row.says, "Configuration is not known" in found.row.sentence) == (Says.UNKNOWN, True)
    assert any("kubectl get configmap" in note for note in found.row.notes)


def test_a_resource_without_quota_never_fits():
    """The class is mapped, and the queue does not count the resource."""
    found = quota(gang(1), cluster_queue("a", {"nic": 8}, usage={}), MAPPED)
    assert (found.row.says, "has no quota of gpu" in found.row.sentence) == (Says.NEVER, True)


def test_without_queues_the_quota_is_not_known():
    """It is not called unlimited, and the command that reads queues is given."""
    found = quota(gang(1))
    assert (found.row.says, "no ClusterQueue" in found.row.sentence) == (Says.UNKNOWN, True)
    assert any("kubectl get clusterqueues" in note for note in found.row.notes)


@pytest.mark.parametrize("plural", ["clusterqueues", "cohorts"])
def test_what_may_not_be_read_is_not_known(plural):
    """A missing right is no missing quota."""
    finding = Finding("right-missing", Severity.NOTE, f"{plural}.{KUEUE}", f"you may not list {plural}")
    documents = () if plural == "clusterqueues" else (cluster_queue("a", {"gpu": 8}, cohort="all", usage={}), MAPPED)
    cluster = read(SLICE, CLASS, *documents, findings=[finding])
    found = quota_verdict(cluster, gang(1), release=RELEASE)
    assert (found.row.says, f"you may not list {plural}" in found.row.sentence) == (Says.UNKNOWN, True)


def test_a_local_queue_names_its_cluster_queue():
    """By name, or with its namespace."""
    documents = (
        cluster_queue("a", {"gpu": 8}, usage={}),
        local_queue("l", "a"),
        local_queue("l", "a", "team-b"),
        MAPPED,
    )
    assert quota(gang(1), *documents, queue="team-b/l").queue == "team-b/l"
    with pytest.raises(InputError, match="in several namespaces; name one of them: team-a/l, team-b/l"):
        quota(gang(1), *documents, queue="l")


def test_an_unknown_queue_is_an_error_with_the_names():
    """A similar name is suggested."""
    with pytest.raises(InputError, match=r"there is no LocalQueue and no ClusterQueue 'trian'.*train"):
        quota(gang(1), cluster_queue("train", {"gpu": 8}, usage={}), MAPPED, queue="trian")


def test_several_queues_need_a_name():
    """Nothing is guessed."""
    documents = [cluster_queue(name, {"gpu": 8}, usage={}) for name in ("a", "b")]
    with pytest.raises(InputError, match="name a ClusterQueue: a, b"):
        quota(gang(1), *documents)


def test_cpu_and_memory_count_where_they_are_known():
    """CPUs in thousandths, memory in bytes, pods one by one."""
    queue = cluster_queue("a", {"gpu": 8, "cpu": "9500m", "memory": "64Gi", "pods": 4}, usage={})
    needs = {"worker": {"cpu": "2500m", "memory": "16Gi"}}
    assert verdict(gang(3), queue, MAPPED, requests=needs) is Says.YES
    found = quota(gang(4), queue, MAPPED, requests=needs)
    assert found.row.sentence.startswith("a may use at most 9.5 CPUs (flavor h100)")


def test_without_cpu_and_memory_a_note_says_what_was_counted():
    """A drawing names devices only."""
    queue = cluster_queue("a", {"gpu": 8, "cpu": 1}, usage={})
    [note] = [one for one in quota(gang(1), queue, MAPPED).row.notes if "device classes" in one]
    assert "although the queue limits cpu" in note


def racks(topology=""):
    """A node in a rack, a Topology and a flavor."""
    labels = {"example.com/rack": "r1", "kubernetes.io/hostname": "node-1"}
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1", "labels": labels}}
    levels = [{"nodeLabel": "example.com/rack"}]
    made = {"apiVersion": f"{KUEUE}/v1beta2", "kind": "Topology", "metadata": {"name": "t"}, "spec": {"levels": levels}}
    return node, made, flavor(topology=topology)


@pytest.mark.parametrize(("topology", "says"), [("t", Says.YES), ("", Says.NEVER)])
def test_a_level_needs_a_flavor_with_that_level(topology, says):
    """Kueue skips the other flavors."""
    documents = (cluster_queue("a", {"gpu": 8}, usage={}), MAPPED, *racks(topology))
    known = hierarchies(read(SLICE, *documents))
    assert verdict(gang(1, level="rack"), *documents, hierarchies=known) is says


def test_workloads_that_wait_already_are_a_note():
    """They may be admitted first."""
    queue = cluster_queue("a", {"gpu": 8}, usage={})
    queue["status"]["pendingWorkloads"] = 3
    assert any(note.startswith("3 workloads wait") for note in quota(gang(1), queue, MAPPED).row.notes)


FINDINGS = {
    "enough": (4, "team-a", []),
    "in use": (8, "team-a", [("gang-quota", "warning")]),
    "too much": (12, "team-a", [("gang-quota", "error")]),
    "no queue": (99, "", []),
    "another queue": (1, "team-x", [("gang-queue-unknown", "warning")]),
}


@pytest.mark.parametrize("name", FINDINGS)
def test_a_quota_that_stops_a_gang_is_a_finding(name):
    """A gang without a queue is not managed by Kueue."""
    pods, queue, expected = FINDINGS[name]
    found = quota_findings(read(SLICE, CLASS, *LENT), gang(pods), queue, release=RELEASE)
    assert [(one.rule, one.severity) for one in found] == expected


def test_a_queue_of_another_scheduler_is_no_finding():
    """Without queues of Kueue it may be one of KAI or Volcano."""
    assert list(quota_findings(read(SLICE, CLASS), gang(1), "kai", release=RELEASE)) == []


def test_broken_queues_raise_nothing_else():
    """Values of the sample's queues replaced one at a time: each is read or refused, and answered."""
    draw = random.Random(11)
    for _ in range(300):
        documents = copy.deepcopy(SAMPLE)
        replaced(draw.choice(documents), draw)
        try:
            quota_verdict(read(SLICE, CLASS, *documents), gang(2), "train", release=RELEASE)
        except InputError:
            continue


def replaced(value, draw):
    """Replace one value somewhere below a document by a weird one."""
    while True:
        key = draw.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if not isinstance(value[key], dict | list) or not value[key] or draw.random() < 0.15:
            value[key] = copy.deepcopy(draw.choice(WEIRD))
            return
        value = value[key]
