"""Each object that `check` reads is valid and fits, does not, or is not checked; the exit status says the worst."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from contradictions import of_text
from gitops.manifests_written import DEPLOYMENT, TEMPLATE, write
from msgspec.structs import replace as changed
from random_devices import device_class as random_class
from small_manifests import claim, device_class, request, same, selector, template
from small_nodes import a_slice, gpu
from small_nodes import cluster as small

from dra_lab import load_cluster
from dra_lab.cli import main
from dra_lab.findings import Severity
from dra_lab.gitops.check_manifests import check_manifests
from dra_lab.gitops.folder import read_manifests
from dra_lab.gitops.report import review_parts
from dra_lab.gitops.review import FitState
from dra_lab.model.claims import DeviceClaim, DeviceRequest, ExactDeviceRequest, ResourceClaim, ResourceClaimSpec
from dra_lab.model.nodes import ObjectMeta
from dra_lab.words.document import as_text

CLUSTER = load_cluster("sample:eks-p4d")
REAL = Path(__file__).parents[2] / ".." / "shared" / "real-files"
CONFIG = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: '{{ b }}', limits: 'nvidia.com/gpu: 1'}\n"
)
WEB = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: c}]}}}
"""
PLUGIN = """\
apiVersion: v1
kind: Pod
metadata: {name: plugin}
spec: {containers: [{name: c, resources: {limits: {example.com/npu: AMOUNT}}}]}
"""
TRAIN_JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: tune}
spec: {trainer: {numNodes: 2, resourcesPerNode: {limits: {example.com/npu: 8}}}}
"""
POD_GROUP = """\
apiVersion: scheduling.k8s.io/v1alpha2
kind: PodGroup
metadata: {name: gang}
spec: {resourceClaims: [{name: a, resourceClaimTemplateName: pair}]}
"""
CLASS = device_class("ours", "device.driver == 'gpu.nvidia.com'")
HELM = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: {{ .Values.name }}}\nspec: {}\n"
MANY = DEPLOYMENT.replace("replicas: 3", "replicas: 17")


def reviewed(folder, cluster=CLUSTER, now=False, **texts):
    return check_manifests(cluster, read_manifests([write(folder, **texts)]), now=now)


def outcomes(review):
    return {item.subject: item.fit.value for item in review.objects}


CASES = [
    ({"claim": TEMPLATE, "work": DEPLOYMENT}, "fits", 0),
    ({"claim": TEMPLATE, "work": MANY}, "does-not-fit", 1),
    ({"work": DEPLOYMENT}, "not-checked", 2),
    ({"work": DEPLOYMENT, "claim": TEMPLATE.replace("name: pair", "name: other")}, "not-checked", 2),
    ({"work": DEPLOYMENT, "claim": TEMPLATE, "b": MANY.replace("name: train", "name: b")}, "does-not-fit", 1),
    ({"work": DEPLOYMENT.replace("pair", "none"), "claim": TEMPLATE, "b": MANY}, "does-not-fit", 1),
    ({"a": CONFIG, "b": WEB, "c": CLASS}, "fits", 0),
    ({"a": CLASS.replace("device.driver ==", "device.driver =")}, "does-not-fit", 1),
    ({"a": PLUGIN.replace("AMOUNT", "1")}, "not-checked", 2),
    ({"a": PLUGIN.replace("AMOUNT", "$GPUS")}, "not-checked", 2),
    ({"a": PLUGIN.replace("AMOUNT", "0")}, "fits", 0),
    ({"a": PLUGIN.replace("example.com/npu: AMOUNT", "deviceclass.resource.kubernetes.io/x: 1")}, "not-checked", 2),
    ({"a": TRAIN_JOB}, "not-checked", 2),
    ({"a": POD_GROUP, "claim": TEMPLATE}, "not-checked", 2),
    ({"a": HELM}, "not-checked", 2),
    ({"a": TEMPLATE.replace("name: pair", 'name: "{{ .Values.name }}"')}, "not-checked", 2),
    ({"a": TEMPLATE.replace("gpu.nvidia.com", "${GPU_CLASS}")}, "not-checked", 2),
    ({"a": "a: [1\nb: 2\n"}, "does-not-fit", 1),
    ({"a": "# nothing here\n"}, "not-checked", 2),
]


@pytest.mark.parametrize(("texts", "outcome", "status"), CASES)
def test_the_worst_outcome_decides(tmp_path, capsys, texts, outcome, status):
    """The worst is "does not fit", then "not checked", which `--allow-unchecked` accepts, then "fits"."""
    folder = write(tmp_path, **texts)
    assert main(["check", "sample:eks-p4d", str(folder), "-o", "json"]) == status
    assert json.loads(capsys.readouterr().out)["outcome"] == outcome
    assert main(["check", "sample:eks-p4d", str(folder), "--allow-unchecked"]) == status % 2


def test_fits_is_not_said_of_what_was_not_looked_at(tmp_path):
    text = as_text(review_parts(reviewed(tmp_path, work=DEPLOYMENT)))
    assert "Deployment/train: not checked\n  - ResourceClaimTemplate 'pair' is not in the files" in text
    assert "everything fits" not in text


def test_an_allocated_claim_with_a_device_plugin_beside_it_is_not_checked(tmp_path):
    work = DEPLOYMENT.replace("        resources:\n", "        resources:\n          limits: {example.com/npu: 1}\n")
    review = reviewed(tmp_path, claim=TEMPLATE, work=work)
    assert outcomes(review) == {"ResourceClaimTemplate/pair": "fits", "Deployment/train": "not-checked"}


@pytest.mark.parametrize(("count", "outcome"), [(2, "fits"), (9, "does-not-fit")])
def test_a_claim_of_the_cluster_is_used(tmp_path, count, outcome):
    """A pod without a namespace, or in `default`, finds the ResourceClaim that the cluster has there."""
    exactly = ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=count)
    spec = ResourceClaimSpec(DeviceClaim((DeviceRequest("r", exactly),)))
    held = ResourceClaim(metadata=ObjectMeta(name="shared", namespace="default"), spec=spec)
    cluster = replace(CLUSTER, claims=(*CLUSTER.claims, held))
    work = DEPLOYMENT.replace("resourceClaimTemplateName: pair", "resourceClaimName: shared")
    assert outcomes(reviewed(tmp_path, cluster, work=work)) == {"Deployment/train": outcome}


def test_a_pod_of_an_allocated_claim_runs_on_its_nodes(tmp_path):
    """With `now` a claim that holds devices keeps them, and its pod may run where the allocation says."""
    held = next(claim for claim in CLUSTER.claims if claim.status.allocation is not None)
    work = DEPLOYMENT.replace("resourceClaimTemplateName: pair", f"resourceClaimName: {held.metadata.name}")
    work = work.replace("  name: train\n", f"  name: train\n  namespace: {held.metadata.namespace}\n", 1)
    (item,) = reviewed(tmp_path, now=True, work=work).reviewed
    assert (item.fit, len(item.nodes)) == (FitState.FITS, 1)


ALL_AT_ONE_ROOT = template(
    "pair",
    request("gpu", "gpu.nvidia.com", "allocationMode: All"),
    constraints=[same("resource.kubernetes.io/pcieRoot", "gpu")],
)


def test_a_pod_that_kube_scheduler_gives_up_does_not_fit(tmp_path):
    """One node has an allocation, but on the other the search breaks off the whole attempt: no pod starts."""
    one = a_slice("gpu.nvidia.com", gpu(0, "pci0"), gpu(1, "pci0"), node="a")
    two = a_slice("gpu.nvidia.com", gpu(0, "pci0"), gpu(1, "pci1"), node="b")
    review = reviewed(tmp_path, small(one, two), claim=ALL_AT_ONE_ROOT, work=DEPLOYMENT.replace("replicas: 3", ""))
    text = as_text(review_parts(review))
    assert review.outcome is FitState.DOES_NOT_FIT
    assert "Deployment/train: does not fit\n  - Does not start: on b kube-scheduler would give up the pod" in text
    assert ": fits" not in text


BIG = template("pair", request("gpu", "gpu.nvidia.com", selector("device.attributes['gpu.nvidia.com'].size == 'big'")))


@pytest.mark.parametrize(("node", "outcome"), [("a", "fits"), ("b", "does-not-fit"), ("", "does-not-fit")])
def test_a_selector_that_fails_matters_where_the_pods_go(tmp_path, node, outcome):
    """If no node that admits the pods has a device on which it fails, the workload and its template fit."""
    one = a_slice("gpu.nvidia.com", gpu(0, **{"gpu.nvidia.com/size": "big"}), node="a")
    two = a_slice("gpu.nvidia.com", gpu(0), node="b")
    work = DEPLOYMENT.replace("replicas: 3", "replicas: 1")
    work = work.replace("      containers:", f"      nodeName: {node}\n      containers:") if node else work
    review = reviewed(tmp_path, small(one, two), claim=BIG, work=work)
    assert (review.outcome.value, set(outcomes(review).values())) == (outcome, {outcome})
    assert not of_text(as_text(review_parts(review)))


def test_a_slice_in_the_files_that_shows_a_list_proves_the_gate(tmp_path):
    """A driver publishes a list only where its gate is on, so that the API server accepts the slice in 1.36."""
    roots = {"resource.kubernetes.io/pcieRoot": {"strings": ["pci0000:00", "pci0000:10"]}}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "dra.cpu", "nodeName": "n1", "pool": pool, "devices": [{"name": "cpu", "attributes": roots}]}
    shown = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "n1"}, "spec": spec}
    review = reviewed(tmp_path, slices=json.dumps(shown))
    assert [finding.message for finding in review.findings if finding.severity is Severity.ERROR] == []


def test_several_pod_templates_of_one_object_are_distinguished(tmp_path):
    one = "{template: {spec: {containers: [{name: c, resources: {claims: [{name: d}]}}], "
    one += "resourceClaims: [{name: d, resourceClaimTemplateName: pair}]}}, replicas: 2}"
    job = f"apiVersion: batch.example/v1\nkind: GangJob\nmetadata: {{name: g}}\nspec: {{a: {one}, b: {one}}}\n"
    review = reviewed(tmp_path, claim=TEMPLATE, job=job)
    assert [item.subject for item in review.reviewed] == ["GangJob/g:spec.a.template", "GangJob/g:spec.b.template"]
    assert review.together is not None
    assert outcomes(review) == {"ResourceClaimTemplate/pair": "fits", "GangJob/g": "fits"}


DOMAIN = """\
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: fabric}
spec: {numNodes: 2, channel: {resourceClaimTemplate: {name: pair}}}
"""


def test_a_template_that_a_controller_makes_is_named_with_its_maker(tmp_path):
    """The template of a ComputeDomain is in no file: its controller makes it, and the pod is not checked."""
    review = reviewed(tmp_path, domain=DOMAIN, work=DEPLOYMENT)
    (item,) = review.objects
    assert item.fit is FitState.NOT_CHECKED
    assert "ResourceClaimTemplate 'pair' comes from the controller of ComputeDomain/fabric" in item.sentence


def test_the_old_spelling_of_a_pods_claim_says_what_to_write(tmp_path):
    """`source` was the spelling of v1alpha2; the API server drops it, and the claim then names nothing."""
    old = "        source: {resourceClaimTemplateName: pair}\n"
    work = DEPLOYMENT.replace("        resourceClaimTemplateName: pair\n", old)
    (finding,) = reviewed(tmp_path, claim=TEMPLATE, work=work).errors
    assert "write resourceClaimTemplateName: pair instead" in finding.message
    assert finding.advice == "The API server refuses the pod."


@pytest.mark.long
@pytest.mark.parametrize("name", ["manifests", "device-plugin"])
def test_no_real_file_without_its_claims_is_said_to_fit(name):
    if not (REAL / name).is_dir():
        pytest.skip(f"{REAL / name} is not here")
    missing = 0
    for path in sorted((REAL / name).rglob("*.yaml")):
        review = check_manifests(CLUSTER, read_manifests([path]), time_limit=5)
        alone = {f.subject for f in review.findings if f.rule == "claim-not-given"}
        missing += len(alone)
        assert not alone & {item.subject for item in review.reviewed if item.fit is FitState.FITS}, path
        assert not alone or review.outcome is not FitState.FITS, path
    assert missing or name == "device-plugin"


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
    assert check(tmp_path / "three", a=workload("a", 3)).valid
    assert fits(check(tmp_path / "four", a=workload("a", 4))) == [FitState.DOES_NOT_FIT]


def test_pods_that_no_common_node_admits_cannot_share(tmp_path):
    one, two = CLUSTER.node_names[:2]
    review = check(tmp_path, a=workload("a", node=one), b=workload("b", node=two))
    assert fits(review) == [FitState.DOES_NOT_FIT, FitState.DOES_NOT_FIT]
    assert [finding.rule for finding in review.errors] == ["no-node-admitted"]


def test_workloads_with_nothing_but_the_claim_need_it_once(tmp_path):
    review = check(tmp_path, a=workload("a", 50, own=False), b=workload("b", 50, own=False))
    assert fits(review)[:2] == [FitState.FITS, FitState.FITS]
    assert len(review.reviewed[0].plan.placements) == 5


def test_a_daemon_set_that_shares_a_claim_is_warned_about(tmp_path):
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
    cluster = small(far, *near, classes=(random_class("gpu.nvidia.com"),))
    template = TEMPLATE[: TEMPLATE.index("      - name: nic")]
    texts = {"a": workload("a"), "b": workload("b")}
    manifests = read_manifests([write(tmp_path, claim=template, shared=SHARED, **texts)])
    assert fits(check_manifests(cluster, manifests)) == [FitState.NOT_DECIDED, FitState.NOT_DECIDED]


def test_more_pods_than_are_planned_on_one_node_are_not_decided(tmp_path):
    review = check(tmp_path, a=workload("a", 70))
    assert fits(review) == [FitState.NOT_DECIDED]
    assert "dra-lab tries at most 64" in review.reviewed[0].sentence
