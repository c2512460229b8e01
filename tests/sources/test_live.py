"""A running cluster, read over a real socket from a server that answers as Kubernetes 1.36.2 does."""

import json

import pytest
from api_server.kubeconfig import write_kubeconfig
from api_server.small_cluster import claim

from dra_lab.errors import SourceError
from dra_lab.model.names import DeviceID
from dra_lab.sources import load_cluster, load_texts
from dra_lab.sources.live.client import ReadLimits
from dra_lab.sources.live.connection import contexts
from dra_lab.sources.live.reading import load_context

SMALL = ReadLimits(connect=2, read=2, overall=20, attempts=4, backoff_first=0.001, backoff_most=0.002, page=2)


def as_files(server):
    """The cluster that the same objects make when they are read from kubectl's JSON."""
    kinds = {"resourceslices": "ResourceSlice", "deviceclasses": "DeviceClass", "resourceclaims": "ResourceClaim"}
    items = [
        {"apiVersion": "resource.k8s.io/v1", "kind": kind, **json.loads(body)}
        for plural, kind in kinds.items()
        for body in server.store.objects[plural].values()
    ]
    items += [
        {"apiVersion": "v1", "kind": kind, **json.loads(body)}
        for plural, kind in {"nodes": "Node", "pods": "Pod"}.items()
        for body in server.store.objects[plural].values()
    ]
    return load_texts({"a.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": items})})


def test_a_context_gives_the_cluster_that_kubectls_json_gives(server, config):
    """The same slices, classes, nodes, claims and pods, in the same order; who read it and when is known."""
    cluster, files = load_cluster("context:test"), as_files(server)
    assert [s.spec for s in cluster.slices] == [s.spec for s in files.slices]
    assert [c.spec for c in cluster.classes] == [c.spec for c in files.classes]
    assert [(c.metadata.name, c.spec, c.status) for c in cluster.claims] == [
        (c.metadata.name, c.spec, c.status) for c in files.claims
    ]
    assert [n.metadata.labels for n in cluster.nodes] == [n.metadata.labels for n in files.nodes]
    assert [p.metadata.name for p in cluster.pods] == [p.metadata.name for p in files.pods]
    assert cluster.allocated == files.allocated
    assert (cluster.name, cluster.read_as, cluster.claims_known) == ("context:test", "test-user", True)
    assert cluster.read_at
    assert cluster.findings == ()


def test_context_alone_is_the_current_context(server, config):
    """`context:` needs no name; the cluster gets the full one, so that a drawing finds it again."""
    assert load_cluster("context:").name == "context:test"


def test_nothing_but_get_is_ever_asked(server, config):
    """Reading writes nothing, not even a review of rights."""
    load_cluster("context:test")
    assert {method for method, _ in server.requests} == {"GET"}


@pytest.mark.parametrize(
    "versions", [("v1",), ("v1beta2", "v1beta1"), ("v1beta1", "v1alpha3"), ("v1", "v1beta2", "v1beta1")]
)
def test_every_version_of_the_api_gives_the_same_devices(server, config, versions):
    """The newest version that a server has is read: v1, else v1beta2, else v1beta1."""
    server.versions = versions
    cluster = load_cluster("context:test")
    assert [s.spec for s in cluster.slices] == [s.spec for s in as_files(server).slices]
    assert [c.spec for c in cluster.claims] == [c.spec for c in as_files(server).claims]
    assert cluster.findings == ()
    assert server.requests_for(f"{versions[0]}/resourceslices")
    assert len(server.requests_for("/resourceslices")) == 1


@pytest.mark.parametrize("versions", [("v1", "v1beta2", "v1alpha3"), ("v1", "v1alpha3")])
def test_taint_rules_come_from_the_version_that_has_them(server, config, versions):
    """DeviceTaintRule is served in v1beta2 since 1.36 and in v1alpha3 before; the devices are then tainted."""
    taint = {"key": "broken", "effect": "NoSchedule"}
    rule = {"deviceSelector": {"driver": "gpu.nvidia.com", "pool": "gpu-node-0", "device": "gpu-0"}, "taint": taint}
    server.store.put({"kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": rule})
    server.versions = versions
    cluster = load_cluster("context:test")
    assert [rule.spec.taint.key for rule in cluster.taint_rules] == ["broken"]
    assert server.requests_for(f"{versions[1]}/devicetaintrules")


