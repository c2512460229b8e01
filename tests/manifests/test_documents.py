"""Reading Kubernetes documents: what is used, what is told, what is refused."""

import json
import random

import msgspec
import pytest
import yaml

from dra_lab.errors import ManifestError
from dra_lab.manifests.documents import decode_documents, encode
from dra_lab.manifests.yaml_text import load_yaml
from dra_lab.model.slices import ResourceSlice

SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.example.com",
        "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
        "nodeName": "n",
        "devices": [{"name": "gpu-0", "attributes": {"a.com/x": {"string": "y"}}}],
    },
}


def changed(path, value):
    copy = json.loads(json.dumps(SLICE))
    target = copy
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    return copy


FORMS = {
    "object": lambda docs: json.dumps(docs[0]),
    "list": lambda docs: json.dumps({"apiVersion": "v1", "kind": "List", "items": docs}),
    "typed list": lambda docs: json.dumps(
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSliceList", "items": docs}
    ),
    "array": json.dumps,
    "lines": lambda docs: "\n".join(json.dumps(doc) for doc in [*docs, *docs]),
    "documents": lambda docs: "---\n".join(json.dumps(doc) + "\n" for doc in docs).join(["# yaml\n", ""]),
    "lists one after the other": lambda docs: "\n".join(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [doc]}, indent=2) for doc in docs
    ),
    "objects without a line end between": lambda docs: "".join(json.dumps(doc) for doc in docs),
    "YAML sequence": lambda docs: "".join(f"- {json.dumps(doc)}\n" for doc in docs),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_that_kubectl_writes_is_read(form):
    """Single objects, Lists, typed lists, arrays, JSON lines and many YAML documents give the same objects."""
    documents = decode_documents(FORMS[form]([SLICE]), "f")
    assert documents.of(ResourceSlice)[0] == msgspec.convert(SLICE, ResourceSlice)
    assert documents.findings == ()


def test_a_written_object_reads_back():
    """`encode` gives apiVersion, kind, metadata and spec in this order, and reads back as the same value."""
    item = msgspec.convert(SLICE, ResourceSlice)
    plain = encode(item)
    assert list(plain) == ["apiVersion", "kind", "metadata", "spec"]
    assert decode_documents(json.dumps(plain)).of(ResourceSlice) == (item,)


def test_a_broken_document_is_reported_with_its_place_and_the_others_are_read():
    """The finding names file, line, object and the path with map keys; the good document is there."""
    broken = changed(["spec", "devices", 0, "attributes", "a.com/x"], {"string": 3})
    documents = decode_documents(FORMS["documents"]([broken, SLICE]), "f.yaml")
    (finding,) = documents.findings
    assert finding.origin.path == 'spec.devices[0].attributes["a.com/x"].string'
    assert (finding.origin.source, finding.origin.document, finding.origin.line) == ("f.yaml", 1, 2)
    assert len(documents.objects) == 1


def test_an_unknown_field_of_a_slice_is_reported_and_the_rest_is_used():
    """What a newer driver writes does not hide its devices."""
    documents = decode_documents(json.dumps(changed(["spec", "mixins"], [1])), "f")
    assert [finding.rule for finding in documents.findings] == ["unknown-field"]
    assert documents.of(ResourceSlice)[0].spec.devices[0].name == "gpu-0"


