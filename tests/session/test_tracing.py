"""The worker of the Trace mode: progress, stopping, and searches that were given up for another one."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from dra_lab.errors import Cancelled, InputError
from dra_lab.session import tracing
from dra_lab.session.tracing import Tracing


@pytest.fixture
def changes():
    """The state at each change."""
    return []


@pytest.fixture
def searched(changes):
    """A worker that notes how far it was at each change."""
    worker = Tracing(lambda: changes.append((worker.running, worker.tried, worker.trace, worker.error)))
    yield worker
    worker.close()


def plan(trace):
    """Return a plan whose search is a function of what `plan.trace` gets."""
    return SimpleNamespace(trace=lambda _node, **given: trace(**given))


def until_stopped(*, cancel, **_):
    """Search until it is cancelled."""
    cancel.wait(20)
    raise Cancelled("stopped")


def refused(**_):
    """Refuse to search."""
    raise InputError("no request")


def test_a_search_tells_how_far_it_is_and_then_its_end(searched, changes, monkeypatch):
    """The number of candidates is reported while it runs, and the trace when it has ended."""
    monkeypatch.setattr(tracing, "REPORT_EVERY", -1.0)
    searched.search(plan(lambda *, progress, **_: progress(7) or "found"), "n1", links=True)
    searched.wait(20)
    assert changes == [(True, 7, None, ""), (False, 7, "found", "")]


def test_a_search_that_is_stopped_says_so(searched):
    """Without a recorded step the message says that the search was stopped."""
    begun = threading.Event()
    searched.search(plan(lambda **given: begun.set() or until_stopped(**given)), "n1", links=True)
    begun.wait(20)
    searched.cancel()
    searched.wait(20)
    assert "stopped" in searched.error


def test_a_refused_search_has_its_reason(searched):
    """The error is the one that `plan.trace` raises."""
    searched.search(plan(refused), "n1", links=True)
    searched.wait(20)
    assert searched.error == "no request"


def test_a_search_without_an_answer_says_what_is_awaited(searched, changes):
    """Before the first answer there is nothing to search for."""
    searched.search(None, "n1", links=True)
    assert "after the claim is planned" in changes[0][3]


def test_the_latest_search_wins(searched):
    """A search that still runs is given up for the next one, and its end changes nothing."""
    searched.search(plan(until_stopped), "n1", links=True)
    searched.search(plan(lambda **_: "second"), "n2", links=True)
    searched.wait(20)
    assert (searched.trace, searched.error) == ("second", "")
