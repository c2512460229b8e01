"""Letters and colours of requests."""

from __future__ import annotations

import pytest
from small_plans import SKETCH, request

from dra_lab import ClaimSketch
from dra_lab.pictures.letters import PALETTE, Colour, colours, contrast, letter, letters


@pytest.mark.parametrize(("index", "expected"), [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA")])
def test_letters_count_like_columns_of_a_table(index: int, expected: str):
    """A to Z, then AA, AB, ..."""
    assert letter(index) == expected


def test_requests_get_letters_in_the_order_of_the_drawing():
    """The first request is A."""
    assert letters(SKETCH) == {"gpu": "A", "nic": "B"}


@pytest.mark.parametrize("colour", PALETTE, ids=lambda colour: colour.name)
def test_text_on_every_fill_is_readable(colour: Colour):
    """Text on a chosen device has a contrast of at least 4.5:1, in any theme."""
    assert contrast(colour.fill, colour.text) >= 4.5


def test_colours_repeat_and_letters_do_not():
    """The eighth request has the first colour again, and a letter of its own."""
    sketch = ClaimSketch(requests=tuple(request(f"r{n}", "c") for n in range(8)))
    assert colours(sketch)["r7"] == colours(sketch)["r0"]
    assert len(set(letters(sketch).values())) == 8