def test_a_field_that_every_device_has_is_reported_once_and_hides_none():
    """A newer Kubernetes writes it into all of 128 devices with 32 attributes each, in every slice."""
    attributes = {f"a{n}": {"int": n, "later": True} for n in range(32)}
    devices = [{"name": f"d{n}", "later": n, "attributes": attributes} for n in range(128)]
    slices = [
        changed(["spec", "devices"], devices),
        {**changed(["spec", "devices"], devices), "metadata": {"name": "b"}},
    ]
    documents = decode_documents(json.dumps({"kind": "List", "apiVersion": "v1", "items": slices}), "f")
    assert [len(item.spec.devices) for item in documents.of(ResourceSlice)] == [128, 128]
    found = [finding.message for finding in documents.findings]
    assert found == [
        "the field spec.devices[].later of 2 ResourceSlice objects is unknown, so dra-lab ignores it",
        "the field spec.devices[].attributes[].later of 2 ResourceSlice objects is unknown, so dra-lab ignores it",
    ]


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        (changed(["apiVersion"], "resource.k8s.io/v1alpha3"), "version-old"),
        (changed(["kind"], "Deployment"), "kind-ignored"),
        (changed(["spec"], None), "document-broken"),
        ({"a": 1}, "document-broken"),
        ([3], "document-broken"),
    ],
)
def test_what_is_not_used_is_reported(value, rule):
    """Unknown versions, other kinds and broken objects are findings with their rule."""
    assert [finding.rule for finding in decode_documents(json.dumps(value), "f").findings] == [rule]


BOMB = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(9)
)


@pytest.mark.parametrize(
    "text",
    [
        "a: b: c",
        "{",
        "[1, 2",
        BOMB,
        "- " * 100_000 + "x",
        "#\n" + "{a: " * 100_000,
        "a: &a [*a]",
        "!!python/object:x {}",
        b"\xff\xfe\x00",
    ],
    ids=["yaml", "json", "json list", "alias bomb", "deep block", "deep flow", "self alias", "tag", "bytes"],
)
def test_hostile_text_is_refused_with_our_error(text):
    """Broken text, alias bombs, deep nesting, foreign tags and binary raise ManifestError with the source."""
    with pytest.raises(ManifestError) as caught:
        decode_documents(text, "evil.yaml")
    assert caught.value.origin.source == "evil.yaml"


def test_times_stay_text():
    """Kubernetes reads YAML as JSON: a time is text and no object of Python."""
    documents = decode_documents(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n, creationTimestamp: 2024-01-01T00:00:00Z}\n"
    )
    assert documents.objects[0][0].metadata.creation_timestamp == "2024-01-01T00:00:00Z"


PIECES = (
    "---\n", "--- \n", "--- # c\n", "---\n# x\n\n", "---\r\n", "---\nnull\n", "---\na: 1\n", "---\nb: |\n  x\n  ---\n",
    '---\nd: "\n\n  e"\n',
)  # fmt: skip


def read(text):
    """The values with their numbers and lines, and the errors."""
    errors: list[ManifestError] = []
    found = [(d.value, d.number, d.line()) for d in load_yaml(text, "x", broken=errors.append)]
    return found, [str(error) for error in errors]


def test_a_document_after_many_empty_ones_keeps_its_number_and_line():
    """Messages name the document and the line as a person counts them."""
    assert read("---\n" * 200 + "a: 1\n" + "--- # none\n\n" * 150 + "---\nb: 2\n") == (
        [({"a": 1}, 200, 201), ({"b": 2}, 351, 503)],
        [],
    )


def test_a_broken_document_after_many_empty_ones_keeps_its_number():
    found, (error,) = read("a: 1\n" + "---\n" * 200 + "[broken\n---\nb: 2\n")
    assert [number for _, number, _ in found] == [1, 202]
    assert "document 201:" in error


@pytest.mark.parametrize("seed", range(20))
def test_documents_have_the_values_that_yaml_gives_them(seed):
    """Comments, blank lines, block texts and long runs of empty documents in any order: the values of PyYAML."""
    chance = random.Random(seed)
    for _ in range(20):
        pieces = chance.choices(PIECES, k=chance.randint(1, 14))
        runs = [chance.choice(PIECES[:5]) * 150 for _ in range(chance.randint(0, 2))]
        text = "".join(chance.sample([*pieces, *runs], len(pieces) + len(runs)))
        expected = [value for value in yaml.safe_load_all(text) if value is not None]
        assert [value for value, _, _ in read(text)[0]] == expected


def test_hundreds_of_thousands_of_empty_documents_are_read():
    assert list(load_yaml("---\n" * 200_000, "x")) == []
