"""A person's workload with the claim put in: everything else stays as it was written."""

from __future__ import annotations

import json
from dataclasses import replace as changed

import pytest
import yaml
from msgspec.structs import replace
from small_claims import request
from strict_schemas import validate_strictly
from test_manifest_text import ON, PAIRS, R136

from dra_lab.errors import ExportError, InputError
from dra_lab.exports.bundle import Wanted, make_bundle
from dra_lab.exports.manifests import manifest_files
from dra_lab.exports.workload import kustomize_patch, patch_copy
from dra_lab.exports.workload_file import read_workload
from dra_lab.findings import Severity
from dra_lab.sketch.claim_objects import Target

TEXT = """\
# our inference service
apiVersion: apps/v1
kind: Deployment
metadata:
  name: llm   # the name
  namespace: team-a
spec:
  replicas: 3
  selector: {matchLabels: {app: llm}}
  template:
    metadata:
      labels: {app: llm}
    spec:
      containers:
        # the model
        - name: model
          image: "vllm:1"
          args: ["--a", '--b']
        - name: side
          image: x
---
apiVersion: v1
kind: Service
metadata: {name: llm}
"""
PIN = ({"key": "zone", "operator": "In", "values": ["b"]},)
CLAIM = manifest_files(PAIRS, ON, Target(R136)).claims[0]


def workload(tmp_path, text=TEXT, name="deployment.yaml"):
    path = tmp_path / name
    path.write_text(text)
    return read_workload(path)


def pod_spec(text):
    return next(yaml.safe_load_all(text))["spec"]["template"]["spec"]


def test_only_lines_are_added(tmp_path):
    """Comments, quotes, flow style and the other documents of the file stay, in their order."""
    patched = patch_copy(workload(tmp_path), CLAIM).text
    rest = iter(patched.split("\n"))
    assert all(line in rest for line in TEXT.split("\n"))
    assert pod_spec(patched)["resourceClaims"] == [{"name": "devices", "resourceClaimTemplateName": "pairs"}]
    assert pod_spec(patched)["containers"][0]["resources"] == {"claims": [{"name": "devices"}]}


def test_patching_what_was_patched_changes_nothing(tmp_path):
    once = patch_copy(workload(tmp_path), CLAIM, affinity=PIN)
    again = patch_copy(changed(workload(tmp_path), text=once.text), CLAIM, affinity=PIN)
    assert again.text == once.text


def test_another_digest_in_the_name_replaces_the_reference(tmp_path):
    """The claim that an earlier export put in is renewed, not joined by a second one."""
    first = patch_copy(workload(tmp_path), CLAIM).text.replace("TemplateName: pairs", "TemplateName: pairs-0123abcd")
    patched = patch_copy(changed(workload(tmp_path), text=first), CLAIM)
    assert pod_spec(patched.text)["resourceClaims"] == [{"name": "devices", "resourceClaimTemplateName": "pairs"}]


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (
            ["matchExpressions: [{key: a, operator: Exists}]", "matchExpressions: [{key: c, operator: Exists}]"],
            [["a", "zone"], ["c", "zone"]],
        ),
        (
            ["{}", "matchExpressions: []", "matchFields: [{key: metadata.name, operator: In, values: [n1]}]"],
            [[], [], ["zone"]],
        ),
    ],
)
def test_requirements_on_nodes_join_every_term_that_is_not_empty(tmp_path, terms, expected):
    """Terms are alternatives: a term of its own would let pods onto nodes that the workload keeps them off.

    A term without requirements matches no node; with one it would admit nodes that the workload keeps off.
    """
    affinity = """\
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
"""
    affinity += "".join(f"            - {term}\n" for term in terms)
    text = TEXT.replace("      containers:\n", affinity + "      containers:\n", 1)
    patched = patch_copy(workload(tmp_path, text), CLAIM, affinity=PIN).text
    required = pod_spec(patched)["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    found = [[e["key"] for e in term.get("matchExpressions", ())] for term in required["nodeSelectorTerms"]]
    assert found == expected


def test_a_foreign_claim_of_the_pod_stays(tmp_path):
    text = TEXT.replace(
        "      containers:\n",
        "      resourceClaims:\n      - {name: devices, resourceClaimName: mine}\n      containers:\n",
        1,
    )
    claims = pod_spec(patch_copy(workload(tmp_path, text), CLAIM).text)["resourceClaims"]
    assert claims[0] == {"name": "devices", "resourceClaimName": "mine"}
    assert claims[1] == {"name": "pairs", "resourceClaimTemplateName": "pairs"}


def test_the_container_can_be_named(tmp_path):
    patched = patch_copy(workload(tmp_path), CLAIM, container="side").text
    assert ["resources" in container for container in pod_spec(patched)["containers"]] == [False, True]
    with pytest.raises(InputError, match="containers: model, side"):
        patch_copy(workload(tmp_path), CLAIM, container="other")


def test_json_stays_json_and_any_object_with_a_pod_template_does(tmp_path):
    value = {"apiVersion": "x.io/v1", "kind": "Any", "spec": {"a": [{"spec": {"containers": [{"name": "m"}]}}]}}
    patched = patch_copy(workload(tmp_path, json.dumps(value), "any.json"), CLAIM)
    inner = json.loads(patched.text)["spec"]["a"][0]["spec"]
    assert inner["containers"] == [{"name": "m", "resources": {"claims": [{"name": "devices"}]}}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: Service\n", "it has none"),
        (TEXT + "---\n" + TEXT, "it has 2: Deployment/llm, Deployment/llm"),
        ("spec: {containers: []}\n", "it has none"),
    ],
)
def test_a_file_holds_one_workload(tmp_path, text, said):
    with pytest.raises(InputError, match=said):
        workload(tmp_path, text)


