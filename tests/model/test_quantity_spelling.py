"""Quantities as Kubernetes prints them after reading (apimachinery `quantity.go`)."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dra_lab.errors import QuantityError
from dra_lab.model.quantity import canonical_quantity, parse_quantity

SPELLINGS = [
    ("a binary amount takes the largest suffix", "1024Mi", "1Gi"),
    ("a binary amount that does not divide keeps its own", "1536Mi", "1536Mi"),
    ("a binary fraction becomes whole", "1.5Gi", "1536Mi"),
    ("below 1024 a binary amount is decimal", "0.5Ki", "512"),
    ("a binary amount that is no whole number is decimal", "1.00001Ki", "1024010240u"),
    ("a decimal amount takes the largest suffix", "1000m", "1"),
    ("thousands get a suffix", "1000", "1k"),
    ("a fraction takes the next smaller suffix", "0.5", "500m"),
    ("a negative fraction too", "-0.5", "-500m"),
    ("an exponent stays an exponent", "1e3", "1e3"),
    ("exponents go by threes", "1e4", "10e3"),
    ("E alone is a suffix", "1E", "1E"),
    ("a bare number is text", 5, "5"),
    ("a fractional number too", 1.5, "1500m"),
    ("zero is zero", "0.00Gi", "0"),
    ("finer than a billionth is rounded up", "0.1n", "1n"),
    ("text that looks canonical is kept, plus sign and all", "+5", "+5"),
    ("trailing zeros of a fraction are kept when they are few", "1.500", "1.500"),
    ("a multiple of 8 in binary is looked at again", "8192Mi", "8Gi"),
    ("an odd binary amount is kept", "1025Ki", "1025Ki"),
]


@pytest.mark.parametrize(("rule", "text", "printed"), SPELLINGS, ids=[case[0] for case in SPELLINGS])
def test_spelling(rule, text, printed):
    """A quantity is printed in the suffix of its kind that leaves the smallest whole number."""
    assert canonical_quantity(text) == printed, rule


amounts = st.builds(
    lambda sign, number, suffix: f"{sign}{number}{suffix}",
    st.sampled_from(("", "-")),
    st.decimals(0, 10**6, allow_nan=False, places=3).map(str),
    st.sampled_from(("", "n", "u", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti", "e3", "e-3", "E2")),
)


@settings(deadline=None)
@given(amounts)
def test_printing_keeps_the_value_and_is_stable(text):
    """The value stays (to a billionth, away from zero), and what was printed once is printed again."""
    printed = canonical_quantity(text)
    assert canonical_quantity(printed) == printed
    value, shown = parse_quantity(text), parse_quantity(printed)
    assert abs(value) <= abs(shown) < abs(value) + Fraction(1, 10**9)


@pytest.mark.parametrize("text", ["", " ", "ten", "1.2.3", "1 Gi", "1gi", ".", "--1", "1e", True, None])
def test_no_quantity(text):
    """Anything else raises QuantityError."""
    with pytest.raises(QuantityError):
        canonical_quantity(text)
