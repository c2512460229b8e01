"""Fields of alpha features: what 1.37 (and for node resources 1.36) refuses when their gates are on."""

import pytest
from small_documents import CLAIM, changed, claim, device, slice_spec

from dra_lab.checks.admission import admit
from dra_lab.model.release import GATES, KubernetesRelease

ALL_ON = KubernetesRelease("1.37", dict.fromkeys(GATES, True))
EXACTLY = "spec.devices.requests[0].exactly.derivedAttributes"
NODE = "spec.devices[0].nodeAllocatableResources[cpu]"
CONSUMED = {"counterSet": "c", "counters": {"m": {"value": "1"}}}
MATCH = ("spec.devices.constraints", [{"matchAttribute": "derived/numa", "requests": ["r"]}])
DERIVED = {"name": "derived/numa", "expression": "1"}


def derived(*attributes):
    return changed(claim(derivedAttributes=list(attributes)), MATCH)


def resources(**fields):
    return device(nodeAllocatableResources={"cpu": fields}, capacity={"cpus": {"value": "8"}})


def typed(**fields):
    return changed(device(**fields), ("spec.partitionTypeAttribute", "gpu.example.com/type"))


RULES = [
    ("a derived attribute is used by a constraint", derived(DERIVED), ()),
    ("an unused one is refused", claim(derivedAttributes=[DERIVED]), (f"{EXACTLY}[0].name",)),
    ("it has name and expression", derived({}), (f"{EXACTLY}[0].name", f"{EXACTLY}[0].expression")),
    ("names differ", derived(DERIVED, DERIVED), (f"{EXACTLY}[1]",)),
    ("a constraint on the request counts for its alternatives", changed(
        CLAIM, MATCH, ("spec.devices.requests", [{"name": "r", "firstAvailable": [
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


@pytest.mark.parametrize(("rule", "document", "fields"), RULES, ids=[case[0] for case in RULES])
def test_rule(rule, document, fields):
    """The API server of 1.37 with the gates on accepts the document, or names these fields."""
    assert {error.field for error in admit(document, ALL_ON).errors} == set(fields), rule


def test_the_mapping_of_1_36_has_a_multiplier_of_1():
    """1.36 fills `allocationMultiplier`, and looks the capacity up."""
    release = KubernetesRelease("1.36", {"DRANodeAllocatableResources": True})
    answer = admit(device(nodeAllocatableResourceMappings={"cpu": {"capacityKey": "memory"}}), release)
    mapping = answer.stored["spec"]["devices"][0]["nodeAllocatableResourceMappings"]["cpu"]
    assert mapping == {"capacityKey": "memory", "allocationMultiplier": "1"}
    unknown = device(nodeAllocatableResourceMappings={"cpu": {"capacityKey": "x"}})
    field = "spec.devices[0].nodeAllocatableResourceMappings[cpu].capacityKey"
    assert [error.field for error in admit(unknown, release).errors] == [field]
