"""A drawing of a pod with several claims: names, what each claim is, and what no rule of Kubernetes can say."""

import pytest

from dra_lab.errors import SketchError
from dra_lab.manifests.plan_files import decode_drawing, encode_drawing
from dra_lab.model.claims import DeviceClaimConfiguration, DeviceRequest, ExactDeviceRequest
from dra_lab.model.sketch import ClaimSketch, Drawing, GangDrawing, Link, PodDrawing, claims_of, pod_drawing
from dra_lab.model.sketch_rules import check_pods, check_sketch
from dra_lab.model.workload import workload_of

GPU = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.example.com"))
NIC = DeviceRequest(name="nic", exactly=ExactDeviceRequest(device_class_name="nic.example.com"))
TRAIN = ClaimSketch(
    name="train",
    requests=(GPU, NIC),
    links=(Link(name="link-1", requests=("gpu", "nic")),),
    config=(DeviceClaimConfiguration(), DeviceClaimConfiguration(requests=("gpu",))),
)
SERVE = ClaimSketch(name="serve", requests=(GPU,))
POD = pod_drawing("pod", (TRAIN, SERVE, ClaimSketch(name="later")))


def test_the_claims_of_a_pod_come_back_as_they_were():
    """Names, links, configuration and a claim without requests are kept by the one drawing of a pod."""
    assert claims_of(POD) == (TRAIN, SERVE, ClaimSketch(name="later"))


def test_requests_of_one_name_in_two_claims_have_their_own_key():
    """Request names are unique within a claim, so the drawing puts the claim before them."""
    assert [request.name for request in POD.requests] == ["train:gpu", "train:nic", "serve:gpu"]


def test_a_drawing_of_one_claim_is_its_own_only_claim():
    """One claim needs no name of its own in the drawing."""
    assert claims_of(TRAIN) == (TRAIN,)
    assert pod_drawing("pod", (TRAIN,)) is TRAIN


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        ({"claims": ("train",)}, "names none"),
        ({"claims": ("train", "train")}, "appears twice"),
        ({"claims": ("train", "Serve!")}, "lower-case"),
        ({"requests": (GPU,)}, "write CLAIM:gpu"),
        ({"requests": (*POD.requests, POD.requests[0])}, "claim 'train': request 'gpu' appears twice"),
        ({"links": (Link(name="train:l", requests=("train:gpu", "serve:gpu")),)}, "no rule between claims"),
        ({"links": (Link(name="serve:l", requests=("train:gpu", "train:nic")),)}, "Move the requests into one claim"),
        ({"config": (DeviceClaimConfiguration(requests=("train:gpu", "serve:gpu")),)}, "no rule between claims"),
    ],
)
def test_what_several_claims_cannot_be_is_refused_with_what_to_do(broken, words):
    """Links and configuration are of one claim, names are those of the API."""
    fields = {name: getattr(POD, name) for name in POD.__struct_fields__}
    with pytest.raises(SketchError, match=words):
        check_sketch(ClaimSketch(**{**fields, **broken}))


@pytest.mark.parametrize("editing", ["", "pod"])
def test_a_plan_file_keeps_the_claims_of_a_pod(editing):
    """Alone, and as the workload that is edited, whose claims are written once."""
    pods = (PodDrawing(pod="pod", claims=claims_of(POD), replicas=2),) if editing else ()
    drawing = Drawing(sketch=POD, workloads=pods, editing=editing)
    assert decode_drawing(encode_drawing(drawing)) == drawing


def test_a_gang_is_written_and_read_back_with_its_workload() -> None:
    """A workload of a plan file keeps its gang, and `workload_of` gives what the planner takes."""
    drawn = GangDrawing(size=16, min=8, level="rack", prefer_level="block", queue="team", same=("nvidia.com/rail",))
    pod = PodDrawing(pod="trainer", claims=(TRAIN,), replicas=2, gang=drawn)
    read = decode_drawing(encode_drawing(Drawing(sketch=TRAIN, workloads=(pod,)))).workloads[0]
    assert read.gang == drawn
    gang = workload_of(read)
    assert (gang.size, gang.least, gang.replicas, gang.level, gang.prefer_level) == (16, 8, 2, "rack", "block")
    assert gang.same == drawn.same


@pytest.mark.parametrize(("gang", "words"), [(GangDrawing(size=0), "0 pods"), (GangDrawing(size=4, min=5), "needs 5")])
def test_a_gang_that_cannot_be_is_refused(gang: GangDrawing, words: str) -> None:
    """A gang has one pod at least, and needs no more pods than it has."""
    with pytest.raises(SketchError, match=words):
        check_pods((PodDrawing(pod="trainer", claims=(TRAIN,), gang=gang),))


@pytest.mark.parametrize(
    ("same", "line", "words"),
    [
        ("rail", 9, "expected `array`, got `str`|a list"),
        ("[nvidia.com/rail, 3]", 9, "str"),
        ("[rail, rails]", 9, r"same\[1\] of the gang 'train' is 'rails'; write the full name of an attribute"),
        ("[rail, /rail]", 9, r"same\[1\] .* '/rail'"),
    ],
)
def test_bad_attributes_of_a_gang_are_named_with_their_line(same: str, line: int, words: str) -> None:
    """The error has the path and the line of the field in the plan file."""
    lines = ["apiVersion: dra-lab/v2", "kind: Drawing", "workloads:", "- pod: train", "  claims:"]
    lines += ["  - {name: c, requests: [{name: r, exactly: {deviceClassName: nic}}]}", "  gang:", "    size: 2"]
    with pytest.raises(SketchError, match=words) as error:
        decode_drawing("\n".join([*lines, f"    same: {same}"]), "a.dralab.yaml")
    origin = error.value.origin
    assert origin is not None
    assert (origin.line, origin.path.startswith("workloads[0].gang.same")) == (line, True)
