"""What the inspector of a request shows: counts of each selector, amounts with their rounding, configuration."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest
from widget_messages import answered, say, set_traits

from dra_lab import ClaimCanvas, Session, load_cluster, read_sketch


def part(session, device_class: str, *selectors: str, **amounts: str) -> dict:
    """Draw a request, and return the row of its only part."""
    exactly = {"deviceClassName": device_class, "selectors": [{"cel": {"expression": text}} for text in selectors]}
    exactly["capacity"] = {"requests": {key.replace("__", "/"): amount for key, amount in amounts.items()}}
    canvas = ClaimCanvas(session)
    set_traits(canvas, sketch={"requests": [{"name": "one", "exactly": exactly}]})
    answered(session)
    (row,) = canvas.status["requests"]["one"]["parts"]
    return row


def test_each_selector_is_counted_alone_and_free(session):
    row = part(session, "dranet", 'device.attributes["dra.net"].rdma == true', "true")
    assert [found["text"] for found in row["selectors"]] == ["16 of 28 match, 9 free", "28 of 28 match, 21 free"]
    assert row["classWords"] == "selects every device of the driver dra.net"


@pytest.mark.parametrize(("known", "words"), [(False, "use unknown"), (True, "51 free")])
def test_devices_are_called_free_only_as_far_as_claims_were_read(known, words):
    """Chip, box and selector say the same."""
    read = replace(load_cluster("sample:dgx-h100"), claims_known=known)
    with closing(Session(read, sketch=read_sketch("sample:dgx-h100/gpu-nic-cpu"))) as session:
        session.plan()
        canvas = ClaimCanvas(session)
        (entry,) = [one for one in canvas.palette if one["label"] == "RDMA NIC"]
        row = canvas.status["requests"]["nic"]
        texts = [entry.get("chip") or entry["use"], row["text"], row["parts"][0]["text"]]
    assert [words in text for text in texts] == [True] * 3


def test_a_selector_that_does_not_compile_is_reported_beside_it(session):
    assert "nonsense" in part(session, "dranet", "device.nonsense")["selectors"][0]["error"]


@pytest.mark.parametrize(
    ("amount", "words"), [("16", "16 allocated."), ("9999", "The largest device has"), ("many", "many")]
)
def test_an_amount_says_what_the_driver_makes_of_it(amount, words):
    with closing(Session("sample:dgx-h100")) as session:
        row = part(session, "dra.cpu", **{"dra.cpu__cpu": amount})
    (found,) = [one for one in row["amounts"] if one["key"] == "dra.cpu/cpu"]
    assert words in found["note"]


@pytest.fixture
def configure(session):
    """Return what sends typed parameters for the request gpu, and the canvas that gets them."""
    canvas = ClaimCanvas(session)

    def send(text: str) -> ClaimCanvas:
        say(canvas, type="configure", index=0, requests=["gpu"], driver="gpu.nvidia.com", text=text)
        return canvas

    return send


def test_typed_parameters_become_an_entry_of_the_configuration_until_they_are_empty(session, configure):
    configure("sharing: {strategy: TimeSlicing}")
    (entry,) = session.sketch.config
    assert entry.opaque.parameters == {"sharing": {"strategy": "TimeSlicing"}}
    configure("")
    assert session.sketch.config == ()


@pytest.mark.parametrize(
    ("text", "words"), [("a: [", "not valid YAML"), ("- 1", "one YAML or JSON object"), ("a", "object")]
)
def test_parameters_that_are_no_object_are_refused(configure, text, words):
    assert words in configure(text).configured["message"]
