"""How a cluster is read for a session: what `load_cluster` takes, and how far the reading is."""

from __future__ import annotations

import threading
from collections.abc import Callable

from dra_lab.model.cluster import Cluster
from dra_lab.sources import load_cluster
from dra_lab.sources.live import PREFIX, Progress, load_context

Show = Callable[[], None]
"""Shows what was found in place of a cluster."""
Read = Callable[[threading.Event, Callable[[str], None]], Cluster | Show]
"""Reads a cluster, or what is shown in its place; may look at the event to stop early, and say how far it is."""


def reading_of(source: str) -> Read:
    """Return how to read what `load_cluster` takes; a running cluster tells how far it is and can be stopped."""
    if not source.startswith(PREFIX):
        return lambda _stop, _progress: load_cluster(source)

    def read(stop: threading.Event, progress: Callable[[str], None]) -> Cluster:
        return load_context(source, progress=lambda counts: progress(progress_words(counts)), cancel=stop)

    return read


def progress_words(counts: Progress) -> str:
    """Return `5,000 Node, 1,500 of about 15,000 ResourceSlice` for what was read so far."""
    return ", ".join(
        f"{read.done:,}{f' of about {read.total:,}' if read.total > read.done else ''} {read.kind}"
        for read in counts
        if read.done
    )
