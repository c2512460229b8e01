"""YAML as people have it: copied from a terminal, in flow style, with a key twice, in an old version of the API."""

import pytest

from dra_lab.checks.document_checks import check_text
from dra_lab.errors import ManifestError
from dra_lab.findings import Severity
from dra_lab.gitops.folder import read_manifests
from dra_lab.manifests.documents import decode_documents
from dra_lab.model.claims import ResourceClaimTemplate

KYAML = """\
{
  apiVersion: "resource.k8s.io/v1",
  kind: "ResourceClaimTemplate",
  metadata: {name: "one-gpu"},
  spec: {
    spec: {
      devices: {
        requests: [{
          name: "gpu",
          exactly: {
            deviceClassName: "gpu.example.com",
          },
        }],
      },
    },
  },
}
"""
BLOCK = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: one-gpu
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.example.com
"""

PROMPTS = [
    "$ kubectl get resourceclaimtemplate one-gpu -o yaml",
    "kubectl apply -f - <<EOF",
    "ada@login:~/work$ kubectl get resourceclaimtemplate one-gpu -o yaml",
    "[root@login ~]# kubectl get resourceclaimtemplate one-gpu -o yaml",
    "root@login:/home/ada# kubectl get resourceclaimtemplate one-gpu -o yaml",
    "$ cat claim.yaml",
    "+ kubectl get resourceclaimtemplate one-gpu -o yaml",
    "No resources found in default namespace.",
]


@pytest.mark.parametrize("prompt", PROMPTS)
@pytest.mark.parametrize(
    "below", [BLOCK, f"---\n{BLOCK}", '{"kind": "List", "items": []}'], ids=["YAML", "---", "JSON"]
)
def test_a_line_of_a_terminal_is_named(prompt, below, tmp_path):
    """A paste that begins with a command names this line, wherever manifests are read."""
    file = tmp_path / "a.yaml"
    file.write_text(f"{prompt}\n{below}")
    (finding,) = read_manifests([file]).findings
    assert (finding.message.startswith("line 1 was copied from a terminal"), finding.origin.line) == (True, 1)
    assert repr(prompt[:60])[1:-1] in finding.message


def test_every_line_of_a_terminal_is_named(tmp_path):
    """A prompt at the end of a paste is named too, also below JSON."""
    for text in (f"$ kubectl get x -o yaml\n{BLOCK}$ \n", '$ kubectl get x -o json\n{"kind": "Pod"}\nada@login:~$\n'):
        file = tmp_path / "a.yaml"
        file.write_text(text)
        (finding,) = read_manifests([file]).findings
        assert f"and line {text.count(chr(10))}" in finding.message


@pytest.mark.parametrize("text", [BLOCK, KYAML, f"# kubectl apply -f this\n{BLOCK}"])
def test_a_manifest_has_no_line_of_a_terminal(text, tmp_path):
    file = tmp_path / "a.yaml"
    file.write_text(text)
    assert (len(read_manifests([file]).documents), read_manifests([file]).findings) == (1, ())


@pytest.mark.parametrize("text", [KYAML, f"---\n{KYAML}", f"# a claim\n{KYAML}", f"{KYAML}---\n{KYAML}"])
def test_kyaml_is_read_as_yaml(text):
    """YAML in flow style gives the objects of the same YAML in block style, with and without its header."""
    (wanted,) = decode_documents(BLOCK).of(ResourceClaimTemplate)
    found = decode_documents(text)
    assert set(map(repr, found.of(ResourceClaimTemplate))) == {repr(wanted)}
    assert found.findings == ()


def test_kyaml_is_validated_with_its_lines():
    """A value that the API server refuses is reported at its line of the KYAML."""
    text = KYAML.replace('"gpu.example.com"', '"GPU"')
    (finding,) = check_text(text)
    assert (finding.rule, finding.origin.line) == ("api-refused", 11)


def test_broken_json_is_reported_as_json():
    for read in (decode_documents, check_text):
        with pytest.raises(ManifestError, match="not valid JSON"):
            read('{"kind": "List", "items": [}')


@pytest.mark.parametrize("read", [decode_documents, check_text])
def test_a_template_that_begins_with_a_variable_is_reported_as_a_template(read):
    """A Helm template that begins with a bracketed condition is no broken JSON."""
    with pytest.raises(ManifestError, match="this is a template"):
        read("{{- if .Values.enabled }}\nkind: Pod\n{{- end }}\n")


TWICE = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  containers:
  - name: c
    image: a
    image: b
"""