def test_long_lists_come_in_pages(server, config):
    """Pages of two objects give the same cluster, and every page is one of the same moment."""
    whole = load_context("test")
    server.requests.clear()
    paged = load_context("test", limits=SMALL)
    assert paged.slices == whole.slices
    assert len(server.requests_for("resourceslices?limit=2")) == 6


def test_a_list_that_the_server_forgot_is_begun_anew(server, config):
    """410 in the middle: what was read is dropped and the kind read again, so that all of it is of one moment."""
    whole = load_context("test")
    server.requests.clear()
    server.faults.add("resourceslices?limit=2&continue", status=410, reason="Expired")
    assert load_context("test", limits=SMALL).slices == whole.slices
    assert len([t for t in server.requests_for("resourceslices") if "continue" not in t]) == 2


def test_a_list_that_is_always_forgotten_is_read_in_one_piece(server, config):
    """After two attempts in pages the list is asked for without a limit, which cannot be forgotten."""
    whole = load_context("test")
    server.faults.add("resourceslices?limit=2&continue", times=99, status=410, reason="Expired")
    assert load_context("test", limits=SMALL).slices == whole.slices
    assert "/apis/resource.k8s.io/v1/resourceslices" in server.requests_for("resourceslices")


def test_pods_without_claims_are_not_kept(server, config):
    """Only pods that use claims are part of the cluster, without commands and annotations."""
    plain = {"containers": [{"name": "c", "command": ["--password=x"]}]}
    for name, spec in (("plain", plain), ("user", {**plain, "resourceClaims": [{"name": "g"}]})):
        meta = {"name": name, "namespace": "a", "annotations": {"secret": "x"}}
        server.store.put({"kind": "Pod", "metadata": meta, "spec": spec})
    pods = {pod.metadata.name: pod for pod in load_context("test").pods}
    assert "plain" not in pods
    assert pods["user"].spec.containers[0].command == ()
    assert pods["user"].metadata.annotations == {}


def test_namespaces_limit_claims_and_pods_and_say_so(server, config):
    """With namespaces given, other namespaces' claims are not read, and a finding says that they may hold devices."""
    server.store.put(claim("b", "gpu-1", namespace="team-b"))
    cluster = load_cluster("context:test", namespaces=["team-b"])
    assert [c.metadata.name for c in cluster.claims] == ["b"]
    assert [finding.rule for finding in cluster.findings] == ["claims-some-namespaces"]
    assert cluster.allocated.exclusive == {DeviceID("gpu.nvidia.com", "gpu-node-0", "gpu-1"): "team-b/b"}


def test_an_unknown_field_and_a_broken_object_are_reported_and_the_rest_is_used(server, config):
    """A slice with a field of tomorrow is used without it; one that is broken is named; the others are there."""
    count = len(load_context("test").slices)
    spec = {"driver": "d.com", "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1}, "nodeName": "n"}
    server.store.put(
        {"kind": "ResourceSlice", "metadata": {"name": "new"}, "spec": {**spec, "tomorrow": 1, "devices": []}}
    )
    server.store.put({"kind": "ResourceSlice", "metadata": {"name": "odd"}, "spec": {**spec, "devices": [{"name": 1}]}})
    cluster = load_context("test")
    assert len(cluster.slices) == count + 1
    by_rule = {finding.rule: finding for finding in cluster.findings}
    assert "spec.tomorrow of resourceslices" in by_rule["unknown-field"].message
    assert "spec.devices[0].name" in str(by_rule["document-broken"])
    assert "context:test" in str(by_rule["document-broken"])


def test_progress_counts_what_is_read(server, config):
    heard = []
    cluster = load_context("test", limits=SMALL, progress=heard.append)
    assert {read.kind: read.done for read in heard[-1]}["ResourceSlice"] == len(cluster.slices)


def test_contexts_are_listed_without_credentials(server, tmp_path, monkeypatch):
    """The current context comes first; the server's URL carries no password."""
    one = write_kubeconfig(tmp_path, server, name="zeta")
    two = write_kubeconfig(tmp_path, server, name="alpha", cluster={"server": "https://me:secret@k8s:6443"})
    monkeypatch.setenv("KUBECONFIG", f"{one}:{two}")
    found = contexts()
    assert [(c.name, c.current, c.user) for c in found] == [("zeta", True, "zeta-user"), ("alpha", False, "alpha-user")]
    assert found[1].server == "https://k8s:6443"


def test_an_unknown_context_names_those_that_there_are(server, config):
    with pytest.raises(SourceError, match="contexts: test"):
        load_cluster("context:prod")
