"""The Export sheet in mode Fleet, on the Python side: all workloads, and no claim that they would share."""

from __future__ import annotations

import pytest
from widget_messages import say

from dra_lab.session import Session, read_sketch
from dra_lab.widgets.plan_view import PlanView

SAMPLE = "sample:eks-p4d"


@pytest.fixture
def view():
    """Six pods of a claim of which four have a place, and one more workload; the sheet is open."""
    session = Session(SAMPLE, sketch=read_sketch(f"{SAMPLE}/gpu-nic-pairs"))
    session.fleet.set_replicas("gpu-nic-pairs", 6)
    session.fleet.add(read_sketch(f"{SAMPLE}/any-nic-pairs"), 0)
    session.show_mode("fleet")
    session.fleet.plan()
    made = PlanView(session)
    say(made, type="show-export")
    assert session.exporting.wait(120)
    yield made
    made.close()
    session.close()


def test_the_sheet_is_of_all_workloads(view):
    """It names them, and has a template and an example of each."""
    row = view.export
    assert (row["name"], row["fleet"]) == ("gpu-nic-pairs, any-nic-pairs", 2)
    assert {"resourceclaimtemplate-any-nic-pairs.yaml", "deployment-gpu-nic-pairs.yaml"} <= {
        file["name"] for file in row["files"]
    }


def test_pods_without_a_place_stand_beside_the_simulation(view):
    """The simulation counts the placed ones, so the sentence about the others is beside it."""
    assert "gpu-nic-pairs: 2 of 6 replicas have no place in the plan." in view.export["plain"]["detail"]


def test_a_claim_that_all_pods_share_is_refused(view):
    """The sheet says why, and has no files."""
    say(view, type="choose-export", kind="claim")
    assert view._session.exporting.wait(60)
    assert "replicas would share the devices of one ResourceClaim" in view.export["problem"]
