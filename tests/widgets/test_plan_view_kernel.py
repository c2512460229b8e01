"""PlanView on the Python side: goals in another order, reasons and regret, the last answer while there is none."""

from __future__ import annotations

from msgspec.structs import replace
from widget_messages import answered, say

from dra_lab.model.claims import CELDeviceSelector, DeviceSelector
from dra_lab.session import read_sketch
from dra_lab.widgets.plan_view import PlanView


def test_a_half_written_selector_keeps_the_last_answer(session):
    """The answer and its goals stay, marked as those of the previous drawing; the reasons tell the error."""
    view = PlanView(session)
    before = view.answer["sentence"]
    gpu, *others = session.sketch.requests
    part = replace(gpu.exactly, selectors=(DeviceSelector(cel=CELDeviceSelector(expression="device.driver ==")),))
    session.edit(replace(session.sketch, requests=(replace(gpu, exactly=part), *others)))
    answered(session)
    assert (view.answer["sentence"], view.answer["stale"]) == (before, True)
    assert view.answer["trouble"].startswith("Selector does not compile at")
    assert view.goals
    assert view.reasons[0]["rule"] == "not-answered"
    session.undo()
    answered(session)
    assert not {"stale", "trouble"} & set(view.answer)


def test_goals_are_put_in_another_order_and_back(session):
    """The drawing takes the order from the browser, the plan follows, and an unknown goal is refused."""
    view = PlanView(session)
    say(view, type="order-goals", goals=["roots", "damage"])
    answered(session)
    assert [row["goal"] for row in view.goals][2:4] == ["roots", "damage"]
    assert view.goals_changed
    assert [row.get("movable", True) for row in view.goals] == [False, False, True, True, True, True]
    say(view, type="order-goals", goals=["speed"])
    assert "'speed' is not known" in view.problem
    say(view, type="order-goals", goals=[])
    answered(session)
    assert not view.goals_changed
    assert session.drawing.goals == ()


def test_reasons_and_regret_reach_the_browser(session):
    """A misfit brings its counts, conflict and gains; a fit its ranges with their sources."""
    view = PlanView(session)
    assert any("0.45 to 0.64" in line for line in view.regret["lines"])
    assert view.regret["sources"]
    assert not view.why
    session.edit(read_sketch("sample:eks-p4d/five-pairs"))
    answered(session)
    assert [table["title"] for table in view.why["funnels"]] == [
        f"Devices left for {name} (5 needed)" for name in ("gpu", "nic")
    ]
    assert view.why["lines"][0].startswith("Fragmentation: Request nic")
    assert "It then fits on 3 of 4 nodes." in view.suggestions[0]["detail"]


ARTICLE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: article}  # from an article
spec:
  spec:
    devices:
      requests:
      - {name: gpu, deviceClassName: nvidia-gpu}
      - {name: nic, deviceClassName: rdma-nic}
      constraints:
      - {requests: [gpu, nic], matchAttribute: pcieRoot}
"""


def test_a_typed_text_is_corrected_as_one_undo_step(session):
    """The button corrects what `check --fix` corrects, lists each change and draws it; undo brings the old drawing."""
    view, before = PlanView(session), session.sketch
    say(view, type="edit-claim", text=ARTICLE, number=1)
    assert "unknown field" in view.claim_answer["message"]
    assert len(view.claim_answer["fixes"]) == 5
    assert session.sketch == before
    say(view, type="fix-claim", text=ARTICLE, number=2)
    answer = view.claim_answer
    assert (answer["number"], answer.get("message", "")) == (2, "")
    assert "{name: article}  # from an article" in answer["text"]
    assert [ask.exactly.device_class_name for ask in session.sketch.requests] == ["gpu.nvidia.com", "dranet"]
    assert [row["line"] for row in answer["fixes"]] == [8, 8, 9, 9, 11]
    session.undo()
    assert session.sketch == before


def test_the_drawings_own_text_is_corrected(session):
    """A drawing whose class no cluster has offers its correction beside the manifests."""
    view = PlanView(session)
    assert view.claim_fixes == []
    gpu, *others = session.sketch.requests
    wrong = replace(gpu, exactly=replace(gpu.exactly, device_class_name="nvidia-gpu"))
    session.edit(replace(session.sketch, requests=(wrong, *others)))
    answered(session)
    assert len(view.claim_fixes) == 2
    assert all("'nvidia-gpu' → 'gpu.nvidia.com'" in row["text"] for row in view.claim_fixes)
    say(view, type="fix-claim")
    answered(session)
    assert session.sketch.requests[0].exactly.device_class_name == "gpu.nvidia.com"
    assert view.claim_fixes == []
