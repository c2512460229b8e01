"""`format.dns1123Label()` and its kin, and `validate` (`k8s.io/apiserver/pkg/cel/library/format.go`).

In Kubernetes `validate` returns an optional list of problems, `format.named` an optional format. Python cannot return
an optional to the engine, so both return a plain value here and `rewrite.prepare` wraps the call in
`optional.ofNonZeroValue`.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from cel_expr_python import cel

from dra_lab.cel.functions.declare import Declarations
from dra_lab.cel.values import FORMAT, kind_of, message

_T = cel.Type
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


def _pattern(pattern: str, limit: int, what: str) -> Callable[[str], list[str]]:
    shape = re.compile(rf"(?:{pattern})\Z")

    def check(text: str) -> list[str]:
        problems = [f"must be no more than {limit} characters"] if len(text) > limit else []
        if not shape.match(text[: limit + 1]):
            problems.append(f"must be {what}")
        return problems

    return check


def _reader(read: Callable[[str], Any], what: str) -> Callable[[str], list[str]]:
    def check(text: str) -> list[str]:
        try:
            read(text)
        except ValueError:
            return [f"must be {what}"]
        return []

    return check


def _qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    problems = _pattern(_QUALIFIED, 63, "a qualified name")(name)
    return problems + (_CHECKS["dns1123Subdomain"](prefix) if slash else [])


def _uri(text: str) -> None:
    parts = urlsplit(text)
    if not (text.startswith("/") or parts.scheme):
        raise ValueError(text)


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    return lambda text: check(f"{text[:-1]}a" if text.endswith("-") else text)


def _label_value(text: str) -> list[str]:
    return _pattern(_QUALIFIED, 63, "a label value")(text) if text else []


_LABEL_CHECK = _pattern(_LABEL, 63, "a DNS-1123 label")
_SUBDOMAIN_CHECK = _pattern(rf"{_LABEL}(\.{_LABEL})*", 253, "a DNS-1123 subdomain")
_LABEL_1035_CHECK = _pattern(r"[a-z]([-a-z0-9]*[a-z0-9])?", 63, "a DNS-1035 label")
_UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"

_CHECKS: Mapping[str, Callable[[str], list[str]]] = {
    "dns1123Label": _LABEL_CHECK,
    "dns1123Subdomain": _SUBDOMAIN_CHECK,
    "dns1035Label": _LABEL_1035_CHECK,
    "qualifiedName": _qualified_name,
    "dns1123LabelPrefix": _prefix(_LABEL_CHECK),
    "dns1123SubdomainPrefix": _prefix(_SUBDOMAIN_CHECK),
    "dns1035LabelPrefix": _prefix(_LABEL_1035_CHECK),
    "labelValue": _label_value,
    "uri": _reader(_uri, "a URI"),
    "uuid": _pattern(_UUID, 36, "a UUID"),
    "byte": _reader(lambda text: base64.b64decode(text, validate=True), "base64"),
    "date": _reader(lambda text: datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC), "a date"),
    "datetime": _reader(datetime.fromisoformat, "a date and time"),
}


def _validate(value: Any, text: str) -> list[str]:
    if kind_of(value) != "NamedFormat":
        raise ValueError("no such overload: validate needs a format, such as format.dns1123Label()")
    return _CHECKS[value.text](text)


def _named(name: str) -> Any:
    """Return a format by its name; one with the empty text, which `optional.ofNonZeroValue` makes none, if unknown."""
    return message("NamedFormat", name if name in _CHECKS else "")


def declare(into: Declarations) -> None:
    """Add the library; what returns an optional is declared to the checker in `configuration`."""
    for name in _CHECKS:
        into.add(f"format.{name}", FORMAT, [], lambda name=name: message("NamedFormat", name))


def declare_for_runner(into: Declarations) -> None:
    """Add `validate` and `format.named` with plain results, which `rewrite.prepare` turns into optionals."""
    into.add("validate", _T.DYN, [FORMAT, _T.STRING], _validate, member=True)
    into.add("format.named", FORMAT, [_T.STRING], _named)
