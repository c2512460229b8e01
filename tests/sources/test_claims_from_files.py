"""Files as people have them: forms, encodings and versions that are read, and what is refused where."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from small_documents import CLAIM, CLASS, SLICE
from small_manifests import request, same, template

from dra_lab import load_cluster, read_sketch
from dra_lab.cli import main
from dra_lab.errors import DraLabError, ManifestError, SourceError
from dra_lab.manifests.versions import downgrade
from dra_lab.sources.files import MAX_FILE_BYTES

TEMPLATE = template(
    "pair",
    request("gpu", "gpu.nvidia.com", "count: 2"),
    request("nic", "dranet"),
    constraints=[same("resource.kubernetes.io/pcieRoot", "gpu", "nic")],
)
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
  resourceClaims: [{name: g, resourceClaimTemplateName: pair}]
"""
NODE = json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "größe"}}, ensure_ascii=False)


def written(folder: Path, text: str | bytes, name: str = "claim.yaml") -> Path:
    """A file with the text."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_template_becomes_a_drawing(tmp_path):
    """Requests are taken over, a constraint becomes a link; other documents of the file are passed over."""
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n---\n"
    sketch = read_sketch(written(tmp_path, other + TEMPLATE))
    assert (sketch.name, [request.name for request in sketch.requests]) == ("pair", ["gpu", "nic"])
    assert [link.requests for link in sketch.links] == [("gpu", "nic")]


BAD = {
    "an unknown field": (TEMPLATE.replace("count: 2", "coutn: 2"), r"claim\.yaml:9.*coutn"),
    "a wrong type": (TEMPLATE.replace("count: 2", "count: two"), r"claim\.yaml:9.*requests\[0\]\.exactly\.count"),
    "an unknown version": (TEMPLATE.replace("resource.k8s.io/v1", "resource.k8s.io/v9"), r"claim\.yaml.*v9"),
    "an empty file": ("", r"claim\.yaml"),
    "another kind": ("kind: Pod\napiVersion: v1\n", r"claim\.yaml"),
    "half of a document": ("{", r"claim\.yaml"),
    "a list": ("- 1\n", r"claim\.yaml"),
    "no text": (b"\xff\xfe\x00", "UTF-8"),
    "half of a character": (b"\xff\xfe\x00\xd8", "UTF-8"),
    "characters that are cut": (b"\xff\xfe" + "a: b".encode("utf-16-le") + b"\x00\xd8\x00\xd8", "UTF-8"),
    "a packed file": (gzip.compress(TEMPLATE.encode()), r"compressed \(gzip\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_claim_that_cannot_be_read_is_refused_with_its_place(name, tmp_path):
    """The message names the file, and the line and field where there is one."""
    text, where = BAD[name]
    with pytest.raises(DraLabError, match=where):
        read_sketch(written(tmp_path, text))


def test_a_drawing_that_is_not_there_is_reported_with_what_to_do(tmp_path):
    """The path alone does not say what can be given."""
    with pytest.raises(SourceError, match="sample:NAME/EXAMPLE"):
        read_sketch(tmp_path / "nowhere.yaml")


def test_a_file_of_gigabytes_is_refused_before_it_is_read(tmp_path):
    """The limit is stated; nothing of the file is loaded."""
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(SourceError, match="the limit is"):
        load_cluster(path)


ENCODINGS = {"utf-16": "", "utf-8-sig": "", "utf-16-le": "\ufeff", "utf-16-be": "\ufeff"}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", ["cluster.json", "cluster.yaml"])
def test_a_cluster_may_be_in_an_encoding_of_windows(encoding, name, tmp_path):
    """Names stay what they are, whatever the file's encoding."""
    text = (ENCODINGS[encoding] + NODE).encode(encoding)
    assert load_cluster(written(tmp_path, text, name)).node_names == ("größe",)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_claim_may_be_in_an_encoding_of_windows(encoding, tmp_path):
    """What is planned and what is checked is read alike."""
    claim = str(written(tmp_path, f"{TEMPLATE}---\n{POD}".encode(encoding)))
    assert main(["plan", "sample:eks-p4d", "--claim", claim]) == 0
    assert main(["check", "sample:eks-p4d", claim]) == 0


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_dump_of_an_old_version_is_the_same_cluster(version, tmp_path):
    """Slices, classes and claims of an older version give the values of v1."""

    def dump(name, documents):
        items = {"apiVersion": "v1", "kind": "List", "items": documents}
        return load_cluster(written(tmp_path, json.dumps(items), name))

    documents = (SLICE, CLASS, CLAIM)
    new, old = dump("new.json", documents), dump("old.json", [downgrade(one, version) for one in documents])
    assert (old.slices, old.classes, old.claims) == (new.slices, new.classes, new.claims)
    assert len(old.slices) == len(old.classes) == len(old.claims) == 1
    assert [f.rule for f in old.findings] == [f.rule for f in new.findings]


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_claim_of_an_old_version_is_read(version, tmp_path):
    """A claim's file may be of any version that Kubernetes reads; an unknown one is refused by name."""
    sketch = read_sketch(written(tmp_path, json.dumps(downgrade(CLAIM, version)), "claim.json"))
    assert sketch.requests[0].exactly.device_class_name == "gpu"
    with pytest.raises(ManifestError, match="v1alpha1"):
        read_sketch(written(tmp_path, json.dumps(CLAIM | {"apiVersion": "resource.k8s.io/v1alpha1"})))
