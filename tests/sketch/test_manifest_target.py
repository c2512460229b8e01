"""Manifests for every release and version of the API: accepted where they are meant for, and honest about the rest."""

from __future__ import annotations

import random
from dataclasses import replace as changed

import pytest
import yaml
from msgspec.structs import replace
from random_clusters import random_cluster, random_sketch
from small_claims import request
from small_nodes import a_slice, attribute, cluster, device, gpu, nic
from strict_schemas import validate_strictly

from dra_lab import ClaimSketch, KubernetesRelease, Link
from dra_lab.checks.document_checks import admit
from dra_lab.errors import InputError
from dra_lab.exports.manifests import manifest_yaml
from dra_lab.manifests.documents import decode_documents
from dra_lab.model.claims import ResourceClaimTemplate
from dra_lab.model.release import RELEASES
from dra_lab.sketch.claim_objects import API_VERSIONS, Target
from dra_lab.sketch.compile import compile_claim
from dra_lab.sketch.read_back import sketch_of

GPU, NIC = "gpu.nvidia.com", "dranet"
DERIVED = KubernetesRelease("1.37", {"DRADerivedAttributes": True})


def written(sketch, on, release, **target):
    text = manifest_yaml(sketch, on, release, **target).text
    return [document for document in yaml.safe_load_all(text) if "resource.k8s.io" in document["apiVersion"]]


@pytest.mark.some(8)
@pytest.mark.parametrize("kind", ["template", "claim"])
@pytest.mark.parametrize("api_version", API_VERSIONS)
@pytest.mark.parametrize("release", RELEASES)
def test_random_drawings_are_admitted_by_their_target(release, api_version, kind):
    """The API server of the release takes every object, drops no field of it, and stores what was written: no drift."""
    for seed in range(12):
        rng = random.Random(seed)
        on, sketch = random_cluster(rng), random_sketch(rng)
        if seed % 2:
            # then the classes are written as well
            on = changed(on, classes=())
        for document in written(sketch, on, KubernetesRelease(release), api_version=api_version, kind=kind):
            validate_strictly(document, release)
            answer = admit(document, KubernetesRelease(release))
            assert answer.accepted, (seed, answer.errors)
            assert not answer.dropped, seed
            stored = {key: value for key, value in answer.stored.items() if key != "status"}
            known = {key: value for key, value in stored["metadata"].items() if key in document["metadata"]}
            assert {**stored, "metadata": known} == document, seed


@pytest.mark.parametrize("api_version", API_VERSIONS)
def test_compiled_read_back_and_compiled_again_is_the_same_claim(api_version):
    """From the text of any version of the API, over random drawings."""
    for seed in range(30):
        rng = random.Random(seed)
        on, sketch = random_cluster(rng), random_sketch(rng)
        release = KubernetesRelease(rng.choice(RELEASES))
        text = manifest_yaml(sketch, on, release, api_version=api_version).text
        (template,) = decode_documents(text).of(ResourceClaimTemplate)
        again = sketch_of(template.spec.spec, template.metadata.name)
        (first,), (second,) = (
            written(one, on, release, api_version=api_version)[-1:]
            for one in (sketch, replace(again, name=sketch.name))
        )
        assert second == first, seed


def test_only_known_versions_and_kinds_are_written():
    with pytest.raises(InputError, match="v1, v1beta2, v1beta1"):
        Target(KubernetesRelease("1.36"), "v2")
    with pytest.raises(InputError, match="template or claim"):
        Target(KubernetesRelease("1.36"), kind="pod")


def test_sharing_is_explained_where_it_is_chosen():
    on = cluster(a_slice(GPU, gpu(0, "r0")))
    sketch = ClaimSketch(requests=(request("gpu", GPU),))
    manifest = manifest_yaml(sketch, on, KubernetesRelease("1.36"), kind="claim")
    (finding,) = [finding for finding in manifest.findings if finding.rule == "shared-claim"]
    assert "same devices" in finding.message
    assert next(d for d in yaml.safe_load_all(manifest.text) if d["kind"] == "Pod")["spec"]["resourceClaims"] == [
        {"name": "devices", "resourceClaimName": "claim"}
    ]


def test_admin_access_names_the_label_of_the_namespace():
    on = cluster(a_slice(GPU, gpu(0, "r0")))
    sketch = ClaimSketch(requests=(request("gpu", GPU, 1, admin_access=True),))
    found = manifest_yaml(sketch, on, KubernetesRelease("1.36"), namespace="ops").findings
    assert [f.advice for f in found if f.rule == "admin-namespace"] == [
        "kubectl label namespace ops resource.kubernetes.io/admin-access=true"
    ]


