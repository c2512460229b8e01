"""Pods that share a ResourceClaim by name stand where its devices are: they are answered together."""

from __future__ import annotations

from gitops.manifests_written import DEPLOYMENT, TEMPLATE, write
from msgspec.structs import replace as changed
from random_devices import device_class
from small_manifests import claim, request
from small_nodes import a_slice, gpu
from small_nodes import cluster as made

from dra_lab import load_cluster, read_manifests
from dra_lab.cli import main
from dra_lab.findings import Severity
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.review import FitState

CLUSTER = load_cluster("sample:eks-p4d")
"""Four nodes, each with eight GPUs and four NICs: four pairs on a PCIe root, or eight GPUs."""

SHARED = claim("pool", request("gpu", "gpu.nvidia.com", "count: 5"))
"""Five of the eight GPUs of a node."""


def workload(name: str, replicas: int = 1, own: bool = True, kind: str = "Deployment", node: str = "") -> str:
    """Write a workload whose pods share the claim `pool` and have, with `own`, a pair each."""
    text = DEPLOYMENT.replace("name: train", f"name: {name}").replace("kind: Deployment", f"kind: {kind}")
    text = text.replace("replicas: 3", f"replicas: {replicas}")
    if not own:
        return text.replace("resourceClaimTemplateName: pair", "resourceClaimName: pool")
    text = text.replace("          - name: devices\n", "          - name: devices\n          - name: pool\n")
    text += "      - name: pool\n        resourceClaimName: pool\n"
    return text.replace("      containers:", f"      nodeName: {node}\n      containers:") if node else text


def check(folder, cluster=CLUSTER, **texts):
    return check_manifests(cluster, read_manifests([write(folder, claim=TEMPLATE, shared=SHARED, **texts)]))


def fits(review) -> list[FitState]:
    return [item.fit for item in review.reviewed]


def test_a_shared_claim_counts_once_for_all_its_workloads(tmp_path):
    """Five GPUs once, and three pairs: what two workloads of one and two pods need fits on a node of eight GPUs."""
    review = check(tmp_path, a=workload("a"), b=workload("b", 2))
    assert review.valid, [str(finding) for finding in review.findings]
    assert fits(review) == [FitState.FITS, FitState.FITS]
    assert "Deployment/a, Deployment/b share the claim pool, which is allocated once" in review.reviewed[0].sentence
    placements = review.reviewed[0].plan.placements
    assert len({placement.claim for placement in placements}) == 4


def test_workloads_that_fit_alone_and_not_on_the_node_of_their_claim_do_not_fit(tmp_path):
    """Each alone has a place; their pods need one GPU more than the node of the claim has."""
    for name in ("a", "b"):
        assert check(tmp_path / name, **{name: workload(name, 2)}).valid
    review = check(tmp_path / "both", a=workload("a", 2), b=workload("b", 2))
    assert fits(review) == [FitState.DOES_NOT_FIT, FitState.DOES_NOT_FIT]
    (finding,) = review.errors
    assert (finding.rule, finding.subject) == ("tied-pods-do-not-fit", "Deployment/a, Deployment/b")


def test_pods_of_one_workload_stand_on_the_node_of_their_claim(tmp_path):
    """Three pods with a pair each fit beside the claim, four do not, however many nodes there are."""
    assert check(tmp_path / "three", a=workload("a", 3)).valid
    assert fits(check(tmp_path / "four", a=workload("a", 4))) == [FitState.DOES_NOT_FIT]


def test_pods_that_no_common_node_admits_cannot_share(tmp_path):
    """A claim on one node serves no pod that must be on another."""
    one, two = CLUSTER.node_names[:2]
    review = check(tmp_path, a=workload("a", node=one), b=workload("b", node=two))
    assert fits(review) == [FitState.DOES_NOT_FIT, FitState.DOES_NOT_FIT]
    assert [finding.rule for finding in review.errors] == ["no-node-admitted"]


def test_workloads_with_nothing_but_the_claim_need_it_once(tmp_path):
    """Many pods of two workloads, five GPUs."""
    review = check(tmp_path, a=workload("a", 50, own=False), b=workload("b", 50, own=False))
    assert fits(review)[:2] == [FitState.FITS, FitState.FITS]
    assert len(review.reviewed[0].plan.placements) == 5


def test_a_daemon_set_that_shares_a_claim_is_warned_about(tmp_path):
    """Its pods on other nodes than that of the claim wait for ever."""
    review = check(tmp_path, a=workload("a", own=False), b=workload("b", own=False, kind="DaemonSet"))
    found = [f for f in review.findings if f.severity is Severity.WARNING and f.rule == "daemonset-not-everywhere"]
    assert [finding.subject for finding in found] == ["DaemonSet/b"]


def test_a_claim_that_two_files_share_is_not_planned_twice(tmp_path, capsys):
    """`dra-lab plan` with several files counts each pod's claims as its own, and says what answers them together."""
    for name in ("a", "b"):
        write(tmp_path / name, claim=SHARED, work=workload(name, own=False))
    assert main(["plan", "sample:eks-p4d", "--claim", str(tmp_path / "a"), "--claim", str(tmp_path / "b")]) == 2
    assert "share the ResourceClaim pool" in capsys.readouterr().err


def test_where_several_nodes_see_a_device_it_is_not_decided(tmp_path):
    """Devices behind a network tie pods to no one node: that one node is too small proves nothing."""
    far = a_slice("gpu.nvidia.com", *(gpu(n) for n in range(5)), node="far")
    far = changed(far, spec=changed(far.spec, node_name=None, all_nodes=True))
    near = [a_slice("gpu.nvidia.com", gpu(0), node=name) for name in ("n1", "n2")]
    cluster = made(far, *near, classes=(device_class("gpu.nvidia.com"),))
    template = TEMPLATE[: TEMPLATE.index("      - name: nic")]
    texts = {"a": workload("a"), "b": workload("b")}
    manifests = read_manifests([write(tmp_path, claim=template, shared=SHARED, **texts)])
    assert fits(check_manifests(cluster, manifests)) == [FitState.NOT_DECIDED, FitState.NOT_DECIDED]


def test_more_pods_than_are_planned_on_one_node_are_not_decided(tmp_path):
    """The answer says that it was not tried, not that it does not fit."""
    review = check(tmp_path, a=workload("a", 70))
    assert fits(review) == [FitState.NOT_DECIDED]
    assert "dra-lab tries at most 64" in review.reviewed[0].sentence
