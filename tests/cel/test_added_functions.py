"""Functions of Kubernetes that the engine lacks: each expression is true in Kubernetes 1.36 by its library's rules."""

from __future__ import annotations

import pytest

from dra_lab.cel.selector import compile_selector
from dra_lab.errors import CelCompileError, CelRuntimeError
from dra_lab.model.device import Device, DeviceAttribute, DeviceCapacity

DRIVER = "gpu.nvidia.com"
DEVICE = Device(
    name="gpu-0",
    attributes={
        "index": DeviceAttribute(int_=3),
        "address": DeviceAttribute(string="10.1.2.3"),
        "driverVersion": DeviceAttribute(version="1.2.3"),
        "cores": DeviceAttribute(ints=(1, 2)),
    },
    capacity={"memory": DeviceCapacity(value="8Gi"), "cache": DeviceCapacity(value="9Gi")},
)
A = 'device.attributes["gpu.nvidia.com"]'
C = 'device.capacity["gpu.nvidia.com"]'

TWO_VARIABLES = [
    "[1, 2].all(i, v, v > i)",
    "[1, 2].exists(i, v, v == 2 && i == 1)",
    "![1, 1].existsOne(i, v, v == 1)",
    "[1, 2].transformList(i, v, i + v) == [1, 3]",
    "[1, 2].transformList(i, v, i > 0, i + v) == [3]",
    '{"a": 1}.transformMap(k, v, v + 1) == {"a": 2}',
    '["a", "b"].transformMap(k, v, k > 0, v + "x") == {1: "bx"}',
    '["a", "b"].transformMapEntry(k, v, {v: k}) == {"a": 0, "b": 1}',
    '["a", "b", "c"].transformMapEntry(k, v, v != "b", {v: k}) == {"a": 0, "c": 2}',
    '["a"].transformMapEntry(k, v, {}).size() == 0 && [].transformMap(k, v, k) == {}',
    f'{A}.exists(k, v, k == "index" && v == 3)',
    "device.attributes.exists(domain, values, values.exists(k, v, v == 3))",
    f'{C}.all(k, v, v.compareTo(quantity("1Gi")) > 0)',
    f'{C}.transformMap(k, v, v.isGreaterThan(quantity("8Gi"))) == {{"memory": false, "cache": true}}',
    f"{A}.cores.all(i, v, v == i + 1)",
    '{"a": [1]}.all(k, v, v.all(i, w, w == 1))',
    f'cel.bind(g, {A}, g.all(k, v, k != ""))',
    "cel.bind(d, device, d.attributes.all(d, v, d.size() > 0))",
]
LISTS = [
    "[3, 1, 2].sortBy(x, -x) == [3, 2, 1]",
    '["bb", "a", "cc"].sortBy(s, s.size()) == ["a", "bb", "cc"]',
    '[{"x": 2}, {"x": 1}].sortBy(m, m.x)[0].x == 1',
    f"{A}.cores.sortBy(x, -x) == [2, 1]",
    '[3, 1].sort() == [1, 3] && ["b", "a"].sort() == ["a", "b"] && [2.5, 1.0].sort()[0] == 1.0',
    "[[1], [2]].flatten() == [1, 2] && [1, 2, 3].slice(1, 2) == [2] && [1, 1].distinct() == [1]",
    "lists.range(3) == [0, 1, 2] && lists.range(3).transformList(i, v, v * v) == [0, 1, 4]",
    'device.attributes.map(d, d).distinct().reverse() == ["gpu.nvidia.com"]',
]
TEXTS = [
    'string(ip("1.2.3.4")) == "1.2.3.4" && string(cidr("10.0.0.0/8")) == "10.0.0.0/8"',
    'string(cidr("10.1.0.0/8").ip()) == "10.1.0.0" && string(dyn(ip("::1"))) == "::1"',
    f'string({A}.index) == "3" && string({A}.address) == "10.1.2.3"',
    'string(dyn(1.5)) == "1.5" && string(true) == "true" && string(b"a") == "a" && string("x") == "x"',
    'string(3u) == "3" && string(duration("1h")) == "3600s"',
    'string(timestamp("2026-01-01T00:00:00Z")) == "2026-01-01T00:00:00Z"',
]
FORMATS = [
    'format.named("dns1123Label").value().validate("a") == optional.none()',
    'format.named("dns1123Label").value().validate("A").hasValue()',
    '!format.named("nosuch").hasValue()',
    '!format.named("uuid").optMap(f, f.validate("a").hasValue()).orValue(false) == false',
    'format.dns1123Label().validate("A").value().size() > 0',
    'format.named("dns1123Label") == optional.of(format.dns1123Label())',
]
TIMES = [
    '[duration("1h"), duration("2h")].sum() == duration("3h")',
    '[duration("1h")].filter(d, d > duration("3h")).sum() == duration("0s")',
    '[duration("2h"), duration("1h")].min() == duration("1h")',
    '[timestamp("2026-01-01T00:00:00Z"), timestamp("2027-01-01T00:00:00Z")].max() == timestamp("2027-01-01T00:00:00Z")',
    '[duration("3h"), duration("1h")].sort() == [duration("1h"), duration("3h")]',
    '[1, 2].sortBy(x, duration(string(3 - x) + "s")) == [2, 1]',
    '[timestamp("2026-01-01T00:00:00Z")].reverse()[0] == timestamp("2026-01-01T00:00:00Z")',
    '["1h"].transformMapEntry(i, v, {v: duration(v)}) == {"1h": duration("1h")}',
]


