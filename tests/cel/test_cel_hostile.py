"""No text makes a selector raise another error than ours, or take for ever."""

from __future__ import annotations

import random

import pytest
from mutated_expressions import mutate, outcome, seeds

from dra_lab.cel.functions.strings import find_all

MUTANTS = 10
"""Rounds of 500 texts; `make test` runs two of them."""


@pytest.mark.parametrize("seed", range(MUTANTS))
def test_mutated_and_random_texts_raise_only_our_errors(seed):
    """Recorded selectors that are broken, and plain noise, end in an answer or in our error."""
    rng, texts = random.Random(seed), seeds()
    for _ in range(500):
        assert outcome(mutate(texts, rng)) in ("true", "false", "compile error", "run-time error")


def doubled(times, start, step, end):
    for number in reversed(range(times)):
        end = f"cel.bind(v{number + 1}, {step.format(f'v{number}')}, {end})"
    return f"cel.bind(v0, {start}, {end})"


@pytest.mark.parametrize(
    "expression",
    [
        doubled(28, '"aaaaaaaaaa"', "{0} + {0}", "v28.size() > 3"),
        doubled(28, 'dyn("aaaaaaaaaa")', "{0} + {0}", 'v28 == ""'),
        doubled(28, "[1, 2]", "{0} + {0}", "v28.size() > 3"),
        doubled(8, '"aaaaaaaaaa"', '{0}.replace("", {0})', "v8.size() > 3"),
        doubled(20, '"aaaaaaaaaa"', "[{0}, {0}].join()", "v20.size() > 3"),
        doubled(20, '"aaaaaaaaaa"', '"%s%s".format([{0}, {0}])', "v20.size() > 3"),
        "lists.range(3000).transformMap(i, v, v).size() > 1",
        "lists.range(90).transformMap(i, v, lists.range(90).transformMap(j, w, w)).size() > 1",
        "lists.range(3000).transformMapEntry(i, v, {v: i}).size() > 1",
        "lists.range(3000).sortBy(x, -x).size() > 1",
        "lists.range(90).all(i, v, lists.range(90).sortBy(x, x % 7).size() > 1)",
        "lists.range(9000).distinct().size() > 1",
        "sets.equivalent(lists.range(9000), lists.range(9000))",
        "lists.range(1000000000).size() > 1",
        "lists.range(900).all(a, lists.range(900).all(b, lists.range(900).all(c, a + b + c >= 0)))",
        "(" * 5000 + "true" + ")" * 5000,
        "!" * 10_000 + "true",
        "[" * 5000 + "]" * 5000 + " == []",
        'device.attributes["a"]' + ".b" * 5000,
        "true ? " * 900 + "true" + " : false" * 400,
        '"' + "a" * 9000 + 'b".find("(a+)+$") == ""',
        '"' + "a" * 9000 + 'b".find("a*a*a*a*a*c") == ""',
        '"' + "a" * 9000 + 'b".matches("(a|a)*c")',
        'quantity("1e999999999").isInteger()',
    ],
)
def test_a_text_made_to_take_for_ever_is_answered_at_once(expression):
    """Nesting, doubling, loops in loops and catastrophic patterns end in an answer or in our error."""
    assert outcome(expression) in ("true", "false", "compile error", "run-time error")


@pytest.mark.parametrize(
    ("text", "pattern", "found"),
    [
        ("aaa", "a|aa", ["a", "a", "a"]),
        ("xab", "a*?b|x", ["x", "ab"]),
        ("baaac", "a*", ["", "aaa", ""]),
        ("aXb", "(?i)x", ["X"]),
        ("a\nb", "(?m)^.", ["a", "b"]),
        ("ab12_c d", r"\b\w+\b", ["ab12_c", "d"]),
        ("aab", "a{2,3}b", ["aab"]),
        ("a\n", "a$", []),
    ],
)
def test_searches_find_what_re2_finds(text, pattern, found):
    """Leftmost match, first alternative, Go's rule for empty matches."""
    assert find_all(text, pattern) == found
