"""The manifests as text: accepted by strict schemas, the same bytes every time, lines and letters where they belong."""

from __future__ import annotations

import random

import pytest
import yaml
from random_clusters import random_cluster, random_sketch
from small_claims import alternative, one_of, request
from small_nodes import a_slice, cluster, gpu, nic
from small_plans import HOSTILE
from strict_schemas import validate_strictly

from dra_lab import ClaimSketch, How, KubernetesRelease, Link, load_cluster, samples
from dra_lab.exports.manifests import manifest_yaml
from dra_lab.model.claims import DeviceToleration
from dra_lab.model.release import RELEASES
from dra_lab.sources.drawing_files import read_drawing
from dra_lab.sources.samples import example_path

R136 = KubernetesRelease("1.36")
GPU, NIC = "gpu.nvidia.com", "dranet"
ON = cluster(a_slice(GPU, gpu(0, "r0"), gpu(1, "r1")), a_slice("dra.net", nic("a", "r0"), nic("b", "r1")))
PAIRS = ClaimSketch(
    name="pairs",
    requests=(request("gpu", GPU, 2), request("nic", NIC, 2)),
    links=(Link(name="l", requests=("gpu", "nic"), how=How.PAIRWISE),),
)
EXAMPLES = [f"sample:{sample.name}/{example}" for sample in samples() for example in sample.examples]


def documents(text):
    return list(yaml.safe_load_all(text))


def template(text):
    return next(d for d in documents(text) if d["kind"] == "ResourceClaimTemplate")


def validate(text, version):
    for document in documents(text):
        validate_strictly(document, version)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_of_the_samples_are_accepted_by_the_strict_schemas(example, release):
    drawing = read_drawing(example_path(example))
    on = load_cluster(example.rpartition("/")[0])
    validate(manifest_yaml(drawing.sketch, on, KubernetesRelease(release)).text, release)


def test_random_drawings_are_accepted_by_the_strict_schemas():
    for seed in range(60):
        rng = random.Random(seed)
        on, sketch = random_cluster(rng), random_sketch(rng)
        release = rng.choice(RELEASES)
        validate(manifest_yaml(sketch, on, KubernetesRelease(release)).text, release)


def test_the_state_of_the_cluster_is_not_in_the_text():
    """A manifest in Git must not change because another pod took a device."""
    text = manifest_yaml(PAIRS, ON, R136).text
    assert manifest_yaml(PAIRS, cluster(*reversed(ON.slices)), R136).text == text


def test_documents_and_fields_stand_in_the_order_of_the_api():
    text = manifest_yaml(PAIRS, ON, R136, namespace="team-a").text
    kinds = [document["kind"] for document in documents(text)]
    assert kinds == ["DeviceClass", "DeviceClass", "ResourceClaimTemplate", "Pod"]
    assert list(template(text)) == ["apiVersion", "kind", "metadata", "spec"]
    assert template(text)["metadata"]["namespace"] == "team-a"


def test_the_lines_of_a_request_are_those_of_everything_written_for_it():
    manifest = manifest_yaml(PAIRS, ON, R136)
    lines = manifest.text.split("\n")
    written = [lines[number - 1].strip() for number in manifest.lines["nic"]]
    assert [text for text in written if text.startswith("- name")] == ["- name: nic-0  # B", "- name: nic-1  # B"]
    assert written[-1] == "count: 1"
    assert not any("gpu" in text for text in written)


def test_every_request_carries_its_letter():
    manifest = manifest_yaml(PAIRS, ON, R136)
    lines = manifest.text.split("\n")
    assert [lines[n - 1].strip() for n in manifest.marks] == [
        "- name: gpu-0  # A",
        "- name: nic-0  # B",
        "- name: gpu-1  # A",
        "- name: nic-1  # B",
    ]
    assert list(manifest.marks.values()) == ["A", "B", "A", "B"]


def test_selectors_of_several_lines_end_inside_their_request():
    text = "has(device.attributes['dra.net'].rdma) &&\n  device.attributes['dra.net'].rdma\n"
    sketch = ClaimSketch(requests=(request("nic", NIC, 1, text), request("gpu", GPU)))
    manifest = manifest_yaml(sketch, ON, R136)
    lines = manifest.text.split("\n")
    assert "count: 1" in lines[manifest.lines["nic"][-1] - 1]
    assert "- name: gpu" in lines[manifest.lines["gpu"][0] - 1]
    selector = template(manifest.text)["spec"]["spec"]["devices"]["requests"][0]["exactly"]["selectors"][0]
    assert selector["cel"]["expression"] == text


def test_tolerations_say_their_operator():
    """The server would add it, and a tool that compares would show a difference for ever."""
    tolerations = (DeviceToleration(key="bad", value="x"), DeviceToleration(key="worse", operator="Exists"))
    either = one_of("gpu", alternative("a", GPU, 1, tolerations=tolerations))
    devices = template(manifest_yaml(ClaimSketch(requests=(either,)), ON, R136).text)["spec"]["spec"]["devices"]
    written = devices["requests"][0]["firstAvailable"][0]["tolerations"]
    assert [list(t) for t in written] == [["key", "operator", "value"], ["key", "operator"]]
    assert [t["operator"] for t in written] == ["Equal", "Exists"]


def test_an_empty_drawing_is_a_template_without_requests():
    manifest = manifest_yaml(ClaimSketch(name="empty"), ON, R136)
    validate(manifest.text, "1.36")
    assert manifest.lines == {}


def test_hostile_texts_stay_values():
    """A class, a selector or a name cannot leave its place: not into a comment's next line, not into another field."""
    sketch = ClaimSketch(name=HOSTILE + "\nkind: Secret", requests=(request("gpu", GPU, 1, HOSTILE + "\n# x\n- y"),))
    found = documents(manifest_yaml(sketch, ON, R136).text)
    assert [d["kind"] for d in found] == ["DeviceClass", "ResourceClaimTemplate", "Pod"]
    exactly = found[1]["spec"]["spec"]["devices"]["requests"][0]["exactly"]
    assert exactly["selectors"] == [{"cel": {"expression": HOSTILE + "\n# x\n- y"}}]


def test_a_hostile_class_name_cannot_break_out_of_the_header():
    sketch = ClaimSketch(requests=(request("gpu", "x\nkind: Secret\n\u2028kind: Secret"),))
    found = documents(manifest_yaml(sketch, ON, R136).text)
    assert [d["kind"] for d in found] == ["ResourceClaimTemplate", "Pod"]
