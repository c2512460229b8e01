"""The table of fields against the OpenAPI documents of Kubernetes that `kubernetes-validate` carries."""

import json
from functools import lru_cache
from pathlib import Path

import kubernetes_validate
import pytest

from dra_lab.manifests.schema import struct_fields
from dra_lab.manifests.versions import KIND_VERSIONS

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
    """The container and the type of a property."""
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
