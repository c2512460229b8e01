"""What an API server or the network on the way to it may answer instead, as errors of ours."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from dra_lab.errors import SourceError
from dra_lab.model.decoding import from_json


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
