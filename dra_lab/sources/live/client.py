"""A client that can only read: GET, with time-outs, retries, and errors for what a server or the network answers."""

from __future__ import annotations

import math
import random
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from dra_lab.errors import Cancelled, SourceError
from dra_lab.model.decoding import from_json
from dra_lab.sources.live.connection import Connection


class Refusal(SourceError):
    """The API server answered with a status of failure.

    `status` is the HTTP status, `reason` the `reason` of its Status object (`Forbidden`, `Expired`, ...) or "",
    `retry_after` the seconds that it asks to wait, `detail` its own words.
    """

    def __init__(self, status: int, reason: str, detail: str, message: str, retry_after: float | None = None) -> None:
        """Keep the parts in addition to the message."""
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.detail = detail
        self.retry_after = retry_after

    @property
    def expired(self) -> bool:
        """Say whether what was asked for is too old to be continued or resumed (410, `Expired` or `Gone`)."""
        return self.status == 410 or self.reason in ("Expired", "Gone")

    @property
    def passing(self) -> bool:
        """Say whether the same request may be answered later: too many requests, or a failure of the server's own."""
        return self.status == 429 or 500 <= self.status <= 599

    @property
    def busy(self) -> bool:
        """Say whether the server has too much to do or is just being started or stopped."""
        return self.status in (429, 503)


class Unreachable(SourceError):
    """There was no whole answer.

    `passing` says that another try may succeed (an interrupted or stalled connection), and `silent` that nothing
    arrived in time. `away` says that there was no connection. That passes if there was one before, because API servers
    restart.
    """

    def __init__(self, message: str, *, passing: bool, silent: bool = False, away: bool = False) -> None:
        """Keep whether trying again is of use."""
        super().__init__(message)
        self.passing = passing
        self.silent = silent
        self.away = away


class _Status(msgspec.Struct):
    message: str = ""
    reason: str = ""
    code: int = 0


MAX_WORDS = 300


def refusal_of(status: int, body: bytes, headers: Any, server: str) -> Refusal:
    """Return what a status of failure means; the body is a Status object, or words of something in between."""
    try:
        found = from_json(body, _Status)
        reason, detail = found.reason, found.message
    except (msgspec.MsgspecError, RecursionError):
        reason, detail = "", " ".join(body[:MAX_WORDS].decode("utf-8", "replace").split())
    words = f"{server} answers {status}{f' ({detail[:MAX_WORDS]})' if detail else ''}"
    retry_after = None
    with suppress(TypeError, ValueError):  # absent, or a date
        retry_after = max(0.0, float(headers.get("Retry-After")))
    return Refusal(status, reason, detail[:MAX_WORDS], words, retry_after)


def status_of_event(value: bytes) -> Refusal:
    """Return the refusal that an event of type ERROR carries as its object."""
    try:
        status = from_json(value, _Status)
    except (msgspec.MsgspecError, RecursionError):
        status = _Status("an event of type ERROR without a Status")
    detail = status.message[:MAX_WORDS]
    return Refusal(status.code, status.reason, detail, f"the watch ended with {status.code} {status.reason} ({detail})")


