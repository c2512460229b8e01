"""Topology objects of Kueue, KAI and Volcano: from files, captures, under pseudonyms, and of a running cluster."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from api_server.answers import Refused
from api_server.watched import QUICK, Watched

from dra_lab.findings import Severity
from dra_lab.sources import load_cluster, load_texts
from dra_lab.sources.anonymise import anonymise
from dra_lab.sources.live import ReadLimits, load_context
from dra_lab.sources.live.topology_objects import ATTEMPTS
from dra_lab.sources.snapshots import make_snapshot, write_snapshot
from dra_lab.topology import hierarchies, hierarchy_findings

LEVELS = ("example.com/hall", "example.com/rack")


def node(number):
    """A node with a place at both levels."""
    labels = {LEVELS[0]: f"hall-{number // 4}", LEVELS[1]: f"rack-{number // 2}"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}", "labels": labels}}


def topology(version="kueue.x-k8s.io/v1beta1", name="default"):
    """A Topology as `kubectl get -o json` gives it."""
    levels = [{"nodeLabel": label} for label in (*LEVELS, "kubernetes.io/hostname")]
    meta = {
        "name": name,
        "uid": "8c0b4f3e-6a0c-4c1b-9d3a-1f2e3d4c5b6a",
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
    }
    return {"apiVersion": version, "kind": "Topology", "metadata": meta, "spec": {"levels": levels}}


def read(*documents):
    """The cluster of eight nodes and these documents in one file."""
    items = [*(node(number) for number in range(8)), *documents]
    return load_texts({"c.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": items})})


def places(cluster):
    """How many domains each level of the first hierarchy has, from the outermost."""
    first = hierarchies(cluster)[0]
    return [len(first.at(level.key or level.name)) for level in first.levels]


@pytest.mark.parametrize(
    "version",
    ["kueue.x-k8s.io/v1alpha1", "kueue.x-k8s.io/v1beta1", "kueue.x-k8s.io/v1beta2", "kai.scheduler/v1alpha1"],
)
def test_a_file_tells_the_levels(version):
    """The file may be of either API group, in every version."""
    assert places(read(topology(version))) == [2, 4]


def test_another_kind_of_the_same_name_is_left_alone():
    """Many APIs call something a Topology: it is counted with what is not used, and is no error."""
    found = read(topology("topology.example.com/v1"))
    assert (found.topologies, [finding.rule for finding in found.findings]) == ((), ["kind-ignored"])


def test_a_topology_without_labels_is_reported_and_the_rest_is_read():
    """A level has to name a label."""
    broken = topology()
    broken["spec"]["levels"] = [{"label": "rack"}]
    found = read(broken)
    assert (len(found.nodes), [str(finding.rule) for finding in found.findings]) == (8, ["document-broken"])


@pytest.mark.parametrize("labels", [("example.com/rack", ""), ("example.com/rack", "example.com/rack")])
def test_levels_need_labels_of_their_own(labels):
    """The API server refuses an empty label, and one that is there twice."""
    broken = topology()
    broken["spec"]["levels"] = [{"nodeLabel": label} for label in labels]
    found = read(broken)
    assert ([finding.rule for finding in found.findings], found.topologies) == (["document-broken"], ())


def test_a_capture_keeps_the_levels(tmp_path):
    """Objects of one name in two groups too."""
    before = read(topology(), topology("kai.scheduler/v1alpha1"))
    write_snapshot(make_snapshot(before), tmp_path / "out")
    after = load_cluster(tmp_path / "out")
    assert [one.api_version for one in after.topologies] == ["kueue.x-k8s.io/v1beta1", "kai.scheduler/v1alpha1"]
    assert places(after) == [2, 4]


def test_pseudonyms_keep_the_levels_and_hide_their_names():
    """Keys that few clusters have are replaced on nodes and in the object alike."""
    hidden = anonymise(read(topology(name="acme-halls"))).cluster
    text = b"".join(make_snapshot(hidden).files.values())
    assert places(hidden) == [2, 4]
    assert not any(word in text for word in (b"acme", b"example.com", b"hall-"))


def serve(server, version, *items, plural="topologies"):
    """Let a server have the group and version of Topology, with these objects."""
    group, short = version.split("/")
    known = {"kind": "APIGroup", "name": group, "versions": [{"groupVersion": version, "version": short}]}
    listed = {"apiVersion": version, "kind": "TopologyList", "metadata": {"resourceVersion": "7"}, "items": list(items)}
    server.custom[f"/apis/{group}"] = json.dumps(known).encode()
    server.custom[f"/apis/{version}/{plural}"] = json.dumps(listed).encode()


@pytest.mark.parametrize("version", ["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1alpha1", "kai.scheduler/v1alpha1"])
def test_a_running_cluster_tells_the_levels(server, config, version):
    """The version is the one that the server has; nothing but the levels is kept."""
    serve(server, version, topology(version))
    cluster = load_cluster("context:test")
    [found] = cluster.topologies
    assert (found.labels, found.api_version) == ((*LEVELS, "kubernetes.io/hostname"), version)
    assert cluster.findings == ()


def test_without_the_groups_nothing_is_reported(server, config):
    """Most clusters have neither Kueue nor KAI: two questions, no finding."""
    cluster = load_cluster("context:test")
    assert (cluster.topologies, cluster.findings) == ((), ())
    assert len(server.requests_for("kueue")) == len(server.requests_for("kai.scheduler")) == 1


def refused():
    """The 403 of a user who may not list them."""
    return Refused(403, "Forbidden", 'topologies.kueue.x-k8s.io is forbidden: User "test-user" cannot list resource')


def test_a_right_that_is_missing_is_a_note(server, config):
    """The levels are unknown, and all else is read."""
    serve(server, "kueue.x-k8s.io/v1beta1")
    server.custom["/apis/kueue.x-k8s.io/v1beta1/topologies"] = refused()
    [finding] = load_cluster("context:test").findings
    assert (finding.rule, finding.severity) == ("right-missing", Severity.NOTE)
    assert "kubectl auth can-i list topologies.kueue.x-k8s.io --context test" in finding.advice


def test_a_group_that_may_not_be_looked_for_is_nothing_to_tell(server, config):
    """It may well not be there."""
    server.custom["/apis/kueue.x-k8s.io"] = refused()
    assert load_cluster("context:test").findings == ()


def test_garbage_in_their_place_is_reported_and_the_rest_is_read(server, config):
    """A broken custom resource takes nothing else with it."""
    serve(server, "kueue.x-k8s.io/v1beta1", {"metadata": {"name": "x"}, "spec": {"levels": [{"nodeLabel": 7}]}})
    cluster = load_cluster("context:test")
    assert [finding.rule for finding in cluster.findings] == ["kind-not-read"]
    assert cluster.slices


def test_a_server_that_fails_on_them_holds_nobody_up(server, config):
    """Kueue converts versions in a webhook; if that is away, a few attempts are enough for optional data."""
    serve(server, "kueue.x-k8s.io/v1beta1", topology())
    server.custom["/apis/kueue.x-k8s.io/v1beta1/topologies"] = Refused(500, "InternalError", "no conversion webhook")
    cluster = load_context("test", limits=ReadLimits(backoff_first=0.01, backoff_most=0.02))
    assert [finding.rule for finding in cluster.findings] == ["kind-not-read"]
    assert len(server.requests_for("v1beta1/topologies")) == ATTEMPTS


AGAIN = replace(QUICK, topologies=0.02)


def test_a_followed_cluster_has_the_levels_of_now(server, config):
    """They come, change and go while it is followed."""
    watched = Watched(load_context("test", limits=QUICK), AGAIN)
    serve(server, "kueue.x-k8s.io/v1beta2", topology("kueue.x-k8s.io/v1beta2"))
    watched.until(lambda w: [one.metadata.name for one in w.latest.topologies] == ["default"])
    serve(server, "kueue.x-k8s.io/v1beta2", topology("kueue.x-k8s.io/v1beta2", "other"))
    watched.until(lambda w: [one.metadata.name for one in w.latest.topologies] == ["other"])
    server.custom.clear()
    watched.until(lambda w: w.latest.topologies == ())
    watched.follower.stop()


def test_levels_that_can_be_read_again_take_back_what_was_said(server, config):
    """A right that was missing at first, and is there now; what is not read again stays."""
    serve(server, "kueue.x-k8s.io/v1beta1", topology())
    server.custom["/apis/kueue.x-k8s.io/v1beta1/topologies"] = refused()
    watched = Watched(load_context("test", limits=QUICK), AGAIN)
    assert [finding.rule for finding in watched.latest.findings] == ["right-missing"]
    serve(server, "kueue.x-k8s.io/v1beta1", topology())
    watched.until(lambda w: w.latest.topologies and not w.latest.findings)
    server.custom["/apis/kueue.x-k8s.io/v1beta1/topologies"] = Refused(503, "ServiceUnavailable", "later")
    asked = len(server.requests_for("v1beta1/topologies"))
    watched.until_elsewhere(lambda: len(server.requests_for("v1beta1/topologies")) > asked + ATTEMPTS)
    assert watched.latest.topologies
    watched.follower.stop()


def test_levels_that_stay_are_no_new_snapshot(server, config):
    """They are requested again and again, and nothing is computed again."""
    serve(server, "kueue.x-k8s.io/v1beta2", topology("kueue.x-k8s.io/v1beta2"))
    watched = Watched(load_context("test", limits=QUICK), AGAIN)
    watched.until_elsewhere(lambda: len(server.requests_for("v1beta2/topologies")) > 4)
    assert watched.count == 0
    watched.follower.stop()


def hyper_node(
    name="rack-0", members=({"regexMatch": {"pattern": "^node-[0-3]$"}}, {"exactMatch": {"name": "node-4"}})
):
    """A HyperNode as `kubectl get -o json` gives it."""
    chosen = [{"type": "Node", "selector": selector} for selector in members]
    spec = {"tier": 1, "tierName": "acme-rack", "members": chosen}
    status = {"nodeCount": 5, "conditions": []}
    meta = {"name": name, "uid": "8c0b4f3e-6a0c-4c1b-9d3a-1f2e3d4c5b6a"}
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": meta,
        "spec": spec,
        "status": status,
    }


def flavor(version="kueue.x-k8s.io/v1beta2"):
    """A ResourceFlavor as `kubectl get -o json` gives it."""
    spec = {"nodeLabels": {LEVELS[0]: "hall-0"}, "topologyName": "default", "tolerations": [{"operator": "Exists"}]}
    return {"apiVersion": version, "kind": "ResourceFlavor", "metadata": {"name": "acme-tas"}, "spec": spec}


def sizes(cluster):
    """How many nodes each domain of the last hierarchy has."""
    return [len(domain.nodes) for domain in hierarchies(cluster)[-1].innermost()]


def test_a_file_may_have_hypernodes_and_flavors():
    """Their state is not read, and no finding says so."""
    found = read(topology(), flavor(), hyper_node())
    assert sizes(found) == [5]
    assert [(finding.rule, finding.subject) for finding in found.findings] == []
    assert "flavor-hides-nodes" in {finding.rule for finding in hierarchy_findings(found)}


def test_a_capture_keeps_hypernodes_and_flavors(tmp_path):
    """Each kind has a file of its own."""
    before = read(topology(), flavor(), hyper_node())
    write_snapshot(make_snapshot(before), tmp_path / "out")
    after = load_cluster(tmp_path / "out")
    assert sorted(type(one).__name__ for one in after.topologies) == ["HyperNode", "ResourceFlavor", "Topology"]
    assert sizes(after) == [5]


def test_pseudonyms_keep_hypernodes_and_flavors():
    """A pattern matches no pseudonym, so the members are named instead."""
    before = read(topology(), flavor(), hyper_node("acme-rack-0"))
    hidden = anonymise(before).cluster
    text = b"".join(make_snapshot(hidden).files.values())
    assert sizes(hidden) == [5]
    assert [f.rule for f in hierarchy_findings(hidden)] == [f.rule for f in hierarchy_findings(before)]
    assert not any(word in text for word in (b"acme", b"example.com", b"hall-", b"node-["))


def test_a_running_cluster_has_hypernodes_and_flavors(server, config):
    """Each kind in the newest version that the server has."""
    serve(server, "topology.volcano.sh/v1alpha1", hyper_node(), plural="hypernodes")
    serve(server, "kueue.x-k8s.io/v1beta2", flavor(), plural="resourceflavors")
    found = load_cluster("context:test").topologies
    assert sorted(one.resource for one in found) == [
        "hypernodes.topology.volcano.sh",
        "resourceflavors.kueue.x-k8s.io",
    ]
