"""Files as Windows writes them: kubectl's output, claims, drawings and workloads in UTF-16 or with a mark of UTF-8."""

from __future__ import annotations

import gzip
import json

import pytest

from dra_lab.cli import main
from dra_lab.errors import ManifestError
from dra_lab.manifests.documents import decode_documents
from dra_lab.manifests.file_text import as_utf8
from dra_lab.sources import load_cluster

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: size}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
  resourceClaims: [{name: g, resourceClaimTemplateName: size}]
"""
ENCODINGS = ["utf-16", "utf-8-sig"]


def node(name):
    """A node and nothing else."""
    return json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}, ensure_ascii=False)


@pytest.mark.parametrize("encoding", [*ENCODINGS, "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["cluster.json", "cluster.yaml"])
def test_a_cluster(tmp_path, encoding, name):
    """Names stay what they are, whatever the file's encoding."""
    mark = "\ufeff" if encoding.startswith("utf-16-") else ""
    (tmp_path / name).write_bytes((mark + node("größe")).encode(encoding))
    assert load_cluster(tmp_path / name).node_names == ("größe",)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_claim_with_its_pod(tmp_path, encoding):
    """What is planned, exported and checked is read alike."""
    (tmp_path / "claim.yaml").write_bytes(f"{CLAIM}---\n{POD}".encode(encoding))
    claim = str(tmp_path / "claim.yaml")
    assert main(["plan", "sample:eks-p4d", "--claim", claim]) == 0
    assert main(["check", "sample:eks-p4d", claim]) == 0


def test_a_mark_makes_json_no_yaml():
    """Large output of kubectl is read as JSON, which is a hundred times quicker."""
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": [json.loads(node("a"))]})
    found = decode_documents(b"\xef\xbb\xbf" + text.encode(), "a.json")
    assert found.objects[0][1].object == "items[0]"


@pytest.mark.parametrize("data", [b"\xff\xfe\x00\xd8", b"\xff\xfe" + "a: b".encode("utf-16-le") + b"\x00\xd8\x00\xd8"])
def test_what_only_claims_to_be_utf16_is_refused(data):
    """One error, as for any other text that is none."""
    with pytest.raises(ManifestError, match="not UTF-8"):
        decode_documents(data, "a.yaml")


def test_the_beginning_of_a_text_may_be_cut_anywhere():
    """The first bytes of a file show its format."""
    data = "x\U0001f600y".encode("utf-16")
    for end in range(4, len(data) + 1):
        assert as_utf8(data[:end], cut=True).startswith(b"x")


def test_a_compressed_file_is_named_as_such():
    """A `.json.gz` is refused with the program that packed it, not with a byte that is no text."""
    with pytest.raises(ManifestError, match=r"compressed \(gzip\); unpack it first"):
        decode_documents(gzip.compress(node("a").encode()), "a.json.gz")
