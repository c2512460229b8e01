"""The answer as a sentence, as text, as plain values and as tables."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from checked_plans import checked_plan
from msgspec.structs import replace as changed
from small_manifests import device_slice, request, template, workload
from small_plans import a_plan, busy_cluster, first_fit, goals, taken

from dra_lab import how_many_more, load_cluster, stranded
from dra_lab.cli import main
from dra_lab.findings import Finding, Severity
from dra_lab.model.claims import (
    CapacityRequirements,
    CELDeviceSelector,
    DeviceRequest,
    DeviceSelector,
    ExactDeviceRequest,
)
from dra_lab.model.headroom import MOST_COUNTED
from dra_lab.model.placement import FirstFit, FirstFitStatus
from dra_lab.model.plan import PlanStatus, plan_of_pod
from dra_lab.model.release import KubernetesRelease
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.model.workload import Workload
from dra_lab.sketch.compile import compile_claim
from dra_lab.sources import load_texts
from dra_lab.words.answer_sentence import answer_sentence
from dra_lab.words.capacity_document import headroom_sentence
from dra_lab.words.frames import frame
from dra_lab.words.plan_json import plain_value, plan_json

PLAIN = first_fit(taken(gpu=("gpu-0", "gpu-1"), nic=("a", "b")), goals(0, 0, 2, 1, 2))


def test_without_claims_the_answer_does_not_speak_of_now():
    unknown = replace(busy_cluster(), claims=(), claims_known=False)
    sentence = answer_sentence(a_plan(), unknown)
    assert sentence.startswith("Fits on 2 of 3 nodes if nothing is in use (no claims were read). Best on n1")


def test_with_claims_of_some_namespaces_the_answer_says_so():
    """With `--read-namespace`, claims of other namespaces may hold devices, so it is unknown where it fits now."""
    cluster = busy_cluster()
    partly = Finding("claims-some-namespaces", Severity.WARNING, "resourceclaims", "only those of team-a were read")
    sentence = answer_sentence(a_plan(), replace(cluster, findings=(*cluster.findings, partly)))
    assert sentence.startswith(
        "Fits on 2 of 3 nodes if other namespaces use nothing (their claims were not read). Best on n1"
    )
    assert " now" not in sentence


def test_an_answer_that_is_as_good_says_so():
    same = changed(PLAIN, goals=goals(0, 0, 2, 0, 2))
    sentence = answer_sentence(a_plan(first_fit=same, first_fit_plain=same))
    assert sentence.endswith("With or without your link, kube-scheduler picks an equally good set.")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (FirstFitStatus.NONE, "finds nothing"),
        (FirstFitStatus.ERROR, "gives up the pod (why)"),
        (FirstFitStatus.STOPPED, "was not followed to the end: the search was stopped after 9 steps"),
    ],
)
def test_a_search_without_a_result_is_not_called_worse(status, words):
    plan = a_plan(first_fit=None, first_fit_plain=FirstFit(status, message="why", steps=9))
    assert f"Without your link, kube-scheduler {words}." in answer_sentence(plan)


def test_nothing_drawn_and_nothing_known_have_their_own_sentences():
    empty = plan_of_pod(PlanStatus.EMPTY, ClaimSketch())
    stopped = plan_of_pod(PlanStatus.STOPPED, ClaimSketch())
    assert answer_sentence(empty) == "Nothing is drawn yet."
    assert answer_sentence(stopped).startswith("Not answered")


def test_plain_values_are_the_same_on_every_run_and_carry_the_regret():
    plan = a_plan(first_fit_plain=PLAIN, seconds=1.0)
    text = json.dumps(plan_json(plan))
    assert text == json.dumps(plan_json(replace(plan, seconds=2.0)))
    assert json.loads(text)["firstFitPlain"]["regret"] == {"unpaired": 1}
    assert json.loads(text)["devices"][0]["device"] == "gpu-0"


def test_every_device_of_every_node_has_a_row_with_its_state():
    rows = frame(busy_cluster())
    states = dict(zip(rows["device"], rows["state"], strict=True))
    assert states["gpu.nvidia.com/n1/gpu-3"] == "in use"
    assert states["gpu.nvidia.com/n1/gpu-4"] == "tainted"
    assert states["dra.cpu/n1/cpudevnuma001"] == "shared"
    assert states["lost.example.org/n1/x"] == "skipped"
    assert states["gpu.nvidia.com/n1/gpu-0"] == "free"


def test_a_plan_has_a_row_for_each_chosen_device():
    rows = frame(a_plan())
    assert list(rows[rows["request"] == "gpu"]["device"]) == ["gpu.nvidia.com/n1/gpu-0", "gpu.nvidia.com/n1/gpu-2"]
    assert set(rows["node"]) == {"n1"}


def test_unknown_places_are_none_and_numbers_stay_whole():
    rows = frame(busy_cluster())
    places = rows[rows["node"] == "n1"].set_index("device")["numa_node"]
    assert places["gpu.nvidia.com/n1/gpu-4"] is None
    assert repr(places["dra.net/n1/a"]) == "0"


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
    said = answer_sentence(checked_plan(load_cluster("sample:mig"), partition(), release=release))
    assert [
        part for part in (f"DRAPartitionableDevices, which is off in {release}", "--feature-gates") if part not in said
    ] == []
    assert "less capacity" not in said


@pytest.mark.parametrize(("key", "said"), [("shares", "none of them publishes shares"), ("memory", "less capacity")])
def test_a_capacity_that_no_device_publishes_is_named(key, said):
    asked = gpus(capacity=CapacityRequirements({key: "900Gi"}))
    answer = answer_sentence(checked_plan(P4D, asked))
    assert (said in answer, "less capacity" in answer) == (True, key == "memory")


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


CLAIM = template("c", request("gpu", "gpu.nvidia.com", "adminAccess: true"))


@pytest.mark.parametrize(("replicas", "outcome"), [(10_000, "fits"), (10_001, "stopped")])
def test_more_replicas_than_are_counted_are_not_decided(tmp_path, capsys, replicas, outcome):
    (tmp_path / "slice.yaml").write_text(SLICE % ("", ""))
    (tmp_path / "claim.yaml").write_text(CLAIM + workload("w", "c", fields=[f"replicas: {replicas}"]))
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
