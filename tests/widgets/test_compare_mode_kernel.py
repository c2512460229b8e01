"""Compare mode on the Python side: kept plans as columns, and every message of a person."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from widget_messages import answered, say

from dra_lab import PlanView


@pytest.fixture
def view(session):
    """The example kept with and without its link, in Compare mode."""
    made = PlanView(session)
    say(made, type="keep-for-compare", name="linked")
    session.edit(replace(session.sketch, links=()))
    answered(session)
    say(made, type="keep-for-compare", name="plain")
    assert session.comparing.wait(60)
    session.show_mode("compare")
    yield made
    made.close()


def test_the_columns_say_what_differs_and_which_is_best(view):
    """kube-scheduler keeps the bandwidth of both GPUs with the link only; the YAML of the second has a diff."""
    row = view.compare
    line = next(line for line in row["lines"] if line["key"] == "scheduler-bandwidth")
    assert (line["differs"], line["cells"][0]["best"]) == (True, True)
    assert [bool(plan.get("diff")) for plan in row["plans"]] == [False, True]


def test_a_kept_fleet_has_bars_and_manifests(view, session):
    session.fleet.plan()
    session.comparing.keep_fleet("fleet")
    plan = view.compare["plans"][-1]
    assert {kind: sum(values) for kind, *values in plan["bars"]}["GPUs"] == 32
    assert "kind: ResourceClaimTemplate" in session.comparing.kept("fleet").yaml


def test_the_small_picture_has_the_devices_of_the_plan(view):
    chips = [chip for place in view.compare["plans"][0]["places"] for chip in place["chips"]]
    assert sorted(chip["letter"] for chip in chips if chip.get("letter")) == ["A", "A", "B", "B"]


def test_the_present_drawing_is_marked_and_another_one_takes_its_place(view, session):
    assert [plan.get("drawn", False) for plan in view.compare["plans"]] == [False, True]
    say(view, type="restore-kept", name="linked")
    assert [plan.get("drawn", False) for plan in view.compare["plans"]] == [True, False]
    session.undo()
    assert [plan.get("drawn", False) for plan in view.compare["plans"]] == [False, True]


def test_the_table_is_ready_to_be_copied(view):
    assert view.compare["markdown"].startswith("| row | differs | linked | plain |")
    assert view.compare["csv"].startswith("row,linked,plain\n")


def test_nothing_travels_while_another_mode_is_shown(view, session):
    session.show_mode("plan")
    assert (view.compare, view.kept) == ({}, 2)


def test_the_present_plan_stands_beside_the_one_without_what_if_changes(view, session):
    session.fleet.what_if(f"drain {session.plan().node}")
    answered(session)
    assert session.comparing.wait(60)
    row = view.compare
    assert [plan["name"] for plan in row["plans"]] == ["baseline", "now", "linked", "plain"]
    assert [plan.get("kind", "kept") for plan in row["plans"]] == ["baseline", "now", "kept", "kept"]
    node = session.fleet.layers[0].subject
    assert row["sentence"].startswith(f"Drain {node}: costs no pod, 1 of 1 placed. The claim fits on ")


def test_a_fleet_is_kept_as_a_fleet(view, session):
    """Where the workloads are the question, their plan is now the column, and the one that is kept."""
    session.fleet.set_replicas(session.fleet.workloads[0].pod, 3)
    session.fleet.plan()
    say(view, type="keep-for-compare", name="three")
    assert session.comparing.kept("three").figures["wanted"].value == 3
