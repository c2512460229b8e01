"""ClusterQueues, LocalQueues, Cohorts, Workloads and Kueue's Configuration: files, captures, pseudonyms, live."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from api_server.answers import Refused
from api_server.watched import QUICK, Watched
from kueue_queues import cluster_queue, cohort, config_map, configuration, flavor, local_queue, workload

from dra_lab.sources import load_cluster, load_texts
from dra_lab.sources.anonymise import anonymise
from dra_lab.sources.live import load_context
from dra_lab.sources.live.topology_objects import CONFIG_MAP
from dra_lab.sources.snapshots import make_snapshot, write_snapshot

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}}
MAPPED = configuration({"gpu.example.com/devices": ["gpu.example.com"], "acme-nics": ["nic.example.com"]})
EVERY = (
    cluster_queue(
        "acme-a",
        {"gpu.example.com/devices": (8, 4, 2), "acme-nics": 3, "cpu": "1500m"},
        cohort="acme-all",
        usage={"gpu.example.com/devices": "4", "acme-nics": 0, "cpu": "500m"},
        flavor="acme-h100",
        namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "acme-team"}},
        admissionChecksStrategy={"admissionChecks": [{"name": "acme-check"}]},
    ),
    cohort("acme-all", {"acme-nics": 5}, "acme-company"),
    local_queue("acme-local", "acme-a", "acme-team"),
    workload("acme-job", "acme-a", {"acme-nics": "2"}, flavor="acme-h100"),
    MAPPED,
    flavor("acme-h100", nodeTaints=[{"key": "acme.example/x", "value": "acme", "effect": "NoSchedule"}]),
)


def read(*documents, text=json.dumps):
    """The cluster of a node and these documents in one file."""
    return load_texts({"c.json": text({"apiVersion": "v1", "kind": "List", "items": [NODE, *documents]})})


def kinds(cluster):
    """The kinds of its queue objects, sorted."""
    return sorted(one.kind for one in cluster.queues)


def by_kind(cluster):
    """Its queue objects; a capture has them kind by kind."""
    return sorted(cluster.queues, key=lambda one: one.kind)


def test_a_file_has_every_kind_without_findings():
    """What is not read of them, such as pods of Workloads, is no finding."""
    found = read(*EVERY)
    assert kinds(found) == ["ClusterQueue", "Cohort", "Configuration", "LocalQueue", "Workload"]
    assert found.findings == ()


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_each_version_names_the_cohort_in_its_own_field(version):
    """`cohort` became `cohortName`."""
    [queue] = read(cluster_queue("a", {"gpu": 1}, cohort="all", version=version)).queues
    assert queue.parent == "all"


@pytest.mark.parametrize("indent", [None, 1])
def test_the_configuration_may_be_inside_the_config_map_of_the_manager(indent):
    """The rest of the ConfigMap is not read, in one line or many."""
    inside = config_map(json.dumps(MAPPED))
    [found] = read(inside, text=lambda value: json.dumps(value, indent=indent)).queues
    assert (found.name, len(found.resources.device_class_mappings)) == ("kueue-manager-config", 2)


def test_another_config_map_is_no_configuration():
    """It is counted with the other kinds."""
    found = read(config_map("{}"), config_map("]["))
    assert (found.queues, [one.rule for one in found.findings]) == ((), ["kind-ignored"])


def changed(**spec):
    """A ClusterQueue with other fields."""
    return cluster_queue("a", {"gpu": 1}, **spec)


BROKEN = {
    "a quantity": (cluster_queue("a", {"gpu": "8x"}), "resources[0]", "'8x' is not a quantity"),
    "a negative quota": (cluster_queue("a", {"gpu": "-1"}), "resources[0]", "must be 0 or more"),
    "a limit without a Cohort": (cluster_queue("a", {"gpu": (1, 2, None)}), "spec", "needs cohortName"),
    "the field of another version": (
        {**changed(cohort="b", version="v1beta1"), "apiVersion": "kueue.x-k8s.io/v1beta2"},
        "",
        "write spec.cohortName",
    ),
    "a missing quota": (
        changed(resourceGroups=[{"coveredResources": ["a"], "flavors": [{"name": "f", "resources": [{"name": "a"}]}]}]),
        "spec.resourceGroups[0].flavors[0].resources[0]",
        "nominalQuota",
    ),
    "another order": (
        changed(resourceGroups=[{"coveredResources": ["a", "b"], "flavors": [{"name": "f", "resources": []}]}]),
        "spec.resourceGroups[0]",
        "the same order: a, b",
    ),
    "a resource twice": (
        changed(resourceGroups=[{"coveredResources": ["a"]}, {"coveredResources": ["a"]}]),
        "spec",
        "appears twice",
    ),
    "a Cohort's limit": (cohort("c", {"gpu": (1, None, 0)}), "spec", "needs parentName"),
    "a usage": (workload("w", "a", {"gpu": "much"}), "podSetAssignments[0]", "'much' is not a quantity"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_the_api_server_refuses_is_refused_with_its_place(name):
    """The finding has the file, the object and the path; the rest is read."""
    document, path, message = BROKEN[name]
    found = read(document)
    [finding] = found.findings
    assert (finding.rule, found.queues, len(found.nodes)) == ("document-broken", (), 1)
    assert (finding.origin.source, path in finding.origin.path, message in finding.message) == ("c.json", True, True)


def test_a_workload_of_another_api_is_left_alone():
    """Kubernetes has a kind Workload too."""
    found = read({"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload", "metadata": {"name": "w"}})
    assert (found.queues, [one.rule for one in found.findings]) == ((), ["kind-ignored"])


def test_a_capture_keeps_every_kind_and_no_secret(tmp_path):
    """Pods of Workloads and messages of conditions stay behind."""
    before = read(*EVERY, workload("done", "acme-a", {"acme-nics": 1}, finished=True))
    write_snapshot(make_snapshot(before), tmp_path / "out")
    after = load_cluster(tmp_path / "out")
    assert (by_kind(after), after.topologies) == (by_kind(before), before.topologies)
    assert not any(b"secret" in file.read_bytes() for file in (tmp_path / "out").iterdir())


def test_pseudonyms_hide_every_name_and_keep_what_belongs_together():
    """Names of queues, Cohorts, flavors, namespaces, checks and own resources are replaced alike everywhere."""
    hidden = anonymise(read(*EVERY)).cluster
    text = b"".join(make_snapshot(hidden).files.values())
    queue, local, above, work, config = (
        next(one for one in hidden.queues if one.kind == kind)
        for kind in ("ClusterQueue", "LocalQueue", "Cohort", "Workload", "Configuration")
    )
    assert b"acme" not in text
    assert (local.spec.cluster_queue, work.status.admission.cluster_queue) == (queue.name, queue.name)
    assert queue.parent == above.name
    covered = queue.spec.resource_groups[0].covered_resources
    assert config.resources.device_class_mappings[1].name == covered[1]
    assert covered[2] == "cpu"
    assert queue.spec.namespace_selector.match_labels == {"kubernetes.io/metadata.name": local.metadata.namespace}


def test_random_queues_survive_a_capture(tmp_path):
    """Whatever is read is read back equal."""
    draw = random.Random(7)
    for number in range(30):
        documents = []
        for at in range(draw.randint(1, 4)):
            limits = (draw.choice([None, 0, 3]), draw.choice([None, 0, "2"]))
            quotas = {
                name: (draw.choice([0, 8, "5", "1500m", "2Gi"]), *limits)
                for name in draw.sample(["gpu", "nic", "cpu"], 2)
            }
            usage = draw.choice([None, {}, {name: draw.randint(0, 9) for name in quotas}])
            version = draw.choice(["v1beta1", "v1beta2"])
            documents.append(cluster_queue(f"q-{at}", quotas, cohort="all", usage=usage, version=version))
            documents.append(local_queue(f"l-{at}", f"q-{at}", stopPolicy=draw.choice(["None", "Hold"])))
        before = read(*documents)
        write_snapshot(make_snapshot(before), tmp_path / str(number))
        assert by_kind(load_cluster(tmp_path / str(number))) == by_kind(before)
        assert before.findings == ()


def serve(server, plural, *items, version="v1beta2"):
    """Let a server have Kueue's group with these objects."""
    group = "kueue.x-k8s.io"
    known = {
        "kind": "APIGroup",
        "name": group,
        "versions": [{"groupVersion": f"{group}/{version}", "version": version}],
    }
    bare = [{key: value for key, value in item.items() if key not in ("apiVersion", "kind")} for item in items]
    server.custom[f"/apis/{group}"] = json.dumps(known).encode()
    server.custom[f"/apis/{group}/{version}/{plural}"] = json.dumps({"kind": "List", "items": bare}).encode()


