"""A link is named by what it connects: the screen never shows the name that stands in the file."""

from __future__ import annotations

import json

from widget_messages import answered

from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.sketch import ClaimSketch, How, Link
from dra_lab.session import Session
from dra_lab.widgets.plan_view import PlanView


def test_no_message_of_a_misfit_has_the_name_of_a_link():
    """Verdict, changes that help, reasons and "why not?" say the PCIe root link of gpu and nic."""
    asked = {"gpu": ("gpu.nvidia.com", 4), "nic": ("dranet", 4)}
    requests = tuple(
        DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=kind, count=count))
        for name, (kind, count) in asked.items()
    )
    link = Link(name="link-1", requests=("gpu", "nic"), where="pcieRoot", how=How.PAIRWISE)
    session = Session("sample:two-sockets", sketch=ClaimSketch(name="four", requests=requests, links=(link,)))
    view = PlanView(session)
    answered(session)
    assert view.answer["state"] == "misfit"
    shown = json.dumps([view.answer, view.reasons, view.suggestions, view.why, view.why_not, view.findings])
    assert "link-1" not in shown
    session.close()
