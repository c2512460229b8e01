"""A gang for Kueue: the annotations of every shape, the queues, and what Kueue does not admit."""

from __future__ import annotations

import json

import pytest
import yaml
from gangs_to_export import BLOCK, RACK, cliques, gang, group, tree
from kueue_queues import configuration, read
from labelled_nodes import HOST, labelled, topology
from small_nodes import a_slice, cluster, gpu

from dra_lab import ClaimSketch
from dra_lab.exports.gangs.gang_files import gang_files
from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector, ExactDeviceRequest

PREFIX = "kueue.x-k8s.io/podset-"


def exported(one, hierarchy=None, **more):
    return gang_files(one, "kueue", hierarchy or tree(), **{"queue": "team-a", **more})


def notes(one, hierarchy=None, **more):
    """Return the annotations of each group's pods, without their prefix."""
    files = exported(one, hierarchy, **more)
    document = yaml.safe_load(files.texts.get("job.yaml") or files.texts["jobset.yaml"])
    jobs = [job["template"] for job in document["spec"].get("replicatedJobs", ())] or [document]
    found = [job["spec"]["template"]["metadata"].get("annotations", {}) for job in jobs]
    return [{name.removeprefix(PREFIX): value for name, value in one.items()} for one in found]


def rules(one, **more):
    return [finding.rule for finding in exported(one, **more).findings]


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (gang(), [{}]),
        (gang(level="rack"), [{"required-topology": RACK}]),
        (gang(prefer_level="rack"), [{"preferred-topology": RACK}]),
        (gang(level="host"), [{"required-topology": "kubernetes.io/hostname"}]),
        (gang(level="block", prefer_level="rack"), [{"required-topology": BLOCK}]),
        (gang(group(level="rack"), level="block"), [{"required-topology": RACK}]),
        (
            gang(group(pods=8, slices=((4, "rack"),)), level="block"),
            [{"required-topology": BLOCK, "slice-required-topology": RACK, "slice-size": "4"}],
        ),
        (gang(group(pods=8, slices=((4, "rack"),))), [{"slice-required-topology": RACK, "slice-size": "4"}]),
        (
            gang(group("leader", 1, leader=True), group(), level="rack"),
            [{"required-topology": RACK, "group-name": "gang-train"}] * 2,
        ),
        (
            gang(group("leader", 1, leader=True), group(pods=8, slices=((4, "rack"),)), level="block"),
            [
                {"required-topology": BLOCK, "group-name": "gang-train"},
                {
                    "required-topology": BLOCK,
                    "group-name": "gang-train",
                    "slice-required-topology": RACK,
                    "slice-size": "4",
                },
            ],
        ),
        (gang(group("a"), group("b"), level="rack"), [{"required-topology": RACK}] * 2),
        (gang(group("a", 1), group("b", level="rack")), [{}, {"required-topology": RACK}]),
    ],
)
def test_levels_become_annotations(one, expected):
    """One required or preferred level, slices, and the group of a leader with its workers."""
    assert notes(one) == expected


def test_layers_of_slices_become_one_annotation():
    """From coarse to fine, as JSON."""
    (found,) = notes(gang(group(pods=8, slices=((8, "block"), (4, "rack"), (2, "host")))))
    assert json.loads(found["slice-required-topology-constraints"]) == [
        {"topology": BLOCK, "size": 8},
        {"topology": RACK, "size": 4},
        {"topology": "kubernetes.io/hostname", "size": 2},
    ]


def test_several_groups_become_a_job_set():
    """One podset each, of one Workload."""
    document = yaml.safe_load(exported(gang(group("a"), group("b", 2))).texts["jobset.yaml"])
    jobs = document["spec"]["replicatedJobs"]
    assert [(one["name"], one["template"]["spec"]["parallelism"]) for one in jobs] == [("a", 4), ("b", 2)]


def test_a_minimum_of_one_group_is_partial_admission():
    """Kueue then decides how many pods run at a time."""
    document = yaml.safe_load(exported(gang(group(pods=8, least=6))).texts["job.yaml"])
    assert document["metadata"]["annotations"] == {"kueue.x-k8s.io/job-min-parallelism": "6"}


