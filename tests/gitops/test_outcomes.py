"""Each object that `check` reads is valid and fits, does not, or is not checked; the exit status says the worst."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from contradictions import of_text
from gitops.manifests_written import DEPLOYMENT, TEMPLATE, write
from small_manifests import device_class, request, same, selector, template
from small_nodes import a_slice, gpu
from small_nodes import cluster as small

from dra_lab import load_cluster, read_manifests
from dra_lab.cli import main
from dra_lab.findings import Severity
from dra_lab.gitops.check_manifests import check_manifests
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
    return {item.object: item.outcome.value for item in review.objects}


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
    """A workload whose template is in another file is named with the reason."""
    text = as_text(review_parts(reviewed(tmp_path, work=DEPLOYMENT)))
    assert "Deployment/train: not checked\n  - ResourceClaimTemplate 'pair' is not in the files" in text
    assert "everything fits" not in text


def test_an_allocated_claim_with_a_device_plugin_beside_it_is_not_checked(tmp_path):
    """The claims of a pod fit, but whether the device plugin has a device for it is not known."""
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
    """Each is answered under its path, and both count when all workloads are planned at once."""
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
    assert item.outcome is FitState.NOT_CHECKED
    assert "ResourceClaimTemplate 'pair' comes from the controller of ComputeDomain/fabric" in item.reason


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
    """A pod of a real file whose template is not in it is not checked, and nothing of it is said to fit."""
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
