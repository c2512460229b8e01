"""Exports of a drawing with several claims: a template per claim, one pod that uses all of them."""

from __future__ import annotations

import pytest
import yaml
from checked_plans import checked_plan
from msgspec.structs import replace

from dra_lab import KubernetesRelease, Session, load_cluster, read_sketch
from dra_lab.exports.bundle import Wanted, make_bundle
from dra_lab.exports.measure import measure_files
from dra_lab.exports.workload_file import read_workload
from dra_lab.gitops.claims_of_file import read_pod
from dra_lab.model.sketch import claims_of, pod_drawing
from dra_lab.session.outputs import bundle, drawn_of
from dra_lab.sketch.claim_objects import Target

R136 = KubernetesRelease("1.36")
ON = load_cluster("sample:eks-p4d")
PAIRS = read_sketch("sample:eks-p4d/gpu-nic-pairs")
POD = pod_drawing("train", (replace(PAIRS, name="gpus"), replace(PAIRS, name="more")))
WORKLOAD = """apiVersion: apps/v1
kind: Deployment
metadata: {name: serving}  # ours
spec:
  selector: {matchLabels: {app: serving}}
  template:
    metadata: {labels: {app: serving}}
    spec:
      containers:
      - {name: main, image: x}
"""


def documents(texts, ending=".yaml"):
    """Return the documents of an export by kind and name."""
    found = [yaml.safe_load(text) for name, text in texts.items() if name.endswith(ending)]
    return {(one["kind"], one["metadata"]["name"]): one for one in found if "metadata" in one}


@pytest.fixture
def workload(tmp_path):
    """A Deployment without claims in a file."""
    path = tmp_path / "serving.yaml"
    path.write_text(WORKLOAD)
    return read_workload(path)


def entries(spec):
    """Return the claims of a pod by name, and those that its container uses."""
    named = {
        one["name"]: one.get("resourceClaimTemplateName") or one["resourceClaimName"] for one in spec["resourceClaims"]
    }
    return named, [one["name"] for one in spec["containers"][0]["resources"]["claims"]]


@pytest.mark.parametrize(("kind", "what"), [("template", "ResourceClaimTemplate"), ("claim", "ResourceClaim")])
def test_each_claim_is_an_object_and_the_pod_uses_all(kind, what):
    """The names in the pod are those of the frames."""
    found = documents(make_bundle(POD, ON, Target(R136, kind=kind)).texts)
    assert [name for key, name in found if key == what] == ["train-gpus", "train-more"]
    named = {"gpus": "train-gpus", "more": "train-more"}
    assert entries(found["Pod", "train-example"]["spec"]) == (named, ["gpus", "more"])


@pytest.mark.parametrize("example", ["deployment", "statefulset", "job"])
def test_the_pods_of_every_example_use_all_claims(example):
    """As the pod alone."""
    texts = make_bundle(POD, ON, Target(R136), Wanted(example=example)).texts
    spec = yaml.safe_load(texts[f"{example}.yaml"])["spec"]["template"]["spec"]
    assert entries(spec)[1] == ["gpus", "more"]


def test_a_workload_of_a_person_gets_all_claims_once(workload, tmp_path):
    """Exporting twice changes nothing, and templates are named by their specs."""
    made = make_bundle(POD, ON, Target(R136), Wanted(workload=workload)).texts["serving.yaml"]
    named, used = entries(yaml.safe_load(made)["spec"]["template"]["spec"])
    assert list(named) == used == ["gpus", "more"]
    assert [name.rsplit("-", 1)[0] for name in named.values()] == ["train-gpus", "train-more"]
    (tmp_path / "serving.yaml").write_text(made)
    again = Wanted(workload=read_workload(tmp_path / "serving.yaml"))
    assert make_bundle(POD, ON, Target(R136), again).texts["serving.yaml"] == made


def test_a_patch_for_kustomize_lists_all_claims(workload):
    """One patch, whose container uses both."""
    texts = make_bundle(POD, ON, Target(R136), Wanted(workload=workload, patch=True)).texts
    spec = yaml.safe_load(texts["patch.yaml"])["spec"]["template"]["spec"]
    assert entries(spec)[1] == ["gpus", "more"]


def test_an_export_is_read_back_as_the_same_pod(tmp_path):
    """The command plans the exported folder as the drawing was planned."""
    for name, text in make_bundle(POD, ON, Target(R136)).texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "kustomization.yaml").unlink()
    found = read_pod(tmp_path, ON, R136)
    assert list(found.claims) == ["gpus", "more"]
    assert checked_plan(ON, found.planned).node == checked_plan(ON, POD).node
    assert read_sketch(tmp_path / "pod.yaml").claims == ("gpus", "more")


def test_pins_make_kube_scheduler_allocate_the_plan_of_each_claim():
    """Links that are only counts in the second claim are pinned there."""
    drawn = pod_drawing("train", (claims_of(POD)[0], replace(claims_of(POD)[1], links=())))
    session = Session("sample:eks-p4d", sketch=drawn, drawn=False)
    session.plan()
    plain = bundle(drawn_of(session), Target(R136))
    pinned = bundle(drawn_of(session), Target(R136), pin=True)
    session.close()
    assert (plain.is_worse, pinned.is_worse) == (True, False)
    assert "matchAttribute" in pinned.texts["resourceclaimtemplate-train-more.yaml"]


def test_measuring_uses_all_claims_of_the_pod():
    """The Jobs run with the claims of the plan."""
    plan = checked_plan(
        ON, pod_drawing("train", (claims_of(POD)[0], replace(claims_of(POD)[1], requests=PAIRS.requests[:1], links=())))
    )
    texts = measure_files(ON, plan, Target(R136))
    assert texts["claim-with-link.yaml"].count("kind: ResourceClaimTemplate") == 2
    assert texts["job-with-link.yaml"].count("resourceClaimTemplateName") == 2


def test_a_shared_claim_names_how_many_pods_can_use_it():
    """The API server takes at most 256 consumers of one claim."""
    findings = make_bundle(POD, ON, Target(R136, kind="claim")).findings
    assert any("at most 256 pods can use it" in finding.message for finding in findings)
