"""Plans that are kept for comparing: one undo step each, stored in the plan file."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dra_lab.errors import InputError
from dra_lab.session import Session, read_sketch
from dra_lab.session.outputs import bundle, drawn_of, fleet_bundle
from dra_lab.sketch.manifest_target import Target


@pytest.fixture
def session(tmp_path):
    """The shipped example with a plan file, answered."""
    sketch = read_sketch("sample:eks-p4d/gpu-nic-pairs")
    made = Session("sample:eks-p4d", sketch=sketch, file=tmp_path / "plan.dralab.yaml")
    made.plan()
    yield made
    made.close()


def test_a_kept_plan_has_its_answer_and_its_copies(session):
    """The copies are counted afterwards, without an undo step of their own."""
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
    """The message says what to do."""
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


def test_a_kept_plan_says_what_kube_scheduler_does_on_every_node(session):
    """The sentence is that of an export."""
    name = session.comparing.keep(session.plan())
    assert session.comparing.wait(60)
    made = bundle(drawn_of(session), Target(session.release))
    assert session.comparing.kept(name).simulation == made.simulation.sentence


def kept_fleet(session):
    """Return a kept fleet of two workloads after kube-scheduler was simulated with it."""
    session.fleet.set_replicas(session.fleet.workloads[0].pod, 2)
    session.fleet.add(read_sketch("sample:eks-p4d/any-nic-pairs"))
    session.fleet.plan()
    name = session.fleet.keep()
    session.comparing.complete()
    assert session.comparing.wait(120)
    return session.comparing.kept(name)


def test_a_kept_fleet_says_what_kube_scheduler_does_on_every_node(session):
    """The sentence is that of an export of all its workloads."""
    kept, answer = kept_fleet(session), session.fleet.answer
    made = fleet_bundle(session.cluster, answer.plan, Target(session.release))
    assert (kept.simulation, kept.figures["achieved"].value) == (made.simulation.sentence, int(not made.is_worse))


def test_a_kept_fleet_has_the_bandwidth_of_its_pods(session):
    """All of it on the planned devices; without the link kube-scheduler leaves a GPU less."""
    session.edit(replace(session.sketch, links=()))
    session.fleet.plan()
    figures = session.comparing.kept(session.fleet.keep()).figures
    assert (figures["bandwidth/low"].value, figures["scheduler/bandwidth/low"].value) == (100, 45)


def test_a_renamed_fleet_is_still_simulated(session):
    """Its plan goes with its name."""
    session.fleet.plan()
    session.comparing.rename(session.fleet.keep(), "other")
    session.comparing.complete()
    assert session.comparing.wait(120)
    assert session.comparing.kept("other").simulation


def test_a_snapshot_is_reported_by_its_content(session):
    """The same objects under another name are the same snapshot, and one claim less is another one."""
    kept = session.comparing.kept(session.comparing.keep(session.plan()))
    renamed = session.snapshot.with_objects(name="another name")
    assert session.comparing.is_of(kept, renamed)
    assert not session.comparing.is_of(kept, session.snapshot.with_objects(claims=session.snapshot.claims[1:]))


def test_a_name_is_unique(session):
    session.comparing.keep(session.plan(), "one")
    session.comparing.keep(session.plan(), "two")
    with pytest.raises(InputError, match="already"):
        session.comparing.rename("two", "one")
    session.comparing.rename("two", "three")
    assert [kept.name for kept in session.comparing.plans] == ["one", "three"]


def test_a_kept_plan_becomes_the_drawing_again(session):
    """One undo step brings back what was drawn in between."""
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
