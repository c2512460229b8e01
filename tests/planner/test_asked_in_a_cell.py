"""Questions asked in a cell of a real kernel have a bar, and an interrupt gives the best answer so far."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

from dra_lab.planner.waiting import INTERRUPTED

BEGIN = """
import os, signal
import dra_lab
# The public names, and the module that draws the bars.
from dra_lab import KubernetesRelease, Workload, how_many_more, load_cluster, make_plan, plan_fleet, read_sketch
from dra_lab.planner import waiting
from dra_lab.planner.fleet import largest_job, stranded

waiting.DELAY = 0
# The bar is shown at once, and its first step interrupts the cell.
told, first_told = [], waiting.WaitingBar.tell

def tell(bar, progress):
    first_told(bar, progress)
    if interrupted and not told:
        os.kill(os.getpid(), signal.SIGINT)
    told.append(progress.text)

waiting.WaitingBar.tell = tell
cluster, claim = load_cluster("sample:dgx-h100"), read_sketch("sample:dgx-h100/gpu-nic-cpu")
ask = dict(release=KubernetesRelease("1.36"))
"""

QUESTIONS = {
    "one claim": "make_plan(cluster, claim, **ask)",
    "a fleet": "plan_fleet(cluster, [Workload('train', (claim,), 4)], **ask)",
    "how many more": "how_many_more(cluster, Workload('train', (claim,)), **ask)",
    "the largest job": "largest_job(cluster, claim, **ask)",
    "what is stranded": "stranded(cluster, [claim], **ask)",
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
    printed, failed, _ = running.run(BEGIN)
    assert (printed, failed) == ("", "")
    yield running
    running.client.stop_channels()
    running.manager.shutdown_kernel(now=True)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_cell_shows_a_bar_while_it_waits(kernel, question):
    """Every question draws the bar of a notebook, unless a listener is given."""
    asked = QUESTIONS[question]
    _, failed, drawn = kernel.run(f"interrupted, told = False, []\nanswer = {asked}")
    assert failed == ""
    assert "FloatProgressModel" in drawn
    listened = asked.replace("**ask", "**ask, progress=print")
    _, failed, drawn = kernel.run(f"answer = {listened}")
    assert (failed, drawn) == ("", "")


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_interrupt_gives_the_best_answer_so_far(kernel, question):
    """The cell continues with an answer and prints what it is."""
    printed, failed, _ = kernel.run(
        f"interrupted, told = True, []\nanswer = {QUESTIONS[question]}\nprint(type(answer))"
    )
    assert failed == ""
    assert INTERRUPTED in printed
    assert "dra_lab.model." in printed
