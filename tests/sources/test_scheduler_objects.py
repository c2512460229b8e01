"""Objects of Kueue, KAI and Volcano: from files, captures, under pseudonyms, and of a running cluster."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from api_server.answers import Refused
from api_server.watched import QUICK, Watched
from kueue_queues import cluster_queue, cohort, config_map, configuration, flavor, local_queue, workload

from dra_lab import hierarchies, load_cluster
from dra_lab.findings import Severity
from dra_lab.sources import load_texts
from dra_lab.sources.anonymise import anonymise
from dra_lab.sources.live.client import ReadLimits
from dra_lab.sources.live.reading import load_context
from dra_lab.sources.snapshots import make_snapshot, write_snapshot
from dra_lab.topology.hierarchies import hierarchy_findings

LEVELS = ("example.com/hall", "example.com/rack")
CONFIG_MAP = "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config"
UID = "8c0b4f3e-6a0c-4c1b-9d3a-1f2e3d4c5b6a"
MAPPED = configuration({"gpu.example.com/devices": ["gpu.example.com"], "acme-nics": ["nic.example.com"]})
QUEUES = (
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


def node(number):
    labels = {LEVELS[0]: f"hall-{number // 4}", LEVELS[1]: f"rack-{number // 2}"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}", "labels": labels}}


def topology(version="kueue.x-k8s.io/v1beta1", name="default"):
    levels = [{"nodeLabel": label} for label in (*LEVELS, "kubernetes.io/hostname")]
    meta = {"name": name, "uid": UID, "finalizers": ["kueue.x-k8s.io/resource-in-use"]}
    return {"apiVersion": version, "kind": "Topology", "metadata": meta, "spec": {"levels": levels}}


def hyper_node(name="rack-0"):
    members = ({"regexMatch": {"pattern": "^node-[0-3]$"}}, {"exactMatch": {"name": "node-4"}})
    chosen = [{"type": "Node", "selector": selector} for selector in members]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name, "uid": UID},
        "spec": {"tier": 1, "tierName": "acme-rack", "members": chosen},
        "status": {"nodeCount": 5, "conditions": []},
    }


def placed_flavor():
    """A ResourceFlavor of the Topology, for the nodes of one hall."""
    spec = {"nodeLabels": {LEVELS[0]: "hall-0"}, "topologyName": "default", "tolerations": [{"operator": "Exists"}]}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "acme-tas"},
        "spec": spec,
    }


def read(*documents, text=json.dumps):
    items = [*(node(number) for number in range(8)), *documents]
    return load_texts({"c.json": text({"apiVersion": "v1", "kind": "List", "items": items})})


def rules(cluster):
    return [finding.rule for finding in cluster.findings]


def places(cluster):
    """How many domains each level of the first hierarchy has, from the outermost."""
    first = hierarchies(cluster)[0]
    return [len(first.at(level.key or level.name)) for level in first.levels]


def kinds(cluster):
    """The kinds of its queue objects, sorted."""
    return sorted(one.kind for one in cluster.queues)


@pytest.mark.parametrize(
    "version",
    ["kueue.x-k8s.io/v1alpha1", "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2", "kai.scheduler/v1alpha1"],
)
def test_a_file_tells_the_levels(version):
    """The file may be of either API group, in every version."""
    assert places(read(topology(version))) == [2, 4]


def test_a_file_has_every_kind_without_findings():
    """What is not read of an object, such as its status or the pods of Workloads, is no finding."""
    found = read(*QUEUES, topology(), placed_flavor(), hyper_node())
    assert kinds(found) == ["ClusterQueue", "Cohort", "Configuration", "LocalQueue", "Workload"]
    assert rules(found) == []
    assert [len(domain.nodes) for domain in hierarchies(found)[-1].innermost()] == [5]
    assert "flavor-hides-nodes" in {finding.rule for finding in hierarchy_findings(found)}


@pytest.mark.parametrize(
    "document",
    [
        topology("topology.example.com/v1"),
        {"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload", "metadata": {"name": "w"}},
        config_map("]["),
    ],
    ids=["Topology", "Workload", "ConfigMap"],
)
def test_another_kind_of_the_same_name_is_left_alone(document):
    found = read(document)
    assert (found.topologies, found.queues, rules(found)) == ((), (), ["kind-ignored"])


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


def levels(*labels, field="nodeLabel"):
    return {**topology(), "spec": {"levels": [{field: label} for label in labels]}}


def changed(**spec):
    return cluster_queue("a", {"gpu": 1}, **spec)


BROKEN = {
    "a level without a label": (levels("rack", field="label"), "levels[0]", "nodeLabel"),
    "an empty label": (levels(LEVELS[1], ""), "spec", ""),
    "a label twice": (levels(LEVELS[1], LEVELS[1]), "spec", ""),
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
    assert (finding.rule, found.queues, found.topologies, len(found.nodes)) == ("document-broken", (), (), 8)
    assert (finding.origin.source, path in finding.origin.path, message in finding.message) == ("c.json", True, True)


def by_kind(objects):
    """Objects in an order of their own; a capture has them kind by kind."""
    return sorted(objects, key=lambda one: (type(one).__name__, one.metadata.name, one.api_version))


def test_a_capture_keeps_every_kind_and_no_secret(tmp_path):
    """Objects of one name in two groups too; pods of Workloads and messages of conditions stay behind."""
    others = (topology(), topology("kai.scheduler/v1alpha1"), placed_flavor(), hyper_node())
    before = read(*QUEUES, *others, workload("done", "acme-a", {"acme-nics": 1}, finished=True))
    write_snapshot(make_snapshot(before), tmp_path / "out")
    after = load_cluster(tmp_path / "out")
    assert by_kind(after.queues) == by_kind(before.queues)
    assert places(after) == [2, 4]
    assert [type(one).__name__ for one in by_kind(after.topologies)] == [
        type(one).__name__ for one in by_kind(before.topologies)
    ]
    assert not any(b"secret" in file.read_bytes() for file in (tmp_path / "out").iterdir())


def test_random_queues_survive_a_capture(tmp_path):
    draw = random.Random(7)
    for number in range(30):
        documents = []
        for at in range(draw.randint(1, 4)):
            limits = (draw.choice([None, 0, 3]), draw.choice([None, 0, "2"]))
            amounts = [0, 8, "5", "1500m", "2Gi"]
            quotas = {name: (draw.choice(amounts), *limits) for name in draw.sample(["gpu", "nic", "cpu"], 2)}
            usage = draw.choice([None, {}, {name: draw.randint(0, 9) for name in quotas}])
            version = draw.choice(["v1beta1", "v1beta2"])
            documents.append(cluster_queue(f"q-{at}", quotas, cohort="all", usage=usage, version=version))
            documents.append(local_queue(f"l-{at}", f"q-{at}", stopPolicy=draw.choice(["None", "Hold"])))
        before = read(*documents)
        write_snapshot(make_snapshot(before), tmp_path / str(number))
        assert by_kind(load_cluster(tmp_path / str(number)).queues) == by_kind(before.queues)
        assert before.findings == ()


def test_pseudonyms_hide_every_name_and_keep_what_belongs_together():
    """Names of queues, Cohorts, flavors, namespaces, checks and own resources are replaced alike everywhere."""
    hidden = anonymise(read(*QUEUES)).cluster
    queue, local, above, work, config = (
        next(one for one in hidden.queues if one.kind == kind)
        for kind in ("ClusterQueue", "LocalQueue", "Cohort", "Workload", "Configuration")
    )
    assert b"acme" not in b"".join(make_snapshot(hidden).files.values())
    assert (local.spec.cluster_queue, work.status.admission.cluster_queue) == (queue.name, queue.name)
    assert queue.parent == above.name
    covered = queue.spec.resource_groups[0].covered_resources
    assert config.resources.device_class_mappings[1].name == covered[1]
    assert covered[2] == "cpu"
    assert queue.spec.namespace_selector.match_labels == {"kubernetes.io/metadata.name": local.metadata.namespace}


def test_pseudonyms_keep_the_levels_and_hide_their_names():
    """Keys that few clusters have are replaced on nodes and in objects; members that a pattern named are listed."""
    before = read(topology(name="acme-halls"), placed_flavor(), hyper_node("acme-rack-0"))
    hidden = anonymise(before).cluster
    text = b"".join(make_snapshot(hidden).files.values())
    assert places(hidden) == [2, 4]
    assert [len(domain.nodes) for domain in hierarchies(hidden)[-1].innermost()] == [5]
    assert [f.rule for f in hierarchy_findings(hidden)] == [f.rule for f in hierarchy_findings(before)]
    assert not any(word in text for word in (b"acme", b"example.com", b"hall-", b"node-["))


def serve(server, plural, *items, version="kueue.x-k8s.io/v1beta2"):
    group, short = version.split("/")
    known = {"kind": "APIGroup", "name": group, "versions": [{"groupVersion": version, "version": short}]}
    bare = [{key: value for key, value in item.items() if key not in ("apiVersion", "kind")} for item in items]
    server.custom[f"/apis/{group}"] = json.dumps(known).encode()
    server.custom[f"/apis/{version}/{plural}"] = json.dumps({"kind": "List", "items": bare}).encode()


def serve_queues(server):
    serve(server, "clusterqueues", QUEUES[0])
    serve(server, "cohorts", QUEUES[1])
    serve(server, "localqueues", QUEUES[2])
    server.custom[CONFIG_MAP] = json.dumps(config_map(json.dumps(MAPPED))).encode()


def forbidden():
    return Refused(403, "Forbidden", "is forbidden")


@pytest.mark.parametrize("version", ["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1alpha1", "kai.scheduler/v1alpha1"])
def test_a_running_cluster_tells_the_levels(server, config, version):
    """The version is the one that the server has; nothing but the levels is kept."""
    serve(server, "topologies", topology(version), version=version)
    cluster = load_cluster("context:test")
    [found] = cluster.topologies
    assert (found.labels, found.api_version) == ((*LEVELS, "kubernetes.io/hostname"), version)
    assert cluster.findings == ()


def test_a_running_cluster_has_every_kind(server, config):
    """Workloads are not listed: the status of a ClusterQueue has their sum."""
    serve_queues(server)
    serve(server, "hypernodes", hyper_node(), version="topology.volcano.sh/v1alpha1")
    serve(server, "resourceflavors", placed_flavor())
    cluster = load_cluster("context:test")
    assert kinds(cluster) == ["ClusterQueue", "Cohort", "Configuration", "LocalQueue"]
    assert sorted(type(one).__name__ for one in cluster.topologies) == ["HyperNode", "ResourceFlavor"]
    assert (cluster.findings, server.requests_for("workloads")) == ((), [])


def test_without_the_groups_nothing_is_reported(server, config):
    """Most clusters have neither Kueue nor KAI: one question for each, no finding."""
    cluster = load_cluster("context:test")
    assert (cluster.topologies, cluster.queues, cluster.findings) == ((), (), ())
    assert len(server.requests_for("kueue")) == len(server.requests_for("kai.scheduler")) == 1


def test_without_queues_the_configuration_is_not_asked_for(server, config):
    """Most people may not read ConfigMaps there, and need no note about it."""
    serve(server, "resourceflavors")
    load_cluster("context:test")
    assert server.requests_for("configmaps") == []


KUEUE = "/apis/kueue.x-k8s.io/v1beta2"
RIGHTS = {
    "topologies": (f"{KUEUE}/topologies", "list topologies.kueue.x-k8s.io --context test"),
    "clusterqueues": (f"{KUEUE}/clusterqueues", "list clusterqueues.kueue.x-k8s.io --context test"),
    "localqueues": (f"{KUEUE}/localqueues", "list localqueues.kueue.x-k8s.io --context test"),
    "cohorts": (f"{KUEUE}/cohorts", "list cohorts.kueue.x-k8s.io --context test"),
    "configurations": (CONFIG_MAP, "get configmaps/kueue-manager-config --namespace kueue-system"),
}


@pytest.mark.parametrize("plural", RIGHTS)
def test_a_right_that_is_missing_is_a_note(server, config, plural):
    path, command = RIGHTS[plural]
    serve_queues(server)
    server.custom[path] = forbidden()
    [finding] = load_cluster("context:test").findings
    assert (finding.rule, finding.severity) == ("right-missing", Severity.NOTE)
    assert finding.subject.startswith(plural)
    assert f"kubectl auth can-i {command}" in finding.advice


def test_a_group_that_may_not_be_looked_for_is_nothing_to_tell(server, config):
    server.custom["/apis/kueue.x-k8s.io"] = forbidden()
    assert load_cluster("context:test").findings == ()


def test_garbage_in_their_place_is_reported_and_the_rest_is_read(server, config):
    serve(server, "topologies", {"metadata": {"name": "x"}, "spec": {"levels": [{"nodeLabel": 7}]}})
    cluster = load_cluster("context:test")
    assert rules(cluster) == ["kind-not-read"]
    assert cluster.slices


def test_a_server_that_fails_on_them_holds_nobody_up(server, config):
    """Kueue converts versions in a webhook; if that is away, a few attempts are enough for optional data."""
    serve(server, "topologies", topology())
    server.custom[f"{KUEUE}/topologies"] = Refused(500, "InternalError", "no conversion webhook")
    cluster = load_context("test", limits=ReadLimits(attempts=50, backoff_first=0.01, backoff_most=0.02))
    assert rules(cluster) == ["kind-not-read"]
    assert len(server.requests_for("topologies")) < 10


AGAIN = replace(QUICK, topologies=0.02)


def test_a_followed_cluster_has_the_levels_of_now(server, config):
    watched = Watched(load_context("test", limits=QUICK), AGAIN)
    for name in ("default", "other"):
        serve(server, "topologies", topology(name=name))
        watched.until(lambda w, name=name: [one.metadata.name for one in w.latest.topologies] == [name])
    server.custom.clear()
    watched.until(lambda w: w.latest.topologies == ())
    watched.follower.stop()


def test_a_followed_cluster_has_the_usage_of_now(server, config):
    serve_queues(server)
    watched = Watched(load_context("test", limits=QUICK), AGAIN)
    serve(server, "clusterqueues", cluster_queue("acme-a", {"gpu": 8}, usage={"gpu": 7}))
    watched.until(lambda w: {"gpu"} == {one.name for one in w.latest.queues[0].status.flavors_reservation[0].resources})
    watched.follower.stop()


def test_levels_that_can_be_read_again_replace_the_note(server, config):
    """A right that was missing at first, and is there now; what is not read again stays."""
    serve(server, "topologies")
    server.custom[f"{KUEUE}/topologies"] = forbidden()
    watched = Watched(load_context("test", limits=QUICK), AGAIN)
    assert rules(watched.latest) == ["right-missing"]
    serve(server, "topologies", topology())
    watched.until(lambda w: w.latest.topologies and not w.latest.findings)
    server.custom[f"{KUEUE}/topologies"] = Refused(503, "ServiceUnavailable", "later")
    asked = len(server.requests_for("topologies"))
    watched.until_elsewhere(lambda: len(server.requests_for("topologies")) > asked + 10)
    assert watched.latest.topologies
    watched.follower.stop()


def test_levels_that_stay_are_no_new_snapshot(server, config):
    """They are requested again and again, and nothing is computed again."""
    serve(server, "topologies", topology())
    watched = Watched(load_context("test", limits=QUICK), AGAIN)
    watched.until_elsewhere(lambda: len(server.requests_for("topologies")) > 4)
    assert watched.count == 0
    watched.follower.stop()
