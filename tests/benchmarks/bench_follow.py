"""Following a running cluster of 5,000 nodes as a planner does; targets: nothing stands still, memory is flat.

DRA_LAB_FOLLOW_SECONDS (60) and DRA_LAB_FOLLOW_EVENTS (20, changes a second) set the length and the rate. Among
DRA_LAB_FOLLOW_HARDWARE changes (10), one is a slice that is published again and one a node's label; the rest are
claims.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
import time
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from statistics import linear_regression, median, quantiles, stdev
from typing import Any

import psutil

from tests.benchmarks.bench_consistency import FIRST, NAMES, WHOLE, Comparisons
from tests.benchmarks.live_server import serving

NODES = 5000
SECONDS = float(os.environ.get("DRA_LAB_FOLLOW_SECONDS", "60"))
EVENTS = float(os.environ.get("DRA_LAB_FOLLOW_EVENTS", "20"))
HARDWARE = int(os.environ.get("DRA_LAB_FOLLOW_HARDWARE", "10"))
KINDS = {"ResourceClaim": "a claim", "ResourceSlice": "a slice published anew", "Node": "another label of a node"}
COMPARED = {
    NAMES: "in 1 % of the time",
    FIRST: "every minute",
    WHOLE: "every half hour and after an outage",
}
_BEAT = 0.01
_BEGUN = 20.0
"""Seconds after which the first answers to changes were shown, and memory is looked at for the first time."""


class Watcher:
    """What is measured while a planner follows: waits of the loop, memory, answers with the version they are of."""

    def __init__(self, lab: Any) -> None:
        """Begin with nothing; answers are noted from now on, after the views have shown them."""
        self.lab, self.process = lab, psutil.Process()
        # with their room taken beforehand, so that what measures memory takes none meanwhile
        self.waits = array("d", bytes(8 * int(SECONDS / _BEAT + 1)))
        self.computed = array("d", self.waits)
        self.beats = 0
        self.memory: list[tuple[float, float]] = []
        self.blocks: list[tuple[float, int]] = []
        self.answers: list[tuple[dict[str, int], float]] = []
        lab.session.on("plan", self._answered)

    def _answered(self) -> None:
        if not self.lab.session.stale:
            versions = self.lab.session.cluster.resource_versions
            self.answers.append(({kind: int(versions[kind]) for kind in KINDS}, time.time()))

    async def run(self, seconds: float) -> None:
        """Measure for so long."""
        begin = seen = time.monotonic()
        while (now := time.monotonic()) - begin < seconds:
            computed = time.process_time()
            await asyncio.sleep(_BEAT)
            self.waits[self.beats] = time.monotonic() - now - _BEAT
            self.computed[self.beats] = time.process_time() - computed
            self.beats += 1
            if now - seen > 1:
                seen = now
                self.memory.append((now - begin, self.process.memory_info().rss / 1e6))
                self.blocks.append((now - begin, sys.getallocatedblocks()))


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


async def _follow(folder: Path) -> None:
    from dra_lab import Lab, read_sketch, samples

    example = next(sample.examples[0] for sample in samples() if sample.name == "dgx-h100")
    lab = Lab("context:test", file=None, sketch=read_sketch(f"sample:dgx-h100/{example}"))
    await asyncio.to_thread(lab.session.wait)
    watcher = Watcher(lab)
    lab.follow()
    computed = time.process_time()
    await watcher.run(SECONDS)
    computed = time.process_time() - computed
    compare = Comparisons(lab.session._live._follower)
    for what in COMPARED:
        await asyncio.to_thread(compare, what)
    compare.close()
    lab.unfollow()
    left = [t.name for t in threading.enumerate() if t.name.startswith(("dra-lab-follow", "dra-lab-watch"))]
    lines = [line.split() for line in (folder / "changes").read_text().splitlines()]
    found = {}
    for kind in KINDS:
        changes = [(int(line[0]), float(line[1])) for line in lines if len(line) == 3 and line[2] == kind]
        found[kind] = delays([(versions[kind], at) for versions, at in watcher.answers], changes)
    _tell(watcher, computed, found, left)
    for what, when in COMPARED.items():
        print(f"  comparing {what} with the server, {when}: {compare.computed(what):.2f} s of processor time")
    lab.close()


def _tell(watcher: Watcher, computed: float, found: dict[str, list[float]], left: list[str]) -> None:
    answers, memory = len(watcher.answers), watcher.memory
    half = memory[len(memory) // 2 :]
    growth, error = slope(half)
    print(f"{NODES:,} nodes, {EVENTS:g} changes a second, {SECONDS:g} s: {answers} answers")
    print(f"  an answer takes {computed / max(1, answers):.2f} s of processor time, views and watches included")
    for kind, waited in found.items():
        if len(waited) > 1:
            print(f"  from {KINDS[kind]} until the answer is shown: {_three(waited)}   (target 2 s)")
    print(f"  the loop waits: {_three(watcher.waits[: watcher.beats])}   (target 0.1 s)")
    print(f"  in processor time of this process: {_three(watcher.computed[: watcher.beats])}")
    begun = next((size for at, size in memory if at >= _BEGUN), memory[0][1])
    sizes = f"{begun:.0f} MB after {_BEGUN:g} s, {half[0][1]:.0f} MB half-way, {memory[-1][1]:.0f} MB at the end"
    print(f"  memory: {sizes}: {memory[-1][1] / begun - 1:+.1%}   (target: no more than noise, 2 %)")
    tenth = max(1, len(watcher.blocks) // 10)
    blocks = [median(n for _, n in watcher.blocks[at : at + tenth]) for at in range(0, len(watcher.blocks), tenth)]
    print(f"  blocks in use, in tenths of the time: {', '.join(f'{n / 1e6:.2f}' for n in blocks)} million")
    told = ", ".join(f"{size:.0f}" for _, size in memory[:: max(1, len(memory) // 10)])
    print(f"  in tenths of the time: {told} MB")
    print(f"  growth in the second half: {growth:.2f} +- {error:.2f} MB a minute; threads left: {len(left)}")


def main() -> None:
    """Print the figures beside their targets."""
    with tempfile.TemporaryDirectory() as name, serving(Path(name), NODES, EVENTS, HARDWARE):
        os.environ["KUBECONFIG"] = str(Path(name) / "test.kubeconfig")
        asyncio.run(_follow(Path(name)))


if __name__ == "__main__":
    main()
