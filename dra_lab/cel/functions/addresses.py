"""`ip()`, `cidr()` and `url()` (`k8s.io/apiserver/pkg/cel/library/ip.go`, `cidr.go`, `urls.go`)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, urlsplit

from cel_expr_python import cel

from dra_lab.cel.functions.declare import SCALARS, Declarations, accepts
from dra_lab.cel.values import CIDR, IP, QUANTITY, SEMVER, URL, amount, kind_of, message, quantity, quantity_of, semver
from dra_lab.model.quantity import parse_quantity, semver_key, unsigned_number

_T = cel.Type
Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


def _address(text: str) -> Address:
    if "%" in text:
        raise ValueError(f"IP Address {text!r} parse error: IP address with zone value is not allowed")
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise ValueError(f"IP Address {text!r} parse error: IPv4-mapped IPv6 address is not allowed")
    return address


def _prefix(text: str) -> tuple[Address, int]:
    head, slash, length = text.partition("/")
    bits = unsigned_number(length)
    if not slash or bits is None or (len(length) > 1 and length.startswith("0")):
        raise ValueError(f"network address parse error during conversion from string: {text[:64]!r}")
    address = _address(head)
    if bits > address.max_prefixlen:
        raise ValueError(f"network address parse error during conversion from string: {text[:64]!r}")
    return address, bits


def _of(value: Any) -> Address:
    """Return the address of an IP, a CIDR's own address, or a text."""
    kind = kind_of(value)
    if kind == "CIDR":
        return _prefix(value.text)[0]
    if kind not in ("IP", ""):
        raise ValueError(f"no such overload: {kind} is not an IP address")
    return _address(value if isinstance(value, str) else value.text)


def _net(value: Any) -> Network:
    if kind_of(value) not in ("CIDR", ""):
        raise ValueError(f"no such overload: {kind_of(value)} is not a CIDR")
    address, length = _prefix(value if isinstance(value, str) else value.text)
    return ip_network(f"{address}/{length}", strict=False)


def _ip(value: Any) -> Any:
    return message("IP", str(_of(value)))


def _contains_cidr(network: Any, other: Any) -> bool:
    outer, inner = _net(network), _net(other)
    return outer.version == inner.version and inner.network_address in outer and inner.prefixlen >= outer.prefixlen


def _text(value: Any) -> str:
    if kind_of(value) not in ("IP", "CIDR"):
        raise ValueError(f"no such overload: string({kind_of(value)})")
    return str(value.text)


def _is_global(address: Address) -> bool:
    broadcast = address.version == 4 and int(address) == 0xFFFFFFFF
    return not (
        address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local or broadcast
    )


def _link_local_multicast(address: Address) -> bool:
    scope = ip_network("224.0.0.0/24") if address.version == 4 else ip_network("ff02::/16")
    return address in scope


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


def _part(read: Callable[[SplitResult], Any]) -> Callable[[Any], Any]:
    def get(value: Any) -> Any:
        if kind_of(value) != "URL":
            raise ValueError("no such overload: this is not a URL")
        return read(_split(value.text))

    return get


def _url(text: str) -> Any:
    _split(text)
    return message("URL", text)


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _hostname(parts: SplitResult) -> str:
    host = _host(parts)
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def declare(into: Declarations) -> None:
    """Add the libraries."""
    text, truth = _T.STRING, _T.BOOL
    into.add("ip", IP, [text], _ip)
    into.add("isIP", truth, [text], accepts(_address))
    into.add("ip.isCanonical", truth, [text], lambda s: str(_address(s)) == s)
    into.add("cidr", CIDR, [text], lambda s: message("CIDR", "{}/{}".format(*_prefix(s))))
    into.add("isCIDR", truth, [text], accepts(_prefix))
    into.add("family", _T.INT, [IP], lambda a: _of(a).version, member=True)
    into.add("isUnspecified", truth, [IP], lambda a: _of(a).is_unspecified, member=True)
    into.add("isLoopback", truth, [IP], lambda a: _of(a).is_loopback, member=True)
    into.add("isLinkLocalMulticast", truth, [IP], lambda a: _link_local_multicast(_of(a)), member=True)
    into.add("isLinkLocalUnicast", truth, [IP], lambda a: _of(a).is_link_local, member=True)
    into.add("isGlobalUnicast", truth, [IP], lambda a: _is_global(_of(a)), member=True)
    for other in (IP, text):
        into.add("containsIP", truth, [CIDR, other], lambda c, a: _of(a) in _net(c), member=True)
    for other in (CIDR, text):
        into.add("containsCIDR", truth, [CIDR, other], _contains_cidr, member=True)
    into.add("ip", IP, [CIDR], _ip, member=True)
    into.add("masked", CIDR, [CIDR], lambda c: message("CIDR", str(_net(c))), member=True)
    into.add("prefixLength", _T.INT, [CIDR], lambda c: _net(c).prefixlen, member=True)
    into.add("url", URL, [_T.STRING], _url)
    into.add("isURL", _T.BOOL, [_T.STRING], accepts(_split))
    into.add("getScheme", _T.STRING, [URL], _part(lambda p: p.scheme), member=True)
    into.add("getHost", _T.STRING, [URL], _part(_host), member=True)
    into.add("getHostname", _T.STRING, [URL], _part(_hostname), member=True)
    into.add("getPort", _T.STRING, [URL], _part(lambda p: str(p.port) if p.port is not None else ""), member=True)
    escaped = _part(lambda p: quote(p.path, safe="/%:@!$&'()*+,;=~-._"))
    into.add("getEscapedPath", _T.STRING, [URL], escaped, member=True)
    query = _part(lambda p: parse_qs(p.query, keep_blank_values=True))
    into.add("getQuery", _T.Map(_T.STRING, _T.List(_T.STRING)), [URL], query, member=True)


