"""Decoding as the API server decodes: what is refused with 400, with its path, and what is read how."""

import json
from functools import lru_cache
from pathlib import Path

import kubernetes_validate
import pytest

from dra_lab.errors import ManifestError
from dra_lab.manifests.schema import struct_fields
from dra_lab.manifests.strict import decode_strict, decode_strict_json
from dra_lab.manifests.versions import KIND_VERSIONS

CLAIM = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "c"}}
SLICE = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"}}


def claim(request):
    return CLAIM | {"spec": {"devices": {"requests": [request]}}}


def one_device(device):
    return SLICE | {"spec": {"devices": [device]}}


EXACTLY = "spec.devices.requests[0].exactly"
REFUSED = [
    ("an unknown field", claim({"exactly": {"unknownField": 1}}), f"{EXACTLY}.unknownField"),
    ("a field in other letter case", claim({"exactly": {"Count": 1}}), f"{EXACTLY}.Count"),
    ("a field of v1beta1 in v1", claim({"count": 1}), "spec.devices.requests[0].count"),
    ("a number as text", claim({"exactly": {"count": "1"}}), f"{EXACTLY}.count"),
    ("a number with a fraction", claim({"exactly": {"count": 1.0}}), f"{EXACTLY}.count"),
    ("a number beyond 64 bits", claim({"exactly": {"count": 2**63}}), f"{EXACTLY}.count"),
    ("true as a number", claim({"exactly": {"count": True}}), f"{EXACTLY}.count"),
    ("a number as text value", claim({"name": 1}), "spec.devices.requests[0].name"),
    ("a map for a list", claim({"exactly": {"selectors": {}}}), f"{EXACTLY}.selectors"),
    ("a list for a struct", claim({"exactly": []}), EXACTLY),
    ("a text for a boolean", claim({"exactly": {"adminAccess": "true"}}), f"{EXACTLY}.adminAccess"),
    (
        "a quantity that is none, told at its key",
        one_device({"capacity": {"a.com/memory": {"value": "ten"}}}),
        "spec.devices[0].capacity[a.com/memory].value",
    ),
    ("an empty quantity", one_device({"capacity": {"m": {"value": ""}}}), "spec.devices[0].capacity[m].value"),
    ("a time that is none", one_device({"taints": [{"timeAdded": "now"}]}), "spec.devices[0].taints[0].timeAdded"),
    ("a day that does not exist", one_device({"taints": [{"timeAdded": "2026-02-30T00:00:00Z"}]}),
     "spec.devices[0].taints[0].timeAdded"),
    ("an unknown field of metadata", CLAIM | {"metadata": {"nmae": "x"}}, "metadata.nmae"),
    ("a label that is no text", CLAIM | {"metadata": {"labels": {"a": 1}}}, "metadata.labels[a]"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "document", "path"), REFUSED, ids=[case[0] for case in REFUSED])
def test_the_decoder_refuses(what, document, path):
    """Each is reported once, at the field where Kubernetes' decoder stops."""
    problems = decode_strict(document, document["kind"])[1]
    assert [problem.field for problem in problems] == [path], what


def test_everything_wrong_is_reported_at_once():
    """Two unknown fields are two complaints."""
    document = claim({"a": 1, "b": 2})
    assert [p.field.rpartition(".")[2] for p in decode_strict(document, "ResourceClaim")[1]] == ["a", "b"]


READ = [
    ("null is unset", {"capacity": None, "name": "d"}, {"name": "d"}),
    ("null in a map is an empty struct", {"capacity": {"m": None}}, {"capacity": {"m": {}}}),
    ("null in a list is an empty value", {"bindingConditions": [None]}, {"bindingConditions": [""]}),
    ("a bare number is a quantity", {"capacity": {"m": {"value": 5}}}, {"capacity": {"m": {"value": "5"}}}),
    ("a quantity becomes canonical", {"capacity": {"m": {"value": "1024Mi"}}}, {"capacity": {"m": {"value": "1Gi"}}}),
    ("spaces around a quantity go", {"capacity": {"m": {"value": " 5 "}}}, {"capacity": {"m": {"value": "5"}}}),
    (
        "a time is written in UTC and seconds",
        {"taints": [{"timeAdded": "2026-01-01T01:30:00.5+02:00"}]},
        {"taints": [{"timeAdded": "2025-12-31T23:30:00Z"}]},
    ),
    ("empty and false stay", {"nodeName": "", "allNodes": False}, {"nodeName": "", "allNodes": False}),
]