def test_every_class_is_mapped():
    """Kueue refuses a claim of which it does not know one class; the channel of a ComputeDomain has one too."""
    files = exported(gang(level="NVLink partition"), cliques())
    rows = yaml.safe_load(files.texts["kueue-configuration.yaml"])["resources"]["deviceClassMappings"]
    assert [row["deviceClassNames"] for row in rows] == [
        ["compute-domain-default-channel.nvidia.com"],
        ["gpu.nvidia.com"],
    ]


def selecting(expression):
    selector = DeviceSelector(cel=CELDeviceSelector(expression=expression))
    ask = ExactDeviceRequest(device_class_name="gpu.nvidia.com", selectors=(selector,))
    return ClaimSketch(name="gpus", requests=(DeviceRequest(name="gpu", exactly=ask),))


def exact(**more):
    ask = ExactDeviceRequest(device_class_name="gpu.nvidia.com", **more)
    return ClaimSketch(name="gpus", requests=(DeviceRequest(name="gpu", exactly=ask),))


def test_admin_access_is_accepted_and_not_mapped():
    """Kueue 0.20 charges nothing for it, so its class needs no resource."""
    found = exported(gang(group(claims=exact(admin_access=True, allocation_mode="All"))))
    assert not [one.rule for one in found.findings if one.rule.startswith("kueue-")]
    assert "kueue-configuration.yaml" not in found.texts


@pytest.mark.parametrize(
    ("gates", "advice"),
    [({}, "KueueDRADeviceFeasibility"), ({"KueueDRADeviceFeasibility": True}, "Request CPUs and memory")],
)
def test_a_level_without_a_pin_is_checked_for_one_pod_at_most(gates, advice):
    """The gate of Kueue's Configuration decides whether it asks for devices at all."""
    on = read({**configuration({"gpu": ["gpu.nvidia.com"]}), "featureGates": gates})
    found = exported(gang(level="rack"), cluster=on).findings
    assert [advice in one.advice for one in found if one.rule == "kueue-devices-not-counted"] == [True]


def test_without_its_gate_a_group_has_no_slices():
    """Kueue refuses podset-group-name beside slices if TASGroupedPodSetSlicing is off."""
    on = read({**configuration({"gpu": ["gpu.nvidia.com"]}), "featureGates": {"TASGroupedPodSetSlicing": False}})
    one = gang(group("leader", 1, leader=True), group(pods=8, slices=((4, "rack"),)), level="block")
    assert all("group-name" not in found for found in notes(one, cluster=on))


def test_classes_that_the_configuration_maps_need_no_mapping():
    """The others are named; without the Configuration all of them are."""
    mapped = read(configuration({"gpu": ["gpu.nvidia.com"]}))
    assert "kueue-class-mapping" not in rules(gang(), cluster=mapped)


@pytest.mark.parametrize(
    ("expression", "fails"),
    [
        ('device.attributes["gpu.nvidia.com"].absent == 1', True),
        ('"absent" in device.attributes["gpu.nvidia.com"]', False),
    ],
)
def test_a_selector_that_fails_on_a_device_is_reported(expression, fails):
    """Kueue tries it on every device of the cluster, and refuses the gang at the first error."""
    on = cluster(a_slice("gpu.nvidia.com", gpu(0, "r0")))
    assert ("kueue-selector-fails" in rules(gang(group(claims=selecting(expression))), cluster=on)) is fails


def test_a_long_key_can_be_loaded_and_not_requested():
    """A Topology may name 316 characters, a Workload 63."""
    long = f"{'a' * 60}.example.com/rack"
    files = exported(gang(level="rack"), tree(keys=(BLOCK, long)))
    assert "kueue-key-too-long" in [one.rule for one in files.findings]


@pytest.mark.parametrize(("levels", "expected"), [((BLOCK, RACK, HOST), ["note"]), ((BLOCK, RACK), [])])
def test_kueue_chooses_the_nodes_of_a_pinned_domain(levels, expected):
    """If the last level of its Topology is the host name, and it counts no devices then either."""
    on = labelled(objects=(topology(*levels),))
    hierarchy = tree("default", source="Kueue Topology default")
    files = exported(gang(level="rack"), hierarchy, cluster=on, pin=("b0", "b0r0"))
    found = [one.severity.value for one in files.findings if one.rule == "kueue-devices-not-counted"]
    assert found == expected
