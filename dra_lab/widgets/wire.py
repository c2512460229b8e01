"""Values of the model and rows, as they travel between the kernel and the browser."""

from __future__ import annotations

from typing import Any

import msgspec


def wire(value: object) -> Any:
    """Return a value of the model or a row as it travels: camelCase dicts, defaults left out, lists for tuples."""
    return msgspec.json.decode(msgspec.json.encode(value))
