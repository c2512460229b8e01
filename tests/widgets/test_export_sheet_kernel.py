"""The Export sheet on the Python side: messages in, one trait out, and nothing written without its sentence."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from widget_messages import say

from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.sketch import ClaimSketch
from dra_lab.session import Session
from dra_lab.widgets.plan_view import PlanView

SIX = ClaimSketch(
    name="six",
    requests=tuple(
        DeviceRequest(name=name, exactly=ExactDeviceRequest(device_class_name=kind, count=6))
        for name, kind in (("gpu", "gpu.nvidia.com"), ("nic", "dranet"))
    ),
)
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: train}
spec:
  replicas: 2
  selector: {matchLabels: {app: train}}
  template:
    metadata: {labels: {app: train}}
    spec:
      containers: [{name: main, image: example/train:1}]
"""


@pytest.fixture
def view(tmp_path):
    """The view of six GPUs and six NICs of any kind on dgx-h100, with its sheet open and simulated."""
    session = Session("sample:dgx-h100", sketch=SIX)
    session.plan()
    session.exporting.choice = replace(session.exporting.choice, folder=str(tmp_path / "out"))
    made = PlanView(session)
    say(made, type="show-export")
    assert session.exporting.wait(60)
    yield made
    made.close()
    session.close()


def test_the_sheet_says_both_outcomes_and_pins_where_they_differ(view):
    """5 of 6 without pins, 6 of 6 with them, and the pin is on until a person decides otherwise."""
    row = view.export
    assert "5 of 6 pairs" in row["plain"]["sentence"]
    assert "6 of 6 pairs" in row["pinned"]["sentence"]
    assert (row["pin"], row.get("worse", "")) == (True, "")
    assert [file["state"] for file in row["files"]] == ["new"] * 5


def test_nothing_worse_is_written_unless_it_is_accepted(view, tmp_path):
    """Without the pin the write is refused with the sentence, and accepted with it."""
    say(view, type="choose-export", pin=False)
    assert view._session.exporting.wait(60)
    say(view, type="write-export")
    assert "nothing is written. kube-scheduler allocates 5 of 6 pairs" in view.problem
    assert not (tmp_path / "out").exists()
    say(view, type="write-export", allowWorse=True)
    assert (view.problem, (tmp_path / "out" / "pod.yaml").exists()) == ("", True)
    assert {file["state"] for file in view.export["files"]} == {"unchanged"}


def test_a_choice_that_cannot_be_written_keeps_the_former_one(view):
    """An unknown version is refused by name."""
    say(view, type="choose-export", apiVersion="v9")
    assert "resource.k8s.io/v9 is not supported" in view.problem
    assert "apiVersion" not in view.export["choice"]


def test_a_workload_is_planned_with_its_own_replicas(view, tmp_path):
    """The patched copy takes the example's place, and the sentence counts its replicas."""
    (tmp_path / "work.yaml").write_text(DEPLOYMENT)
    say(view, type="choose-export", workload=str(tmp_path / "work.yaml"))
    assert view._session.exporting.wait(60)
    assert "2 replicas" in view.export["plain"]["sentence"]
    assert "work.yaml" in [file["name"] for file in view.export["files"]]
    assert [row["path"] for row in view.export["templates"]] == ["spec.template"]


def test_the_container_and_the_way_of_changing_a_workload_are_chosen(view, tmp_path):
    """The devices go to the container that a person names, in a patch in place of a copy."""
    file = tmp_path / "train.yaml"
    two = "[{name: main, image: example/train:1}, {name: side, image: example/side:1}]"
    file.write_text(DEPLOYMENT.replace("[{name: main, image: example/train:1}]", two))
    say(view, type="choose-export", workload=str(file))
    assert view._session.exporting.wait(60)
    assert view.export["containers"] == ["main", "side"]
    say(view, type="choose-export", container="side", patch=True)
    assert view._session.exporting.wait(60)
    patch = next(one for one in view.export["files"] if "Component" in "".join(one["lines"]))
    assert any("name: side" in line for one in view.export["files"] for line in one["lines"])
    assert patch["state"] == "new"


def test_the_namespaces_of_the_cluster_are_offered(view):
    """The most used one comes first."""
    used = {claim.metadata.namespace for claim in view._session.cluster.claims}
    assert used <= set(view.export["namespaces"])


def test_a_workload_that_is_not_there_is_a_problem_of_the_sheet(view):
    """The sheet says so, has no files, and the kernel goes on."""
    say(view, type="choose-export", workload="nowhere.yaml")
    assert view._session.exporting.wait(60)
    assert "nowhere.yaml" in view.export["problem"]
    assert "files" not in view.export


def test_a_closed_sheet_is_empty_and_keeps_what_was_chosen(view):
    """Opened again it has the same namespace."""
    say(view, type="choose-export", namespace="team-a")
    say(view, type="close-export")
    assert view.export == {}
    say(view, type="show-export")
    assert view.export["choice"]["namespace"] == "team-a"


def test_my_numbers_replace_the_range_of_the_sheet(session, tmp_path):
    """The published range becomes one number that is marked as mine; the Jobs go beside the export."""
    session.exporting.choice = replace(session.exporting.choice, folder=str(tmp_path / "out"))
    view = PlanView(session)
    say(view, type="show-export")
    assert session.exporting.wait(60)
    assert "0.45 to 0.64" in view.export["measure"]["words"]
    say(view, type="use-measured", near=46.1, far=25.3)
    assert session.wait(60)
    assert session.exporting.wait(60)
    assert "0.55 on 1 of 2 GPUs (on another NUMA node, measured by you)" in view.export["measure"]["words"]
    say(view, type="write-measure")
    assert (tmp_path / "out-measure" / "job-with-link.yaml").exists(), view.problem


def test_a_file_that_a_person_changed_is_kept_unless_they_allow_it(view, tmp_path):
    """The write is refused by name; `overwrite` must be true itself, not only something."""
    pod = tmp_path / "out" / "pod.yaml"
    pod.parent.mkdir()
    pod.write_text("mine: true\n")
    for more in ({}, {"overwrite": "yes"}):
        say(view, type="write-export", **more)
        assert view.problem
    assert pod.read_text() == "mine: true\n"
    say(view, type="write-export", overwrite=True)
    assert "kind: Pod" in pod.read_text()
