"""Quantities, whole numbers and semantic versions in text."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil

from dra_lab.errors import QuantityError, SemverError

_DIGITS = re.compile(r"[0-9]{1,4000}")
_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")


def unsigned_number(text: str) -> int | None:
    """Return the number in a text of digits alone such as `12`, None for any other text."""
    return int(text) if _DIGITS.fullmatch(text) else None


def whole_number(text: str) -> int | None:
    """Return the number in a text such as `12` or `-3`, None where it is none."""
    return int(text) if _WHOLE.fullmatch(text) else None


NANO = 10**9
"""Amounts are whole numbers of 1/NANO: a quantity has no finer value, and whole numbers are fast."""

QuantityText = str | int | float
"""A quantity as it is in a document; the API server accepts bare numbers and strings."""

_TEXT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d{1,3})|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]))?\Z", re.ASCII)
_SUFFIX = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    **{suffix: Fraction(10 ** (3 * power)) for power, suffix in enumerate("kMGTPE", 1)},
    **{suffix: Fraction(2 ** (10 * power)) for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
}
_DECIMAL_POWER = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


@lru_cache(maxsize=65536, typed=True)
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


@lru_cache(maxsize=65536, typed=True)
def canonical_quantity(text: QuantityText) -> str:
    """Return a quantity as Kubernetes prints it after reading it: `1024Mi` becomes `1Gi`, `1000m` becomes `1`.

    The suffix stays of its kind (binary, decimal, exponent); binary below 1024 and fractions are printed decimal, what
    is finer than a billionth is rounded away from zero. Text that Kubernetes takes for canonical comes back as it is,
    which includes `+5` and `1.500`. Raises QuantityError. Rule: apimachinery `ParseQuantity`, `CanonicalizeBytes`.
    """
    spelled = str(text).strip()
    value = parse_quantity(spelled if isinstance(text, str) else text)
    match = _TEXT.match(spelled)
    assert match is not None
    number, exponent, suffix = match[1], match[2], match[3] or ""
    whole, _, part = number.lstrip("+-").partition(".")
    whole = whole.lstrip("0") or "0"
    if _kept(whole, part, exponent, suffix):
        return spelled
    if value == 0:
        return "0"
    if suffix.endswith("i") and value.denominator == 1 and abs(value) >= 1024:
        return _with_suffix(value.numerator, 1024, ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
    nano = value * 10**9
    billionths = -(-abs(nano).numerator // nano.denominator) * (1 if value > 0 else -1)
    if exponent:
        names = ("e-9", "e-6", "e-3", "", *(f"e{power}" for power in range(3, 1000, 3)))
    else:
        names = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
    return _with_suffix(billionths, 1000, names)


def _kept(whole: str, part: str, exponent: str | None, suffix: str) -> bool:
    """Say whether Kubernetes keeps the text: few digits, and canonical as far as it looks."""
    digits = len(whole) + len(part)
    if suffix.endswith("i"):
        power = 10 * (("Ki", "Mi", "Gi", "Ti", "Pi", "Ei").index(suffix) + 1)
        fits = 15 - digits - int(power * 3 / 10) - 1 >= 0
        return fits and not part and int(whole) & 7 != 0
    scale = (int(exponent[1:]) if exponent else _DECIMAL_POWER[suffix]) - len(part)
    shifted = whole + part
    return digits <= 18 and scale >= -9 and scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"


def _with_suffix(count: int, factor: int, names: tuple[str, ...]) -> str:
    step = 0
    while step + 1 < len(names) and count % factor == 0:
        count //= factor
        step += 1
    return f"{count}{names[step]}"


@lru_cache(maxsize=65536)
def nano(text: QuantityText) -> int:
    """Return a quantity in 1/NANO, rounded up as apimachinery does. Raises QuantityError."""
    return to_nano(parse_quantity(text))


def to_nano(value: Fraction) -> int:
    """Return an amount in 1/NANO, rounded up."""
    return ceil(value * NANO)


_SEMVER_PART = r"(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    rf"(?:-({_SEMVER_PART}(?:\.{_SEMVER_PART})*))?(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?\Z",
    re.ASCII,
)

SemverKey = tuple[int, int, int, bool, tuple[tuple[int, int, str], ...]]


@lru_cache(maxsize=4096)
def semver_key(text: str) -> SemverKey:
    """Return a key that orders versions by precedence; build metadata is ignored (semver.org 2.0.0, item 11).

    Raises SemverError when the text is no version with exactly three numeric parts.
    """
    match = _SEMVER.match(text)
    if match is None:
        raise SemverError(f"{text[:64]!r} is not a semantic version; write three numbers, for example 1.2.0")
    parts = match[4].split(".") if match[4] else []
    pre = tuple((1, 0, part) if (n := unsigned_number(part)) is None else (0, n, "") for part in parts)
    return int(match[1]), int(match[2]), int(match[3]), not pre, pre
