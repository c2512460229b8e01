"""The way to a client of a context that can be cancelled: plug-ins of a kubeconfig take as long as they like."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, wait

from dra_lab.errors import Cancelled, SourceError
from dra_lab.sources.live.client import ReadingClient
from dra_lab.sources.live.connection import connect
from dra_lab.sources.live.contexts import Context
from dra_lab.sources.live.read_limits import ReadLimits

_TICK = 0.1


def connected(context: Context, limits: ReadLimits, cancel: threading.Event) -> ReadingClient:
    """Return the client of a context; comes back at once when it is cancelled, and after the overall time.

    A plug-in of the kubeconfig may wait for a person who logs in, or for ever; its thread ends with it. Raises
    SourceError, Cancelled.
    """
    made: Future[ReadingClient] = Future()

    def run() -> None:
        try:
            # not the caller's event: an error sets it too, so that the other threads end
            made.set_result(ReadingClient(lambda: connect(context), limits, threading.Event()))
        except BaseException as error:  # noqa: BLE001  raised by who waits
            made.set_exception(error)

    threading.Thread(target=run, name="dra-lab-connect", daemon=True).start()
    end = time.monotonic() + limits.overall
    while not wait((made,), _TICK).done:
        if cancel.is_set():
            raise Cancelled(f"connecting to {context.source} was cancelled")
        if time.monotonic() > end:
            raise SourceError(
                f"{context.source}: its credential plug-in did not finish within {limits.overall:g} s; see what it "
                f"waits for: kubectl get nodes{context.option}"
            )
    return made.result()