def test_of_a_key_that_is_there_twice_the_last_one_counts(tmp_path):
    """The file is read as kubectl apply reads it, with the last one; a warning says that strict readers refuse it."""
    file = tmp_path / "a.yaml"
    file.write_text(TWICE)
    manifests = read_manifests([file])
    (document,) = manifests.documents
    assert document.value["spec"]["containers"][0]["image"] == "b"
    assert document.line("spec.containers[0].image") == 9
    (finding,) = check_text(TWICE, "a.yaml")
    assert (finding.rule, finding.severity, finding.origin.line) == ("key-repeated", Severity.WARNING, 9)
    assert "lines 8 and 9" in finding.message
    assert "kustomize" in finding.advice
    assert [f.severity for f in check_text('{"kind": "Pod", "kind": "Pod"}')] == [Severity.WARNING]


FLAT = BLOCK.replace("v1\n", "v1beta1\n").replace(
    "        exactly:\n          deviceClassName: gpu.example.com\n",
    "        deviceClassName: GPU\n        count: none\n",
)


def test_a_path_is_printed_as_it_is_written(tmp_path):
    """v1beta1 has no `exactly`: a message names the path that is in the file, from every reader."""
    path = "spec.spec.devices.requests[0]"
    assert {f.origin.path for f in check_text(FLAT)} == {f"{path}.count"}
    assert {f.origin.path for f in decode_documents(FLAT).findings} == {f"{path}.count"}
    file = tmp_path / "a.yaml"
    file.write_text(FLAT)
    (document,) = read_manifests([file]).documents
    assert document.at(f"{path}.exactly.deviceClassName").path == f"{path}.deviceClassName"
    assert document.at(f"{path}.exactly.deviceClassName").line == 10


def test_a_step_of_another_version_stays_in_the_path():
    """`exactly` under v1beta1 is the error itself, so the path has it; a device's fields are under `basic` there."""
    wrong = BLOCK.replace("v1\n", "v1beta1\n")
    paths = {f.origin.path for f in check_text(wrong)}
    assert "spec.spec.devices.requests[0].exactly" in paths
    device = "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceSlice\nmetadata: {name: s}\nspec:\n  driver: d\n"
    device += "  nodeName: n\n  pool: {name: n, generation: 1, resourceSliceCount: 1}\n"
    device += "  devices:\n  - name: a\n    basic: {new: 1, attributes: {x: 1}}\n"
    assert {f.origin.path for f in check_text(device)} == {
        "spec.devices[0].basic.new",
        "spec.devices[0].basic.attributes[x]",
    }


@pytest.mark.parametrize(
    ("version", "kind", "said"),
    [
        ("v1alpha2", "ResourceClass", "Write it as a DeviceClass of resource.k8s.io/v1."),
        ("v1alpha2", "ResourceClaimParameters", "Remove it, or write what it says in resource.k8s.io/v1."),
        ("v1alpha3", "PodSchedulingContext", "Remove it, or write what it says in resource.k8s.io/v1."),
        ("v1alpha3", "ResourceClaim", "Write it as a ResourceClaim of resource.k8s.io/v1."),
        ("v1alpha3", "ResourceSlice", "Update the driver: it publishes its slices itself."),
    ],
)
def test_an_object_of_a_version_that_is_gone_is_refused_in_one_sentence(version, kind, said):
    """The finding is at the line of the version, and says what to write instead."""
    text = f"metadata: {{name: a}}\napiVersion: resource.k8s.io/{version}\nkind: {kind}\nspec: {{controller: d}}\n"
    (found,) = check_text(text, "a.yaml")
    assert (found.rule, found.origin.line, found.severity, found.advice) == ("version-old", 2, Severity.ERROR, said)
    assert found.message == f"Kubernetes 1.34 has no {kind} of resource.k8s.io/{version}"
