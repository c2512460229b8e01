"""The export of a session's fleet: the files of `dra-lab export` with all workloads, and what they do not achieve."""

import pytest
from msgspec.structs import replace

from dra_lab import Session, read_sketch
from dra_lab.cli import main

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


@pytest.mark.long
def test_the_sheet_writes_the_files_of_the_command_byte_for_byte(session, tmp_path):
    """The same workloads, pins and record."""
    simulated(session, folder=str(tmp_path / "sheet")).write()
    command = ["export", "sample:eks-p4d", "--claim", PAIRS, "--replicas", "2", "--claim", ANY, "--replicas", "1"]
    assert main([*command, "--pin", "--report", "--dir", str(tmp_path / "command")]) == 0
    assert bytes_of(tmp_path / "sheet") == bytes_of(tmp_path / "command")


@pytest.mark.long
def test_the_fleet_and_the_drawing_have_choices_of_their_own(session):
    """What is chosen for the fleet does not change the export of the drawing."""
    simulated(session, namespace="team-a")
    session.exporting.close()
    session.show_mode("plan")
    session.exporting.open()
    assert (session.exporting.of_fleet, session.exporting.choice.namespace) == (False, "")


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
