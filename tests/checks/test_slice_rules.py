"""Rules of ResourceSlices and DeviceTaintRules that the recorded verdicts do not show, one a row."""

import pytest
from small_documents import REMOVED, SLICE, TAINT_RULE, changed, device, shared, slice_spec

from dra_lab.checks.admission import RECORDED, admit

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
RULES = [
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


@pytest.mark.parametrize(("rule", "document", "fields"), RULES, ids=[case[0] for case in RULES])
def test_rule(rule, document, fields):
    """The API server accepts the document, or names these fields."""
    answer = admit(document, RECORDED)
    assert {error.field for error in answer.errors} == set(fields), rule
    assert answer.accepted == (not fields)
