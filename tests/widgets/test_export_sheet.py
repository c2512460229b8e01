"""The Export sheet on the Python side: messages in, one trait out, and nothing written without its sentence."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from widget_messages import answered, say

from dra_lab import ClaimSketch, PlanView, Session, read_sketch
from dra_lab.model.claims import DeviceRequest, ExactDeviceRequest
from dra_lab.model.sketch import GangDrawing

EKS = "sample:eks-p4d"


def opened(session):
    """Return the session and its view, with the sheet open and simulated."""
    view = PlanView(session)
    say(view, type="show-export")
    assert session.exporting.wait(120)
    session.events.emit("export")
    return session, view


def shown(session, view, **message) -> dict:
    """Return what the sheet shows once its files are made, after a message if one is given.

    Without the loop of a kernel, this thread may have shown what was true before the files were made.
    """
    if message:
        say(view, **message)
    assert session.wait(60)
    assert session.exporting.wait(60)
    session.events.emit("export")
    return view.export


@pytest.fixture
def sheet(tmp_path):
    """The sheet of six GPUs and six NICs of any kind on dgx-h100."""
    session = Session("sample:dgx-h100", sketch=SIX)
    answered(session)
    session.exporting.choice = replace(session.exporting.choice, folder=str(tmp_path / "out"))
    yield opened(session)
    session.close()


@pytest.fixture
def fleet_sheet():
    """The sheet of six pods of a claim of which four have a place, and of one more workload."""
    session = Session(EKS, sketch=read_sketch(f"{EKS}/gpu-nic-pairs"))
    session.fleet.set_replicas("gpu-nic-pairs", 6)
    session.fleet.add(read_sketch(f"{EKS}/any-nic-pairs"), 0)
    session.show_mode("fleet")
    session.fleet.plan()
    yield opened(session)
    session.close()


@pytest.fixture
def gang_sheet():
    """The sheet of a drawing that is a gang of three pods."""
    session = Session(SAMPLE, sketch=read_sketch(f"{SAMPLE}/{POD}"))
    session.fleet.set_gang(POD, TRAIN)
    yield opened(session)
    session.close()


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


def test_the_sheet_says_both_outcomes_and_pins_where_they_differ(sheet):
    """5 of 6 without pins, 6 of 6 with them, and the pin is on until a person decides otherwise."""
    _, view = sheet
    row = view.export
    assert "4 of 6 pairs" in row["plain"]["sentence"]
    assert "6 of 6 pairs" in row["pinned"]["sentence"]
    assert (row["pin"], row.get("worse", "")) == (True, "")
    assert [file["state"] for file in row["files"]] == ["new"] * 5


def test_nothing_worse_is_written_unless_it_is_accepted(sheet, tmp_path):
    session, view = sheet
    shown(session, view, type="choose-export", pin=False)
    say(view, type="write-export")
    assert "nothing is written. kube-scheduler allocates 4 of 6 pairs" in view.problem
    assert not (tmp_path / "out").exists()
    say(view, type="write-export", allowWorse=True)
    assert (view.problem, (tmp_path / "out" / "pod.yaml").exists()) == ("", True)
    assert {file["state"] for file in view.export["files"]} == {"unchanged"}


def test_the_container_and_the_way_of_changing_a_workload_are_chosen(sheet, tmp_path):
    session, view = sheet
    file = tmp_path / "train.yaml"
    two = "[{name: main, image: example/train:1}, {name: side, image: example/side:1}]"
    file.write_text(DEPLOYMENT.replace("[{name: main, image: example/train:1}]", two))
    shown(session, view, type="choose-export", workload=str(file))
    assert view.export["containers"] == ["main", "side"]
    shown(session, view, type="choose-export", container="side", patch=True)
    patch = next(one for one in view.export["files"] if "Component" in "".join(one["lines"]))
    assert any("name: side" in line for one in view.export["files"] for line in one["lines"])
    assert patch["state"] == "new"


def test_a_workload_that_is_not_there_is_a_problem_of_the_sheet(sheet):
    session, view = sheet
    shown(session, view, type="choose-export", workload="nowhere.yaml")
    assert "nowhere.yaml" in view.export["problem"]
    assert "files" not in view.export


def test_my_numbers_replace_the_range_of_the_sheet(session, tmp_path):
    """The published range becomes one number that is marked as mine; the Jobs go beside the export."""
    session.exporting.choice = replace(session.exporting.choice, folder=str(tmp_path / "out"))
    view = PlanView(session)
    say(view, type="show-export")
    assert session.exporting.wait(60)
    assert "0.45 to 0.64" in view.export["measure"]["words"]
    say(view, type="use-measured", withLink=46.1, withoutLink=25.3)
    assert session.wait(60)
    assert session.exporting.wait(60)
    assert "0.55 on 1 of 2 GPUs (on another NUMA node, measured by you)" in view.export["measure"]["words"]
    say(view, type="write-measure")
    assert (tmp_path / "out-measure" / "job-with-link.yaml").exists(), view.problem


def test_a_folder_is_listed_and_no_other_than_the_notebook_s(sheet, tmp_path, monkeypatch):
    """Folders and files that can be read, without hidden ones; out of reach, the notebook's folder."""
    (tmp_path / "home" / "jobs" / "deep").mkdir(parents=True)
    for name in ("train.yaml", ".hidden.yaml", "notes.doc"):
        (tmp_path / "home" / "jobs" / name).write_text("")
    monkeypatch.chdir(tmp_path / "home")
    monkeypatch.delenv("DRA_LAB_FOLDERS", raising=False)
    _, view = sheet
    say(view, type="list-folder", path="jobs/not-there-yet")
    assert view.listing == {"path": "jobs", "above": ".", "folders": ["deep"], "files": ["train.yaml"]}
    say(view, type="list-folder", path="../..")
    assert view.listing == {"folders": ["jobs"]}