def declare_for_runner(into: Declarations) -> None:
    """Add `string` of an address or a network; `rewrite.prepare` calls it `@text`, and of anything else `string`."""
    for kind in SCALARS:
        into.add("@text", kind, [kind], lambda value: value)
    for kind in (IP, CIDR):
        into.add("@text", _T.STRING, [kind], _text)


# --------------------------------------------------------------------- quantities and versions
# Quantities and versions (`k8s.io/apiserver/pkg/cel/library/quantity.go`, `semverlib.go`).

_INT64 = 2**63


def _order(value: Any) -> Any:
    kind = kind_of(value)
    if kind == "Quantity":
        return amount(value)
    if kind == "Semver":
        return semver_key(value.text)
    raise ValueError("no such overload: only quantities and semantic versions can be compared this way")


def _compare(left: Any, right: Any) -> int:
    if kind_of(left) != kind_of(right):
        raise ValueError(f"no such overload: a {kind_of(left)} cannot be compared with a {kind_of(right)}")
    first, second = _order(left), _order(right)
    return int(first > second) - int(first < second)


def _amount(value: Any) -> Fraction:
    if kind_of(value) != "Quantity":
        raise ValueError(f"no such overload: {kind_of(value)} is not a quantity")
    return amount(value)


def _fits_int(value: Any) -> bool:
    number = _amount(value)
    return number.denominator == 1 and -_INT64 <= number < _INT64


def _as_integer(value: Any) -> int:
    if not _fits_int(value):
        raise ValueError("cannot convert value to integer")
    return int(_amount(value))


def _as_float(value: Any) -> float:
    number = _amount(value)
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


_LOOSE = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?([-+].*)?\Z", re.DOTALL | re.ASCII)


def _normalized(text: str) -> str:
    match = _LOOSE.match(text)
    if match is None:
        return text
    return ".".join(str(int(part or 0)) for part in match.groups()[:3]) + (match[4] or "")


def _parse(text: str, normalize: bool = False) -> Any:  # noqa: FBT001, FBT002 - the engine passes by position
    return semver(_normalized(text) if normalize else text)


def _number(value: Any, index: int) -> int:
    if kind_of(value) != "Semver":
        raise ValueError(f"no such overload: {kind_of(value)} is not a semantic version")
    numbers = semver_key(value.text)[:3]
    return numbers[index]


def _comparable(value: Any) -> Any:
    if kind_of(value) == "Semver":
        raise ValueError('no such overload: a version is compared with semver("..."), not with another type')
    return value


def declare_quantities(into: Declarations) -> None:
    """Add the library."""
    into.add("quantity", QUANTITY, [_T.STRING], quantity)
    into.add("isQuantity", _T.BOOL, [_T.STRING], accepts(parse_quantity))
    for kind in (QUANTITY, SEMVER):
        into.add("compareTo", _T.INT, [kind, kind], _compare, member=True)
        into.add("isGreaterThan", _T.BOOL, [kind, kind], lambda a, b: _compare(a, b) > 0, member=True)
        into.add("isLessThan", _T.BOOL, [kind, kind], lambda a, b: _compare(a, b) < 0, member=True)
    into.add("sign", _T.INT, [QUANTITY], lambda a: (_amount(a) > 0) - (_amount(a) < 0))
    into.add("isInteger", _T.BOOL, [QUANTITY], _fits_int, member=True)
    into.add("asInteger", _T.INT, [QUANTITY], _as_integer, member=True)
    into.add("asApproximateFloat", _T.DOUBLE, [QUANTITY], _as_float, member=True)
    into.add("add", QUANTITY, [QUANTITY, QUANTITY], lambda a, b: quantity_of(_amount(a) + _amount(b)), member=True)
    into.add("add", QUANTITY, [QUANTITY, _T.INT], lambda a, b: quantity_of(_amount(a) + b), member=True)
    into.add("sub", QUANTITY, [QUANTITY, QUANTITY], lambda a, b: quantity_of(_amount(a) - _amount(b)), member=True)
    into.add("sub", QUANTITY, [QUANTITY, _T.INT], lambda a, b: quantity_of(_amount(a) - b), member=True)
    into.add("semver", SEMVER, [_T.STRING], _parse)
    into.add("semver", SEMVER, [_T.STRING, _T.BOOL], _parse)
    into.add("isSemver", _T.BOOL, [_T.STRING], accepts(_parse))
    into.add("isSemver", _T.BOOL, [_T.STRING, _T.BOOL], accepts(_parse))
    for kind in (*SCALARS, SEMVER, _T.List(_T.DYN)):
        into.add("@comparable", kind, [kind], _comparable)
    into.add("major", _T.INT, [SEMVER], lambda v: _number(v, 0), member=True)
    into.add("minor", _T.INT, [SEMVER], lambda v: _number(v, 1), member=True)
    into.add("patch", _T.INT, [SEMVER], lambda v: _number(v, 2), member=True)
