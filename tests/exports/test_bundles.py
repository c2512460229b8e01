"""Several workloads, and pods of several claims, as one folder for Git."""

from __future__ import annotations

import json

import pytest
import yaml
from checked_plans import checked_fleet, checked_plan
from msgspec.structs import replace
from small_claims import request
from small_nodes import a_slice, cluster, gpu, nic

from dra_lab import ClaimSketch, KubernetesRelease, Session, Workload, load_cluster, read_sketch
from dra_lab.cli import main
from dra_lab.errors import InputError
from dra_lab.exports.bundle import Wanted, make_bundle
from dra_lab.exports.measure import measure_files
from dra_lab.exports.workload_file import read_workload
from dra_lab.gitops.claims_of_file import read_pod
from dra_lab.model.sketch import claims_of, pod_drawing
from dra_lab.session.outputs import Planned, bundle, drawn_of
from dra_lab.sketch.claim_objects import Target

R136 = KubernetesRelease("1.36")
TARGET = Target(R136)
ONE = ClaimSketch(name="one", requests=(request("gpu", "gpu.nvidia.com"),))
WIRE = ClaimSketch(name="wire", requests=(request("nic", "dranet"),))
FLEET = ("sample:eks-p4d", "--claim", "sample:eks-p4d/gpu-nic-pairs", "--replicas", "2")


def nodes():
    return cluster(
        *(a_slice("gpu.nvidia.com", gpu(0, "r0"), gpu(1, "r1"), node=n) for n in ("n1", "n2")),
        *(a_slice("dra.net", nic("a", "r0", 0), nic("b", "r1", 1), node=n) for n in ("n1", "n2")),
    )


def planned(*workloads):
    return checked_fleet(nodes(), workloads, release=R136, first_fit=False)


def test_a_pod_of_several_claims_is_written_as_its_drawing_is():
    """The templates and the entries have the names of an export of the pod alone."""
    plan = planned(Workload("both", (ONE, WIRE), replicas=1))
    fleet = bundle(Planned(nodes(), plan), TARGET).texts
    alone = make_bundle(pod_drawing("both", (ONE, WIRE)), nodes(), TARGET).texts
    templates = [name for name in alone if name.startswith("resourceclaimtemplate-")]
    assert {name: fleet[name] for name in templates} == {name: alone[name] for name in templates}
    one, other = (yaml.safe_load(text)["spec"] for text in (fleet["pod.yaml"], alone["pod.yaml"]))
    assert one["resourceClaims"] == other["resourceClaims"]


def test_every_file_is_in_the_kustomization_and_classes_are_written_once():
    made = bundle(
        Planned(nodes(), planned(Workload("a", (ONE,), replicas=1), Workload("b", (ONE,), replicas=1))), TARGET
    )
    listed = yaml.safe_load(made.texts["kustomization.yaml"])["resources"]
    assert sorted([*listed, "kustomization.yaml"]) == sorted(made.texts)
    assert sum(name.startswith("deviceclass-") for name in listed) == len(
        {name for name in listed if name.startswith("deviceclass-")}
    )


def test_the_record_holds_the_plan_and_the_run_of_all_workloads():
    plan = planned(Workload("a", (ONE,), replicas=1), Workload("b", (WIRE,), replicas=2))
    record = bundle(Planned(nodes(), plan), TARGET, pin=True).record
    assert [workload["name"] for workload in record["plan"]["workloads"]] == ["a", "b"]
    assert record["loop"]["wanted"] == 3


def test_replicas_cannot_share_one_claim():
    with pytest.raises(InputError, match="template"):
        make_bundle(planned(Workload("a", (ONE,), replicas=2)), nodes(), Target(R136, kind="claim"))


def test_two_claims_of_one_name_are_refused():
    plan = planned(Workload("a", (ONE,), replicas=1), Workload("A", (ONE,), replicas=1))
    with pytest.raises(InputError, match="two claims would have the name"):
        make_bundle(plan, nodes(), TARGET)


def test_two_examples_of_one_name_are_refused():
    """The claims of two pods differ, their workloads are called the same: neither example is lost silently."""
    other = (replace(ONE, name="two"), replace(WIRE, name="three"))
    plan = planned(Workload("a", (ONE, WIRE), replicas=1), Workload("A", other, replicas=1))
    with pytest.raises(InputError, match="two examples would have the name 'a'"):
        make_bundle(plan, nodes(), TARGET, Wanted("deployment"))


@pytest.mark.long
def test_the_command_line_writes_the_folder_of_several_claims(tmp_path, capsys):
    """Each --claim with its --replicas; the run of first fit is told."""
    other = ("--claim", "sample:eks-p4d/any-nic-pairs", "--replicas", "1")
    assert main(["export", *FLEET, *other, "--dir", str(tmp_path), "--pin", "--report"]) == 0
    output = capsys.readouterr()
    assert "3 of 3 as planned" in output.err
    record = json.loads((tmp_path / "plan.json").read_text())
    assert record["plan"]["kind"] == "Plan"
    assert (tmp_path / "deployment-any-nic-pairs.yaml").exists()


def test_a_deployment_of_ones_own_is_patched_for_its_replicas(tmp_path):
    own = tmp_path / "web.yaml"
    pod = "{containers: [{name: main, image: i}]}"
    own.write_text(
        f"apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{template: {{spec: {pod}}}}}\n"
    )
    assert main(["export", *FLEET, "--dir", str(tmp_path / "out"), "--workload", str(own), "--allow-worse"]) == 0
    made = yaml.safe_load((tmp_path / "out" / "web.yaml").read_text())
    assert made["spec"]["template"]["spec"]["resourceClaims"][0]["name"] == "devices"


def test_the_readme_of_a_deployment_of_ones_own_has_the_plan_of_its_replicas(tmp_path):
    own = tmp_path / "web.yaml"
    own.write_text("kind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: main}]}}}\n")
    plan = planned(Workload("both", (ONE,), replicas=2))
    wanted = Wanted(workload=read_workload(own), extra=("report",))
    readme = bundle(Planned(nodes(), plan), TARGET, wanted).texts["README.md"]
    assert "| both |" in readme
    assert "There is no answer yet" not in readme


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
    found = [yaml.safe_load(text) for name, text in texts.items() if name.endswith(ending)]
    return {(one["kind"], one["metadata"]["name"]): one for one in found if "metadata" in one}


@pytest.fixture
def workload(tmp_path):
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
    found = documents(make_bundle(POD, ON, Target(R136, kind=kind)).texts)
    assert [name for key, name in found if key == what] == ["train-gpus", "train-more"]
    named = {"gpus": "train-gpus", "more": "train-more"}
    assert entries(found["Pod", "train-example"]["spec"]) == (named, ["gpus", "more"])


@pytest.mark.parametrize("example", ["deployment", "statefulset", "job"])
def test_the_pods_of_every_example_use_all_claims(example):
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
