"""Sources of clusters, and the messages about missing ones."""

import gzip
import json
import os
import shutil
import threading
from pathlib import Path

import pytest
from small_documents import CLAIM, CLASS, SLICE
from small_manifests import request, same, template
from topology_texts import TOPO

from dra_lab import read_sketch
from dra_lab.cli import main
from dra_lab.errors import DraLabError, ManifestError, SourceError
from dra_lab.manifests.versions import downgrade
from dra_lab.shipped import samples_dir
from dra_lab.sources import load_cluster, load_texts
from dra_lab.sources.files import MAX_FILE_BYTES
from dra_lab.sources.samples import samples

SAMPLES = [sample.name for sample in samples()]


def test_every_sample_says_what_it_teaches():
    assert all(sample.teaches and sample.title for sample in samples())


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("https:/example.com", "did you mean context:NAME for a running cluster"),
        ("sample:ekp4d", "did you mean 'sample:eks-p4d'"),
        ("smaple:mig", "did you mean 'sample:mig'"),
        ("/does/not/exist", "no file or folder"),
        ("sample:nope", "samples: "),
        ("topo:", "write topo:FILE"),
        ("topo:*8", "write topo:FILE"),
        ("topo:topo.txt*x", r"write the number of nodes after \*"),
    ],
)
def test_a_source_that_is_not_there_is_reported_with_what_to_do(typed, words):
    """The error names the most similar sample or kind of source, or how to write it."""
    with pytest.raises(SourceError, match=words):
        load_cluster(typed)


def dump(tmp_path: Path, namespaces: list[str]) -> Path:
    """A file as kubectl writes it, with claims of the given namespaces."""
    items = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {
                "driver": "d.com",
                "pool": {"name": "p", "resourceSliceCount": 1},
                "nodeName": "n",
                "devices": [{"name": "x"}],
            },
        },
        *(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "ResourceClaim",
                "metadata": {"name": f"c{i}", "namespace": namespace},
            }
            for i, namespace in enumerate(namespaces)
        ),
    ]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


@pytest.mark.parametrize(
    ("namespaces", "rules"),
    [([], ["claims-missing"]), (["a", "a"], ["claims-one-namespace"]), (["a", "b"], [])],
)
def test_a_dump_without_all_claims_carries_its_warning(tmp_path, namespaces, rules):
    """Without `-A` the claims of other namespaces are missing and their devices look free: that is said."""
    cluster = load_cluster(dump(tmp_path, namespaces))
    assert [finding.rule for finding in cluster.findings] == rules
    assert cluster.claims_known == bool(namespaces)


def test_slices_without_a_name_are_several_objects(tmp_path):
    """Manifests with `generateName` have no name yet, so none of them replaces another."""
    first = json.loads(dump(tmp_path, []).read_text())["items"][0]
    slices = [json.loads(json.dumps(first)) for _ in "ab"]
    for node, slice_ in zip("ab", slices, strict=True):
        slice_["metadata"] = {"generateName": "s-"}
        slice_["spec"] |= {"nodeName": node, "pool": {"name": node, "resourceSliceCount": 1}}
    assert load_texts({"slices.json": json.dumps(slices)}).node_names == ("a", "b")


def test_a_node_that_only_a_slice_names_is_known():
    text = (samples_dir() / "two-sockets" / "resourceslices.yaml").read_text()
    cluster = load_texts({"slices.yaml": text})
    assert cluster.node_names == load_cluster("sample:two-sockets").node_names


def test_a_broken_file_in_a_folder_is_reported_and_the_others_are_read(tmp_path):
    shutil.copytree(samples_dir() / "two-sockets", tmp_path / "c")
    (tmp_path / "c" / "bad.json").write_text("{")
    cluster = load_cluster(tmp_path / "c")
    assert cluster.slices
    assert [finding.rule for finding in cluster.findings][:1] == ["file-broken"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
@pytest.mark.parametrize("text", [json.dumps({"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n"}}), TOPO])
def test_a_pipe_is_read_as_a_shell_gives_it(tmp_path, text):
    """`dra-lab plan <(kubectl get ... -o json)`, and the same for a topology file."""
    pipe = tmp_path / "63"
    os.mkfifo(pipe)
    writing = threading.Thread(target=pipe.write_text, args=(text,))
    writing.start()
    cluster = load_cluster(pipe)
    writing.join()
    assert len(cluster.node_names) == 1


def test_the_later_of_two_differing_objects_is_used_and_reported():
    """An object that appears twice is no reason to count its devices twice."""
    one = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\n"
    cluster = load_texts({"a.yaml": one, "b.yaml": one.replace("{name: n}", "{name: n, labels: {a: b}}")})
    assert cluster.nodes[0].metadata.labels == {"a": "b"}
    assert [finding.rule for finding in cluster.findings] == ["object-twice"]


def test_a_file_without_slices_and_nodes_names_the_command(tmp_path):
    """The person is given the kubectl line that writes what is needed."""
    (tmp_path / "x.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n")
    with pytest.raises(SourceError, match="kubectl get resourceslices"):
        load_cluster(tmp_path / "x.yaml")


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
