"""The drawing's file."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_lab.errors import SketchError
from dra_lab.manifests.plan_files import decode_drawing, encode_drawing
from dra_lab.model.claims import CELDeviceSelector, DeviceRequest, DeviceSelector, ExactDeviceRequest
from dra_lab.model.sketch import LEVELS, ClaimSketch, Drawing, How, Link

names = st.from_regex(r"[a-z]([a-z0-9-]{0,10}[a-z0-9])?", fullmatch=True)
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=30)


@st.composite
def drawings(draw):
    """Random consistent drawings with text that YAML would like to misread."""
    request_names = draw(st.lists(names, unique=True, max_size=4))
    requests = tuple(
        DeviceRequest(
            name=name,
            exactly=ExactDeviceRequest(
                device_class_name=draw(names),
                count=draw(st.integers(1, 40)),
                selectors=tuple(
                    DeviceSelector(cel=CELDeviceSelector(expression=e)) for e in draw(st.lists(texts, max_size=2))
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
        for name in (draw(st.lists(names, unique=True, max_size=3)) if request_names else ())
    )
    layout = {name: (draw(st.floats(-9999, 9999)), 0.0) for name in request_names}
    sketch = ClaimSketch(name=draw(names), requests=requests, links=links)
    return Drawing(sketch=sketch, layout=layout, cluster=draw(texts), release=draw(st.sampled_from(["", "1.35"])))


@settings(max_examples=20)
@given(drawings())
def test_a_drawing_reads_back_as_it_was_written(drawing):
    """Nothing of a drawing is lost in its file, whatever its texts."""
    assert decode_drawing(encode_drawing(drawing)) == drawing


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind: Drawing\napiVersion: dra-lab/v9\n", "v9"),
        ("kind: Pod\n", "not a drawing"),
        ("apiVersion: dra-lab/v1\nkind: Drawing\nsketch:\n  requests: 3\n", r"p\.yaml:4, sketch\.requests"),
        ("apiVersion: dra-lab/v1\nkind: Drawing\nsketch:\n  color: red\n", "unknown field 'color'"),
        ("a: [", "YAML"),
    ],
)
def test_a_broken_file_is_reported_with_its_line_and_path(text, words):
    """A file that is no drawing raises SketchError with file, line and path."""
    with pytest.raises(SketchError, match=words):
        decode_drawing(text, "p.yaml")


def test_an_empty_file_is_an_empty_drawing():
    """An empty file, as `touch` makes it, is no error."""
    assert decode_drawing("") == Drawing()
