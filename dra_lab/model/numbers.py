"""Whole numbers in text, in the digits 0 to 9 as Kubernetes reads them; `int` takes those of every script."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"[0-9]{1,4000}")
_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")


def unsigned_number(text: str) -> int | None:
    """Return the number in a text of digits alone such as `12`, None for any other text."""
    return int(text) if _DIGITS.fullmatch(text) else None


def whole_number(text: str) -> int | None:
    """Return the number in a text such as `12` or `-3`, None where it is none."""
    return int(text) if _WHOLE.fullmatch(text) else None