def unreachable_of(error: Exception, server: str) -> Unreachable:
    """Return why there was no answer, in words that say what to look at; the cause is the innermost known one."""
    from urllib3 import exceptions as urllib3

    causes = tuple(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            why = f"the certificate of {server} is not trusted: {cause.verify_message or _words(cause)}"
            advice = "check certificate-authority and tls-server-name in the kubeconfig"
            return Unreachable(f"{why}; {advice}", passing=False)
    # OpenSSL's names of a connection that is cut in the handshake
    in_tls = next((cause for cause in causes if isinstance(cause, ssl.SSLError)), None)
    if in_tls is not None and not isinstance(in_tls, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        words = f"no TLS connection to {server}: {_words(in_tls)}; is this the port of the API server?"
        return Unreachable(words, passing=False)
    of_system = (cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror)
    unresolved, system = "this machine cannot resolve its name", next(of_system, "there is no connection").lower()
    refused, late = "the proxy refuses the connection", "it does not answer in time"
    named = (
        (urllib3.NameResolutionError, unresolved, "check the server in the kubeconfig, or your VPN"),
        (urllib3.ProxyError, refused, "check proxy-url, HTTPS_PROXY and NO_PROXY"),
        (urllib3.NewConnectionError, system, "is it running, and is the port right?"),
        (urllib3.ConnectTimeoutError, late, "is there a firewall, or a VPN to turn on?"),
    )
    for kind, what, advice in named:
        if any(isinstance(cause, kind) for cause in causes):
            return Unreachable(f"{server} cannot be reached: {what}; {advice}", passing=False, away=True)
    if any(isinstance(cause, urllib3.ReadTimeoutError | TimeoutError) for cause in causes):
        return Unreachable(f"{server} stopped in the middle of an answer", passing=True, silent=True)
    words = _words(causes[-1])
    detail = "" if words == type(causes[-1]).__name__ else f" ({words})"
    return Unreachable(f"the connection to {server} was interrupted{detail}", passing=True)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    pending: list[Any] = [error]
    while pending:
        found = pending.pop(0)
        if not isinstance(found, BaseException) or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        pending += [*found.args, getattr(found, "reason", None), found.__cause__, found.__context__]


def _words(error: BaseException) -> str:
    # the texts of nested network errors hold addresses of objects, those of values what was sent
    text = getattr(error, "strerror", None) or (error.args[0] if error.args else "")
    plain = isinstance(text, str) and "object at 0x" not in text and not isinstance(error, ValueError)
    return text[:MAX_WORDS] if plain else type(error).__name__


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits of one connection to an API server.

    `connect` and `read` bound one wait for the network, `overall` a whole reading of the cluster. A request is tried
    `attempts` times; between them lies a random part of `backoff_first`, doubled each time up to `backoff_most`, or
    what the server's Retry-After asks for, up to `retry_after_most`. `page` is the number of objects in one answer
    (kubectl takes 500 as well), `body` the most bytes of one answer. A watch is renewed after `watch` seconds, and
    resumed when nothing came for `idle`, so that a connection that died without a word is noticed. An API server sends
    a bookmark a minute, which must come in between: it moves the version of a quiet kind, which the server would
    forget otherwise. A watch on which nothing moved for `quiet` seconds and that is cut then is resumed without a word:
    load balancers do that. A kind that may not be watched is requested again after `barred`: rights come back, and a
    server just begun does not know them yet. Credentials that are refused are requested again (plug-ins are run) after
    `renew`, and the first time at once. Topology objects of Kueue and KAI are not watched but read again after
    `topologies`. Each kind is listed again after `relist` although events come: a restored etcd sends none.
    """

    connect: float = 10.0
    read: float = 30.0
    overall: float = 300.0
    attempts: int = 8
    backoff_first: float = 0.5
    backoff_most: float = 10.0
    retry_after_most: float = 60.0
    page: int = 500
    body: int = 2**30
    watch: float = 300.0
    idle: float = 75.0
    quiet: float = 25.0
    barred: float = 30.0
    renew: float = 60.0
    topologies: float = 60.0
    relist: float = 600.0

    def delay(self, attempt: int, retry_after: float | None = None) -> float:
        """Return the pause after a failed attempt (from 0): the server's wish, or the doubled base with jitter."""
        if retry_after is not None:
            return min(retry_after, self.retry_after_most)
        longest = min(self.backoff_first * 2.0 ** min(attempt, 16), self.backoff_most)
        return longest * random.uniform(0.5, 1.0)  # noqa: S311  jitter, no secret


Query = Mapping[str, str | int]
T = TypeVar("T")
_CHUNK = 1 << 20
_MAX_TROUBLE = 1 << 16


class ReadingClient:
    """Reads from one API server. There is no method that writes, and none that takes a verb.

    `connect` makes the connection, once at first and once more when the server refuses the credentials (plug-ins give
    new ones). Calls may come from several threads. `cancel` ends every call with Cancelled.
    """

    def __init__(self, connect: Callable[[], Connection], limits: ReadLimits, cancel: threading.Event) -> None:
        """Connect. Raises SourceError when the context cannot be used; nothing is sent yet."""
        self.limits = limits
        self.cancel = cancel
        self._connect = connect
        self._lock = threading.Lock()
        self._connection = connect()
        self._deadline: float | None = None
        self._answered = False
        self._renewed = -math.inf

    @property
    def server(self) -> str:
        """Return the server's URL without credentials."""
        return self._connection.server

    @property
    def verified(self) -> bool:
        """Say whether the server's certificate is looked at."""
        return self._connection.verified

    def begin(self) -> None:
        """Let the overall time limit of the limits run from now on."""
        self._deadline = time.monotonic() + self.limits.overall

    def get(
        self,
        path: str,
        query: Query = {},  # noqa: B006  never changed
        *,
        attempts: int = 0,
    ) -> bytes:
        """Return the body of an answer of status 200, tried again where that may help.

        `attempts` are those of the limits, or as many as are given. Raises Refusal for another status, Unreachable when
        there is no whole answer, Cancelled, SourceError when the overall time is over.
        """
        return self._retried(lambda: self._once(path, query), attempts or self.limits.attempts)

    @contextmanager
    def lines(self, path: str, query: Query) -> Iterator[Iterator[bytes]]:
        """Begin an answer that goes on until the server ends it (a watch), not tried again. Raises like `get`.

        Its lines raise Unreachable when the connection is cut or silent too long.
        """
        used = self._connection
        try:
            response = self._begun(path, query)
        except Refusal as error:
            if error.status != 401:
                raise
            self._renew(used)
            response = self._begun(path, query)
        try:
            yield self._lines(response, used.server)
        finally:
            with suppress(Exception):
                response.close()

    def close(self) -> None:
        """Close the connections."""
        self._connection.close()

    # -- inside

    def _begun(self, path: str, query: Query) -> Any:
        try:
            response = self._request(path, query, {}, self.limits.read)
        except Unreachable as error:
            if not error.silent:
                raise
            # An API server begins the answer to a watch at once; only then may it be silent.
            raise Unreachable(f"{self.server} does not answer", passing=True) from None
        socket = getattr(response.connection, "sock", None)
        if socket is not None:
            socket.settimeout(self.limits.idle)
        return response

    def _lines(self, response: Any, server: str) -> Iterator[bytes]:
        rest = b""
        try:
            pieces = iter(partial(response.read1, _CHUNK, decode_content=True), b"")
            for part in response.stream(_CHUNK, decode_content=True) if response.chunked else pieces:
                *whole, rest = (rest + part).split(b"\n")
                if len(rest) > self.limits.body:
                    raise Unreachable(f"{server} sends a line that does not end", passing=True)
                yield from filter(None, whole)
        except SourceError:
            raise
        except Exception as error:  # noqa: BLE001  see `_once`
            raise unreachable_of(error, server) from None

    def _retried(self, call: Callable[[], T], attempts: int) -> T:
        attempt, renewed = 0, False
        while True:
            self._check()
            used = self._connection
            try:
                return call()
            except (Refusal, Unreachable) as error:
                attempt += 1
                if isinstance(error, Refusal) and error.status == 401 and not renewed:
                    renewed = True
                    self._renew(used)
                    continue
                back = isinstance(error, Unreachable) and error.away and self._answered
                if not (error.passing or back) or attempt >= attempts:
                    raise
                pause = self.limits.delay(attempt - 1, getattr(error, "retry_after", None))
                if self._deadline is not None and time.monotonic() + pause > self._deadline:
                    raise
                self.cancel.wait(pause)

    def _check(self) -> None:
        if self.cancel.is_set():
            raise Cancelled(f"reading from {self.server} was cancelled")
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise SourceError(f"{self.server} was not read within {self.limits.overall:g} s")

    def _renew(self, used: Connection) -> None:
        """Connect again after the credentials of a connection were refused, unless another thread has done so.

        Not again before `renew` seconds are over: a plug-in may open a browser each time.
        """
        with self._lock:
            due = time.monotonic() - self._renewed >= self.limits.renew
            if self._connection is used and due and not self.cancel.is_set():
                self._renewed = time.monotonic()
                used.close()
                self._connection = self._connect()

    def _once(self, path: str, query: Query) -> bytes:
        response = self._request(path, query, {"Accept-Encoding": "gzip"}, self.limits.read)
        parts, size = [], 0
        try:
            for part in response.stream(_CHUNK, decode_content=True):
                self._check()
                parts.append(part)
                size += len(part)
                if size > self.limits.body:
                    raise SourceError(
                        f"{self.server} sends more than {self.limits.body >> 20:,} MiB in answer to one request"
                    )
        except (SourceError, Cancelled):
            response.close()
            raise
        except Exception as error:  # noqa: BLE001  urllib3, ssl, zlib and sockets each have their own
            response.close()
            raise unreachable_of(error, self.server) from None
        response.release_conn()
        return b"".join(parts)

    def _request(self, path: str, query: Query, extra: Mapping[str, str], read: float) -> Any:
        from urllib3 import Timeout

        connection = self._connection
        with self._lock:  # the package renews credentials in place
            headers = connection.headers()
        headers.update(extra)
        url = f"{connection.configuration.host}{quote(path)}{f'?{urlencode(query)}' if query else ''}"
        timeout = Timeout(connect=self.limits.connect, read=read)
        try:
            # A redirect would carry the credentials to where it points.
            response = connection.pool.request(
                "GET", url, headers=headers, timeout=timeout, preload_content=False, retries=False, redirect=False
            )
            self._answered = True
            if response.status == 200:
                return response
            body = response.read(_MAX_TROUBLE, decode_content=True)
            response.close()
        except Exception as error:  # noqa: BLE001  see above
            raise unreachable_of(error, connection.server) from None
        raise refusal_of(response.status, body, response.headers, connection.server)