def test_a_function_that_the_target_lacks_is_reported():
    """`sortBy` and others are taken in new selectors from 1.35 on."""
    on = cluster(a_slice(GPU, gpu(0, "r0")))
    text = "[2, 1].sort()[0] == 1"
    sketch = ClaimSketch(requests=(request("gpu", GPU, 1, text),))
    rules = {v: {f.rule for f in compile_claim(sketch, on, KubernetesRelease(v)).findings} for v in ("1.34", "1.36")}
    assert "selector-release" in rules["1.34"]
    assert "selector-release" not in rules["1.36"]


def test_amounts_are_written_as_kubernetes_prints_them():
    on = cluster(a_slice(GPU, gpu(0, "r0")))
    sketch = ClaimSketch(requests=(request("gpu", GPU, 1, capacity={"memory": "1024Mi", "cpu": 4}),))
    claim = compile_claim(sketch, on, KubernetesRelease("1.36")).spec.devices
    assert claim.requests[0].exactly.capacity.requests == {"memory": "1Gi", "cpu": "4"}


# -- one place under several names

CPUS = [device(f"cpu-{n}", {"dra.cpu/numaNodeID": n}, capacity={}, allow_multiple_allocations=False) for n in range(2)]
MIXED = cluster(a_slice("dra.net", nic("a", "r0", 0), nic("b", "r1", 1)), a_slice("dra.cpu", *CPUS))
NEAR = ClaimSketch(
    name="near",
    requests=(request("nic", NIC), request("cpu", "dra.cpu")),
    links=(Link(name="near", requests=("nic", "cpu"), where="numaNode"),),
)


def vendor_names(on):
    """Leave the standard attribute out, so that each driver has its own name for the NUMA node."""
    slices = []
    for one in on.slices:
        devices = []
        for item in one.spec.devices:
            numa = item.lookup("resource.kubernetes.io/numaNode", one.spec.driver)
            own = {k: v for k, v in item.attributes.items() if not k.endswith("numaNode")}
            if numa is not None and one.spec.driver == "dra.net":
                own["dra.net/numaNode"] = attribute(numa.int_)
            devices.append(replace(item, attributes={**item.attributes, **own} if numa is None else own))
        slices.append(replace(one, spec=replace(one.spec, devices=tuple(devices))))
    return cluster(*slices)


def test_derived_attributes_unite_names_where_the_person_allows_the_alpha_gate():
    """The link is one constraint on a name that both requests derive; without the gate it is left out and told."""
    on = vendor_names(MIXED)
    without = compile_claim(NEAR, on, KubernetesRelease("1.37"))
    assert not without.spec.devices.constraints
    (untold,) = [f for f in without.findings if f.rule == "link-not-writable"]
    assert "DRADerivedAttributes" in untold.advice
    claim = compile_claim(NEAR, on, DERIVED)
    assert [c.match_attribute for c in claim.spec.devices.constraints] == ["derived/numaNode"]
    texts = [r.exactly.derived_attributes[0].expression for r in claim.spec.devices.requests]
    assert texts == ['device.attributes["dra.net"].numaNode', 'device.attributes["dra.cpu"].numaNodeID']
    assert "alpha-gate" in {f.rule for f in claim.findings}


def test_derived_attributes_are_admitted_and_read_back():
    on = vendor_names(MIXED)
    (document,) = [d for d in written(NEAR, on, DERIVED) if d["kind"] == "ResourceClaimTemplate"]
    answer = admit(document, DERIVED)
    assert answer.accepted, answer.errors
    assert not answer.dropped
    first = compile_claim(NEAR, on, DERIVED)
    again = compile_claim(sketch_of(first.spec, "near"), on, DERIVED)
    assert again.spec == first.spec
    assert "attribute-missing" not in {f.rule for f in again.findings}


def test_a_preference_derives_its_attribute_on_the_better_alternative_alone():
    """The API server refuses a derived attribute that no constraint on its alternative names."""
    on = vendor_names(MIXED)
    soft = replace(NEAR, links=(replace(NEAR.links[0], must=False),))
    (document,) = [d for d in written(soft, on, DERIVED) if d["kind"] == "ResourceClaimTemplate"]
    assert admit(document, DERIVED).accepted
    aligned, fallback = document["spec"]["spec"]["devices"]["requests"][0]["firstAvailable"]
    assert "derivedAttributes" in aligned
    assert "derivedAttributes" not in fallback


def test_no_attribute_is_derived_from_what_some_devices_lack():
    """The text runs on each device that is chosen from; one that fails ends the pod's attempt."""
    on = vendor_names(MIXED)
    bare = replace(on.slices[0].spec.devices[0], name="c", attributes={"dra.net/rdma": attribute(True)})
    spec = replace(on.slices[0].spec, devices=(*on.slices[0].spec.devices, bare))
    short = cluster(replace(on.slices[0], spec=spec), *on.slices[1:])
    assert not compile_claim(NEAR, short, DERIVED).spec.devices.constraints