def serve_all(server):
    """Let a server have queues and the Configuration."""
    serve(server, "clusterqueues", EVERY[0])
    serve(server, "cohorts", EVERY[1])
    serve(server, "localqueues", EVERY[2])
    server.custom[CONFIG_MAP] = json.dumps(config_map(json.dumps(MAPPED))).encode()


def forbidden():
    """The 403 of a user who may not list them."""
    return Refused(403, "Forbidden", "is forbidden")


def test_a_running_cluster_has_queues_and_the_configuration(server, config):
    """Workloads are not listed: the status of a ClusterQueue has their sum."""
    serve_all(server)
    cluster = load_cluster("context:test")
    assert kinds(cluster) == ["ClusterQueue", "Cohort", "Configuration", "LocalQueue"]
    assert (cluster.findings, server.requests_for("workloads")) == ((), [])


def test_without_queues_the_configuration_is_not_asked_for(server, config):
    """Most people may not read ConfigMaps there, and need no note about it."""
    serve(server, "resourceflavors")
    load_cluster("context:test")
    assert server.requests_for("configmaps") == []


@pytest.mark.parametrize("plural", ["clusterqueues", "localqueues", "cohorts"])
def test_a_right_to_queues_that_is_missing_is_a_note(server, config, plural):
    """It says that the quota is unknown, and how to check the right."""
    serve_all(server)
    server.custom[f"/apis/kueue.x-k8s.io/v1beta2/{plural}"] = forbidden()
    [finding] = load_cluster("context:test").findings
    assert (finding.rule, finding.subject) == ("right-missing", f"{plural}.kueue.x-k8s.io")
    assert "quota" in finding.message
    assert f"kubectl auth can-i list {plural}.kueue.x-k8s.io --context test" in finding.advice


def test_a_right_to_the_config_map_that_is_missing_is_a_note(server, config):
    """Then it is unknown which quota counts which DeviceClass."""
    serve_all(server)
    server.custom[CONFIG_MAP] = forbidden()
    [finding] = load_cluster("context:test").findings
    assert (finding.rule, finding.subject) == ("right-missing", "configurations.config.kueue.x-k8s.io")
    assert "kubectl auth can-i get configmaps/kueue-manager-config --namespace kueue-system" in finding.advice


def test_a_followed_cluster_has_the_usage_of_now(server, config):
    """The status of a ClusterQueue changes with each workload; topologies are not replaced for it."""
    serve_all(server)
    serve(server, "resourceflavors", EVERY[5])
    watched = Watched(load_context("test", limits=QUICK), replace(QUICK, topologies=0.02))
    before = watched.latest.topologies
    serve(server, "clusterqueues", cluster_queue("acme-a", {"gpu": 8}, usage={"gpu": 7}))
    watched.until(lambda w: {"gpu"} == {one.name for one in w.latest.queues[0].status.flavors_reservation[0].resources})
    assert watched.latest.topologies is before
    watched.follower.stop()