@pytest.mark.parametrize("mode", ["plan", "fleet"])
def test_the_answer_of_the_mode_is_printed_on_a_page_without_manifests(fleet_sheet, mode):
    session, view = fleet_sheet
    session.show_mode(mode)
    assert session.wait(60)
    say(view, type="print")
    page = view.printed["page"]
    assert ("4 of 6 replicas placed" in page) == (mode == "fleet")
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in page
    assert "kind: ResourceClaim" not in page


def test_an_answer_that_a_lesson_hides_is_not_printed():
    session = Session("sample:dgx-h100")
    view = PlanView(session)
    session.hide_answer(hidden=True)
    say(view, type="print")
    assert (view.printed, "no answer to print" in view.problem) == ({}, True)
    session.close()


def test_the_sheet_is_of_all_workloads(fleet_sheet):
    _, view = fleet_sheet
    row = view.export
    assert (row["name"], row["fleet"]) == ("gpu-nic-pairs, any-nic-pairs", 2)
    assert {"resourceclaimtemplate-any-nic-pairs.yaml", "deployment-gpu-nic-pairs.yaml"} <= {
        file["name"] for file in row["files"]
    }


def test_pods_without_a_place_stand_beside_the_simulation(fleet_sheet):
    """The simulation counts the placed ones, so the sentence about the others is beside it."""
    _, view = fleet_sheet
    assert "gpu-nic-pairs: 2 of 6 replicas have no place in the plan." in view.export["plain"]["detail"]


def test_a_claim_that_all_pods_share_is_refused(fleet_sheet):
    session, view = fleet_sheet
    shown(session, view, type="choose-export", kind="claim")
    assert "replicas would share the devices of one ResourceClaim" in view.export["problem"]


SAMPLE, POD = "sample:h100-pod", "eight-pairs"
TRAIN = GangDrawing(size=3, level="leaf switch", hierarchy="h100-pod", queue="training/train")


def test_the_sheet_of_a_drawn_gang_has_its_files(gang_sheet):
    session, view = gang_sheet
    row = shown(session, view)
    assert row["name"] == "eight-pairs, 1 gang of 3 pods, all in one leaf switch"
    assert {"job.yaml", "README.md"} <= {file["name"] for file in row["files"]}


def test_the_scheduler_is_chosen_by_its_name(gang_sheet):
    session, view = gang_sheet
    row = shown(session, view, type="choose-gang-export", scheduler="kube-scheduler")
    assert "podgroup.yaml" in {file["name"] for file in row["files"]}
    assert row["plain"]["detail"].startswith("kube-scheduler 1.36.2 (PodGroup, GangScheduling on) finds a place")


def test_the_planned_domain_is_shown_with_the_pin(gang_sheet):
    session, view = gang_sheet
    gang = shown(session, view, type="choose-export", pin=True)["gang"]
    assert (gang["pin"], gang["domain"]) == (True, "spine-1/leaf-2")


def test_an_empty_queue_is_an_error_beside_the_button(gang_sheet):
    session, view = gang_sheet
    row = shown(session, view, type="choose-gang-export", queue="")
    assert (row["worse"], row["findings"][0]["rule"]) == ("Correct the error above.", "kueue-queue-missing")


def test_the_queues_of_kueue_are_offered_to_kueue_alone(gang_sheet):
    session, view = gang_sheet
    found = [
        shown(session, view, type="choose-gang-export", scheduler=name)["gang"].get("queues")
        for name in ("kueue", "kai")
    ]
    assert found == [["inference/serve", "research/study", "training/train"], None]


def test_ordinary_pods_are_named_because_they_are_not_in_the_files(gang_sheet):
    session, view = gang_sheet
    session.fleet.add(read_sketch(f"{SAMPLE}/{POD}"), 1, "web")
    words = "web is planned with the gang and not in these files. Open it in Plan to export it."
    assert shown(session, view)["gang"]["others"] == words
