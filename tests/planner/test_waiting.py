"""The progress bar appears after a delay, shows the latest step, and disappears."""

from __future__ import annotations

import sys

from dra_lab.planner import waiting
from dra_lab.planner.budget import Progress
from dra_lab.planner.waiting import WaitingBar, in_notebook


def test_nothing_is_shown_for_an_answer_that_comes_at_once(capsys):
    """Nothing is written in the first half second, and never if the output is not a terminal."""
    with WaitingBar(shown=True) as bar:
        bar.show(Progress("numa", "goal 4"))
    with WaitingBar() as bar:
        bar._began -= 10
        bar.show(Progress("numa", "goal 4"))
    assert capsys.readouterr().err == ""
    assert not in_notebook()


def test_who_waits_sees_the_latest_step_and_then_nothing(capsys):
    """Standard error shows the step, and the line is cleared at the end."""
    with WaitingBar(shown=True) as bar:
        bar._began -= waiting.DELAY
        bar.show(None)
        bar.show(Progress("numa", "NUMA nodes: best 2, bound 1"))
    text = capsys.readouterr().err
    assert "Planning ..." in text
    assert "NUMA nodes: best 2, bound 1" in text
    assert text.rsplit("\r", 1)[-1].strip() == ""


def test_a_kernel_is_a_notebook(monkeypatch):
    """In the kernel of a notebook the bar is shown unless it is switched off."""

    class Shell:
        kernel = object()

    class Module:
        get_ipython = staticmethod(Shell)

    monkeypatch.setitem(sys.modules, "IPython", Module)
    assert in_notebook()
    assert WaitingBar()._wanted
    assert not WaitingBar(shown=False)._wanted
