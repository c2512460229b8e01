"""What makes a drawing inconsistent in itself."""

import msgspec
import pytest

from dra_lab.errors import SketchError
from dra_lab.manifests.plan_files import decode_drawing, encode_drawing
from dra_lab.model.claims import DeviceClaimConfiguration, DeviceRequest, DeviceSubRequest, ExactDeviceRequest
from dra_lab.model.sketch import ClaimSketch, Drawing, GangDrawing, How, Link, PodDrawing, asks, claims_of, pod_drawing
from dra_lab.model.sketch_rules import check_pods, check_sketch
from dra_lab.model.workload import workload_of

GPU = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.example.com"))
NIC = DeviceRequest(name="nic", exactly=ExactDeviceRequest(device_class_name="nic.example.com"))


def sketch(*links, requests=(GPU, NIC)):
    return ClaimSketch(requests=requests, links=links)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (sketch(requests=(GPU, GPU)), "appears twice"),
        (sketch(requests=(DeviceRequest(name="GPU!"),)), "lower-case"),
        (sketch(requests=(DeviceRequest(name="gpu"),)), "exactly"),
        (sketch(requests=(DeviceRequest(name="g", exactly=ExactDeviceRequest()),)), "no device class"),
        (
            sketch(
                requests=(msgspec.structs.replace(GPU, exactly=ExactDeviceRequest(device_class_name="c", count=-1)),)
            ),
            "at least one",
        ),
        (sketch(Link(name="l", requests=())), "connects no request"),
        (sketch(Link(name="l", requests=("cpu",))), "not a request of the drawing"),
        (sketch(Link(name="l", requests=("gpu", "gpu"))), "twice"),
        (sketch(Link(name="l", requests=("gpu",), where="rack")), "neither a level"),
        (sketch(Link(name="l", requests=("gpu",), how=How.PAIRWISE)), "one request"),
    ],
)
def test_an_inconsistent_drawing_is_refused_with_the_reason(broken, words):
    with pytest.raises(SketchError, match=words):
        check_sketch(broken)


def test_alternatives_are_asked_in_order_with_defaults():
    """An alternative is `request/subrequest`, its rank is its place, an absent count is one."""
    request = DeviceRequest(
        name="gpu",
        first_available=(
            DeviceSubRequest(name="big", device_class_name="a", count=2),
            DeviceSubRequest(name="any", device_class_name="b"),
        ),
    )
    assert [(a.reference, a.rank, a.count) for a in asks(request)] == [("gpu/big", 0, 2), ("gpu/any", 1, 1)]


def test_how_may_be_a_plain_word():
    assert Link("l", ("a", "b"), how="pairwise").how is How.PAIRWISE
    with pytest.raises(SketchError, match="together, pairwise, apart"):
        Link("l", ("a", "b"), how="pairs")


TRAIN = ClaimSketch(
    name="train",
    requests=(GPU, NIC),
    links=(Link(name="link-1", requests=("gpu", "nic")),),
    config=(DeviceClaimConfiguration(), DeviceClaimConfiguration(requests=("gpu",))),
)
SERVE = ClaimSketch(name="serve", requests=(GPU,))
POD = pod_drawing("pod", (TRAIN, SERVE, ClaimSketch(name="later")))


def test_the_claims_of_a_pod_come_back_as_they_were():
    assert claims_of(POD) == (TRAIN, SERVE, ClaimSketch(name="later"))


def test_requests_of_one_name_in_two_claims_have_their_own_key():
    assert [request.name for request in POD.requests] == ["train:gpu", "train:nic", "serve:gpu"]


def test_a_drawing_of_one_claim_is_its_own_only_claim():
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
    fields = {name: getattr(POD, name) for name in POD.__struct_fields__}
    with pytest.raises(SketchError, match=words):
        check_sketch(ClaimSketch(**{**fields, **broken}))


@pytest.mark.parametrize("editing", ["", "pod"])
def test_a_plan_file_keeps_the_claims_of_a_pod(editing):
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
    lines = ["apiVersion: dra-lab/v2", "kind: Drawing", "workloads:", "- pod: train", "  claims:"]
    lines += ["  - {name: c, requests: [{name: r, exactly: {deviceClassName: nic}}]}", "  gang:", "    size: 2"]
    with pytest.raises(SketchError, match=words) as error:
        decode_drawing("\n".join([*lines, f"    same: {same}"]), "a.dralab.yaml")
    origin = error.value.origin
    assert origin is not None
    assert (origin.line, origin.path.startswith("workloads[0].gang.same")) == (line, True)
