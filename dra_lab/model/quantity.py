"""Kubernetes quantities: exact values, compared by value whatever their spelling (`1Gi` equals `1024Mi`)."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from dra_lab.errors import QuantityError

QuantityText = str | int | float
"""A quantity as it stands in a document; the API server accepts bare numbers and strings."""

_TEXT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,3})|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]))?\Z")
_SUFFIX = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{suffix: Fraction(10 ** (3 * power)) for power, suffix in enumerate("kMGTPE", 1)},
    **{suffix: Fraction(2 ** (10 * power)) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
}


@lru_cache(maxsize=65536)
def parse_quantity(text: QuantityText) -> Fraction:
    """Return the exact value of a quantity such as `40Gi`, `100m`, `1e3` or `2`.

    Raises QuantityError for any other text. Rule: apimachinery `pkg/api/resource/quantity.go`.
    """
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise QuantityError(f"{text!r} is not a quantity; write for example 16, 500m or 40Gi")
    match = _TEXT.match(str(text)) if len(str(text)) <= 64 else None
    if match is None:
        raise QuantityError(f"{str(text)[:64]!r} is not a quantity; write for example 16, 500m or 40Gi")
    number = Fraction(Decimal(match[1] + (match[2] or "")))
    return number * _SUFFIX[match[3]] if match[3] else number


def format_quantity(value: Fraction) -> str:
    """Return a short exact spelling: a binary suffix where it divides evenly, else a decimal number."""
    if value.denominator == 1:
        number = value.numerator
        for power, suffix in reversed(list(enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1))):
            if number and number % 2 ** (10 * power) == 0:
                return f"{number // 2 ** (10 * power)}{suffix}"
        return str(number)
    for suffix, factor in (("m", 1000), ("u", 10**6), ("n", 10**9)):
        if (value * factor).denominator == 1:
            return f"{(value * factor).numerator}{suffix}"
    return f"{-((-value * 10**9) // 1)}n"
