"""Plans that are kept for comparing: one undo step each, stored in the plan file."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dra_lab import Session, read_sketch
from dra_lab.errors import InputError


@pytest.fixture
def session(tmp_path):
    """The shipped example with a plan file, answered."""
    sketch = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    made = Session("sample:eks-p4d", sketch=sketch, file=tmp_path / "plan.dralab.yaml")
    made.plan()
    yield made
    made.close()


def test_a_kept_plan_has_its_answer_and_its_copies(session):
    name = session.comparing.keep(session.plan())
    assert session.comparing.wait(60)
    kept = session.comparing.kept(name)
    assert (kept.figures["fitting"].value, kept.figures["copies"].value) == (3, 4)
    assert len(kept.devices) == 4
    session.undo()
    assert session.comparing.plans == ()


def test_kept_plans_are_in_the_file_of_the_drawing(session, tmp_path):
    name = session.comparing.keep(session.plan(), "pairs")
    session.comparing.wait(60)
    again = Session(file=tmp_path / "plan.dralab.yaml")
    assert again.comparing.kept(name) == session.comparing.kept(name)
    again.close()


def test_a_thirteenth_plan_is_refused(session):
    for number in range(12):
        session.comparing.keep(session.plan(), f"plan {number}")
    with pytest.raises(InputError, match="remove one first"):
        session.comparing.keep(session.plan())
    session.comparing.remove("plan 0")
    assert session.comparing.keep(session.plan()) == f"{session.sketch.name}, 1 link"


def test_any_four_of_the_kept_plans_stand_side_by_side(session):
    """Without a choice these are the last four."""
    for number in range(5):
        session.comparing.keep(session.plan(), f"plan {number}")
    assert [kept.name for kept in session.comparing.plans] == ["plan 1", "plan 2", "plan 3", "plan 4"]
    session.comparing.choose(["plan 0", "plan 4"])
    assert [kept.name for kept in session.comparing.plans] == ["plan 0", "plan 4"]


def test_a_kept_fleet_has_the_bandwidth_of_its_pods(session):
    """All of it on the planned devices; without the link kube-scheduler leaves a GPU less."""
    session.edit(replace(session.sketch, links=()))
    session.fleet.plan()
    figures = session.comparing.kept(session.comparing.keep_fleet()).figures
    assert (figures["bandwidth/low"].value, figures["scheduler/bandwidth/low"].value) == (100, 45)


def test_a_snapshot_is_reported_by_its_content(session):
    kept = session.comparing.kept(session.comparing.keep(session.plan()))
    renamed = session.snapshot.with_objects(name="another name")
    assert session.comparing.is_of(kept, renamed)
    assert not session.comparing.is_of(kept, session.snapshot.with_objects(claims=session.snapshot.claims[1:]))


def test_a_plan_is_renamed_to_a_name_that_is_free(session):
    session.comparing.keep(session.plan(), "one")
    session.comparing.keep(session.plan(), "two")
    with pytest.raises(InputError, match="already"):
        session.comparing.rename("two", "one")
    session.comparing.rename("two", "three")
    assert session.comparing.wait(60)
    assert [kept.name for kept in session.comparing.plans] == ["one", "three"]
    assert session.comparing.kept("three").figures["copies"].value == 4


def test_a_kept_plan_becomes_the_drawing_again(session):
    sketch = session.sketch
    session.comparing.keep(session.plan(), "linked")
    session.edit(replace(sketch, links=()))
    assert not session.comparing.is_drawn(session.comparing.kept("linked"))
    session.comparing.restore("linked")
    assert session.sketch == sketch
    session.undo()
    assert session.sketch.links == ()


def test_a_plan_of_another_drawing_is_not_kept(session):
    before = session.plan()
    session.edit(replace(session.sketch, links=()))
    with pytest.raises(InputError, match="still being planned"):
        session.comparing.keep(before)
