"""Literals that Kubernetes refuses when it compiles, as a recorded API server did with patterns."""

import pytest

from dra_lab.cel.selector import compile_selector
from dra_lab.errors import CelCompileError

REFUSED = [
    ("a pattern is one of RE2", 'device.driver.matches("(")', 22),
    ("also in the form of a function", 'matches(device.driver, "(")', -1),
    ("a pattern to find too", 'device.driver.find("[") == ""', -1),
    ("and to find all", 'device.driver.findAll("*").size() == 0', -1),
    ("a duration is one", 'duration("1 hour") > duration("1h")', -1),
    ("a time is one", 'timestamp("today") < timestamp("2026-01-01T00:00:00Z")', -1),
    ("a list holds one type", 'device.driver in ["a", 1]', -1),
    ("a map holds values of one type", '{"a": 1, "b": "c"}.size() == 2', -1),
    ("attributes are of another type than texts", '[device.attributes["d"].a, "x"].size() == 2', -1),
    ("deep inside as well", 'device.driver == "x" || [1].exists(i, [i, "a"].size() == 2)', -1),
]
ACCEPTED = [
    ("a pattern that is computed is read later", 'device.driver.matches("(" + device.driver)'),
    ("a pattern of RE2", r'device.driver.matches("^[a-z]{3}\\d+$")'),
    ("the arguments of format may differ", '"%s %d".format(["a", 1]) == device.driver'),
    ("at any depth of literals", '"%s".format([[1, "a"]]) == device.driver'),
    ("lists of dyn are of one type", '[dyn(1), dyn("a")].size() == 2'),
    ("an attribute is no literal", 'timestamp(device.driver) < timestamp("2026-01-01T00:00:00Z")'),
    ("empty lists and maps", '[].size() == {}.size() || ["a"].exists(x, x == device.driver)'),
]


@pytest.mark.parametrize(("rule", "expression", "position"), REFUSED, ids=[case[0] for case in REFUSED])
def test_a_bad_literal_does_not_compile(rule, expression, position):
    """The error stands at the literal."""
    with pytest.raises(CelCompileError) as caught:
        compile_selector(expression)
    assert caught.value.position > 0, rule
    assert position in (-1, caught.value.position)


@pytest.mark.parametrize(("rule", "expression"), ACCEPTED, ids=[case[0] for case in ACCEPTED])
def test_what_is_no_bad_literal_compiles(rule, expression):
    """Only literals are looked at."""
    assert compile_selector(expression).expression == expression, rule
