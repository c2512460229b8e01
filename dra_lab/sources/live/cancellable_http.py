"""Sockets that can be shut from another thread: a thread that waits for an answer on one of them returns at once."""

from __future__ import annotations

import socket
import threading
import weakref
from contextlib import suppress
from typing import Any

from dra_lab._workarounds import close_cut


class CancellableSockets:
    """Knows the open connections of a urllib3 pool manager from the moment on at which they are begun."""

    def __init__(self, manager: Any) -> None:
        """Let a manager that has not connected to anything yet tell its connections."""
        self._connections: weakref.WeakSet[Any] = weakref.WeakSet()
        self._lock = threading.Lock()
        self._shut = False
        # the place that urllib3 documents for connections of one's own
        manager.pool_classes_by_scheme = {
            scheme: self._known(pool) for scheme, pool in manager.pool_classes_by_scheme.items()
        }

    def hang_up(self) -> None:
        """Shut every connection, those that are begun after it too."""
        with self._lock:
            self._shut = True
            connections = tuple(self._connections)
        for connection in connections:
            _shut(connection)

    def _known(self, pool: type[Any]) -> type[Any]:
        sockets = self

        class Connection(pool.ConnectionCls):  # type: ignore[misc, name-defined]
            def connect(self) -> None:
                with sockets._lock:
                    if sockets._shut:
                        raise ConnectionAbortedError("the reading has ended")
                    sockets._connections.add(self)
                try:
                    super().connect()
                except OSError as error:
                    close_cut(error)
                    raise

        return type(pool.__name__, (pool,), {"ConnectionCls": Connection})


def _shut(connection: Any) -> None:
    # The plain socket's method: that of a TLS one would take the session from under the thread that reads.
    found = getattr(connection, "sock", None)
    with suppress(OSError, TypeError):
        if isinstance(found, socket.socket):
            socket.socket.shutdown(found, socket.SHUT_RDWR)
        elif found is not None:
            found.socket.shutdown(socket.SHUT_RDWR)  # TLS inside the TLS of a proxy
