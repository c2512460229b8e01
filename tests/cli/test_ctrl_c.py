"""Ctrl-C on the command line: the first gives the best answer so far, the second ends the command."""

from __future__ import annotations

import signal
import threading

import pytest

from dra_lab.cli.main import main
from dra_lab.planner.waiting import STOPPING, WaitingBar, stoppable

CLAIM = "sample:dgx-h100/gpu-nic-cpu"


def test_the_first_is_an_event_and_the_second_an_interrupt(capsys):
    """Once it says what follows, then it is KeyboardInterrupt; afterwards the signal is what it was."""
    before = signal.getsignal(signal.SIGINT)
    with stoppable() as cancel:
        signal.raise_signal(signal.SIGINT)
        assert cancel.is_set()
        assert STOPPING in capsys.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_another_thread_is_let_alone():
    """Signals belong to the main thread; in another thread, the event is never set."""
    given = []

    def run():
        with stoppable() as cancel:
            given.append(cancel.is_set())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert given == [False]


@pytest.mark.parametrize("stage", ["nodes", "first fit"])
def test_a_fleet_is_answered_all_the_same(capsys, monkeypatch, stage):
    """Whenever it comes, what is there by then is told, and nothing is asked after it."""
    messages = []

    def show(bar, progress):
        if progress.stage == stage and not messages:
            messages.append(progress)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(WaitingBar, "show", show)
    status = main(["plan", "sample:dgx-h100", "--claim", CLAIM, "--replicas", "4"])
    printed = capsys.readouterr()
    assert messages
    assert STOPPING in printed.err
    assert "How many more fit" not in printed.out
    assert (status, "of 4 replicas placed" in printed.out) in ((0, True), (2, True), (2, False))
    assert status == 0 or stage == "nodes"
