"""Messages about selectors where the selector itself is in sight."""

from __future__ import annotations

import re

_QUOTED = re.compile(r"CEL selector `.*?` (?=does |must |may |fails )", re.DOTALL)


def without_text(message: str) -> str:
    """Return a message about a selector without the selector's text, so that what is wrong fits into a narrow place."""
    return _QUOTED.sub("Selector ", message, count=1)
