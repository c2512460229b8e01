"""Rules of the API server's admission that the recorded verdicts do not show, one a row."""

import pytest
from small_documents import (
    CLAIM,
    CLASS,
    REMOVED,
    SLICE,
    TAINT_RULE,
    TEMPLATE,
    changed,
    claim,
    constraint,
    device,
    shared,
    slice_spec,
)

from dra_lab.checks.document_checks import RECORDED, admit
from dra_lab.model.release import GATES, KubernetesRelease

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


CLAIMS = [
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


DEVICE = "spec.devices[0]"
POLICY = f"{DEVICE}.capacity[memory].requestPolicy"
TAINT = {"key": "k", "effect": "NoSchedule"}
COUNTERS = {"m": {"value": "1"}}
CONSUMED = {"counterSet": "c", "counters": COUNTERS}
TERM = {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}


def devices(count, **fields):
    rest = [{"name": f"d{index}"} for index in range(1, count)]
    return changed(SLICE, ("spec.devices", [{"name": "d0"} | fields, *rest]))


def attribute(**members):
    return device(attributes={"a": members})


def counters(*sets):
    return changed(SLICE, ("spec.devices", REMOVED), ("spec.sharedCounters", list(sets)))


def selected(*terms):
    return changed(SLICE, ("spec.nodeName", REMOVED), ("spec.nodeSelector", {"nodeSelectorTerms": list(terms)}))


def needs(**requirement):
    return selected({"matchExpressions": [{"key": "rack"} | requirement]})


def per_device(**fields):
    return changed(device(**fields), ("spec.nodeName", REMOVED), ("spec.perDeviceNodeSelection", True))


def conditions(binding, failure):
    return device(bindingConditions=binding, bindingFailureConditions=failure)


def steps(**bounds):
    return shared({"default": "10Gi", "validRange": {"min": "2Gi"} | bounds})


REQUIREMENT = "spec.nodeSelector.nodeSelectorTerms[0].matchExpressions[0]"
SLICES = [
    ("a driver's name has 63 bytes at most", slice_spec(driver="a" * 64), ("spec.driver",)),
    ("upper case passes in a driver's name", slice_spec(driver="GPU.example.com"), ()),
    ("a pool's name may have slashes", slice_spec(pool={"name": "a/b/c", "resourceSliceCount": 1}), ()),
    ("allNodes: false is wrong", slice_spec(allNodes=False), ("spec.allNodes",)),
    ("perDeviceNodeSelection: false is wrong", slice_spec(perDeviceNodeSelection=False),
     ("spec.perDeviceNodeSelection",)),
    ("a node selector has one term", selected(TERM), ()),
    ("In needs values", needs(operator="In"), (f"{REQUIREMENT}.values",)),
    ("Exists takes no values", needs(operator="Exists", values=["a"]), (f"{REQUIREMENT}.values",)),
    ("Gt needs one value", needs(operator="Gt", values=["1", "2"]), (f"{REQUIREMENT}.values",)),
    ("the only field is the name", selected({"matchFields": [{"key": "x", "operator": "In", "values": ["a"]}]}),
     ("spec.nodeSelector.nodeSelectorTerms[0].matchFields[0].key",)),
    ("a slice may be empty", changed(SLICE, ("spec.devices", REMOVED)), ()),
    ("8 counter sets are allowed", counters(*({"name": f"c{i}", "counters": COUNTERS} for i in range(9))),
     ("spec.sharedCounters",)),
    ("32 counters are allowed", counters({"name": "c", "counters": {f"m{i}": {"value": "1"} for i in range(33)}}),
     ("spec.sharedCounters[0].counters",)),
    ("128 devices are allowed", devices(128), ()),
    ("129 devices are too many", devices(129), ("spec.devices",)),
    ("64 devices are allowed with a taint", devices(65, taints=[TAINT]), ("spec.devices",)),
    ("64 devices are allowed with counters", devices(65, consumesCounters=[CONSUMED]), ("spec.devices",)),
    ("64 devices are allowed with a list", devices(65, attributes={"a": {"ints": [1]}}), ("spec.devices",)),
    ("an empty list of taints does not count", devices(65, taints=[]), ()),
    ("32 attributes and capacities", device(attributes={f"a{i}": {"int": i} for i in range(32)}), (DEVICE,)),
    ("48 values are allowed", device(attributes={"a": {"ints": [0] * 24}, "b": {"bools": [True] * 24}}), ()),
    ("items of lists count as values", device(attributes={"a": {"ints": [0] * 48}, "b": {"int": 1}}), (DEVICE,)),
    ("a key may be qualified", device(attributes={"a.io/b": {"int": 1}}), ()),
    ("a key with two slashes is not looked at", device(attributes={"!/!/!": {"int": 1}}), ()),
    ("zero and false are values", attribute(int=0), ()),
    ("a text may be empty", attribute(string=""), ()),
    ("a text has 64 bytes at most", attribute(string="ü" * 33), (f"{DEVICE}.attributes[a].string",)),
    ("a version may have letters", attribute(version="1.2.3-rc.1+build"), ()),
    ("versions of a list are versions", attribute(versions=["1.2.3", "v1"]), (f"{DEVICE}.attributes[a].versions[1]",)),
    ("a long key is shortened in a path", device(attributes={"a.io/" + "x" * 200: {"int": 1, "bool": True}}),
     (f"{DEVICE}.attributes", f"{DEVICE}.attributes[a.io/{'x' * 42}...{'x' * 46}]")),
    ("a capacity may be negative", device(capacity={"m": {"value": "-5"}}), ()),
    ("a missing amount is 0", device(capacity={"m": {}}), ()),
    ("16 taints are allowed", device(taints=[TAINT] * 17), (f"{DEVICE}.taints",)),
    ("the same taint may stand twice", device(taints=[TAINT, TAINT]), ()),
    ("a device draws from 2 counter sets", device(consumesCounters=[CONSUMED] * 3), (f"{DEVICE}.consumesCounters",)),
    ("a counter set need not exist", device(consumesCounters=[CONSUMED]), ()),
    ("unless the slice says so", per_device(nodeName="n"), ()),
    ("a device's node has a name", per_device(nodeName=""), (DEVICE, f"{DEVICE}.nodeName")),
    ("a device's node selector may have two terms", per_device(nodeSelector={"nodeSelectorTerms": [TERM, TERM]}), ()),
    ("failure needs binding", conditions([], ["a"]), (f"{DEVICE}.bindingConditions",)),
    ("the two do not overlap", conditions(["a"], ["a"]), (f"{DEVICE}.bindingFailureConditions[0]",)),
    ("4 conditions are allowed; the items of more are compared all the same", conditions(["a"] * 5, ["b"]),
     (f"{DEVICE}.bindingConditions", *(f"{DEVICE}.bindingConditions[{i}]" for i in range(1, 5)))),
    ("an empty policy is one", shared({}), ()),
    ("a default alone is not looked at", shared({"default": "100Gi"}), ()),
    ("values and range exclude each other",
     shared({"default": "1Gi", "validValues": ["1Gi"], "validRange": {"min": "1Gi"}}), (POLICY,)),
    ("an empty list of values is none", shared({"validValues": []}), ()),
    ("amounts are compared by value", shared({"default": "1024Mi", "validValues": ["1Gi"]}), ()),
    ("values fit into the capacity", shared({"default": "1Gi", "validValues": ["1Gi", "81Gi"]}),
     (f"{POLICY}.validValues[1]",)),
    ("10 values are allowed; of more the default is not found",
     shared({"default": "1", "validValues": [str(i) for i in range(1, 12)]}), (f"{POLICY}.validValues",)),
    ("a range has a least amount", shared({"default": "1Gi", "validRange": {}}), (f"{POLICY}.validRange.min",)),
    ("the default is not above the range, told at max", steps(max="9Gi"), (f"{POLICY}.validRange.max",)),
    ("the range fits into the capacity", steps(max="81Gi"), (f"{POLICY}.validRange.max",)),
    ("the default is min and steps", steps(step="4Gi"), ()),
    ("the default is not between two steps", steps(step="3Gi"), (f"{POLICY}.validRange.step",)),
    ("so is max", steps(max="11Gi", step="4Gi"), (f"{POLICY}.validRange.step",)),
    ("a step is not zero", steps(step="0"), (f"{POLICY}.validRange.step",)),
    ("one step fits", steps(step="79Gi"), (f"{POLICY}.validRange.step",)),
    ("a rule may name nothing", changed(TAINT_RULE, ("spec.deviceSelector", {})), ()),
    ("a driver is one", changed(TAINT_RULE, ("spec.deviceSelector.driver", "_")), ("spec.deviceSelector.driver",)),
    ("a rule has a taint", changed(TAINT_RULE, ("spec.taint", {})), ("spec.taint.key", "spec.taint.effect")),
    ("a cluster-wide object needs no namespace", changed(SLICE, ("metadata.namespace", "A")), ()),
]  # fmt: skip


ALL_ON = KubernetesRelease("1.37", dict.fromkeys(GATES, True))
DERIVING = "spec.devices.requests[0].exactly.derivedAttributes"
NODE = "spec.devices[0].nodeAllocatableResources[cpu]"
MATCHED = ("spec.devices.constraints", [{"matchAttribute": "derived/numa", "requests": ["r"]}])
DERIVED = {"name": "derived/numa", "expression": "1"}


def derived(*attributes):
    return changed(claim(derivedAttributes=list(attributes)), MATCHED)


def resources(**fields):
    return device(nodeAllocatableResources={"cpu": fields}, capacity={"cpus": {"value": "8"}})


def typed(**fields):
    return changed(device(**fields), ("spec.partitionTypeAttribute", "gpu.example.com/type"))


NEWER = [
    ("a derived attribute is used by a constraint", derived(DERIVED), ()),
    ("an unused one is refused", claim(derivedAttributes=[DERIVED]), (f"{DERIVING}[0].name",)),
    ("it has name and expression", derived({}), (f"{DERIVING}[0].name", f"{DERIVING}[0].expression")),
    ("names differ", derived(DERIVED, DERIVED), (f"{DERIVING}[1]",)),
    ("a constraint on the request counts for its alternatives", changed(
        CLAIM, MATCHED, ("spec.devices.requests", [{"name": "r", "firstAvailable": [
            {"name": "a", "deviceClassName": "g", "derivedAttributes": [DERIVED]}]}])), ()),
    ("two compatibility groups are allowed", device(consumesCounters=[CONSUMED | {"compatibilityGroups": list("abc")}]),
     ("spec.devices[0].consumesCounters[0].compatibilityGroups",)),
    ("groups differ", device(consumesCounters=[CONSUMED | {"compatibilityGroups": ["a", "a"]}]),
     ("spec.devices[0].consumesCounters[0].compatibilityGroups[1]",)),
    ("a partition type needs devices with counters", typed(), ("spec.partitionTypeAttribute",)),
    ("which all carry it", typed(consumesCounters=[CONSUMED]),
     ("spec.devices[0].attributes[gpu.example.com/type]",)),
    ("as a text", typed(consumesCounters=[CONSUMED], attributes={"type": {"int": 1}}),
     ("spec.devices[0].attributes[gpu.example.com/type]",)),
    ("bare or with the driver's domain", typed(consumesCounters=[CONSUMED], attributes={"type": {"string": "1g"}}), ()),
    ("preparing is skipped together with unpreparing", slice_spec(skipNodeOperations=["NodePrepareResources"]),
     ("spec.skipNodeOperations",)),
    ("a node resource maps something", resources(), (NODE,)),
    ("a mapped capacity exists", resources(mapping={"capacityKey": "x", "capacityMultiplier": "1"}),
     (f"{NODE}.mapping.capacityKey",)),
    ("a mapped capacity has a multiplier", resources(mapping={"capacityKey": "cpus"}),
     (f"{NODE}.mapping.capacityMultiplier",)),
    ("a multiplier is positive", resources(mapping={"deviceMultiplier": "0"}), (f"{NODE}.mapping.deviceMultiplier",)),
    ("overhead is said", resources(overhead={}), (f"{NODE}.overhead",)),
    ("overhead is not negative", resources(overhead={"perPod": "-1"}), (f"{NODE}.overhead.perPod",)),
]  # fmt: skip


RULES = [(None, *row) for row in CLAIMS] + [(RECORDED, *row) for row in SLICES] + [(ALL_ON, *row) for row in NEWER]
LISTS = device(attributes={"a": {"ints": [1]}})
FLAT = changed(requests({"name": "r", "deviceClassName": "GPU"}), ("apiVersion", "resource.k8s.io/v1beta1"))
BELOW = shared({"default": "1Gi", "validRange": {"min": "2Gi"}})
FRACTIONS = shared({"default": "1100m", "validRange": {"min": "1", "step": "250m"}}, "9")


def of(release, gate="", *, on=True):
    return KubernetesRelease(release, {gate: on} if gate else {})


RULES += [
    (None, "an error in a flat request of v1beta1 is named below exactly", FLAT, (f"{EXACTLY}.deviceClassName",)),
    (None, "a list is dropped without its gate, and nothing is left", LISTS, (f"{DEVICE}.attributes[a]",)),
    (of("1.36", "DRAListTypeAttributes"), "a list is kept with its gate", LISTS, ()),
    (of("1.34", "DRAPrioritizedList", on=False), "alternatives without their gate leave no request",
     requests({"name": "r", "firstAvailable": ALTERNATIVES}), (REQUEST,)),
    (of("1.34"), "an empty constraint lacks matchAttribute without shareable devices", constraint(), (MATCH,)),
    (of("1.36"), "1.36 tells a bad default at min", BELOW, (f"{POLICY}.validRange.min",)),
    (of("1.37"), "1.37 tells a bad default at default", BELOW, (f"{POLICY}.validRange.default",)),
    (of("1.36"), "1.36 counts whole steps", FRACTIONS, ()),
    (of("1.37"), "1.37 counts fractions in thousandths", FRACTIONS, (f"{POLICY}.validRange.step",)),
]  # fmt: skip


@pytest.mark.parametrize(("release", "rule", "document", "fields"), RULES, ids=[case[1] for case in RULES])
def test_the_api_server_accepts_a_document_or_names_its_fields(release, rule, document, fields):
    answer = admit(document, release)
    assert {error.field for error in answer.errors} == set(fields), rule
    assert answer.accepted == (not fields)
    assert all(error.message for error in answer.errors)


def test_a_namespace_for_administrators_allows_admin_access():
    """With the label on the namespace the same claim is accepted."""
    assert admit(claim(adminAccess=True), admin_namespace=True).accepted


def test_the_mapping_of_1_36_has_a_multiplier_of_1():
    """1.36 fills `allocationMultiplier`, and looks the capacity up."""
    release = KubernetesRelease("1.36", {"DRANodeAllocatableResources": True})
    answer = admit(device(nodeAllocatableResourceMappings={"cpu": {"capacityKey": "memory"}}), release)
    mapping = answer.stored["spec"]["devices"][0]["nodeAllocatableResourceMappings"]["cpu"]
    assert mapping == {"capacityKey": "memory", "allocationMultiplier": "1"}
    unknown = device(nodeAllocatableResourceMappings={"cpu": {"capacityKey": "x"}})
    field = "spec.devices[0].nodeAllocatableResourceMappings[cpu].capacityKey"
    assert [error.field for error in admit(unknown, release).errors] == [field]
