"""The guarded form of a selector fails nowhere, and selects what the selector selects where that does not fail."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace
from small_nodes import device

from dra_lab.cel.selector import compile_selector, guarded
from dra_lab.errors import CelError
from dra_lab.model.device import DeviceAttribute

TAG, SPEED = 'device.attributes["x.example"].tag', 'device.attributes["x.example"].speed'

DEVICES = [
    ("x.example", device("both", {"tag": "a", "speed": 9})),
    ("x.example", device("tag", {"tag": "a"})),
    ("x.example", device("other", {"tag": "b", "speed": 1})),
    ("x.example", device("bare")),
    ("y.example", replace(device("typed"), attributes={"x.example/tag": DeviceAttribute(version="1.0.0")})),
    ("y.example", device("nothing")),
]


def decided(expression, driver, published):
    """Return what a selector says of a device, None where it fails."""
    try:
        return compile_selector(expression).matches(driver, published)
    except CelError:
        return None


@pytest.mark.parametrize(
    "expression",
    [
        f'{TAG} == "a"',
        f'device.driver == "y.example" || {TAG} == "a"',
        f'{TAG} == "a" && {SPEED} > 3',
        f'{TAG} == "a" || {SPEED} > 3',
        f'{TAG}.startsWith("a") || device.driver == "y.example"',
        f'!({TAG} == "a")',
        f'{TAG} in ["a", "c"] || {SPEED} == 1',
        """device.attributes["x.example"]['tag'] == "a" || device.driver == "y.example\"""",
    ],
)
def test_guard_selects_the_same(expression):
    """Whichever devices there are, a guard that is offered agrees with the selector where that does not fail."""
    offered = 0
    rng = random.Random(expression)
    for _ in range(30):
        here = rng.sample(DEVICES, rng.randint(1, len(DEVICES)))
        answers = [(driver, d, decided(expression, driver, d)) for driver, d in here]
        failing = [(driver, d) for driver, d, answer in answers if answer is None]
        fine = [(driver, d) for driver, d, answer in answers if answer is not None]
        guard = guarded(expression, failing, fine) if failing else ""
        for driver, d, answer in answers if guard else ():
            offered += 1
            assert decided(guard, driver, d) is bool(answer), (guard, d.name)
    assert offered


def test_an_alternative_stays():
    """A selector that the driver alone decides needs no attribute."""
    expression = f'device.driver == "y.example" || {TAG} == "a"'
    nothing = ("x.example", device("nothing"))
    guard = guarded(expression, [nothing], [("y.example", device("by driver")), DEVICES[1]])
    assert guard == f'device.driver == "y.example" || (has({TAG}) && {TAG} == "a")'


def test_no_guard_is_better_than_one_that_selects_less():
    """Where an attribute has another type on some devices of a driver, the driver is not left out whole."""
    typed = replace(device("typed"), attributes={"tag": DeviceAttribute(version="1.0.0")})
    failing, fine = ("x.example", typed), DEVICES[1]
    assert guarded(f'{TAG} == "a"', [failing], [fine]) == ""
    assert guarded(f'{TAG} == "a"', [failing], []) == f'device.driver != "x.example" && ({TAG} == "a")'
