"""A proxy that connects (CONNECT) and passes bytes on; it notes where to."""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import suppress
from typing import Self


class Proxy:
    """Listens on a port of 127.0.0.1 until it is closed; `targets` are the hosts it was asked to connect to."""

    def __init__(self, *, refuses: bool = False) -> None:
        """Begin to listen; `refuses` answers 403 to everything."""
        self.targets: list[str] = []
        self.authorizations: list[str] = []
        self.refuses = refuses
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                proxy._serve(self)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def _serve(self, handler: socketserver.StreamRequestHandler) -> None:
        target = handler.rfile.readline().split()[1].decode()
        while line := handler.rfile.readline().strip():
            name, _, value = line.decode().partition(": ")
            if name.lower() == "proxy-authorization":
                self.authorizations.append(value)
        self.targets.append(target)
        if self.refuses:
            handler.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        host, _, port = target.rpartition(":")
        with socket.create_connection((host, int(port))) as other:
            handler.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pass_on, args=(other, handler.connection), daemon=True)
            back.start()
            _pass_on(handler.connection, other)
            back.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    with suppress(OSError):
        other.shutdown(socket.SHUT_WR)
