"""How a selector reads an attribute or a capacity of a device, and writes a value, as CEL text that always compiles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from dra_lab.model.names import split_qualified

_SELECTABLE = re.compile(r"(?!(?:true|false|null|in)\Z)[A-Za-z_][A-Za-z0-9_]*\Z")
"""A name that may follow a dot: an identifier that is not a reserved word of the grammar."""


def literal(value: object) -> str:
    """Return a string, whole number or bool as CEL writes it."""
    # CEL has no pairs of surrogates, which JSON in ASCII writes beyond U+FFFF
    return json.dumps(value, ensure_ascii=False)


def is_one_of(read: str, values: Iterable[object]) -> str:
    """Return the text that what `read` reads is one of some values, in the order of their texts."""
    texts = sorted(literal(value) for value in values)
    return f"{read} == {texts[0]}" if len(texts) == 1 else f"{read} in [{', '.join(texts)}]"


def read_of(name: str, driver: str, member: str = "attributes") -> tuple[str, str]:
    """Return (text that reads a value, text that says whether there is one); reading what is not there is an error.

    `name` is an attribute, of which a bare key belongs to the driver's domain, or a capacity with `member` "capacity".
    """
    domain, identifier = split_qualified(name, driver)
    values = f"device.{member}[{literal(domain)}]"
    if _SELECTABLE.match(identifier):
        return f"{values}.{identifier}", f"has({values}.{identifier})"
    return f"{values}[{literal(identifier)}]", f"{literal(identifier)} in {values}"
