"""Values of the Kubernetes CEL libraries as the engine holds them: messages with one canonical text each.

The engine cannot carry Python objects, but it carries, compares and types protobuf messages. Each type of the
Kubernetes libraries (`k8s.io/apiserver/pkg/cel`: Quantity, Semver, URL, IP, CIDR, NamedFormat) is a message with the
single field `text`; two values are equal in CEL exactly when their canonical texts are.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from cel_expr_python import cel
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from dra_lab.model.quantity import QuantityText, parse_quantity, semver_key

_STRING_FIELD = 9
_OPTIONAL_LABEL = 1


def _messages(*names: str) -> tuple[Any, dict[str, Any]]:
    file = descriptor_pb2.FileDescriptorProto(name="dra_lab/cel.proto", package="kubernetes", syntax="proto3")
    for name in names:
        file.message_type.add(name=name).field.add(name="text", number=1, type=_STRING_FIELD, label=_OPTIONAL_LABEL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)  # type: ignore[attr-defined,unused-ignore]
    found = {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"kubernetes.{name}")) for name in names}
    return pool, found


POOL, _CLASSES = _messages("Quantity", "Semver", "URL", "IP", "CIDR", "NamedFormat")

QUANTITY = cel.Type("kubernetes.Quantity")
SEMVER = cel.Type("kubernetes.Semver")
URL = cel.Type("kubernetes.URL")
IP = cel.Type("kubernetes.IP")
CIDR = cel.Type("kubernetes.CIDR")
FORMAT = cel.Type("kubernetes.NamedFormat")


def message(kind: str, text: str) -> Any:
    """Return the engine's value of a kind (`Quantity`, `Semver`, `URL`, `IP`, `CIDR`, `NamedFormat`)."""
    return _CLASSES[kind](text=text)


def kind_of(value: Any) -> str:
    """Return the kind of a message, or "" for anything else; Python implementations serve several kinds by it."""
    descriptor = getattr(value, "DESCRIPTOR", None)
    return str(descriptor.name) if descriptor is not None else ""


@lru_cache(maxsize=65536)
def whole_text(text: str) -> str:
    """Return a text that the engine takes whole: what it is given from here ends at the first NUL.

    The API server admits NUL in attributes and selectors: of an attribute's text it looks at the length only. U+0001
    stands for it in both, so that lengths, order and equality stay; texts that differ only in which of the two
    characters they have are not told apart.
    """
    return text.replace("\0", "\1") if "\0" in text else text


def quantity(text: QuantityText) -> Any:
    """Return a Quantity; raises QuantityError. Spelling does not count: `1Gi` equals `1024Mi`."""
    return quantity_of(parse_quantity(text))


def quantity_of(value: Fraction) -> Any:
    """Return the Quantity of an exact value."""
    return message("Quantity", f"{value.numerator}/{value.denominator}" if value.denominator > 1 else str(value))


def amount(value: Any) -> Fraction:
    """Return the exact value of a Quantity."""
    return Fraction(value.text)


@lru_cache(maxsize=65536)
def semver(text: str) -> Any:
    """Return a Semver; raises SemverError. Equality in CEL is that of the text without build metadata."""
    semver_key(text)
    return message("Semver", text.partition("+")[0])


def plain(values: Iterable[Any]) -> list[Any]:
    """Return the elements of a list as Python values; the engine wraps those that it computed itself."""
    return [value.plain_value() if hasattr(value, "plain_value") else value for value in values]
