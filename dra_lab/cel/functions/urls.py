"""`url()`, `isURL()` and the parts of a URL (`k8s.io/apiserver/pkg/cel/library/urls.go`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from cel_expr_python import cel

from dra_lab.cel.functions.declare import Declarations
from dra_lab.cel.values import URL, kind_of, message

_T = cel.Type


def _split(text: str) -> SplitResult:
    """Read an absolute URL or an absolute path, as Go's `url.ParseRequestURI` does."""
    if any(ord(c) < 0x20 or c == "\x7f" for c in text):
        raise ValueError("invalid control character in URL")
    parts = urlsplit(text)
    if not (text.startswith("/") or (parts.scheme and (parts.netloc or text.startswith(f"{parts.scheme}:/")))):
        raise ValueError("invalid URI for request")
    if " " in parts.netloc:
        raise ValueError("invalid character in host name")
    _ = parts.port
    return parts


def _url(text: str) -> Any:
    _split(text)
    return message("URL", text)


def _is_url(text: str) -> bool:
    try:
        _split(text)
    except ValueError:
        return False
    return True


def _part(read: Callable[[SplitResult], Any]) -> Callable[[Any], Any]:
    def get(value: Any) -> Any:
        if kind_of(value) != "URL":
            raise ValueError("no such overload: this is not a URL")
        return read(_split(value.text))

    return get


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _hostname(parts: SplitResult) -> str:
    host = _host(parts)
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _query(parts: SplitResult) -> dict[str, list[str]]:
    return parse_qs(parts.query, keep_blank_values=True)


def declare(into: Declarations) -> None:
    """Add the library."""
    into.add("url", URL, [_T.STRING], _url)
    into.add("isURL", _T.BOOL, [_T.STRING], _is_url)
    into.add("getScheme", _T.STRING, [URL], _part(lambda p: p.scheme), member=True)
    into.add("getHost", _T.STRING, [URL], _part(_host), member=True)
    into.add("getHostname", _T.STRING, [URL], _part(_hostname), member=True)
    into.add("getPort", _T.STRING, [URL], _part(lambda p: str(p.port) if p.port is not None else ""), member=True)
    escaped = _part(lambda p: quote(p.path, safe="/%:@!$&'()*+,;=~-._"))
    into.add("getEscapedPath", _T.STRING, [URL], escaped, member=True)
    into.add("getQuery", _T.Map(_T.STRING, _T.List(_T.STRING)), [URL], _part(_query), member=True)
