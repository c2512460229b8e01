"""Names in which a pattern matches: the same as the engine says, for plain patterns that Python searches as well."""

from __future__ import annotations

import random

import pytest

from dra_lab.cel.functions.regex import _PLAIN, is_pattern, names_with

PARTS = ["a", "b", "1", "-", "_", ".", "*", "+", "|", "^", "$", "(", ")", "[ab]", "[0-9]", "[a-b1]", "\\.", "\\d"]


@pytest.mark.parametrize("seed", range(20))
def test_python_and_the_engine_agree(seed):
    """A pattern in a group that matches nothing else is searched by the engine, and says the same."""
    rng = random.Random(seed)
    for _ in range(300):
        pattern = "".join(rng.choices(PARTS, k=rng.randrange(1, 9)))
        names = ["".join(rng.choices("ab1-.", k=rng.randrange(6))) for _ in range(6)]
        if is_pattern(pattern) and _PLAIN.fullmatch(pattern):
            by_engine = f"(?:{pattern})"
            assert not _PLAIN.fullmatch(by_engine)
            assert names_with(names, pattern) == names_with(names, by_engine)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("^node-[0-1]$", ["node-0", "node-1"]),
        ("-1", ["node-1", "node-10"]),
        ("^node-(0|10)$", ["node-0", "node-10"]),
        ("^(?i)NODE-0", ["node-0"]),
        ("^x", []),
    ],
)
def test_a_pattern_is_searched_anywhere(pattern, found):
    """As Go's MatchString does."""
    assert names_with(["node-0", "node-1", "node-10"], pattern) == found


def test_what_is_no_pattern_is_refused():
    """RE2 does not read it."""
    with pytest.raises(ValueError, match="error parsing regexp"):
        names_with(["a"], "[")
