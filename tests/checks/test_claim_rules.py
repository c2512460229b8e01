"""Rules of ResourceClaims, templates and classes that the recorded verdicts do not show, one a row."""

import pytest
from small_documents import CLAIM, CLASS, TEMPLATE, changed, claim, constraint

from dra_lab.checks.admission import admit

REQUEST = "spec.devices.requests[0]"
EXACTLY = f"{REQUEST}.exactly"
CONSTRAINT = "spec.devices.constraints[0]"
MATCH = f"{CONSTRAINT}.matchAttribute"
SELECTOR = {"cel": {"expression": "true"}}
ALTERNATIVES = [{"name": "a", "deviceClassName": "gpu"}, {"name": "b", "deviceClassName": "gpu"}]


def requests(*items):
    return changed(CLAIM, ("spec.devices.requests", list(items)))


def named(name):
    return {"name": name, "exactly": {"deviceClassName": "gpu"}}


def selector(expression):
    return claim(selectors=[{"cel": {"expression": expression}}])


def config(**opaque):
    return changed(CLAIM, ("spec.devices.config", [{"opaque": opaque}]))


def extended(name):
    return changed(CLASS, ("spec.extendedResourceName", name))


RULES = [
    ("a claim may ask for nothing", requests(), ()),
    ("32 requests are allowed", requests(*(named(f"r{i}") for i in range(32))), ()),
    ("of 33 requests the number is told", requests(*(named("A") for _ in range(33))), ("spec.devices.requests",)),
    ("a request has one of the two kinds", requests({"name": "r"}), (REQUEST,)),
    ("a request has only one of the two kinds", requests(named("r") | {"firstAvailable": ALTERNATIVES}), (REQUEST,)),
    ("an empty firstAvailable counts as none", requests(named("r") | {"firstAvailable": []}), ()),
    ("8 alternatives are allowed", requests({"name": "r", "firstAvailable": [ALTERNATIVES[0]] * 9}),
     (f"{REQUEST}.firstAvailable",)),
    ("a class name may have dots", claim(deviceClassName="gpu.example.com"), ()),
    ("a count of 0 becomes 1", claim(count=0), ()),
    ("a count of any size is accepted", claim(count=2**40), ()),
    ("All with a count of 0 is All", claim(allocationMode="All", count=0), ()),
    ("33 selectors are too many", claim(selectors=[SELECTOR] * 33), (f"{EXACTLY}.selectors",)),
    ("10 KiB of expression are allowed", selector("true" + " " * (10 * 1024 - 4)), ()),
    ("an expression has at most 10 KiB", selector("true" + " " * (10 * 1024 - 3)),
     (f"{EXACTLY}.selectors[0].cel.expression",)),
    ("amounts of capacity are not looked at", claim(capacity={"requests": {"a/b/c": "-1"}}), ()),
    ("tolerations have no limit", claim(tolerations=[{"operator": "Exists"}] * 40), ()),
    ("a toleration's operator is Equal where none is given", claim(tolerations=[{"key": "k", "value": "v"}]), ()),
    ("a toleration without key and with Equal passes", claim(tolerations=[{"value": "v"}]), ()),
    ("a toleration's key is a label name", claim(tolerations=[{"key": "a/b/c", "operator": "Exists"}]),
     (f"{EXACTLY}.tolerations[0].key",)),
    ("adminAccess: false asks for nothing", claim(adminAccess=False), ()),
    ("of both attributes only the first is looked at", constraint(matchAttribute="a.io/b", distinctAttribute="!"), ()),
    ("the name is a C identifier of 32 bytes", constraint(matchAttribute="a.io/" + "b" * 33), (MATCH,)),
    ("the domain has 63 bytes at most", constraint(matchAttribute="a" * 64 + "/b"), (MATCH,)),
    ("upper case passes in a domain", constraint(matchAttribute="A.io/b"), ()),
    ("a name with two slashes is not looked at", constraint(matchAttribute="!/!/!"), ()),
    ("a reference may name an alternative", changed(
        requests({"name": "r", "firstAvailable": ALTERNATIVES}),
        ("spec.devices.constraints", [{"matchAttribute": "a.io/b", "requests": ["r", "r/a", "r/b"]}])), ()),
    ("33 constraints are too many", changed(CLAIM, ("spec.devices.constraints", [{}] * 33)),
     ("spec.devices.constraints",)),
    ("33 configurations are too many", changed(CLAIM, ("spec.devices.config", [{}] * 33)), ("spec.devices.config",)),
    ("a configuration has a driver and parameters", config(),
     ("spec.devices.config[0].opaque.driver", "spec.devices.config[0].opaque.parameters")),
    ("null is no object", config(driver="d", parameters=None), ("spec.devices.config[0].opaque.parameters",)),
    ("an empty object is one", config(driver="d", parameters={}), ()),
    ("10 KiB of parameters are allowed", config(driver="d", parameters={"a": "x" * (10 * 1024 - 8)}), ()),
    ("parameters have at most 10 KiB", config(driver="d", parameters={"a": "x" * (10 * 1024 - 7)}),
     ("spec.devices.config[0].opaque.parameters",)),
    ("the status of a new claim is not looked at", changed(CLAIM, ("status", {"devices": [{"driver": "!"}]})), ()),
    ("a prefix is enough of a name", changed(CLAIM, ("metadata", {"generateName": "c-"})), ()),
    ("labels are label names and values", changed(CLAIM, ("metadata.labels", {"!": "x" * 64})), ("metadata.labels",)),
    ("annotations hold 256 KiB", changed(CLAIM, ("metadata.annotations", {"a": "x" * 2**18})),
     ("metadata.annotations",)),
    ("made claims get labels and annotations", changed(TEMPLATE, ("spec.metadata", {"labels": {"a": "b"}})), ()),
    ("made claims get nothing else", changed(TEMPLATE, ("spec.metadata", {"name": "c", "uid": "u"})),
     ("spec.metadata.name", "spec.metadata.uID")),
    ("33 selectors of a class are too many", changed(CLASS, ("spec.selectors", [SELECTOR] * 33)), ("spec.selectors",)),
    ("a class needs no selectors", changed(CLASS, ("spec.selectors", [])), ()),
    ("an extended resource of a vendor is one", extended("nvidia.com/gpu"), ()),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "document", "fields"), RULES, ids=[case[0] for case in RULES])
def test_rule(rule, document, fields):
    """The API server accepts the document, or names these fields."""
    answer = admit(document)
    assert {error.field for error in answer.errors} == set(fields), rule
    assert answer.accepted == (not fields)
    assert all(error.message for error in answer.errors)


def test_a_namespace_for_administrators_allows_admin_access():
    """With the label on the namespace the same claim is accepted."""
    assert admit(claim(adminAccess=True), admin_namespace=True).accepted


def test_the_older_versions_are_reported_in_the_words_of_v1():
    """An error in a flat request of v1beta1 is named below `exactly`, and in a device without `basic`."""
    flat = {"name": "r", "deviceClassName": "GPU"}
    document = changed(requests(flat), ("apiVersion", "resource.k8s.io/v1beta1"))
    assert [error.field for error in admit(document).errors] == [f"{EXACTLY}.deviceClassName"]
