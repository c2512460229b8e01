"""Values as they travel between the kernel and the browser."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct


class Row(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True):
    """Base of the values sent to the browser: frozen, camelCase there, defaults left out.

    The browser's types are generated from these classes (`widgets/generate_models.py`).
    """


def wire(value: object) -> Any:
    """Return a value of the model or a row as it travels: camelCase dicts, defaults left out, lists for tuples."""
    return msgspec.json.decode(msgspec.json.encode(value))
