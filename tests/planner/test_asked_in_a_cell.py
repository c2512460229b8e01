"""Questions asked in a cell of a real kernel have a bar, and an interrupt gives the best answer so far."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from code_of import code_of
from jupyter_client.manager import start_new_kernel

from dra_lab.planner.waiting import INTERRUPTED


def begin(interrupted):
    """Show bars at once, and interrupt the cell at the first step if `interrupted` is true."""
    import os
    import signal

    import dra_lab
    from dra_lab.planner import waiting

    waiting.DELAY = 0
    shown, first_show = [], waiting.WaitingBar.show

    def show(bar, progress):
        first_show(bar, progress)
        if interrupted and not shown:
            os.kill(os.getpid(), signal.SIGINT)
        shown.append(progress.text)

    waiting.WaitingBar.show = show
    cluster, claim = dra_lab.load_cluster("sample:dgx-h100"), dra_lab.read_sketch("sample:dgx-h100/gpu-nic-cpu")
    options = {"release": dra_lab.KubernetesRelease("1.36")}
    return cluster, claim, options


QUESTIONS = {
    "one claim": "dra_lab.make_plan(cluster, claim, **options)",
    "a fleet": "dra_lab.plan_fleet(cluster, [dra_lab.Workload('train', (claim,), 4)], **options)",
    "how many more": "dra_lab.how_many_more(cluster, dra_lab.Workload('train', (claim,)), **options)",
    "the largest job": "dra_lab.largest_job(cluster, claim, **options)",
    "what is stranded": "dra_lab.stranded(cluster, [claim], **options)",
}


class _Kernel:
    """A kernel with its client; `run` gives what a cell printed, what failed in it, and the bars that it drew."""

    def __init__(self) -> None:
        self.manager, self.client = start_new_kernel(kernel_name="python3")

    def run(self, code: str) -> tuple[str, str, str]:
        asked, printed, failed, drawn = self.client.execute(code), "", "", []
        while True:
            message: dict[str, Any] = self.client.get_iopub_msg(timeout=120)
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != asked:
                continue
            if kind == "stream":
                printed += content["text"]
            if kind == "error":
                failed += content["ename"]
            if kind == "comm_open":
                drawn.append(json.dumps(content["data"]))
            if kind == "status" and content["execution_state"] == "idle":
                return printed, failed, "\n".join(drawn)


@pytest.fixture(scope="module")
def kernel() -> Iterator[_Kernel]:
    """A kernel that has read a sample."""
    running = _Kernel()
    printed, failed, _ = running.run(code_of(begin))
    assert (printed, failed) == ("", "")
    yield running
    running.client.stop_channels()
    running.manager.shutdown_kernel(now=True)


@pytest.mark.some(2)
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_cell_shows_a_bar_while_it_waits(kernel, question):
    """Every question draws the bar of a notebook, unless a listener is given."""
    asked = QUESTIONS[question]
    _, failed, drawn = kernel.run(f"interrupted, shown = False, []\nanswer = {asked}")
    assert failed == ""
    assert "FloatProgressModel" in drawn
    listened = asked.replace("**options", "**options, progress=print")
    _, failed, drawn = kernel.run(f"answer = {listened}")
    assert (failed, drawn) == ("", "")


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_interrupt_gives_the_best_answer_so_far(kernel, question):
    """The cell continues with an answer and prints what it is."""
    printed, failed, _ = kernel.run(
        f"interrupted, shown = True, []\nanswer = {QUESTIONS[question]}\nprint(type(answer))"
    )
    assert failed == ""
    assert INTERRUPTED in printed
    assert "dra_lab.model." in printed
