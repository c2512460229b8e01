"""Following a running cluster of 5,000 nodes as a planner does; targets: nothing stands still, memory is flat.

Each sort of changes comes alone for DRA_LAB_FOLLOW_SECONDS (30), then all of them mixed. DRA_LAB_FOLLOW_EVENTS (20) is
the number of claims that change a second, and of changes in the mixture, of which each tenth is a slice with another
value and each tenth a node's label.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from statistics import linear_regression, median, quantiles, stdev
from typing import Any, NamedTuple

import psutil

from tests.benchmarks.live_server import make_changes, serving

NODES = 5000
SECONDS = float(os.environ.get("DRA_LAB_FOLLOW_SECONDS", "30"))
EVENTS = float(os.environ.get("DRA_LAB_FOLLOW_EVENTS", "20"))
KINDS = {"claim": "ResourceClaim", "label": "Node", "slice": "ResourceSlice", "same": "ResourceSlice"}
"""The resource of each sort of changes."""


class Phase(NamedTuple):
    """Changes that come for some time: their sorts in a cycle, how many a second, and what an answer may take."""

    name: str
    sorts: tuple[str, ...]
    rate: float
    shown: float
    """Target: seconds from a change until its answer is shown."""


PHASES = (
    Phase("claims", ("claim",), EVENTS, 2),
    Phase("labels of nodes", ("label",), EVENTS / 10, 2),
    Phase("slices in another generation, devices unchanged", ("same",), EVENTS / 10, 2),
    Phase("slices with another value", ("slice",), EVENTS / 10, 5),
    Phase("all of them", ("slice", "label", *["claim"] * 8), EVENTS, 5),
)
_BEAT = 0.01
_BEGUN = 10.0
"""Seconds after which the first answers to changes were shown, and memory is looked at for the first time."""


class Watcher:
    """What is measured while a planner follows: waits of the loop, memory, answers with the version they are of."""

    def __init__(self, lab: Any) -> None:
        """Begin with nothing."""
        self.lab, self.process = lab, psutil.Process()
        # with their room taken beforehand, so that what measures memory takes none meanwhile
        self.waits = array("d", bytes(8 * int(SECONDS / _BEAT + 1)))
        self.computed = array("d", self.waits)
        self.beats = 0
        self.memory: list[tuple[float, float]] = []
        self.blocks: list[tuple[float, int]] = []
        self.answers: list[tuple[dict[str, int], float]] = []
        self.took = 0.0

    def _answered(self) -> None:
        if not self.lab.session.stale:
            versions = self.lab.session.cluster.resource_versions
            self.answers.append(({kind: int(versions[kind]) for kind in KINDS.values()}, time.time()))

    async def run(self) -> None:
        """Measure for SECONDS; answers are noted after the views have shown them."""
        stop = self.lab.session.on("plan", self._answered)
        begin = seen = time.monotonic()
        took = time.process_time()
        while (now := time.monotonic()) - begin < SECONDS:
            computed = time.process_time()
            await asyncio.sleep(_BEAT)
            self.waits[self.beats] = time.monotonic() - now - _BEAT
            self.computed[self.beats] = time.process_time() - computed
            self.beats += 1
            if now - seen > 1:
                seen = now
                self.memory.append((now - begin, self.process.memory_info().rss / 1e6))
                self.blocks.append((now - begin, sys.getallocatedblocks()))
        self.took = time.process_time() - took
        stop()


def delays(answers: list[tuple[int, float]], changes: list[tuple[int, float]]) -> list[float]:
    """Return the seconds from each change until the first answer that knows it was shown."""
    answers = sorted(answers)
    versions = [version for version, _ in answers]
    found = [(at, bisect_left(versions, version)) for version, at in changes]
    return [answers[index][1] - at for at, index in found if 0 < index < len(answers)]


def slope(memory: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the growth in MB a minute and its standard error."""
    times, sizes = [t / 60 for t, _ in memory], [size for _, size in memory]
    line = linear_regression(times, sizes)
    rest = [size - line.slope * t - line.intercept for t, size in zip(times, sizes, strict=True)]
    return line.slope, stdev(rest) / stdev(times) / len(times) ** 0.5


def _three(values: Sequence[float]) -> str:
    parts = quantiles(values, n=100)
    return f"median {median(values):.3f} s, 95 % {parts[94]:.3f} s, most {max(values):.3f} s"


async def _follow(folder: Path, server: subprocess.Popen[str]) -> None:
    from dra_lab import Lab, read_sketch, samples

    example = next(sample.examples[0] for sample in samples() if sample.name == "dgx-h100")
    lab = Lab("context:test", file=None, sketch=read_sketch(f"sample:dgx-h100/{example}"))
    await asyncio.to_thread(lab.session.wait)
    lab.follow()
    # until the views know the cluster, and watches are open
    await asyncio.sleep(5)
    await asyncio.to_thread(lab.session.wait)
    for phase in PHASES:
        make_changes(server, phase.rate, phase.sorts)
        watcher = Watcher(lab)
        await watcher.run()
        make_changes(server, 0, ())
        await asyncio.sleep(2)
        await asyncio.to_thread(lab.session.wait)
        lines = [line.split() for line in (folder / "changes").read_text().splitlines()]
        _print_phase(phase, watcher, lines)
    lab.unfollow()
    lab.close()


def _print_phase(phase: Phase, watcher: Watcher, lines: list[list[str]]) -> None:
    answers, memory = len(watcher.answers), watcher.memory
    half = memory[len(memory) // 2 :]
    growth, error = slope(half)
    print(f"{phase.name}, {NODES:,} nodes, {phase.rate:g} changes a second, {SECONDS:g} s: {answers} answers")
    print(f"  an answer takes {watcher.took / max(1, answers):.2f} s of processor time, views and watches included")
    for sort in dict.fromkeys(phase.sorts):
        changes = [(int(line[0]), float(line[1])) for line in lines if len(line) == 3 and line[2] == sort]
        waited = delays([(versions[KINDS[sort]], at) for versions, at in watcher.answers], changes)
        if len(waited) > 1:
            print(f"  from a {sort} until the answer is shown: {_three(waited)}   (target {phase.shown:g} s)")
    print(f"  the loop waits: {_three(watcher.waits[: watcher.beats])}   (target 0.1 s)")
    print(f"  in processor time of this process: {_three(watcher.computed[: watcher.beats])}")
    begun = next((size for at, size in memory if at >= _BEGUN), memory[0][1])
    sizes = f"{begun:.0f} MB after {_BEGUN:g} s, {half[0][1]:.0f} MB half-way, {memory[-1][1]:.0f} MB at the end"
    print(f"  memory: {sizes}: {memory[-1][1] / begun - 1:+.1%}   (target: no more than noise, 2 %)")
    blocks = [median(n for _, n in watcher.blocks[at : at + 10]) for at in range(0, len(watcher.blocks), 10)]
    print(f"  blocks in use, every ten seconds: {', '.join(f'{n / 1e6:.2f}' for n in blocks)} million")
    print(f"  growth in the second half: {growth:.2f} +- {error:.2f} MB a minute")


def main() -> None:
    """Print the figures beside their targets."""
    with tempfile.TemporaryDirectory() as name, serving(Path(name), NODES, changing=True) as server:
        os.environ["KUBECONFIG"] = str(Path(name) / "test.kubeconfig")
        asyncio.run(_follow(Path(name), server))


if __name__ == "__main__":
    main()
