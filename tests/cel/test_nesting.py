"""Selectors nested deeper than the engine reads mean what they say, cost what they cost, and name what they read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dra_lab.cel.nesting import shallow
from dra_lab.cel.replay_cel import replay_cel
from dra_lab.cel.selector import compile_selector
from dra_lab.errors import CelCompileError, CelRuntimeError
from dra_lab.model.device import Device, DeviceAttribute

DEVICE = Device(name="gpu-0", attributes={"index": DeviceAttribute(int_=3)})
A = 'device.attributes["d"].index'
OPTIONAL = 'device.attributes["d"].?index.orValue(0)'
SHAPES = {
    "brackets": lambda n: "(" * n + f"{A} == 3" + ")" * n,
    "sums in brackets": lambda n: "(1 + " * n + A + ")" * n + f" == {n + 3}",
    "a chain of sums": lambda n: A + " + 1" * n + f" == {n + 3}",
    "a chain behind an optional": lambda n: OPTIONAL + " - 1" * n + f" == {3 - n}",
    "a chain of choices": lambda n: f"{A} == 9 ? false : " * n + "true",
    "negations": lambda n: "!(" * n + f"{A} == 3" + ")" * n + f" == {str(n % 2 == 0).lower()}",
    "brackets in a loop": lambda n: "[3].all(x, " + "(1 + " * n + "x" + ")" * n + f" == {n} + {A})",
}
DEPTHS = (8, 33, 90)


def costs(shape, depth):
    return compile_selector(SHAPES[shape](depth)).max_cost


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_deep_selector_answers_as_its_text_says(shape, depth):
    """Below and beyond the engine's 32 levels."""
    selector = compile_selector(SHAPES[shape](depth))
    assert selector.matches("d", DEVICE)
    assert selector.attributes == {"d/index"}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_cost_grows_by_the_same_with_every_level(shape):
    """Binding the deep parts adds nothing to the estimate: it is that of the text as written."""
    first, second = costs(shape, 9) - costs(shape, 8), costs(shape, 10) - costs(shape, 9)
    assert first == second
    assert costs(shape, 90) == costs(shape, 8) + 82 * first


def test_what_is_deep_is_evaluated_only_where_it_is_needed():
    """An error inside is absorbed by `||` and `? :` as anywhere else, and is one otherwise."""
    deep = "(1 + " * 50 + "1 / 0" + ")" * 50 + " == 1"
    assert compile_selector(f"true || {deep}").matches("d", DEVICE)
    assert compile_selector(f"true ? true : {deep}").matches("d", DEVICE)
    with pytest.raises(CelRuntimeError, match="divi"):
        compile_selector(deep).matches("d", DEVICE)


def test_a_mistake_deep_inside_is_reported_without_a_place():
    """The place would be one in a text that no person wrote."""
    expression = "(1 + " * 50 + "foo" + ")" * 50 + " == [1].exists_one(x, x == 1)"
    with pytest.raises(CelCompileError, match="undeclared reference to 'foo'") as caught:
        compile_selector(expression)
    assert (caught.value.position, caught.value.expression) == (-1, expression)
    assert "line" not in str(caught.value)


@pytest.mark.long
def test_recorded_selectors_keep_their_answers_and_costs_with_parts_bound_wherever_that_is_possible(monkeypatch):
    """Bound from the third level on, behind 33 brackets that the engine does not read, every tenth is as recorded."""
    monkeypatch.setattr("dra_lab.cel.nesting._STEP", 3)
    with gzip.open(Path(__file__).parents[1] / "conformance" / "cel.ndjson.gz", "rt") as lines:
        cases = [json.loads(line) for line in lines][::10]
    wrong = []
    for case in cases:
        found = replay_cel({**case, "expression": "(" * 33 + case["expression"] + ")" * 33})
        wrong += [(case["expression"], key, found[key]) for key in ("result", "errorKind", "maxCost")
                  if found[key] != case["expect"][key]]  # fmt: skip
    assert not wrong


@pytest.mark.parametrize("expression", ["(" * 151 + "true" + ")" * 151, "1" + " + 1" * 200 + " == 201"])
def test_beyond_the_deepest_level_the_selector_is_refused(expression):
    """With what to do."""
    with pytest.raises(CelCompileError, match=r"nested too deeply.*Split it"):
        compile_selector(expression)


@pytest.mark.parametrize("expression", ["((true)", "(true]" * 40, "(" * 40 + "dra_lab_part_1" + ")" * 40, "true"])
def test_what_cannot_be_made_shallow_is_left_alone(expression):
    """Unmatched brackets, a text that uses the name itself, and nothing to do."""
    assert shallow(expression, "dra_lab_part_") == ""
