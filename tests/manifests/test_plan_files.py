"""Plan files: the drawing, workloads, what-if layers, kept plans and the view."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_lab.errors import SketchError
from dra_lab.manifests.plan_files import decode_drawing, encode_drawing
from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector, ExactDeviceRequest
from dra_lab.model.layers import Addable, AddableNode, Layer, read_layer
from dra_lab.model.sketch import LEVELS, ClaimSketch, Drawing, How, Kept, KnownValue, Link, PodDrawing

names = st.sampled_from(["a", "b-1", "no", "x1e3", "null"])
texts = st.sampled_from(["no", "1.0", "a: b", "# c", "'\"", " d", "é", "-", "{e}", "~"])
LAYERS = (read_layer("add", "4=node-1"), read_layer("drain", "n"), read_layer("idle"), read_layer("release", "1.37"))


def sketch(name: str = "claim", count: int = 1) -> ClaimSketch:
    gpu = DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu.nvidia.com", count=count))
    return ClaimSketch(name=name, requests=(gpu,))


labels = st.from_regex(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
free = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=30)


@st.composite
def drawings(draw):
    request_names = draw(st.lists(labels, unique=True, max_size=4))
    requests = tuple(
        DeviceRequest(
            name=name,
            exactly=ExactDeviceRequest(
                device_class_name=draw(labels),
                count=draw(st.integers(1, 40)),
                selectors=tuple(
                    DeviceSelector(cel=CELDeviceSelector(expression=e)) for e in draw(st.lists(free, max_size=2))
                ),
            ),
        )
        for name in request_names
    )
    links = tuple(
        Link(
            name=name,
            requests=tuple(draw(st.lists(st.sampled_from(request_names), min_size=1, unique=True))),
            where=draw(st.sampled_from([*LEVELS, "a.com/x"])),
            how=draw(st.sampled_from([How.TOGETHER, How.APART])),
            must=draw(st.booleans()),
        )
        for name in (draw(st.lists(labels, unique=True, max_size=3)) if request_names else ())
    )
    layout = {name: (draw(st.floats(-9999, 9999)), 0.0) for name in request_names}
    sketch = ClaimSketch(name=draw(labels), requests=requests, links=links)
    return Drawing(sketch=sketch, layout=layout, cluster=draw(free), release=draw(st.sampled_from(["", "1.35"])))


@settings(max_examples=25)
@given(drawings())
def test_a_drawing_reads_back_as_it_was_written(drawing):
    assert decode_drawing(encode_drawing(drawing)) == drawing


@st.composite
def pods(draw):
    """Return workloads with names of their own, some with pins."""
    found = draw(st.lists(names, unique=True, max_size=3))
    return tuple(
        PodDrawing(
            pod=name,
            claims=tuple(sketch(claim) for claim in draw(st.lists(names, min_size=1, max_size=2))),
            replicas=draw(st.integers(3, 1_000_000)),
            pins=draw(st.dictionaries(texts, st.just(1), max_size=3)),
        )
        for name in found
    )


@st.composite
def plan_files(draw):
    workloads = draw(pods())
    layers = draw(st.lists(st.sampled_from(LAYERS), max_size=3))
    kept = tuple(
        Kept(
            name=name,
            cluster=draw(texts),
            workloads=workloads,
            layers=tuple(layers),
            sentence=draw(texts),
            figures={"placed": KnownValue(value=draw(st.integers(0, 99)), bound=draw(st.none() | st.integers(0, 99)))},
        )
        for name in draw(st.lists(texts, unique=True, max_size=2))
    )
    view = draw(st.dictionaries(names, texts, max_size=2))
    return Drawing(sketch=sketch(), workloads=workloads, layers=tuple(layers), kept=kept, view=view)


@settings(max_examples=25)
@given(plan_files())
def test_a_plan_file_reads_back_as_it_was_written(drawing):
    assert decode_drawing(encode_drawing(drawing)) == drawing


def test_the_claim_of_an_edited_workload_is_written_once():
    """The drawing is the workload that is edited, so the file cannot say two things about it."""
    drawing = Drawing(sketch=sketch("large", 4), workloads=(PodDrawing(pod="large", claims=(sketch("large", 4),)),))
    edited = Drawing(sketch=drawing.sketch, workloads=drawing.workloads, editing="large")
    assert encode_drawing(edited).count("gpu.nvidia.com") == 1
    assert decode_drawing(encode_drawing(edited)) == edited


def test_a_first_version_is_read_and_written_as_the_second():
    """A file of an earlier dra_lab opens, and the next change writes the present version."""
    drawing = decode_drawing(encode_drawing(Drawing(sketch=sketch())).replace("dra-lab/v2", "dra-lab/v1"))
    assert drawing.sketch == sketch()
    assert "apiVersion: dra-lab/v2" in encode_drawing(drawing)


HEAD = "apiVersion: dra-lab/v2\nkind: Drawing\n"


def test_spare_nodes_of_an_earlier_version_are_left_out():
    """A file that asks for a spare node per rack opens without it."""
    drawing = decode_drawing(f"{HEAD}addable:\n  types:\n  - node: n\n  spare: true\n")
    assert drawing.addable == Addable(types=(AddableNode(node="n"),))


POD = "- pod: a\n  claims:\n  - name: c\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("apiVersion: dra-lab/v1\nkind: Drawing\nlayers: []\n", r"p\.yaml:3, layers: dra-lab/v1 has no field 'layers'"),
        (f"{HEAD}workloads: 3\n", r"p\.yaml:3, workloads"),
        (f"{HEAD}workloads:\n- pod: a\n", r"p\.yaml:4, workloads\[0\].*has no claim"),
        (f"{HEAD}workloads:\n{POD}{POD}", r"workloads\[1\].*two workloads 'a'"),
        (f"{HEAD}workloads:\n{POD}  replicas: -1\n", "give 0 to 1,000,000"),
        (f"{HEAD}workloads:\n{POD}  replicas: many\n", r"p\.yaml:7, workloads\[0\]\.replicas"),
        (f"{HEAD}workloads:\n{POD}  pins:\n    n: 2\n", "the pins of 'a'"),
        (f"{HEAD}workloads:\n{POD}  rack: true\n", "unknown field 'rack'"),
        (f"{HEAD}workloads:\n{POD}editing: b\n", r"p\.yaml:7, editing: there is no workload 'b'"),
        (f"{HEAD}layers:\n- change: drian\n  subject: n\n", r"p\.yaml:4, layers\[0\].*did you mean 'drain'"),
        (f"{HEAD}layers:\n- change: add\n  subject: n\n  count: 99999999\n", "give 1 to 10,000"),
        (f"{HEAD}layers:\n- change: release\n  subject: '9.9'\n", r"layers\[0\].*use one of"),
        (f"{HEAD}kept:\n- name: a\n- name: a\n", r"p\.yaml:5, kept\[1\].*two kept plans are named 'a'"),
        (f"{HEAD}kept:\n- name: ''\n", "needs a name"),
        (f"{HEAD}kept:\n- name: a\n  layers:\n  - change: nope\n", r"kept\[0\]: there is no change 'nope'"),
        (f"{HEAD}view: [1]\n", r"p\.yaml:3, view"),
        (f"{HEAD}release: '1.99'\n", "correct it, or remove the line"),
        ("kind: Drawing\napiVersion: dra-lab/v9\n", "v9"),
        ("kind: Pod\n", "not a drawing"),
        ("apiVersion: dra-lab/v1\nkind: Drawing\nsketch:\n  requests: 3\n", r"p\.yaml:4, sketch\.requests"),
        ("apiVersion: dra-lab/v1\nkind: Drawing\nsketch:\n  color: red\n", "unknown field 'color'"),
        ("a: [", "YAML"),
    ],
)
def test_what_is_wrong_with_a_plan_file_is_reported_with_its_place(text, words):
    """Broken or hostile content raises SketchError with file, line and path."""
    with pytest.raises(SketchError, match=words):
        decode_drawing(text, "p.yaml")


def test_a_layer_travels_as_its_change():
    """The file says what a layer does in the words of the command line."""
    text = encode_drawing(Drawing(layers=(Layer(change="add", subject="node-1", count=4),)))
    assert "- change: add\n  subject: node-1\n  count: 4\n" in text


def test_an_empty_file_is_an_empty_drawing():
    assert decode_drawing("") == Drawing()
