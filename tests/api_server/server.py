"""The server: TLS, who asks, rights, lists, watches, and the faults that a test asked for."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
import traceback
import zlib
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import trustme

from .answers import (
    VERSIONS,
    Refused,
    bookmark_line,
    discovery,
    event_line,
    expired,
    forbidden,
    list_page,
    metadata_of,
    not_found,
    unauthorized,
)
from .faults import Fault, Faults
from .store import GROUP, KINDS, Expired, Store

GZIP_FROM = 128 * 1024  # as the API server
PIECE = 32 * 1024


class ApiServer:
    """Serves a store on a port of 127.0.0.1 until it is closed; a context manager.

    `versions` are those of resource.k8s.io, `tokens` map a bearer token to a user, `denied` holds (user, verb, plural),
    `granted` (user, namespace) where the user may do what is denied elsewhere.
    `custom` holds the answers (a Refused is raised) of paths of other groups, which custom resources have.
    `requests` lists (method, path with query) of everything that was asked, `whole` the paths without those of which
    only the metadata were asked for.
    """

    def __init__(
        self, store: Store | None = None, versions: tuple[str, ...] = VERSIONS, bookmark: float = 60.0
    ) -> None:
        """Make certificates and begin to listen."""
        self.store = store or Store()
        self.versions = versions
        self.bookmark = bookmark
        self.tokens = {"good-token": "admin"}
        self.denied: set[tuple[str, str, str]] = set()
        self.granted: set[tuple[str, str]] = set()
        self.custom: dict[str, bytes | Refused] = {}
        self.faults = Faults()
        self.requests: list[tuple[str, str]] = []
        self.whole: list[str] = []
        self.users: list[str] = []
        self.impersonated: list[tuple[tuple[str, str], ...]] = []
        self.stopping = threading.Event()
        self.authority = trustme.CA()
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert("127.0.0.1", "localhost").configure_cert(self._tls)
        self.authority.configure_trust(self._tls)
        self._tls.verify_mode = ssl.CERT_OPTIONAL
        self._sockets: set[Any] = set()
        self.port = 0
        self._http: _Http | None = None
        self.listen()

    @property
    def url(self) -> str:
        """Return where it listens."""
        return f"https://127.0.0.1:{self.port}"

    def listen(self) -> None:
        """Take connections, at the same port as before."""
        self._http = _Http(("127.0.0.1", self.port), self)
        self.port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def hang_up(self) -> None:
        """Take no more connections and cut those that there are."""
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None
        self.drop()

    def drop(self) -> None:
        """Cut the connections that there are."""
        for connection in tuple(self._sockets):
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def close(self) -> None:
        """End it all."""
        self.stopping.set()
        self.faults.go_on.set()
        with self.store.changed:
            self.store.changed.notify_all()
        self.hang_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def requests_for(self, part: str) -> list[str]:
        """Return the requests whose path and query hold a part."""
        return [target for _, target in self.requests if part in target]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], api: ApiServer) -> None:
        self.api = api
        super().__init__(address, _Handler)

    def get_request(self) -> tuple[Any, Any]:
        plain, address = super().get_request()
        try:
            return self.api._tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False), address
        except OSError as error:
            close_cut(error)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self.api._sockets.add(request)
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.api._sockets.discard(request)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: clients hang up when they like."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self._answer()

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET  # noqa: N815  the names that http.server looks for

    # -- one request

    def _answer(self) -> None:
        api = self.server.api
        api.requests.append((self.command, self.path))
        if not self._metadata_only():
            api.whole.append(self.path)
        fault = api.faults.take(self.path)
        try:
            if self.command != "GET":
                raise Refused(405, "MethodNotAllowed", "this server is for readers")
            if fault is not None and fault.silent:
                api.faults.waiting.release()
                api.faults.go_on.wait(60)
                self._cut()
                return
            if fault is not None and (fault.status or fault.garbage is not None):
                self._fail(fault)
                return
            user = self._user()
            api.users.append(user)
            parts = urlsplit(self.path)
            self._route(user, unquote(parts.path), dict(parse_qsl(parts.query)), fault)
        except Refused as refused:
            self._send(refused.code, json.dumps(refused.body, separators=(",", ":")).encode() + b"\n", refused.headers)
        except _NoSuchPath:
            self._send(404, b"404 page not found\n", {"Content-Type": "text/plain; charset=utf-8"})
        except Expired:
            self._send(410, json.dumps(expired().body, separators=(",", ":")).encode() + b"\n")

    def _fail(self, fault: Fault) -> None:
        if fault.garbage is not None:
            self._send(200, fault.garbage, {"Content-Type": "text/html"})
            return
        refused = Refused(fault.status, fault.reason, f"asked for by a test: {fault.reason}")
        self._send(fault.status, json.dumps(refused.body).encode(), fault.headers)

    def _user(self) -> str:
        """Return whose rights count: who asks, or whom they act as (`Impersonate-User`)."""
        api, user, other = self.server.api, self._asks(), self.headers.get("Impersonate-User", "")
        if not other:
            return user
        if (user, "impersonate", "users") in api.denied:
            raise forbidden(user, "impersonate", "users", "")
        api.impersonated.append(tuple(pair for pair in self.headers.items() if pair[0].startswith("Impersonate-")))
        return other

    def _asks(self) -> str:
        word, _, token = self.headers.get("Authorization", "").partition(" ")
        if word.lower() == "bearer":
            if token not in self.server.api.tokens:
                raise unauthorized()
            return self.server.api.tokens[token]
        certificate = self.connection.getpeercert() or {}
        names = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
        return names[0] if names else "system:anonymous"

    def _route(self, user: str, path: str, query: dict[str, str], fault: Fault | None) -> None:
        api = self.server.api
        if user == "system:anonymous" and path != "/version":
            message = f'forbidden: User "system:anonymous" cannot get path "{path}"'
            raise Refused(403, "Forbidden", message, {})
        if (body := discovery(path, api.versions)) is not None:
            self._send(200, body, fault=fault)
            return
        if (answer := api.custom.get(path)) is not None:
            if isinstance(answer, Refused):
                raise answer
            self._send(200, answer, fault=fault)
            return
        plural, version, namespace = self._resource(path)
        verb = "watch" if query.get("watch") in ("true", "1") else "list"
        if (user, verb, plural) in api.denied and (user, namespace) not in api.granted:
            raise forbidden(user, verb, plural, namespace)
        if verb == "watch":
            self._watch(plural, version, namespace, query, fault)
        else:
            page = list_page(api.store, plural, version, namespace, query)
            self._send(200, metadata_of(page) if self._metadata_only() else page, fault=fault)

    def _metadata_only(self) -> bool:
        return "as=PartialObjectMetadataList" in self.headers.get("Accept", "")

    def _resource(self, path: str) -> tuple[str, str, str]:
        words = path.strip("/").split("/")
        core = words[:2] == ["api", "v1"]
        if not core and (words[:2] != ["apis", GROUP] or len(words) < 3 or not self.server.api.versions):
            raise _NoSuchPath
        version, rest = words[1 if core else 2], words[2 if core else 3 :]
        namespace = rest[1] if rest[:1] == ["namespaces"] and len(rest) == 3 else ""
        plural = rest[-1] if rest else ""
        known = KINDS.get(plural)
        served = version == "v1" if core else version in self.server.api.versions
        taint_rule = plural == "devicetaintrules"
        there = version in ("v1beta2", "v1alpha3") if taint_rule else version != "v1alpha3"
        if known is None or (known[1] == "v1") != core or not served or not there:
            raise not_found()
        return plural, version, namespace

    def _send(self, code: int, body: bytes, headers: dict[str, str] | None = None, fault: Fault | None = None) -> None:
        found = {"Content-Type": "application/json", **(headers or {})}
        if len(body) > GZIP_FROM and "gzip" in self.headers.get("Accept-Encoding", ""):
            packer = zlib.compressobj(1, wbits=31)
            body = packer.compress(body) + packer.flush()
            found |= {"Content-Encoding": "gzip", "Transfer-Encoding": "chunked"}  # as the API server, without a length
        else:
            found["Content-Length"] = str(len(body))
        self.send_response(code)
        for name, value in found.items():
            self.send_header(name, value)
        self.end_headers()
        if fault is None and "Content-Encoding" in found:
            for at in range(0, len(body), PIECE):
                self._chunk(body[at : at + PIECE])
            self._chunk(b"")
            return
        if fault is None:
            self.wfile.write(body)
            return
        self.wfile.write(body[: len(body) // 2 if fault.stall else fault.cut or 0])
        if fault.stall:
            self.server.api.stopping.wait(30)
        self._cut()

    def _cut(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            socket.socket.shutdown(self.connection, socket.SHUT_RDWR)

    # -- watching

    def _watch(self, plural: str, version: str, namespace: str, query: dict[str, str], fault: Fault | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if fault is not None:
            if fault.ends:
                self._chunk(b"")
            else:
                self._cut()
            return
        try:
            self._watch_lines(plural, version, namespace, query)
        except Expired:
            refused = expired(f"too old resource version: {query['resourceVersion']} ({self.server.api.store.oldest})")
            self._chunk(json.dumps({"type": "ERROR", "object": refused.body}, separators=(",", ":")).encode() + b"\n")
        self._chunk(b"")

    def _watch_lines(self, plural: str, version: str, namespace: str, query: dict[str, str]) -> None:
        api, store = self.server.api, self.server.api.store
        since = int(query.get("resourceVersion") or 0)
        end = time.monotonic() + float(query.get("timeoutSeconds") or 1800)
        bookmarks = query.get("allowWatchBookmarks") in ("true", "1")
        bookmark_at = time.monotonic() + api.bookmark
        while not api.stopping.is_set() and time.monotonic() < end:
            with store.changed:
                events = store.after(plural, namespace, since)
                if not events:
                    store.changed.wait(max(0.0, min(bookmark_at, end) - time.monotonic()))
                    at = store.version
                    if time.monotonic() < bookmark_at or store.after(plural, namespace, since):
                        continue
            bookmark_at = time.monotonic() + api.bookmark
            if events:
                since = events[-1].version
                lines = b"".join(event_line(e.type, plural, version, e.body) for e in events)
                self._chunk(lines)
            elif bookmarks:
                since = max(since, at)
                self._chunk(bookmark_line(plural, version, since))

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


class _NoSuchPath(Exception):
    """A path of a group that the server does not have: plain text, no Status."""


def close_cut(error: OSError) -> None:
    """Close the TLS socket of a connection that was cut before TLS began; only the error refers to it.

    Upstream: https://github.com/python/cpython/issues/113280
    Remove: with Python 3.11, whose releases before 3.11.8 leave the socket to the garbage collector.
    """
    for frame, _ in traceback.walk_tb(error.__traceback__):
        made = frame.f_locals.get("self")
        if isinstance(made, ssl.SSLSocket):
            made.close()
