"""Rules of ResourceClaims, templates and classes, one a row: an accepted or a refused document, with its fields."""

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
    ("a request's name is a DNS label", requests(named("a.b")), (f"{REQUEST}.name",)),
    ("a request needs a name", requests({"exactly": {"deviceClassName": "g"}}), (f"{REQUEST}.name",)),
    ("two requests differ in name", requests(named("r"), named("r")), ("spec.devices.requests[1]",)),
    ("a request has one of the two kinds", requests({"name": "r"}), (REQUEST,)),
    ("a request has only one of the two kinds", requests(named("r") | {"firstAvailable": ALTERNATIVES}), (REQUEST,)),
    ("an empty firstAvailable counts as none", requests(named("r") | {"firstAvailable": []}), ()),
    ("alternatives differ in name", requests({"name": "r", "firstAvailable": [ALTERNATIVES[0]] * 2}),
     (f"{REQUEST}.firstAvailable[1]",)),
    ("8 alternatives are allowed", requests({"name": "r", "firstAvailable": [ALTERNATIVES[0]] * 9}),
     (f"{REQUEST}.firstAvailable",)),
    ("a class is needed", claim(deviceClassName=""), (f"{EXACTLY}.deviceClassName",)),
    ("a class name may have dots", claim(deviceClassName="gpu.example.com"), ()),
    ("a class name is lower case", claim(deviceClassName="GPU"), (f"{EXACTLY}.deviceClassName",)),
    ("there are two allocation modes", claim(allocationMode="Some"), (f"{EXACTLY}.allocationMode",)),
    ("a count of 0 becomes 1", claim(count=0), ()),
    ("a count is positive", claim(count=-1), (f"{EXACTLY}.count",)),
    ("a count of any size is accepted", claim(count=2**40), ()),
    ("All has no count", claim(allocationMode="All", count=1), (f"{EXACTLY}.count",)),
    ("All with a count of 0 is All", claim(allocationMode="All", count=0), ()),
    ("33 selectors are too many", claim(selectors=[SELECTOR] * 33), (f"{EXACTLY}.selectors",)),
    ("a selector has an expression", claim(selectors=[{}]), (f"{EXACTLY}.selectors[0].cel",)),
    ("an empty expression does not compile", selector(""), (f"{EXACTLY}.selectors[0].cel.expression",)),
    ("an expression is a condition", selector("1"), (f"{EXACTLY}.selectors[0].cel.expression",)),
    ("an expression compiles", selector("device.nosuch"), (f"{EXACTLY}.selectors[0].cel.expression",)),
    ("a literal pattern compiles", selector('device.driver.matches("(")'),
     (f"{EXACTLY}.selectors[0].cel.expression",)),
    ("a literal list has one type", selector('device.driver in ["a", 1]'),
     (f"{EXACTLY}.selectors[0].cel.expression",)),
    ("a literal duration is one", selector('duration("x") > duration("1h")'),
     (f"{EXACTLY}.selectors[0].cel.expression",)),
    ("10 KiB of expression are allowed", selector("true" + " " * (10 * 1024 - 4)), ()),
    ("an expression has at most 10 KiB", selector("true" + " " * (10 * 1024 - 3)),
     (f"{EXACTLY}.selectors[0].cel.expression",)),
    ("amounts of capacity are not looked at", claim(capacity={"requests": {"a/b/c": "-1"}}), ()),
    ("tolerations have no limit", claim(tolerations=[{"operator": "Exists"}] * 40), ()),
    ("a toleration's operator is Equal where none is given", claim(tolerations=[{"key": "k", "value": "v"}]), ()),
    ("Exists takes no value", claim(tolerations=[{"operator": "Exists", "value": "v"}]),
     (f"{EXACTLY}.tolerations[0].value",)),
    ("a toleration without key and with Equal passes", claim(tolerations=[{"value": "v"}]), ()),
    ("a toleration's effect is known", claim(tolerations=[{"key": "k", "effect": "Never"}]),
     (f"{EXACTLY}.tolerations[0].effect",)),
    ("a toleration's key is a label name", claim(tolerations=[{"key": "a/b/c", "operator": "Exists"}]),
     (f"{EXACTLY}.tolerations[0].key",)),
    ("admin access needs a label on the namespace; the path is the short one", claim(adminAccess=True),
     (f"{REQUEST}.adminAccess",)),
    ("adminAccess: false asks for nothing", claim(adminAccess=False), ()),
    ("a constraint has an attribute", constraint(), (CONSTRAINT,)),
    ("of both attributes only the first is looked at", constraint(matchAttribute="a.io/b", distinctAttribute="!"), ()),
    ("distinctAttribute is a full name", constraint(distinctAttribute="b"), (f"{CONSTRAINT}.distinctAttribute",)),
    ("matchAttribute has a domain", constraint(matchAttribute="b"), (MATCH,)),
    ("the domain is not empty", constraint(matchAttribute="/b"), (MATCH,)),
    ("the name is not empty", constraint(matchAttribute="a.io/"), (MATCH,)),
    ("the name is a C identifier of 32 bytes", constraint(matchAttribute="a.io/" + "b" * 33), (MATCH,)),
    ("the domain has 63 bytes at most", constraint(matchAttribute="a" * 64 + "/b"), (MATCH,)),
    ("upper case passes in a domain", constraint(matchAttribute="A.io/b"), ()),
    ("a name with two slashes is not looked at", constraint(matchAttribute="!/!/!"), ()),
    ("a reference is known", constraint(matchAttribute="a.io/b", requests=["x"]), (f"{CONSTRAINT}.requests[0]",)),
    ("a reference stands once", constraint(matchAttribute="a.io/b", requests=["r", "r"]),
     (f"{CONSTRAINT}.requests[1]",)),
    ("an exact request has no subrequests", constraint(matchAttribute="a.io/b", requests=["r/a"]),
     (f"{CONSTRAINT}.requests[0]",)),
    ("a reference may name an alternative", changed(
        requests({"name": "r", "firstAvailable": ALTERNATIVES}),
        ("spec.devices.constraints", [{"matchAttribute": "a.io/b", "requests": ["r", "r/a", "r/b"]}])), ()),
    ("33 constraints are too many", changed(CLAIM, ("spec.devices.constraints", [{}] * 33)),
     ("spec.devices.constraints",)),
    ("33 configurations are too many", changed(CLAIM, ("spec.devices.config", [{}] * 33)), ("spec.devices.config",)),
    ("a configuration is opaque", changed(CLAIM, ("spec.devices.config", [{}])), ("spec.devices.config[0].opaque",)),
    ("a configuration has a driver and parameters", config(),
     ("spec.devices.config[0].opaque.driver", "spec.devices.config[0].opaque.parameters")),
    ("parameters are an object", config(driver="d", parameters=[1]), ("spec.devices.config[0].opaque.parameters",)),
    ("null is no object", config(driver="d", parameters=None), ("spec.devices.config[0].opaque.parameters",)),
    ("an empty object is one", config(driver="d", parameters={}), ()),
    ("10 KiB of parameters are allowed", config(driver="d", parameters={"a": "x" * (10 * 1024 - 8)}), ()),
    ("parameters have at most 10 KiB", config(driver="d", parameters={"a": "x" * (10 * 1024 - 7)}),
     ("spec.devices.config[0].opaque.parameters",)),
    ("the status of a new claim is not looked at", changed(CLAIM, ("status", {"devices": [{"driver": "!"}]})), ()),
    ("an object has a name", changed(CLAIM, ("metadata.name", "")), ("metadata.name",)),
    ("a prefix is enough of a name", changed(CLAIM, ("metadata", {"generateName": "c-"})), ()),
    ("a name is a DNS subdomain", changed(CLAIM, ("metadata.name", "A")), ("metadata.name",)),
    ("a namespace is a DNS label", changed(CLAIM, ("metadata.namespace", "a.b")), ("metadata.namespace",)),
    ("labels are label names and values", changed(CLAIM, ("metadata.labels", {"!": "x" * 64})), ("metadata.labels",)),
    ("annotations hold 256 KiB", changed(CLAIM, ("metadata.annotations", {"a": "x" * 2**18})),
     ("metadata.annotations",)),
    ("made claims get labels and annotations", changed(TEMPLATE, ("spec.metadata", {"labels": {"a": "b"}})), ()),
    ("made claims get nothing else", changed(TEMPLATE, ("spec.metadata", {"name": "c", "uid": "u"})),
     ("spec.metadata.name", "spec.metadata.uID")),
    ("an error in a template's claim is below spec.spec", changed(TEMPLATE, ("spec.spec.devices.requests.0.name", "A")),
     ("spec.spec.devices.requests[0].name",)),
    ("admin access in a template has the path of a claim",
     changed(TEMPLATE, ("spec.spec.devices.requests.0.exactly.adminAccess", True)), (f"{REQUEST}.adminAccess",)),
    ("33 selectors of a class are too many", changed(CLASS, ("spec.selectors", [SELECTOR] * 33)), ("spec.selectors",)),
    ("a class needs no selectors", changed(CLASS, ("spec.selectors", [])), ()),
    ("an extended resource has a domain", extended("gpu"), ("spec.extendedResourceName",)),
    ("an extended resource is not Kubernetes' own", extended("a.kubernetes.io/x"), ("spec.extendedResourceName",)),
    ("an extended resource is no quota", extended("requests.a.io/x"), ("spec.extendedResourceName",)),
    ("an extended resource is not empty", extended(""), ("spec.extendedResourceName",)),
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
