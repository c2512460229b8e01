"""A question that takes long in a cell of a real kernel has a bar, and an interrupt gives the best answer so far."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

BEGIN = """
import sys
sys.path.insert(0, {tests!r})
from benchmarks.mixed_cluster import mixed_cluster, workloads
import dra_lab
cluster = mixed_cluster(120)
pods = workloads((90, 180, 180), must=False)
"""


class _Kernel:
    """A kernel with its client; `run` returns what a cell printed, the error in it, and the bars that it drew."""

    def __init__(self) -> None:
        self.manager, self.client = start_new_kernel(kernel_name="python3")

    def run(self, code: str, *, interrupted: bool = False) -> tuple[str, str, str]:
        asked, printed, failed, drawn = self.client.execute(code), "", "", []
        while True:
            message: dict[str, Any] = self.client.get_iopub_msg(timeout=300)
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != asked:
                continue
            if kind == "stream":
                printed += content["text"]
            if kind == "error":
                failed += content["ename"]
            if kind == "comm_open":
                if interrupted and not drawn:
                    self.manager.interrupt_kernel()
                drawn.append(json.dumps(content["data"]))
            if kind == "status" and content["execution_state"] == "idle":
                return printed, failed, "\n".join(drawn)


@pytest.fixture(scope="module")
def kernel(request) -> Iterator[_Kernel]:
    """A kernel with a large cluster."""
    running = _Kernel()
    printed, failed, _ = running.run(BEGIN.format(tests=str(request.config.rootpath / "tests")))
    assert (printed, failed) == ("", "")
    yield running
    running.client.stop_channels()
    running.manager.shutdown_kernel(now=True)


@pytest.mark.long
def test_an_interrupt_gives_the_best_answer_so_far(kernel):
    """A bar is drawn while the cell waits; when it is interrupted, the cell continues with an answer and says so."""
    printed, failed, drawn = kernel.run(
        "plan = dra_lab.make_plan(cluster, pods)\nprint(type(plan).__name__, plan.status.value)", interrupted=True
    )
    assert failed == ""
    assert "FloatProgressModel" in drawn
    assert "nterrupt" in printed
    assert "Plan" in printed


@pytest.mark.long
def test_a_listener_replaces_the_bar(kernel):
    """If the person gives `progress`, its steps are printed and no bar is drawn."""
    printed, failed, drawn = kernel.run("plan = dra_lab.make_plan(cluster, pods, progress=print, time_limit=3)")
    assert (failed, drawn) == ("", "")
    assert printed