def test_a_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(ExportError, match=r"none\.yaml"):
        read_workload(tmp_path / "none.yaml")


def test_the_patch_of_a_component_holds_what_it_adds(tmp_path):
    patch = yaml.safe_load(kustomize_patch(workload(tmp_path), CLAIM, affinity=PIN).text)
    assert patch["metadata"] == {"name": "llm"}
    assert list(patch["spec"]["template"]["spec"]) == ["containers", "resourceClaims", "affinity"]


def test_kinds_whose_lists_kustomize_replaces_get_no_patch(tmp_path):
    with pytest.raises(InputError, match="take the patched copy"):
        kustomize_patch(workload(tmp_path, TEXT.replace("kind: Deployment", "kind: Other")), CLAIM)


def test_a_patched_workload_names_its_claim_by_content(tmp_path):
    """A template's spec is immutable: another spec is another name, in the claim and in the workload alike."""
    own = workload(tmp_path)

    def names(sketch):
        texts = make_bundle(sketch, ON, Target(R136), Wanted(workload=own)).texts
        claim = yaml.safe_load(texts["resourceclaimtemplate.yaml"])["metadata"]
        (entry,) = pod_spec(texts["deployment.yaml"])["resourceClaims"]
        assert entry["resourceClaimTemplateName"] == claim["name"]
        assert claim["namespace"] == "team-a"
        return claim["name"]

    first = names(PAIRS)
    assert first.startswith("pairs-")
    assert names(PAIRS) == first
    assert names(replace(PAIRS, requests=(request("gpu", "gpu.nvidia.com"), PAIRS.requests[1]), links=())) != first


def test_the_readme_of_a_patch_says_that_the_folder_is_a_component(tmp_path):
    """Nothing in it can be applied by itself."""
    wanted = Wanted(workload=workload(tmp_path), patch=True, extra=("report",))
    readme = make_bundle(PAIRS, ON, Target(R136), wanted).texts["README.md"]
    assert "kustomize component" in readme
    assert "kubectl apply" not in readme


@pytest.mark.parametrize("kind", ["pod", "deployment", "statefulset", "job"])
def test_every_example_is_accepted_by_the_strict_schemas(kind):
    document = yaml.safe_load(make_bundle(PAIRS, ON, Target(R136), Wanted(kind)).texts[f"{kind}.yaml"])
    validate_strictly(document, "1.36")


def test_versions_and_digests_are_annotations_only_where_asked_for():
    plain = make_bundle(PAIRS, ON, Target(R136)).texts["resourceclaimtemplate.yaml"]
    found = make_bundle(PAIRS, ON, Target(R136), Wanted(annotate=True)).texts["resourceclaimtemplate.yaml"]
    assert "annotations" not in plain
    assert set(yaml.safe_load(found)["metadata"]["annotations"]) == {
        "dra-lab/version",
        "dra-lab/drawing-digest",
        "dra-lab/cluster-digest",
    }


LIMITED = TEXT.replace('image: "vllm:1"', 'image: "vllm:1"\n          resources: {limits: {nvidia.com/gpu: 2, cpu: 4}}')


def plugin_findings(tmp_path, text=LIMITED, **names):
    bundle = make_bundle(PAIRS, ON, Target(R136), Wanted(workload=workload(tmp_path, text), **names))
    return [f for f in bundle.findings if f.rule in ("asked-twice", "plugin-beside-claim")]


@pytest.mark.parametrize("patch", [False, True])
def test_what_the_workload_still_asks_of_a_device_plugin_is_reported(tmp_path, patch):
    """A limit of the class that the claim asks for too is a warning: where it stands, what it is, what to do."""
    (finding,) = plugin_findings(tmp_path, patch=patch)
    assert finding.severity is Severity.WARNING
    assert str(finding.origin) == "deployment.yaml, Deployment/llm, spec.template.spec.containers[0].resources.limits"
    assert "container model still requests nvidia.com/gpu: 2" in finding.message
    assert "dra-lab migrate" in finding.advice


@pytest.mark.parametrize(
    ("asked", "expected"), [("amd.com/gpu: 2, ", [("plugin-beside-claim", Severity.NOTE)]), ("", [])]
)
def test_devices_of_another_kind_from_a_plugin_are_a_note(asked, expected, tmp_path):
    """They may be meant: the claim does not ask for their class."""
    found = plugin_findings(tmp_path, LIMITED.replace("nvidia.com/gpu: 2, ", asked))
    assert [(finding.rule, finding.severity) for finding in found] == expected
