"""The export of a session's fleet: the files of `dra-lab export` with all workloads, and what they do not achieve."""

import pytest
from msgspec.structs import replace

from dra_lab.cli import main
from dra_lab.session import Session, read_sketch

PAIRS, ANY = "sample:eks-p4d/gpu-nic-pairs", "sample:eks-p4d/any-nic-pairs"


@pytest.fixture
def session():
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


def bytes_of(folder) -> dict[str, bytes]:
    """Return the files of a folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_sheet_writes_the_files_of_the_command_byte_for_byte(session, tmp_path):
    """The same workloads, pins and record."""
    simulated(session, folder=str(tmp_path / "sheet")).write()
    command = ["export", "sample:eks-p4d", "--claim", PAIRS, "--replicas", "2", "--claim", ANY, "--replicas", "1"]
    assert main([*command, "--pin", "--report", "--dir", str(tmp_path / "command")]) == 0
    assert bytes_of(tmp_path / "sheet") == bytes_of(tmp_path / "command")


@pytest.mark.long
def test_without_pins_the_files_are_those_of_the_command_too(session, tmp_path):
    """The manifests that miss the plan are written only if that is accepted."""
    simulated(session, folder=str(tmp_path / "sheet"), pin=False, extra=()).write(allow_worse=True)
    command = ["export", "sample:eks-p4d", "--claim", PAIRS, "--replicas", "2", "--claim", ANY, "--replicas", "1"]
    main([*command, "--allow-worse", "--dir", str(tmp_path / "command")])
    assert bytes_of(tmp_path / "sheet") == bytes_of(tmp_path / "command")


def test_the_fleet_and_the_drawing_have_choices_of_their_own(session):
    """What is chosen for the fleet does not change the export of the drawing."""
    simulated(session, namespace="team-a")
    session.exporting.close()
    session.show_mode("plan")
    session.exporting.open()
    assert (session.exporting.of_fleet, session.exporting.choice.namespace) == (False, "")


@pytest.mark.long
def test_the_export_waits_for_the_fleet(session):
    """While the fleet is planned nothing is simulated, and then its answer is."""
    exporting = simulated(session)
    session.fleet.set_replicas("gpu-nic-pairs", 3)
    assert exporting.stage == "Planning"
    session.fleet.wait()
    assert exporting.wait(120)
    assert "replicas: 3" in exporting.plain.texts["deployment-gpu-nic-pairs.yaml"]


@pytest.mark.long
def test_pods_that_a_person_pinned_are_reported(session):
    """No manifest keeps them on their node, and the export says so."""
    node = session.cluster.node_names[0]
    session.fleet.pin("gpu-nic-pairs", node, 1)
    session.fleet.plan()
    found = simulated(session).plain.findings
    assert [one.subject for one in found if one.rule == "pod-pins-not-written"] == ["gpu-nic-pairs"]


def test_a_fleet_without_workloads_is_no_export():
    """The sheet says what to do."""
    session = Session("sample:eks-p4d")
    try:
        session.clear()
        session.show_mode("fleet")
        session.fleet.wait()
        exporting = simulated(session)
        assert (exporting.plain, exporting.problem) == (None, "there is no workload yet; add one in Fleet, then export")
    finally:
        session.close()
