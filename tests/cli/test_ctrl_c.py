"""Ctrl-C on the command line: the first gives the best answer so far, the second ends the command."""

from __future__ import annotations

import io
import signal
import sys

from dra_lab.cli import main

FLEET = ["plan", "sample:dgx-h100", "--claim", "sample:dgx-h100/gpu-nic-cpu", "--replicas", "4"]


class Interrupted(io.StringIO):
    """Standard error that a person interrupts as soon as a plan asks whether it is a terminal."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def isatty(self) -> bool:
        """Interrupt once Ctrl-C no longer ends the program."""
        while self.times and signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            self.times -= 1
            signal.raise_signal(signal.SIGINT)
        return False


def test_the_first_ends_with_an_answer_without_further_questions(capsys, monkeypatch):
    """The command reports what is known, and the signal is afterwards what it was."""
    before, stream = signal.getsignal(signal.SIGINT), Interrupted(1)
    monkeypatch.setattr(sys, "stderr", stream)
    status = main(FLEET)
    assert "stopping: the best answer so far follows (Ctrl-C again ends without one)" in stream.getvalue()
    assert (status, "How many more fit" in capsys.readouterr().out) == (2, False)
    assert signal.getsignal(signal.SIGINT) is before


def test_the_second_ends_the_command(capsys, monkeypatch):
    """Nothing is answered, and the exit status says so."""
    monkeypatch.setattr(sys, "stderr", Interrupted(2))
    assert (main(FLEET), capsys.readouterr().out) == (2, "")
