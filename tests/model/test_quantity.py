"""Quantities compare by value, whatever their spelling."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_lab.errors import QuantityError
from dra_lab.model.quantity import format_quantity, parse_quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [("1Gi", 2**30), ("1024Mi", 2**30), ("100m", Fraction(1, 10)), ("1e3", 1000), ("2k", 2000), (16, 16), (".5", 0.5)],
)
def test_every_spelling_has_its_exact_value(text, value):
    """A quantity's value is exact, with binary and decimal suffixes, exponents and bare numbers."""
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", ["", "abc", "1GiB", "1 Gi", "--1", "1e1000", "9" * 100, True, None])
def test_other_text_is_refused_with_ours(text):
    """Text that is no quantity raises QuantityError and says what to write."""
    with pytest.raises(QuantityError, match="write for example"):
        parse_quantity(text)


@given(st.fractions(min_value=-(2**60), max_value=2**60).map(lambda f: Fraction(round(f * 1000), 1000)))
def test_printing_keeps_the_value(value):
    """What is printed reads back as the same value."""
    assert parse_quantity(format_quantity(value)) == value
