"""Answers neither advise what cannot help nor state what is not known."""

from __future__ import annotations

import json

import pytest
from checked_plans import checked_plan
from small_manifests import device_slice

from dra_lab import how_many_more, load_cluster, stranded
from dra_lab.cli import main
from dra_lab.model.claims import (
    CapacityRequirements,
    CELDeviceSelector,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
)
from dra_lab.model.headroom import MOST_COUNTED
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.workload import Workload
from dra_lab.sketch.compile import compile_claim
from dra_lab.sources import load_texts
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.capacity_document import headroom_sentence
from dra_lab.words.plan_json import plain_value

P4D = load_cluster("sample:eks-p4d")
SLICE = device_slice("gpu.nvidia.com", *(f"{{name: gpu-{n}, attributes: {{type: {{string: gpu}}%s}}}}" for n in (0, 1)))
KNOWN = ", resource.kubernetes.io/numaNode: {int: 0}, resource.kubernetes.io/pcieRoot: {string: 'pci0000:10'}"


def gpus(count=1, links=(), **more):
    exactly = ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=count, **more)
    return ClaimSketch("c", (DeviceRequest("gpu", exactly),), links)


@pytest.mark.parametrize(("how", "advised"), [(How.APART, False), (How.TOGETHER, True)])
def test_one_numa_node_is_advised_only_for_what_must_be_together(how, advised):
    """Devices of an `apart` link would break it on one NUMA node."""
    sketch = gpus(2, (Link("n", ("gpu",), "numaNode", how),))
    found = compile_claim(sketch, P4D, KubernetesRelease("1.36")).findings
    (advice,) = (finding.advice for finding in found if finding.rule == "link-not-writable")
    assert ("on one NUMA node" in advice) is advised


def partition():
    profile = CELDeviceSelector(expression='device.attributes["gpu.nvidia.com"].profile == "1g.5gb"')
    exactly = ExactDeviceRequest(device_class_name="mig.nvidia.com", selectors=(DeviceSelector(cel=profile),))
    return ClaimSketch("mig", (DeviceRequest("m", exactly),))


@pytest.mark.parametrize("release", ["1.34", "1.35"])
def test_a_release_without_partitions_is_named_as_the_reason(release):
    """The gate is off, so no smaller amount would help."""
    said = answer_sentence(checked_plan(load_cluster("sample:mig"), partition(), release=release))
    assert [
        part for part in (f"DRAPartitionableDevices, which is off in {release}", "--feature-gates") if part not in said
    ] == []
    assert "less capacity" not in said


@pytest.mark.parametrize(("key", "said"), [("shares", "none of them publishes shares"), ("memory", "less capacity")])
def test_a_capacity_that_no_device_publishes_is_named(key, said):
    """Less of a capacity that the devices do not have would not help."""
    asked = gpus(capacity=CapacityRequirements({key: "900Gi"}))
    answer = answer_sentence(checked_plan(P4D, asked))
    assert (said in answer, "less capacity" in answer) == (True, key == "memory")


def test_with_the_gate_the_partition_fits():
    """What the advice names helps."""
    release = KubernetesRelease("1.34", {"DRAPartitionableDevices": True})
    assert checked_plan(load_cluster("sample:mig"), partition(), release=release).fits


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("", "", "NUMA node of 2 devices unknown"),
        (KNOWN, "", "1 NUMA node, NUMA node of 1 device unknown"),
        (KNOWN, KNOWN, "1 NUMA node, 1 PCIe root, proven optimal"),
    ],
)
def test_a_numa_node_that_nobody_publishes_is_reported_as_unknown(first, second, said):
    """Only NUMA nodes that are known are counted, and the devices without one are counted beside them."""
    cluster = load_texts({"slice.yaml": SLICE % (first, second)})
    assert said in answer_sentence(checked_plan(cluster, gpus(2)), cluster)


@pytest.mark.parametrize(("second", "qualified"), [("", True), (KNOWN, False)])
def test_proven_is_qualified_where_a_place_is_unknown(second, qualified):
    """With a device of unknown place the proof holds as far as places are known."""
    cluster = load_texts({"slice.yaml": SLICE % (KNOWN, second)})
    assert (
        "proven optimal for the places that are known" in answer_sentence(checked_plan(cluster, gpus(2)), cluster)
    ) is qualified


ADMIN = gpus(admin_access=True)


def test_a_number_that_is_a_cap_is_reported_as_a_cap():
    """Pods with admin access take nothing away, so counting ends, and no bound is claimed."""
    cluster = load_texts({"slice.yaml": SLICE % ("", "")})
    headroom = how_many_more(cluster, Workload("w", (ADMIN,)))
    value = plain_value(headroom)
    assert headroom.count.value == MOST_COUNTED
    assert (value["proven"], value["count"]["bound"], value["where"][0]["replicas"]["bound"]) == (False, None, None)
    assert "at least 10,000 more" in headroom_sentence(headroom)


DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: w}
spec:
  replicas: COUNT
  template:
    spec:
      containers: [{name: c, resources: {claims: [{name: d}]}}]
      resourceClaims: [{name: d, resourceClaimTemplateName: c}]
"""
CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: c}
spec:
  spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, adminAccess: true}}]}}
"""


def test_check_reports_a_cap_too(tmp_path, capsys):
    """The text says "at least", and JSON does not call the number proven."""
    (tmp_path / "slice.yaml").write_text(SLICE % ("", ""))
    (tmp_path / "claim.yaml").write_text(CLAIM)
    words = ["check", str(tmp_path / "slice.yaml"), str(tmp_path / "claim.yaml")]
    main(words)
    assert "Fits at least 10,000 times (counting ends at 10,000 on a node)" in capsys.readouterr().out
    main([*words, "-o", "json"])
    [item] = json.loads(capsys.readouterr().out)["workloads"]
    assert (item["times"], item["proven"], item["capped"]) == (10_000, False, True)


@pytest.mark.parametrize(("replicas", "outcome"), [(10_000, "fits"), (10_001, "stopped")])
def test_more_replicas_than_are_counted_are_not_decided(tmp_path, capsys, replicas, outcome):
    """A workload of more replicas than the cap is open, and says that the number is a cap."""
    (tmp_path / "slice.yaml").write_text(SLICE % ("", ""))
    (tmp_path / "claim.yaml").write_text(f"{CLAIM}---\n{DEPLOYMENT.replace('COUNT', str(replicas))}")
    main(["check", str(tmp_path / "slice.yaml"), str(tmp_path / "claim.yaml"), "-o", "json"])
    [item] = json.loads(capsys.readouterr().out)["workloads"]
    assert (item["outcome"], item["capped"]) == (outcome, True)


CPUS = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: a}
spec:
  driver: dra.cpu
  nodeName: a
  pool: {name: a, generation: 1, resourceSliceCount: 1}
  devices: [{name: cpus, allowMultipleAllocations: true, capacity: {dra.cpu/cpu: {value: "1500"}}}]
"""


@pytest.mark.long
def test_what_is_stranded_counts_more_pods_than_the_cap():
    """Pods of 100m use all CPUs of a node that has room for 15,000 of them; no CPU is called stranded."""
    asked = CapacityRequirements({"dra.cpu/cpu": "100m"})
    exactly = ExactDeviceRequest(device_class_name="dra.cpu", capacity=asked)
    [kind] = stranded(load_texts({"a.yaml": CPUS}), [ClaimSketch(requests=(DeviceRequest("cpu", exactly),))]).kinds
    assert (kind.free, kind.usable, kind.stranded) == (1500, 1500, 0)