@pytest.mark.parametrize("expression", [*TWO_VARIABLES, *LISTS, *TEXTS, *FORMATS, *TIMES])
def test_an_added_function_answers_by_its_library(expression):
    """True of the device above."""
    assert compile_selector(expression, list_type_attributes=True).matches(DRIVER, DEVICE)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ('["a", "a"].transformMapEntry(k, v, {v: k}).size() == 1', "key 'a' already exists"),
        (f'string({A}.driverVersion) == "1.2.3"', "no such overload"),
        ("[dyn(1), dyn('a')].sortBy(x, x) == []", "different types"),
        (f"{A}.index.all(i, v, true)", "gpu-0"),
        ('format.named("nosuch").value().validate("a").hasValue()', "gpu-0"),
    ],
)
def test_what_fails_in_the_library_fails_here(expression, says):
    """A run-time error, as there."""
    with pytest.raises(CelRuntimeError) as caught:
        compile_selector(expression, list_type_attributes=True).matches(DRIVER, DEVICE)
    assert says in str(caught.value)


def test_a_loop_of_two_variables_over_one_value_does_not_compile_without_lists():
    """Without list-typed attributes nothing can be looped over in an attribute, whichever the number of variables."""
    with pytest.raises(CelCompileError, match="DRAListTypeAttributes"):
        compile_selector(f"{A}.index.all(i, v, true)")


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("[1].existsOne(x, x == 1)", "undeclared reference"),
        ("[1, 2].flatten() == [1]", "no matching overload for 'flatten' applied to 'list\\(int\\)"),
    ],
)
def test_what_kubernetes_does_not_declare_is_refused(expression, why):
    """`existsOne` takes two variables (one: `exists_one`), `flatten` a list of lists (recorded of 1.36.2)."""
    with pytest.raises(CelCompileError, match=why):
        compile_selector(expression)


LIST_COSTS = [
    ("lists.range(3).size() > 0", 16),
    ("[1, 2, 3].slice(0, 2).size() > 0", 25),
    ("[[1], [2, 3]].flatten().size() > 0", 45),
    ("[1, 2, 3].distinct().size() > 0", 41),
    ('["a", "bb"].reverse().size() > 0', 25),
    ("[1, 2, 3].sort().size() > 0", 41),
    ("[1,2,3].sortBy(x, x).reverse().size() > 0", 123),
    ('["a","bb"].exists(x, x == x)', 25),
    ('["a","bb"].map(x, x).exists(x, x == x)', 62),
    ("[[1],[2,3]].exists(x, x == x)", 45),
]


@pytest.mark.parametrize(("expression", "most"), LIST_COSTS)
def test_lists_and_their_elements_cost_what_cel_go_estimates(expression, most):
    """`maxCost` of the evaluator of 1.36.2: functions of lists, and elements of literals whose size is known."""
    assert compile_selector(expression).max_cost == most


@pytest.mark.parametrize(
    ("two", "one", "units"),
    [
        # a list, a result, and in each of two rounds: condition 2, step 4
        ("[1, 2].all(i, v, v > i)", "[1, 2].all(v, v > v)", 10 + 1 + 2 * 6),
        # an attribute map, a result, and in each of 32 rounds 6, the golden figure of `exists`
        (f"{A}.exists(k, v, v == 3)", f"{A}.exists(k, k == '3')", 3 + 1 + 32 * 6),
    ],
)
def test_a_loop_of_two_variables_costs_what_one_of_one_variable_costs(two, one, units):
    """cel-go's `costComprehension` counts rounds, not variables; keys and values have the sizes of the slice's limits.

    A comparison with a text of one character costs as much as one with a number.
    """
    assert compile_selector(two).max_cost == compile_selector(one).max_cost == units
