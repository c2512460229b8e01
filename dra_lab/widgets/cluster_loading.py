"""Clusters read in a thread of their own, so that a long reading never blocks the kernel; one at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from dra_lab.errors import Cancelled, DraLabError
from dra_lab.model.cluster import Cluster
from dra_lab.session.preparing import check, prepare
from dra_lab.sources import load_cluster
from dra_lab.sources.live import PREFIX, Progress, load_context

Show = Callable[[], None]
"""Shows what was found in place of a cluster."""
Read = Callable[[threading.Event, Callable[[str], None]], Cluster | Show]
"""Reads a cluster, or what is shown in its place; may look at the event to stop early, and say how far it is."""


class Loading:
    """Reads one cluster after the other for a view.

    `post` runs a call where the view may be changed. `show` gets the words to show while something is read, "" when
    nothing is; `done` gets the cluster; `failed` the error. A reading that was cancelled, or that another one has
    overtaken, ends in none of them.
    """

    def __init__(
        self,
        post: Callable[[Callable[[], None]], None],
        show: Callable[[str], None],
        done: Callable[[Cluster], None],
        failed: Callable[[str], None],
    ) -> None:
        """Begin with nothing to read."""
        self._post, self._show, self._done, self._failed = post, show, done, failed
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []

    def begin(self, words: str, read: Read) -> None:
        """Read in a thread; returns at once. What is being read already is given up."""
        self._stop.set()
        stop = self._stop = threading.Event()
        self._show(words)
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        thread = threading.Thread(target=self._run, args=(words, read, stop), name="dra-lab loading", daemon=True)
        self._threads.append(thread)
        thread.start()

    def cancel(self) -> None:
        """Give up what is being read; the present cluster stays."""
        self._stop.set()
        self._show("")

    def wait(self, timeout: float = 30.0) -> bool:
        """Wait until nothing is read; returns False when the time (in seconds) is over before."""
        end = time.monotonic() + timeout
        # what was found may begin another reading
        while running := [thread for thread in self._threads if thread.is_alive()]:
            if time.monotonic() > end:
                return False
            running[0].join(max(0.0, end - time.monotonic()))
        return True

    def _run(self, words: str, read: Read, stop: threading.Event) -> None:
        def ending(call: Show) -> None:
            # Asked again where it runs: it may have been cancelled on the way there.
            def at_last() -> None:
                if not stop.is_set():
                    call()
                if not stop.is_set():  # the call may begin another reading
                    self._show("")

            self._post(at_last)

        def progress(far: str) -> None:
            self._post(lambda: None if stop.is_set() else self._show(f"{words} {far}"))

        try:
            found = read(stop, progress)
            if isinstance(found, Cluster) and not stop.is_set():
                # Here, and not where the kernel waits; the cluster keeps it.
                prepare(found, found.target_release())
                check(found)
        except Cancelled:
            return
        except DraLabError as error:
            problem = str(error)
            ending(lambda: self._failed(problem))
        except Exception as error:  # noqa: BLE001  a defect of ours is shown in the view and must not end silently
            problem = f"this is a defect of dra_lab: {type(error).__name__}: {error}"
            ending(lambda: self._failed(problem))
        else:
            ending((lambda: self._done(found)) if isinstance(found, Cluster) else found)


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
