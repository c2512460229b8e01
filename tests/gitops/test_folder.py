"""Files and folders of manifests."""

import io

import pytest
from gitops.manifests_written import DEPLOYMENT, TEMPLATE, write

from dra_lab import read_manifests
from dra_lab.errors import SourceError


def test_a_folder_is_read_with_everything_below_it(tmp_path):
    """Files in folders below count, in the order of their paths; hidden ones and drawings do not."""
    write(tmp_path / "b", claim=TEMPLATE)
    write(tmp_path / "a", work=DEPLOYMENT)
    write(tmp_path / ".git", other=TEMPLATE)
    (tmp_path / "plan.dralab.yaml").write_text("apiVersion: dra-lab/v1\nkind: Drawing\n")
    found = read_manifests([tmp_path])
    assert [document.kind for document in found.documents] == ["Deployment", "ResourceClaimTemplate"]


def test_an_object_knows_the_line_of_a_path(tmp_path):
    """The line is that of the file, also for the second document of it."""
    write(tmp_path, both=TEMPLATE + "---\n" + DEPLOYMENT)
    document = read_manifests([tmp_path]).documents[1]
    line = document.line("spec.template.spec.resourceClaims[0].resourceClaimTemplateName")
    text = (tmp_path / "both.yaml").read_text().splitlines()[line - 1]
    assert text.strip() == "resourceClaimTemplateName: pair"


def test_the_items_of_a_list_are_objects(tmp_path):
    """A List, as `kubectl get -o yaml` and kustomize print it, is split into objects with their lines."""
    body = "".join(f"  {line}\n" for line in TEMPLATE.splitlines())
    (tmp_path / "list.yaml").write_text("apiVersion: v1\nkind: List\nitems:\n-" + body[1:])
    (document,) = read_manifests([tmp_path]).documents
    assert (document.name, document.line("metadata.name")) == ("pair", 7)


def test_json_has_lines_too(tmp_path):
    """A JSON file is read with the line of each path."""
    (tmp_path / "pod.json").write_text('{\n "kind": "Pod",\n "apiVersion": "v1",\n "metadata": {\n  "name": "a"}\n}')
    (document,) = read_manifests([tmp_path]).documents
    assert document.line("metadata.name") == 5


@pytest.mark.parametrize("between", ["", "\n", "\n\n  "])
def test_json_values_that_follow_one_another_are_documents(tmp_path, between):
    """`kubectl get -o json` twice into one file; each has its number and the line of each path in the file."""
    one, two = '{\n"kind": "Pod", "metadata": {"name": "a"}}', '{"kind": "Pod", "metadata": {\n"name": "b"}}'
    (tmp_path / "pods.json").write_text(one + between + two)
    found = read_manifests([tmp_path])
    lines = between.count("\n")
    assert found.findings == ()
    assert [(one.name, one.origin.document, one.line("metadata.name")) for one in found.documents] == [
        ("a", 1, 2),
        ("b", 2, 3 + lines),
    ]


def test_a_broken_file_does_not_hide_the_others(tmp_path):
    """An unreadable document is reported with its line, and the others are read."""
    write(tmp_path, bad="a: [1\nb: 2\n", good=TEMPLATE)
    found = read_manifests([tmp_path])
    assert [document.name for document in found.documents] == ["pair"]
    assert [(f.rule, f.origin.line) for f in found.findings] == [("file-broken", 2)]


def test_standard_input_is_read(monkeypatch):
    """`kustomize build | dra-lab check CLUSTER -` reads what comes in."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TEMPLATE.encode())))
    assert [document.name for document in read_manifests(["-"]).documents] == ["pair"]


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_nothing_to_read_is_reported(tmp_path, name):
    """A path without a file, and a folder without a manifest, are errors that name the path."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match=name):
        read_manifests([tmp_path / name])


def test_a_broken_document_hides_none_of_the_others(tmp_path):
    """Those before and behind it are read, each with its own number and line; the broken one is told."""
    (tmp_path / "a.yaml").write_text("kind: A\n---\nb: [1,\n---\n\n---\n&c [*c]\n---\nkind: D\nspec:\n  e: 1\n")
    read = read_manifests([tmp_path])
    assert [(d.kind, d.origin.document, d.line("spec.e")) for d in read.documents] == [("A", 1, 1), ("D", 5, 11)]
    assert [(f.origin.document, f.origin.line) for f in read.findings if f.origin] == [(2, 4), (4, 7)]


def test_a_helm_template_is_reported_as_one(tmp_path):
    """A template that is not rendered cannot be planned; the advice names the command."""
    (tmp_path / "a.yaml").write_text("kind: Pod\nmetadata: {name: {{ .Values.name }}}\n")
    (finding,) = read_manifests([tmp_path]).findings
    assert "helm template" in finding.advice
