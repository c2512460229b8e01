"""The check before an upgrade on the Python side: a release is chosen, computed in a thread, and shown."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from widget_messages import say

from dra_lab import ClusterBar, Session, read_sketch

INPUTS = Path(__file__).parents[1] / "golden" / "inputs"


@pytest.fixture
def shown():
    """A bar over a session whose cluster is read as Kubernetes 1.34."""
    session = Session("sample:mig", sketch=read_sketch(INPUTS / "mig-1g.yaml"), release="1.34")
    view = ClusterBar(session)
    yield view, session
    view.close()
    session.close()


def done(view, seconds=60.0):
    """Wait until the check has an answer."""
    end = time.monotonic() + seconds
    while not view.upgrade.get("sentence") and time.monotonic() < end:
        time.sleep(0.05)
    return view.upgrade


def test_the_menu_has_the_newer_releases(shown):
    """The alpha version is marked; another release of the session changes the menu."""
    view, session = shown
    assert view.upgrades[0] == ["1.35", "1.35"]
    assert view.upgrades[-1] == ["1.38", "1.38 (alpha)"]
    session.set_release("1.38")
    assert view.upgrades == []


def test_a_chosen_release_shows_the_answers_that_change(shown):
    """Partitions are used from 1.36; the drawing is checked as a manifest."""
    view, _ = shown
    say(view, type="check-upgrade", version="1.36.3")
    row = done(view)
    assert row["sentence"] == "3 answers change from Kubernetes 1.34 to 1.36.3. Starts working: 3."
    subjects = [one["subject"] for one in row["changes"][0]["findings"]]
    assert subjects[0] == "pool gpu.nvidia.com/mig-a100"
    assert subjects[-1].startswith("workload Pod/")


def test_the_answer_is_old_once_the_drawing_changes(shown):
    """It stays, and says so; another release drops it."""
    view, session = shown
    say(view, type="check-upgrade", version="1.35")
    assert not done(view).get("old")
    session.clear()
    assert view.upgrade["old"]
    session.set_release("1.36")
    assert view.upgrade == {}


def test_a_release_that_is_not_newer_is_refused_in_words(shown):
    """The browser cannot ask for it by its menu."""
    view, _ = shown
    say(view, type="check-upgrade", version="1.34")
    assert "1.34 is not newer than 1.34" in view.problem
