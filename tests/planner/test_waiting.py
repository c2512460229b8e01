"""The bar comes to whoever waits, tells the latest step, and goes."""

from __future__ import annotations

import sys

from dra_lab.planner import waiting
from dra_lab.planner.budget import Progress
from dra_lab.planner.waiting import WaitingBar, in_notebook


def test_nothing_is_shown_for_an_answer_that_comes_at_once(capsys):
    """Before half a second is over nothing is written, and where nobody looks never."""
    with WaitingBar(shown=True) as bar:
        bar.tell(Progress("numa", "goal 4"))
    with WaitingBar() as bar:
        bar._began -= 10
        bar.tell(Progress("numa", "goal 4"))
    assert capsys.readouterr().err == ""
    assert not in_notebook()


def test_who_waits_sees_the_latest_step_and_then_nothing(capsys):
    """The step is told on standard error, and the line is wiped at the end."""
    with WaitingBar(shown=True) as bar:
        bar._began -= waiting.DELAY
        bar.tell(None)
        bar.tell(Progress("numa", "NUMA nodes: best 2, bound 1"))
    told = capsys.readouterr().err
    assert "Planning ..." in told
    assert "NUMA nodes: best 2, bound 1" in told
    assert told.rsplit("\r", 1)[-1].strip() == ""


def test_a_kernel_is_a_notebook(monkeypatch):
    """In the kernel of a notebook the bar is wanted unless somebody says no."""

    class Shell:
        kernel = object()

    class Module:
        get_ipython = staticmethod(Shell)

    monkeypatch.setitem(sys.modules, "IPython", Module)
    assert in_notebook()
    assert WaitingBar()._wanted
    assert not WaitingBar(shown=False)._wanted
