"""Comparing a followed cluster of 5,000 nodes with lists: what it costs, and how long the event loop waits meanwhile.

Every 60 seconds the first object of each kind is listed, and now and then the names of all objects: on a large cluster
so seldom that this takes 1 % of the time. The objects themselves are listed every half hour, and after an outage. Here
all three are asked for again and again, with nothing else to do.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median, quantiles

from dra_lab.sources.live import load_context
from dra_lab.sources.live.client import ReadingClient
from dra_lab.sources.live.connection import connect
from dra_lab.sources.live.consistency import Consistency
from dra_lab.sources.live.contexts import find_context
from dra_lab.sources.live.following import ClusterFollower, FollowState
from dra_lab.sources.live.read_limits import ReadLimits
from tests.benchmarks.live_server import serving

NODES = 5000
ROUNDS = 5
WHOLE, NAMES, FIRST = "whole objects", "names of all", "first objects"
_BEAT = 0.01


class Waits:
    """How much later than asked for the event loop goes on, and the processor time that passed until then."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.waited: list[float] = []
        self.computed: list[float] = []

    async def until(self, ended: threading.Event, least: float = 0.0) -> None:
        """Measure until something has ended, and for at least this many seconds."""
        begin = time.monotonic()
        while not ended.is_set() or time.monotonic() - begin < least:
            now, computed = time.monotonic(), time.process_time()
            await asyncio.sleep(_BEAT)
            self.waited.append(time.monotonic() - now - _BEAT)
            self.computed.append(time.process_time() - computed)


def _three(values: Sequence[float]) -> str:
    return f"median {median(values):.4f} s, 95 % {quantiles(values, n=20)[18]:.4f} s, most {max(values):.4f} s"


async def _measured(work: Callable[[], None]) -> Waits:
    waits, ended = Waits(), threading.Event()

    def run() -> None:
        work()
        ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    await waits.until(ended)
    thread.join()
    return waits


class Comparisons:
    """Compares what a follower holds with its server, with a client of its own, and measures it."""

    def __init__(self, follower: ClusterFollower) -> None:
        """Connect."""
        client = ReadingClient(lambda: connect(find_context("test")), ReadLimits(), threading.Event())
        self.unlike: list[str] = []
        self.took: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
        self._client, self._watches = client, follower._watches
        self._compared = Consistency(
            client, self._watches, follower._objects, lambda watch: self.unlike.append(watch.label)
        )

    def __call__(self, what: str, rounds: int = 1) -> None:
        """Compare all kinds so often."""
        for _ in range(rounds):
            if what == NAMES:
                self._compared._due.clear()
            for watch in self._watches:
                if what == WHOLE:
                    self._compared.soon(whole=watch.label)
                begin, computed = time.monotonic(), time.thread_time()
                if not self._compared._is_same(watch):
                    self.unlike.append(watch.label)
                self.took[what][watch.label].append((time.monotonic() - begin, time.thread_time() - computed))

    def computed(self, what: str) -> float:
        """Return the seconds of processor time of a round over all kinds."""
        return sum(median(part for _, part in seconds) for seconds in self.took[what].values())

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


async def _compare() -> None:
    cluster = load_context("test", progress=lambda progress: None)
    live = threading.Event()

    def on_state() -> None:
        if follower.following.state is FollowState.LIVE:
            live.set()

    follower = ClusterFollower(cluster, lambda cluster: None, on_state, limits=ReadLimits(consistency=3600.0))
    follower.start()
    await asyncio.to_thread(live.wait, 120)
    compare = Comparisons(follower)
    idle = Waits()
    await idle.until(live, least=5.0)
    print(f"{NODES:,} nodes; the loop alone: {_three(idle.waited)}")
    for what in (WHOLE, NAMES, FIRST):
        waits = await _measured(partial(compare, what, ROUNDS))
        print(f"  the loop beside {what}: {_three(waits.waited)}")
        print(f"    in processor time of this process: {_three(waits.computed)}   (target 0.1 s)")
    for what, kinds in compare.took.items():
        for label, seconds in kinds.items():
            waited, computed = (median(part) for part in zip(*seconds, strict=True))
            print(f"  {what}, {label}: {waited:.3f} s, of it {computed:.3f} s of processor time")
        print(f"  {what}, all kinds: {compare.computed(what):.3f} s of processor time")
    print(f"  kinds that differed: {len(compare.unlike)}")
    follower.stop()
    compare.close()


def main() -> None:
    """Print the figures beside their targets."""
    with tempfile.TemporaryDirectory() as name, serving(Path(name), NODES):
        os.environ["KUBECONFIG"] = str(Path(name) / "test.kubeconfig")
        asyncio.run(_compare())


if __name__ == "__main__":
    main()
