"""Claims edited as text, taken over into their drawings."""

import random

import pytest
from msgspec.structs import replace
from sketch.test_compile_meaning import case

from dra_lab import ClaimSketch, How, KubernetesRelease, Link, load_cluster
from dra_lab.model.claims import DeviceConstraint, DeviceRequest, ExactDeviceRequest, ResourceClaimSpec
from dra_lab.sketch.compile import compile_claim
from dra_lab.sketch.read_back import sketch_of, taken_over

RELEASE = KubernetesRelease("1.36")
CLUSTER = load_cluster("sample:eks-p4d")
GPU = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=2))
NIC = DeviceRequest(name="nic", exactly=ExactDeviceRequest(device_class_name="efa.networking.k8s.aws", count=2))
PAIRS = Link("pairs", ("gpu", "nic"), how=How.PAIRWISE)


def compiled(sketch, cluster=CLUSTER):
    return compile_claim(sketch, cluster, RELEASE).spec


def edited(spec, **devices):
    return ResourceClaimSpec(devices=replace(spec.devices, **devices))


def counted(request, count):
    return replace(request, exactly=replace(request.exactly, count=count))


@pytest.mark.parametrize("seed", range(40))
def test_a_claim_that_was_not_edited_leaves_the_drawing_alone(seed):
    """The text that the drawing became gives the same drawing, with every preference and level."""
    cluster, sketch = case(seed)[:2]
    assert taken_over(sketch, compiled(sketch, cluster), cluster, RELEASE) == sketch


def _random_edit(spec, draw):
    requests, constraints = list(spec.devices.requests), list(spec.devices.constraints)
    kind = draw.choice(["count", "drop", "add", "unlink", "link"])
    if kind == "count":
        index = draw.randrange(len(requests))
        if requests[index].exactly is not None and requests[index].exactly.count:
            requests[index] = counted(requests[index], requests[index].exactly.count + 1)
    elif kind == "drop" and len(requests) > 1:
        gone = requests.pop(draw.randrange(len(requests))).name
        constraints = [c for c in constraints if not any(end.split("/")[0] == gone for end in c.requests)]
    elif kind == "add":
        requests.append(replace(requests[0], name="added"))
    elif kind == "unlink" and constraints:
        constraints.pop(draw.randrange(len(constraints)))
    else:
        ends = tuple(sorted(draw.sample([r.name for r in requests], min(2, len(requests)))))
        constraints.append(DeviceConstraint(requests=ends, match_attribute="resource.kubernetes.io/pcieRoot"))
    return edited(spec, requests=tuple(requests), constraints=tuple(constraints))


@pytest.mark.parametrize("seed", range(60))
def test_the_drawing_means_what_the_text_says(seed):
    """After a random edit the new drawing compiles to what the text alone, read as a drawing, compiles to."""
    cluster, sketch = case(seed)[:2]
    draw = random.Random(seed)
    spec = compiled(sketch, cluster)
    if not spec.devices.requests:
        return
    change = _random_edit(spec, draw)
    after = taken_over(sketch, change, cluster, RELEASE)
    assert compiled(after, cluster).devices == compiled(sketch_of(change, sketch.name), cluster).devices


def test_an_edit_of_one_request_keeps_the_links_of_the_others():
    """A third request that is edited leaves the pairwise link and its requests as they were drawn."""
    other = replace(NIC, name="other")
    sketch = ClaimSketch("c", (GPU, NIC, other), (PAIRS,))
    spec = compiled(sketch)
    requests = tuple(counted(r, 1) if r.name == "other" else r for r in spec.devices.requests)
    after = taken_over(sketch, edited(spec, requests=requests), CLUSTER, RELEASE)
    assert after.links == (PAIRS,)
    assert [(r.name, r.exactly.count) for r in after.requests] == [("gpu", 2), ("nic", 2), ("other", 1)]


def test_an_edit_of_a_numbered_request_spells_its_group_out():
    """When one of gpu-0, gpu-1 is changed, the pairing is gone; its constraints stay as written."""
    sketch = ClaimSketch("c", (GPU, NIC), (PAIRS,))
    spec = compiled(sketch)
    requests = tuple(counted(r, 2) if r.name == "gpu-1" else r for r in spec.devices.requests)
    after = taken_over(sketch, edited(spec, requests=requests), CLUSTER, RELEASE)
    assert [r.name for r in after.requests] == [r.name for r in spec.devices.requests]
    assert {link.how for link in after.links} == {How.TOGETHER}


def test_a_new_constraint_becomes_a_link_beside_the_drawn_ones():
    """A constraint written by hand is added; the preference, which no text holds, stays."""
    sketch = ClaimSketch("c", (counted(GPU, 1), counted(NIC, 1)), ())
    spec = compiled(sketch)
    extra = DeviceConstraint(requests=("gpu", "nic"), match_attribute="resource.kubernetes.io/pcieRoot")
    after = taken_over(sketch, edited(spec, constraints=(extra,)), CLUSTER, RELEASE)
    assert [(link.where, link.how, link.must) for link in after.links] == [("pcieRoot", How.TOGETHER, True)]
