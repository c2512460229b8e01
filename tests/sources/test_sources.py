"""Sources of clusters, and the messages about missing ones."""

import json
import os
import shutil
import threading
from pathlib import Path

import pytest
from topology_texts import TOPO

from dra_lab.errors import SourceError
from dra_lab.shipped import samples_dir
from dra_lab.sources import load_cluster, load_texts, samples

SAMPLES = [sample.name for sample in samples()]


def test_every_sample_says_what_it_teaches():
    """The list of samples has one line for each."""
    assert all(sample.teaches and sample.title for sample in samples())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("https:/example.com", "context:NAME for a running cluster"),
        ("sample:ekp4d", "'sample:eks-p4d'"),
        ("smaple:mig", "'sample:mig'"),
    ],
)
def test_a_misspelt_source_names_what_is_meant(typed, meant):
    """The error for an unknown source names the most similar sample or kind of source."""
    with pytest.raises(SourceError, match=f"did you mean {meant}"):
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
    """Slices without Node objects still give nodes to plan on."""
    text = (samples_dir() / "two-sockets" / "resourceslices.yaml").read_text()
    cluster = load_texts({"slices.yaml": text})
    assert cluster.node_names == load_cluster("sample:two-sockets").node_names


def test_a_broken_file_in_a_folder_is_reported_and_the_others_are_read(tmp_path):
    """One bad file does not hide a cluster."""
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


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("/does/not/exist", "no file or folder"),
        ("sample:nope", "samples: "),
    ],
)
def test_what_is_not_there_is_reported_with_what_to_do(source, words):
    """A source that cannot be read raises SourceError and names what can be done."""
    with pytest.raises(SourceError, match=words):
        load_cluster(source)


def test_a_file_without_slices_and_nodes_names_the_command(tmp_path):
    """The person is given the kubectl line that writes what is needed."""
    (tmp_path / "x.yaml").write_text("apiVersion: v1\nkind: ConfigMap\n")
    with pytest.raises(SourceError, match="kubectl get resourceslices"):
        load_cluster(tmp_path / "x.yaml")