@pytest.mark.parametrize(("what", "device", "expected"), READ, ids=[case[0] for case in READ])
def test_the_decoder_reads(what, device, expected):
    value, problems = decode_strict(one_device(device), "ResourceSlice")
    assert problems == (), what
    assert value["spec"]["devices"] == [expected]


def test_fields_of_a_newer_release_are_unknown_to_an_older_one():
    """`derivedAttributes` came with 1.37 and list attributes with 1.36; the mappings of 1.36 are gone in 1.37."""
    derived = claim({"exactly": {"derivedAttributes": [{"name": "a/b", "expression": "1"}]}})
    assert [bool(decode_strict(derived, "ResourceClaim", "v1", r)[1]) for r in ("1.36", "1.37")] == [True, False]
    lists = one_device({"attributes": {"a": {"ints": [1]}}})
    assert [bool(decode_strict(lists, "ResourceSlice", "v1", r)[1]) for r in ("1.35", "1.36")] == [True, False]
    mappings = one_device({"nodeAllocatableResourceMappings": {"cpu": {}}})
    assert [bool(decode_strict(mappings, "ResourceSlice", "v1", r)[1]) for r in ("1.36", "1.37")] == [False, True]


def test_a_key_that_stands_twice_is_reported():
    """JSON objects with repeated keys are read, the last value wins, and each such key is named."""
    value, repeated = decode_strict_json('{"a": {"b": 1, "b": 2}, "c": [{"d": 1, "d": 1}]}')
    assert value == {"a": {"b": 2}, "c": [{"d": 1}]}
    assert [error.field for error in repeated] == ["b", "d"]


@pytest.mark.parametrize("text", ["{", "[NaN]", '"a', b"\xff", "[" * 100_000])
def test_what_is_no_json_is_refused(text):
    """Broken, binary and bottomless JSON raises ManifestError with its source."""
    with pytest.raises(ManifestError) as caught:
        decode_strict_json(text, "f")
    assert caught.value.origin.source == "f"


SCHEMAS = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
TYPES = {"string": "text", "integer": "int", "boolean": "bool"}
REFERENCES = {"Quantity": "quantity", "Time": "time", "RawExtension": "raw", "FieldsV1": "raw"}
CASES = [
    (release, kind, version)
    for release in ("1.36", "1.37")
    for kind, versions in KIND_VERSIONS.items()
    for version in versions
]


@lru_cache(maxsize=2)
def definitions(release):
    return json.loads((SCHEMAS / f"v{release}.0-local" / "_definitions.json").read_text())["$defs"]


def described(schema):
    reference = schema.get("$ref", "").rpartition(".")[2]
    if reference:
        return "", REFERENCES.get(reference, reference)
    kind = next(name for name in [schema["type"], *schema["type"]] if name != "null" and isinstance(name, str))
    if kind == "array":
        return "list", described(schema["items"])[1]
    if kind == "object":
        return "map", described(schema["additionalProperties"])[1]
    return "", TYPES[kind]


def structs(schema_name, release):
    """All structs that a kind uses, by the names of their definitions."""
    pending, seen = [schema_name], []
    while pending:
        name = pending.pop()
        if name in seen or name.rpartition(".")[2] in REFERENCES:
            continue
        seen.append(name)
        text = json.dumps(definitions(release)[name].get("properties", {}))
        pending.extend(part.partition('"')[0] for part in text.split('"#/$defs/')[1:])
    return seen


@pytest.mark.parametrize(("release", "kind", "version"), CASES)
def test_the_table_has_the_fields_of_the_api(release, kind, version):
    """Every struct has the fields of the API as this release knows them, and their types; required ones are written."""
    root = f"io.k8s.api.resource.{version}.{kind}"
    if root not in definitions(release):
        assert (release, kind) == ("1.36", "DeviceTaintRule"), "kinds that a release does not have are known by name"
        return
    for name in structs(root, release):
        definition, struct = definitions(release)[name], name.rpartition(".")[2]
        table = struct_fields(struct, version, release)
        found = {field.name: (field.container, field.type) for field in table.values()}
        assert found == {key: described(schema) for key, schema in definition["properties"].items()}, struct
        required = definition.get("required", ())
        assert all(field.always for field in table.values() if field.name in required), struct
