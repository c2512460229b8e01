"""Random documents of `resource.k8s.io`, in any version, made from the table of its fields."""

from functools import lru_cache

from hypothesis import strategies as st

from dra_lab.manifests.schema import struct_fields
from dra_lab.manifests.versions import EXACT_FIELDS, GROUP, KIND_VERSIONS

NAMES = st.sampled_from(("a", "gpu-0", "x.example.com", "a/b", "ü", "true", "1", " "))
VALUES = {
    "text": NAMES,
    "int": st.integers(1, 2**40),
    "bool": st.just(True),
    "quantity": st.sampled_from(("1", "80Gi", "500m", "1e3", "-5", "1536Mi")),
    "time": st.sampled_from(("2026-01-31T12:00:00Z", "1999-12-31T23:59:59Z")),
    "raw": st.fixed_dictionaries({"a": st.sampled_from((1, None, "x", [None], {"b": {}}))}),
}
POINTERS = {**VALUES, "text": st.one_of(NAMES, st.just("")), "int": st.integers(-3, 3), "bool": st.booleans()}
SERVER_ONLY = ("managedFields",)


def _value(field, version, release):
    # an empty nodeName and allNodes: false are no choice in v1 and cannot be expressed in v1beta1
    zero = field.pointer and field.name not in ("nodeName", "allNodes")
    scalar = (POINTERS if zero else VALUES).get(field.type)
    item = scalar if scalar is not None else structs(field.type, version, release)
    if field.container == "list":
        return st.lists(VALUES.get(field.type, item), min_size=1, max_size=2)
    if field.container == "map":
        return st.dictionaries(NAMES, VALUES.get(field.type, item), min_size=1, max_size=2)
    return item


@lru_cache(maxsize=512)
def structs(name, version="v1", release="1.37"):
    """A strategy of dicts with the always written fields of a struct and any of the others, nothing of it zero."""
    fields = [f for f in struct_fields(name, version, release).values() if f.name not in SERVER_ONLY]
    needed = [f for f in fields if (f.always and not (f.pointer or f.container)) or f.type == "raw"]
    required = {f.name: st.deferred(lambda f=f: _value(f, version, release)) for f in needed}
    optional = {f.name: st.deferred(lambda f=f: _value(f, version, release)) for f in fields if f.name not in required}
    if name == "DeviceRequest" and version == "v1beta1":
        # without a class there is no exact request: the flat fields come together or not at all
        rest = {key: value for key, value in optional.items() if key not in EXACT_FIELDS}
        del required["deviceClassName"]
        flat = structs("ExactDeviceRequest", "v1", release)
        plain = st.fixed_dictionaries(required, optional=rest)
        return st.one_of(plain, st.tuples(plain, flat).map(lambda both: both[0] | both[1]))
    if name == "Device" and version == "v1beta1":
        required |= {"basic": optional.pop("basic")}
    return st.fixed_dictionaries(required, optional=optional)


@lru_cache(maxsize=64)
def documents(kind, version="v1", release="1.37"):
    """A strategy of documents of a kind in a version."""
    head = {"apiVersion": st.just(f"{GROUP}/{version}"), "kind": st.just(kind)}
    body = {
        f.name: _value(f, version, release)
        for f in struct_fields(kind, version, release).values()
        if f.name not in ("apiVersion", "kind")
    }
    return st.fixed_dictionaries(head | body)


KINDS_AND_VERSIONS = [(kind, version) for kind, versions in KIND_VERSIONS.items() for version in versions]
