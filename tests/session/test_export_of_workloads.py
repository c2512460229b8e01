"""The export of a session's gang or fleet: the files of `dra-lab export`, and what they do not achieve."""

import pytest
from msgspec.structs import replace

from dra_lab import Session, read_sketch
from dra_lab.cli import main
from dra_lab.exports.readme import not_pinnable
from dra_lab.model.sketch import GangDrawing

SAMPLE, POD, PLAN = "sample:h100-pod", "eight-pairs", "plan.dralab.yaml"
TRAIN = GangDrawing(size=3, level="leaf switch", hierarchy="h100-pod", queue="training/train")


@pytest.fixture
def session(tmp_path):
    """Give a session in mode Plan whose drawing is a gang of three pods below one leaf switch."""
    made = Session(SAMPLE, file=tmp_path / PLAN, sketch=read_sketch(f"{SAMPLE}/{POD}"))
    made.fleet.set_gang(POD, TRAIN)
    yield made
    made.close()


def opened(session, **choice):
    """Return the export of what is shown, once its files are made with these choices."""
    session.exporting.open()
    session.exporting.choose(replace(session.exporting.choice, **choice))
    return made(session)


def made(session):
    """Return the export once the gangs are planned and the files made."""
    assert session.wait(60)
    assert session.exporting.wait(60)
    return session.exporting


def bytes_of(folder) -> dict[str, bytes]:
    """Return the files of a folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def same_as_the_command(session, tmp_path, *options, **choice) -> bool:
    """Write the files of the sheet and those of the command, and say if they are the same bytes."""
    opened(session, **choice, folder=str(tmp_path / "sheet")).write()
    assert main(["export", SAMPLE, "--claim", str(tmp_path / PLAN), *options, "--dir", str(tmp_path / "command")]) == 0
    return bytes_of(tmp_path / "sheet") == bytes_of(tmp_path / "command")


@pytest.mark.some(3)
@pytest.mark.parametrize("pin", [False, True])
@pytest.mark.parametrize("scheduler", ["kueue", "kai", "volcano", "kube-scheduler"])
def test_the_sheet_writes_the_files_of_the_command_byte_for_byte(session, tmp_path, scheduler, pin):
    options = ["--scheduler", scheduler, *(["--pin"] if pin else [])]
    assert same_as_the_command(session, tmp_path, *options, scheduler=scheduler, pin=pin)


JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}  # ours
spec:
  parallelism: 3
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: example/train:1}]
"""


def test_a_workload_of_its_own_is_written_as_by_the_command(session, tmp_path):
    """A Job gets the claim, the queue and the planned domain, and keeps its comment."""
    (tmp_path / "job.yaml").write_text(JOB)
    file = str(tmp_path / "job.yaml")
    options = ["--workload", file, "--scheduler", "kueue", "--pin"]
    assert same_as_the_command(session, tmp_path, *options, pin=True, workload=file)


def test_a_plan_file_that_names_only_the_level_is_written_as_by_the_command(session, tmp_path):
    """The hierarchy that has the level is found for both."""
    session.fleet.set_gang(POD, replace(TRAIN, hierarchy=""))
    assert same_as_the_command(session, tmp_path, "--pin", "--scheduler", "kueue", pin=True)


def test_a_gang_that_does_not_fit_cannot_be_pinned(session):
    """No leaf switch has four idle servers, so there is no planned domain."""
    session.fleet.set_gang(POD, replace(TRAIN, size=4))
    exporting = opened(session, pin=True)
    held = "leaf-" in exporting.chosen.texts["job.yaml"]
    assert (held, not_pinnable(*exporting.planned)) == (False, "this gang has no place in the plan")


def test_the_queue_is_that_of_the_drawing(session):
    exporting = opened(session)
    exporting.set_queue("research/study")
    assert "queue-name: study" in made(session).chosen.texts["job.yaml"]
    session.undo()
    assert session.fleet.workload(POD).gang.queue == "training/train"


def test_the_fleet_is_planned_only_while_the_sheet_is_open(session):
    opened(session)
    session.exporting.close()
    before = session.fleet.answer
    session.fleet.set_gang(POD, replace(TRAIN, size=2))
    assert session.wait(60)
    assert session.fleet.answer is before


def test_a_gang_is_pinned_to_the_domain_of_the_common_plan(session):
    """Two gangs are planned together, and the file of each has its own leaf switch."""
    session.fleet.set_gang(session.fleet.add(read_sketch(f"{SAMPLE}/{POD}"), 1, "serve"), TRAIN)
    leaves = []
    for name in (POD, "serve"):
        session.exporting.open()
        session.exporting.choose_gang(name)
        session.exporting.choose(replace(session.exporting.choice, pin=True))
        text = made(session).chosen.texts["job.yaml"]
        leaves.append([leaf for leaf in ("leaf-1", "leaf-2", "leaf-3", "leaf-4") if leaf in text])
    assert sorted(leaves) == [["leaf-2"], ["leaf-4"]]


PAIRS, ANY = "sample:eks-p4d/gpu-nic-pairs", "sample:eks-p4d/any-nic-pairs"


@pytest.fixture
def fleet():
    """Give a session in mode Fleet with two pods of one workload and one of another, planned."""
    made = Session("sample:eks-p4d", sketch=read_sketch(PAIRS))
    made.fleet.set_replicas("gpu-nic-pairs", 2)
    made.fleet.add(read_sketch(ANY))
    made.show_mode("fleet")
    made.fleet.plan()
    yield made
    made.close()


def simulated(session, **choice):
    """Return the export of what is shown, simulated with these choices."""
    session.exporting.open()
    session.exporting.choose(replace(session.exporting.choice, **choice))
    assert session.exporting.wait(120)
    return session.exporting


@pytest.mark.long
def test_the_sheet_of_a_fleet_writes_the_files_of_the_command(fleet, tmp_path):
    simulated(fleet, folder=str(tmp_path / "sheet")).write()
    command = ["export", "sample:eks-p4d", "--claim", PAIRS, "--replicas", "2", "--claim", ANY, "--replicas", "1"]
    assert main([*command, "--pin", "--report", "--dir", str(tmp_path / "command")]) == 0
    assert bytes_of(tmp_path / "sheet") == bytes_of(tmp_path / "command")


@pytest.mark.long
def test_the_fleet_and_the_drawing_have_choices_of_their_own(fleet):
    simulated(fleet, namespace="team-a")
    fleet.exporting.close()
    fleet.show_mode("plan")
    fleet.exporting.open()
    assert (fleet.exporting.of_fleet, fleet.exporting.choice.namespace) == (False, "")


def test_a_fleet_without_workloads_is_no_export():
    session = Session("sample:eks-p4d")
    try:
        session.clear()
        session.show_mode("fleet")
        session.wait()
        exporting = simulated(session)
        assert (exporting.plain, exporting.problem) == (None, "there is no workload yet; add one in Fleet, then export")
    finally:
        session.close()
